package lint

import (
	"context"
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// Since is what the findings of a report were compared with, and what became of those that were there before.
type Since struct {
	Revision string // as somebody named it
	Commit   string // its hash
	Known    int    // findings that were there before, which are not in the report
}

// Before is what a run was before a change.
type Before struct {
	Since
	// Report is that of Earlier; nil if no file that the run reads has changed, so that there is nothing to compare.
	Report *Report
	// Now and Then are the files that the run reads, context included, as they are and as they were.
	Now, Then []*object.File
	// Unchanged says that a file, by its name in the report, is as it was.
	Unchanged func(file string) bool
}

// Earlier judges files as they were before a change, but only what can matter to a report about them as they are: the objects that it
// has findings on, wherever they were, by the rules that found them. What was superseded then is found too, and what was suppressed is
// told if anything is now.
func (e *Engine) Earlier(ctx context.Context, in Input, now *Report) (*Report, error) {
	return EarlierGroups(ctx, []Group{{Engine: e, Files: slices.Concat(in.Files, in.Around)}}, in.Dir, now)
}

// EarlierGroups is Earlier for files of which some are under another configuration than others.
func EarlierGroups(ctx context.Context, groups []Group, dir string, now *Report) (*Report, error) {
	wanted := map[object.Key]map[string]bool{} // rules by object
	for i := range now.Findings {
		f := &now.Findings[i]
		if wanted[f.Object] == nil {
			wanted[f.Object] = map[string]bool{}
		}
		wanted[f.Object][f.Rule.ID] = true
	}
	for _, g := range groups {
		g.Engine.needAll(wanted)
	}
	_, ofFiles := wanted[object.Key{}]
	silent := len(now.Suppressions) > 0 // then what was accepted is wanted too, which takes no rule
	out := &Report{}
	if ofFiles {
		for _, g := range groups {
			for _, f := range g.Files {
				g.Engine.lintFile(f, out)
			}
		}
	}
	views, err := viewsOf(groups, dir)
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		for _, s := range v.scopes {
			targets, _ := v.targets(s)
			targets = slices.DeleteFunc(targets, func(t target) bool {
				_, found := wanted[t.object.Key]
				return !found && !((ofFiles || silent) && isCommented(t.object.File())) && !(silent && t.object.Annotation(IgnoreAnnotation) != "")
			})
			if len(targets) == 0 {
				continue
			}
			for i := range targets {
				only, found := wanted[targets[i].object.Key]
				switch {
				case ofFiles && isCommented(targets[i].object.File()):
				case found:
					targets[i].only = only
				default:
					targets[i].only = map[string]bool{}
				}
			}
			part, err := runTargets(ctx, v.groups[0].Engine.indexOf(s, len(v.scopes) > 1), targets, nil, nil)
			if err != nil {
				return nil, err
			}
			out.merge(part)
		}
	}
	tellApart(out)
	return out, nil
}

// isCommented says whether comments in a file accept findings.
func isCommented(f *object.File) bool {
	comments, _ := f.Comments()
	return len(comments) > 0
}

// needAll asks for all rules on an object on which a rule about suppressions found something: what one silences is found by the others.
func (e *Engine) needAll(wanted map[object.Key]map[string]bool) {
	for i := range e.all {
		if e.all[i].CheckSuppression == nil {
			continue
		}
		for key, rules := range wanted {
			if rules[e.all[i].ID] {
				wanted[key] = nil
			}
		}
	}
}

// Compare takes out of a report the findings that were there before, so that those are left which the change brings in. A finding was
// there if one that reads the same was found on the same object in the same file, or on an object that moved to another one. One that
// was silenced does not count: whoever is not silent any more wants to be told.
func (r *Report) Compare(b *Before) {
	r.Since = &b.Since
	if b.Report == nil {
		r.Since.Known = len(r.Findings)
		r.Findings = nil
		return
	}
	was := map[string][]*Finding{} // by cause
	add := func(list []Finding) {
		for i := range list {
			if f := &list[i]; f.suppressed == nil {
				was[f.alike()] = append(was[f.alike()], f)
			}
		}
	}
	add(b.Report.Findings)
	add(b.Report.superseded)
	now, then := placesOf(b.Now), placesOf(b.Then)
	old := make([]bool, len(r.Findings))
	// Of findings that read alike, each first takes that of its own file. In two meshes the same object may be at fault twice, so
	// another file counts only if the object went away there and came here.
	for _, moved := range [...]bool{false, true} {
		for i := range r.Findings {
			f := &r.Findings[i]
			if old[i] || moved && then[f.standsIn()] {
				continue
			}
			list := was[f.alike()]
			at := slices.IndexFunc(list, func(g *Finding) bool {
				return g.Location.File == f.Location.File || moved && !now[g.standsIn()]
			})
			if at >= 0 {
				old[i] = true
				was[f.alike()] = slices.Delete(list, at, at+1)
			}
		}
	}
	left := make([]Finding, 0, len(r.Findings))
	for i, f := range r.Findings {
		if old[i] {
			r.Since.Known++
			continue
		}
		f.Caused = b.Unchanged(f.Location.File)
		left = append(left, f)
	}
	r.Findings = left
}

// standing is an object in a file; a file alone has no key.
type standing struct {
	file string
	key  object.Key
}

func (f *Finding) standsIn() standing { return standing{f.Location.File, f.Object} }

func placesOf(files []*object.File) map[standing]bool {
	out := map[standing]bool{}
	for _, f := range files {
		out[standing{file: f.Name}] = true
		for _, o := range f.Objects {
			out[standing{f.Name, o.Key}] = true
		}
	}
	return out
}
