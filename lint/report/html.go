package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"slices"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// The parts of the page. Style and script are named by their hashes in the page's policy, so they go into it byte for byte.
var (
	//go:embed html/page.html.tmpl
	htmlTemplate string
	//go:embed html/page.css
	htmlStyle string
	//go:embed html/page.js
	htmlScript string
)

// What of a report one page holds. A page of more would not open in a browser; each bound says on the page what it left out.
const (
	maxHTMLFindings = 10_000    // listed, worst first
	maxHTMLDetails  = 4_500_000 // bytes, estimated, of findings that are told with their excerpt, effect and fixes; the others are a line each
	maxHTMLBrief    = 6_500_000 // bytes, estimated, of those
	maxHTMLAccepted = 500       // of findings that are suppressed or in a baseline
	maxHTMLNotes    = 500       // of problems, and of files and objects that were not judged
	maxHTMLChoices  = 500       // of files or namespaces to choose from
)

// htmlPage is what the template shows. All texts are clean.
type htmlPage struct {
	Style  template.CSS
	Script template.JS
	Data   template.JS // what the script draws the map from, as JSON
	Policy string

	Title, Version string
	Summary        string
	Severities     []htmlCount
	Rules          []htmlRule
	Facts          []htmlFact

	Findings         []htmlFinding
	Brief            int // of the findings, told in a line
	LeftOut          int
	Open             bool // details are open at first
	Namespaces       []string
	Files            []string
	Problems         []htmlNote
	ProblemsLeftOut  int
	Skipped          []htmlNote
	SkippedLeftOut   int
	Idle             []htmlIdle
	Accepted         []htmlAccepted
	AcceptedLeftOut  int
	Egress           htmlEgress
	HasMap, HasNotes bool
}

type (
	htmlCount struct {
		Severity, Label string
		N               int
	}
	htmlRule struct {
		ID, Name, Title, URL, Severity string
		N                              int
		Share                          int // of the most frequent rule, in percent
	}
	htmlFact struct{ Name, Value string }
	htmlNote struct{ Place, Message string }
	htmlIdle struct{ Rule, Reason, What string }
	// htmlAccepted is a finding that somebody accepted.
	htmlAccepted struct{ Severity, Rule, URL, Message, Place, Reason, Where string }
)

func writeHTML(w *bufio.Writer, v *view) error {
	t, err := template.New("page").Parse(htmlTemplate)
	if err != nil {
		return fmt.Errorf("template: %w", err)
	}
	page, err := newHTMLPage(v)
	if err != nil {
		return err
	}
	return t.Execute(w, page)
}

func newHTMLPage(v *view) (*htmlPage, error) {
	p := &htmlPage{
		Style: template.CSS(htmlStyle), Script: template.JS(htmlScript), //nolint:gosec // own files, no input
		Policy:  htmlPolicy(),
		Version: clean(v.opt.Version),
		Summary: summary(v),
	}
	p.Title = "meshvet: " + count(len(v.Findings), "finding")
	for _, s := range severities {
		n := v.Count(s)
		label := s.String()
		if n != 1 && s != lint.Info {
			label += "s"
		}
		p.Severities = append(p.Severities, htmlCount{s.String(), label, n})
	}
	p.Rules = v.htmlRules()
	p.Facts = v.htmlFacts()

	findings := make([]*lint.Finding, 0, len(v.Findings))
	for i := range v.Findings {
		findings = append(findings, &v.Findings[i])
	}
	slices.SortStableFunc(findings, func(a, b *lint.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	if n := len(findings) - maxHTMLFindings; n > 0 {
		p.LeftOut, findings = n, findings[:maxHTMLFindings]
	}
	drawing := v.newHTMLMap(findings)
	if err := p.draw(drawing); err != nil {
		return nil, err
	}
	p.tell(v, findings, drawing)

	p.Problems, p.ProblemsLeftOut = v.htmlProblems()
	p.Skipped, p.SkippedLeftOut = v.htmlSkipped()
	p.Idle = v.htmlIdle()
	p.Accepted, p.AcceptedLeftOut = v.htmlAccepted()
	p.HasNotes = len(p.Skipped)+len(p.Idle) > 0
	return p, nil
}

// htmlPolicy lets the page do nothing but what its own style and script do, and these nothing beyond the page.
func htmlPolicy() string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash(htmlScript) + "; style-src " + hash(htmlStyle) + "; base-uri 'none'; form-action 'none'"
}

// htmlRules counts findings by rule, worst rules first.
func (v *view) htmlRules() []htmlRule {
	byID := map[string]*htmlRule{}
	worst := map[string]lint.Severity{}
	most := 1
	for i := range v.Findings {
		f := &v.Findings[i]
		r := byID[f.Rule.ID]
		if r == nil {
			r = &htmlRule{ID: clean(f.Rule.ID), Name: clean(f.Rule.Name), Title: clean(f.Rule.Title), URL: v.opt.ruleURL(f.Rule.ID)}
			byID[f.Rule.ID] = r
		}
		r.N++
		most = max(most, r.N)
		worst[f.Rule.ID] = max(worst[f.Rule.ID], f.Severity)
	}
	ids := slices.SortedFunc(maps.Keys(byID), func(a, b string) int {
		return cmp.Or(cmp.Compare(worst[b], worst[a]), cmp.Compare(byID[b].N, byID[a].N), cmp.Compare(a, b))
	})
	var out []htmlRule
	for _, id := range ids {
		r := byID[id]
		r.Severity, r.Share = worst[id].String(), max(1, 100*r.N/most)
		out = append(out, *r)
	}
	return out
}

// htmlFacts says what was looked at, and what the findings leave out.
func (v *view) htmlFacts() []htmlFact {
	files := v.Stats.Files
	facts := []htmlFact{
		{"Objects judged", fmt.Sprintf("%d of %d read", v.Stats.Judged, v.Stats.Objects)},
		{"Files", fmt.Sprintf("%d linted, %d of other kinds", files[object.Linted], files[object.Other])},
	}
	if n := files[object.Template]; n > 0 {
		facts = append(facts, htmlFact{"Templates", fmt.Sprintf("%d not judged; render them first", n)})
	}
	if n := files[object.Broken]; n > 0 {
		facts = append(facts, htmlFact{"Unreadable", count(n, "file")})
	}
	if v.hidden > 0 {
		facts = append(facts, htmlFact{"Not shown", fmt.Sprintf("%d below %s", v.hidden, v.opt.MinSeverity)})
	}
	suppressed, known := v.accepted()
	if suppressed > 0 {
		facts = append(facts, htmlFact{"Suppressed", fmt.Sprint(suppressed)})
	}
	if known > 0 {
		facts = append(facts, htmlFact{"In a baseline", fmt.Sprint(known)})
	}
	if s := v.Since; s != nil {
		facts = append(facts, htmlFact{"Compared with", clean(object.Abridge(s.Revision)) + fmt.Sprintf(" (%d not new)", s.Known)})
	}
	var scopes []string
	for _, s := range v.Scopes {
		if s.Name != "" && len(scopes) < 8 {
			scopes = append(scopes, clean(object.Abridge(s.Name)))
		}
	}
	switch {
	case len(scopes) == 1:
		facts = append(facts, htmlFact{"Mesh", scopes[0]})
	case len(scopes) > 1:
		facts = append(facts, htmlFact{"Meshes", fmt.Sprint(len(v.Scopes))})
	}
	return facts
}

func (v *view) htmlProblems() (out []htmlNote, leftOut int) {
	for i, p := range v.Problems {
		if i == maxHTMLNotes {
			return out, len(v.Problems) - i
		}
		out = append(out, htmlNote{shortPlace(p.Location), clean(object.Abridge(p.Message))})
	}
	return out, 0
}

// htmlSkipped lists what was not judged as a whole.
func (v *view) htmlSkipped() (out []htmlNote, leftOut int) {
	for _, s := range v.Skipped {
		if s.Rule != "" {
			continue
		}
		if len(out) == maxHTMLNotes {
			leftOut++
			continue
		}
		msg := clean(object.Abridge(s.Reason))
		if s.Around {
			msg += " (read as context only)"
		}
		out = append(out, htmlNote{shortPlace(noticePlace(v.Report, s)), msg})
	}
	return out, leftOut
}

// htmlIdle lists the rules that did not judge something.
func (v *view) htmlIdle() []htmlIdle {
	var out []htmlIdle
	for _, c := range ruleSkips(v.Skipped) {
		if len(out) == maxHTMLNotes {
			break
		}
		out = append(out, htmlIdle{clean(c.rule), clean(object.Abridge(c.reason)), c.what()})
	}
	return out
}

func (v *view) htmlAccepted() (out []htmlAccepted, leftOut int) {
	for i := range v.Suppressed {
		if i == maxHTMLAccepted {
			return out, len(v.Suppressed) - i
		}
		f, s := &v.Suppressed[i].Finding, &v.Suppressed[i].Suppression
		where := shortPlace(s.Where)
		if s.Until != "" {
			where += ", until " + clean(s.Until)
		}
		out = append(out, htmlAccepted{
			Severity: f.Severity.String(), Rule: clean(f.Rule.ID), URL: v.opt.ruleURL(f.Rule.ID), Message: clean(object.Abridge(f.Message)),
			Place: shortPlace(f.Location), Reason: clean(object.Abridge(s.Reason)), Where: where,
		})
	}
	return out, 0
}

// choices are the values that a filter offers, sorted.
func choices(values map[string]bool) []string {
	out := slices.Sorted(maps.Keys(values))
	return out[:min(len(out), maxHTMLChoices)]
}
