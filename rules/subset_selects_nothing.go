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
		ID:       "DR226",
		Name:     "subset-selects-nothing",
		Title:    "A subset whose labels no endpoint has",
		Category: lint.CategoryPool,
		Severity: lint.Error,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.DestinationRule},
		When: []lint.Gate{
			{All: []lint.Condition{{Path: "spec.subsets[*].name"}}},
		},
		SidecarOnly: true,
		Summary: "A subset of a ServiceEntry's host whose labels none of the endpoints has, on any port; or any subset of a host of resolution " +
			"DYNAMIC_DNS.",
		Why: "A subset is the endpoints that have its labels. The host that a ServiceEntry of resolution DNS looks up if it lists no " +
			"endpoints has none. For DNS and DNS_ROUND_ROBIN Istio then compiles no cluster for the subset at all, and what a route sends " +
			"there is answered 503 with the flag NC; for STATIC it compiles one without endpoints (503 UH). A DYNAMIC_DNS host has no clusters " +
			"for subsets, whatever their labels are.\n\n" +
			"A subset without labels is all endpoints, and is not reported. With resolution NONE, and where loadBalancer is PASSTHROUGH, " +
			"labels do not count. Nothing is said where workloads may be endpoints, which no manifest shows: hosts of Services and names of the cluster, and " +
			"ServiceEntries with a workloadSelector. A rule for a wildcard is reported only if it is so for every host that it takes in, and if " +
			"all hosts of the mesh are known.",
		Remedy: "Give the endpoints of the ServiceEntry the labels of the subset. If the subset is there for its policy alone, drop its " +
			"`labels`: it then has all endpoints. For a DYNAMIC_DNS host route to the host without a subset.",
		Proof: lint.Proof{Kind: "changes", Text: "the cluster of the subset is absent, or without endpoints, and there once an endpoint has the labels"},
		Observe: lint.Observe{
			Stats:      []string{"membership_total"},
			Flags:      []string{"NC", "UH"},
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST lists no cluster with the name of the subset; or istioctl proxy-config endpoint POD --cluster 'outbound|PORT|SUBSET|HOST' lists nothing",
		},
		References: []string{
			"https://istio.io/latest/docs/reference/config/networking/destination-rule/#Subset",
			"https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage#response-flags",
		},
	},
	Check: func(p *lint.Pass) error {
		if !p.Reach().Known() {
			skipUnknownHost(p)
			return nil
		}
		if tooManySubsets(p) {
			return nil
		}
		rule := p.Mesh.Rule(p.Object)
		for i := range p.Object.Spec().Get("subsets").Items() {
			v, ok := effective.SubsetOf(p.Mesh, p.Object, i)
			if !ok {
				continue
			}
			ports := portsWithout(p, v)
			if len(ports) == 0 {
				continue
			}
			if rule.Host.IsWildcard() && !knowsHostsOf(p.Mesh, rule.Host) {
				p.Skip(fmt.Sprintf("%s may take in hosts that are not in view", rule.Host))
				return nil
			}
			reportEmptySubset(p, i, v, ports)
		}
		return nil
	},
})

func reportEmptySubset(p *lint.Pass, i int, v effective.SubsetView, ports []emptySubset) {
	first := ports[0]
	at := object.Path{"spec", "subsets", i, "labels"}
	name := p.Object.Lookup(at.Parent()).Get("name").Str()
	msg := fmt.Sprintf("no endpoint of %s%s has the labels of subset %s, %s", first.port.Host, andMore(hostsOf(ports)-1), name, labelList(v.Labels()))
	because := first.port.Target.Object
	why, note := object.Path{"spec", "endpoints"}, "the endpoints"
	if !because.Lookup(why).Set() {
		why, note = object.Path{"spec", "hosts"}, "without endpoints Envoy looks up the host, which has no labels"
	}
	if first.absent == effective.NoDynamicSubsets {
		at = at.Parent().Child("name")
		msg = fmt.Sprintf("%s%s has no cluster for subset %s, since its resolution is DYNAMIC_DNS", first.port.Host, andMore(hostsOf(ports)-1), name)
		why, note = object.Path{"spec", "resolution"}, "the resolution is written here"
	}
	effect := "Istio compiles no cluster for the subset: a request that a route sends there is answered 503 with flag NC, and a connection is closed"
	if first.absent == "" {
		effect = "Envoy's cluster for the subset has no endpoints: a request that a route sends there is answered 503 with flag UH, and a connection is closed"
	}
	extras := []lint.Extra{lint.Effect(effect), lint.Also(because, why, note)}
	if r := routeToSubset(p.Mesh, p.Mesh.Rule(p.Object).Host, name); r != nil {
		extras = append(extras, lint.Also(r.Object, r.Path, "this route leads to the subset"))
	}
	subject := make([]effective.Port, 0, len(ports))
	for _, e := range ports {
		subject = append(subject, e.port)
	}
	p.Report(at, msg, append(extras, lint.About(lint.SubjectOf(subject)))...)
}

// emptySubset is a port on which a subset has no endpoint.
type emptySubset struct {
	port   effective.Port
	absent string // why there is no cluster, "" if there is one
}

// portsWithout lists the ports that a rule governs if a subset has an endpoint on none of them. Those that have no endpoint at all are
// not the fault of its labels.
func portsWithout(p *lint.Pass, v effective.SubsetView) []emptySubset {
	var out []emptySubset
	labels := v.Labels()
	if mesh.HangsOnInstallation(labels) {
		return nil
	}
	for _, port := range p.EachPort().Ports {
		if mayHaveWorkloads(p.Mesh, port) {
			return nil
		}
		of, absent := v.Cluster(port)
		switch {
		case absent == effective.NoSuchEndpoints, absent == effective.NoDynamicSubsets:
			out = append(out, emptySubset{port, absent})
		case absent != "": // nor is there one of the host
		case of.Cluster != effective.EDS:
			return nil
		default:
			n, _ := effective.EndpointCount(p.Mesh, port.Host, port.Target, port.Port, object.Value{})
			has, known := effective.EndpointCount(p.Mesh, port.Host, port.Target, port.Port, labels)
			if !known || has > 0 {
				return nil
			}
			if n > 0 {
				out = append(out, emptySubset{port: port})
			}
		}
	}
	return out
}

// mostSubsetPorts bounds the pairs of subset and port that are looked at: each costs some 20 µs.
const mostSubsetPorts = 50_000

// tooManySubsets says whether the subsets of a rule are not judged, since there are too many for the ports that it reaches.
func tooManySubsets(p *lint.Pass) bool {
	subsets, ports := p.Object.Spec().Get("subsets").Len(), len(p.EachPort().Ports)
	if subsets*ports <= mostSubsetPorts {
		return false
	}
	p.Skip(fmt.Sprintf("%d subsets for %d ports of hosts are more than %d pairs: they are not held against endpoints", subsets, ports, mostSubsetPorts))
	return true
}

// mayHaveWorkloads says whether endpoints of a port may be pods or WorkloadEntries.
func mayHaveWorkloads(ix *mesh.Index, port effective.Port) bool {
	t := port.Target
	if ix.Settings().InCluster(port.Host) {
		return true
	}
	return slices.ContainsFunc(ix.Targets(port.Host), func(other *mesh.Target) bool {
		return other.IsService() || other.Namespace() == t.Namespace() && other.HasSelector()
	})
}

// knowsHostsOf says whether every host that a wildcard may take in is in view.
func knowsHostsOf(ix *mesh.Index, h mesh.Host) bool {
	return ix.Complete(object.ServiceEntry) && (ix.Complete(object.Service) || h != "*" && !ix.Settings().InCluster(h))
}

func hostsOf(ports []emptySubset) int {
	hosts := map[mesh.Host]bool{}
	for _, e := range ports {
		hosts[e.port.Host] = true
	}
	return len(hosts)
}

// labelList writes labels as people select by them.
func labelList(labels object.Value) string {
	var out []string
	for k, v := range labels.Fields() {
		out = append(out, k+"="+v.Text())
	}
	return strings.Join(out, ", ")
}

// routeToSubset returns the first route that leads to a subset of a rule's host.
func routeToSubset(ix *mesh.Index, h mesh.Host, subset string) *mesh.SubsetRoute {
	for _, r := range ix.SubsetRoutes(h) {
		if r.Subset == subset {
			return &r
		}
	}
	return nil
}
