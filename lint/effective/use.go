package effective

import (
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
// entry of its port is left out. Both lists of ports are empty where a level reaches no port.
func UsesIn(ix *mesh.Index, o *object.Object, levels []Level) []Use {
	var out []Use
	for i := range levels {
		level := &levels[i]
		if level.Shadowed {
			continue
		}
		policies := make([]*Policy, len(level.Ports))
		for j, port := range level.Ports {
			policies[j] = level.in(ix, o).For(port.Number, Without{})
		}
		for _, f := range fields {
			at := level.Path.Child(f.Path()...)
			v := o.Lookup(at)
			if !v.Set() {
				continue
			}
			use := Use{Level: level, Field: f, Path: at, Value: v}
			for j, port := range level.Ports {
				if f.Live(port, policies[j]) {
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
