package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:          "MX311",
		Name:        "sidecar-hides-host",
		Title:       "A Sidecar resource hides a host from clients that configure it",
		Category:    lint.CategoryAcross,
		Severity:    lint.Warning,
		Presets:     []string{"recommended", "strict"},
		Kinds:       []object.Kind{object.DestinationRule, object.ServiceEntry},
		Needs:       []object.Kind{object.Sidecar, object.ServiceEntry},
		SidecarOnly: true,
		Summary: "A DestinationRule for the clients of a namespace whose Sidecar resource does not import the host; or a ServiceEntry for whose host a " +
			"VirtualService of such a namespace has a tls route. A ServiceEntry that is hidden from clients of its own namespace, or of one that its " +
			"exportTo names, without either is an info.",
		Why: "A Sidecar resource with `egress.hosts` lets its proxies see the hosts that the list names and no others: `./*` is what the namespace itself " +
			"defines. For every other host Istio compiles no listener, no route and no cluster there, whatever is exported to the namespace. A " +
			"DestinationRule then has no cluster to apply to. The destination of a VirtualService does get a cluster, but no listener for its TLS " +
			"port, so a tls route takes nothing there.\n\n" +
			"The Sidecar of the namespace counts, else that of the root namespace; those for chosen workloads count too, and a host that any of them " +
			"imports is not reported. Nor is an entry for all namespaces that one of them does not import, a rule that clients of other namespaces get, one that a VirtualService gives a cluster to, or one " +
			"in a namespace of gateways, to which Sidecar resources do not apply.",
		Remedy: "Add NAMESPACE/HOST to `egress.hosts` of the Sidecar resource, or drop what is configured for the host in that namespace.",
		Proof:  lint.Proof{Kind: "changes", Text: "once the Sidecar resource imports the host, there are its cluster and listener"},
		Observe: lint.Observe{
			Stats:      []string{"cluster.PassthroughCluster.upstream_cx_total", "cluster.BlackHoleCluster.upstream_cx_total"},
			Flags:      []string{"NR", "UH"},
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST lists no cluster",
		},
		References: []string{"https://istio.io/latest/docs/reference/config/networking/sidecar/#IstioEgressListener"},
	},
	Check: func(p *lint.Pass) error {
		switch {
		case overwritten(p) || len(p.Mesh.SidecarNamespaces()) == 0:
		case p.Object.Kind == object.DestinationRule:
			reportRuleWithoutCluster(p)
		default:
			reportHiddenEntry(p)
		}
		return nil
	},
})

// reportRuleWithoutCluster tells of a rule whose only clients have a Sidecar resource that imports none of its hosts.
func reportRuleWithoutCluster(p *lint.Pass) {
	r := p.Mesh.Rule(p.Object)
	ns := r.Namespace()
	if r.Host == "" || ns == p.Mesh.Settings().RootNamespace {
		return
	}
	hits := p.Mesh.Reach(r.Host, ns)
	if len(hits) == 0 || atHome(p.Mesh, r, hits) && !p.Mesh.Private(r) && r.Selector == nil {
		return
	}
	if p.Mesh.Settings().InCluster(r.Host) && !p.Mesh.Complete(object.Service) {
		p.Skip(fmt.Sprintf("%s is a name inside the cluster, and not every Service is known", r.Host))
		return
	}
	budget := newLossBudget(p.Mesh, r)
	var by *object.Object
	for _, hit := range hits {
		budget.each = 1 + p.Mesh.Sidecars(ns)
		if !budget.look() {
			p.Skip("the rule takes in more hosts than are looked at")
			return
		}
		if by = p.Mesh.HidingSidecar(hit.Host, ns); by == nil || madeKnown(p.Mesh, hit.Host, ns) {
			return
		}
	}
	if servesGateways(p.Mesh, ns) {
		return
	}
	p.Report(object.Path{"spec", "host"},
		fmt.Sprintf("%s does not import %s%s, so in namespace %s there is no cluster that the rule could apply to", by, hits[0].Host, andMore(len(hits)-1), ns),
		lint.Effect(inScope(p.Mesh)+"Istio compiles no cluster or listener of the host for sidecars there; "+unknownHostEffect(p.Mesh)),
		lint.Also(by, object.Path{"spec", "egress"}, "the hosts that are imported"),
		lint.About(lint.Subject{Hosts: hostNames(hits), Objects: []object.Key{by.Key}}),
	)
}

// madeKnown says whether a VirtualService that sidecars of a namespace get leads to a host, which gives them its cluster.
func madeKnown(ix *mesh.Index, h mesh.Host, ns string) bool {
	return slices.ContainsFunc(ix.VirtualServicesTo(h), func(vs *object.Object) bool { return ix.SeesVirtualService(vs, ns) && bindsMesh(vs) })
}

// bindsMesh says whether sidecars get a VirtualService, not gateways alone.
func bindsMesh(vs *object.Object) bool {
	gateways := vs.Spec().Get("gateways")
	return gateways.Len() == 0 || slices.Contains(gateways.Strings(), "mesh")
}

// hiddenFrom is a namespace from whose clients a Sidecar resource hides a host.
type hiddenFrom struct {
	at        int // of the host in spec.hosts
	host      mesh.Host
	namespace string
	by        *object.Object
	route     *object.Object // a VirtualService of the namespace with a tls route for the host, nil if there is none
}

// reportHiddenEntry tells of a ServiceEntry from whose clients Sidecar resources hide a host: what is worst, and of the rest how much
// there is.
func reportHiddenEntry(p *lint.Pass) {
	t := p.Mesh.Target(p.Object)
	meant := map[string]bool{t.Namespace(): true} // the entry says that it is for clients there
	for _, ns := range t.ExportTo {
		meant[ns] = ns != "*" && ns != "." && ns != "~"
	}
	maps.DeleteFunc(meant, func(_ string, named bool) bool { return !named })
	listed := slices.Sorted(maps.Keys(meant))
	budget := max(200, 1_000_000/(1+p.Mesh.Count(object.ServiceEntry)))
	var worst *hiddenFrom
	more := map[string]bool{}
	for i, h := range t.Hosts {
		spaces, routed := slices.Clip(listed), map[string]bool{}
		for _, vs := range p.Mesh.VirtualServicesTo(h) {
			if ns := mesh.NamespaceOf(vs); !meant[ns] && !routed[ns] {
				routed[ns] = true
				spaces = append(spaces, ns)
			}
		}
		for _, ns := range spaces {
			if budget -= 1 + p.Mesh.Sidecars(ns); budget < 0 {
				if worst == nil {
					p.Skip("more Sidecar resources may hide its hosts than are looked at")
				}
				break
			}
			by := p.Mesh.HidingSidecar(h, ns)
			if by == nil || ns == p.Mesh.Settings().RootNamespace || servesGateways(p.Mesh, ns) || ruledIn(p.Mesh, t, h, ns) {
				continue
			}
			found := hiddenFrom{i, h, ns, by, tlsRoute(p.Mesh, h, ns)}
			if found.route == nil && madeKnown(p.Mesh, h, ns) {
				continue
			}
			more[ns] = true
			if worst == nil || worst.route == nil && found.route != nil {
				worst = &found
			}
		}
	}
	if worst == nil {
		return
	}
	extras := []lint.Extra{
		lint.Also(worst.by, object.Path{"spec", "egress"}, "the hosts that are imported"),
		lint.About(lint.Subject{Hosts: []string{string(worst.host)}, Objects: []object.Key{worst.by.Key}}),
	}
	msg := fmt.Sprintf("%s hides %s from clients in namespace %s%s", worst.by, worst.host, worst.namespace, andMore(len(more)-1))
	if worst.route != nil {
		msg = fmt.Sprintf("%s hides %s from clients in namespace %s, where %s has a tls route for it", worst.by, worst.host, worst.namespace, worst.route)
		extras = append(extras, lint.Also(worst.route, object.Path{"spec", "tls"}, "the route that takes nothing"),
			lint.Effect("Istio compiles a cluster for the route and no listener that leads to it: the connections go through PassthroughCluster, or end in BlackHoleCluster under outboundTrafficPolicy REGISTRY_ONLY"))
	} else {
		extras = append(extras, lint.As(lint.Info), lint.Effect("Istio compiles no cluster or listener of the host for sidecars there; "+unknownHostEffect(p.Mesh)))
	}
	p.Report(hostPath(p.Object, worst.host, worst.at), msg, extras...)
}

// ruledIn says whether a namespace has a rule for just this host: that has a finding of its own.
func ruledIn(ix *mesh.Index, t *mesh.Target, h mesh.Host, ns string) bool {
	m := ix.RuleFor(t, h, ns, nil)
	return m != nil && ns != t.Namespace() && m.Rules[0].Namespace() == ns && m.Host() == h
}

// tlsRoute returns a VirtualService of a namespace with a tls route to a host that its sidecars get, nil if there is none.
func tlsRoute(ix *mesh.Index, h mesh.Host, ns string) *object.Object {
	for _, vs := range ix.VirtualServicesTo(h) {
		if mesh.NamespaceOf(vs) == ns && bindsMesh(vs) && ix.SeesVirtualService(vs, ns) && ix.LeadsByTLS(vs, h) {
			return vs
		}
	}
	return nil
}
