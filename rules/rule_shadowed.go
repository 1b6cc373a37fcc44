package rules

import (
	"fmt"
	"slices"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:          "MX304",
		Name:        "rule-shadowed",
		Title:       "A DestinationRule takes the place of a general one and loses its settings",
		Category:    lint.CategoryAcross,
		Severity:    lint.Warning,
		Presets:     []string{"recommended", "strict"},
		Kinds:       []object.Kind{object.DestinationRule},
		SidecarOnly: true,
		Supersedes: []lint.Supersede{
			{Rule: "DR203", Scope: lint.ScopePort}, {Rule: "DR204", Scope: lint.ScopePort}, {Rule: "DR219", Scope: lint.ScopePort},
		},
		Summary: "A DestinationRule that takes the place of another one with a different host, and through which a value of the other is lost: the other " +
			"sets a field, this one does not, and what is in effect differs because of that. The other is one for a wider wildcard, or, where this one " +
			"is a wildcard in the namespace of the clients, one for the very host.",
		Why: "Istio takes one rule for a host and inherits nothing from the rest. Within a namespace the most specific host wins, so an exact " +
			"rule without `tls` or `outlierDetection` switches off those of the wildcard rule that covers its host. Across namespaces the client's own " +
			"comes first, whatever its host: a wildcard there beats the exact rule that the owner of the host has written.\n\n" +
			"Values that do not change are not reported: those that this rule restates or sets otherwise, those that are the default, and those that " +
			"the mesh's defaultTrafficPolicy brings back. Nor is a rule with the same host string as the other, which is an override for its " +
			"namespace, or a rule that drops ISTIO_MUTUAL for a host outside the mesh. A wildcard for the whole mesh is taken for a client's own only if the " +
			"mesh configuration, which says which the root namespace is, is in view.",
		Remedy: "Restate in this rule every value of the other that should hold for the host too, or drop this rule and put what it sets into the other.",
		Proof:  lint.Proof{Kind: "changes", Text: "once the rule is taken away, the cluster carries the other rule's values"},
		Observe: lint.Observe{
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST shows in its last column which DestinationRule is in force",
		},
		References: []string{
			"https://istio.io/latest/docs/reference/config/networking/destination-rule/#DestinationRule",
			"https://istio.io/latest/docs/ops/best-practices/traffic-management/#cross-namespace-configuration",
		},
	},
	Check: func(p *lint.Pass) error {
		r := p.Mesh.Rule(p.Object)
		if r.Host == "" || r.Selector != nil || overwritten(p) {
			return nil
		}
		budget := newLossBudget(p.Mesh, r)
		var first *shadow
		more := 0
		for _, hit := range p.Mesh.ReachOf(r) {
			s, ok := shadowOf(p.Mesh, budget, r, hit)
			switch {
			case !ok && first == nil:
				p.Skip("the rule takes in more hosts and namespaces than are looked at")
				return nil
			case !ok:
				reportShadow(p, r, first, more)
				return nil
			case s == nil:
			case first == nil:
				first = s
			default:
				more++
			}
		}
		if first != nil {
			reportShadow(p, r, first, more)
		}
		return nil
	},
})

// shadow is a host for which a rule takes the place of another.
type shadow struct {
	host   mesh.Host
	client string // whose clients get the rule instead
	behind *mesh.Merged
	losses []effective.Loss
}

func reportShadow(p *lint.Pass, r *mesh.DestinationRule, s *shadow, more int) {
	other := s.behind.Policy
	whose := ""
	why := "Istio takes the rule with the most specific host and inherits nothing from the others"
	if !other.Host.Covers(r.Host) {
		whose = fmt.Sprintf(" for clients in namespace %s", s.client)
		why = "Istio looks in the client's namespace first, and takes a rule there before a more specific one elsewhere"
	}
	reportLoss(p, s, object.Path{"spec", "host"},
		fmt.Sprintf("the rule takes the place of %s for %s%s%s and lacks its %s", named(other), s.host, andMore(more), whose, lostFields(s.losses)), why)
}

// reportLoss reports what is lost for a host of the rule that would be in force otherwise.
func reportLoss(p *lint.Pass, s *shadow, at object.Path, msg, why string) {
	other := s.behind.Policy.Object
	var ports []effective.Port
	var blocks []string
	for _, l := range s.losses {
		ports = append(ports, l.Ports...)
		blocks = append(blocks, l.Field.Block())
	}
	subject := lint.SubjectOf(ports)
	subject.Blocks = blocks
	subject.Objects = []object.Key{other.Key}
	p.Report(at, msg,
		lint.Effect(why+": "+lostValues(s.losses)),
		lint.Also(other, object.Path{"spec", "host"}, "the rule whose values are lost"),
		lostAt(s.losses),
		lint.About(subject),
	)
}

// named is how messages name a rule with its host.
func named(r *mesh.DestinationRule) string {
	return fmt.Sprintf("DestinationRule %s/%s (%s)", r.Namespace(), r.Object.Name, r.Host)
}

// maxClients is how many namespaces are looked at for one host. Most get the same; those that have rules of their own are judged
// there.
const maxClients = 30

// shadowOf returns what the clients of the first namespace that loses something lose on a host, nil if none does. ok is false if the
// budget is used up.
func shadowOf(ix *mesh.Index, budget *lossBudget, r *mesh.DestinationRule, hit mesh.Reached) (s *shadow, ok bool) {
	t := hit.Target
	clients := []string{r.Namespace()}
	if r.Namespace() == t.Namespace() || r.Namespace() == ix.Settings().RootNamespace {
		all := ix.ClientNamespaces(t)
		clients = append(clients, all[:min(len(all), maxClients)]...)
	}
	for i, ns := range clients {
		if i > 0 && ns == clients[0] {
			continue
		}
		if !budget.look() {
			return nil, false
		}
		if !ix.Sees(t, ns) || ix.Resolve(hit.Host, ns).Namespace() != t.Namespace() {
			continue
		}
		rule := ix.RuleFor(t, hit.Host, ns, nil)
		if rule == nil || speaker(rule) != r.Object {
			continue
		}
		behind := ix.RuleBehind(r, t, hit.Host, ns, nil)
		if behind == nil || behind.Policy == nil || behind.Host() == r.Host || !behind.Host().Covers(r.Host) && maybeRoot(ix, r) {
			continue
		}
		losses, ok := budget.between(ix, behind, rule, effective.PortsSeen(ix, hit.Host, t, ns))
		if !ok {
			return nil, false
		}
		if losses = slices.DeleteFunc(losses, goodRiddance); len(losses) > 0 {
			return &shadow{hit.Host, ns, behind, losses}, true
		}
	}
	return nil, true
}

// maybeRoot says whether a rule may well be the default of a whole mesh, whose root namespace is not known to be another: clients then
// find it last, not first.
func maybeRoot(ix *mesh.Index, r *mesh.DestinationRule) bool {
	settings := ix.Settings()
	return coversWholeMesh(ix, r.Host) && !settings.MeshConfig.Set() && settings.RootNamespace == "istio-system"
}

// speaker is the rule on which a fault of several merged ones is reported: the one that holds the policy.
func speaker(m *mesh.Merged) *object.Object {
	if m.Policy != nil {
		return m.Policy.Object
	}
	return m.Rules[0].Object
}

// goodRiddance: nothing outside the mesh takes part in its mutual TLS.
func goodRiddance(l effective.Loss) bool {
	return l.Field.Name == "tls" && l.From == "ISTIO_MUTUAL" && l.Ports[0].External()
}
