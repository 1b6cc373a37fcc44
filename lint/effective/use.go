package effective

import (
	"slices"

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
// entry of its port is left out. Both lists of ports are empty where a level reaches no port. A field of the destination level
// has an effect on a port if it has one for some subset that inherits it.
func UsesIn(ix *mesh.Index, o *object.Object, levels []Level) []Use {
	var out []Use
	subsets := subsetsOf(levels)
	for i := range levels {
		level := &levels[i]
		if level.Shadowed {
			continue
		}
		inherited := level.Kind == Destination || level.Kind == PortEntry
		policies := make([][]*Policy, len(level.Ports)) // of the level itself, then, once they are asked for, of the subsets
		for j, port := range level.Ports {
			policies[j] = []*Policy{level.in(ix, o).For(port.Number, Without{})}
		}
		live := func(f *Field, j int) bool {
			port := level.Ports[j]
			if f.Live(port, policies[j][0]) {
				return true
			}
			if !inherited {
				return false
			}
			if len(policies[j]) == 1 {
				for _, subset := range subsets {
					policies[j] = append(policies[j], LevelsOf(ix, o, subset).For(port.Number, Without{}))
				}
			}
			return slices.ContainsFunc(policies[j][1:], func(p *Policy) bool {
				return p.Block(f.Block()).Path.Equal(level.Path.Child(f.Block())) && f.Live(port, p)
			})
		}
		for _, f := range fields {
			v := level.Policy.At(f.Path()...)
			if !v.Set() {
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
			out = append(out, use)
		}
	}
	return out
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
