package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/meshvet/meshvet/lint"
)

// passKey carries the pass through an evaluation to the built-ins.
type passKey struct{}

// outcome is what evaluating the policies on one object gave.
type outcome struct {
	found map[string][]result // by rule name
	errs  map[string]error    // rules that broke
}

// check reports what one policy found on the pass's object. The first policy of the set to be asked evaluates all of them.
func (s *set) check(p *lint.Pass, name string) error {
	var out *outcome
	if p.Profiled() {
		out = s.evaluate(p, []string{name})
	} else {
		out = lint.Memo(p, s, func() *outcome { return s.evaluate(p, s.activeOn(p)) })
	}
	if err := out.errs[name]; err != nil {
		return err
	}
	for _, r := range out.found[name] {
		if r.skip != "" {
			p.Skip(r.skip)
			continue
		}
		if err := s.report(p, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *set) report(p *lint.Pass, r result) error {
	extras := []lint.Extra{lint.Effect(r.effect), lint.About(r.subject)}
	if r.severity != "" {
		severity, err := lint.ParseSeverity(r.severity)
		if err != nil {
			return err
		}
		extras = append(extras, lint.As(severity))
	}
	if r.key {
		extras = append(extras, lint.OnKey(p.Object))
	}
	for _, rel := range r.related {
		o := p.Object
		if rel.key.Kind != "" {
			if o = p.Mesh.Get(rel.key); o == nil {
				return fmt.Errorf("related object %s is not in the mesh", rel.key)
			}
		}
		extras = append(extras, lint.Also(o, rel.path, rel.message))
	}
	for _, f := range r.fixes {
		suggested, err := fixOf(p.Object, f)
		if err != nil {
			return err
		}
		extras = append(extras, lint.Suggest(suggested))
	}
	p.Report(r.path, r.message, extras...)
	return nil
}

// activeOn names the policies of the set that are active on the pass's object.
func (s *set) activeOn(p *lint.Pass) []string {
	var names []string
	for _, m := range p.Active() {
		if s.rules[m.Name] != nil {
			names = append(names, m.Name)
		}
	}
	return names
}

// evaluate runs policies on the pass's object. If the query fails, each is run alone, so that one broken or slow policy does not
// silence the others.
func (s *set) evaluate(p *lint.Pass, names []string) *outcome {
	found, err := s.query(p, names)
	out := &outcome{found: found, errs: map[string]error{}}
	if err == nil || p.Context.Err() != nil {
		return out
	}
	out.found = map[string][]result{}
	end := time.Now().Add(2 * s.deadline)
	for _, name := range names {
		if time.Now().After(end) {
			out.errs[name] = fmt.Errorf("%w: other policies have used up the time for this object", lint.ErrTooLong)
			continue
		}
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
	start := time.Now()
	q, err := s.queryFor(names)
	p.Prepared(start)
	if err != nil {
		return nil, err
	}
	// OPA would watch the context from a goroutine of each evaluation; these two cost next to nothing.
	ctx := context.WithValue(p.Context, passKey{}, p)
	stop := topdown.NewCancel()
	deadline := time.AfterFunc(s.deadline, stop.Cancel)
	defer deadline.Stop()
	defer context.AfterFunc(p.Context, stop.Cancel)()
	rs, err := q.Eval(ctx, rego.EvalParsedInput(s.input(p, names)), rego.EvalExternalCancel(stop), rego.EvalMetrics(metrics.NoOp()))
	if err != nil {
		if stop.Cancelled() && p.Context.Err() == nil {
			return nil, fmt.Errorf("%w: more than %s", lint.ErrTooLong, s.deadline)
		}
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	out := map[string][]result{}
	if len(rs) == 0 {
		return out, nil
	}
	byPackage, _ := rs[0].Bindings["found"].(ast.Object)
	if byPackage == nil {
		return out, nil
	}
	return out, byPackage.Iter(func(key, found *ast.Term) error {
		pkg, _ := key.Value.(ast.String)
		var results []result
		set, ok := found.Value.(ast.Set)
		if !ok {
			return fmt.Errorf("findings of %s is no set", pkg)
		}
		sorted := set.Sorted()
		for i := range set.Len() {
			item := sorted.Elem(i)
			r, err := resultOf(item.Value)
			if err != nil {
				return fmt.Errorf("the findings of %s are not what data.meshvet.lib.result makes: %w", pkg, err)
			}
			results = append(results, r)
		}
		out[strings.ReplaceAll(string(pkg), "_", "-")] = results
		return nil
	})
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
				if v, err := valueFrom(p.OptionOf(m.ID, o.Name)); err == nil {
					values.Insert(ast.StringTerm(o.Name), ast.NewTerm(v))
				}
			}
			options.Insert(pkg, ast.NewTerm(values))
		}
	}
	in := ast.NewObject(
		ast.Item(ast.StringTerm("operation"), ast.StringTerm(p.Operation)),
		ast.Item(ast.StringTerm("options"), ast.NewTerm(ast.NewObject())),
		ast.Item(ast.StringTerm("rules"), ast.ArrayTerm(rules...)),
		ast.Item(ast.StringTerm("options_of"), ast.NewTerm(options)),
	)
	if !s.libReads && !slices.ContainsFunc(names, func(name string) bool { return s.reads[name] }) {
		return in
	}
	in.Insert(ast.StringTerm("object"), ast.NewTerm(valueOf(p.Object.Root())))
	if p.Old != nil {
		in.Insert(ast.StringTerm("old"), ast.NewTerm(valueOf(p.Old.Root())))
	}
	return in
}
