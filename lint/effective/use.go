package effective

import (
	"slices"
	"time"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Use is a field that one level of a DestinationRule writes, with the ports that the level reaches told apart by whether the
// field has an effect there.
type Use struct {
	Level *Level
	Field *Field
	Path  object.Path
	Value object.Value
	Live  []Port
	Dead  []Port
}

// UsesIn lists the fields that the levels of a rule write, in the order of Fields. A level that Istio ignores for another
// entry of its port is left out, and so are fields that the mesh's version of Istio does not have. Both lists of ports are empty
// where a level reaches no port. A field of the destination level has an effect on a port if it has one for some subset that inherits
// it, and one that tcp_proxy reads also on the ports that have an entry.
func UsesIn(ix *mesh.Index, o *object.Object, levels []Level) []Use {
	var out []Use
	subsets := subsetsOf(levels)
	named := map[uint32]bool{} // ports with an entry at any level
	for i := range levels {
		named[levels[i].Port] = true
	}
	for i := range levels {
		level := &levels[i]
		if level.Shadowed {
			continue
		}
		inherited := level.Kind == Destination || level.Kind == PortEntry
		// What is in effect on a port hangs on its number, and on that only if an entry names it. Of each such policy the first is the
		// level's own, the others, made once they are asked for, those of the subsets.
		own := level.in(ix, o)
		made := map[uint32][]*Policy{}
		policies := func(port uint32) (uint32, []*Policy) {
			if !named[port] {
				port = 0
			}
			if made[port] == nil {
				made[port] = []*Policy{own.For(port, Without{})}
			}
			return port, made[port]
		}
		live := func(f *Field, j int) bool {
			port := level.Ports[j]
			class, list := policies(port.Number)
			if f.Live(port, list[0]) {
				return true
			}
			if !inherited {
				return false
			}
			if len(list) == 1 {
				for _, subset := range subsets {
					list = append(list, LevelsOf(ix, o, subset).For(port.Number, Without{}))
				}
				made[class] = list
			}
			return slices.ContainsFunc(list[1:], func(p *Policy) bool {
				return p.Block(f.Block()).Path.Equal(level.Path.Child(f.Block())) && f.Live(port, p)
			})
		}
		for _, f := range fields {
			v := level.Policy.At(f.Path()...)
			if !v.Set() || f.since != nil && !releaseOf(ix).Has(f.since) {
				continue
			}
			use := Use{Level: level, Field: f, Path: level.Path.Child(f.Path()...), Value: v}
			for j, port := range level.Ports {
				if live(f, j) {
					use.Live = append(use.Live, port)
				} else {
					use.Dead = append(use.Dead, port)
				}
			}
			if f.Timer && level.Kind == Destination {
				use.Live = append(use.Live, entryPorts(levels)...)
			}
			out = append(out, use)
		}
	}
	return out
}

// entryPorts lists the ports with an entry at the destination level for which tcp_proxy may run.
func entryPorts(levels []Level) []Port {
	var out []Port
	for i := range levels {
		if levels[i].Kind != PortEntry || levels[i].Shadowed {
			continue
		}
		for _, port := range levels[i].Ports {
			if port.Family == mesh.L4 || port.Family == mesh.Sniffed {
				out = append(out, port)
			}
		}
	}
	return out
}

// PolicyFor is the traffic policy for the cluster of a port that the level reaches: of its subset, if it is of one.
func (l *Level) PolicyFor(ix *mesh.Index, o *object.Object, port uint32) *Policy {
	return l.in(ix, o).For(port, Without{})
}

// subsetsOf returns the indexes of the subsets that have a policy of their own.
func subsetsOf(levels []Level) []int {
	var out []int
	for i := range levels {
		if levels[i].Kind == SubsetLevel {
			n, _ := levels[i].Path[2].(int)
			out = append(out, n)
		}
	}
	return out
}

// in returns the levels of a rule as they come together where the level stands: with its subset, if it is of one.
func (l *Level) in(ix *mesh.Index, o *object.Object) Levels {
	subset := -1
	if l.Kind == SubsetLevel || l.Kind == SubsetEntry {
		subset, _ = l.Path[2].(int)
	}
	return LevelsOf(ix, o, subset)
}

// HasRetryBudget says whether a retryBudget is in effect on every port that the level reaches, of whichever level it comes.
func (l *Level) HasRetryBudget(ix *mesh.Index, o *object.Object) bool {
	for _, port := range l.Ports {
		if !l.in(ix, o).For(port.Number, Without{}).Block("retryBudget").Set() {
			return false
		}
	}
	return len(l.Ports) > 0
}

// Meets says whether a block that the level writes is in effect anywhere together with another one, a default of the mesh's
// included: on a port that the level reaches, or in a subset that inherits the block.
func (l *Level) Meets(ix *mesh.Index, o *object.Object, block, other string) bool {
	var numbers []uint32
	for _, port := range l.Ports {
		numbers = append(numbers, port.Number)
	}
	if len(numbers) == 0 {
		numbers = []uint32{l.Port} // the host is not in view, or has no such port
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	var subsets []mesh.Subset
	merged := ix.MergedWith(o)
	if merged != nil && (l.Kind == Destination || l.Kind == PortEntry) {
		subsets = merged.Subsets
	}
	for _, n := range numbers {
		if l.in(ix, o).For(n, Without{}).Block(other).Set() {
			return true
		}
		for _, s := range subsets {
			p := levelsOfSubset(ix, merged, s).For(n, Without{})
			if from := p.Block(block); from.Object == o && from.Path.Equal(l.Path.Child(block)) && p.Block(other).Set() {
				return true
			}
		}
	}
	return false
}

// ProbesLate says whether the first probe of a tcpKeepalive comes too late on a port that the use reaches: not before an idle connection
// is closed, or outside the mesh after a limit.
func (u *Use) ProbesLate(ix *mesh.Index, o *object.Object, limit time.Duration) bool {
	first, err := time.ParseDuration(u.Value.Get("time").Str())
	if err != nil {
		return false
	}
	policies := map[uint32]*Policy{}
	return slices.ContainsFunc(u.Live, func(port Port) bool {
		if port.Family == mesh.NoProxy {
			return false
		}
		if port.External() && first > limit {
			return true
		}
		if policies[port.Number] == nil {
			policies[port.Number] = u.Level.PolicyFor(ix, o, port.Number)
		}
		idle, err := time.ParseDuration(idleTimeout(policies[port.Number], port))
		return err == nil && idle != 0 && first >= idle
	})
}
