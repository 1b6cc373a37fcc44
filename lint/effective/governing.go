package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Governing is a block of a DestinationRule that is in effect on a port of a host.
type Governing struct {
	Port   Port   // with its host
	Block  Source // Object is the DestinationRule
	Subset string // name of the subset in which alone it is in effect
}

// GoverningOf lists, host by host and port by port, where DestinationRules write a block that is in effect on a port of a ServiceEntry
// for some clients: those of one namespace, or some of its workloads, are enough, and so is a subset. What comes from the mesh
// configuration is left out.
func GoverningOf(ix *mesh.Index, t *mesh.Target, block string) []Governing {
	if t == nil || t.IsService() || ix.Hidden(t) {
		return nil
	}
	var out []Governing
	for _, h := range t.Hosts {
		rules := slices.DeleteFunc(ix.RulesReaching(h), func(r *mesh.DestinationRule) bool { return !writesBlock(r.Object, block) })
		if len(rules) > 0 {
			out = append(out, governingOn(ix, t, h, block, rules)...)
		}
	}
	return out
}

// governingOn is GoverningOf for one host; rules are those that write the block.
func governingOn(ix *mesh.Index, t *mesh.Target, h mesh.Host, block string, rules []*mesh.DestinationRule) []Governing {
	found := map[uint32][]Governing{}
	for _, client := range ix.ClientNamespaces(t) {
		owner := ix.Resolve(h, client)
		if owner == nil || owner.Namespace() != t.Namespace() {
			continue
		}
		levels := levelsWriting(ix, owner, h, client, block, rules)
		if len(levels) == 0 {
			continue
		}
		for _, p := range mergedPorts(ix, h, owner, client) {
			if p.Target != t || !p.Compiled() {
				continue
			}
			for _, l := range levels {
				b := l.For(p.Number, Without{}).Block(block)
				if !b.Set() || b.Object == nil || slices.ContainsFunc(found[p.Number], func(g Governing) bool {
					return g.Block.Object == b.Object && g.Block.Path.Equal(b.Path)
				}) {
					continue
				}
				found[p.Number] = append(found[p.Number], Governing{Port: p, Block: b, Subset: l.subsetOf(b)})
			}
		}
	}
	var out []Governing
	for _, p := range t.Ports {
		out = append(out, found[p.Number]...)
		delete(found, p.Number)
	}
	return out
}

// subsetOf is the name of the levels' subset if a block stands in it.
func (l Levels) subsetOf(b Source) string {
	if l.Subset != b.Object || !b.Path.HasPrefix(l.SubsetPath) {
		return ""
	}
	return l.Subset.Lookup(l.SubsetPath).Get("name").Str()
}

// levelsWriting are the policies, one for each subset that has a say in a block, that the clients of a namespace get for a host: those
// without labels, and those whose labels one of the rules asks for.
func levelsWriting(ix *mesh.Index, owner *mesh.Target, h mesh.Host, client, block string, rules []*mesh.DestinationRule) []Levels {
	var out []Levels
	var seen []*mesh.Merged
	add := func(labels map[string]string) {
		m := ix.RuleFor(owner, h, client, labels)
		if m == nil || slices.Contains(seen, m) || !slices.ContainsFunc(m.Rules, func(r *mesh.DestinationRule) bool { return writesBlock(r.Object, block) }) {
			return
		}
		seen = append(seen, m)
		out = append(out, LevelsOfMerged(ix, m, ""))
		for _, s := range m.Subsets {
			if policyWrites(s.Value().Get("trafficPolicy"), block) {
				out = append(out, levelsOfSubset(ix, m, s))
			}
		}
	}
	add(nil)
	for _, r := range rules {
		if r.Selector != nil && ix.Applies(r, owner, h, client) {
			add(r.Selector)
		}
	}
	return out
}

// writesBlock says whether a DestinationRule has a block at any level.
func writesBlock(o *object.Object, block string) bool {
	if policyWrites(o.Lookup(destinationLevel), block) {
		return true
	}
	for _, s := range o.Spec().Get("subsets").Items() {
		if policyWrites(s.Get("trafficPolicy"), block) {
			return true
		}
	}
	return false
}

// policyWrites says whether a traffic policy or one of its port entries has a block.
func policyWrites(level object.Value, block string) bool {
	if level.Get(block).Set() {
		return true
	}
	for _, e := range level.Get("portLevelSettings").Items() {
		if e.Get(block).Set() {
			return true
		}
	}
	return false
}
