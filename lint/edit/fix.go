package edit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// MaxRounds is how often Fix judges and edits at the most.
const MaxRounds = 10

// maxTries is how often a round is tried without the fixes that turned out wrong, one at a time, before all that may be to blame are left.
const maxTries = 8

// Judge judges the files in focus as they would be. Findings on others are ignored.
type Judge func(ctx context.Context, files []*object.File) (*lint.Report, error)

// Options say which fixes are applied. The zero value applies the safe ones of every rule, to every file.
type Options struct {
	Unsafe bool                  // apply unsafe fixes too, to findings without a safe one
	Rules  func(*lint.Meta) bool // whose findings are fixed; nil means those of all rules
	Lowest lint.Severity         // of the findings that are fixed; the zero value means all
	// Keep says why a file has to stay as it is, "" if it may be edited. It is asked only of files that a fix would change.
	Keep func(*object.File) string
}

// Result is what Fix did. Nothing of it is written anywhere yet.
type Result struct {
	Changed []Change  // by name
	Applied []Applied // by round, in the order of the reports
	Refused []Refused // in the order of the report; of findings that are still there
	// Caused are the findings of the final report that unsafe fixes brought about.
	Caused []lint.Finding
	Before *lint.Report   // of the files as they were
	Report *lint.Report   // of the final state
	Files  []*object.File // in their final state
	Rounds int            // that changed something
	// Unfinished says that there still are fixes to apply: after MaxRounds, or since there are so many that it would take minutes.
	Unfinished bool
}

// Change is a file before and after, with its byte-order mark if it has one.
type Change struct {
	Name          string
	Before, After string
}

// Applied is a fix that was applied. The place of the finding is where it was in the round.
type Applied struct {
	Finding lint.Finding
	Fix     lint.Fix
	Round   int // from 1
}

// Refused is a fix that is offered and was not applied.
type Refused struct {
	Finding lint.Finding
	Fix     lint.Fix
	Reason  string          // a sentence without a full stop
	At      object.Location // what stands in the way; that of the finding if nothing else does
}

// Fix applies the fixes of findings to the texts of files and judges these again, until nothing changes.
//
// Of a finding one fix is applied: the first safe one that does or, with Options.Unsafe, the first unsafe one. Fixes of one object that
// meet in a field are applied one after the other, that of the more severe finding first. A safe fix after which a rule finds
// something that it did not find before is undone and refused, and so is any that does not cure its finding or creates an object with a
// fault. Fixes that undo one another are refused as soon as a file comes back to what it was.
//
// Equal input gives an equal result. The error is that of ctx, or of judge.
func Fix(ctx context.Context, files []*object.File, judge Judge, opt Options) (*Result, error) {
	report, err := judge(ctx, files)
	if err != nil {
		return nil, err
	}
	fx := &fixer{
		judge: judge, opt: opt, files: slices.Clone(files), report: report,
		banned: map[string]bool{}, alone: map[subject]bool{}, kept: map[string]string{}, seen: map[string][]state{}, caused: map[cause]bool{},
		result: &Result{Before: report},
	}
	for fx.result.Rounds < MaxRounds {
		changed, err := fx.round(ctx)
		if err != nil {
			return nil, err
		}
		if !changed {
			return fx.finish(files), nil
		}
	}
	p, err := fx.plan(ctx)
	if err != nil {
		return nil, err
	}
	fx.result.Unfinished = fx.result.Unfinished || len(p.accepted) > 0
	return fx.finish(files), nil
}

// fixer is one run of Fix.
type fixer struct {
	judge  Judge
	opt    Options
	files  []*object.File
	report *lint.Report // of files

	banned  map[string]bool    // proposals that are refused, by identity
	alone   map[subject]bool   // objects of which one proposal is applied at a time
	single  bool               // one proposal at a time in all
	kept    map[string]string  // what Options.Keep said of files
	work    int                // see maxWork
	seen    map[string][]state // what the text of a file was, by rounds in which it changed
	caused  map[cause]bool     // findings that unsafe fixes brought about
	applied []*proposal
	refused []refusal
	result  *Result
}

// state is the text of a file after a round; round 0 is the beginning.
type state struct {
	round int
	text  string
}

// refusal is a proposal that is not applied, with the reason.
type refusal struct {
	*proposal
	reason string
	at     object.Location
}

// subject is an object in a file.
type subject struct {
	file string
	key  object.Key
}

// cause is what a finding is about, whatever it says of it. It outlasts edits elsewhere in the file.
type cause struct {
	rule string
	subject
	path string // stable
}

func causeOf(f *lint.Finding, o *object.Object) cause {
	s := cause{rule: f.Rule.ID, subject: subject{f.Location.File, f.Object}, path: f.Path.String()}
	if o != nil {
		s.path = lint.StablePath(o, f.Path)
	}
	return s
}

// proposal is the fix of a finding that is to be applied.
type proposal struct {
	finding *lint.Finding
	fix     *lint.Fix
	file    *object.File
	object  *object.Object
	cause   cause
	round   int  // in which it was applied
	undone  bool // by another one later on
}

func (p *proposal) id() string {
	return strings.Join([]string{p.cause.rule, p.cause.file, p.cause.key.String(), p.cause.path, p.fix.Title}, "\x00")
}

// choices are the fixes of a finding that may be applied, the one to try first at the beginning.
func (fx *fixer) choices(f *lint.Finding) []*lint.Fix {
	if f.Severity < fx.opt.Lowest || fx.opt.Rules != nil && !fx.opt.Rules(f.Rule) {
		return nil
	}
	safeties := []lint.Safety{lint.Safe}
	if fx.opt.Unsafe {
		safeties = append(safeties, lint.Unsafe)
	}
	var out []*lint.Fix
	for _, s := range safeties {
		for i := range f.Fixes {
			if x := &f.Fixes[i]; x.Safety == s && (len(x.Ops) > 0 || x.Create != nil) {
				out = append(out, x)
			}
		}
	}
	return out
}

// proposals are the fixes that may be applied now, those of more severe findings first. What can be refused without a look at the text is.
func (fx *fixer) proposals() []*proposal {
	byName := map[string]*object.File{}
	for _, f := range fx.files {
		byName[f.Name] = f
	}
	var out []*proposal
	for i := range fx.report.Findings {
		f := &fx.report.Findings[i]
		file := byName[f.Location.File]
		for _, fix := range fx.choices(f) {
			p := &proposal{finding: f, fix: fix, file: file}
			var reason string
			if file != nil {
				p.object, reason = Target(file, f)
			} else {
				reason = "the finding is on no file that is judged; edit what the object is made from"
			}
			p.cause = causeOf(f, p.object)
			if fx.banned[p.id()] {
				continue // another one may do
			}
			if reason == "" {
				reason = fx.keep(file)
			}
			if reason != "" {
				fx.refuse(p, reason, f.Location)
			} else {
				out = append(out, p)
			}
			break
		}
	}
	slices.SortStableFunc(out, func(a, b *proposal) int { return cmp.Compare(b.finding.Severity, a.finding.Severity) })
	return out
}

// keep says why a file must not be edited.
func (fx *fixer) keep(f *object.File) string {
	reason, known := fx.kept[f.Name]
	if !known {
		switch {
		case len(f.Problems) > 0:
			reason = "the file holds something that cannot be read; put that right first"
		case fx.opt.Keep != nil:
			reason = fx.opt.Keep(f)
		}
		fx.kept[f.Name] = reason
	}
	return reason
}

// Target returns the object of a file that a finding is on. If it is not clear which, it says why.
func Target(file *object.File, f *lint.Finding) (o *object.Object, reason string) {
	var named []*object.Object
	for _, o := range file.Objects {
		if o.Key == f.Object {
			named = append(named, o)
		}
	}
	if len(named) > 1 {
		named = slices.DeleteFunc(named, func(o *object.Object) bool {
			return o.Locate(f.Path) != f.Location && o.LocateKey(f.Path) != f.Location
		})
	}
	switch len(named) {
	case 1:
		return named[0], ""
	case 0:
		return nil, "the finding is on no object of the file"
	}
	return nil, "the file holds two objects of that name"
}

func (fx *fixer) refuse(p *proposal, reason string, at object.Location) {
	if fx.banned[p.id()] {
		return
	}
	fx.banned[p.id()] = true
	fx.refused = append(fx.refused, refusal{p, reason, at})
}

// round applies what can be applied at once and judges the outcome. changed is false if there is nothing left to apply.
func (fx *fixer) round(ctx context.Context) (changed bool, err error) {
	fx.single = false
	for try := 1; ; try++ {
		p, err := fx.plan(ctx)
		if err != nil || len(p.accepted) == 0 {
			return false, err
		}
		report, err := fx.judge(ctx, p.files)
		if err != nil {
			return false, err
		}
		fresh := fx.fresh(p, report)
		if fx.takeBack(p, report, fresh, try >= maxTries) {
			continue
		}
		fx.commit(p, report, fresh)
		return true, nil
	}
}

// takeBack looks for fixes of a plan that do harm, and says whether there are any: then the round has to be planned again. Where several
// may be to blame, they are tried one at a time, unless that has been tried often enough.
func (fx *fixer) takeBack(p *plan, report *lint.Report, fresh []trouble, all bool) bool {
	back := false
	for _, a := range p.accepted {
		for i := range report.Findings {
			g := &report.Findings[i]
			same := g.Message == a.finding.Message
			if g.Rule.ID != a.cause.rule || p.causeOf(g) != a.cause || !same && a.fix.Create != nil { // objects for more hosts may follow
				continue
			}
			back = true
			switch alone := fx.alone[a.cause.subject]; {
			case same:
				fx.refuse(a, "the rule finds the same after it", a.finding.Location)
			case !alone && !all && p.shares(a):
				fx.alone[a.cause.subject] = true // what is left may come from the other fixes
			default:
				fx.refuse(a, "it cures only a part, after which the rule would find: "+g.Message, a.finding.Location)
			}
		}
	}
	if back {
		return true
	}
	for _, t := range fresh {
		suspects := p.suspects(t)
		wrong := slices.DeleteFunc(slices.Clone(suspects), func(a *proposal) bool { return a.fix.Safety != lint.Safe && !a.spoils(&t.finding) })
		switch {
		case len(wrong) == 0:
			continue
		case all || len(suspects) == 1:
			for _, a := range wrong {
				fx.refuse(a, t.text, a.finding.Location)
			}
		default:
			at := suspects[0].cause.subject
			fx.alone[at] = true
			fx.single = fx.single || slices.ContainsFunc(suspects, func(a *proposal) bool { return a.cause.subject != at })
		}
		back = true
	}
	return back
}

// shares says whether another fix of the plan is about the same object.
func (p *plan) shares(a *proposal) bool {
	return slices.ContainsFunc(p.accepted, func(b *proposal) bool { return b != a && b.cause.subject == a.cause.subject })
}

// spoils says whether a finding is a fault of the object that a fix creates: such an object is of no use.
func (p *proposal) spoils(g *lint.Finding) bool {
	return p.fix.Create != nil && keyOfNew(p.fix.Create.Object) == g.Object && g.Location.File == p.cause.file && g.Severity > lint.Info
}

// trouble is what a rule finds, or fails with, that was not there before.
type trouble struct {
	finding lint.Finding // of a problem, only where it is
	text    string       // for a refusal
}

// fresh is what a report has that the one before has not, be it a finding or one that is silenced. As before count what other findings superseded, and what is found on the author's
// own values: where a fix has copied them from, which may be of no use there any more, and where it has written them, if the rule had something
// to say of the object already.
func (fx *fixer) fresh(p *plan, report *lint.Report) []trouble {
	type ruleAt struct {
		rule string
		subject
	}
	known, said := map[cause]bool{}, map[ruleAt]bool{}
	objects := objectsOf(fx.files)
	add := func(f *lint.Finding) {
		s := causeOf(f, objects[subject{f.Location.File, f.Object}])
		known[s], said[ruleAt{s.rule, s.subject}] = true, true
	}
	for i := range fx.report.Findings {
		add(&fx.report.Findings[i])
	}
	shown := maps.Clone(known)
	for _, f := range fx.report.Superseded() {
		add(&f)
	}
	// A comment stays where it is while what it is about goes, or moves. What it silenced has to stay silent then, and nothing else may fall
	// silent.
	silent := map[cause]bool{}
	for i := range fx.report.Suppressed {
		f := &fx.report.Suppressed[i].Finding
		silent[causeOf(f, objects[subject{f.Location.File, f.Object}])] = true
	}
	var out []trouble
	for i := range report.Suppressed {
		g := &report.Suppressed[i].Finding
		if s := p.causeOf(g); shown[s] && !silent[s] {
			out = append(out, trouble{*g, fmt.Sprintf("a comment would then be about something else, and silence %s (%s): %s", g.Rule.ID, g.Rule.Name, g.Message)})
		}
	}
	for _, g := range report.Findings {
		s := p.causeOf(&g)
		if silent[s] && !shown[s] {
			out = append(out, trouble{g, fmt.Sprintf("what silences %s (%s) would then be about something else: %s", g.Rule.ID, g.Rule.Name, g.Message)})
			continue
		}
		if known[s] || said[ruleAt{s.rule, s.subject}] && p.wrote(s.subject, g.Path) || p.copied(&g) {
			continue
		}
		out = append(out, trouble{g, fmt.Sprintf("%s (%s) would then find: %s", g.Rule.ID, g.Rule.Name, g.Message)})
	}
	type fault struct{ rule, file, message string }
	was := map[fault]bool{}
	for _, x := range fx.report.Problems {
		was[fault{x.Rule, x.Location.File, x.Message}] = true
	}
	for _, x := range report.Problems {
		if !was[fault{x.Rule, x.Location.File, x.Message}] {
			out = append(out, trouble{lint.Finding{Rule: &lint.Meta{ID: x.Rule}, Location: x.Location}, "the run would then fail: " + x.Message})
		}
	}
	return out
}

// commit takes a round over.
func (fx *fixer) commit(p *plan, report *lint.Report, fresh []trouble) {
	r := fx.result
	r.Rounds++
	applied := slices.Clone(p.accepted)
	slices.SortStableFunc(applied, func(a, b *proposal) int { return lint.CompareFindings(*a.finding, *b.finding) })
	for _, a := range applied {
		a.round = r.Rounds
	}
	fx.applied = append(fx.applied, applied...)
	for _, t := range fresh {
		fx.caused[p.causeOf(&t.finding)] = true
	}
	for i, f := range p.files {
		old := fx.files[i]
		if f == old {
			continue
		}
		if fx.seen[f.Name] == nil {
			fx.seen[f.Name] = []state{{0, old.Text()}}
		}
		fx.circling(f)
		fx.seen[f.Name] = append(fx.seen[f.Name], state{r.Rounds, f.Text()})
	}
	fx.files, fx.report = p.files, report
}

// circling refuses from now on what brought a file back to a text that it had before.
func (fx *fixer) circling(f *object.File) {
	since := -1
	for _, s := range fx.seen[f.Name] {
		if s.text == f.Text() {
			since = s.round
		}
	}
	if since < 0 {
		return
	}
	var turning []*proposal
	var rules []string
	for _, a := range fx.applied {
		if a.cause.file == f.Name && a.round > since {
			turning = append(turning, a)
			if name := fmt.Sprintf("%s (%s)", a.cause.rule, a.finding.Rule.Name); !slices.Contains(rules, name) {
				rules = append(rules, name)
			}
		}
	}
	reason := "it leads back to where it began"
	if len(rules) > 1 {
		reason = "fixes of " + strings.Join(rules, " and ") + " undo one another"
	}
	for _, a := range turning {
		a.undone = true
		fx.refuse(a, reason, a.finding.Location)
	}
}

// finish puts the result together; files are those at the beginning.
func (fx *fixer) finish(files []*object.File) *Result {
	r := fx.result
	r.Files, r.Report = fx.files, fx.report
	for _, a := range fx.applied {
		if !a.undone {
			r.Applied = append(r.Applied, Applied{Finding: *a.finding, Fix: *a.fix, Round: a.round})
		}
	}
	for i, f := range files {
		if now := fx.files[i]; now.Text() != f.Text() {
			r.Changed = append(r.Changed, Change{Name: f.Name, Before: whole(f), After: whole(now)})
		}
	}
	slices.SortFunc(r.Changed, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	objects := objectsOf(fx.files)
	there := map[cause]int{}
	for i := range r.Report.Findings {
		f := &r.Report.Findings[i]
		s := causeOf(f, objects[subject{f.Location.File, f.Object}])
		there[s] = i + 1
		if fx.caused[s] {
			r.Caused = append(r.Caused, *f)
		}
	}
	for _, x := range fx.refused {
		if at := there[x.cause]; at > 0 { // else it was cured along with something else
			refused := Refused{Finding: *x.finding, Fix: *x.fix, Reason: x.reason, At: x.at}
			if x.at == x.finding.Location { // it may have moved since
				refused.At = r.Report.Findings[at-1].Location
			}
			refused.Finding = r.Report.Findings[at-1]
			r.Refused = append(r.Refused, refused)
		}
	}
	slices.SortStableFunc(r.Refused, func(a, b Refused) int { return lint.CompareFindings(a.Finding, b.Finding) })
	return r
}

// mark is what a file begins with if it has a byte-order mark.
const mark = "\ufeff"

// whole is the content of a file as it is on disk.
func whole(f *object.File) string {
	if f.HasBOM() {
		return mark + f.Text()
	}
	return f.Text()
}

// objectsOf finds the objects of files, the first of each name.
func objectsOf(files []*object.File) map[subject]*object.Object {
	out := map[subject]*object.Object{}
	for _, f := range files {
		for _, o := range f.Objects {
			if at := (subject{f.Name, o.Key}); out[at] == nil {
				out[at] = o
			}
		}
	}
	return out
}
