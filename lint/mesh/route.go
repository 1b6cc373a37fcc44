package mesh

import (
	"iter"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Route is a destination of an http route: what is sent there is a request that Envoy has read.
type Route struct {
	Object *object.Object
	Path   object.Path // of the destination
	Host   Host
	Port   uint32 // 0 if the route names none

	rule, destination object.Value // as they are written, which need not be sought by their paths

	gateways bool // the VirtualService has routes for gateways, not for sidecars alone
}

// Rule is the route of the VirtualService or the rule of the HTTPRoute that has the destination.
func (r *Route) Rule() object.Value { return r.rule }

// Subset is the subset that the destination names, "" = none.
func (r *Route) Subset() string { return r.destination.Get("subset").Str() }

// routesOf lists the destinations of the http routes of a VirtualService or HTTPRoute.
func (x *Index) routesOf(o *object.Object) []*Route {
	var out []*Route
	switch o.Kind {
	case object.VirtualService:
		gateways := boundToGateway(o)
		for i, http := range o.Spec().Get("http").Items() {
			at := object.Path{"spec", "http", i}
			add := func(d object.Value, elems ...any) {
				if !d.Set() {
					return
				}
				out = append(out, &Route{
					Object: o, Path: at.Child(elems...),
					Host: QualifyHost(d.Get("host").Str(), NamespaceOf(o), x.settings.ClusterDomain), Port: uint32(d.At("port", "number").Int()),
					rule: http, destination: d, gateways: gateways,
				})
			}
			for j, route := range http.Get("route").Items() {
				add(route.Get("destination"), "route", j, "destination")
			}
			add(http.Get("mirror"), "mirror")
			for j, m := range http.Get("mirrors").Items() {
				add(m.Get("destination"), "mirrors", j, "destination")
			}
		}
	case object.HTTPRoute:
		for i, rule := range o.Spec().Get("rules").Items() {
			for j, ref := range rule.Get("backendRefs").Items() {
				out = append(out, &Route{
					Object: o, Path: object.Path{"spec", "rules", i, "backendRefs", j},
					Host: x.backendHost(o, ref), Port: uint32(ref.Get("port").Int()),
					rule: rule, destination: ref,
				})
			}
		}
	}
	return out
}

// backendHost is the host that a Gateway API backendRef means: its name if its kind is Hostname, else that of its Service.
func (x *Index) backendHost(route *object.Object, ref object.Value) Host {
	name := ref.Get("name").Str()
	if ref.Get("kind").Str() == "Hostname" {
		return Host(name)
	}
	ns := ref.Get("namespace").Str()
	if ns == "" {
		ns = NamespaceOf(route)
	}
	return Host(name + "." + ns + ".svc." + x.settings.ClusterDomain)
}

// HasHTTPRoute says whether an HTTPRoute of the Gateway API has a ServiceEntry for its parent, so that it decides, at sidecars, on
// requests for the hosts of the entry.
func (x *Index) HasHTTPRoute(t *Target) bool {
	return t != nil && !t.IsService() && len(x.parents.at(x.seed, normal(t.Object.Key))) > 0
}

// entriesRouted lists the ServiceEntries that are parents of an HTTPRoute, each once.
func entriesRouted(o *object.Object) []object.Key {
	var out []object.Key
	for _, ref := range o.Spec().Get("parentRefs").Items() {
		ns := ref.Get("namespace").Str()
		if ns == "" {
			ns = NamespaceOf(o)
		}
		k := object.Key{Kind: object.ServiceEntry, Namespace: ns, Name: ref.Get("name").Str()}
		if ref.Get("kind").Str() == string(object.ServiceEntry) && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// CleartextRoutes returns the http routes of VirtualServices and HTTPRoutes whose destination is a port of a host. What such a
// route forwards is a request that Envoy has read, so TLS that Envoy starts towards that port is the only TLS on the way.
// Routes that no request can meet, because the hosts of their VirtualService have only ports that Envoy treats as L4, are left
// out.
func (x *Index) CleartextRoutes(host Host, port uint32) []*Route {
	out := slices.Collect(x.cleartextRoutes(host, port))
	if host.IsWildcard() {
		slices.SortFunc(out, func(a, b *Route) int {
			return strings.Compare(a.Object.String()+a.Path.String(), b.Object.String()+b.Path.String())
		})
	}
	return out
}

// RoutesTo returns the http routes that lead to a host, whether or not requests can meet them.
func (x *Index) RoutesTo(host Host) []*Route { return x.routes.at(x.seed, host) }

// IsDestination says whether proxies send something to a host that clients did not ask for by its name: a route of any kind leads there
// from a gateway or from a host of another name, or it serves the proxies themselves as one of meshConfig.extensionProviders.
func (x *Index) IsDestination(h Host) bool {
	_, sent := x.sent.get(x.seed, h)
	return sent || x.providers[h]
}

// HasCleartextRoute says whether there is such a route.
func (x *Index) HasCleartextRoute(host Host, port uint32) bool {
	if !host.IsWildcard() && len(x.routes.at(x.seed, host)) == 0 {
		return false
	}
	return cached(x, cleartextCache, destination{host, port}, func(x *Index, d destination) bool {
		for range x.cleartextRoutes(d.host, d.port) {
			return true
		}
		return false
	})
}

// destination is where a route may lead.
type destination struct {
	host Host
	port uint32
}

func (x *Index) cleartextRoutes(host Host, port uint32) iter.Seq[*Route] {
	return func(yield func(*Route) bool) {
		give := func(list []*Route) bool {
			for _, r := range list {
				if x.leadsTo(r, port) && x.receives(r) && !yield(r) {
					return false
				}
			}
			return true
		}
		if !host.IsWildcard() {
			give(x.routes.at(x.seed, host))
			return
		}
		for h := range x.routed.under(host) {
			if !give(x.routes.at(x.seed, h)) {
				return
			}
		}
	}
}

// ByteRoutes returns the tcp and tls routes of VirtualServices whose destination is a port of a host: they lead bytes there, whatever the
// port's protocol says. A destination without a port counts for all.
func (x *Index) ByteRoutes(host Host, port uint32) []*Route {
	var out []*Route
	for _, r := range x.bytes.at(x.seed, host) {
		if r.Port == 0 || r.Port == port {
			out = append(out, r)
		}
	}
	return out
}

// leadsTo says whether a route's destination is a port. A destination without one is the port on which the request came in, even
// if the host has only another; for a route of a gateway, whose ports may be others than the host's, that may be any.
func (x *Index) leadsTo(r *Route, port uint32) bool {
	if r.Port != 0 {
		return r.Port == port
	}
	if r.gateways {
		return true
	}
	return r.Object.Kind == object.VirtualService && slices.Contains(x.entranceOf(r.Object).ports, port) && matchesPort(r.rule, port)
}

// boundToGateway says whether a VirtualService has routes for gateways, not for sidecars alone.
func boundToGateway(vs *object.Object) bool {
	gateway := func(list object.Value) bool {
		return slices.ContainsFunc(list.Strings(), func(name string) bool { return name != "mesh" })
	}
	if gateway(vs.Spec().Get("gateways")) {
		return true
	}
	for _, http := range vs.Spec().Get("http").Items() {
		for _, m := range http.Get("match").Items() {
			if gateway(m.Get("gateways")) {
				return true
			}
		}
	}
	return false
}

// receives says whether requests can meet a route. Sidecars put an http route only on ports that they read requests from: not
// on those of protocol TLS, HTTPS or TCP. It is true of hosts that are not in view.
func (x *Index) receives(r *Route) bool {
	if r.Object.Kind != object.VirtualService || r.gateways {
		return true
	}
	e := x.entranceOf(r.Object)
	if e.unknown {
		return true
	}
	return slices.ContainsFunc(e.ports, func(port uint32) bool { return matchesPort(r.rule, port) })
}

// entrance is where requests for the hosts of a VirtualService come in.
type entrance struct {
	unknown bool     // one of the hosts is not in view
	ports   []uint32 // from which sidecars read requests
}

// entranceOf looks at the hosts of a VirtualService, once: it may have many routes.
func (x *Index) entranceOf(vs *object.Object) entrance {
	return cached(x, entrancesCache, vs, (*Index).newEntrance)
}

func (x *Index) newEntrance(vs *object.Object) entrance {
	var e entrance
	from := NamespaceOf(vs)
	for _, h := range sorted(vs.Spec().Get("hosts").Strings()) {
		reached := x.Reach(QualifyHost(h, from, x.settings.ClusterDomain), from)
		e.unknown = e.unknown || len(reached) == 0
		for _, hit := range reached {
			for _, t := range x.Merged(hit.Host, hit.Target, from) {
				for _, p := range t.Ports {
					if p.Family == L7 || p.Family == Sniffed {
						e.ports = append(e.ports, p.Number)
					}
				}
			}
		}
		slices.Sort(e.ports)
		e.ports = slices.Compact(e.ports)
	}
	if x.hasHTTPOn80() {
		e.ports = append(e.ports, 80)
	}
	return e
}

// hasHTTPOn80 says whether sidecars read requests on port 80 for any host at all. Then they put the routes of a VirtualService there
// by its hosts, whether or not these have such a port: a client may send to port 80 of any address. Source: Istio's
// pilot/pkg/networking/core/route, where port 80 stands in for hosts without services.
func (x *Index) hasHTTPOn80() bool { return x.http80 > 0 }

// onHTTP80 says whether sidecars read requests on port 80 for a target.
func (x *Index) onHTTP80(t *Target) bool {
	p, ok := t.Port(80)
	return ok && (p.Family == L7 || p.Family == Sniffed) && len(t.Hosts) > 0 && !x.Hidden(t)
}

// matchesPort says whether an http route's match admits requests that come in on a port.
func matchesPort(rule object.Value, port uint32) bool {
	match := rule.Get("match")
	if match.Len() == 0 {
		return true
	}
	for _, m := range match.Items() {
		if n := m.Get("port"); !n.Set() || uint32(n.Int()) == port {
			return true
		}
	}
	return false
}
