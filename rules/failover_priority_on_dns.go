package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "DR209",
		Name:     "failover-priority-on-dns",
		Title:    "failoverPriority for names in several localities makes Istio panic",
		Category: lint.CategoryPool,
		Severity: lint.Error,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.DestinationRule, object.ServiceEntry},
		When:     whereFailoverPriority,
		Summary: "failoverPriority that is in effect on a ServiceEntry of resolution DNS whose endpoints are in two localities or more: that of " +
			"a DestinationRule or of the mesh configuration, beside outlierDetection, or that of a zoneAwareLbSetting. The same goes for the " +
			"annotation `networking.istio.io/traffic-distribution` of such a ServiceEntry.",
		Why: "Istio sorts the endpoints by how well they fit the proxy. Where Envoy resolves names, Istio's generator (1.31 release candidate) takes " +
			"all endpoints for one locality when it does so, and with several it reads beyond the end of a list in " +
			"applyFailoverPriorityPerLocality and panics, so that the proxies that see the host get no configuration. This was seen in " +
			"Istio's generator used as a library; a real istiod, which may crash, was not tried.\n\n" +
			"Endpoints without a locality count as if they had one of their own. With STATIC the same setting works, and `failover` works with " +
			"DNS too. Without outlierDetection localityLbSetting.failoverPriority does nothing; in a subset it does not make Istio panic.",
		Remedy: "Write failover or distribute instead of failoverPriority; or list addresses and write resolution: STATIC; or leave the localities " +
			"of the endpoints out.",
		Proof: lint.Proof{Kind: "panics", Text: "compiling the host panics, and yields a STRICT_DNS cluster with endpoints of two priorities once failoverPriority is gone"},
		Observe: lint.Observe{
			Stats:      []string{"pilot_xds", "pilot_xds_pushes"},
			ConfigDump: "istioctl proxy-status shows proxies as STALE or missing; the log of istiod has a stack trace through applyFailoverPriorityPerLocality",
		},
		References: []string{
			"https://istio.io/latest/docs/reference/config/networking/destination-rule/#LocalityLoadBalancerSetting",
			"https://istio.io/latest/docs/tasks/traffic-management/locality-load-balancing/failover/",
		},
	},
	Check: func(p *lint.Pass) error {
		if p.Object.Kind == object.ServiceEntry {
			priorityFromElsewhere(p)
			return nil
		}
		priorityFromRule(p)
		return nil
	},
})

// whereFailoverPriority are the places at which a DestinationRule can ask for it where Istio would panic, and the ServiceEntries on
// which Istio would.
var whereFailoverPriority = func() []lint.Gate {
	var out []lint.Gate
	for _, level := range [...]string{"spec.trafficPolicy", "spec.trafficPolicy.portLevelSettings[*]"} {
		for _, setting := range [...]string{"localityLbSetting", "zoneAwareLbSetting"} {
			out = append(out, lint.Gate{Kind: object.DestinationRule, All: []lint.Condition{{Path: level + ".loadBalancer." + setting + ".failoverPriority"}}})
		}
	}
	for _, resolution := range [...]string{"DNS", "DNS_ROUND_ROBIN"} {
		out = append(out, lint.Gate{Kind: object.ServiceEntry, All: []lint.Condition{{Path: "spec.resolution", Values: []any{resolution}}}})
	}
	return out
}()

const priorityPanic = "Istio's generator panics when it sorts the endpoints (seen in the generator of Istio 1.31-rc, not tried with a real istiod), so proxies that see the host get no configuration"

func priorityFromRule(p *lint.Pass) {
	reach := p.EachPort()
	if !reach.Known() {
		skipUnknownHost(p)
		return
	}
	type hit struct {
		path  object.Path
		ports []effective.Port
	}
	var hits []*hit
	for _, port := range reach.Ports {
		over, panics := priorityPanics(p.Mesh, port.Host, port.Target, port, func(over effective.Origin) bool { return over.Object == p.Object })
		if !panics {
			continue
		}
		i := slices.IndexFunc(hits, func(h *hit) bool { return h.path.Equal(over.Path) })
		if i < 0 {
			i = len(hits)
			hits = append(hits, &hit{path: over.Path})
		}
		hits[i].ports = append(hits[i].ports, port)
	}
	for _, h := range hits {
		first := h.ports[0]
		p.Report(h.path,
			fmt.Sprintf("%s is in effect on %s%s, whose names Envoy looks up in %s",
				settingName(h.path), portName(first), andMore(len(h.ports)-1), localitiesOf(p.Mesh, first)),
			lint.Effect(priorityPanic),
			lint.Also(first.Target.Object, object.Path{"spec", "endpoints"}, "the endpoints and their localities"),
			lint.About(lint.SubjectOf(h.ports)),
		)
	}
}

// settingName names a field of a load balancer by what is below that.
func settingName(at object.Path) string {
	i := slices.IndexFunc(at, func(e any) bool { return e == "loadBalancer" })
	return at[i+1:].String()
}

// localitiesOf lists the localities of a port's endpoints.
func localitiesOf(ix *mesh.Index, port effective.Port) string {
	list, _ := effective.Localities(ix, port.Host, port.Target, port.Port, object.Value{})
	list = slices.Clone(list)
	for i, l := range list {
		if l == "" {
			list[i] = "no locality"
		}
	}
	return fmt.Sprintf("%d localities (%s)", len(list), strings.Join(list, ", "))
}

// priorityPanics says whether Istio panics over the order of a port's endpoints, for the clients of some namespace and over a setting
// of some kind.
func priorityPanics(ix *mesh.Index, h mesh.Host, t *mesh.Target, port effective.Port, of func(effective.Origin) bool) (effective.Origin, bool) {
	if port.Cluster != effective.StrictDNS && port.Cluster != effective.LogicalDNS {
		return effective.Origin{}, false
	}
	if list, known := effective.Localities(ix, h, t, port.Port, object.Value{}); known && len(list) < 2 {
		return effective.Origin{}, false
	}
	for _, client := range ix.ClientNamespaces(t) {
		for _, labels := range clientLabels(ix, h) {
			c := effective.ClusterFor(ix, effective.Proxy{Type: effective.Sidecar, Namespace: client, Labels: labels}, h, port.Number, "")
			if c != nil && c.Panics != "" && of(c.PanicsOver) {
				return c.PanicsOver, true
			}
		}
	}
	return effective.Origin{}, false
}

// clientLabels are the labels that tell the workloads apart for which rules of a host are, those without any first.
func clientLabels(ix *mesh.Index, h mesh.Host) []map[string]string {
	out := []map[string]string{nil}
	for _, r := range ix.RulesReaching(h) {
		if r.Selector != nil {
			out = append(out, r.Selector)
		}
	}
	return out
}

// priorityFromElsewhere reports a host for which no DestinationRule asks for the order, but the mesh configuration or the
// ServiceEntry itself.
func priorityFromElsewhere(p *lint.Pass) {
	t := p.Mesh.Target(p.Object)
	for _, h := range t.Hosts {
		for _, port := range t.Ports {
			at := effective.Port{Port: port, Host: h, Target: t, Cluster: effective.ClusterTypeOf(t)}
			over, panics := priorityPanics(p.Mesh, h, t, at, func(over effective.Origin) bool {
				return over.Kind == effective.FromMesh || over.Object == p.Object
			})
			if !panics {
				continue
			}
			what, path := over.Text()+" is in effect", object.Path{"spec", "endpoints"}
			if over.Object == p.Object {
				path = object.Path{"metadata", "annotations", trafficDistribution}
				what = fmt.Sprintf("%s %s", trafficDistribution, p.Object.Annotation(trafficDistribution))
			}
			p.Report(path,
				fmt.Sprintf("%s on %s, whose names Envoy looks up in %s", what, portName(at), localitiesOf(p.Mesh, at)),
				lint.Effect(priorityPanic),
				lint.About(lint.SubjectOf([]effective.Port{at})),
			)
			return // one cause, however many hosts and ports
		}
	}
}

const trafficDistribution = "networking.istio.io/traffic-distribution"
