package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/schema"
)

// Engine runs a set of rules under one configuration. It is safe for concurrent use.
type Engine struct {
	config     *Config
	all        []Rule        // selected or not
	rules      []*activeRule // on for any object, by ID
	byKind     map[object.Kind][]*activeRule
	plain      *ruleSet // of objects for which no override holds
	conditions []condition
	sets       sync.Map // of objects for which some conditions hold, by which
	inFile     sync.Map // which conditions a file meets, by its name
	// rivals are the rules, by ID, whose findings on one object may supersede those of a rule on another.
	rivals map[string][]string
	terms  map[string]*term // what words in suppressions mean, in lower case
	schema func() (*schema.Validator, error)
}

// activeRule is a rule with what the configuration says about it.
type activeRule struct {
	rule     *Rule
	place    int // among the rules of the engine
	gates    []compiledGate
	levels   []compiledLevelGate
	preset   Severity       // what the presets of the configuration say
	severity *Severity      // what the configuration sets for the rule, whatever the finding
	options  map[string]any // those of the rule, all of them
}

// New makes an engine. Every mistake of the configuration that concerns rules is reported at once, as a *ConfigError.
func New(rules []Rule, cfg *Config) (*Engine, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	e := &Engine{
		config: cfg,
		all:    rules,
		rivals: map[string][]string{},
		schema: sync.OnceValues(func() (*schema.Validator, error) { return schema.New(cfg.Mesh.IstioVersion) }),
	}
	if err := e.selectRules(); err != nil {
		return nil, err
	}
	for _, a := range e.rules {
		for _, s := range a.rule.Supersedes {
			if s.reachesOthers() && a.rule.Check != nil {
				e.rivals[s.Rule] = append(e.rivals[s.Rule], a.rule.ID)
			}
		}
	}
	return e, nil
}

// Rules returns the rules that the configuration selects for any object, by ID.
func (e *Engine) Rules() []*Meta {
	out := make([]*Meta, len(e.rules))
	for i, a := range e.rules {
		out[i] = &a.rule.Meta
	}
	return out
}

// validate checks an object against the schema of its kind; most objects are cleared without building a map of them.
func (e *Engine) validate(ctx context.Context, o *object.Object) ([]schema.Violation, error) {
	v, err := e.schema()
	if err != nil {
		return nil, fmt.Errorf("load the schemas: %w", err)
	}
	if v.Valid(string(o.Kind), schemaValue(o.Root())) {
		return nil, nil
	}
	raw, _ := o.Root().Any().(map[string]any)
	return v.Validate(ctx, string(o.Kind), raw)
}

// Run judges targets in the light of one mesh. The targets need not be in it, but usually are. The report is complete but for
// what concerns files.
func (e *Engine) Run(ctx context.Context, ix *mesh.Index, targets []*object.Object) (*Report, error) {
	return e.runFiles(ctx, ix, targets, nil)
}

// runFiles judges targets of files. around are those that would be targets if their files were judged.
func (e *Engine) runFiles(ctx context.Context, ix *mesh.Index, targets, around []*object.Object) (*Report, error) {
	list := make([]target, len(targets))
	for i, o := range targets {
		list[i] = target{engine: e, object: o, view: ViewFiles}
	}
	return runTargets(ctx, ix, list, around, nil)
}

// target is an object to judge.
type target struct {
	engine    *Engine // that judges it
	object    *object.Object
	old       *object.Object  // see Pass
	operation string          // see Pass
	view      View            // where it is judged: rules of another view are left out
	only      map[string]bool // IDs of the rules that are run on it; nil = all
}

// runTargets judges targets in the light of one mesh. around are objects that would be targets if their files were judged, by what engineOf
// says.
func runTargets(ctx context.Context, ix *mesh.Index, targets []target, around []*object.Object, engineOf func(*object.File) *Engine) (*Report, error) {
	visits := make([]visit, len(targets))
	stopped := eachOf(ctx, len(targets), func(i int) {
		targets[i].engine.judge(ctx, ix, &targets[i], &visits[i])
		if ctx.Err() == nil {
			visits[i].done = true
			if count := targets[i].engine.config.Judged; count != nil {
				count.Add(1)
			}
		}
	})
	if stopped != nil {
		targets, visits = finished(targets, visits)
		if len(targets) == 0 {
			return &Report{}, stopped
		}
	}
	engines := enginesOf(targets)
	r := &Report{}
	for _, e := range engines {
		r.Profile = r.Profile.merge(e.profileOf(visits))
	}
	claims := silence(targets, visits)
	for i := range visits {
		if err := visits[i].err; err != nil {
			return nil, err
		}
		r.Findings = append(r.Findings, visits[i].findings...)
		r.Skipped = append(r.Skipped, visits[i].skips...)
		r.Problems = append(r.Problems, visits[i].problems...)
		if targets[i].object.Kind.Judged() {
			r.Stats.Judged++
		}
	}
	for _, e := range engines {
		r.Skipped = append(r.Skipped, e.needsSkips(ix, targets, visits)...)
	}
	r.off = switchedOff(targets, visits)
	if len(r.Findings) > 0 && targets[0].view == ViewFiles { // of hundreds a webhook would say the same with every answer
		for _, o := range ix.EnvoyFilters() {
			r.Skipped = append(r.Skipped, Skip{File: o.FileName(), Object: o.Key, Cause: NotModelled, Reason: "not modelled: EnvoyFilter " + o.Name + " patches what Istio compiles, so Envoy may run something else than the findings say"})
		}
	}
	var near []Finding
	var err error
	if stopped == nil {
		near, err = beside(ctx, ix, around, engineOf, targets, visits)
		if ctx.Err() != nil {
			stopped, near, err = err, nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	// What is silenced still stands for the cause: the findings that it supersedes would only tell the same under other names, on its
	// object or another, and whoever accepted it would have to hunt them down one by one. So silencing comes last.
	r.Findings, r.superseded = dropSuperseded(append(r.Findings, near...))
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.beside })
	r.Findings, r.Suppressed = splitSuppressed(r.Findings)
	if len(claims) > 0 && stopped == nil { // what has not been judged may be what a suppression is about
		if err := judgeSuppressions(ix, targets, visits, claims, r); err != nil {
			return nil, err
		}
	}
	r.sort()
	if err := ctx.Err(); err != nil && stopped == nil {
		stopped = fmt.Errorf("lint: %w", err)
	}
	return r, stopped
}

// finished leaves out the targets that were not judged, or only by some of the rules, because the run was stopped.
func finished(targets []target, visits []visit) (judged []target, of []visit) {
	for i := range targets {
		if visits[i].done {
			judged, of = append(judged, targets[i]), append(of, visits[i])
		}
	}
	return judged, of
}

// switchedOff lists the rules that are on, but not for some of the targets.
func switchedOff(targets []target, visits []visit) map[ruleOn]bool {
	out := map[ruleOn]bool{}
	for i := range targets {
		e := targets[i].engine
		if len(e.conditions) == 0 {
			continue
		}
		for _, a := range e.rules {
			if a.isFor(targets[i]) && visits[i].rules.byID[a.rule.ID] == nil {
				out[ruleOn{a.rule.ID, targets[i].object.Key}] = true
			}
		}
	}
	return out
}

// eachOf calls f with 0 to n-1, several at a time.
func eachOf(ctx context.Context, n int, f func(int)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= n || ctx.Err() != nil {
				return
			}
			f(i)
		}
	}
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		wg.Go(work)
	}
	work() // policies take much stack, which the caller's goroutine may have already
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lint: %w", err)
	}
	return nil
}

// beside returns the findings on objects around the judged ones which may supersede some of those that are found, so that a file that is
// judged alone has the findings that it has in a run over everything. They are judged by the engine of their file, or, if none is known, by that
// of what they may supersede.
func beside(ctx context.Context, ix *mesh.Index, around []*object.Object, engineOf func(*object.File) *Engine, targets []target, visits []visit) ([]Finding, error) {
	if len(around) == 0 {
		return nil, nil
	}
	isAround := map[*object.Object]bool{}
	for _, o := range around {
		isAround[o] = true
	}
	var near []target
	rules := map[*object.Object]map[string]bool{}
	for i := range visits {
		for j := range visits[i].findings {
			f := &visits[i].findings[j]
			rivals := targets[i].engine.rivals[f.Rule.ID]
			if len(rivals) == 0 || f.object == nil {
				continue
			}
			neighbours, _ := ix.Neighbours(f.object, math.MaxInt)
			for _, o := range neighbours {
				if !isAround[o] {
					continue
				}
				if rules[o] == nil {
					rules[o] = map[string]bool{}
					e := targets[i].engine
					if own := o.File(); engineOf != nil && own != nil {
						e = cmp.Or(engineOf(own), e)
					}
					near = append(near, target{engine: e, object: o, view: ViewFiles, only: rules[o]})
				}
				for _, id := range rivals {
					rules[o][id] = true
				}
			}
		}
	}
	found := make([]visit, len(near))
	err := eachOf(ctx, len(near), func(i int) {
		near[i].engine.judge(ctx, ix, &near[i], &found[i])
	})
	if err != nil {
		return nil, err
	}
	var out []Finding
	for i := range found {
		for _, f := range found[i].findings {
			f.beside = true
			out = append(out, f)
		}
	}
	return out, nil
}

// enginesOf lists the engines that judge targets.
func enginesOf(targets []target) []*Engine {
	var out []*Engine
	for i := range targets {
		if e := targets[i].engine; !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// needsSkips says, once for each rule, that it did not run because the mesh is not completely known.
func (e *Engine) needsSkips(ix *mesh.Index, targets []target, visits []visit) []Skip {
	var out []Skip
	for _, a := range e.rules {
		missing := a.missing(ix)
		if missing == "" {
			continue
		}
		concerned := false
		for i := range targets {
			if concerned = targets[i].engine == e && a.isFor(targets[i]) && visits[i].rules.byID[a.rule.ID] != nil; concerned {
				break
			}
		}
		if concerned {
			advice := "declare it with --complete or context.complete"
			unlisted := ""
			unread := ""
			for _, k := range a.rule.Needs {
				unread = cmp.Or(unread, ix.Settings().Unread[k])
				unlisted = cmp.Or(unlisted, e.config.Unlisted[k])
			}
			switch {
			case unlisted != "":
				advice = unlisted
			case unread != "":
				advice = unread + " names one that could not be read"
			case ix.Settings().Shared:
				advice = "each of the meshes that share these files may have more"
			}
			out = append(out, Skip{Rule: a.rule.ID, Cause: Incomplete, Reason: fmt.Sprintf("needs to know every %s of the mesh; %s", missing, advice)})
		}
	}
	return out
}

func (a *activeRule) missing(ix *mesh.Index) string {
	var names []string
	for _, k := range a.rule.Needs {
		if !ix.Complete(k) {
			names = append(names, string(k))
		}
	}
	return strings.Join(names, " and ")
}

// isFor says whether the rule is one for the kind of an object, and for where it is judged.
func (a *activeRule) isFor(t target) bool {
	return (a.rule.View == ViewAll || a.rule.View == t.view) && slices.Contains(a.rule.Kinds, kindOf(t.object))
}

func kindOf(o *object.Object) object.Kind {
	if o.Stray {
		return object.Stray
	}
	return o.Kind
}

// judge runs the rules of an object's kind on it.
func (e *Engine) judge(ctx context.Context, ix *mesh.Index, t *target, v *visit) {
	o := t.object
	v.engine, v.watch = e, e.stopwatch()
	if v.rules, v.err = e.rulesFor(o); v.err != nil {
		return
	}
	defer func() { v.memo, v.active = nil, nil }() // what rules shared is of no use once the object is judged
	// An API server is never asked to store what istiod makes for itself: there the mark is an author's, who may not want to be judged.
	if t.view == ViewFiles && generated(o) {
		v.skips = append(v.skips, Skip{File: o.FileName(), Object: o.Key, Reason: "written by istiod, not by a person", Cause: Generated})
		v.idle = true
		return
	}
	outsized := v.outsized(ix, o)
	v.formOnly = outsized
	around := surroundings{ix: ix, object: o}
	var run []*activeRule
	for _, a := range v.rules.byKind[kindOf(o)] {
		if ctx.Err() != nil {
			return
		}
		if !a.isFor(*t) || a.missing(ix) != "" || outsized && a.rule.Category != CategoryInput {
			continue
		}
		measured := v.watch.gate(a)
		if !passes(a.gates, o) {
			measured()
			continue
		}
		p := t.pass(ctx, ix, a, v)
		open, err := a.open(p)
		measured()
		if err != nil {
			v.broke(a, o, err)
			continue
		} else if !open {
			continue
		}
		if reason := around.silences(a.rule); reason != "" {
			v.skips = append(v.skips, Skip{Rule: a.rule.ID, File: o.FileName(), Object: o.Key, Reason: reason, Cause: Surroundings})
			continue
		}
		run = append(run, a)
		v.active = append(v.active, &a.rule.Meta)
	}
	for _, a := range run {
		if ctx.Err() != nil {
			return
		}
		if t.only != nil && !t.only[a.rule.ID] {
			continue
		}
		p := t.pass(ctx, ix, a, v)
		measured := v.watch.check(a)
		err := guarded(func() error { return a.rule.Check(p) })
		measured()
		if err != nil && ctx.Err() == nil {
			v.failed(a, p, err)
		}
	}
	if o.Kind == object.DestinationRule && !outsized && len(v.findings) > 0 && around.ambient() {
		for i := range v.findings {
			v.findings[i].Effect = strings.TrimSpace(v.findings[i].Effect + " (true of sidecar and gateway clients only)")
		}
	}
	v.claim = e.annotated(o)
}

func (t *target) pass(ctx context.Context, ix *mesh.Index, a *activeRule, v *visit) *Pass {
	return &Pass{Context: ctx, Object: t.object, Mesh: ix, Operation: t.operation, Old: t.old, rule: a, visit: v}
}

// outsized says whether an object is too large for the rules that look at more than the form of it, whose cost grows with what
// Istio would compile. What the API server refuses for its size is MV902's to tell; the rest is a problem, so that nothing passes
// for judged that is not.
func (v *visit) outsized(ix *mesh.Index, o *object.Object) bool {
	const formOnly = "only the form of the manifest is judged"
	if e, too := mesh.ExcessOf(o); too {
		v.skips = append(v.skips, Skip{File: o.FileName(), Object: o.Key, Cause: Outsized, Reason: fmt.Sprintf(
			"%s: %s has %d items, and %d are the most that the API server takes", formOnly, e.Path, e.Items, e.Most)})
		return true
	}
	most, wide := effective.TooWide(ix, o)
	if wide {
		v.problems = append(v.problems, object.Problem{
			Kind: object.Bounds,
			Message: fmt.Sprintf("%s is for more than %d ports of hosts, each of which would be a cluster in every proxy: %s; split the object, or name fewer hosts",
				o.Key, most, formOnly),
			Location: o.Locate(nil),
		})
	}
	return wide
}

// ErrTooLong is the error of a rule that was stopped because it took too long.
var ErrTooLong = errors.New("took too long")

// failed records a rule's error. A rule may stumble over a manifest that no API server would take; that is no fault of the rule,
// and MV902 says what is wrong. A panic always is one, and so is taking too long.
func (v *visit) failed(a *activeRule, p *Pass, err error) {
	var panicked *panicError
	if violations, verr := p.SchemaViolations(); verr == nil && len(violations) > 0 && !errors.As(err, &panicked) && !errors.Is(err, ErrTooLong) {
		v.skips = append(v.skips, Skip{
			Rule: a.rule.ID, File: p.Object.FileName(), Object: p.Object.Key, Cause: Malformed,
			Reason: fmt.Sprintf("the manifest is malformed: %s", violations[0].Message),
		})
		return
	}
	v.broke(a, p.Object, err)
}

// panicError is a rule that panicked.
type panicError struct {
	value any
	site  string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v at %s", e.value, e.site) }

func (v *visit) broke(a *activeRule, o *object.Object, err error) {
	v.problems = append(v.problems, object.Problem{
		Kind:     RuleBroke,
		Rule:     a.rule.ID,
		Message:  fmt.Sprintf("rule %s (%s) failed on %s: %s", a.rule.ID, a.rule.Name, o.Key, err),
		Location: o.Locate(nil),
	})
}

// open says whether the gates that look at the mesh let the pass's object through.
func (a *activeRule) open(p *Pass) (bool, error) {
	if len(a.levels) > 0 && !passesLevels(a.levels, p) {
		return false, nil
	}
	for _, f := range a.rule.Facts {
		if holds, err := f.holds(p); err != nil || !holds {
			return false, err
		}
	}
	return true, nil
}

// surroundings answers, at most once each, what about the hosts of an object keeps rules silent.
type surroundings struct {
	ix         *mesh.Index
	object     *object.Object
	asked      bool
	ambientYes bool
	backendTLS *object.Object
}

func (s *surroundings) ask() {
	if s.asked {
		return
	}
	s.asked = true
	if !s.ix.MayBeAmbient() && s.ix.Count(object.BackendTLSPolicy) == 0 {
		return
	}
	var targets []*mesh.Target
	if t := s.ix.Target(s.object); t != nil {
		targets = append(targets, t)
	} else if s.object.Kind == object.DestinationRule {
		targets = effective.ReachOf(s.ix, s.object).Targets
	}
	for _, t := range targets {
		s.ambientYes = s.ambientYes || s.ix.Ambient(t)
		if s.backendTLS == nil {
			s.backendTLS = s.ix.BackendTLSPolicyFor(t)
		}
	}
}

func (s *surroundings) ambient() bool {
	s.ask()
	return s.ambientYes
}

// silences returns why a rule cannot judge the object, "" if it can.
func (s *surroundings) silences(r *Rule) string {
	switch {
	case !r.SidecarOnly && r.Category != CategoryTLS:
		return ""
	case r.SidecarOnly && s.ambient():
		return "the host may be served by ztunnel or a waypoint, of which the rule does not hold"
	case r.Category == CategoryTLS:
		if s.ask(); s.backendTLS != nil {
			return "BackendTLSPolicy " + s.backendTLS.Name + " sets TLS for the host as well; what both come to is not modelled"
		}
	}
	return ""
}

// Interrupted is the kind of problem that a run is which somebody stopped before it was complete.
const Interrupted object.ProblemKind = "interrupted"

// RuleBroke is the kind of problem that is a fault of a rule, not of the input.
const RuleBroke object.ProblemKind = "rule"

// guarded runs one check of a rule; a panic in it is an error that says where.
func guarded(check func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, panicSite(string(debug.Stack()))}
		}
	}()
	return check()
}

// panicSite picks the first frame below the panic out of a stack trace.
func panicSite(stack string) string {
	_, below, found := strings.Cut(stack, "\npanic(")
	if !found {
		return "an unknown place"
	}
	lines := strings.Split(below, "\n")
	if len(lines) < 4 {
		return "an unknown place"
	}
	site := strings.TrimSpace(lines[3])
	if at := strings.LastIndex(site, " +0x"); at >= 0 {
		site = site[:at]
	}
	return site
}

// generated says whether istiod made the object out of another one; such objects are context only.
func generated(o *object.Object) bool {
	return o.Annotation("internal.istio.io/parents") != "" || strings.Contains(o.Name, "~")
}

// Input is everything that one run of the command line reads.
type Input struct {
	Files  []*object.File // files whose objects are judged
	Around []*object.File // files that are context only
	// Dir is the folder that the names of files are relative to, absolute and with forward slashes; "" if nothing is known of it.
	Dir string
}

// inOrder returns all files by their names. Which of several definitions of an object counts goes by that order, so it must not depend on
// what is judged and what is context.
func (in *Input) inOrder() []*object.File {
	files := slices.Concat(in.Files, in.Around)
	slices.SortStableFunc(files, func(a, b *object.File) int { return strings.Compare(a.Name, b.Name) })
	return files
}

// Lint judges files: it cuts them into mesh scopes, runs the rules in each, and accounts for every file.
func (e *Engine) Lint(ctx context.Context, in Input) (*Report, error) {
	return JudgeGroups(ctx, []Group{{Engine: e, Files: in.Files, Around: in.Around}}, in.Dir)
}

// account makes a report that says what became of every file.
func (e *Engine) account(in Input) *Report {
	r := &Report{Rules: e.Rules()}
	for _, f := range in.Files {
		e.lintFile(f, r)
	}
	r.count(in)
	return r
}

// count adds to a report what was read, and what of it was not.
func (r *Report) count(in Input) {
	r.Stats.Files, r.Sources = map[object.Class]int{}, map[string]*object.File{}
	for _, f := range in.Files {
		if f.InCluster() {
			continue
		}
		r.Stats.Files[f.Class]++
		r.Stats.Documents += f.Documents
	}
	for i, f := range slices.Concat(in.Files, in.Around) {
		around := i >= len(in.Files)
		r.Stats.Objects += len(f.Objects)
		if made := f.Rendering(); made != nil {
			for _, s := range made.Sources {
				r.Sources[s.Name] = s
			}
		} else if f.Text() != "" {
			r.Sources[f.Name] = f
		}
		for _, n := range f.Unread {
			r.Skipped = append(r.Skipped, Skip{File: f.Name, Reason: n.Message, Cause: Unread, Around: around})
		}
		if f.Template != nil {
			r.Skipped = append(r.Skipped, Skip{File: f.Name, Reason: f.Template.Message, Cause: Templated, Around: around})
		}
	}
	for _, f := range in.Around {
		if f.InCluster() {
			continue
		}
		r.Context.Files = append(r.Context.Files, f.Name)
		for _, p := range f.Problems { // what is broken out of focus is not judged, but what it says is not known either
			r.Skipped = append(r.Skipped, Skip{
				File: f.Name, Reason: fmt.Sprintf("not read as context: %s: %s", p.Location, p.Message), Cause: Unread, Around: true,
			})
		}
	}
}

// indexOf puts the files of a scope into an index; several says that there are other scopes.
func (e *Engine) indexOf(s *scope, several bool) *mesh.Index {
	settings := e.config.Mesh
	settings.Shared = s.isShared
	if several {
		settings.Scope = s.name
	}
	var objects []*object.Object
	for _, f := range slices.Concat(s.shared, s.own) {
		objects = append(objects, f.Objects...)
		for _, k := range unreadIn(f) {
			if settings.Unread == nil {
				settings.Unread = map[object.Kind]string{}
			}
			settings.Unread[k] = cmp.Or(settings.Unread[k], f.Name)
		}
	}
	if !settings.MeshConfig.Set() {
		settings.MeshConfig, settings.MeshConfigSource = mesh.FindMeshConfig(objects, settings.RootNamespace)
	}
	store := mesh.NewStore(settings)
	store.Put(objects...)
	if !s.isShared { // what is not in the common files may be in those of a mesh
		store.MarkComplete(e.config.Complete...)
	}
	return store.Snapshot()
}

// unreadIn lists the kinds of which a file may hold objects that could not be read: templates and what is broken. Whatever names a
// kind may be one of it.
func unreadIn(f *object.File) []object.Kind {
	if f.Template == nil && len(f.Unread) == 0 && len(f.Problems) == 0 {
		return nil
	}
	return slices.DeleteFunc(AllKinds(), func(k object.Kind) bool {
		return f.Text() != "" && !strings.Contains(f.Text(), string(k))
	})
}

func (e *Engine) lintFile(f *object.File, r *Report) {
	r.Problems = append(r.Problems, f.Problems...)
	if len(f.Problems) == 0 {
		return
	}
	rules, err := e.rulesForFile(f)
	if err != nil {
		r.Problems = append(r.Problems, object.Problem{Kind: RuleBroke, Message: err.Error(), Location: object.Location{File: f.Name}})
		return
	}
	for _, a := range rules.files {
		p := &FilePass{File: f, rule: a}
		p.report = func(found Finding) {
			if a.severity != nil {
				found.Severity = *a.severity
			}
			found.identify(nil)
			found.noteRendering(f)
			r.Findings = append(r.Findings, found)
		}
		if err := guarded(func() error { return a.rule.CheckFile(p) }); err != nil {
			r.Problems = append(r.Problems, object.Problem{
				Kind:     RuleBroke,
				Rule:     a.rule.ID,
				Message:  fmt.Sprintf("rule %s (%s) failed on %s: %s", a.rule.ID, a.rule.Name, f.Name, err),
				Location: object.Location{File: f.Name},
			})
		}
	}
}

// ConfigError is a configuration that cannot be used.
type ConfigError struct{ Problems []object.Problem }

func (e *ConfigError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s", p.Location, p.Message)
	}
	return b.String()
}

var _ error = (*ConfigError)(nil)

// errNoScope is returned when a configured scope has no name.
var errNoScope = errors.New("a scope in the configuration has no name")
