package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// passKey carries the pass through an evaluation to the built-ins.
type passKey struct{}

// outcome is what evaluating the policies on one object gave.
type outcome struct {
	found map[string][]result // by rule name
	errs  map[string]error    // rules that broke
}

// result is a finding as a policy gives it; see policies/lib/result.rego.
type result struct {
	Path     []any       `json:"path"`
	Message  string      `json:"message"`
	Effect   string      `json:"effect"`
	Severity string      `json:"severity"`
	Key      bool        `json:"key"`
	Skip     string      `json:"skip"`
	Related  []relation  `json:"related"`
	Fixes    []fix       `json:"fixes"`
	Subject  subjectJSON `json:"subject"`
}

type relation struct {
	Kind      object.Kind `json:"kind"`
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	Path      []any       `json:"path"`
	Message   string      `json:"message"`
}

type fix struct {
	Title  string      `json:"title"`
	Safety lint.Safety `json:"safety"`
	Ops    []opJSON    `json:"ops"`
	Set    []setJSON   `json:"set"`
	Create *createJSON `json:"create"`
}

type opJSON struct {
	Op    lint.OpKind `json:"op"`
	Path  []any       `json:"path"`
	Value any         `json:"value"`
}

type setJSON struct {
	Path  []any `json:"path"`
	Value any   `json:"value"`
}

type createJSON struct {
	Object map[string]any `json:"object"`
}

type subjectJSON struct {
	Hosts []string `json:"hosts"`
	Ports []uint32 `json:"ports"`
}

// check reports what one policy found on the pass's object. The first policy of the set to be asked evaluates all of them.
func (s *set) check(p *lint.Pass, name string) error {
	out := p.Memo(s, func() any { return s.evaluate(p) }).(*outcome)
	if err := out.errs[name]; err != nil {
		return err
	}
	for _, r := range out.found[name] {
		if r.Skip != "" {
			p.Skip(r.Skip)
			continue
		}
		if err := s.report(p, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *set) report(p *lint.Pass, r result) error {
	at, err := pathOf(r.Path)
	if err != nil {
		return err
	}
	extras := []lint.Extra{lint.Effect(r.Effect), lint.About(lint.Subject{Hosts: r.Subject.Hosts, Ports: r.Subject.Ports})}
	if r.Severity != "" {
		severity, err := lint.ParseSeverity(r.Severity)
		if err != nil {
			return err
		}
		extras = append(extras, lint.As(severity))
	}
	if r.Key {
		extras = append(extras, lint.OnKey(p.Object))
	}
	for _, rel := range r.Related {
		relPath, err := pathOf(rel.Path)
		if err != nil {
			return err
		}
		o := p.Object
		if rel.Kind != "" {
			if o = p.Mesh.Get(object.Key{Kind: rel.Kind, Namespace: rel.Namespace, Name: rel.Name}); o == nil {
				return fmt.Errorf("related object %s %s/%s is not in the mesh", rel.Kind, rel.Namespace, rel.Name)
			}
		}
		extras = append(extras, lint.Also(o, relPath, rel.Message))
	}
	for _, f := range r.Fixes {
		suggested, err := fixOf(p.Object, f)
		if err != nil {
			return err
		}
		extras = append(extras, lint.Suggest(suggested))
	}
	p.Report(at, r.Message, extras...)
	return nil
}

func fixOf(o *object.Object, f fix) (lint.Fix, error) {
	out := lint.Fix{Title: f.Title, Safety: f.Safety}
	if !slices.Contains([]lint.Safety{lint.Safe, lint.Unsafe, lint.Show}, f.Safety) {
		return out, fmt.Errorf("fix %q has safety %q", f.Title, f.Safety)
	}
	for _, op := range f.Ops {
		at, err := pathOf(op.Path)
		if err != nil {
			return out, err
		}
		out.Ops = append(out.Ops, lint.Op{Kind: op.Op, Path: at, Value: integers(op.Value)})
	}
	var settings []lint.Setting
	for _, s := range f.Set {
		at, err := pathOf(s.Path)
		if err != nil {
			return out, err
		}
		settings = append(settings, lint.Setting{Path: at, Value: integers(s.Value)})
	}
	out.Ops = append(out.Ops, lint.SetOps(o, settings)...)
	if f.Create != nil {
		created, _ := integers(f.Create.Object).(map[string]any)
		out.Create = &lint.Create{Object: created, AfterFile: o.FileName()}
	}
	return out, nil
}

// pathOf turns a path of a policy, whose numbers are json.Number, into a field path.
func pathOf(elems []any) (object.Path, error) {
	p := make(object.Path, 0, len(elems))
	for _, e := range elems {
		switch e := integers(e).(type) {
		case string:
			p = append(p, e)
		case int64:
			p = append(p, int(e))
		default:
			return nil, fmt.Errorf("path element %v is neither a key nor an index", e)
		}
	}
	return p, nil
}

// integers turns the numbers of a decoded JSON value into int64 where they are whole, as Kubernetes has them.
func integers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = integers(v[k])
		}
	}
	return v
}

// evaluate runs the policies of the set that are active on the object. If the query fails, each is run alone, so that one
// broken or slow policy does not silence the others.
func (s *set) evaluate(p *lint.Pass) *outcome {
	var names []string
	for _, m := range p.Active() {
		if s.rules[m.Name] != nil {
			names = append(names, m.Name)
		}
	}
	found, err := s.query(p, names)
	out := &outcome{found: found, errs: map[string]error{}}
	if err == nil || p.Context.Err() != nil {
		return out
	}
	out.found = map[string][]result{}
	for _, name := range names {
		found, err := s.query(p, []string{name})
		if err != nil {
			out.errs[name] = err
			continue
		}
		out.found[name] = found[name]
	}
	return out
}

func (s *set) query(p *lint.Pass, names []string) (map[string][]result, error) {
	q, err := s.compile()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithValue(p.Context, passKey{}, p), Deadline)
	defer cancel()
	rs, err := q.Eval(ctx, rego.EvalParsedInput(s.input(p, names)))
	if err != nil {
		if ctx.Err() != nil && p.Context.Err() == nil {
			return nil, fmt.Errorf("took longer than %s", Deadline)
		}
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	out := map[string][]result{}
	if len(rs) == 0 {
		return out, nil
	}
	byPackage, _ := rs[0].Bindings["found"].(map[string]any)
	for pkg, found := range byPackage {
		if list, ok := found.([]any); !ok || len(list) == 0 {
			continue
		}
		js, err := json.Marshal(found)
		if err != nil {
			return nil, fmt.Errorf("encode the findings of %s: %w", pkg, err)
		}
		var results []result
		dec := json.NewDecoder(strings.NewReader(string(js)))
		dec.UseNumber()
		dec.DisallowUnknownFields()
		if err := dec.Decode(&results); err != nil {
			return nil, fmt.Errorf("the findings of %s are not what data.meshvet.lib.result makes: %w", pkg, err)
		}
		out[strings.ReplaceAll(pkg, "_", "-")] = results
	}
	return out, nil
}

func (s *set) input(p *lint.Pass, names []string) ast.Value {
	rules := make([]*ast.Term, 0, len(names))
	options := ast.NewObject()
	for _, name := range names {
		pkg := ast.StringTerm(strings.ReplaceAll(name, "-", "_"))
		rules = append(rules, pkg)
		if m := s.rules[name]; len(m.Options) > 0 {
			values := ast.NewObject()
			for _, o := range m.Options {
				v, err := ast.InterfaceToValue(p.OptionOf(m.ID, o.Name))
				if err == nil {
					values.Insert(ast.StringTerm(o.Name), ast.NewTerm(v))
				}
			}
			options.Insert(pkg, ast.NewTerm(values))
		}
	}
	in := ast.NewObject(
		ast.Item(ast.StringTerm("object"), ast.NewTerm(valueOf(p.Object.Root()))),
		ast.Item(ast.StringTerm("operation"), ast.StringTerm(p.Operation)),
		ast.Item(ast.StringTerm("options"), ast.NewTerm(ast.NewObject())),
		ast.Item(ast.StringTerm("rules"), ast.ArrayTerm(rules...)),
		ast.Item(ast.StringTerm("options_of"), ast.NewTerm(options)),
	)
	if p.Old != nil {
		in.Insert(ast.StringTerm("old"), ast.NewTerm(valueOf(p.Old.Root())))
	}
	return in
}

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
