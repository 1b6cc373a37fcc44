package mesh

import (
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
	var names []Host
	for name := range x.routed.under(h) {
		if len(x.subsets.at(x.seed, name)) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []SubsetRoute
	for _, name := range names {
		for _, r := range x.subsets.at(x.seed, name) {
			out = append(out, *r)
		}
	}
	return out
}

// subsetRoutesOf lists the destinations of a VirtualService that name a subset.
func (x *Index) subsetRoutesOf(vs *object.Object) []*SubsetRoute {
	var out []*SubsetRoute
	add := func(d object.Value, at object.Path, elems ...any) {
		if subset := d.Get("subset").Str(); subset != "" {
			out = append(out, &SubsetRoute{vs, at.Child(elems...), QualifyHost(d.Get("host").Str(), NamespaceOf(vs), x.settings.ClusterDomain), subset})
		}
	}
	for _, kind := range RouteKinds() {
		for i, rule := range vs.Spec().Get(kind).Items() {
			at := object.Path{"spec", kind, i}
			for j, r := range rule.Get("route").Items() {
				add(r.Get("destination"), at, "route", j, "destination")
			}
			add(rule.Get("mirror"), at, "mirror")
			for j, m := range rule.Get("mirrors").Items() {
				add(m.Get("destination"), at, "mirrors", j, "destination")
			}
		}
	}
	return out
}
