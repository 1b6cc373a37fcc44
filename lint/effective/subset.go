package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// SubsetView is one subset of a rule as Istio takes it.
type SubsetView struct {
	ix     *mesh.Index
	merged *mesh.Merged
	subset mesh.Subset
	levels Levels
}

// SubsetOf looks at a subset of a rule, by its index in spec.subsets. ok is false if nothing can lead to it: it has no name, or the name
// is another one's that Istio takes first, in the rule or in one that it is merged with. If the index holds another object under the
// rule's name, o counts in its place.
func SubsetOf(ix *mesh.Index, o *object.Object, i int) (view SubsetView, ok bool) {
	if ix.Get(o.Key) != o {
		ix = ix.With(o)
	}
	m := ix.MergedWith(o)
	name := o.Spec().At("subsets", i, "name").Str()
	if m == nil || name == "" {
		return SubsetView{}, false
	}
	s, found := m.Subset(name)
	if !found || s.Rule.Object != o || s.Index != i {
		return SubsetView{}, false
	}
	return SubsetView{ix, m, s, levelsOfSubset(ix, m, s)}, true
}

// Labels are those that the endpoints of the subset have.
func (v SubsetView) Labels() object.Value { return v.subset.Value().Get("labels") }

// Cluster returns a port with the type that its cluster for the subset has in the end, and says why there is no such cluster, "" if
// there is one.
func (v SubsetView) Cluster(port Port) (of Port, absent string) {
	c := newCompilation(v.ix, Proxy{Type: Sidecar, Namespace: v.subset.Rule.Namespace()}, v.merged, port.Target, port)
	c.typ = c.discoveryType()
	base := &Cluster{Port: port, Absent: c.absence(nil)}
	if base.withoutSubsets() {
		return port, base.Absent
	}
	passes := func(p *Policy) bool { return p.Block("loadBalancer").Value.Get("simple").Str() == passthrough }
	plain := v.levels.For(port.Number, Without{Subset: true})
	if base.Absent == "" && passes(plain) || v.subset.Value().At("trafficPolicy", "loadBalancer", "simple").Str() == passthrough {
		c.typ = OriginalDst
	}
	c.without = base.Absent
	absent = c.absence(&v.subset)
	if passes(v.levels.For(port.Number, Without{})) {
		c.typ = OriginalDst
	}
	port.Cluster = c.typ
	return port, absent
}

// SubsetLosses is what a subset, or an entry for a port in it, takes away from what stands above it.
type SubsetLosses struct {
	Level *Level
	Block string // through which it is lost, "" for an entry, which drops whatever it does not hold
	// Losses are at least one. Mixed says that not all ports that the block reaches lose the same, so that no one value is theirs.
	Losses []Loss
	Mixed  bool
}

// LossesInSubsets lists the blocks of subsets, and the port entries in them, through which a value is lost. Levels are those of o.
// While its host is not in view, a level whose ports may all be those of an entry is left out.
func LossesInSubsets(ix *mesh.Index, o *object.Object, levels []Level, known bool) []SubsetLosses {
	var out []SubsetLosses
	for i := range levels {
		l := &levels[i]
		if l.Kind != SubsetLevel && l.Kind != SubsetEntry || l.Shadowed {
			continue
		}
		index, _ := l.Path[2].(int)
		v, ok := SubsetOf(ix, o, index)
		if !ok {
			continue
		}
		if l.Kind == SubsetEntry {
			if lost := v.levels.LostAtSubsetPort(v.portsOf(l, known)); len(lost) > 0 {
				out = append(out, SubsetLosses{Level: l, Losses: lost})
			}
			continue
		}
		out = append(out, v.lostByBlock(l, v.portsOf(l, known))...)
	}
	return out
}

// portsOf are the ports of a level that have a cluster for the subset; one stands for them all if the host is not in view.
func (v SubsetView) portsOf(l *Level, known bool) []Port {
	if !known {
		if l.Kind == SubsetLevel && (l.Policy.Get("portLevelSettings").Len() > 0 || v.hasEntries()) || l.Kind == SubsetEntry && l.Port == 0 {
			return nil
		}
		return []Port{{Port: mesh.Port{Number: l.Port}, InCluster: v.ix.Settings().InCluster(v.subset.Rule.Host)}}
	}
	var out []Port
	for _, port := range l.Ports {
		if of, absent := v.Cluster(port); absent == "" {
			out = append(out, of)
		}
	}
	return out
}

// hasEntries says whether the destination level has entries for ports.
func (v SubsetView) hasEntries() bool {
	return v.levels.Policy != nil && v.levels.Policy.Lookup(destinationLevel).Get("portLevelSettings").Len() > 0
}

// lostByBlock sorts what a subset takes away by the block that does it. What it takes away from hangs on the port where the
// destination level has an entry for it.
func (v SubsetView) lostByBlock(l *Level, ports []Port) []SubsetLosses {
	byBase := map[uint32][]Port{}
	var bases []uint32 // 0 for all ports without an entry
	for _, port := range ports {
		base := uint32(0)
		if v.levels.Policy != nil && EntryFor(v.levels.Policy.Lookup(destinationLevel), port.Number) >= 0 {
			base = port.Number
		}
		if byBase[base] == nil {
			bases = append(bases, base)
		}
		byBase[base] = append(byBase[base], port)
	}
	var out []SubsetLosses
	for n, base := range bases {
		in := map[string]int{} // how many values the ports of this base lose, by block
		for _, loss := range v.levels.LostInSubset(byBase[base]) {
			block := loss.Field.Block()
			in[block]++
			i := slices.IndexFunc(out, func(b SubsetLosses) bool { return b.Block == block })
			if i < 0 {
				out = append(out, SubsetLosses{Level: l, Block: block, Mixed: n > 0})
				i = len(out) - 1
			}
			b := &out[i]
			if j := slices.IndexFunc(b.Losses, func(have Loss) bool { return have.Field == loss.Field && have.On == loss.On && have.At.Equal(loss.At) }); j >= 0 {
				b.Losses[j].Ports = append(b.Losses[j].Ports, loss.Ports...)
				continue
			}
			b.Mixed = b.Mixed || n > 0
			b.Losses = append(b.Losses, loss)
		}
		for i := range out {
			out[i].Mixed = out[i].Mixed || in[out[i].Block] != len(out[i].Losses)
		}
	}
	return out
}
