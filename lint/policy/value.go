package policy

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint/object"
)

// valueOf builds a Rego value of a manifest without going through maps.
func valueOf(v object.Value) ast.Value {
	switch v.Type() {
	case object.Bool:
		return ast.Boolean(v.Bool())
	case object.Int:
		return ast.Number(json.Number(v.Text()))
	case object.Float:
		return ast.Number(json.Number(v.Text()))
	case object.String:
		return ast.String(v.Str())
	case object.List:
		items := make([]*ast.Term, 0, v.Len())
		for _, item := range v.Items() {
			items = append(items, ast.NewTerm(valueOf(item)))
		}
		return ast.NewArray(items...)
	case object.Map:
		fields := make([][2]*ast.Term, 0, v.Len())
		for k, f := range v.Fields() {
			fields = append(fields, [2]*ast.Term{ast.StringTerm(k), ast.NewTerm(valueOf(f))})
		}
		return ast.NewObject(fields...)
	}
	return ast.Null{}
}

// valueFrom builds a Rego value of what built-ins return. OPA's own conversion takes any Go value, by way of JSON where it has to.
func valueFrom(v any) (ast.Value, error) {
	switch v := v.(type) {
	case string:
		return ast.String(v), nil
	case bool:
		return ast.Boolean(v), nil
	case int:
		return ast.Number(strconv.Itoa(v)), nil
	case uint32:
		return ast.Number(strconv.FormatUint(uint64(v), 10)), nil
	case object.Value:
		return valueOf(v), nil
	case record:
		fields := make([][2]*ast.Term, 0, len(v))
		for k, f := range v {
			value, err := valueFrom(f)
			if err != nil {
				return nil, err
			}
			fields = append(fields, [2]*ast.Term{ast.StringTerm(k), ast.NewTerm(value)})
		}
		return ast.NewObject(fields...), nil
	case []any:
		return arrayFrom(v)
	case []string:
		return arrayFrom(v)
	case []uint32:
		return arrayFrom(v)
	}
	value, err := ast.InterfaceToValue(v)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", v, err)
	}
	return value, nil
}

func arrayFrom[T any](list []T) (ast.Value, error) {
	items := make([]*ast.Term, 0, len(list))
	for _, item := range list {
		value, err := valueFrom(item)
		if err != nil {
			return nil, err
		}
		items = append(items, ast.NewTerm(value))
	}
	return ast.NewArray(items...), nil
}
