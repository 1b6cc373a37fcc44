package mesh

import (
	"maps"
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// DestinationRule is a DestinationRule with the host that Istio looks it up by.
type DestinationRule struct {
	Object   *object.Object
	Host     Host
	Selector map[string]string // spec.workloadSelector.matchLabels; nil = no selector

	exports []string // the set by which Istio decides visibility, sorted
	created string
}

func ruleOf(o *object.Object, clusterDomain string) *DestinationRule {
	spec := o.Spec()
	r := &DestinationRule{
		Object:  o,
		Host:    QualifyHost(spec.Get("host").Str(), NamespaceOf(o), clusterDomain),
		exports: sorted(spec.Get("exportTo").Strings()),
		created: o.Created(),
	}
	if sel := spec.Get("workloadSelector"); sel.Set() {
		r.Selector = map[string]string{}
		r.exports = []string{"."} // a rule with a workloadSelector never leaves its namespace
		for k, v := range sel.Get("matchLabels").Fields() {
			r.Selector[k] = v.Str()
		}
	}
	return r
}

// HasPolicy says whether the rule has a destination-level trafficPolicy.
func (r *DestinationRule) HasPolicy() bool { return r.Object.Spec().Get("trafficPolicy").Set() }

// Namespace is where the rule lives.
func (r *DestinationRule) Namespace() string { return NamespaceOf(r.Object) }

func (r *DestinationRule) isPrivate(meshDefault []string) bool {
	if len(r.exports) == 0 {
		return has(meshDefault, ".")
	}
	return len(r.exports) == 1 && (r.exports[0] == "." || r.exports[0] == r.Namespace())
}

func (r *DestinationRule) inOwnPool() bool {
	return len(r.exports) == 0 || has(r.exports, "*") || has(r.exports, ".") || has(r.exports, r.Namespace())
}

// olderRule is the order in which Istio merges rules: those with a selector first, then by age.
func olderRule(a, b *DestinationRule) bool {
	if (a.Selector != nil) != (b.Selector != nil) {
		return a.Selector != nil
	}
	return older(a.created, b.created, a.Object, b.Object)
}

// Merged is what Istio makes of the rules of one namespace for one host string.
type Merged struct {
	// Rules are the rules that went into it, the oldest first.
	Rules []*DestinationRule
	// Policy is the rule whose destination-level trafficPolicy applies, nil if none has one.
	Policy *DestinationRule
	// Subsets are all subsets by name, each with the rule that defines it first.
	Subsets []Subset

	exports []string
	named   map[string]int // indexes of Subsets
}

// Subset is a subset of a merged rule.
type Subset struct {
	Name  string
	Rule  *DestinationRule
	Index int // in spec.subsets of Rule
}

// Value returns the subset as written.
func (s Subset) Value() object.Value { return s.Rule.Object.Spec().At("subsets", s.Index) }

// Host is the host string that the rules share.
func (m *Merged) Host() Host { return m.Rules[0].Host }

// Selector is the workload selector that the rules share, nil if they have none.
func (m *Merged) Selector() map[string]string { return m.Rules[0].Selector }

// Subset returns the subset with a name.
func (m *Merged) Subset(name string) (Subset, bool) {
	i, ok := m.named[name]
	if !ok {
		return Subset{}, false
	}
	return m.Subsets[i], true
}

// Has says whether a rule went into m.
func (m *Merged) Has(o *object.Object) bool {
	return m != nil && slices.ContainsFunc(m.Rules, func(r *DestinationRule) bool { return r.Object == o })
}

func (m *Merged) add(r *DestinationRule) {
	m.Rules = append(m.Rules, r)
	if m.Policy == nil && r.HasPolicy() {
		m.Policy = r
	}
	for i, s := range r.Object.Spec().Get("subsets").Items() {
		name := s.Get("name").Str()
		if _, dup := m.named[name]; dup {
			continue
		}
		if m.named == nil {
			m.named = map[string]int{}
		}
		m.named[name] = len(m.Subsets)
		m.Subsets = append(m.Subsets, Subset{name, r, i})
	}
}

// merge follows Istio's mergeDestinationRule with ENABLE_ENHANCED_DESTINATIONRULE_MERGE, its default: rules with equal
// exportTo become one, the oldest destination-level policy winning whole; others stand beside each other. Two results look
// like mistakes of Istio's and are kept, since Envoy gets them: a younger rule whose exportTo takes in an older one's is merged
// into it, and lost to the namespaces that only its own list names; and one without a workloadSelector that is exported to "."
// only is swallowed by a rule with a selector beside it.
func merge(rules []*DestinationRule, enhanced bool) []*Merged {
	var out []*Merged
	for _, r := range rules {
		separate := true
		for _, m := range out {
			if enhanced {
				if slices.Equal(r.exports, m.exports) {
					separate = false
				} else {
					separate = true
					if len(m.exports) == 0 || !hasAll(r.exports, m.exports) {
						continue
					}
				}
			}
			both, neither := r.Selector != nil && m.Selector() != nil, r.Selector == nil && m.Selector() == nil
			same := maps.Equal(r.Selector, m.Selector())
			if both && !same {
				separate = true
				continue
			}
			if neither || both {
				separate = false
			}
			m.add(r)
		}
		if separate || len(out) == 0 {
			m := &Merged{exports: r.exports}
			m.add(r)
			out = append(out, m)
		}
	}
	return out
}

// Meeting is how Istio treats two DestinationRules of one namespace for one host string, with equal workloadSelectors or none.
type Meeting string

// The meetings. None of them is one of fields: a rule's destination-level policy applies whole or not at all.
const (
	Strangers Meeting = "strangers" // no client sees both
	Merge     Meeting = "merge"     // one rule: the policy of the older, the subsets of both, of equal names the older's
	// Swallow: clients that see both get the rule whose exportTo is part of the other's, whichever is older. If that one is the older,
	// the other is merged into it, subsets and all, and does not exist by itself any more.
	Swallow  Meeting = "swallow"
	Displace Meeting = "displace" // clients that see both get the younger one and nothing of the older
)

// Meet says how Istio treats two rules; for Swallow also which of them has the shorter exportTo.
func (x *Index) Meet(a, b *DestinationRule) (Meeting, *DestinationRule) {
	ea, eb := a.exports, b.exports
	if !x.meet(a, b) {
		return Strangers, nil
	}
	switch {
	case slices.Equal(ea, eb):
		return Merge, nil
	case len(ea) > 0 && hasAll(eb, ea):
		return Swallow, a
	case len(eb) > 0 && hasAll(ea, eb):
		return Swallow, b
	}
	return Displace, nil
}

// meet says whether a client sees both rules. In the root namespace clients look among its private rules first.
func (x *Index) meet(a, b *DestinationRule) bool {
	ns := a.Namespace()
	pa, pb := a.isPrivate(x.settings.DefaultRuleExportTo), b.isPrivate(x.settings.DefaultRuleExportTo)
	if a.inOwnPool() && b.inOwnPool() && (ns != x.settings.RootNamespace || pa == pb) {
		return true
	}
	if pa || pb {
		return false
	}
	ea, eb := a.exports, b.exports
	all := func(set []string) bool { return len(set) == 0 || has(set, "*") }
	return all(ea) || all(eb) || slices.ContainsFunc(ea, func(to string) bool { return to != "." && to != "~" && has(eb, to) })
}

// Private says whether only clients of the rule's own namespace see it.
func (x *Index) Private(r *DestinationRule) bool { return r.isPrivate(x.settings.DefaultRuleExportTo) }

// pick chooses among merged rules for a proxy, as SidecarScope.DestinationRule does: a rule whose selector matches the proxy's
// labels, else the last one without a selector.
func pick(merged []*Merged, client string, labels map[string]string) *Merged {
	var general *Merged
	for _, m := range merged {
		if m.Selector() == nil {
			general = m
			continue
		}
		if m.Rules[0].Namespace() == client && matches(m.Selector(), labels) {
			return m
		}
	}
	return general
}

func matches(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}
