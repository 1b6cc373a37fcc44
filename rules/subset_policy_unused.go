package rules

import (
	"fmt"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "DR227",
		Name:     "subset-policy-unused",
		Title:    "A subset with a policy to which nothing is routed",
		Category: lint.CategoryPool,
		Severity: lint.Warning,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.DestinationRule},
		Needs:    []object.Kind{object.VirtualService},
		When: []lint.Gate{
			{All: []lint.Condition{{Path: "spec.subsets[*].trafficPolicy"}}},
		},
		Summary: "A subset with a trafficPolicy that no route of any VirtualService names.",
		Why: "Istio compiles a cluster for every subset, and one for the host. Traffic goes through the cluster of a subset only if a route " +
			"names the subset; without one it goes through that of the host, to all endpoints, those with the subset's labels included. The " +
			"limits, timeouts, outlier detection or TLS that the subset sets then hold for nothing.\n\n" +
			"http, tls and tcp routes count, mirrors too, in whatever namespace and for whatever gateway they are. A subset without a policy of " +
			"its own is not reported, nor one of which DR226 says that it selects nothing.",
		Remedy: "Route to the subset in a VirtualService, or put the settings into the trafficPolicy of the rule, where they hold for the host.",
		Proof:  lint.Proof{Kind: "envoy", Text: "the cluster of the subset carries the policy, and no listener and no route names it"},
		Observe: lint.Observe{
			Stats:      []string{"upstream_cx_total", "upstream_rq_total"},
			ConfigDump: "istioctl proxy-config route POD -o json and istioctl proxy-config listener POD -o json name no cluster 'outbound|PORT|SUBSET|HOST'",
		},
		References: []string{
			"https://istio.io/latest/docs/reference/config/networking/destination-rule/#Subset",
			"https://istio.io/latest/docs/ops/best-practices/traffic-management/",
		},
	},
	Check: func(p *lint.Pass) error {
		if tooManySubsets(p) {
			return nil
		}
		host := p.Mesh.Rule(p.Object).Host
		for i, s := range p.Object.Spec().Get("subsets").Items() {
			v, ok := effective.SubsetOf(p.Mesh, p.Object, i)
			if !ok || s.Get("trafficPolicy").Len() == 0 {
				continue
			}
			name := s.Get("name").Str()
			if routeToSubset(p.Mesh, host, name) != nil || p.Reach().Known() && len(portsWithout(p, v)) > 0 {
				continue
			}
			p.Report(object.Path{"spec", "subsets", i, "trafficPolicy"},
				fmt.Sprintf("no route leads to subset %s of %s, so its trafficPolicy holds for nothing", name, host),
				lint.Effect("no route and no listener of Envoy names the cluster of the subset, so nothing is sent through it; what is sent to the host without a subset has the destination level's settings"),
				lint.About(lint.Subject{Hosts: []string{string(host)}}),
			)
		}
		return nil
	},
})
