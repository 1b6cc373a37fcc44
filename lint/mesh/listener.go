package mesh

import "slices"

// listener is an address and port on which Envoy takes connections of a protocol that carries no host name, so that one
// listener can serve only one destination.
type listener struct {
	address string // "" = any: Envoy listens on 0.0.0.0
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

// listeners are those that the opaque ports of a ServiceEntry need.
func (t *Target) listeners() []listener {
	if t.IsService() {
		return nil
	}
	var out []listener
	for _, p := range t.Ports {
		if !p.IsOpaque() {
			continue
		}
		addresses := t.Addresses()
		if len(addresses) == 0 {
			addresses = []string{""}
		}
		for _, a := range addresses {
			if l := (listener{a, p.Number}); !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

// ListenerRival is another ServiceEntry whose opaque port needs the same listener.
type ListenerRival struct {
	Target  *Target
	Address string // "" = Envoy listens on 0.0.0.0
	Port    Port   // of the judged target
}

// ListenerRivals returns, for each listener that a ServiceEntry's opaque ports need, the first other ServiceEntry that needs it
// too, shares no host with it, and is seen by a client that sees both.
func (x *Index) ListenerRivals(t *Target) []ListenerRival {
	var out []ListenerRival
	for _, l := range t.listeners() {
		for _, other := range x.opaque.at(x.seed, l) {
			if normal(other.Object.Key) == normal(t.Object.Key) || slices.ContainsFunc(other.Hosts, func(h Host) bool { return slices.Contains(t.Hosts, h) }) {
				continue
			}
			if _, shared := x.CommonClient(t, other); shared {
				port, _ := t.Port(l.port)
				out = append(out, ListenerRival{other, l.address, port})
				break
			}
		}
	}
	return out
}

// CommonClient returns a namespace whose clients see both targets.
func (x *Index) CommonClient(a, b *Target) (string, bool) {
	candidates := []string{a.Namespace(), b.Namespace()}
	candidates = append(candidates, a.ExportTo...)
	candidates = append(candidates, b.ExportTo...)
	for _, ns := range candidates {
		if ns != "*" && ns != "." && ns != "~" && x.Sees(a, ns) && x.Sees(b, ns) {
			return ns, true
		}
	}
	return "", false
}

// Created says when the API server made the target's object, "" for one from a file: only with both times known can a winner
// among rivals be named.
func (t *Target) Created() string { return t.created }
