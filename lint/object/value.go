package object

import (
	"encoding/json"
	"iter"
	"math"
	"strconv"
	"strings"
)

// Type is the JSON type of a Value.
type Type uint8

// The types of a Value. Absent is the type of a field that the author did not write, which is not the same as Null.
const (
	Absent Type = iota
	Null
	Bool
	Int
	Float
	String
	List
	Map
)

var typeNames = [...]string{"absent", "null", "boolean", "integer", "number", "string", "list", "mapping"}

func (t Type) String() string { return typeNames[t] }

// node is one value of a document. The nodes of a document stand in one slice in document order, so that the first child of a
// node is its successor; 10,000 objects cost a sixth of what their yaml.Node trees would.
type node struct {
	typ            Type
	keyIn, valueIn inText

	keyStart, keyEnd uint32 // span of the mapping key with its quotes; equal when the node is a list item or a root
	start, end       uint32 // span of the value
	next             int32  // next sibling, 0 = none
	key              int32  // index into strs when keyIn is notInText, -1 when there is no key
	bits             uint64 // bool, int64, float64; number of children; index into strs when valueIn is notInText
}

// inText says where a string's value stands in the text of its document, which spares keeping a copy.
type inText uint8

const (
	notInText    inText = iota // escapes or folding: the value is in strs
	inSpan                     // the span is the value
	insideQuotes               // the span less its first and last byte is the value
)

// table holds the nodes of one document and the text that they point into. Objects from a cluster have no text.
type table struct {
	text  string
	nodes []node
	strs  []string
}

// Value is a cursor to one value of an object. The zero Value is absent; every method works on it.
type Value struct {
	t *table
	i int32
}

func (v Value) node() *node { return &v.t.nodes[v.i] }

// Type returns the type of the value, Absent if there is none.
func (v Value) Type() Type {
	if v.t == nil {
		return Absent
	}
	return v.node().typ
}

// Exists says whether the author wrote the field, with whatever value.
func (v Value) Exists() bool { return v.t != nil }

// Set says whether the author wrote the field with a value other than null; to Kubernetes and Istio a null is no value.
func (v Value) Set() bool { return v.t != nil && v.node().typ != Null }

// Len returns the number of items or fields, 0 for anything else.
func (v Value) Len() int {
	if t := v.Type(); t == List || t == Map {
		return int(v.node().bits)
	}
	return 0
}

// Get returns the field key of a mapping.
func (v Value) Get(key string) Value {
	if v.Type() != Map {
		return Value{}
	}
	for f := v.First(); f.t != nil; f = f.Next() {
		if f.Key() == key {
			return f
		}
	}
	return Value{}
}

// At follows a path downwards.
func (v Value) At(path ...any) Value {
	for _, e := range path {
		switch e := e.(type) {
		case string:
			v = v.Get(e)
		case int:
			v = v.Index(e)
		default:
			return Value{}
		}
		if v.t == nil {
			return v
		}
	}
	return v
}

// Index returns item i of a list.
func (v Value) Index(i int) Value {
	if v.Type() != List || i < 0 || i >= v.Len() {
		return Value{}
	}
	item := v.First()
	for ; i > 0; i-- {
		item = item.Next()
	}
	return item
}

// Items yields the items of a list.
func (v Value) Items() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.Type() != List {
			return
		}
		for n, c := 0, v.First(); c.t != nil; n, c = n+1, c.Next() {
			if !yield(n, c) {
				return
			}
		}
	}
}

// Fields yields the fields of a mapping in the order in which they are written.
func (v Value) Fields() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Type() != Map {
			return
		}
		for c := v.First(); c.t != nil; c = c.Next() {
			if !yield(c.Key(), c) {
				return
			}
		}
	}
}

// First returns the first item of a list or field of a mapping, an absent value if there is none.
func (v Value) First() Value {
	if v.Len() == 0 {
		return Value{}
	}
	return Value{v.t, v.i + 1}
}

// Next returns the item or field after this one, an absent value after the last.
func (v Value) Next() Value {
	if v.t == nil || v.node().next == 0 {
		return Value{}
	}
	return Value{v.t, v.node().next}
}

// Key returns the mapping key under which the value stands, "" for a list item.
func (v Value) Key() string {
	if v.t == nil {
		return ""
	}
	n := v.node()
	switch {
	case n.keyIn == inSpan:
		return v.t.text[n.keyStart:n.keyEnd]
	case n.keyIn == insideQuotes:
		return v.t.text[n.keyStart+1 : n.keyEnd-1]
	case n.key < 0:
		return ""
	}
	return v.t.strs[n.key]
}

// Str returns the value of a string, "" for anything else.
func (v Value) Str() string {
	if v.Type() != String {
		return ""
	}
	n := v.node()
	switch n.valueIn {
	case inSpan:
		return v.t.text[n.start:n.end]
	case insideQuotes:
		return v.t.text[n.start+1 : n.end-1]
	}
	return v.t.strs[n.bits]
}

// Int returns the value of an integer (or of a float without fraction, as JSON does not tell them apart), 0 for anything else.
func (v Value) Int() int64 {
	switch v.Type() {
	case Int:
		return int64(v.node().bits)
	case Float:
		if f := v.Float(); f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f)
		}
	}
	return 0
}

// Float returns the value of a number, 0 for anything else.
func (v Value) Float() float64 {
	switch v.Type() {
	case Int:
		return float64(int64(v.node().bits))
	case Float:
		return math.Float64frombits(v.node().bits)
	}
	return 0
}

// Bool returns the value of a boolean, false for anything else.
func (v Value) Bool() bool { return v.Type() == Bool && v.node().bits == 1 }

// Strings returns the string items of a list.
func (v Value) Strings() []string {
	out := make([]string, 0, v.Len())
	for _, item := range v.Items() {
		if item.Type() == String {
			out = append(out, item.Str())
		}
	}
	return out
}

// Span returns the bytes of the file that hold the value, without its key, anchor and tag. What comes through an alias or a merge
// key (<<) has the bytes of what that stands for, which are not between those of its neighbours. The span of a value that is not
// written (`key:`) is empty. ok is false for an absent value and for one from a cluster.
func (v Value) Span() (start, end int, ok bool) {
	if v.t == nil || v.t.text == "" {
		return 0, 0, false
	}
	n := v.node()
	return int(n.start), int(n.end), true
}

// KeySpan returns the bytes of the file that hold the mapping key under which the value stands, with its quotes. ok is false if the
// value has no key, or no file.
func (v Value) KeySpan() (start, end int, ok bool) {
	if v.t == nil || v.t.text == "" {
		return 0, 0, false
	}
	n := v.node()
	return int(n.keyStart), int(n.keyEnd), n.keyEnd > n.keyStart
}

// Any returns the value as encoding/json would with integers kept: nil, bool, int64, float64, string, []any, map[string]any.
func (v Value) Any() any {
	switch v.Type() {
	case Bool:
		return v.Bool()
	case Int:
		return v.Int()
	case Float:
		return v.Float()
	case String:
		return v.Str()
	case List:
		out := make([]any, 0, v.Len())
		for _, item := range v.Items() {
			out = append(out, item.Any())
		}
		return out
	case Map:
		out := make(map[string]any, v.Len())
		for k, f := range v.Fields() {
			out[k] = f.Any()
		}
		return out
	}
	return nil
}

// MarshalJSON writes the value as JSON; an absent value is null.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil), nil }

func (v Value) appendJSON(b []byte) []byte {
	switch v.Type() {
	case Bool:
		return strconv.AppendBool(b, v.Bool())
	case Int:
		return strconv.AppendInt(b, v.Int(), 10)
	case Float:
		return appendEncoded(b, v.Float())
	case String:
		return appendString(b, v.Str())
	case List:
		b = append(b, '[')
		for i, item := range v.Items() {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case Map:
		b = append(b, '{')
		first := true
		for k, f := range v.Fields() {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(appendString(b, k), ':')
			b = f.appendJSON(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// appendString encodes a string; most need no more than quotes.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendEncoded(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendEncoded encodes a string or a finite float; neither can fail, since both come from text that was valid.
func appendEncoded(b []byte, v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, out...)
}

// Text returns a scalar as a person would write it in a message, and a short description of anything else.
func (v Value) Text() string {
	switch v.Type() {
	case String:
		return v.Str()
	case List:
		return "a list of " + strconv.Itoa(v.Len())
	case Map:
		var keys []string
		for k := range v.Fields() {
			keys = append(keys, k)
		}
		return "{" + strings.Join(keys, ", ") + "}"
	case Absent:
		return ""
	}
	return string(v.appendJSON(nil))
}
