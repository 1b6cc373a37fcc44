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
		ID:          "MX303",
		Name:        "rule-out-of-reach",
		Title:       "A DestinationRule that its clients do not find",
		Category:    lint.CategoryAcross,
		Severity:    lint.Warning,
		Presets:     []string{"recommended", "strict"},
		Kinds:       []object.Kind{object.DestinationRule},
		SidecarOnly: true,
		Summary: "A DestinationRule that is exported to clients who never look in its namespace; or whose exportTo hides it from clients who see the " +
			"ServiceEntry beside it and have no other rule for the host; or that is for clients from whom the ServiceEntry's exportTo hides the host.",
		Why: "Istio looks for the rule of a host in three namespaces: the client's own, then the one in which the ServiceEntry or Service is, then " +
			"the root namespace, istio-system unless meshConfig says otherwise. A rule in a fourth namespace is found by the clients there only, " +
			"and exporting it changes nothing. And a rule that is exported to fewer namespaces than its ServiceEntry leaves the others with Istio's " +
			"defaults: they reach the host without the limits, the outlier detection or the TLS of the rule.\n\n" +
			"A rule without exportTo for a host of another namespace is that namespace's own override, and is not reported. Nor is a rule kept back " +
			"from clients whose VirtualService leads the host's traffic somewhere else, such as to an egress gateway; one in a namespace of gateways; " +
			"or one without which nothing would change. A wildcard may take in more than is " +
			"in view, so of these only those for the Services of one namespace are reported for being in another, and those beside a ServiceEntry.",
		Remedy: "Move the rule to the namespace of the ServiceEntry or Service, or drop exportTo if it is meant for its own namespace only. Export the rule " +
			"to the namespaces that its ServiceEntry is exported to.",
		Fix:   lint.Unsafe,
		Proof: lint.Proof{Kind: "changes", Text: "for the clients in question Istio compiles the same with the rule and without, and what the rule says once they find it"},
		Observe: lint.Observe{
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST shows no DestinationRule in its last column",
		},
		References: []string{
			"https://istio.io/latest/docs/reference/config/networking/destination-rule/#DestinationRule",
			"https://istio.io/latest/docs/ops/best-practices/traffic-management/#cross-namespace-configuration",
		},
	},
	Check: func(p *lint.Pass) error {
		r := p.Mesh.Rule(p.Object)
		if r.Host == "" || overwritten(p) {
			return nil
		}
		hits := p.Mesh.Reach(r.Host, r.Namespace())
		if atHome(p.Mesh, r, hits) {
			if !reportUnseen(p, r, hits) {
				reportHidden(p, r, hits)
			}
			return nil
		}
		if !reportVainExport(p, r, hits) {
			reportUnseen(p, r, hits)
		}
		return nil
	},
})

// atHome says whether clients of other namespaces look where the rule is: in the root namespace, or that of one of the hosts.
func atHome(ix *mesh.Index, r *mesh.DestinationRule, hits []mesh.Reached) bool {
	if r.Namespace() == ix.Settings().RootNamespace {
		return true
	}
	for _, hit := range hits {
		if slices.ContainsFunc(ix.Targets(hit.Host), func(t *mesh.Target) bool { return t.Namespace() == r.Namespace() }) {
			return true
		}
	}
	return namespaceInName(ix, r.Host) == r.Namespace()
}

// allInView says whether hits are all that the rule takes in: a wildcard may take in more than is in view, and a name inside the
// cluster may be that of a Service.
func allInView(ix *mesh.Index, r *mesh.DestinationRule, hits []mesh.Reached) bool {
	return len(hits) == 1 && !r.Host.IsWildcard() && (hits[0].Target.IsService() || !ix.Settings().InCluster(r.Host))
}

// namespaceInName is the namespace that the name of a Service holds, or of all Services that a wildcard takes in; "" if none.
func namespaceInName(ix *mesh.Index, h mesh.Host) string {
	name, ok := strings.CutSuffix(string(h), ".svc."+ix.Settings().ClusterDomain)
	if !ok || name == "*" {
		return ""
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// reportVainExport tells of a rule that is exported to namespaces whose clients do not look for it.
func reportVainExport(p *lint.Pass, r *mesh.DestinationRule, hits []mesh.Reached) bool {
	owners := []string{namespaceInName(p.Mesh, r.Host)}
	if allInView(p.Mesh, r, hits) {
		owners = nil
		for _, t := range p.Mesh.Targets(r.Host) {
			owners = append(owners, t.Namespace())
		}
		slices.Sort(owners)
		owners = slices.Compact(owners)
	}
	to := p.Object.Spec().Get("exportTo").Strings()
	others := slices.DeleteFunc(slices.Clone(to), func(ns string) bool { return ns == "." || ns == "~" || ns == r.Namespace() })
	if owners[0] == "" || len(others) == 0 || r.Selector != nil {
		return false
	}
	offered := "namespace " + others[0] + andMore(len(others)-1)
	if slices.Contains(others, "*") {
		offered = "all namespaces"
	}
	home := owners[0] + andMore(len(owners)-1)
	gets := fmt.Sprintf("only clients in %s get this one", r.Namespace())
	switch {
	case !slices.ContainsFunc(to, func(ns string) bool { return ns == "*" || ns == "." || ns == r.Namespace() }):
		gets = fmt.Sprintf("no client gets this one, since exportTo leaves out %s itself", r.Namespace())
	case allInView(p.Mesh, r, hits) && unseenFrom(p.Mesh, r.Namespace(), hits[0]):
		gets = fmt.Sprintf("no client gets this one, since the host is not exported to %s", r.Namespace())
	}
	p.Report(object.Path{"spec", "exportTo"},
		fmt.Sprintf("exportTo offers the rule to %s, but for %s clients look for rules in namespace %s, not in %s", offered, r.Host, home, r.Namespace()),
		lint.Effect(fmt.Sprintf("Istio looks for a rule in the client's namespace, then in %s, then in %s: %s", home, p.Mesh.Settings().RootNamespace, gets)),
		lint.About(lint.Subject{Hosts: hostNames(hits)}),
	)
	return true
}

func hostNames(hits []mesh.Reached) []string {
	var out []string
	for _, hit := range hits {
		out = append(out, string(hit.Host))
	}
	return out
}

// unseenFrom says whether clients in a namespace see no ServiceEntry or Service of a host, not even because a route leads there.
func unseenFrom(ix *mesh.Index, ns string, hit mesh.Reached) bool {
	routed := hit.Target.Namespace() == ns && len(ix.VirtualServicesTo(hit.Host)) > 0
	return !ix.Sees(hit.Target, ns) && !routed
}

// reportUnseen tells of a rule for one host that is hidden from all who could get the rule.
func reportUnseen(p *lint.Pass, r *mesh.DestinationRule, hits []mesh.Reached) bool {
	if !allInView(p.Mesh, r, hits) || !unseenFrom(p.Mesh, r.Namespace(), hits[0]) {
		return false
	}
	o := hits[0].Target.Object
	msg := fmt.Sprintf("the rule is for clients in namespace %s, and they do not see %s: %s is not exported to them", r.Namespace(), r.Host, o)
	if atHome(p.Mesh, r, hits) {
		if slices.ContainsFunc(p.Mesh.Targets(r.Host), func(t *mesh.Target) bool { return !p.Mesh.Hidden(t) }) {
			return false // it is for somebody
		}
		msg = fmt.Sprintf("no client sees %s, since %s is exported to nobody", r.Host, o)
	}
	at := object.Path{"spec", "exportTo"}
	if o.Kind == object.Service {
		at = object.Path{"metadata", "annotations", "networking.istio.io/exportTo"}
	}
	p.Report(object.Path{"spec", "host"}, msg,
		lint.Effect("Istio compiles no cluster for the host that could have what the rule says, so nothing in it has an effect"),
		lint.Also(o, at, "exportTo says who sees the host"),
		lint.About(lint.Subject{Hosts: hostNames(hits)}),
	)
	return true
}

// hiding is a host that clients of some namespaces see and whose rule they do not.
type hiding struct {
	host    mesh.Host
	target  *mesh.Target
	clients []string
	losses  []effective.Loss
}

// reportHidden tells of a rule whose own exportTo hides it from clients who see its ServiceEntry and get no other rule.
func reportHidden(p *lint.Pass, r *mesh.DestinationRule, hits []mesh.Reached) {
	if !p.Object.Spec().Get("exportTo").Set() || r.Selector != nil {
		return
	}
	merged := p.Mesh.MergedWith(p.Object)
	if merged == nil {
		return
	}
	budget := newLossBudget(p.Mesh, r)
	var first *hiding
	more := 0
	for _, hit := range hits {
		h, ok := hidingOf(p.Mesh, budget, merged, hit)
		switch {
		case !ok:
			p.Skip("the rule takes in more hosts and namespaces than are looked at")
			return
		case h == nil:
		case first == nil:
			first = h
		default:
			more++
		}
	}
	if first == nil || servesGateways(p.Mesh, r.Namespace()) {
		return
	}
	p.Report(object.Path{"spec", "exportTo"},
		fmt.Sprintf("exportTo hides the rule from clients in namespace %s%s, which see %s%s", first.clients[0], andMore(len(first.clients)-1), first.host, andMore(more)),
		lint.Effect("Istio compiles their clusters without the rule: "+lostValues(first.losses)),
		lint.Also(first.target.Object, object.Path{"spec", "exportTo"}, "whom the host is exported to"),
		lint.About(lint.Subject{Hosts: []string{string(first.host)}}),
		suggestAll(sameExport(first, hits)),
	)
}

// hidingOf returns what clients miss of a merged rule on a host beside it, nil if they miss nothing. ok is false if the budget is
// used up.
func hidingOf(ix *mesh.Index, budget *lossBudget, merged *mesh.Merged, hit mesh.Reached) (h *hiding, ok bool) {
	own := merged.Rules[0].Namespace()
	t := hit.Target
	if t.IsService() || t.Namespace() != own {
		return nil, true
	}
	h = &hiding{host: hit.Host, target: t}
	for _, ns := range clientsOf(ix, merged, t) {
		if !budget.look() {
			return nil, false
		}
		if resolved := ix.Resolve(hit.Host, ns); resolved == nil || resolved.Namespace() != own || !ix.Sees(resolved, ns) {
			continue // they have a ServiceEntry of their own for the host
		}
		if ix.RuleFor(t, hit.Host, ns, nil) == nil {
			h.clients = append(h.clients, ns)
		}
	}
	if len(h.clients) == 0 {
		return nil, true
	}
	if h.losses, ok = budget.between(ix, merged, nil, effective.PortsSeen(ix, hit.Host, t, h.clients[0])); !ok {
		return nil, false
	}
	if len(h.losses) == 0 || ix.LeadElsewhere(hit.Host) {
		return nil, true
	}
	return h, true
}

// clientsOf are the namespaces in which the rule for a ServiceEntry is to be expected: those that the entry's exportTo names, and, if
// that is for all and the rule for its own namespace only, those that hold an object. Whoever exports a rule to chosen namespaces has
// made a choice. The root namespace, where sidecars are rare, counts only if it is named.
func clientsOf(ix *mesh.Index, merged *mesh.Merged, t *mesh.Target) []string {
	var out []string
	named := map[string]bool{}
	add := func(ns string) {
		if !named[ns] {
			named[ns] = true
			out = append(out, ns)
		}
	}
	for _, ns := range t.ExportTo {
		switch ns {
		case "*", "~":
		case ".":
			add(t.Namespace())
		default:
			add(ns)
		}
	}
	if !ix.Private(merged.Rules[0]) {
		return out
	}
	for _, ns := range ix.ClientNamespaces(t) {
		if ns != ix.Settings().RootNamespace && ix.Sees(t, ns) {
			add(ns)
		}
	}
	return out
}

// servesGateways says whether gateways run in a namespace, as far as is known: a rule there may be for them alone.
func servesGateways(ix *mesh.Index, ns string) bool {
	return slices.Contains(ix.Settings().GatewayNamespaces, ns) || ix.HasGateway(ns)
}

// sameExport proposes to export a rule for one host as its ServiceEntry is exported.
func sameExport(h *hiding, hits []mesh.Reached) []lint.Fix {
	if len(hits) != 1 {
		return nil
	}
	to := []any{"*"}
	if written := h.target.Object.Spec().Get("exportTo").Strings(); len(written) > 0 {
		to = nil
		for _, ns := range written {
			to = append(to, ns)
		}
	}
	return []lint.Fix{{
		Title: fmt.Sprintf("export it to whom %s is exported", h.target.Object), Safety: lint.Unsafe,
		Ops: []lint.Op{{Kind: lint.Replace, Path: object.Path{"spec", "exportTo"}, Value: to}},
	}}
}
