package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Gate says what an object must hold for a rule to have anything to say about it. It spares the engine most evaluations; a
// rule must find nothing in an object that none of its gates lets through.
type Gate struct {
	Kind object.Kind // "" = every kind of the rule
	All  []Condition
}

// Condition holds if the field at Path is written with one of Values (any value if there are none), or, with Absent, if it is
// not written at all.
type Condition struct {
	Path   string // as object.Path, with [*] for every item of a list
	Values []any
	Absent bool
}

type compiledGate struct {
	kind       object.Kind
	conditions []compiledCondition
}

type compiledCondition struct {
	steps  []string // "*" = every item
	values []any
	absent bool
}

func compileGates(gates []Gate) ([]compiledGate, error) {
	var out []compiledGate
	for _, g := range gates {
		c := compiledGate{kind: g.Kind}
		for _, cond := range g.All {
			if cond.Path == "" {
				return nil, fmt.Errorf("gate condition without a path")
			}
			c.conditions = append(c.conditions, compiledCondition{
				steps:  strings.Split(strings.ReplaceAll(cond.Path, "[*]", ".*"), "."),
				values: cond.Values,
				absent: cond.Absent,
			})
		}
		out = append(out, c)
	}
	return out, nil
}

// passes says whether one of the gates lets the object through; a kind without gates is always let through.
func passes(gates []compiledGate, o *object.Object) bool {
	any := false
	for _, g := range gates {
		if g.kind != "" && g.kind != o.Kind {
			continue
		}
		any = true
		if !slices.ContainsFunc(g.conditions, func(c compiledCondition) bool { return !c.holds(o.Root()) }) {
			return true
		}
	}
	return !any
}

func (c compiledCondition) holds(root object.Value) bool {
	found, match := c.walk(root, c.steps)
	return match || c.absent && !found
}

// walk says whether any value stands at the steps, and whether one of them is among the values.
func (c compiledCondition) walk(v object.Value, steps []string) (found, match bool) {
	if !v.Set() {
		return false, false
	}
	if len(steps) == 0 {
		return true, len(c.values) == 0 && !c.absent || slices.ContainsFunc(c.values, func(want any) bool { return equalsScalar(v, want) })
	}
	if steps[0] != "*" {
		return c.walk(v.Get(steps[0]), steps[1:])
	}
	for _, item := range v.Items() {
		f, m := c.walk(item, steps[1:])
		found, match = found || f, match || m
		if match {
			break
		}
		if c.absent && !f {
			return found, true // one item without the field is enough
		}
	}
	return found, match
}

func equalsScalar(v object.Value, want any) bool {
	switch want := want.(type) {
	case string:
		return v.Type() == object.String && v.Str() == want
	case bool:
		return v.Type() == object.Bool && v.Bool() == want
	case int:
		return v.Type() == object.Int && v.Int() == int64(want)
	case int64:
		return v.Type() == object.Int && v.Int() == want
	}
	return false
}
