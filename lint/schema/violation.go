package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Kind says what sort of mistake a Violation is.
type Kind uint8

// The kinds of violations.
const (
	// InvalidValue is a value that the API server refuses.
	InvalidValue Kind = iota
	// UnknownField is a field that the schema does not have: the API server refuses it under strict field validation (kubectl's
	// default) and drops it silently otherwise (most GitOps controllers).
	UnknownField
	// MissingField is a field that has to be set. The path names the field that is not there.
	MissingField
	// NewerField is a field or enum value that the configured version of Istio does not know.
	NewerField
)

var kindNames = [...]string{"invalid value", "unknown field", "missing field", "newer field"}

func (k Kind) String() string { return kindNames[k] }

// A Violation is one reason why the API server would refuse an object, or not keep all of it.
type Violation struct {
	Path object.Path
	Kind Kind
	// Got is the value as text: strings quoted and cut short, "a list" and "a mapping" for those, "" for a missing field.
	Got string
	// Message is one sentence without a full stop: what is wrong with which value, and what is allowed.
	Message string
	// Suggestion is what the author likely meant: the name of a field beside an unknown one, or a text for an invalid value. Putting it
	// in the place of what is there is a sensible fix.
	Suggestion string
	// Replacement is the value that Suggestion stands for, or the number or boolean that was written in quotes; nil if there is none.
	Replacement any
	// Belongs is the path, from the root of the object, at which an unknown field exists. nil if that is nowhere near, in two places, or
	// in an item of a list that is not known.
	Belongs object.Path
	// SnakeCase says that an unknown field is the snake_case form of Suggestion, a field's name in Istio's protobuf definition.
	SnakeCase bool
	// Allowed lists the values of an enum.
	Allowed []string
}

// suggest notes a text that fits in the place of an invalid value; "" is none.
func (v *Violation) suggest(text string) {
	if text != "" {
		v.Suggestion, v.Replacement = text, text
	}
}

// compare orders violations by path, an item before its successors and a field before what stands in it.
func compare(a, b Violation) int {
	for i := range min(len(a.Path), len(b.Path)) {
		x, xKey := a.Path[i].(string)
		y, yKey := b.Path[i].(string)
		if xKey != yKey {
			if xKey {
				return 1
			}
			return -1
		}
		if xKey {
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			continue
		}
		xi, _ := a.Path[i].(int)
		yi, _ := b.Path[i].(int)
		if c := cmp.Compare(xi, yi); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a.Path), len(b.Path))
}

// label names a field in a message: the last field name of its path, with the list indexes and the free key that follow it.
// free is the index of a free key, such as that of a label, in p; -1 if there is none.
func label(p object.Path, free int) string {
	start := len(p) - 1
	for start > 0 {
		if key, isKey := p[start].(string); isKey && start != free && !strings.ContainsAny(key, "./") {
			break
		}
		start--
	}
	if start < 0 {
		return "the object"
	}
	return short(p[start:].String())
}

// inside names the mapping that a field stands in: "spec", "connectionPool.tcp", "ports[0]".
func inside(p object.Path) string {
	p = p.Parent()
	if len(p) == 0 {
		return "the object"
	}
	start, keys := len(p), 0
	for start > 0 && keys < 2 {
		start--
		if _, isKey := p[start].(string); isKey {
			keys++
		}
	}
	if start == 0 && keys == 2 && p[0] == "spec" {
		start = 1
	}
	return short(p[start:].String())
}

// maxShown is how many characters of a value a message shows.
const maxShown = 60

// quoted shows a string, cut short.
func quoted(s string) string {
	if cut := short(s); len(cut) < len(s) {
		return strconv.Quote(strings.TrimSuffix(cut, "…")) + "…"
	}
	return strconv.Quote(s)
}

// short cuts a text after maxShown characters.
func short(s string) string {
	if len(s) <= maxShown {
		return s
	}
	n := 0
	for i := range s {
		if n == maxShown {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// got shows a value for Violation.Got.
func got(v Value) string {
	switch v.Type() {
	case Null:
		return "null"
	case Bool:
		return strconv.FormatBool(v.Bool())
	case Int:
		return strconv.FormatInt(v.Int(), 10)
	case Float:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case String:
		return quoted(v.Str())
	case List:
		return "a list"
	case Map:
		return "a mapping"
	}
	return "not a JSON value"
}

// described is got with the type spelt out: the boolean true, the string "5".
func described(v Value) string {
	switch v.Type() {
	case Null:
		return "empty (null)"
	case Bool:
		return "the boolean " + got(v)
	case Int, Float:
		return "the number " + got(v)
	case String:
		if v.Str() == "" {
			return "an empty string"
		}
		return "the string " + got(v)
	}
	return got(v)
}

// list joins words: a, b and c.
func list(words []string, conjunction string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + conjunction + " " + words[len(words)-1]
}

// tidy sorts violations and keeps one for each path: what is wrong with a value has one cause, and the first one found is the closest.
func tidy(vs []Violation) []Violation {
	slices.SortStableFunc(vs, compare)
	return slices.CompactFunc(vs, func(a, b Violation) bool { return a.Path.Equal(b.Path) })
}
