package mesh

import (
	"iter"
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// VirtualServicesFor returns the VirtualServices with a host that covers h, those with the most specific host first, of equals the
// oldest. Which proxies get them is not looked at.
func (x *Index) VirtualServicesFor(h Host) []*object.Object {
	var out []*object.Object
	var seen map[*object.Object]bool
	for vs, general := range x.virtualServicesFor(h) {
		if general >= 0 { // those with the name itself come once
			if seen == nil {
				seen = map[*object.Object]bool{}
				for _, have := range out {
					seen[have] = true
				}
			}
			if seen[vs] {
				continue
			}
			seen[vs] = true
		}
		out = append(out, vs)
	}
	return out
}

// virtualServicesFor yields the VirtualServices with a host that covers h in the order of VirtualServicesFor, with how general that host
// is; a VirtualService with several such hosts more than once.
func (x *Index) virtualServicesFor(h Host) iter.Seq2[*object.Object, int] {
	return func(yield func(*object.Object, int) bool) {
		for _, vs := range x.virtual.at(x.seed, h) {
			if !yield(vs, -1) {
				return
			}
		}
		if x.wildVS.n == 0 {
			return
		}
		// A wildcard covers h if what follows its star is an end of h, of which there are as many as letters. Names longer than DNS
		// has any are not looked for.
		const longest = 253
		rest := string(h)
		if h.IsWildcard() {
			rest = rest[1:]
		}
		for from := max(0, len(rest)-longest); from <= len(rest); from++ {
			for _, vs := range x.wildVS.at(x.seed, rest[from:]) {
				if !yield(vs, from) {
					return
				}
			}
		}
	}
}

// virtualHosts lists the hosts of a VirtualService, each once; none for other kinds.
func (x *Index) virtualHosts(o *object.Object) []Host {
	if o.Kind != object.VirtualService {
		return nil
	}
	var out []Host
	for _, h := range sorted(o.Spec().Get("hosts").Strings()) {
		out = append(out, QualifyHost(h, NamespaceOf(o), x.settings.ClusterDomain))
	}
	slices.Sort(out) // two ways to write a name may mean one
	return slices.Compact(out)
}

func olderVirtualService(a, b *object.Object) bool { return older(a.Created(), b.Created(), a, b) }

// SeesVirtualService says whether proxies of a namespace get a VirtualService.
func (x *Index) SeesVirtualService(vs *object.Object, ns string) bool {
	to := vs.Spec().Get("exportTo").Strings()
	if len(to) == 0 {
		to = x.settings.MeshConfig.Get("defaultVirtualServiceExportTo").Strings()
	}
	return len(to) == 0 || slices.Contains(to, "*") || slices.Contains(to, ns) || slices.Contains(to, ".") && NamespaceOf(vs) == ns
}

// Decides says whether a VirtualService is the one that sidecars follow for a host: it has routes for sidecars, and no other with a host
// as specific or more so has any for clients that may see both. Of two equals they follow the older, which files do not show.
func (x *Index) Decides(vs *object.Object, h Host) bool {
	level := 0
	found := false
	for other, general := range x.virtualServicesFor(h) {
		switch {
		case found && general > level:
			return true
		case other == vs:
			found, level = x.forSidecars(vs), general
			if !found {
				return false
			}
		case x.forSidecars(other) && x.mayMeet(vs, other):
			return false
		}
	}
	return found
}

// mayMeet says whether a client may see two VirtualServices: not if one is for its own namespace only, which does not see the other.
func (x *Index) mayMeet(a, b *object.Object) bool {
	private := func(vs *object.Object) bool {
		to := vs.Spec().Get("exportTo").Strings()
		return len(to) == 1 && (to[0] == "." || to[0] == NamespaceOf(vs))
	}
	return (!private(a) || x.SeesVirtualService(b, NamespaceOf(a))) && (!private(b) || x.SeesVirtualService(a, NamespaceOf(b)))
}

// forSidecars says whether a VirtualService has routes for sidecars.
func (x *Index) forSidecars(vs *object.Object) bool {
	return cached(x, meshBoundCache, vs, (*Index).isForSidecars)
}

func (x *Index) isForSidecars(vs *object.Object) bool {
	bound := vs.Spec().Get("gateways").Strings()
	for _, kind := range RouteKinds() {
		for _, rule := range vs.Spec().Get(kind).Items() {
			for _, m := range rule.Get("match").Items() {
				if len(bound) > 0 {
					bound = append(bound, m.Get("gateways").Strings()...)
				}
			}
		}
	}
	return len(bound) == 0 || slices.Contains(bound, "mesh")
}

// VirtualServicesTo returns the VirtualServices with a route of any protocol to a host, mirrors included, by name. Which proxies get
// them is not looked at.
func (x *Index) VirtualServicesTo(h Host) []*object.Object { return x.leading.at(x.seed, h) }

// LeadsByTLS says whether a tls route of a VirtualService leads to a host.
func (x *Index) LeadsByTLS(vs *object.Object, h Host) bool {
	for d := range destinationsOf(vs, "tls") {
		if QualifyHost(d.Get("host").Str(), NamespaceOf(vs), x.settings.ClusterDomain) == h {
			return true
		}
	}
	return false
}

// destinationsOf yields the destinations of a VirtualService's routes of some protocols, mirrors included.
func destinationsOf(vs *object.Object, protocols ...string) iter.Seq[object.Value] {
	return func(yield func(object.Value) bool) {
		for _, protocol := range protocols {
			for _, rule := range vs.Spec().Get(protocol).Items() {
				for _, route := range rule.Get("route").Items() {
					if !yield(route.Get("destination")) {
						return
					}
				}
				if mirror := rule.Get("mirror"); mirror.Set() && !yield(mirror) {
					return
				}
				for _, mirror := range rule.Get("mirrors").Items() {
					if !yield(mirror.Get("destination")) {
						return
					}
				}
			}
		}
	}
}

// LeadTo says whether a route of any protocol that proxies of a namespace get leads to a port of a host; port 0 stands for any, as in a
// route that names none.
func (x *Index) LeadTo(h Host, port uint32, ns string) bool {
	fits := func(named uint32) bool { return port == 0 || named == 0 || named == port }
	if slices.ContainsFunc(x.RoutesTo(h), func(r *Route) bool { return fits(r.Port) && x.SeesVirtualService(r.Object, ns) }) {
		return true
	}
	for _, vs := range x.VirtualServicesTo(h) {
		if !x.SeesVirtualService(vs, ns) {
			continue
		}
		for d := range destinationsOf(vs, "tls", "tcp") {
			to := QualifyHost(d.Get("host").Str(), NamespaceOf(vs), x.settings.ClusterDomain)
			if to == h && fits(uint32(d.At("port", "number").Int())) {
				return true
			}
		}
	}
	return false
}

// LeadElsewhere says whether a VirtualService for a host has a route to another one, such as an egress gateway.
func (x *Index) LeadElsewhere(h Host) bool {
	return slices.ContainsFunc(x.VirtualServicesFor(h), func(vs *object.Object) bool {
		for d := range destinationsOf(vs, "http", "tls", "tcp") {
			if QualifyHost(d.Get("host").Str(), NamespaceOf(vs), x.settings.ClusterDomain) != h {
				return true
			}
		}
		return false
	})
}
