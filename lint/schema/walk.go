package schema

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meshvet/meshvet/lint/object"
)

// maxViolations bounds what one object can report, and with it the memory that a hostile one can take.
const maxViolations = 500

// A walker goes over one object along the schema of its kind. A quick one stops at the first thing that is wrong or that it cannot
// decide; the other one collects what is wrong. Both share every decision, so that they cannot disagree.
//
// Its methods that judge return whether the value is good. Those that report are no more than `return false` in a quick walk.
type walker struct {
	k     *kindSchema
	quick bool

	ctx   context.Context // of the call of Validate that the walker lives for
	path  object.Path     // of the value at hand; not kept in a quick walk
	free  int             // index in path of a free key, such as a label's; -1 if there is none
	found []finding

	excused []object.Path // required fields that are missing because they stand there under a wrong name

	unsure     bool // spec holds something that only the schema libraries decide
	unsureMeta bool // so does metadata
	celBudget  int64
	err        error // of the CEL library
}

// A finding is a violation and the part of the API server that would report it.
type finding struct {
	Violation
	from source
}

type source uint8

const (
	fromDecoding source = iota // unknown fields, apiVersion and kind
	fromSchema
	fromRule
	fromMetadata
)

// object judges a whole object.
func (w *walker) object(root Value) bool {
	if root.Type() != Map {
		if w.quick {
			return false
		}
		w.report(fromDecoding, InvalidValue, nil, root, fmt.Sprintf("the object is %s; a mapping is required", described(root)))
		return false
	}
	good := w.typeMeta(root)
	if !good && w.quick {
		return false
	}
	good = w.metadata(root) && good
	if !good && w.quick {
		return false
	}
	return w.walk(w.k.crd.root, root) && good
}

// typeMeta judges apiVersion and kind.
func (w *walker) typeMeta(root Value) bool {
	c := w.k.crd
	good := true
	if v := get(root, "kind"); v == nil || v.Type() == String && v.Str() != w.k.kind {
		if w.quick {
			return false
		}
		good = false
		if v == nil {
			w.report(fromDecoding, MissingField, object.Path{"kind"}, nil, "the object has no kind; "+w.k.kind+" is required")
		} else {
			w.report(fromDecoding, InvalidValue, object.Path{"kind"}, v, fmt.Sprintf("kind is %s; %s is required", described(v), w.k.kind))
		}
	}
	v := get(root, "apiVersion")
	if v != nil && v.Type() != String {
		return good // a type error, which the walk over the root reports
	}
	if v != nil {
		if version, ok := strings.CutPrefix(v.Str(), c.group+"/"); ok && slices.Contains(c.versions, version) {
			return good
		}
	}
	if w.quick {
		return false
	}
	allowed := make([]string, len(c.versions))
	for i, version := range c.versions {
		allowed[i] = c.group + "/" + version
	}
	if v == nil {
		w.report(fromDecoding, MissingField, object.Path{"apiVersion"}, nil, "the object has no apiVersion; it is one of "+list(allowed, "or")).Allowed = allowed
		return false
	}
	f := w.report(fromDecoding, InvalidValue, object.Path{"apiVersion"}, v,
		fmt.Sprintf("apiVersion %s is not served for a %s; %s are", got(v), w.k.kind, list(allowed, "and")))
	f.Allowed = allowed
	f.suggest(nearest(v.Str(), allowed))
	return false
}

// walk judges a value against a node. In a walk that is not quick, unknown and newer fields are reported without making the value
// bad: they are not there when the API server applies a rule.
func (w *walker) walk(id nodeID, v Value) bool {
	n := &w.k.crd.nodes[id]
	t := v.Type()
	if t == Null {
		return n.nullable || w.mismatch(n, v)
	}
	good := true
	switch n.typ {
	case stringType:
		if t != String {
			return w.mismatch(n, v)
		}
		good = w.string(n, v)
	case integerType, numberType:
		if t != Int && t != Float {
			return w.mismatch(n, v)
		}
		good = w.number(n, v)
	case booleanType:
		if t != Bool {
			return w.mismatch(n, v)
		}
	case arrayType:
		if t != List {
			return w.mismatch(n, v)
		}
		good = w.items(n, v)
	case objectType:
		if t != Map {
			return w.mismatch(n, v)
		}
		good = w.fields(n, v)
	}
	if !good && w.quick {
		return false
	}
	if n.more != "" {
		if w.quick {
			return false
		}
		w.unsure = true
	}
	for i := range n.rules {
		if r := &n.rules[i]; r.decide != nil {
			good = r.decide(w, n, v) && good
		} else {
			// A rule that is not understood is only asked about a value whose type it can rely on.
			good = good && w.evaluate(id, i, v)
		}
		if !good && w.quick {
			return false
		}
	}
	return good
}

func (w *walker) string(n *node, v Value) bool {
	s := v.Str()
	good := true
	if n.maxLength > 0 && len(s) > n.maxLength {
		if length := utf8.RuneCountInString(s); length > n.maxLength {
			good = w.tooMany(v, fmt.Sprintf("is %d characters long; at most %d are allowed", length, n.maxLength))
		}
	}
	if len(n.enum) > 0 {
		switch {
		case !slices.Contains(n.enum, s):
			good = false
			w.notInEnum(n, v)
		case slices.Contains(n.newerEnum, s):
			if w.quick {
				return false
			}
			w.report(fromDecoding, NewerField, nil, v,
				fmt.Sprintf("%s %s is newer than Istio %s, which refuses it", w.label(), got(v), w.k.version))
		}
	}
	if n.format == "date-time" {
		good = w.timestamp(v) && good
	}
	return good
}

func (w *walker) number(n *node, v Value) bool {
	var f float64
	if v.Type() == Float {
		if w.quick && n.typ == integerType {
			return false // rare, and full of special cases
		}
		f = v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) || n.typ == integerType && (f != math.Trunc(f) || math.Abs(f) > 1<<53-1) {
			return w.mismatch(n, v)
		}
	} else {
		f = float64(v.Int())
	}
	if n.format == "int32" && (f < math.MinInt32 || f > math.MaxInt32) {
		if w.quick {
			return false
		}
		w.report(fromSchema, InvalidValue, nil, v, fmt.Sprintf("%s %s does not fit into 32 bits; %d to %d is allowed",
			w.label(), got(v), math.MinInt32, math.MaxInt32))
		return false
	}
	below := n.minimum.set && f < n.minimum.value
	if !below && (!n.maximum.set || f <= n.maximum.value) {
		return true
	}
	if w.quick {
		return false
	}
	what := fmt.Sprintf("above the maximum of %v", strconv.FormatFloat(n.maximum.value, 'f', -1, 64))
	if below {
		what = fmt.Sprintf("below the minimum of %v", strconv.FormatFloat(n.minimum.value, 'f', -1, 64))
	}
	w.report(w.source(), InvalidValue, nil, v, fmt.Sprintf("%s %s is %s", w.label(), got(v), what))
	return false
}

func (w *walker) items(n *node, v Value) bool {
	good := true
	count := 0
	for item := v.First(); item != nil; item = item.Next() {
		if n.items != 0 {
			w.pushIndex(count)
			good = w.walk(n.items, item) && good
			w.pop()
			if w.stop(good) {
				return false
			}
		}
		count++
	}
	switch {
	case n.maxItems > 0 && count > n.maxItems:
		good = w.tooMany(v, fmt.Sprintf("has %d items; at most %d are allowed", count, n.maxItems))
	case count < n.minItems && count == 0:
		good = w.tooMany(v, fmt.Sprintf("is an empty list; at least %d %s required", n.minItems, plural(n.minItems, "item is", "items are")))
	case count < n.minItems:
		good = w.tooMany(v, fmt.Sprintf("has %d items; at least %d are required", count, n.minItems))
	}
	if w.stop(good) {
		return false
	}
	if n.listMapKey != "" {
		good = w.distinct(n.listMapKey, v, count) && good
	}
	return good
}

// distinct judges a list whose items are told apart by a field.
func (w *walker) distinct(key string, v Value, count int) bool {
	if w.quick && count <= 8 {
		// Lists of ports are short: comparing all pairs is cheaper than a map.
		for a := v.First(); a != nil; a = a.Next() {
			for b := a.Next(); b != nil; b = b.Next() {
				if x, y := get(a, key), get(b, key); x == nil || y == nil || x.Str() == y.Str() {
					return false
				}
			}
		}
		return true
	}
	good := true
	seen := make(map[string]int, count)
	i := -1
	for item := v.First(); item != nil && !w.full(); item = item.Next() {
		i++
		k := get(item, key)
		if k == nil || k.Type() != String {
			continue
		}
		first, taken := seen[k.Str()]
		if !taken {
			seen[k.Str()] = i
			continue
		}
		if w.quick {
			return false
		}
		good = false
		w.report(fromSchema, InvalidValue, object.Path{i, key}, k, fmt.Sprintf("%s %s %s is the one of %s; each needs its own",
			label(w.path.Child(i), -1), key, got(k), label(w.path.Child(first), -1)))
	}
	return good
}

func (w *walker) fields(n *node, v Value) bool {
	good := true
	var seen, likely uint64
	count := 0
	for f := v.First(); f != nil; f = f.Next() {
		key := f.Key()
		i := n.find(key)
		if i < 0 && n.values == 0 {
			if n.open {
				continue
			}
			if w.quick {
				return false
			}
			likely |= w.unknown(n, f)
			if w.full() {
				return false
			}
			continue
		}
		child := n.values
		if i >= 0 {
			child = n.props[i].node
			if n.props[i].newer {
				if w.quick {
					return false
				}
				w.pushKey(key)
				w.report(fromDecoding, NewerField, nil, f, fmt.Sprintf("%s is newer than Istio %s, which does not know it", w.label(), w.k.version))
				w.pop()
				continue
			}
		}
		if f.Type() == Null && !w.k.crd.nodes[child].nullable {
			continue // dropped by the API server before it validates
		}
		count++
		free := w.free
		if i >= 0 {
			seen |= 1 << i
		} else {
			w.free = len(w.path)
		}
		w.pushKey(key)
		good = w.walk(child, f) && good
		w.pop()
		w.free = free
		if w.stop(good) {
			return false
		}
	}
	if n.maxProperties > 0 && count > n.maxProperties {
		good = w.tooMany(v, fmt.Sprintf("has %d entries; at most %d are allowed", count, n.maxProperties))
	}
	if missing := n.requiredMask &^ seen; missing != 0 {
		if w.quick {
			return false
		}
		good = false
		for _, name := range n.required {
			switch bit := uint64(1) << n.find(name); {
			case missing&bit == 0:
			case likely&bit != 0:
				w.excused = append(w.excused, w.path.Child(name)) // reported as the unknown field that it is
			default:
				w.report(fromSchema, MissingField, object.Path{name}, nil, fmt.Sprintf("%s has no %s, which is required", w.label(), name))
			}
		}
	}
	for i, mask := range n.groupMasks {
		if both := seen & mask; both&(both-1) != 0 {
			if w.quick {
				return false
			}
			good = false
			w.exclusive(n, n.atMostOne[i], both)
		}
	}
	return good
}

// exclusive reports fields that exclude each other.
func (w *walker) exclusive(n *node, group []string, both uint64) {
	var set []string
	for _, name := range group {
		if both&(1<<n.find(name)) != 0 {
			set = append(set, name)
		}
	}
	all := "both "
	if len(set) > 2 {
		all = ""
	}
	w.report(fromSchema, InvalidValue, nil, nil, fmt.Sprintf("%s sets %s%s; at most one of %s is allowed",
		w.label(), all, list(set, "and"), list(group, "and"))).Got = list(set, "and")
}

// mismatch reports a value of the wrong type.
func (w *walker) mismatch(n *node, v Value) bool {
	if w.quick {
		return false
	}
	need := "a mapping is required"
	var unquoted any
	switch n.typ {
	case stringType:
		need = needString(n, v)
	case integerType:
		need = "an integer is required"
		if i, err := strconv.ParseInt(v.Str(), 10, 64); err == nil {
			unquoted = i
		}
	case numberType:
		need = "a number is required"
		if f, err := strconv.ParseFloat(v.Str(), 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			unquoted = f
		}
	case booleanType:
		need = "true or false is required"
		if s := v.Str(); s == "true" || s == "false" {
			unquoted = s == "true"
		}
	case arrayType:
		need = "a list is required"
		switch w.k.crd.nodes[n.items].typ {
		case stringType:
			need = "a list of strings is required"
		case objectType:
			need = "a list of mappings is required"
		case integerType:
			need = "a list of integers is required"
		}
	}
	if unquoted != nil {
		need += ", without quotes"
	}
	f := w.report(w.source(), InvalidValue, nil, v, fmt.Sprintf("%s is %s; %s", w.label(), described(v), need))
	f.Replacement, f.Allowed = unquoted, without(n.enum, n.newerEnum)
	if number := v.Type() == Int || v.Type() == Float; number && n.typ == stringType && plainString(n) {
		f.suggest(got(v))
	}
	return false
}

// plainString says whether a node takes any text.
func plainString(n *node) bool { return !n.duration && n.format == "" && len(n.enum) == 0 }

// needString words what is needed where v stands in the place of a string.
func needString(n *node, v Value) string {
	switch {
	case n.duration && v.Type() == Int && v.Int() > 0:
		return fmt.Sprintf(`a duration with a unit such as "%ds" is required`, v.Int())
	case n.duration:
		return `a duration with a unit such as "5s" is required`
	case n.format == "date-time":
		return `a time such as "2026-01-31T12:00:00Z" is required`
	case len(n.enum) > 0:
		return "one of " + strings.Join(without(n.enum, n.newerEnum), ", ") + " is required"
	case v.Type() == Bool:
		return "a string is required (without quotes, the words true, false, yes, no, y, n, on and off are booleans)"
	case v.Type() == Int || v.Type() == Float:
		return fmt.Sprintf("a string is required, so put it in quotes: %q", got(v))
	}
	return "a string is required"
}

// source returns which part of the API server checks the type of the value at hand.
func (w *walker) source() source {
	switch {
	case len(w.path) > 0 && w.path[0] == "metadata":
		return fromMetadata
	case len(w.path) > 0 && w.path[0] == "spec":
		return fromSchema
	}
	return fromDecoding
}

// notInEnum reports a string that is none of the allowed ones.
func (w *walker) notInEnum(n *node, v Value) {
	if w.quick {
		return
	}
	allowed := without(n.enum, n.newerEnum)
	suggestion := nearest(v.Str(), allowed)
	msg := fmt.Sprintf("%s %s is not one of %s", w.label(), got(v), strings.Join(allowed, ", "))
	if suggestion != "" {
		msg += fmt.Sprintf(" (did you mean %s?)", suggestion)
	}
	f := w.report(fromSchema, InvalidValue, nil, v, msg)
	f.Allowed = allowed
	f.suggest(suggestion)
}

// tooMany reports a value of the wrong length.
func (w *walker) tooMany(v Value, what string) bool {
	if w.quick {
		return false
	}
	w.report(w.source(), InvalidValue, nil, v, w.label()+" "+what)
	return false
}

// report adds a violation of the value at path rel below the one at hand, and returns it for completion. v is the value, nil when there
// is none.
func (w *walker) report(from source, kind Kind, rel object.Path, v Value, message string) *Violation {
	if w.full() {
		return &Violation{}
	}
	if len(w.found) == maxViolations {
		w.found = append(w.found, finding{Violation{
			Path:    object.Path{},
			Message: fmt.Sprintf("the object has more than %d violations; the others are not listed", maxViolations),
		}, fromDecoding})
		return &Violation{}
	}
	f := finding{Violation{Path: w.path.Child(rel...), Kind: kind, Message: message}, from}
	if v != nil {
		f.Got = got(v)
	}
	w.found = append(w.found, f)
	return &w.found[len(w.found)-1].Violation
}

// full says that no further violation is taken.
func (w *walker) full() bool { return len(w.found) > maxViolations }

// stop says that the walk is over after a value that was good or not.
func (w *walker) stop(good bool) bool { return w.quick && !good || w.full() }

// label names the value at hand in a message.
func (w *walker) label() string { return label(w.path, w.free) }

func (w *walker) pushKey(key string) {
	if !w.quick {
		w.path = append(w.path, key)
	}
}

func (w *walker) pushIndex(i int) {
	if !w.quick {
		w.path = append(w.path, i)
	}
}

func (w *walker) pop() {
	if !w.quick {
		w.path = w.path[:len(w.path)-1]
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
