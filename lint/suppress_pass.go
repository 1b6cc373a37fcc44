package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// SuppressionPass is a rule's view of one suppression once all other rules have run.
type SuppressionPass struct {
	Suppression *Suppression
	// Subject is what the suppression is called: an annotation, or the comment.
	Subject string
	// Faults are why it has no effect, or less than it says.
	Faults []SuppressionFault
	// Unused are the words, as they are written, that silenced nothing, although each of the rules that they stand for ran on all of
	// what the suppression is about.
	Unused []string

	claim  *claim
	rule   *activeRule
	report func(Finding)
}

// Extent says what the suppression is about, as the end of a sentence: on line 7.
func (p *SuppressionPass) Extent() string {
	switch c := p.claim; {
	case c.Kind == ByAnnotation:
		return "on the object"
	case c.Kind == ByFile:
		return "in the file"
	case c.first == c.last:
		return fmt.Sprintf("on line %d", c.lineOf(c.first))
	default:
		return fmt.Sprintf("on lines %d to %d", c.lineOf(c.first), c.lineOf(c.last))
	}
}

// Said says how many words name rules, those that mean none included.
func (p *SuppressionPass) Said() int { return len(p.claim.words) }

// Report records a finding about the suppression as a whole.
func (p *SuppressionPass) Report(msg string, extras ...Extra) {
	p.add(Finding{Message: msg, Location: p.Suppression.Where, Path: p.path(p.claim.at)}, extras)
}

// ReportFault records a finding about one of Faults.
func (p *SuppressionPass) ReportFault(f *SuppressionFault, msg string, extras ...Extra) {
	p.add(Finding{Message: msg, Location: f.At, Path: p.path(f.Path)}, extras)
}

// path is that of an annotation, or of what a comment is about.
func (p *SuppressionPass) path(at object.Path) object.Path {
	if at == nil {
		return p.Suppression.Path
	}
	return at
}

func (p *SuppressionPass) add(f Finding, extras []Extra) {
	f.Rule, f.Severity, f.Object = &p.rule.rule.Meta, p.rule.preset, p.Suppression.Object
	for _, e := range extras {
		e(&f)
	}
	if p.rule.severity != nil {
		f.Severity = *p.rule.severity
	}
	f.remark = &p.claim.Where
	f.identify(p.claim.object)
	if p.claim.object != nil {
		f.noteRendering(p.claim.object.File())
	} else {
		f.noteRendering(p.claim.file)
	}
	f.abridge()
	p.report(f)
}

// Removal is a fix that takes words out of an annotation, and the annotation away with the last of them. ok is false for comments, which
// are no part of the object.
func (p *SuppressionPass) Removal(words []string) (fix Fix, ok bool) {
	c := p.claim
	left := slices.DeleteFunc(slices.Clone(c.words), func(w string) bool { return slices.Contains(words, w) })
	if len(left) == 0 {
		return p.RemovalOfAll()
	}
	if c.Until != "" {
		left = append(left, "until="+c.Until)
	}
	return Fix{
		Title: "take " + Enumerate(words) + " out of " + IgnoreAnnotation, Safety: Unsafe,
		Ops: []Op{{Kind: Replace, Path: ignorePath, Value: strings.Join(left, ", ")}},
	}, c.Kind == ByAnnotation
}

// RemovalOfAll is a fix that removes the annotation with its reason. ok is false for comments, which are no part of the object.
func (p *SuppressionPass) RemovalOfAll() (fix Fix, ok bool) {
	o := p.claim.object
	if p.claim.Kind != ByAnnotation {
		return Fix{}, false
	}
	fix = Fix{Title: "remove the annotation and its reason", Safety: Unsafe}
	if annotations := ignorePath.Parent(); o.Lookup(annotations).Len() == 2 {
		fix.Ops = []Op{{Kind: Remove, Path: annotations}}
	} else {
		fix.Ops = []Op{{Kind: Remove, Path: ignorePath}, {Kind: Remove, Path: reasonPath}}
	}
	return fix, true
}

// silence holds the findings of visits against what annotations and comments accept. It returns all that these say in files; what
// annotations say to no effect at admission, where no finding can be about it, becomes a skip.
func silence(targets []target, visits []visit) []*claim {
	var all []*claim
	comments := map[*object.File][]*claim{}
	for i := range targets {
		t, v := &targets[i], &visits[i]
		var near []*claim
		if v.claim != nil {
			near = append(near, v.claim)
		}
		if t.view == ViewFiles {
			all = append(all, near...)
			if f := t.object.File(); f != nil {
				if _, known := comments[f]; !known {
					comments[f] = t.engine.commented(f)
					all = append(all, comments[f]...)
				}
				near = append(near, comments[f]...)
			}
		} else if v.claim != nil {
			for _, fault := range v.claim.faults {
				v.skips = append(v.skips, Skip{File: t.object.FileName(), Object: t.object.Key, Reason: fault.note(), Cause: Unheeded})
			}
		}
		for k := range v.findings {
			f := &v.findings[k]
			for _, c := range near {
				if c.covers(f) && (f.suppressed == nil || c.nearer(f.suppressed)) {
					f.suppressed = c
				}
			}
		}
	}
	return all
}

// occasion is a run over objects, from which it is known which rules ran on which of them.
type occasion struct {
	ix      *mesh.Index
	targets []target
	visits  []visit
	places  map[*object.Object]int // of targets
	files   map[*object.File][]int // targets in each
	known   map[opportunity]bool
}

// opportunity is what a word in a comment could have silenced.
type opportunity struct {
	term        *term
	file        *object.File
	first, last int // 0 = all of the file
}

// judgeSuppressions runs the rules about suppressions, and adds what they find to the report.
func judgeSuppressions(ix *mesh.Index, targets []target, visits []visit, claims []*claim, r *Report) error {
	o := occasion{ix, targets, visits, map[*object.Object]int{}, map[*object.File][]int{}, map[opportunity]bool{}}
	for i := range targets {
		f := targets[i].object.File()
		o.places[targets[i].object], o.files[f] = i, append(o.files[f], i)
	}
	for _, c := range claims {
		r.Suppressions = append(r.Suppressions, c.Suppression)
		r.noteSuppression(c)
		if c.file != nil && (c.file.Class == object.Broken || c.file.Class == object.Template) {
			continue // what is not read may be what it is about
		}
		rules, err := o.engineOf(c).rulesAbout(c)
		if err != nil {
			return err
		}
		if len(rules) == 0 {
			continue
		}
		p := SuppressionPass{
			Suppression: &c.Suppression, Subject: c.subject, Faults: c.faults, Unused: o.unused(c),
			claim: c, report: func(f Finding) { r.Findings = append(r.Findings, f) },
		}
		for _, a := range rules {
			p.rule = a
			if err := guarded(func() error { return a.rule.CheckSuppression(&p) }); err != nil {
				r.Problems = append(r.Problems, object.Problem{
					Kind:     RuleBroke,
					Rule:     a.rule.ID,
					Message:  fmt.Sprintf("rule %s (%s) failed on %s: %s", a.rule.ID, a.rule.Name, c.subject, err),
					Location: c.Where,
				})
			}
		}
	}
	return nil
}

// engineOf is what judges the object or file that a suppression is written in.
func (o *occasion) engineOf(c *claim) *Engine {
	i, judged := o.places[c.object]
	if !judged {
		i = o.files[c.file][0]
	}
	return o.targets[i].engine
}

// rulesAbout returns the rules that judge a suppression: those of its object, or of its file if it is about several.
func (e *Engine) rulesAbout(c *claim) ([]*activeRule, error) {
	find := func() (*ruleSet, error) { return e.rulesForFile(c.file) }
	if c.object != nil {
		find = func() (*ruleSet, error) { return e.rulesFor(c.object) }
	}
	set, err := find()
	if err != nil {
		return nil, err
	}
	return set.remarks, nil
}

// unused lists the words of a suppression that silenced nothing, and had every occasion to.
func (o *occasion) unused(c *claim) []string {
	idle := map[*term]bool{}
	for i, t := range c.terms {
		if !c.used[i] && o.had(c, t) {
			idle[t] = true
		}
	}
	var out []string
	for _, w := range c.words {
		if t := o.engineOf(c).terms[strings.ToLower(w)]; idle[t] {
			out = append(out, w)
		}
	}
	return out
}

// had says whether all rules of a word ran on all of what a suppression is about.
func (o *occasion) had(c *claim, t *term) bool {
	about := o.files[c.file]
	if c.Kind != ByFile {
		about = nil
		for _, x := range c.about {
			if i, judged := o.places[x]; judged {
				about = append(about, i)
			}
		}
	}
	key := opportunity{t, c.file, c.first, c.last}
	if c.Kind == ByAnnotation {
		return o.ran(t, about)
	}
	had, known := o.known[key]
	if !known {
		had = o.ran(t, about)
		o.known[key] = had
	}
	return had
}

func (o *occasion) ran(t *term, about []int) bool {
	for _, i := range about {
		for _, m := range t.rules {
			if !o.ranOn(m, i) {
				return false
			}
		}
	}
	return len(about) > 0
}

// inView says whether all is in view that decides what a rule finds on an object, as far as that can be told.
func (o *occasion) inView(m *Meta, t *target) bool {
	settings := o.ix.Settings()
	whole := !settings.Shared && len(settings.Unread) == 0 && (!t.engine.config.Partial || o.allComplete())
	switch {
	case m.Category == CategoryAcross:
		return whole // what the rule would relate the object to may be elsewhere
	case t.object.Kind == object.DestinationRule:
		// A VirtualService may decide what a port's policy does, and what a route makes of it; no rule declares that it looks at one.
		return effective.ReachOf(o.ix, t.object).Known() && (whole || o.ix.Complete(object.VirtualService))
	case m.Category != CategoryServiceEntry: // DestinationRules decide
		return whole
	}
	return true
}

func (o *occasion) allComplete() bool {
	return !slices.ContainsFunc(AllKinds(), func(k object.Kind) bool { return !o.ix.Complete(k) })
}

// ranOn says whether a rule had its say about a target: it ran, or had nothing to say about such an object.
func (o *occasion) ranOn(m *Meta, i int) bool {
	t, v := &o.targets[i], &o.visits[i]
	if v.rules == nil {
		return false
	}
	a := v.rules.byID[m.ID]
	switch {
	case a == nil || t.only != nil && !t.only[m.ID] || v.idle || v.formOnly && m.Category != CategoryInput:
		return false
	case !a.isFor(*t):
		return !t.object.Stray // the kind is what is wrong with such an object
	case a.missing(o.ix) != "" || m.Category != CategoryInput && !o.inView(m, t):
		return false
	}
	return !slices.ContainsFunc(v.skips, func(s Skip) bool { return s.Rule == m.ID }) &&
		!slices.ContainsFunc(v.problems, func(p object.Problem) bool { return p.Rule == m.ID })
}
