package lint

import (
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/schema"
)

// schemaView shows an object's values to the schema validator, which knows no positions. The types of both packages are the
// same JSON types in the same order; a test holds them to that.
type schemaView struct{ object.Value }

func schemaValue(v object.Value) schema.Value {
	if !v.Exists() {
		return nil
	}
	return schemaView{v}
}

func (v schemaView) Type() schema.Type   { return schema.Type(v.Value.Type()) }
func (v schemaView) First() schema.Value { return schemaValue(v.Value.First()) }
func (v schemaView) Next() schema.Value  { return schemaValue(v.Value.Next()) }

// Key is only asked of fields of a mapping.
func (v schemaView) Key() string { return v.Value.Key() }
