package mesh

import (
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// ways are what VirtualServices and HTTPRoutes say, by the hosts that they speak of.
type ways struct {
	virtual lists[Host, *object.Object]       // VirtualServices by each of their hosts, the oldest first
	wildVS  lists[string, *object.Object]     // those with a wildcard host by what follows its star
	sentTo  lists[Host, *object.Object]       // VirtualServices by the hosts that their routes lead to, the oldest first
	leading lists[Host, *object.Object]       // likewise, mirrors included, by name
	routes  lists[Host, *Route]               // http routes and mirrors by the host of their destination
	bytes   lists[Host, *Route]               // tcp and tls routes likewise
	subsets lists[Host, *SubsetRoute]         // destinations that name a subset, by host
	sent    shards[Host, int]                 // hosts that routes lead to from somewhere else
	beyond  shards[Host, int]                 // hosts to which a gateway has a route
	parents lists[object.Key, *object.Object] // HTTPRoutes by the ServiceEntries that are their parents
	routed  hostSet                           // all of these hosts
}

func (x *Index) linkWays(e *edit, o *object.Object) {
	for _, r := range x.routesOf(o) {
		x.routes.insert(e, r.Host, r, routeByName)
	}
	for _, h := range x.hostsSpokenOf(o) {
		x.routed.add(e, h)
	}
	for _, h := range x.sentElsewhere(o) {
		adjust(&x.sent, e, h, 1)
	}
	for _, h := range x.heldBeyond(o) {
		adjust(&x.beyond, e, h, 1)
	}
	if o.Kind == object.HTTPRoute {
		for _, k := range entriesRouted(o) {
			x.parents.insert(e, k, o, byName)
		}
		return
	}
	for _, h := range x.virtualHosts(o) {
		x.virtual.insert(e, h, o, olderVirtualService)
		if h.IsWildcard() {
			x.wildVS.insert(e, string(h[1:]), o, olderVirtualService)
		}
	}
	for _, h := range x.destinationsOf(o) {
		x.sentTo.insert(e, h, o, olderVirtualService)
	}
	for _, h := range x.ledTo(o) {
		x.leading.insert(e, h, o, byName)
	}
	for _, r := range x.byteRoutesOf(o) {
		x.bytes.insert(e, r.Host, r, routeByName)
	}
	for _, r := range x.subsetRoutesOf(o) {
		x.subsets.insert(e, r.Host, r, func(a, b *SubsetRoute) bool { return a.Object.Key.String() < b.Object.Key.String() })
	}
}

func (x *Index) unlinkWays(e *edit, o *object.Object) {
	is := func(have *object.Object) bool { return have == o }
	isOf := func(have *Route) bool { return have.Object == o }
	for _, r := range x.routesOf(o) {
		x.routes.remove(e, r.Host, isOf)
	}
	for _, h := range x.hostsSpokenOf(o) {
		x.routed.drop(e, h)
	}
	for _, h := range x.sentElsewhere(o) {
		adjust(&x.sent, e, h, -1)
	}
	for _, h := range x.heldBeyond(o) {
		adjust(&x.beyond, e, h, -1)
	}
	if o.Kind == object.HTTPRoute {
		for _, k := range entriesRouted(o) {
			x.parents.remove(e, k, is)
		}
		return
	}
	for _, h := range x.virtualHosts(o) {
		x.virtual.remove(e, h, is)
		if h.IsWildcard() {
			x.wildVS.remove(e, string(h[1:]), is)
		}
	}
	for _, h := range x.destinationsOf(o) {
		x.sentTo.remove(e, h, is)
	}
	for _, h := range x.ledTo(o) {
		x.leading.remove(e, h, is)
	}
	for _, r := range x.byteRoutesOf(o) {
		x.bytes.remove(e, r.Host, isOf)
	}
	for _, r := range x.subsetRoutesOf(o) {
		x.subsets.remove(e, r.Host, func(have *SubsetRoute) bool { return have.Object == o })
	}
}

func routeByName(a, b *Route) bool { return byName(a.Object, b.Object) }

// hostsSpokenOf lists the hosts of a VirtualService or HTTPRoute and those of its destinations, each once.
func (x *Index) hostsSpokenOf(o *object.Object) []Host {
	out := x.virtualHosts(o)
	for _, r := range x.routesOf(o) {
		out = append(out, r.Host)
	}
	if o.Kind == object.VirtualService {
		out = append(out, x.ledTo(o)...)
	}
	return each(out)
}

// ledTo lists the hosts to which routes of a VirtualService lead, mirrors among them, each once.
func (x *Index) ledTo(vs *object.Object) []Host {
	var out []Host
	for d := range destinationsOf(vs, RouteKinds()...) {
		out = append(out, QualifyHost(d.Get("host").Str(), NamespaceOf(vs), x.settings.ClusterDomain))
	}
	return each(out)
}

// sentElsewhere lists the hosts to which routes lead from a gateway or from a host of another name, each once.
func (x *Index) sentElsewhere(o *object.Object) []Host {
	var out []Host
	if o.Kind == object.HTTPRoute {
		for _, r := range x.routesOf(o) {
			out = append(out, r.Host)
		}
		return each(out)
	}
	hosts, atGateway := x.virtualHosts(o), boundToGateway(o)
	for _, kind := range RouteKinds() {
		for _, rule := range o.Spec().Get(kind).Items() {
			for _, r := range rule.Get("route").Items() {
				to := QualifyHost(r.At("destination", "host").Str(), NamespaceOf(o), x.settings.ClusterDomain)
				if atGateway || slices.ContainsFunc(hosts, func(from Host) bool { return from != to }) {
					out = append(out, to)
				}
			}
		}
	}
	return each(out)
}

// heldBeyond lists the hosts to which a VirtualService that is bound to a Gateway has a route there, or an HTTPRoute whose parent is one,
// each once.
func (x *Index) heldBeyond(o *object.Object) []Host {
	var out []Host
	if o.Kind == object.HTTPRoute {
		for _, parent := range o.Spec().Get("parentRefs").Items() {
			if kind := parent.Get("kind").Str(); kind == "" || kind == string(object.Gateway) {
				for _, r := range x.routesOf(o) {
					out = append(out, r.Host)
				}
				break
			}
		}
		return each(out)
	}
	bound := o.Spec().Get("gateways").Strings()
	for _, kind := range RouteKinds() {
		for _, rule := range o.Spec().Get(kind).Items() {
			if !heldByGateway(rule, bound) {
				continue
			}
			for _, r := range rule.Get("route").Items() {
				out = append(out, QualifyHost(r.At("destination", "host").Str(), NamespaceOf(o), x.settings.ClusterDomain))
			}
		}
	}
	return each(out)
}

// byteRoutesOf lists the destinations of the tcp and tls routes of a VirtualService.
func (x *Index) byteRoutesOf(vs *object.Object) []*Route {
	var out []*Route
	for _, kind := range [...]string{"tcp", "tls"} {
		for i, rule := range vs.Spec().Get(kind).Items() {
			for j, route := range rule.Get("route").Items() {
				d := route.Get("destination")
				out = append(out, &Route{
					Object: vs, Path: object.Path{"spec", kind, i, "route", j, "destination"},
					Host: QualifyHost(d.Get("host").Str(), NamespaceOf(vs), x.settings.ClusterDomain), Port: uint32(d.At("port", "number").Int()),
					rule: rule, destination: d,
				})
			}
		}
	}
	return out
}

// each lists hosts in order and once.
func each(hosts []Host) []Host {
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
