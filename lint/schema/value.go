package schema

import (
	"slices"
	"strings"
)

// Type is the JSON type of a Value.
type Type uint8

// The types of a Value. Integers and other numbers are told apart as Kubernetes' JSON decoder does: 5 is an Int, 5.0 a Float.
const (
	Invalid Type = iota // not a JSON value; no object that holds one is valid
	Null
	Bool
	Int
	Float
	String
	List
	Map
)

// Value is one value of a raw object, as Kubernetes would read it. The keys of a Map are distinct, anchors and merge keys resolved.
// First and Next return nil (not a nil pointer in a Value) after the last item or field.
type Value interface {
	// Type returns the type; a value of type Invalid is nowhere valid.
	Type() Type
	// Key returns the key of a Map under which the value stands.
	Key() string
	// Str returns the value of a String, "" for other types.
	Str() string
	// Bool returns the value of a Bool, false for other types.
	Bool() bool
	// Int returns the value of an Int.
	Int() int64
	// Float returns the value of a Float.
	Float() float64
	// First returns the first item of a List or field of a Map.
	First() Value
	// Next returns the item or field after this one.
	Next() Value
}

// Of returns the Value of what encoding/json or Kubernetes' unstructured form hold: nil, bool, string, int64, float64, []any and
// map[string]any. Fields come sorted by key.
func Of(raw any) Value { return &rawValue{v: raw} }

type rawValue struct {
	key  string
	v    any
	next *rawValue
}

func (r *rawValue) Type() Type {
	switch r.v.(type) {
	case nil:
		return Null
	case bool:
		return Bool
	case int64, int, int32:
		return Int
	case float64:
		return Float
	case string:
		return String
	case []any:
		return List
	case map[string]any:
		return Map
	}
	return Invalid
}

func (r *rawValue) Key() string { return r.key }

func (r *rawValue) Str() string {
	s, _ := r.v.(string)
	return s
}

func (r *rawValue) Bool() bool {
	b, _ := r.v.(bool)
	return b
}

func (r *rawValue) Int() int64 {
	switch i := r.v.(type) {
	case int64:
		return i
	case int:
		return int64(i)
	case int32:
		return int64(i)
	}
	return 0
}

func (r *rawValue) Float() float64 {
	f, _ := r.v.(float64)
	return f
}

func (r *rawValue) First() Value {
	var children []rawValue
	switch v := r.v.(type) {
	case []any:
		children = make([]rawValue, 0, len(v))
		for _, item := range v {
			children = append(children, rawValue{v: item})
		}
	case map[string]any:
		children = make([]rawValue, 0, len(v))
		for k, item := range v {
			children = append(children, rawValue{key: k, v: item})
		}
		slices.SortFunc(children, func(a, b rawValue) int { return strings.Compare(a.key, b.key) })
	}
	if len(children) == 0 {
		return nil
	}
	for i := range children[1:] {
		children[i].next = &children[i+1]
	}
	return &children[0]
}

func (r *rawValue) Next() Value {
	if r.next == nil {
		return nil
	}
	return r.next
}

// get returns the field key of a mapping unless it is absent or null, which to the API server is the same where a field cannot be null.
func get(v Value, key string) Value {
	if v.Type() != Map {
		return nil
	}
	for c := v.First(); c != nil; c = c.Next() {
		if c.Key() == key {
			if c.Type() == Null {
				return nil
			}
			return c
		}
	}
	return nil
}
