package effective

import (
	"github.com/meshvet/meshvet/lint/istio"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Blocks are the parts of a traffic policy that Istio inherits or replaces whole.
var Blocks = [...]string{"connectionPool", "loadBalancer", "outlierDetection", "tls", "tunnel", "proxyProtocol", "retryBudget"}

// portBlocks says which of them a portLevelSettings entry can hold.
var portBlocks = map[string]bool{"connectionPool": true, "loadBalancer": true, "outlierDetection": true, "tls": true}

// Source is where a block stands. The zero Source is a block that nobody sets.
type Source struct {
	Object *object.Object // nil when the block comes from the mesh configuration
	Path   object.Path
	Value  object.Value

	mesh string // where meshConfig stands
}

// Set says whether the block is written.
func (s Source) Set() bool { return s.Value.Set() }

// isAt says whether two blocks are one and the same.
func (s Source) isAt(other Source) bool { return s.Object == other.Object && s.Path.Equal(other.Path) }

// Policy is the traffic policy that reaches the cluster of one port, block by block.
type Policy struct {
	Blocks map[string]Source
	// Listener is the destination level's connectionPool: tcp_proxy takes idleTimeout and maxConnectionDuration from there,
	// whatever a port entry or a subset says.
	Listener Source
	// Entry is the port entry that replaced the destination level, nil if there is none.
	Entry object.Path

	mesh    object.Value // meshConfig
	meshAt  string       // where it stands
	version istio.Release
}

// FromMesh says whether a block comes from meshConfig.defaultTrafficPolicy.
func (p *Policy) FromMesh(name string) bool {
	return p.Blocks[name].Set() && p.Blocks[name].Object == nil
}

// Block returns where a block comes from.
func (p *Policy) Block(name string) Source { return p.Blocks[name] }

// Without says what to leave out, to see what it changes.
type Without struct {
	Entry       bool // the destination level's portLevelSettings entry for the port
	Subset      bool // the subset's own trafficPolicy
	SubsetEntry bool // the portLevelSettings entry for the port in it
}

// Levels are the policies of a DestinationRule, or of several that Istio merged into one.
type Levels struct {
	Policy     *object.Object // holds the destination level, nil if no rule has one
	Subset     *object.Object // holds the subset, nil for the port without subset
	SubsetPath object.Path    // spec.subsets[i]
	MeshConfig object.Value

	version istio.Release
	meshAt  string
}

// LevelsOf returns the levels of a rule taken by itself; the destination level above a subset is the one of whichever rule Istio takes
// it from, if it merges several. subset is an index into spec.subsets, -1 = none.
func LevelsOf(ix *mesh.Index, o *object.Object, subset int) Levels {
	l := Levels{Policy: o, MeshConfig: ix.Settings().MeshConfig, version: releaseOf(ix), meshAt: ix.Settings().MeshConfigSource}
	if subset >= 0 {
		l.Subset, l.SubsetPath = o, object.Path{"spec", "subsets", subset}
		if m := ix.MergedWith(o); m != nil && m.Policy != nil {
			l.Policy = m.Policy.Object
		}
	}
	return l
}

// LevelsOfMerged returns the levels that clients get when Istio has merged rules; m may be nil.
func LevelsOfMerged(ix *mesh.Index, m *mesh.Merged, subset string) Levels {
	l := Levels{MeshConfig: ix.Settings().MeshConfig, version: releaseOf(ix), meshAt: ix.Settings().MeshConfigSource}
	if m == nil {
		return l
	}
	if m.Policy != nil {
		l.Policy = m.Policy.Object
	}
	if s, ok := m.Subset(subset); ok && subset != "" {
		return levelsOfSubset(ix, m, s)
	}
	return l
}

// levelsOfSubset is LevelsOfMerged for a subset of m. One without a name is none: nothing can lead to it.
func levelsOfSubset(ix *mesh.Index, m *mesh.Merged, s mesh.Subset) Levels {
	l := LevelsOfMerged(ix, m, "")
	if s.Name == "" {
		return l
	}
	l.Subset, l.SubsetPath = s.Rule.Object, object.Path{"spec", "subsets", s.Index}
	return l
}

var destinationLevel = object.Path{"spec", "trafficPolicy"}

// For merges the levels for the cluster of one port.
func (l Levels) For(port uint32, without Without) *Policy {
	p := &Policy{Blocks: map[string]Source{}, mesh: l.MeshConfig, meshAt: l.meshAt, version: l.version}
	l.fromDestination(p, port, without)
	l.fromMesh(p)
	if l.Subset != nil && !without.Subset {
		l.fromSubset(p, port, without)
	}
	return p
}

// fromMesh fills the blocks that are unset. It comes before the subset: a port entry inside a subset drops the mesh's blocks
// together with the rule's.
func (l Levels) fromMesh(p *Policy) {
	if !l.version.Has(istio.MeshTrafficPolicy) {
		return
	}
	for _, block := range [...]string{"connectionPool", "outlierDetection"} {
		if p.Blocks[block].Set() {
			continue
		}
		if v := l.MeshConfig.At("defaultTrafficPolicy", block); v.Set() {
			p.Blocks[block] = Source{Path: object.Path{"defaultTrafficPolicy", block}, Value: v, mesh: l.meshAt}
		}
	}
}

func (l Levels) fromDestination(p *Policy, port uint32, without Without) {
	if l.Policy == nil {
		return
	}
	level := l.Policy.Lookup(destinationLevel)
	p.Listener = source(l.Policy, destinationLevel, "connectionPool")
	entry := -1
	if !without.Entry {
		entry = EntryFor(level, port)
	}
	if entry < 0 {
		for _, b := range Blocks {
			if s := source(l.Policy, destinationLevel, b); s.Set() {
				p.Blocks[b] = s
			}
		}
		return
	}
	p.Entry = destinationLevel.Child("portLevelSettings", entry)
	for b := range portBlocks {
		if s := source(l.Policy, p.Entry, b); s.Set() {
			p.Blocks[b] = s
		}
	}
	// The listener's tunnel is the destination level's, whatever the entry says; the other two blocks are gone.
	if s := source(l.Policy, destinationLevel, "tunnel"); s.Set() {
		p.Blocks["tunnel"] = s
	}
}

func (l Levels) fromSubset(p *Policy, port uint32, without Without) {
	at := l.SubsetPath.Child("trafficPolicy")
	level := l.Subset.Lookup(at)
	if !level.Set() {
		return
	}
	entry := -1
	if !without.SubsetEntry {
		entry = EntryFor(level, port)
	}
	if entry < 0 {
		for _, b := range Blocks {
			if s := source(l.Subset, at, b); s.Set() {
				p.Blocks[b] = s
			}
		}
		return
	}
	// The entry stands for the whole subset: what it cannot hold is the destination level's, whatever the subset says.
	for b := range portBlocks {
		if s := source(l.Subset, at.Child("portLevelSettings", entry), b); s.Set() {
			p.Blocks[b] = s
		} else {
			delete(p.Blocks, b)
		}
	}
}

// EntryFor returns the index of the portLevelSettings entry that Istio takes for a port: the first one with its number; -1 if
// there is none.
func EntryFor(level object.Value, port uint32) int {
	for i, e := range level.Get("portLevelSettings").Items() {
		if n, ok := PortOfEntry(e); ok && n == port {
			return i
		}
	}
	return -1
}

// PortOfEntry returns the number of the port that a portLevelSettings entry is for; ok is false if it names none that can exist.
func PortOfEntry(entry object.Value) (number uint32, ok bool) {
	n := entry.At("port", "number").Int()
	return uint32(n), n > 0 && n <= 65535
}

func source(o *object.Object, level object.Path, block string) Source {
	path := level.Child(block)
	return Source{Object: o, Path: path, Value: o.Lookup(path)}
}

// releaseOf is the version of Istio that the mesh runs: the configured one, else the oracle's.
func releaseOf(ix *mesh.Index) istio.Release {
	if r, err := istio.Parse(ix.Settings().IstioVersion); err == nil {
		return r
	}
	return istio.Oracle
}
