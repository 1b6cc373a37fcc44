package mesh

import (
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// IdleRoutes are routes of a VirtualService that no port of its hosts has any use for: by their kind (http, tls or tcp) and the port
// that their match names, 0 for any port, the indexes in the list of that kind, in order.
type IdleRoutes map[string]map[uint32][]int

// On returns the indexes of the routes of a kind that would hold for a port if it were of another protocol.
func (r IdleRoutes) On(kind string, port uint32) []int {
	open, own := r[kind][0], r[kind][port]
	if port == 0 || len(own) == 0 {
		return open
	}
	out := slices.Concat(open, own)
	slices.Sort(out)
	return out
}

// has says whether a route is among those for a port. Where there are too many to be kept it may be.
func (r IdleRoutes) has(kind string, port uint32, i int) bool {
	list := r[kind][port]
	return len(list) >= maxIdle || slices.Contains(list, i)
}

const (
	// maxIdle is how many routes of a kind are kept for a port: one is enough to tell what is wrong.
	maxIdle = 8
	// maxServed is how many ServiceEntries and Services a VirtualService may be for and still be looked at.
	maxServed = 1000
)

// IdleRoutes finds the routes of a VirtualService that sidecars do not follow on any port of its hosts, whichever namespace defines
// these, because of the protocols of the ports (see Port.RouteKinds). Routes that a gateway may have are left out, and so are all if
// one of the hosts is not in view. An http route that holds for port 80 may be met there all the same: sidecars that read requests on
// it for any host put the routes of all others there.
func (x *Index) IdleRoutes(vs *object.Object) IdleRoutes {
	return cached(x, idleCache, vs, (*Index).idleRoutes)
}

func (x *Index) idleRoutes(vs *object.Object) IdleRoutes {
	served, ok := x.servedBy(vs)
	if !ok {
		return nil
	}
	out := IdleRoutes{}
	for _, kind := range RouteKinds() {
		for i, rule := range vs.Spec().Get(kind).Items() {
			if !SidecarsOnly(vs, rule) {
				continue
			}
			ports := portsOfMatch(rule)
			if slices.ContainsFunc(ports, func(n uint32) bool { return served[kind][n] }) {
				continue
			}
			for _, n := range ports {
				if out[kind] == nil {
					out[kind] = map[uint32][]int{}
				}
				if len(out[kind][n]) < maxIdle {
					out[kind][n] = append(out[kind][n], i)
				}
			}
		}
	}
	return out
}

// servedBy says on which ports of the hosts of a VirtualService routes of each kind count; 0 stands for any. Routes of bytes count on those
// of a wildcard host that covers one of them too. Source: Istio's pilot/pkg/networking/core, getConfigsForHost.
func (x *Index) servedBy(vs *object.Object) (map[string]map[uint32]bool, bool) {
	out := map[string]map[uint32]bool{}
	for _, kind := range RouteKinds() {
		out[kind] = map[uint32]bool{}
	}
	n := 0
	for _, h := range x.virtualHosts(vs) {
		if h.IsWildcard() && len(x.hostsUnder(h)) > maxServed {
			return nil, false
		}
		some := false
		for _, name := range x.hostsOf(h) {
			for _, t := range x.Targets(name) {
				if n++; n > maxServed {
					return nil, false
				}
				some = true
				for _, p := range t.Ports {
					for _, kind := range p.RouteKinds() {
						out[kind][p.Number], out[kind][0] = true, true
					}
				}
			}
		}
		if !some {
			return nil, false
		}
		for _, wide := range x.TargetsCovering(h) {
			if n++; n > maxServed {
				return nil, false
			}
			for _, p := range wide.Target.Ports {
				for _, kind := range p.RouteKinds() {
					if kind != "http" {
						out[kind][p.Number], out[kind][0] = true, true
					}
				}
			}
		}
	}
	return out, true
}

// RouteKinds are the kinds of routes of a VirtualService, which are the names of their lists.
func RouteKinds() []string { return []string{"http", "tls", "tcp"} }

// SidecarsOnly says whether a route of a VirtualService is for sidecars alone and not for gateways.
func SidecarsOnly(vs *object.Object, rule object.Value) bool {
	bound := vs.Spec().Get("gateways").Strings()
	gateway := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "mesh" })
	}
	match := rule.Get("match")
	if match.Len() == 0 {
		return !gateway(bound)
	}
	for _, m := range match.Items() {
		names := m.Get("gateways").Strings()
		if len(names) == 0 {
			names = bound
		}
		if gateway(names) {
			return false
		}
	}
	return true
}

// portsOfMatch lists the ports that the match of a route names, each once; 0 stands for any.
func portsOfMatch(rule object.Value) []uint32 {
	match := rule.Get("match")
	if match.Len() == 0 {
		return []uint32{0}
	}
	var out []uint32
	for _, m := range match.Items() {
		n := uint32(m.Get("port").Int())
		if n == 0 {
			return []uint32{0}
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
