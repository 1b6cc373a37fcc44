package effective

import (
	"maps"
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Loss is a value of an outer level that does not survive an inner one.
type Loss struct {
	Field *Field
	From  string         // the value that is lost
	At    object.Path    // where it is written
	On    *object.Object // in which object
	To    string         // the value in effect instead
	Ports []Port         // the ports on which it is lost
	Value object.Value   // as written
	// OverMesh says that the mesh configuration has filled the field's block. A level that restates the field has a block of its
	// own, which drops the mesh's whole.
	OverMesh bool
	// Latent says that the value is not lost now, because the mesh's block makes up for it, but would be for that reason.
	Latent bool
}

// Steers says whether the value decides on the protocol towards the endpoints, or on the destination: to restate it is to choose
// again.
func (l *Loss) Steers() bool {
	switch l.Field.Name {
	case h2UpgradePolicy, useClientProtocol:
		return true
	case simple:
		return l.Value.Str() == passthrough
	}
	return false
}

// LostAtPort lists what a rule's destination-level portLevelSettings entry for a port takes away: the fields that the
// destination level sets, the entry does not, and whose value in effect differs with and without the entry on one of ports.
// Give one Port with only a number if the host is not in view.
func (l Levels) LostAtPort(ports []Port) []Loss {
	if len(ports) == 0 {
		return nil
	}
	n := ports[0].Number
	return compare(l.For(n, Without{Entry: true}), l.For(n, Without{}), ports)
}

// EntryLosses is what one portLevelSettings entry of the destination level takes away.
type EntryLosses struct {
	Index  int // of the entry
	Port   uint32
	Losses []Loss // at least one
}

// LossesAtEntries lists the portLevelSettings entries of a rule's destination level through which a value is lost.
func LossesAtEntries(ix *mesh.Index, o *object.Object, reach Reach) []EntryLosses {
	var out []EntryLosses
	for i, entry := range o.Lookup(destinationLevel).Get("portLevelSettings").Items() {
		if losses := LostByEntry(ix, o, reach, i); len(losses) > 0 {
			n, _ := PortOfEntry(entry)
			out = append(out, EntryLosses{i, n, losses})
		}
	}
	return out
}

// LostByEntry is LostAtPort for the i-th entry of a rule taken by itself. An entry without a number, or behind another one for
// its port, takes nothing away: Istio does not read it.
func LostByEntry(ix *mesh.Index, o *object.Object, reach Reach, i int) []Loss {
	level := o.Lookup(destinationLevel)
	n, ok := PortOfEntry(level.At("portLevelSettings", i))
	if !ok || EntryFor(level, n) != i {
		return nil
	}
	ports := reach.Numbered(n)
	if !reach.Known() {
		host := mesh.QualifyHost(o.Spec().Get("host").Str(), mesh.NamespaceOf(o), ix.Settings().ClusterDomain)
		ports = []Port{{Port: mesh.Port{Number: n}, InCluster: ix.Settings().InCluster(host)}}
	}
	return LevelsOf(ix, o, -1).LostAtPort(ports)
}

// LostInSubset lists what a subset's own policy takes away from what the port has without it.
func (l Levels) LostInSubset(ports []Port) []Loss {
	if len(ports) == 0 {
		return nil
	}
	n := ports[0].Number
	return compare(l.For(n, Without{Subset: true}), l.For(n, Without{}), ports)
}

// LostAtSubsetPort lists what the portLevelSettings entry of a subset for a port takes away from what the port of the subset has without
// it, be it written in the subset or outside.
func (l Levels) LostAtSubsetPort(ports []Port) []Loss {
	if len(ports) == 0 {
		return nil
	}
	n := ports[0].Number
	return compare(l.For(n, Without{SubsetEntry: true}), l.For(n, Without{}), ports)
}

// LostBetween lists what clients lose on a host's ports when they get one rule instead of another. Either may be nil: no rule at all.
func LostBetween(ix *mesh.Index, instead, rule *mesh.Merged, ports []Port) []Loss {
	outer, inner := LevelsOfMerged(ix, instead, ""), LevelsOfMerged(ix, rule, "")
	var out []Loss
	at := map[*Field]int{}
	for _, port := range ports {
		if port.Family == mesh.NoProxy {
			continue
		}
		for _, l := range lost(outer.For(port.Number, Without{}), inner.For(port.Number, Without{}), []Port{port}, false) {
			i, told := at[l.Field]
			if !told {
				at[l.Field] = len(out)
				out = append(out, l)
				continue
			}
			out[i].Ports = append(out[i].Ports, port)
		}
	}
	return out
}

// compare lists the losses, and after them those that restating them would bring about.
func compare(outer, inner *Policy, ports []Port) []Loss {
	out := lost(outer, inner, ports, false)
	bare := &Policy{Blocks: maps.Clone(inner.Blocks), Listener: inner.Listener, Entry: inner.Entry, mesh: inner.mesh, meshAt: inner.meshAt, version: inner.version}
	for i := range out {
		if b := out[i].Field.Block(); inner.FromMesh(b) {
			out[i].OverMesh = true
			delete(bare.Blocks, b)
		}
	}
	if len(bare.Blocks) == len(inner.Blocks) {
		return out
	}
	told := map[*Field]bool{}
	for _, l := range out {
		told[l.Field] = true
	}
	for _, l := range lost(outer, bare, ports, false) {
		if b := l.Field.Block(); inner.FromMesh(b) && bare.Block(b).Object == nil && !told[l.Field] {
			l.OverMesh, l.Latent = true, true
			out = append(out, l)
		}
	}
	return out
}

// lost lists what of outer does not survive in inner: of what rules say, or of what the mesh configuration does.
func lost(outer, inner *Policy, ports []Port, ofMesh bool) []Loss {
	var out []Loss
	whole := map[string]bool{} // blocks whose loss has been told as one
	for _, f := range fields {
		from := outer.Blocks[f.Block()]
		raw := f.Raw(outer)
		if whole[f.Block()] || !raw.Set() || (from.Object == nil) != ofMesh || from.isAt(inner.Blocks[f.Block()]) {
			continue
		}
		if choosesIn(f, inner) || f.Block() == "tls" && len(f.Path()) > 1 && !sameMode(outer, inner) {
			continue
		}
		loss := Loss{Field: f, At: from.Path.Child(f.Path()[1:]...), On: from.Object, Value: raw}
		judge := outer
		if slices.ContainsFunc(f.needs, func(name string) bool { return writes(inner, name) }) {
			judge = inner
		}
		for _, port := range ports {
			if !f.Live(port, judge) || f.yields != nil && f.yields(outer, port) {
				continue
			}
			was, is := f.Value(outer, port), f.Value(inner, port)
			if was == is {
				continue
			}
			if len(loss.Ports) == 0 {
				loss.From, loss.To = was, is
			}
			loss.Ports = append(loss.Ports, port)
		}
		if len(loss.Ports) == 0 {
			continue
		}
		if len(f.Path()) == 1 { // a block as a whole
			whole[f.Block()] = true
			if f.Name == "outlierDetection" {
				loss.From = Text(raw)
			}
		}
		out = append(out, loss)
	}
	return out
}

// choosesIn says whether the inner level sets the field itself, or another of its slot. A port entry in a subset, which can hold no
// retryBudget, chooses nothing by laying open the destination level's.
func choosesIn(f *Field, inner *Policy) bool {
	if !f.Restatable() && inner.Block(f.Block()).Path.Equal(destinationLevel.Child(f.Block())) {
		return false
	}
	names := f.Slot
	if len(names) == 0 {
		names = []string{f.Name}
	}
	return slices.ContainsFunc(names, func(name string) bool { return writes(inner, name) })
}

// writes says whether a rule, not the mesh configuration, sets a field.
func writes(p *Policy, name string) bool {
	path := object.ParsePath(name)
	block, _ := path[0].(string)
	s := p.Blocks[block]
	return s.Object != nil && s.Value.At(path[1:]...).Set()
}

// sameMode: a block of another TLS mode is a choice of its own, whose other fields are not expected to be repeated.
func sameMode(outer, inner *Policy) bool {
	return mode(outer) == mode(inner)
}
