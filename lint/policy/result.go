package policy

import (
	"fmt"
	"math"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// result is a finding as a policy gives it; policies/lib/result.rego makes them.
type result struct {
	path     object.Path
	message  string
	effect   string
	severity string
	key      bool   // point at the field's name
	skip     string // not a finding but a reason
	related  []relation
	fixes    []fix
	subject  lint.Subject
}

type relation struct {
	key     object.Key // the zero Key is the object that is judged
	path    object.Path
	message string
}

type fix struct {
	title  string
	safety lint.Safety
	ops    []lint.Op
	set    []lint.Setting
	create map[string]any
}

// reading walks a value that a policy made and remembers the first thing that is wrong with it.
type reading struct{ err error }

func (r *reading) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// fields hands each field of a mapping to its reader; a field without one is a mistake.
func (r *reading) fields(what string, v ast.Value, read func(key string, v ast.Value) (known bool)) {
	m, ok := v.(ast.Object)
	if !ok {
		r.fail("%s is %s, not an object", what, ast.ValueName(v))
		return
	}
	m.Foreach(func(k, f *ast.Term) {
		key, _ := k.Value.(ast.String)
		if !read(string(key), f.Value) {
			r.fail("%s has an unknown key %s", what, k)
		}
	})
}

func (r *reading) text(v ast.Value) string {
	s, ok := v.(ast.String)
	if !ok {
		r.fail("%s is no string", v)
	}
	return string(s)
}

func (r *reading) flag(v ast.Value) bool {
	b, ok := v.(ast.Boolean)
	if !ok {
		r.fail("%s is neither true nor false", v)
	}
	return bool(b)
}

func (r *reading) port(v ast.Value) uint32 {
	number, _ := v.(ast.Number)
	n, ok := number.Int64()
	if !ok || n < 0 || n > math.MaxUint32 {
		r.fail("%s is no port", v)
		return 0
	}
	return uint32(n)
}

// path reads a field path: strings and whole numbers.
func (r *reading) path(v ast.Value) object.Path {
	p := object.Path{}
	r.items(v, func(e ast.Value) {
		switch e := e.(type) {
		case ast.String:
			p = append(p, string(e))
		case ast.Number:
			n, ok := e.Int()
			if !ok || n < 0 {
				r.fail("path element %s is no index", e)
			}
			p = append(p, n)
		default:
			r.fail("path element %s is neither a key nor an index", e)
		}
	})
	return p
}

func (r *reading) items(v ast.Value, read func(ast.Value)) {
	list, ok := v.(*ast.Array)
	if !ok {
		r.fail("%s is no array", v)
		return
	}
	list.Foreach(func(item *ast.Term) { read(item.Value) })
}

func (r *reading) texts(v ast.Value) []string {
	var out []string
	r.items(v, func(v ast.Value) { out = append(out, r.text(v)) })
	return out
}

// plain reads a value of a manifest, with whole numbers as int64, as Kubernetes has them.
func (r *reading) plain(v ast.Value) any {
	switch v := v.(type) {
	case ast.Null:
		return nil
	case ast.Boolean:
		return bool(v)
	case ast.String:
		return string(v)
	case ast.Number:
		if n, ok := v.Int64(); ok {
			return n
		}
		f, ok := v.Float64()
		if !ok {
			r.fail("%s is no number that a manifest can hold", v)
		}
		return f
	case *ast.Array:
		out := []any{}
		r.items(v, func(v ast.Value) { out = append(out, r.plain(v)) })
		return out
	case ast.Object:
		out := map[string]any{}
		r.fields("a value", v, func(key string, v ast.Value) bool {
			out[key] = r.plain(v)
			return true
		})
		return out
	}
	r.fail("%s cannot stand in a manifest", v)
	return nil
}

func resultOf(v ast.Value) (result, error) {
	var r reading
	var out result
	r.fields("a finding", v, func(key string, v ast.Value) bool {
		switch key {
		case "path":
			out.path = r.path(v)
		case "message":
			out.message = r.text(v)
		case "effect":
			out.effect = r.text(v)
		case "severity":
			out.severity = r.text(v)
		case "skip":
			out.skip = r.text(v)
		case "key":
			out.key = r.flag(v)
		case "related":
			r.items(v, func(v ast.Value) { out.related = append(out.related, r.relation(v)) })
		case "fixes":
			r.items(v, func(v ast.Value) { out.fixes = append(out.fixes, r.fix(v)) })
		case "subject":
			out.subject = r.subject(v)
		default:
			return false
		}
		return true
	})
	if out.message == "" && out.skip == "" {
		r.fail("a finding has no message")
	}
	return out, r.err
}

func (r *reading) subject(v ast.Value) lint.Subject {
	var out lint.Subject
	r.fields("subject", v, func(key string, v ast.Value) bool {
		switch key {
		case "hosts":
			out.Hosts = r.texts(v)
		case "blocks":
			out.Blocks = r.texts(v)
		case "fields":
			r.items(v, func(v ast.Value) { out.Fields = append(out.Fields, r.path(v)) })
		case "ports":
			r.items(v, func(v ast.Value) { out.Ports = append(out.Ports, r.port(v)) })
		case "objects":
			r.items(v, func(v ast.Value) { out.Objects = append(out.Objects, r.target(v)) })
		default:
			return false
		}
		return true
	})
	return out
}

// target reads an object's key, as the mesh built-ins give it.
func (r *reading) target(v ast.Value) object.Key {
	var out object.Key
	r.fields("an object", v, func(key string, v ast.Value) bool {
		switch key {
		case "kind":
			out.Kind = object.Kind(r.text(v))
		case "namespace":
			out.Namespace = r.text(v)
		case "name":
			out.Name = r.text(v)
		default:
			return false
		}
		return true
	})
	return out
}

func (r *reading) relation(v ast.Value) relation {
	var out relation
	r.fields("a related place", v, func(key string, v ast.Value) bool {
		switch key {
		case "kind":
			out.key.Kind = object.Kind(r.text(v))
		case "namespace":
			out.key.Namespace = r.text(v)
		case "name":
			out.key.Name = r.text(v)
		case "path":
			out.path = r.path(v)
		case "message":
			out.message = r.text(v)
		default:
			return false
		}
		return true
	})
	return out
}

func (r *reading) fix(v ast.Value) fix {
	var out fix
	r.fields("a fix", v, func(key string, v ast.Value) bool {
		switch key {
		case "title":
			out.title = r.text(v)
		case "safety":
			out.safety = lint.Safety(r.text(v))
		case "ops":
			r.items(v, func(v ast.Value) { out.ops = append(out.ops, r.op(v, lint.Add, lint.Replace, lint.Remove)) })
		case "set":
			r.items(v, func(v ast.Value) {
				op := r.op(v, "") // which operations it takes depends on what is there
				out.set = append(out.set, lint.Setting{Path: op.Path, Value: op.Value})
			})
		case "create":
			r.fields("create", v, func(key string, v ast.Value) bool {
				out.create, _ = r.plain(v).(map[string]any)
				return key == "object"
			})
		default:
			return false
		}
		return true
	})
	return out
}

// op reads an operation of one of some kinds. All but a removal have a value.
func (r *reading) op(v ast.Value, kinds ...lint.OpKind) lint.Op {
	var out lint.Op
	valued := false
	r.fields("an operation", v, func(key string, v ast.Value) bool {
		switch key {
		case "op":
			out.Kind = lint.OpKind(r.text(v))
		case "path":
			out.Path = r.path(v)
		case "value":
			out.Value, valued = r.plain(v), true
		default:
			return false
		}
		return true
	})
	switch {
	case out.Kind != "" && kinds[0] == "":
		r.fail("a setting says path and value only, not which operation: %q", out.Kind)
	case !slices.Contains(kinds, out.Kind):
		r.fail("the operation of a fix is %q; it can be %q", out.Kind, kinds)
	case len(out.Path) == 0:
		r.fail("an operation of a fix has no path")
	case valued == (out.Kind == lint.Remove):
		r.fail("an operation that sets a field has a value, and one that removes it has none: %s", out.Path)
	}
	return out
}

// fixOf makes the fix that reports carry.
func fixOf(o *object.Object, f fix) (lint.Fix, error) {
	out := lint.Fix{Title: f.title, Safety: f.safety, Ops: append(f.ops, lint.SetOps(o, f.set)...)}
	if !slices.Contains([]lint.Safety{lint.Safe, lint.Unsafe, lint.Show}, f.safety) {
		return out, fmt.Errorf("fix %q has safety %q", f.title, f.safety)
	}
	if f.create != nil {
		out.Create = &lint.Create{Object: f.create, AfterFile: o.FileName()}
	}
	return out, nil
}
