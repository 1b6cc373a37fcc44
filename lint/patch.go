package lint

import (
	"github.com/meshvet/meshvet/lint/object"
)

// Setting is a field to write, by its path from the root.
type Setting struct {
	Path  object.Path
	Value any
}

// SetOps returns the JSON Patch operations that write settings into an object. Mappings that are missing on the way are
// created once, as one value, so that the operations hold for any JSON Patch tool.
func SetOps(o *object.Object, settings []Setting) []Op {
	var ops []Op
	created := map[string]map[string]any{} // mappings that an earlier operation of ours adds, by path
	for _, s := range settings {
		at, value := s.Path, s.Value
		if o.Lookup(at).Exists() {
			ops = append(ops, Op{Kind: Replace, Path: at, Value: value})
			continue
		}
		for depth := 1; depth < len(at); depth++ {
			parent := at[:depth]
			if into, ok := created[parent.String()]; ok {
				put(into, at[depth:], value)
				value = nil
				break
			}
			if !o.Lookup(parent).Set() {
				fresh := map[string]any{}
				put(fresh, at[depth:], value)
				created[parent.String()] = fresh
				at, value = parent, fresh
				break
			}
		}
		if value == nil && s.Value != nil {
			continue
		}
		kind := Add
		if o.Lookup(at).Exists() { // a null stands where the mapping belongs
			kind = Replace
		}
		ops = append(ops, Op{Kind: kind, Path: at.Child(), Value: value})
	}
	return ops
}

func put(into map[string]any, path object.Path, value any) {
	for _, e := range path[:len(path)-1] {
		key, _ := e.(string)
		next, ok := into[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[key] = next
		}
		into = next
	}
	key, _ := path[len(path)-1].(string)
	into[key] = value
}
