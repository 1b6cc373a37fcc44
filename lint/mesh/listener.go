package mesh

import "slices"

// listener is an address and port on which Envoy takes connections that nothing tells apart by host, so that they can have only
// one destination.
type listener struct {
	address string // an address or a range; "" = any: Envoy listens on 0.0.0.0
	port    uint32
}

// IsOpaque says whether nothing in the bytes of the protocol names a host. A port without protocol counts: its bytes may be
// anything, so Istio gives it a TCP chain as well.
func (p Port) IsOpaque() bool {
	switch p.Protocol {
	case "TCP", "MONGO", "REDIS", "MYSQL":
		return true
	}
	return p.Family == Sniffed
}

// opaqueListeners are those that a ServiceEntry needs for itself: of its opaque ports, and of its TLS ports on single addresses,
// where Istio does not look at the server name.
func (x *Index) opaqueListeners(t *Target) []listener {
	if t.IsService() {
		return nil
	}
	var out []listener
	add := func(l listener) {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	for _, p := range t.Ports {
		if !p.IsOpaque() && !p.IsTLS() {
			continue
		}
		for _, h := range t.Hosts {
			addresses := x.Addresses(t, h)
			for _, a := range addresses {
				if p.IsOpaque() || !IsCIDR(a) {
					add(listener{a, p.Number})
				}
			}
			if len(addresses) == 0 && p.IsOpaque() && !x.Allocated(t, h) {
				add(listener{"", p.Number})
			}
		}
	}
	return out
}

// ListenerRival is another ServiceEntry that needs the same listener.
type ListenerRival struct {
	Target  *Target
	Address string // an address or a range; "" = Envoy listens on 0.0.0.0
	Port    Port   // of the judged target
}

// ListenerRivals returns, for each listener that a ServiceEntry needs for itself, the first other ServiceEntry that needs it too,
// shares no host with it, and is seen by a client that sees both.
func (x *Index) ListenerRivals(t *Target) []ListenerRival {
	var out []ListenerRival
	for _, l := range x.opaqueListeners(t) {
		if len(x.opaque.at(x.seed, l)) < 2 {
			continue
		}
		for other := range x.gather(l, x.opaque.at(x.seed, l)).beside(x, t) {
			if slices.ContainsFunc(other.Hosts, func(h Host) bool { return slices.Contains(t.Hosts, h) }) {
				continue
			}
			port := t.Ports[slices.IndexFunc(t.Ports, func(p Port) bool { return p.Number == l.port && (p.IsOpaque() || p.IsTLS()) })]
			out = append(out, ListenerRival{other, l.address, port})
			break
		}
	}
	return out
}
