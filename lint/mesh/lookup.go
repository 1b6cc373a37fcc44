package mesh

import (
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// patternsFor yields the rule hosts that apply to a host, the most specific first: the name itself, then wildcards.
func (x *Index) patternsFor(h Host) iter.Seq[Host] {
	return func(yield func(Host) bool) {
		if !h.IsWildcard() && !yield(h) {
			return
		}
		var odd []Host
		for _, o := range x.oddHosts {
			if o != h && o.Covers(h) {
				odd = append(odd, o)
			}
		}
		for p := range h.labelPatterns {
			for len(odd) > 0 && moreSpecific(odd[0], p) {
				if !yield(odd[0]) {
					return
				}
				odd = odd[1:]
			}
			if !yield(p) {
				return
			}
		}
	}
}

func (x *Index) rulesAt(pattern Host) []*DestinationRule { return x.rules.at(x.seed, pattern) }

// RuleFor returns what Istio applies to a host of a target for clients in a namespace, nil if no rule does. It looks in the
// client's namespace, then the target's, then the root namespace, in each for the most specific host, and takes the rules
// found there whole. labels are those of the client's workload; nil = one without labels, which only an empty selector
// matches.
func (x *Index) RuleFor(t *Target, h Host, client string, labels map[string]string) *Merged {
	m, _ := x.ruleFor(t.Namespace(), h, client, labels, nil)
	return m
}

// RuleBehind is RuleFor as if the namespace of a rule had no rule with its host string: what a client gets if that one is taken
// away, and those beside it.
func (x *Index) RuleBehind(r *DestinationRule, t *Target, h Host, client string, labels map[string]string) *Merged {
	m, _ := x.ruleFor(t.Namespace(), h, client, labels, r)
	return m
}

// ruleFor returns what RuleFor does, and all from which that was picked; but is a rule not to be found, nor those beside it.
func (x *Index) ruleFor(owner string, h Host, client string, labels map[string]string, but *DestinationRule) (*Merged, []*Merged) {
	local := ownPool
	if client == x.settings.RootNamespace {
		local = privatePool
	}
	if all := x.mostSpecific(h, client, local, but); len(all) > 0 {
		return pick(all, client, labels), all
	}
	for _, ns := range []string{owner, x.settings.RootNamespace} {
		var all []*Merged
		for _, m := range x.mostSpecific(h, ns, exportedPool, but) {
			// "." does not count here: a rule that its own namespace sees was found in the client's.
			if len(m.exports) == 0 || has(m.exports, "*") || has(m.exports, client) {
				all = append(all, m)
			}
		}
		if len(all) > 0 {
			return pick(all, client, labels), all
		}
	}
	return nil, nil
}

// Applies says whether a rule is among those from which Istio picks for a host of a target and clients in a namespace: no rule
// with a more specific host and no namespace that is asked earlier takes its place. Which of several such rules wins may
// still hang on their age and on the labels of the client.
func (x *Index) Applies(r *DestinationRule, t *Target, h Host, client string) bool {
	if r.Selector != nil && client != r.Namespace() {
		return false
	}
	_, all := x.ruleFor(t.Namespace(), h, client, nil, nil)
	return slices.ContainsFunc(all, func(m *Merged) bool { return m.Has(r.Object) })
}

// rulePool is a set of rules of one namespace in which Istio looks for a host.
type rulePool int

const (
	ownPool      rulePool = iota // those that the namespace's own clients see
	privatePool                  // those that nobody else sees
	exportedPool                 // the others
)

// pools are the rules of one namespace for one host string, merged for each pool.
type pools struct {
	namespace string
	merged    [3][]*Merged
}

// mostSpecific returns the merged rules of a namespace's pool at the first host pattern that the pool has, but's left out.
func (x *Index) mostSpecific(h Host, namespace string, in rulePool, but *DestinationRule) []*Merged {
	for p := range x.patternsFor(h) {
		if but != nil && p == but.Host && namespace == but.Namespace() {
			continue
		}
		all := x.poolsAt(p)
		if i, ok := slices.BinarySearchFunc(all, namespace, func(p pools, ns string) int { return strings.Compare(p.namespace, ns) }); ok {
			if m := all[i].merged[in]; len(m) > 0 {
				return m
			}
		}
	}
	return nil
}

// poolsAt sorts the rules for a host string by namespace and merges them.
func (x *Index) poolsAt(pattern Host) []pools {
	if len(x.rulesAt(pattern)) == 0 {
		return nil
	}
	return cached(x, poolsCache, pattern, (*Index).newPools)
}

func (x *Index) newPools(pattern Host) []pools {
	byNamespace := map[string][3][]*DestinationRule{}
	for _, r := range x.rulesAt(pattern) {
		of := byNamespace[r.Namespace()]
		if r.inOwnPool() {
			of[ownPool] = append(of[ownPool], r)
		}
		if r.isPrivate(x.settings.DefaultRuleExportTo) {
			of[privatePool] = append(of[privatePool], r)
		} else {
			of[exportedPool] = append(of[exportedPool], r)
		}
		byNamespace[r.Namespace()] = of
	}
	out := make([]pools, 0, len(byNamespace))
	for _, ns := range slices.Sorted(maps.Keys(byNamespace)) {
		p := pools{namespace: ns}
		for i, rules := range byNamespace[ns] {
			p.merged[i] = merge(rules, true)
		}
		out = append(out, p)
	}
	return out
}

// Rule returns the DestinationRule of an object.
func (x *Index) Rule(o *object.Object) *DestinationRule {
	if o.Kind != object.DestinationRule {
		return nil
	}
	host := QualifyHost(o.Spec().Get("host").Str(), NamespaceOf(o), x.settings.ClusterDomain)
	for _, r := range x.rulesAt(host) {
		if r.Object == o {
			return r
		}
	}
	return ruleOf(o, x.settings.ClusterDomain)
}

// MergedWith returns what Istio makes of a rule and those beside it for the clients of its own namespace, else for those of others;
// nil if the index does not hold the rule.
func (x *Index) MergedWith(o *object.Object) *Merged {
	for _, p := range x.poolsAt(QualifyHost(o.Spec().Get("host").Str(), NamespaceOf(o), x.settings.ClusterDomain)) {
		if p.namespace != NamespaceOf(o) {
			continue
		}
		for _, pool := range p.merged {
			if i := slices.IndexFunc(pool, func(m *Merged) bool { return m.Has(o) }); i >= 0 {
				return pool[i]
			}
		}
	}
	return nil
}

// Target returns the target of a ServiceEntry or Service, nil for other kinds.
func (x *Index) Target(o *object.Object) *Target {
	// Its first host finds it without reading all of it again.
	like := &Target{Object: o, created: o.Created()}
	list := x.targets.at(x.seed, firstHost(o, x.settings.ClusterDomain))
	if at := sort.Search(len(list), func(i int) bool { return !olderTarget(list[i], like) }); at < len(list) && list[at].Object == o {
		return list[at]
	}
	return targetOf(o, x.settings.ClusterDomain)
}

// Rules yields the DestinationRules whose host is exactly h, of all namespaces, in Istio's merge order.
func (x *Index) Rules(h Host) []*DestinationRule { return x.rulesAt(h) }

// RulesReaching returns the DestinationRules of all namespaces whose host covers h, the most specific host first.
func (x *Index) RulesReaching(h Host) []*DestinationRule {
	var out []*DestinationRule
	for p := range x.patternsFor(h) {
		out = append(out, x.rulesAt(p)...)
	}
	return out
}

// NamespacesWithRule returns the namespaces whose own clients surely get a rule of that namespace for h.
func (x *Index) NamespacesWithRule(h Host) map[string]bool {
	out := map[string]bool{}
	for p := range x.patternsFor(h) {
		for _, r := range x.rulesAt(p) {
			if ns := r.Namespace(); r.Selector == nil && r.inOwnPool() && ns != x.settings.RootNamespace {
				out[ns] = true
			}
		}
	}
	return out
}

// Targets returns the ServiceEntries and Services that have exactly this host, the oldest first.
func (x *Index) Targets(h Host) []*Target { return x.targets.at(x.seed, h) }

// Reached is a host that a DestinationRule's host string takes in.
type Reached struct {
	Host   Host
	Target *Target
	From   string // the client's namespace from which it is seen
}

// Reach returns what a DestinationRule host takes in, seen from a namespace: for each host, the target that Istio's registry
// gives clients of that namespace. Hosts come in the order of names.
func (x *Index) Reach(h Host, from string) []Reached {
	var out []Reached
	for _, name := range x.hostsOf(h) {
		if t := x.Resolve(name, from); t != nil {
			out = append(out, Reached{name, t, from})
		}
	}
	return out
}

// ReachOf returns what a rule takes in, seen from the namespaces that may get it: its own, but all if it is exported from the root
// namespace, where clients of two namespaces may mean two targets by one host.
func (x *Index) ReachOf(r *DestinationRule) []Reached {
	if r.Namespace() != x.settings.RootNamespace || r.isPrivate(x.settings.DefaultRuleExportTo) {
		return x.Reach(r.Host, r.Namespace())
	}
	var out []Reached
	for _, name := range x.hostsOf(r.Host) {
		first := len(out)
		for _, t := range x.Targets(name) {
			clients := x.ClientNamespaces(t)
			if i := slices.IndexFunc(clients, func(ns string) bool { return x.Sees(t, ns) && x.Resolve(name, ns) == t }); i >= 0 {
				out = append(out, Reached{name, t, clients[i]})
			}
		}
		if t := x.Resolve(name, r.Namespace()); len(out) == first && t != nil {
			out = append(out, Reached{name, t, r.Namespace()})
		}
	}
	return out
}

// hostsOf returns the hosts in view that a host string takes in, in the order of names; a name is its own.
func (x *Index) hostsOf(h Host) []Host {
	if !h.IsWildcard() {
		return []Host{h}
	}
	hosts := x.hostsUnder(h)
	slices.Sort(hosts)
	return hosts
}

// hostsUnder returns the hosts of targets that a wildcard covers.
func (x *Index) hostsUnder(h Host) []Host {
	var out []Host
	for name := range x.names.under(h) {
		if len(x.targets.at(x.seed, name)) > 0 {
			out = append(out, name)
		}
	}
	return out
}

// Resolve returns the target that clients of a namespace reach under a host: one of their own namespace before others, there
// as elsewhere a Service before ServiceEntries, one that is exported to chosen namespaces before one that is exported to all,
// and of equals the oldest. nil if there is none. If no client there sees any, the oldest is returned all the same, since a rule
// may be judged from a namespace whose clients never call the host.
func (x *Index) Resolve(h Host, from string) *Target {
	return x.first(h, func(t *Target) int {
		switch {
		case !x.Sees(t, from):
			return 8
		case t.Namespace() != from:
			return 4 + x.rank(t)
		}
		return x.rank(t)
	})
}

// rank orders targets of one host between which nothing else decides: a Service first, then what is exported to chosen namespaces.
func (x *Index) rank(t *Target) int {
	n := 0
	if !t.IsService() {
		n += 2
	}
	if x.public(t) {
		n++
	}
	return n
}

// first returns the target of a host with the lowest rank, the oldest of several; those with a rank below 0 do not count.
func (x *Index) first(h Host, rank func(*Target) int) *Target {
	var best *Target
	least := 0
	for _, t := range x.targets.at(x.seed, h) {
		if n := rank(t); n >= 0 && (best == nil || n < least) {
			best, least = t, n
		}
	}
	return best
}

// Merged returns the targets whose ports and endpoints Istio puts together with t's under a host for clients of a namespace:
// the ServiceEntries of the same namespace with that host, the oldest first.
func (x *Index) Merged(h Host, t *Target, from string) []*Target {
	var out []*Target
	for _, other := range x.targets.at(x.seed, h) {
		if other.Object.Kind == t.Object.Kind && other.Namespace() == t.Namespace() && x.Sees(other, from) {
			out = append(out, other)
		}
	}
	if len(out) == 0 {
		return []*Target{t}
	}
	return out
}

// ResolveForGateway is Resolve for gateway proxies of a namespace, which do not prefer their own namespace: a Service before
// ServiceEntries, one that is exported to chosen namespaces before one that is exported to all, and of equals the oldest. nil if they
// see none. Source: Istio's pilot/pkg/model, DefaultSidecarScopeForGateway.
func (x *Index) ResolveForGateway(h Host, namespace string) *Target {
	return x.first(h, func(t *Target) int {
		if !x.Sees(t, namespace) {
			return -1
		}
		return x.rank(t)
	})
}

// SharePorts says whether Istio adds the ports of b to those of a, both of one host and namespace. Endpoints come together whether
// it does or not. Source: Istio's pilot/pkg/model, canMergeServices.
func SharePorts(a, b *Target) bool {
	return a.Object.Kind == b.Object.Kind && a.Resolution == b.Resolution && slices.Equal(a.ExportTo, b.ExportTo) &&
		equalMaps(a.Object.Root().At("metadata", "labels"), b.Object.Root().At("metadata", "labels")) &&
		equalMaps(a.Object.Spec().At("workloadSelector", "labels"), b.Object.Spec().At("workloadSelector", "labels"))
}

func equalMaps(a, b object.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for k, v := range a.Fields() {
		if w := b.Get(k); !w.Exists() || v.Text() != w.Text() {
			return false
		}
	}
	return true
}

// TargetsCovering returns the targets of all namespaces with a wildcard host that covers h, h's own left out.
func (x *Index) TargetsCovering(h Host) []Reached {
	var out []Reached
	for p := range x.patternsFor(h) {
		if p == h {
			continue
		}
		for _, t := range x.targets.at(x.seed, p) {
			out = append(out, Reached{Host: p, Target: t})
		}
	}
	return out
}

// Hosts returns the hosts of all ServiceEntries and Services, in order.
func (x *Index) Hosts() []Host {
	var out []Host
	for h := range x.targets.all() {
		out = append(out, h)
	}
	slices.Sort(out)
	return out
}
