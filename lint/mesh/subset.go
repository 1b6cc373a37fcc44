package mesh

import (
	"cmp"
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// SubsetRoute is a destination of a VirtualService that names a subset.
type SubsetRoute struct {
	Object *object.Object
	Path   object.Path // of the destination
	Host   Host
	Subset string
}

// SubsetRoutes returns the destinations of all VirtualServices, mirrors among them, that name a subset of a host, or of a host below a
// wildcard. Which proxies get them is not looked at.
func (x *Index) SubsetRoutes(h Host) []SubsetRoute {
	x.subsetsOnce.Do(func() {
		x.subsets = map[Host][]SubsetRoute{}
		for vs := range x.All(object.VirtualService) {
			x.addSubsetRoutes(vs)
		}
		for _, list := range x.subsets {
			slices.SortStableFunc(list, func(a, b SubsetRoute) int { return cmp.Compare(a.Object.Key.String(), b.Object.Key.String()) })
		}
	})
	if !h.IsWildcard() {
		return x.subsets[h]
	}
	var out []SubsetRoute
	for _, name := range sortedHosts(x.subsets) {
		if name == h || h.Covers(name) {
			out = append(out, x.subsets[name]...)
		}
	}
	return out
}

func sortedHosts(m map[Host][]SubsetRoute) []Host {
	out := make([]Host, 0, len(m))
	for h := range m {
		out = append(out, h)
	}
	slices.Sort(out)
	return out
}

func (x *Index) addSubsetRoutes(vs *object.Object) {
	add := func(d object.Value, at object.Path) {
		subset := d.Get("subset").Str()
		if subset == "" {
			return
		}
		h := QualifyHost(d.Get("host").Str(), NamespaceOf(vs), x.settings.ClusterDomain)
		x.subsets[h] = append(x.subsets[h], SubsetRoute{vs, at, h, subset})
	}
	for _, kind := range [...]string{"http", "tls", "tcp"} {
		for i, rule := range vs.Spec().Get(kind).Items() {
			at := object.Path{"spec", kind, i}
			for j, r := range rule.Get("route").Items() {
				add(r.Get("destination"), at.Child("route", j, "destination"))
			}
			add(rule.Get("mirror"), at.Child("mirror"))
			for j, m := range rule.Get("mirrors").Items() {
				add(m.Get("destination"), at.Child("mirrors", j, "destination"))
			}
		}
	}
}
