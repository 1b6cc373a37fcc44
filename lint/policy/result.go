package policy

import (
	"fmt"
	"maps"
	"slices"

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
func (r *reading) fields(what string, v any, readers map[string]func(any)) {
	m, ok := v.(map[string]any)
	if !ok {
		r.fail("%s is %T, not an object", what, v)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if read, known := readers[key]; known {
			read(m[key])
		} else {
			r.fail("%s has an unknown key %q", what, key)
		}
	}
}

func (r *reading) text(into *string) func(any) {
	return func(v any) {
		s, ok := v.(string)
		if !ok {
			r.fail("%v is no string", v)
		}
		*into = s
	}
}

func (r *reading) path(into *object.Path) func(any) {
	return func(v any) {
		elems, ok := v.([]any)
		if !ok {
			r.fail("path %v is no array", v)
			return
		}
		p, err := pathOf(elems)
		if err != nil {
			r.fail("%s", err)
		}
		*into = p
	}
}

func (r *reading) items(read func(any)) func(any) {
	return func(v any) {
		list, ok := v.([]any)
		if !ok {
			r.fail("%v is no array", v)
		}
		for _, item := range list {
			read(item)
		}
	}
}

func resultOf(v any) (result, error) {
	var r reading
	var out result
	r.fields("a finding", v, map[string]func(any){
		"path":     r.path(&out.path),
		"message":  r.text(&out.message),
		"effect":   r.text(&out.effect),
		"severity": r.text(&out.severity),
		"skip":     r.text(&out.skip),
		"key":      func(v any) { out.key = v == true },
		"related":  r.items(func(v any) { out.related = append(out.related, r.relation(v)) }),
		"fixes":    r.items(func(v any) { out.fixes = append(out.fixes, r.fix(v)) }),
		"subject": func(v any) {
			r.fields("subject", v, map[string]func(any){
				"hosts": r.items(func(v any) {
					var host string
					r.text(&host)(v)
					out.subject.Hosts = append(out.subject.Hosts, host)
				}),
				"ports": r.items(func(v any) {
					n, ok := integers(v).(int64)
					if !ok {
						r.fail("port %v is no number", v)
					}
					out.subject.Ports = append(out.subject.Ports, uint32(n))
				}),
			})
		},
	})
	return out, r.err
}

func (r *reading) relation(v any) relation {
	var out relation
	var kind string
	r.fields("a related place", v, map[string]func(any){
		"kind": r.text(&kind), "namespace": r.text(&out.key.Namespace), "name": r.text(&out.key.Name), "path": r.path(&out.path), "message": r.text(&out.message),
	})
	out.key.Kind = object.Kind(kind)
	return out
}

func (r *reading) fix(v any) fix {
	var out fix
	var safety string
	r.fields("a fix", v, map[string]func(any){
		"title":  r.text(&out.title),
		"safety": r.text(&safety),
		"ops": r.items(func(v any) {
			var op lint.Op
			var kind string
			r.fields("an operation", v, map[string]func(any){"op": r.text(&kind), "path": r.path(&op.Path), "value": func(v any) { op.Value = integers(v) }})
			op.Kind = lint.OpKind(kind)
			out.ops = append(out.ops, op)
		}),
		"set": r.items(func(v any) {
			var s lint.Setting
			r.fields("a setting", v, map[string]func(any){"path": r.path(&s.Path), "value": func(v any) { s.Value = integers(v) }})
			out.set = append(out.set, s)
		}),
		"create": func(v any) {
			r.fields("create", v, map[string]func(any){"object": func(v any) { out.create, _ = integers(v).(map[string]any) }})
		},
	})
	out.safety = lint.Safety(safety)
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
