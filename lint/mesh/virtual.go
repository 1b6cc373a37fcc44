package mesh

import (
	"iter"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// VirtualServicesFor returns the VirtualServices with a host that covers h, those with the most specific host first, of equals the
// oldest. Which proxies get them is not looked at.
func (x *Index) VirtualServicesFor(h Host) []*object.Object {
	x.virtualOnce.Do(func() {
		x.virtual = map[Host][]*object.Object{}
		for vs := range x.All(object.VirtualService) {
			for _, host := range sorted(vs.Spec().Get("hosts").Strings()) {
				name := QualifyHost(host, NamespaceOf(vs), x.settings.ClusterDomain)
				x.virtual[name] = append(x.virtual[name], vs)
			}
		}
		for _, list := range x.virtual {
			slices.SortFunc(list, func(a, b *object.Object) int {
				if older(createdOf(a), createdOf(b), a, b) {
					return -1
				}
				return 1
			})
		}
		for name := range x.virtual {
			if name.IsWildcard() {
				x.virtualWild = append(x.virtualWild, name)
			}
		}
		slices.SortFunc(x.virtualWild, func(a, b Host) int {
			if n := len(b) - len(a); n != 0 {
				return n
			}
			return strings.Compare(string(a), string(b))
		})
	})
	out := slices.Clone(x.virtual[h])
	seen := map[*object.Object]bool{}
	for _, vs := range out {
		seen[vs] = true
	}
	for _, name := range x.virtualWild {
		if name == h || !name.Covers(h) {
			continue
		}
		for _, vs := range x.virtual[name] {
			if !seen[vs] {
				seen[vs] = true
				out = append(out, vs)
			}
		}
	}
	return out
}

// VirtualServicesTo returns the VirtualServices with a route of any protocol to a host, ordered by key. Which proxies get them is not
// looked at.
func (x *Index) VirtualServicesTo(h Host) []*object.Object {
	x.leadingOnce.Do(func() {
		x.leading = map[Host][]*object.Object{}
		for vs := range x.All(object.VirtualService) {
			for d := range destinationsOf(vs, "http", "tls", "tcp") {
				to := QualifyHost(d.Get("host").Str(), NamespaceOf(vs), x.settings.ClusterDomain)
				if list := x.leading[to]; len(list) == 0 || list[len(list)-1] != vs {
					x.leading[to] = append(list, vs)
				}
			}
		}
	})
	return x.leading[h]
}

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

// SeesVirtualService says whether proxies of a namespace get a VirtualService.
func (x *Index) SeesVirtualService(vs *object.Object, ns string) bool {
	to := vs.Spec().Get("exportTo").Strings()
	if len(to) == 0 {
		to = x.settings.MeshConfig.Get("defaultVirtualServiceExportTo").Strings()
	}
	return len(to) == 0 || slices.Contains(to, "*") || slices.Contains(to, ns) || slices.Contains(to, ".") && NamespaceOf(vs) == ns
}
