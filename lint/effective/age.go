package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// OfUnknownAge lists objects between which their age decides for a host and a proxy, where one of them does not say how old it is:
// ServiceEntries that define the host, and DestinationRules of one namespace for one host string. What is predicted takes them in the
// order of names.
func OfUnknownAge(ix *mesh.Index, proxy Proxy, host mesh.Host) [][]*object.Object {
	t := proxy.resolve(ix, host)
	if t == nil {
		return nil
	}
	var targets, rules []*object.Object
	for _, other := range ix.Targets(host) {
		own := other.Namespace() == t.Namespace()
		foreign := t.Namespace() != proxy.Namespace && other.Namespace() != proxy.Namespace || proxy.Type == Gateway
		if !t.IsService() && !other.IsService() && ix.Sees(other, proxy.Namespace) && (own || foreign) {
			targets = append(targets, other.Object)
		}
	}
	if m := ix.RuleFor(t, host, proxy.Namespace, proxy.Labels); m != nil {
		for _, r := range ix.Rules(m.Host()) {
			if r.Namespace() == m.Rules[0].Namespace() && (r.Selector == nil) == (m.Selector() == nil) {
				rules = append(rules, r.Object)
			}
		}
	}
	var out [][]*object.Object
	for _, list := range [][]*object.Object{targets, rules} {
		if len(list) > 1 && slices.ContainsFunc(list, func(o *object.Object) bool { return o.Created() == "" }) {
			out = append(out, list)
		}
	}
	return out
}
