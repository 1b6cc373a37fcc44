package mesh

import "slices"

// listener is an address on which Envoy takes connections that nothing tells apart by host, so that they can have only one
// destination. On 0.0.0.0, where most entries listen, the port belongs to it: each has a list of its own.
type listener struct {
	address string // an address or a range; "" = any: Envoy listens on 0.0.0.0
	port    uint32 // 0 with an address
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

// fills says whether a port needs the listener on an address for itself: an opaque one does, and one of TLS on a single address,
// where Istio does not look at the server name.
func (p Port) fills(address string) bool {
	return p.IsOpaque() || p.IsTLS() && address != "" && !IsCIDR(address)
}

// opaqueListeners are those that the ports of a ServiceEntry may need for themselves.
func (x *Index) opaqueListeners(t *Target) []listener {
	if t.IsService() {
		return nil
	}
	opaque, tls := false, false
	for _, p := range t.Ports {
		opaque, tls = opaque || p.IsOpaque(), tls || p.IsTLS()
	}
	if !opaque && !tls {
		return nil
	}
	var out []listener
	for _, a := range x.AllAddresses(t) {
		if opaque || !IsCIDR(a) {
			out = append(out, listener{address: a})
		}
	}
	if !opaque || !x.listensAnywhere(t) {
		return out
	}
	seen := map[uint32]bool{}
	for _, p := range t.Ports {
		if p.IsOpaque() && !seen[p.Number] {
			seen[p.Number] = true
			out = append(out, listener{port: p.Number})
		}
	}
	return out
}

// listensAnywhere says whether Envoy listens for a host of a ServiceEntry on 0.0.0.0.
func (x *Index) listensAnywhere(t *Target) bool {
	if len(t.ownAddresses()) > 0 {
		return false
	}
	for _, h := range t.Hosts {
		if len(x.Addresses(t, h)) == 0 && !x.Allocated(t, h) {
			return true
		}
	}
	return false
}

// ListenerRival is another ServiceEntry that needs the same listener.
type ListenerRival struct {
	Target  *Target
	Address string // an address or a range; "" = Envoy listens on 0.0.0.0
	Port    Port   // of the judged target
}

// ListenerRivals returns, for each port for which a ServiceEntry needs a listener for itself, the first other ServiceEntry that
// needs the same one, shares no host with it, and is seen by a client that sees both. Of two entries with resolution NONE either's
// connections still arrive where they were meant to, so another kind of rival comes before that.
func (x *Index) ListenerRivals(t *Target) []ListenerRival {
	listeners := x.opaqueListeners(t)
	if len(listeners) == 0 {
		return nil
	}
	ports := map[uint32]Port{} // those for which a rival, or a worse one, is still looked for
	for _, p := range t.Ports {
		if have, dup := ports[p.Number]; (p.IsOpaque() || p.IsTLS()) && (!dup || !have.IsOpaque() && p.IsOpaque()) {
			ports[p.Number] = p
		}
	}
	sameHost := t.hostSharing()
	var out []ListenerRival
	mild := map[uint32]int{}       // indexes in out of rivals that another kind may take the place of
	compared := map[*Target]bool{} // at an address, which is as good as any other of its kind
	ranged := map[*Target]bool{}   // at a range
	for _, l := range listeners {
		if len(x.opaque.at(x.seed, l)) < 2 {
			continue
		}
		seen := map[*Target]bool{}
		switch {
		case IsCIDR(l.address):
			seen = ranged
		case l.address != "":
			seen = compared
		}
		for other := range x.gatherAt(l).beside(x, t) {
			if len(other.Ports) > cheapPorts {
				if seen[other] {
					continue
				}
				seen[other] = true
			}
			for _, q := range other.Ports {
				p, wanted := ports[q.Number]
				if wanted && (l.port == 0 || l.port == q.Number) && p.fills(l.address) && q.fills(l.address) && !sameHost(other) {
					rival := ListenerRival{other, l.address, p}
					i, found := mild[q.Number]
					switch {
					case t.Resolution != "NONE" || other.Resolution != "NONE":
						delete(ports, q.Number)
						if found {
							out[i] = rival
						} else {
							out = append(out, rival)
						}
					case !found:
						mild[q.Number] = len(out)
						out = append(out, rival)
					}
				}
			}
			if _, wanted := ports[l.port]; len(ports) == 0 || l.port != 0 && !wanted {
				break
			}
		}
	}
	return out
}

// cheapPorts is how many ports of another entry are looked at again rather than remembered.
const cheapPorts = 4

// hostSharing returns a function that says whether another target has a host of t.
func (t *Target) hostSharing() func(*Target) bool {
	mine := map[Host]bool{}
	for _, h := range t.Hosts {
		mine[h] = true
	}
	known := map[*Target]bool{}
	return func(other *Target) bool {
		shares, asked := known[other]
		if !asked {
			shares = slices.ContainsFunc(other.Hosts, func(h Host) bool { return mine[h] })
			known[other] = shares
		}
		return shares
	}
}
