package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Rendered is what a finding is about that was found in rendered manifests.
type Rendered struct {
	By   []string        // the kustomizations and charts in which it was found, as reports call them, sorted
	File *object.File    // what the first of them rendered
	At   object.Location // the place in the text of File; Exact says whether the object has the field
}

// Line is the line of the rendered text at which the finding points, "" if it is not known.
func (r *Rendered) Line() string { return r.File.Line(r.At.Range.Start.Line) }

// noteRendering says of a finding what the file was rendered by in which it was found; of a file that nothing has rendered, nothing.
func (f *Finding) noteRendering(file *object.File) {
	if file == nil || file.Rendering() == nil {
		return
	}
	f.Rendered = &Rendered{By: []string{file.Rendering().By}, File: file}
	if f.object != nil && f.remark == nil {
		f.Rendered.At = f.object.InText(f.Path)
	}
}

// renderedBy is what a file was rendered by, "" if it is one that somebody wrote.
func renderedBy(f *object.File) string {
	if f == nil || f.Rendering() == nil {
		return ""
	}
	return f.Rendering().By
}

// sameRendered is what findings of several renderings have in common that are told once.
type sameRendered struct {
	rule, severity, path, message string
	at                            object.Location
}

// sameRendered is the finding as it reads, and with its object's own name left out: an overlay may give an object another name or
// namespace, and the fault is that of its source all the same.
func (f *Finding) sameRendered() (plain, nameless sameRendered) {
	message := messageShape(f.placeless())
	plain = sameRendered{f.Rule.ID, f.Severity.String(), f.Path.String(), message, f.Location}
	nameless = plain
	for _, own := range [...]string{f.Object.Namespace + "/" + f.Object.Name, f.Object.Name, f.Object.Namespace} {
		if own = messageShape(own); strings.Trim(own, "/") != "" {
			message = strings.ReplaceAll(message, own, "\x00")
		}
	}
	nameless.message = message
	return plain, nameless
}

// mergeRendered makes one of the findings that several renderings have at the same place of the same source. Remarks on suppressions are
// left out unless all renderings agree on them: what silences something in one of them is not idle.
func (r *Report) mergeRendered() {
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rendered != nil }) && len(r.renderings) == 0 {
		return
	}
	r.Findings = mergeBy(r.Findings, func(f *Finding) *Finding { return f })
	r.Suppressed = mergeBy(r.Suppressed, func(s *SuppressedFinding) *Finding { return &s.Finding })
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		return f.remark != nil && f.Rendered != nil && len(f.Rendered.By) < len(r.renderings[*f.remark])
	})
	var told []Suppression
	places := map[object.Location]int{}
	for _, s := range r.Suppressions {
		if at, known := places[s.Where]; known && len(r.renderings[s.Where]) > 1 && told[at].Kind == s.Kind {
			told[at].Used = told[at].Used || s.Used
			continue
		}
		places[s.Where] = len(told)
		told = append(told, s)
	}
	r.Suppressions = told
	var problems []object.Problem
	for _, p := range r.Problems {
		if !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	r.Problems = problems
}

// mergeBy puts together what is about the same finding. Without a place in the source there is nothing that two have in common.
func mergeBy[T any](all []T, finding func(*T) *Finding) []T {
	first := map[sameRendered]*Rendered{}
	var out []T
	for i := range all {
		f := finding(&all[i])
		if f.Rendered == nil || !f.Location.Range.Start.IsValid() {
			out = append(out, all[i])
			continue
		}
		plain, nameless := f.sameRendered()
		if merged := cmp.Or(first[plain], first[nameless]); merged != nil {
			if by := f.Rendered.By[0]; !slices.Contains(merged.By, by) {
				merged.By = append(merged.By, by)
				slices.Sort(merged.By)
				continue
			}
			// Several of one rendering at one place are several, such as of two objects that a loop made.
			out = append(out, all[i])
			continue
		}
		first[plain], first[nameless] = f.Rendered, f.Rendered
		out = append(out, all[i])
	}
	return out
}

// noteSuppression keeps in mind which renderings hold a suppression.
func (r *Report) noteSuppression(c *claim) {
	file := c.file
	if c.object != nil {
		file = c.object.File()
	}
	by := renderedBy(file)
	if by == "" {
		return
	}
	if r.renderings == nil {
		r.renderings = map[object.Location]map[string]bool{}
	}
	if r.renderings[c.Where] == nil {
		r.renderings[c.Where] = map[string]bool{}
	}
	r.renderings[c.Where][by] = true
}
