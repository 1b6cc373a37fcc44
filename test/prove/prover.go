package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/proof"
	"github.com/meshvet/meshvet/test/prove/agree"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// compiler is what a prover asks of the oracle.
type compiler interface {
	Compile(ctx context.Context, job *oracle.Job) (*oracle.Result, error)
	Version() string
}

type prover struct {
	oracle compiler
	rules  []lint.Rule
	root   string
	plain  *lint.Engine // for meshes without a configuration of their own

	// of is the mesh whose claims are being held, and compiled what the proxies get of it as it is, by type and namespace.
	of       *agree.Mesh
	compiled map[string]resources

	// beside are provers with oracles of their own, among which work is shared.
	beside []*prover
}

// share has the pieces of some work done, by the prover and those beside it, each piece by one of them. The error is that of the first
// piece that fails; those after it may be left undone.
func (p *prover) share(ctx context.Context, pieces int, do func(ctx context.Context, by *prover, piece int) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, pieces)
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, by := range append([]*prover{p}, p.beside...) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= pieces || ctx.Err() != nil {
					return
				}
				if errs[i] = do(ctx, by, i); errs[i] != nil {
					stop()
				}
			}
		})
	}
	wg.Wait()
	at := slices.IndexFunc(errs, func(err error) bool { return err != nil && !errors.Is(err, context.Canceled) })
	if at >= 0 {
		return errs[at]
	}
	return errors.Join(errs...)
}

// prove checks the claims of one rule. faults are claims that do not hold; an error is anything that keeps them from being checked.
func (p *prover) prove(ctx context.Context, r *lint.Rule) (g *proof.Golden, faults []string, err error) {
	folder := p.folder(r)
	spec, err := readClaims(folder)
	if err != nil {
		return nil, nil, err
	}
	cases, err := linttest.Cases(p.fixtures(r), r.Name)
	if err != nil {
		return nil, nil, err
	}
	cases = slices.DeleteFunc(cases, func(c linttest.Case) bool { return !c.Bad })
	var names []string
	for i := range cases {
		names = append(names, cases[i].Name())
	}
	if err := spec.check(r.Proof.Kind, names); err != nil {
		return nil, nil, err
	}
	g = &proof.Golden{Rule: r.ID + " " + r.Name, Kind: spec.Kind}
	if g.Inputs, err = proof.Inputs(folder); err != nil {
		return nil, nil, err
	}
	if spec.Says != "" {
		note := oneLine(spec.Says)
		if spec.Source != "" {
			note += " (" + oneLine(spec.Source) + ")"
		}
		g.Notes = append(g.Notes, note)
	}
	if len(spec.Cases) > 0 {
		g.Istio = p.oracle.Version()
	}
	for i := range spec.Cases {
		one := &spec.Cases[i]
		one.complete(spec.Kind)
		c := &cases[slices.Index(names, one.Case)]
		proven, said, err := p.proveCase(ctx, r, c, one)
		if err != nil {
			return nil, nil, fmt.Errorf("%s.yaml: %w", one.Case, err)
		}
		for _, fault := range said {
			faults = append(faults, one.Case+".yaml: "+fault)
		}
		g.Cases = append(g.Cases, proven...)
	}
	return g, faults, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// side is one of two things that are compared.
type side struct {
	result *oracle.Result
	resources
}

func (p *prover) compile(ctx context.Context, c *linttest.Case, one *claim, own, around manifests) (*side, error) {
	job, err := jobOf(c, one, own, around)
	if err != nil {
		return nil, err
	}
	res, err := p.oracle.Compile(ctx, job)
	if err != nil {
		return nil, err
	}
	all, err := resourcesOf(res)
	return &side{res, all}, err
}

// inputs are the objects of a case: the bad fixture, the fixed one, and what is around both.
func inputs(c *linttest.Case) (bad, fixed, around manifests, file *object.File, err error) {
	if file, err = linttest.Load(c.Path); err != nil {
		return
	}
	if bad, err = manifestsOf(file); err != nil {
		return
	}
	fixedFile, err := linttest.Load(c.FixedPath())
	if err != nil {
		return
	}
	if fixed, err = manifestsOf(fixedFile); err != nil {
		return
	}
	around, err = manifestsOf(c.Context...)
	return
}

// comparison is a pair of sides and how they are called.
type comparison struct {
	title         string
	before, after *side
}

// comparisons compiles what a claim compares: one pair, but for ignored and inert fields one for each field.
func (p *prover) comparisons(ctx context.Context, r *lint.Rule, c *linttest.Case, one *claim) ([]comparison, error) {
	bad, fixed, around, file, err := inputs(c)
	if err != nil {
		return nil, err
	}
	title := one.Case + ".yaml%s, " + proxyTitle(one)
	if one.Beside != "" {
		beside, err := object.Load(ctx, "beside", strings.NewReader(one.Beside), object.Limits{})
		if err != nil {
			return nil, err
		}
		more, err := manifestsOf(beside)
		if err != nil {
			return nil, err
		}
		around = append(around, more...)
	}
	how := ""
	if one.Against == againstSwapped {
		how = " with creation times swapped"
		if fixed, err = bad.created(true); err != nil {
			return nil, err
		}
	} else if fixed, err = fixed.created(false); err != nil {
		return nil, err
	}
	if bad, err = bad.created(false); err != nil {
		return nil, err
	}
	before, err := p.compile(ctx, c, one, bad, around)
	if err != nil {
		return nil, err
	}
	if one.Against != againstWithout {
		after, err := p.compile(ctx, c, one, fixed, around)
		if err != nil {
			return nil, err
		}
		return []comparison{{fmt.Sprintf(title, how), before, after}}, nil
	}
	fields, err := p.fields(r, c, one, file)
	if err != nil {
		return nil, err
	}
	var out []comparison
	for _, f := range fields {
		rest, err := bad.without(f.key, f.path)
		if err != nil {
			return nil, err
		}
		after, err := p.compile(ctx, c, one, rest, around)
		if err != nil {
			return nil, err
		}
		what := f.key.String()
		if len(f.path) > 0 {
			what = f.path.String() + " of " + what
		}
		out = append(out, comparison{fmt.Sprintf(title, " without "+what), before, after})
	}
	return out, nil
}

// field is a field of an object, or with an empty path the object.
type field struct {
	key  object.Key
	path object.Path
}

// fields are what is to be removed: what the claim says, or what the rule's findings point at.
func (p *prover) fields(r *lint.Rule, c *linttest.Case, one *claim, file *object.File) ([]field, error) {
	if one.Without != "" {
		name, path, _ := strings.Cut(one.Without, " ")
		for _, o := range file.Objects {
			if string(o.Kind)+"/"+o.Name == name {
				return []field{{o.Key, object.ParsePath(path)}}, nil
			}
		}
		return nil, fmt.Errorf("without: there is no %s", name)
	}
	report, err := c.Lint(p.rules, file)
	if err != nil {
		return nil, err
	}
	var out []field
	for _, f := range report.Findings {
		same := func(x field) bool { return x.key == f.Object && x.path.Equal(f.Path) }
		if f.Rule.ID == r.ID && !slices.ContainsFunc(out, same) {
			out = append(out, field{f.Object, f.Path})
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the rule finds nothing in it")
	}
	return out, nil
}

func proxyTitle(one *claim) string {
	p := &one.Proxy
	kind, namespace := oracle.Sidecar, "default"
	if p.Type != "" {
		kind = p.Type
	}
	if p.Namespace != "" {
		namespace = p.Namespace
	}
	title := kind + " in namespace " + namespace
	if len(p.Labels) > 0 {
		var labels []string
		for k, v := range p.Labels {
			labels = append(labels, k+"="+v)
		}
		slices.Sort(labels)
		title += " labelled " + strings.Join(labels, ", ")
	}
	if p.Locality != "" {
		title += " at " + p.Locality
	}
	if p.DNSCapture != nil && *p.DNSCapture {
		title += " with DNS capture"
	}
	return title
}

// proveCase holds a claim against what is compiled.
func (p *prover) proveCase(ctx context.Context, r *lint.Rule, c *linttest.Case, one *claim) (proven []proof.Case, faults []string, err error) {
	shows, err := expectations(one.Shows, false)
	if err != nil {
		return nil, nil, fmt.Errorf("shows: %w", err)
	}
	changes, err := expectations(one.Changes, true)
	if err != nil {
		return nil, nil, fmt.Errorf("changes: %w", err)
	}
	if err := one.check(shows, changes); err != nil {
		return nil, nil, err
	}
	pairs, err := p.comparisons(ctx, r, c, one)
	if err != nil {
		return nil, nil, err
	}
	for _, pair := range pairs {
		v := &verdict{claim: one, comparison: pair}
		v.judge(shows, changes)
		proven = append(proven, proof.Case{Title: pair.title, Lines: v.lines})
		for _, fault := range v.faults {
			if len(pairs) > 1 {
				fault = pair.title + ": " + fault
			}
			faults = append(faults, fault)
		}
	}
	return proven, faults, nil
}

// check says what a claim of its kind lacks.
func (one *claim) check(shows, changes []expectation) error {
	need := map[string]bool{
		"changes": len(changes) > 0,
		"ignored": len(shows) > 0,
		"inert":   len(shows) > 0,
		"rejects": one.Rejects != "" || one.NACK != "",
		"panics":  one.Panics != "",
		"envoy":   len(shows) > 0 || len(changes) > 0,
	}
	enough, known := need[one.Kind]
	switch {
	case !known:
		return fmt.Errorf("kind %q is not one of changes, ignored, inert, rejects, panics, envoy", one.Kind)
	case !enough:
		return fmt.Errorf("a claim of kind %s says too little: see the fields of a claim", one.Kind)
	case one.Against != againstFixed && one.Against != againstWithout && one.Against != againstSwapped:
		return fmt.Errorf("against %q is not one of fixed, without, swapped", one.Against)
	case one.Without != "" && one.Against != againstWithout:
		return errors.New("without names something, but is not what is compared")
	}
	return nil
}

// What a claim compares with.
const (
	againstFixed   = "fixed"
	againstWithout = "without"
	againstSwapped = "swapped"
)

// complete fills in what a claim leaves to its rule's kind and its own.
func (one *claim) complete(kind string) {
	one.Kind = cmp.Or(one.Kind, kind)
	if one.Against == "" {
		one.Against = againstFixed
		if one.Kind == "ignored" || one.Kind == "inert" {
			one.Against = againstWithout
		}
	}
}
