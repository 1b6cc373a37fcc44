package mesh

import (
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// GatewayNamespaces are the namespaces where gateway proxies run, in order: those of the settings, else the root namespace and those
// of the gateways in view. The pods of a Gateway are where a Service chooses them by its labels; without such a Service they are taken
// to be in its own namespace.
func (x *Index) GatewayNamespaces() []string {
	return cached(x, gatewaysCache, theOnly{}, (*Index).gatewayNamespaces)
}

func (x *Index) gatewayNamespaces(theOnly) []string {
	if given := x.settings.GatewayNamespaces; len(given) > 0 {
		return sorted(given)
	}
	out := []string{x.settings.RootNamespace}
	for gw := range x.All(object.Gateway) {
		selector, found := gw.Spec().Get("selector"), false
		for _, s := range x.mayChoose(selector) {
			if hasAllOf(s.Spec().Get("selector"), selector) {
				out = append(out, NamespaceOf(s))
				found = true
			}
		}
		if !found {
			out = append(out, NamespaceOf(gw))
		}
	}
	return sorted(out)
}

// label is one label of pods.
type label struct{ key, value string }

// labelsChosen lists the labels by which a Service chooses pods; none for other kinds.
func labelsChosen(o *object.Object) []label {
	if o.Kind != object.Service {
		return nil
	}
	var out []label
	for k, v := range o.Spec().Get("selector").Fields() {
		out = append(out, label{k, v.Text()})
	}
	return out
}

// mayChoose lists the Services that choose pods with a label of a Gateway's selector: with the one that the fewest have.
func (x *Index) mayChoose(selector object.Value) []*object.Object {
	var out []*object.Object
	first := true
	for k, v := range selector.Fields() {
		if list := x.choosing.at(x.seed, label{k, v.Text()}); first || len(list) < len(out) {
			out, first = list, false
		}
	}
	return out
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
	for name := range x.routed.under(h) {
		if _, has := x.beyond.get(x.seed, name); has {
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
