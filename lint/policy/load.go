package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/meshvet/meshvet/lint"
)

// Deadline bounds the evaluation of all policies on one object. It is there to end what would not end by itself: it is far above
// what any object takes, so that a busy machine does not change what is found.
const Deadline = 10 * time.Second

// maxPolicyBytes bounds one Rego file.
const maxPolicyBytes = 1 << 20

// set is a group of policies that are evaluated in one query. Policies are compiled when the first object passes a gate of theirs:
// most runs of a pre-commit hook need none or few of them.
type set struct {
	modules map[string]*ast.Module // by file name
	files   map[string]string      // the file of each rule
	rules   map[string]*lint.Meta
	// reads holds the rules that refer to the input, and do not live on what built-ins say of it; libReads says that what is shared
	// does. The manifest is made a Rego value only for these.
	reads    map[string]bool
	libReads bool
	deadline time.Duration

	ready    atomic.Pointer[prepared]
	mu       sync.Mutex // held while preparing
	attempts int
}

// prepared is a query with the policies that are compiled into it.
type prepared struct {
	names map[string]bool
	query rego.PreparedEvalQuery
}

func (p *prepared) covers(names []string) bool {
	return p != nil && !slices.ContainsFunc(names, func(name string) bool { return !p.names[name] })
}

// maxAttempts is how often the set of compiled policies grows by what an object needs; then all are compiled.
const maxAttempts = 6

// Load reads the policies of a file system: each *.rego file at the top is a rule, those below lib/ are shared by them, and
// *_test.rego are left out. All that is wrong with the files is reported at once.
func Load(ctx context.Context, fsys fs.FS) ([]lint.Rule, error) {
	return LoadWithin(ctx, fsys, Deadline)
}

// LoadWithin is Load with another deadline for the evaluation of all policies on one object.
func LoadWithin(ctx context.Context, fsys fs.FS, deadline time.Duration) ([]lint.Rule, error) {
	s, err := load(fsys, false)
	if err != nil {
		return nil, err
	}
	s.deadline = deadline
	var rules []lint.Rule
	for _, name := range sortedNames(s.rules) {
		meta := s.rules[name]
		rules = append(rules, lint.Rule{Meta: *meta, Check: func(p *lint.Pass) error { return s.check(p, name) }})
	}
	return rules, ctx.Err()
}

func sortedNames[V any](m map[string]V) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func load(fsys fs.FS, tests bool) (*set, error) {
	s := &set{modules: map[string]*ast.Module{}, rules: map[string]*lint.Meta{}, reads: map[string]bool{}, files: map[string]string{}}
	var faults []error
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read policies: %w", err)
		}
		if d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".rego" || strings.HasSuffix(name, "_test.rego") && !tests {
			return nil
		}
		if err := s.add(fsys, name); err != nil {
			faults = append(faults, err)
		}
		return nil
	})
	if err = errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *set) add(fsys fs.FS, name string) error {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return fmt.Errorf("read policy: %w", err)
	}
	if len(text) > maxPolicyBytes {
		return fmt.Errorf("%s: larger than %d bytes", name, maxPolicyBytes)
	}
	module, err := ast.ParseModuleWithOpts(name, string(text), ast.ParserOptions{ProcessAnnotation: true, RegoVersion: ast.RegoV1})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.modules[name] = module
	if strings.HasSuffix(name, "_test.rego") {
		return nil
	}
	if strings.HasPrefix(name, "lib/") {
		s.libReads = s.libReads || readsInput(module)
		return nil
	}
	meta, err := metaOf(module, name)
	if err != nil {
		return err
	}
	meta.Source = "policies/" + name
	if other := foreignRef(module); other != nil {
		return fmt.Errorf("%s: %s refers to another policy; what policies share belongs below lib", other[0].Location, other)
	}
	s.rules[meta.Name] = &meta
	s.files[meta.Name] = name
	s.reads[meta.Name] = readsInput(module)
	return nil
}

// readsInput says whether a module refers to the input.
func readsInput(m *ast.Module) bool {
	found := false
	ast.WalkVars(m, func(v ast.Var) bool {
		found = found || v.Equal(ast.InputRootDocument.Value)
		return found
	})
	return found
}

// foreignRef finds a reference to another policy: each is compiled and evaluated by itself.
func foreignRef(m *ast.Module) ast.Ref {
	own := m.Package.Path[2]
	var found ast.Ref
	ast.WalkRefs(m, func(r ast.Ref) bool {
		if found != nil || !r.HasPrefix(ast.Ref{ast.DefaultRootDocument, ast.StringTerm("meshvet")}) {
			return found != nil
		}
		if len(r) < 3 || !r[2].Equal(own) && !r[2].Equal(ast.StringTerm("lib")) {
			found = r
		}
		return found != nil
	})
	return found
}

// mainModule evaluates the policies that input.rules names. It is no part of package meshvet, so that no policy can see it.
const mainModule = `package meshvet_main

import rego.v1

results[name] := found if {
	some name in input.rules
	not input.options_of[name]
	found := data.meshvet[name].findings
}

results[name] := found if {
	some name, options in input.options_of
	found := data.meshvet[name].findings with input.options as options
}
`

// compiler compiles the modules for which keep holds, and what they share.
func (s *set) compiler(keep func(file string) bool) (*ast.Compiler, error) {
	modules := map[string]*ast.Module{}
	for name, m := range s.modules {
		if strings.HasPrefix(name, "lib/") || keep(name) {
			modules[name] = m
		}
	}
	main, err := ast.ParseModuleWithOpts("meshvet_main.rego", mainModule, ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		return nil, fmt.Errorf("parse the main module: %w", err)
	}
	modules["meshvet_main.rego"] = main
	c := ast.NewCompiler().WithStrict(true).WithCapabilities(capabilities()).WithDefaultRegoVersion(ast.RegoV1)
	if c.Compile(modules); c.Failed() {
		return nil, fmt.Errorf("compile policies: %w", c.Errors)
	}
	return c, nil
}

// queryFor returns a query that evaluates at least some policies.
func (s *set) queryFor(names []string) (rego.PreparedEvalQuery, error) {
	if p := s.ready.Load(); p.covers(names) {
		return p.query, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.ready.Load()
	if have.covers(names) {
		return have.query, nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	if have != nil {
		maps.Copy(wanted, have.names)
	}
	if s.attempts++; s.attempts >= maxAttempts {
		all := map[string]bool{}
		for name := range s.rules {
			all[name] = true
		}
		if q, err := s.prepare(all); err == nil {
			s.ready.Store(&prepared{all, q})
			return q, nil
		}
		// One of the others does not compile. That is told when an object needs it.
	}
	q, err := s.prepare(wanted)
	if err == nil {
		s.ready.Store(&prepared{wanted, q})
	}
	return q, err
}

func (s *set) prepare(names map[string]bool) (rego.PreparedEvalQuery, error) {
	files := map[string]bool{}
	for name := range names {
		files[s.files[name]] = true
	}
	c, err := s.compiler(func(file string) bool { return files[file] })
	if err != nil {
		return rego.PreparedEvalQuery{}, err
	}
	opts := []func(*rego.Rego){
		rego.Query("found = data.meshvet_main.results"),
		rego.Compiler(c),
		rego.StrictBuiltinErrors(true),
		rego.GenerateJSON(func(t *ast.Term, _ *rego.EvalContext) (any, error) { return t.Value, nil }),
	}
	for _, b := range builtins {
		opts = append(opts, rego.FunctionDyn(&rego.Function{Name: b.name, Decl: b.decl, Memoize: true}, b.call))
	}
	q, err := rego.New(opts...).PrepareForEval(context.Background())
	if err != nil {
		return rego.PreparedEvalQuery{}, fmt.Errorf("prepare policies: %w", err)
	}
	return q, nil
}
