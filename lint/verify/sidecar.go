package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// imports are the hosts that a Sidecar resource lets a proxy see.
type imports struct {
	from    *object.Object // nil if none in view holds for the proxy
	own     string         // the proxy's namespace
	egress  []string       // namespace/host
	gateway bool
}

// newImports finds the Sidecar resource that holds for a proxy: one of its namespace that chooses its labels, else the
// namespace's, else the root namespace's. Source: Istio's pilot/pkg/model, getSidecarScope.
func newImports(ix *mesh.Index, proxy effective.Proxy) imports {
	im := imports{own: proxy.Namespace, gateway: proxy.Type == effective.Gateway}
	if im.gateway {
		return im // it is not for gateways
	}
	best := 0
	for o := range ix.All(object.Sidecar) {
		labels := o.Spec().At("workloadSelector", "labels")
		rank := 0
		switch ns := mesh.NamespaceOf(o); {
		case labels.Len() > 0 && ns == proxy.Namespace && chooses(labels, proxy.Labels):
			rank = 3
		case labels.Len() > 0:
		case ns == proxy.Namespace:
			rank = 2
		case ns == ix.Settings().RootNamespace:
			rank = 1
		}
		if rank > best {
			best, im.from = rank, o
		}
	}
	if im.from == nil {
		return im
	}
	for _, listener := range im.from.Spec().Get("egress").Items() {
		im.egress = append(im.egress, listener.Get("hosts").Strings()...)
	}
	return im
}

func chooses(selector object.Value, labels map[string]string) bool {
	for k, v := range selector.Fields() {
		if labels[k] != v.Text() {
			return false
		}
	}
	return true
}

// hides says why a proxy may have no cluster of a host, and whether something in view is the reason.
func (im imports) hides(host mesh.Host, namespace string) (why string, known bool) {
	switch {
	case im.gateway:
		return "not applied, or gateways get only what routes lead to (PILOT_FILTER_GATEWAY_CLUSTER_CONFIG)", false
	case im.from == nil:
		return "not applied, or hidden by a Sidecar resource or discoverySelectors out of view", false
	case len(im.egress) == 0 || slices.ContainsFunc(im.egress, func(e string) bool { return im.lets(e, host, namespace) }):
		return fmt.Sprintf("not applied, since %s imports it", im.from), false
	}
	return fmt.Sprintf("%s does not import it", im.from), true
}

func (im imports) lets(egress string, host mesh.Host, namespace string) bool {
	space, name, ok := strings.Cut(egress, "/")
	if !ok {
		return false
	}
	if space == "." {
		space = im.own
	}
	return (space == "*" || space == namespace) && mesh.Host(name).Overlaps(host)
}

// Selectors lists the DestinationRules in view that hold for some workloads of a namespace only, by name.
func Selectors(ix *mesh.Index, namespace string) []*object.Object {
	byName := map[string]*object.Object{}
	for o := range ix.All(object.DestinationRule) {
		if mesh.NamespaceOf(o) == namespace && o.Spec().At("workloadSelector", "matchLabels").Len() > 0 {
			byName[o.Name] = o
		}
	}
	var out []*object.Object
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out
}
