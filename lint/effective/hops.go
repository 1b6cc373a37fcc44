package effective

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Hop is one connection on the way from a client to a host: the proxy that opens it, and what it compiles for it.
type Hop struct {
	Proxy   Proxy
	Cluster *Cluster
	// Route is the route of a VirtualService that leads to the cluster, nil where Istio's own does.
	Route *object.Object
	Path  object.Path // of the destination in Route
	// Assumed is said of a hop through a Service that is not among the manifests, "" otherwise.
	Assumed string
	// Next is the hop that the gateway at the end of this one opens, nil at the last hop. A gateway that several routes lead on from
	// has one hop each.
	Next []*Hop
}

const (
	// maxHops bounds how far routes are followed; a way of this length goes round in circles.
	maxHops = 4
	// maxOpened bounds how many hops one way is followed for in all: a text may hold thousands of routes through each of thousands
	// of gateways.
	maxOpened = 1000
)

// WayTo follows the routes for a port of a host from a proxy on: through egress gateways, to where the last one connects to. It
// has several first hops if the routes have several destinations, and none if the proxy does not see the port or its routes send
// nothing anywhere (see AnsweredBy). What a VirtualService delegates is not followed. From a gateway on there is one hop: which of its
// listeners a request came in by, and so which routes it meets, the port of the host does not say.
func WayTo(ix *mesh.Index, proxy Proxy, host mesh.Host, port uint32) []*Hop {
	return wayTo(ix, proxy, host, port, routesBySubset{})
}

// wayTo is WayTo; without routes (nil) no cluster has Retries: thousands of routes may lead to an egress gateway.
func wayTo(ix *mesh.Index, proxy Proxy, host mesh.Host, port uint32, routes routesBySubset) []*Hop {
	w := way{ix: ix, host: host, services: ix.VirtualServicesFor(host), routesTo: routes}
	if proxy.Type == Gateway {
		w.services = nil
	}
	return w.from(proxy, port, "", nil, 0)
}

// AnsweredBy is the VirtualService whose routes for a port of a host send nothing anywhere: they redirect, answer themselves or
// delegate. It is nil if there is none.
func AnsweredBy(ix *mesh.Index, proxy Proxy, host mesh.Host, port uint32) *object.Object {
	w := way{ix: ix, host: host, services: ix.VirtualServicesFor(host)}
	out, taken := w.destinations(proxy, port, "", nil)
	if len(out) > 0 || proxy.Type == Gateway {
		return nil
	}
	return taken
}

type way struct {
	ix       *mesh.Index
	host     mesh.Host        // that the client dials
	services []*object.Object // VirtualServices for it
	opened   int              // hops so far
	routesTo routesBySubset   // for the Retries of clusters; nil = they are not wanted
}

// from lists the hops that a proxy opens for the host on a port. gateways are the names of the Gateways by which a gateway was
// reached, none for a sidecar.
func (w *way) from(proxy Proxy, port uint32, kind string, gateways []string, depth int) []*Hop {
	var out []*Hop
	destinations, taken := w.destinations(proxy, port, kind, gateways)
	for _, d := range destinations {
		if h := w.hop(proxy, d, depth); h != nil {
			out = append(out, h)
		}
	}
	if taken != nil || len(gateways) > 0 {
		return out
	}
	if c := clusterFor(w.ix, proxy, w.host, port, "", w.routesTo); c != nil {
		if proxy.Type == Sidecar {
			c.Port.Routed = false // an http route may lead to the port, but not this one
		}
		out = append(out, &Hop{Proxy: proxy, Cluster: c})
	}
	return out
}

// destination is where a route sends what it takes.
type destination struct {
	vs     *object.Object
	path   object.Path
	host   mesh.Host
	port   uint32
	subset string
	kind   string // "http", "tls" or "tcp"
}

// destinations lists those of the routes that hold for the host on a port. The first VirtualService that has any route decides, as
// the most specific one does in Envoy; it is returned too.
func (w *way) destinations(proxy Proxy, port uint32, kind string, gateways []string) ([]destination, *object.Object) {
	for _, vs := range w.services {
		if !w.ix.SeesVirtualService(vs, proxy.Namespace) {
			continue
		}
		kinds := []string{kind}
		if kind == "" {
			kinds = w.routeKinds(proxy, port)
		}
		for _, k := range kinds {
			if out, taken := w.routes(proxy, vs, k, port, gateways); taken {
				return out, vs
			}
		}
	}
	return nil, nil
}

// routeKinds are the kinds of route that hold for the host's port.
func (w *way) routeKinds(proxy Proxy, port uint32) []string {
	c := ClusterAlone(w.ix, proxy, w.host, port, "")
	if c == nil {
		return []string{"http", "tls", "tcp"}
	}
	return c.Port.RouteKinds()
}

// routes lists the destinations in the routes of a VirtualService; taken says that one of its routes holds, whatever it does.
func (w *way) routes(proxy Proxy, vs *object.Object, kind string, port uint32, gateways []string) (out []destination, taken bool) {
	for i, rule := range vs.Spec().Get(kind).Items() {
		admitted, all := w.admits(proxy, vs, rule, kind, port, gateways)
		if !admitted {
			continue
		}
		taken = true
		for j, r := range rule.Get("route").Items() {
			if rule.Get("route").Len() > 1 && r.Get("weight").Int() == 0 {
				continue // nothing is sent there
			}
			d := r.Get("destination")
			out = append(out, destination{
				vs: vs, path: object.Path{"spec", kind, i, "route", j, "destination"}, kind: kind,
				host: mesh.QualifyHost(d.Get("host").Str(), mesh.NamespaceOf(vs), w.ix.Settings().ClusterDomain),
				port: uint32(d.At("port", "number").Int()), subset: d.Get("subset").Str(),
			})
			if last := &out[len(out)-1]; last.port == 0 {
				last.port = w.portless(proxy, last.host, kind, port)
			}
		}
		if all {
			break // nothing is left for the routes after it
		}
	}
	seen := map[string]bool{} // names of clusters
	out = slices.DeleteFunc(out, func(d destination) bool {
		name := ClusterName(d.port, d.subset, d.host)
		twice := seen[name]
		seen[name] = true
		return twice
	})
	return out, taken
}

// admits says whether a route holds for some of what comes to the host's port, and whether for all of it: at sidecars (no gateways)
// or at one of some gateways.
func (w *way) admits(proxy Proxy, vs *object.Object, rule object.Value, kind string, port uint32, gateways []string) (some, all bool) {
	bound := vs.Spec().Get("gateways").Strings()
	if len(bound) == 0 {
		bound = []string{"mesh"}
	}
	at := func(names []string) bool {
		if len(gateways) == 0 {
			return slices.Contains(names, "mesh")
		}
		return slices.ContainsFunc(names, func(n string) bool {
			return n != "mesh" && slices.Contains(gateways, gatewayName(n, mesh.NamespaceOf(vs)))
		})
	}
	match := rule.Get("match")
	if match.Len() == 0 {
		return at(bound), at(bound)
	}
	for _, m := range match.Items() {
		names := m.Get("gateways").Strings()
		if len(names) == 0 {
			names = bound
		}
		if n := m.Get("port"); n.Set() && uint32(n.Int()) != port && len(gateways) == 0 {
			continue
		}
		if kind == "tls" && !w.isNamed(m.Get("sniHosts")) || !at(names) || !comesFrom(proxy, m) {
			continue
		}
		some = true
		whole := true
		for key := range m.Fields() {
			whole = whole && slices.Contains([]string{"gateways", "port", "sniHosts", "sourceLabels", "sourceNamespace", "name", "statPrefix"}, key)
		}
		all = all || whole && len(gateways) <= 1 // which of several gateways a route is for may differ
	}
	return some, all
}

// comesFrom says whether a proxy is one of those for which a match asks: Istio leaves the route out for the others.
func comesFrom(proxy Proxy, match object.Value) bool {
	if ns := match.Get("sourceNamespace").Str(); ns != "" && ns != proxy.Namespace {
		return false
	}
	for k, v := range match.Get("sourceLabels").Fields() {
		if own, has := proxy.Labels[k]; !has || own != v.Text() {
			return false
		}
	}
	return true
}

// isNamed says whether the host is one of sniHosts, of which none means any.
func (w *way) isNamed(sniHosts object.Value) bool {
	return sniHosts.Len() == 0 || slices.ContainsFunc(sniHosts.Strings(), func(h string) bool {
		return mesh.Host(h).Covers(w.host) || w.host.Covers(mesh.Host(h))
	})
}

func gatewayName(name, namespace string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return namespace + "/" + name
}

// portless is the port that a destination without one means for what comes in on a port: the only one of the destination, else the
// same. For the http routes of a sidecar Istio looks only among hosts that have the same. Source: Istio's
// pilot/pkg/networking/core/route, buildSidecarVirtualHostsForVirtualService and its callers.
func (w *way) portless(proxy Proxy, to mesh.Host, kind string, port uint32) uint32 {
	if proxy.Type == Sidecar && kind == "http" {
		return port
	}
	return cmp.Or(onlyPort(w.ix, proxy, to), port)
}

// onlyPort is the port of a host that has one only, for a proxy; else 0.
func onlyPort(ix *mesh.Index, proxy Proxy, host mesh.Host) uint32 {
	t := proxy.resolve(ix, host)
	if t == nil {
		return 0
	}
	if ports := portsOf(ix, proxy, host, t); len(ports) == 1 {
		return ports[0].Number
	}
	return 0
}

// hop compiles the cluster of a destination, and follows it if a gateway waits there.
func (w *way) hop(proxy Proxy, d destination, depth int) *Hop {
	if w.opened++; w.opened > maxOpened {
		return nil
	}
	ix, assumed := w.ix, ""
	if len(ix.Targets(d.host)) == 0 {
		s, ok := assumeService(ix, d)
		if !ok {
			return &Hop{Proxy: proxy, Cluster: missing(proxy, d, "no ServiceEntry or Service in view has the host"), Route: d.vs, Path: d.path}
		}
		ix = ix.With(s)
		assumed = fmt.Sprintf("Service %s is not among the manifests; its port %d is taken to be named %s", s.Key.Name, d.port, s.Spec().At("ports", 0, "name").Str())
	}
	c := clusterFor(ix, proxy, d.host, d.port, d.subset, w.routesTo)
	if c == nil {
		c = missing(proxy, d, w.whyMissing(ix, proxy, d))
	}
	if c.Port.Family == mesh.L4 {
		c.Port.Routed = d.kind == "http" // whatever other routes lead there
	}
	h := &Hop{Proxy: proxy, Cluster: c, Route: d.vs, Path: d.path, Assumed: assumed}
	if depth+1 < maxHops && d.host != w.host && c.Port.Target != nil {
		h.Next = w.beyond(c, d, depth+1)
	}
	return h
}

// missing is a cluster that a route leads to and that does not exist: what is sent there fails.
func missing(proxy Proxy, d destination, why string) *Cluster {
	return &Cluster{
		Proxy: proxy, Port: Port{Port: mesh.Port{Number: d.port}, Host: d.host}, Subset: d.subset,
		Policy: &Policy{Blocks: map[string]Source{}}, Absent: why + "; requests that the route sends there fail",
	}
}

func (w *way) whyMissing(ix *mesh.Index, proxy Proxy, d destination) string {
	numbers := PortNumbers(ix, proxy, d.host)
	switch {
	case len(numbers) == 0:
		return "the proxy does not see the host"
	case !slices.Contains(numbers, d.port):
		return fmt.Sprintf("the host has no port %d", d.port)
	}
	return fmt.Sprintf("no DestinationRule in force for this proxy has a subset %s", d.subset)
}

// beyond lists what the gateway at the end of a hop opens: a VirtualService for the client's host is bound to a Gateway, and the
// Gateway chooses pods by labels that the Service chooses too.
func (w *way) beyond(c *Cluster, d destination, depth int) []*Hop {
	ns := c.Port.Target.Namespace()
	serviceLabels := c.Port.Target.Object.Spec().Get("selector")
	labels := map[string]string{}
	var names []string
	for _, vs := range w.services {
		for _, name := range boundGateways(vs) {
			name = gatewayName(name, mesh.NamespaceOf(vs))
			if slices.Contains(names, name) {
				continue
			}
			space, short, _ := strings.Cut(name, "/")
			gw := w.ix.Get(object.Key{Kind: object.Gateway, Namespace: space, Name: short})
			if gw == nil {
				if space == ns || space == mesh.NamespaceOf(vs) {
					names = append(names, name)
				}
				continue
			}
			selector := gw.Spec().Get("selector")
			if serviceLabels.Len() > 0 && !contradicts(serviceLabels, selector) || serviceLabels.Len() == 0 {
				for k, v := range selector.Fields() {
					labels[k] = v.Text()
				}
				names = append(names, name)
			}
		}
	}
	for k, v := range serviceLabels.Fields() {
		labels[k] = v.Text()
	}
	if len(names) == 0 {
		return nil
	}
	proxy := Proxy{Type: Gateway, Namespace: ns, Labels: labels}
	return w.from(proxy, d.port, w.kindAt(proxy, names, d), names, depth)
}

// kindAt is the kind of route that a gateway has for what comes in. It may end TLS and read requests, whatever led to it.
func (w *way) kindAt(proxy Proxy, gateways []string, d destination) string {
	for _, kind := range []string{"http", "tls", "tcp"} {
		for _, vs := range w.services {
			if _, taken := w.routes(proxy, vs, kind, d.port, gateways); taken {
				return kind
			}
		}
	}
	return d.kind
}

// boundGateways are the Gateways that a VirtualService names, at the top or in a match.
func boundGateways(vs *object.Object) []string {
	out := vs.Spec().Get("gateways").Strings()
	for _, kind := range []string{"http", "tls", "tcp"} {
		for _, rule := range vs.Spec().Get(kind).Items() {
			for _, m := range rule.Get("match").Items() {
				out = append(out, m.Get("gateways").Strings()...)
			}
		}
	}
	return slices.DeleteFunc(out, func(n string) bool { return n == "mesh" })
}

// contradicts says whether no pod can have both sets of labels.
func contradicts(a, b object.Value) bool {
	for k, v := range a.Fields() {
		if w := b.Get(k); w.Exists() && w.Text() != v.Text() {
			return true
		}
	}
	return false
}

// assumeService makes the Service that a route inside the mesh leads to and that nobody has shown: egress gateways are installed
// by charts, and their Services are rarely kept with the routes.
func assumeService(ix *mesh.Index, d destination) (*object.Object, bool) {
	name, rest, _ := strings.Cut(string(d.host), ".")
	namespace, isService := strings.CutSuffix(rest, ".svc."+ix.Settings().ClusterDomain)
	if !isService || name == "" || namespace == "" || strings.Contains(namespace, ".") || d.port == 0 {
		return nil, false
	}
	protocol := map[string]string{"http": "http", "tls": "tls", "tcp": "tcp"}[d.kind]
	switch d.port {
	case 80:
		protocol = "http2"
	case 443, 8443, 15443:
		protocol = "tls"
	}
	o, err := object.FromMap(map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{"ports": []any{map[string]any{"name": protocol, "port": int64(d.port)}}},
	})
	return o, err == nil
}
