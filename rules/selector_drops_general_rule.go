package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:          "MX305",
		Name:        "selector-drops-general-rule",
		Title:       "A DestinationRule for chosen workloads drops the general one",
		Category:    lint.CategoryAcross,
		Severity:    lint.Warning,
		Presets:     []string{"recommended", "strict"},
		Kinds:       []object.Kind{object.DestinationRule},
		When:        []lint.Gate{{All: []lint.Condition{{Path: "spec.workloadSelector"}}}},
		SidecarOnly: true,
		Supersedes: []lint.Supersede{
			{Rule: "DR203", Scope: lint.ScopePort}, {Rule: "DR204", Scope: lint.ScopePort}, {Rule: "DR219", Scope: lint.ScopePort},
		},
		Summary: "A DestinationRule with a workloadSelector through which values of the rule for all workloads are lost: on the workloads that it " +
			"chooses, because it does not restate them; or on all the others of its namespace, because no rule for them stands beside it.",
		Why: "Istio does not add a rule with a workloadSelector to the general one. The workloads that it chooses get it alone, with Istio's defaults " +
			"for whatever it does not set.\n\n" +
			"And Istio looks no further once a namespace has any rule for a host. If the only one there has a workloadSelector, the workloads that " +
			"it does not choose get none at all: not the one for a wider wildcard, nor that of the host's own namespace or of the root namespace. " +
			"The same happens to a general rule beside it that is exported to `.` and nothing else, which Istio merges into this one.\n\n" +
			"Values that do not change are not reported: those that this rule restates or sets otherwise, those that are the default, and those that " +
			"the mesh's defaultTrafficPolicy brings back. Nor is what the chosen workloads lose of a rule with the same host in another namespace: " +
			"that is an override.",
		Remedy: "Restate in this rule every value of the general one. Beside it, in the same namespace and with the same host, write a rule without " +
			"workloadSelector for the other workloads; leave out its exportTo, or name the namespace there instead of `.`.",
		Proof: lint.Proof{Kind: "changes", Text: "once the rule is taken away, the cluster carries the general rule's values"},
		Observe: lint.Observe{
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST shows in its last column which DestinationRule is in force, if any",
		},
		References: []string{"https://istio.io/latest/docs/reference/config/networking/destination-rule/#DestinationRule"},
	},
	Check: func(p *lint.Pass) error {
		r := p.Mesh.Rule(p.Object)
		if r.Host == "" || len(r.Selector) == 0 || overwritten(p) {
			return nil
		}
		budget := newLossBudget(p.Mesh, r)
		var chosen, others []*shadow
		for _, hit := range p.Mesh.Reach(r.Host, r.Namespace()) {
			c, o, ok := selectionOf(p.Mesh, budget, r, hit)
			if !ok {
				if len(chosen)+len(others) == 0 {
					p.Skip("the rule takes in more hosts than are looked at")
				}
				break
			}
			if c != nil {
				chosen = append(chosen, c)
			}
			if o != nil {
				others = append(others, o)
			}
		}
		selector := labelText(r.Selector)
		if len(chosen) > 0 {
			s := chosen[0]
			reportLoss(p, s, object.Path{"spec", "workloadSelector"},
				fmt.Sprintf("workloads with %s get this rule for %s%s instead of %s and lack its %s", selector, s.host, andMore(len(chosen)-1), named(s.behind.Policy), lostFields(s.losses)),
				"Istio gives them this rule alone and inherits nothing from the other")
		}
		if len(others) > 0 {
			s := others[0]
			reportLoss(p, s, object.Path{"spec", "host"},
				fmt.Sprintf("the rule keeps %s from the workloads in namespace %s that no workloadSelector chooses, and they lack its %s for %s%s",
					named(s.behind.Policy), r.Namespace(), lostFields(s.losses), s.host, andMore(len(others)-1)),
				withheld(r, s.behind.Policy))
		}
		return nil
	},
})

// withheld says why workloads that a rule does not choose get no rule at all.
func withheld(r, general *mesh.DestinationRule) string {
	if general.Namespace() == r.Namespace() && general.Host == r.Host {
		return "Istio merges a rule that is exported to \".\" only into one with a workloadSelector beside it, so nothing is left for them"
	}
	return "Istio looks no further than to this rule, which is not for them, so they get none"
}

// labelText writes labels as kubectl does.
func labelText(labels map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+"="+labels[k])
	}
	return strings.Join(parts, ",")
}

// selectionOf returns what the workloads that a rule chooses lose on a host through it, and what the others of its namespace lose,
// nil if nothing. ok is false if the budget is used up.
func selectionOf(ix *mesh.Index, budget *lossBudget, r *mesh.DestinationRule, hit mesh.Reached) (chosen, others *shadow, ok bool) {
	t, own := hit.Target, r.Namespace()
	if !budget.look() {
		return nil, nil, false
	}
	if !ix.Sees(t, own) {
		return nil, nil, true
	}
	rule := ix.RuleFor(t, hit.Host, own, r.Selector)
	if rule == nil || !speaksFor(r, rule) {
		return nil, nil, true
	}
	general := ix.RuleFor(t, hit.Host, own, nil)
	beside := general != nil
	if !beside {
		if general = swallowed(rule); general == nil {
			general = ix.RuleBehind(r, t, hit.Host, own, nil)
		}
	}
	if general == nil || general.Policy == nil {
		return nil, nil, true
	}
	ports := effective.PortsSeen(ix, hit.Host, t, own)
	lost := func(is *mesh.Merged) *shadow {
		losses, within := budget.between(ix, general, is, ports)
		ok = ok && within
		if losses = slices.DeleteFunc(losses, goodRiddance); len(losses) == 0 {
			return nil
		}
		return &shadow{hit.Host, own, general, losses}
	}
	ok = true
	if general.Host() != r.Host || general.Rules[0].Namespace() == own {
		chosen = lost(rule)
	}
	if !beside && firstSelector(ix, r) {
		others = lost(nil)
	}
	return chosen, others, ok
}

// speaksFor says whether what is wrong with a merged rule is reported on r: the one that holds the policy, unless it is a general
// rule that was merged into those with a selector.
func speaksFor(r *mesh.DestinationRule, m *mesh.Merged) bool {
	if m.Policy != nil && m.Policy.Selector != nil {
		return m.Policy.Object == r.Object
	}
	return m.Rules[0].Object == r.Object
}

// swallowed returns the general rule that Istio has merged into one with a selector, nil if there is none: that happens to one that is
// exported to "." and nothing else.
func swallowed(m *mesh.Merged) *mesh.Merged {
	for _, r := range m.Rules {
		if r.Selector == nil && r.HasPolicy() {
			return &mesh.Merged{Rules: []*mesh.DestinationRule{r}, Policy: r}
		}
	}
	return nil
}

// firstSelector says whether a rule is the first with a selector of its namespace and host. What they all keep from workloads that none
// of them chooses is reported there.
func firstSelector(ix *mesh.Index, r *mesh.DestinationRule) bool {
	for _, other := range ix.Rules(r.Host) {
		if other.Namespace() == r.Namespace() && other.Selector != nil {
			return other.Object == r.Object
		}
	}
	return true
}
