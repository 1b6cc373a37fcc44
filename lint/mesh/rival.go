package mesh

import (
	"crypto/sha256"
	"iter"
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// Elsewhere says whether an entry of another namespace has a host too. Gateways do not look into their own namespace first, so that theirs
// may be another one than a sidecar's.
func (x *Index) Elsewhere(t *Target, h Host) bool {
	return slices.ContainsFunc(x.Targets(h), func(other *Target) bool { return other.Namespace() != t.Namespace() })
}

// Rivals yields the other ServiceEntries for a host that some client sees beside t. Of those that are in one namespace and say the
// same it yields the first and their number. Entries of t's own namespace come first, then those of others, and among these such
// that say something new before such that repeat it.
func (x *Index) Rivals(t *Target, h Host) iter.Seq2[*Target, int] {
	all := x.targets.at(x.seed, h)
	if len(all) < 2 {
		return func(func(*Target, int) bool) {}
	}
	return x.gather(h).beside(x, t)
}

// gathering is a list of ServiceEntries sorted by who sees them, so that what is seen beside one is found without asking all.
type gathering struct {
	of     map[*Target]*group
	local  map[string][]*group // by their own namespace
	public []*group            // exported to all namespaces
	chosen []*group            // exported to chosen ones only
	client map[string][]*group // these by each namespace that sees them
}

// group holds ServiceEntries of one namespace that say the same.
type group struct {
	namespace string
	members   []*Target
	repeats   bool // an entry of another namespace says the same
}

// gather sorts the ServiceEntries of a host.
func (x *Index) gather(h Host) *gathering {
	return cached(x, gatheringsCache, h, func(x *Index, h Host) *gathering { return x.newGathering(x.targets.at(x.seed, h)) })
}

// gatherAt sorts those that may need a listener for themselves.
func (x *Index) gatherAt(l listener) *gathering {
	return cached(x, gatheringsCache, l, func(x *Index, l listener) *gathering { return x.newGathering(x.opaque.at(x.seed, l)) })
}

func (x *Index) newGathering(list []*Target) *gathering {
	g := &gathering{of: map[*Target]*group{}, local: map[string][]*group{}, client: map[string][]*group{}}
	type statement struct {
		namespace string
		wording   digest
	}
	groups, said := map[statement]*group{}, map[digest]bool{}
	for _, t := range list {
		if t.IsService() || x.Hidden(t) {
			continue
		}
		says := statement{t.Namespace(), t.wording()}
		if have := groups[says]; have != nil {
			have.members = append(have.members, t)
			g.of[t] = have
			continue
		}
		made := &group{namespace: says.namespace, members: []*Target{t}, repeats: said[says.wording]}
		groups[says], said[says.wording], g.of[t] = made, true, made
		g.local[made.namespace] = append(g.local[made.namespace], made)
		if x.public(t) {
			g.public = append(g.public, made)
			continue
		}
		g.chosen = append(g.chosen, made)
		for ns := range x.chosenClients(t) {
			g.client[ns] = append(g.client[ns], made)
		}
	}
	slices.SortStableFunc(g.public, repeatsLast)
	slices.SortStableFunc(g.chosen, repeatsLast)
	return g
}

func repeatsLast(a, b *group) int {
	switch {
	case a.repeats == b.repeats:
		return 0
	case a.repeats:
		return 1
	}
	return -1
}

// digest stands for a text.
type digest [sha256.Size]byte

// wording is what an entry says: its labels count because Istio compares them before it puts entries together.
func (t *Target) wording() digest {
	t.said.Do(func() {
		h := sha256.New()
		for _, v := range []object.Value{t.Object.Spec(), t.Object.Root().At("metadata", "labels")} {
			if js, err := v.MarshalJSON(); err == nil {
				h.Write(js)
			}
		}
		h.Sum(t.saying[:0])
	})
	return t.saying
}

// beside yields, of each group that some client sees beside t, the first entry and their number, t itself left out.
func (g *gathering) beside(x *Index, t *Target) iter.Seq2[*Target, int] {
	return func(yield func(*Target, int) bool) {
		if x.Hidden(t) {
			return
		}
		mine, own := g.of[t], t.Namespace()
		give := func(q *group) bool {
			first, n := q.members[0], len(q.members)
			if q == mine {
				if n--; n == 0 {
					return true
				}
				if first == t {
					first = q.members[1]
				}
			}
			return yield(first, n)
		}
		for _, q := range g.local[own] {
			if x.meetSomewhere(t, q.members[0]) && !give(q) {
				return
			}
		}
		abroad := func(list []*group, skip map[*group]bool) bool {
			for _, q := range list {
				if q.namespace == own || skip[q] {
					continue
				}
				if skip != nil {
					skip[q] = true
				}
				if !give(q) {
					return false
				}
			}
			return true
		}
		if !abroad(g.public, nil) {
			return
		}
		if x.public(t) {
			abroad(g.chosen, nil)
			return
		}
		given := map[*group]bool{} // one may be exported to several of the namespaces that see t
		for ns := range x.chosenClients(t) {
			if !abroad(g.client[ns], given) {
				return
			}
		}
	}
}

// chosenClients yields the namespaces that a target is exported to, if it is not exported to all.
func (x *Index) chosenClients(t *Target) iter.Seq[string] {
	return func(yield func(string) bool) {
		if x.public(t) || x.Hidden(t) {
			return
		}
		own, to := t.Namespace(), x.exports(t)
		for _, ns := range to {
			if ns == "." {
				if has(to, own) {
					continue
				}
				ns = own
			}
			if !yield(ns) {
				return
			}
		}
	}
}

// Everywhere stands for all namespaces that nothing singles out.
const Everywhere = "*"

// CommonClients yields the namespaces whose clients see both targets: first those of the targets, then the others, or
// Everywhere for them if all see both.
func (x *Index) CommonClients(a, b *Target) iter.Seq[string] {
	return func(yield func(string) bool) {
		na, nb := a.Namespace(), b.Namespace()
		both := func(ns string) bool { return x.Sees(a, ns) && x.Sees(b, ns) }
		if both(na) && !yield(na) || nb != na && both(nb) && !yield(nb) {
			return
		}
		if x.public(a) && x.public(b) {
			yield(Everywhere)
			return
		}
		chosen, other := a, b
		if x.public(a) {
			chosen, other = b, a
		}
		for ns := range x.chosenClients(chosen) {
			if ns != na && ns != nb && x.Sees(other, ns) && !yield(ns) {
				return
			}
		}
	}
}

// meetSomewhere says whether a client sees both targets.
func (x *Index) meetSomewhere(a, b *Target) bool {
	for range x.CommonClients(a, b) {
		return true
	}
	return false
}

// First returns which of two ServiceEntries Istio takes first for clients that see both, nil if that is not known: one that is
// exported to chosen namespaces before one that is exported to all, then the one created earlier. byExport says that age does
// not matter.
func (x *Index) First(a, b *Target) (first *Target, byExport bool) {
	if pa, pb := x.public(a), x.public(b); pa != pb {
		if pa {
			return b, true
		}
		return a, true
	}
	switch {
	case a.created == "" || b.created == "" || a.created == b.created:
		return nil, false // files do not say when an object is created, and a cluster only to the second
	case a.created < b.created:
		return a, false
	}
	return b, false
}

// Separate lists the fields that keep Istio from putting the ports of two ServiceEntries of one namespace together: it compiles
// clusters for the ports of one of them only.
func Separate(a, b *Target) []string {
	var out []string
	if a.Resolution != b.Resolution {
		out = append(out, "resolution")
	}
	if !sameLabels(a, b, "metadata", "labels") {
		out = append(out, "metadata.labels")
	}
	if !sameLabels(a, b, "spec", "workloadSelector", "labels") {
		out = append(out, "workloadSelector")
	}
	if !slices.Equal(a.ExportTo, b.ExportTo) {
		out = append(out, "exportTo")
	}
	return out
}

func sameLabels(a, b *Target, path ...any) bool {
	la, lb := a.Object.Root().At(path...), b.Object.Root().At(path...)
	if la.Len() != lb.Len() {
		return false
	}
	for k, v := range la.Fields() {
		if other := lb.Get(k); !other.Set() || other.Str() != v.Str() {
			return false
		}
	}
	return true
}
