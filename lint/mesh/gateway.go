package mesh

import (
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// GatewayNamespaces are the namespaces where gateway proxies run, in order: those of the settings, else the root namespace and those
// of the gateways in view. The pods of a Gateway are where a Service chooses them by its labels; without such a Service they are taken
// to be in its own namespace.
func (x *Index) GatewayNamespaces() []string {
	x.gatewayOnce.Do(func() {
		if given := x.settings.GatewayNamespaces; len(given) > 0 {
			x.gatewaySpaces = sorted(given)
			return
		}
		type label struct{ key, value string }
		services := map[label][]*object.Object{}
		for s := range x.All(object.Service) {
			for k, v := range s.Spec().Get("selector").Fields() {
				l := label{k, v.Text()}
				services[l] = append(services[l], s)
			}
		}
		// choosing lists the Services that choose pods with a label of a Gateway's selector: with the one that the fewest have.
		choosing := func(selector object.Value) []*object.Object {
			var out []*object.Object
			first := true
			for k, v := range selector.Fields() {
				if list := services[label{k, v.Text()}]; first || len(list) < len(out) {
					out, first = list, false
				}
			}
			return out
		}
		out := []string{x.settings.RootNamespace}
		for gw := range x.All(object.Gateway) {
			selector, found := gw.Spec().Get("selector"), false
			for _, s := range choosing(selector) {
				if hasAllOf(s.Spec().Get("selector"), selector) {
					out = append(out, NamespaceOf(s))
					found = true
				}
			}
			if !found {
				out = append(out, NamespaceOf(gw))
			}
		}
		x.gatewaySpaces = sorted(out)
	})
	return x.gatewaySpaces
}

// hasAllOf says whether a set of labels holds all of another.
func hasAllOf(set, labels object.Value) bool {
	for k, v := range labels.Fields() {
		if have := set.Get(k); !have.Exists() || have.Text() != v.Text() {
			return false
		}
	}
	return true
}

// HasGatewayRoute says whether a gateway has a route to a host: one of a VirtualService that is bound to a Gateway, or of an HTTPRoute
// whose parent is one. A wildcard host has one if any of its hosts does.
func (x *Index) HasGatewayRoute(h Host) bool {
	x.beyondOnce.Do(func() {
		x.beyond = map[Host]bool{}
		for vs := range x.All(object.VirtualService) {
			bound := vs.Spec().Get("gateways").Strings()
			for _, kind := range [...]string{"http", "tls", "tcp"} {
				for _, rule := range vs.Spec().Get(kind).Items() {
					if !heldByGateway(rule, bound) {
						continue
					}
					for _, r := range rule.Get("route").Items() {
						x.beyond[QualifyHost(r.At("destination", "host").Str(), NamespaceOf(vs), x.settings.ClusterDomain)] = true
					}
				}
			}
		}
		for route := range x.All(object.HTTPRoute) {
			parents := route.Spec().Get("parentRefs").Items()
			for _, parent := range parents {
				if kind := parent.Get("kind").Str(); kind == "" || kind == string(object.Gateway) {
					for _, r := range x.routesOf(route) {
						x.beyond[r.Host] = true
					}
					break
				}
			}
		}
	})
	if !h.IsWildcard() {
		return x.beyond[h]
	}
	for to := range x.beyond {
		if h.Covers(to) {
			return true
		}
	}
	return false
}

// heldByGateway says whether a rule of a VirtualService that is bound to some gateways holds at one that is no sidecar.
func heldByGateway(rule object.Value, bound []string) bool {
	gateway := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "mesh" })
	}
	match := rule.Get("match")
	if match.Len() == 0 {
		return gateway(bound)
	}
	for _, m := range match.Items() {
		own := m.Get("gateways").Strings()
		if gateway(own) || len(own) == 0 && gateway(bound) {
			return true
		}
	}
	return false
}
