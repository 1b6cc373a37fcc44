package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// How much of a finding is shown on a page.
const (
	contextLines   = 2     // of the file, before and after the place
	maxDiffLines   = 60    // of a fix, in one file
	maxDiffBytes   = 8_000 // of a file, that the lines which a fix touches may have
	maxHTMLRelated = 12
	maxHTMLFixes   = 4
	maxHTMLOps     = 24
	openFindings   = 60 // so many are shown with their details at first
	cardBytes      = 1_100
	briefBytes     = 500
	lineBytes      = 60
	maxValueBytes  = 4_000 // of a value that a fix writes
	maxNameBytes   = 253   // of a namespace
)

type (
	htmlFinding struct {
		ID, Severity, Rule, RuleName, URL string
		Message, Place, File, Namespace   string
		Where, Cause, Rendered            string
		Effect, Remedy                    []htmlPart
		Missing                           bool // the field is; the place is its parent's
		Lines                             []htmlLine
		Related                           []htmlNote
		RelatedLeftOut                    int
		Fixes                             []htmlFix
		FixesLeftOut                      int
		InMap                             bool
		Brief                             bool
	}
	// htmlPart is a part of a sentence; Code is what stands between backticks.
	htmlPart struct{ Text, Code string }
	// htmlLine is a line of a file. In the one with the place, Before, Mark and After are the line.
	htmlLine struct {
		N                       int
		Text                    string
		Marked                  bool
		Before, Mark, Following string
	}
	htmlFix struct {
		Title, Kind, Refused string
		Diffs                []htmlDiff
		Ops                  []string
		OpsLeftOut           int
	}
	htmlDiff struct {
		File    string
		Lines   []htmlDiffLine
		LeftOut int
	}
	htmlDiffLine struct {
		Op   string // "+", "-" or " "
		N    int    // of the file as it is; 0 for a line that is added
		Text string
	}
)

// tell puts the findings on the page, with details as long as these have room.
func (p *htmlPage) tell(v *view, findings []*lint.Finding, m *htmlMap) {
	namespaces, files := map[string]bool{}, map[string]bool{}
	ids := map[string]bool{}
	// Excerpts are cut file by file and not in the order of the page, so that a file of one long line is gone through once.
	excerpts := v.excerpts(findings)
	room := maxHTMLDetails
	for i, f := range findings {
		if room < -maxHTMLBrief {
			p.LeftOut += len(findings) - i
			break
		}
		x := htmlFinding{
			ID: fmt.Sprintf("f%d", i), Severity: f.Severity.String(), Rule: clean(f.Rule.ID), RuleName: clean(f.Rule.Name), URL: v.opt.ruleURL(f.Rule.ID),
			Message: clean(object.Abridge(f.Message)), Place: shortPlace(f.Location), File: clean(object.Abridge(f.Location.File)), Namespace: clean(shortened(f.Object.Namespace, maxNameBytes)),
		}
		if id := f.Fingerprint(); id != "" && !ids[id] {
			x.ID = "f-" + id
			ids[id] = true
		}
		namespaces[x.Namespace], files[x.File] = true, true
		x.InMap, x.Where = m.has(i), whereabouts(f)
		if x.Brief = room < 0; x.Brief {
			p.Brief++
		} else {
			x.Lines = excerpts[i]
			v.detail(f, &x)
		}
		room -= x.size()
		p.Findings = append(p.Findings, x)
	}
	p.Namespaces, p.Files = choices(namespaces), choices(files)
	p.Open = len(findings) <= openFindings
}

// detail is what a finding tells beside its headline and excerpt.
func (v *view) detail(f *lint.Finding, x *htmlFinding) {
	x.Effect = parts(clean(sentence(object.Abridge(f.Effect))))
	x.Cause = clean(v.changeNote(f))
	shown := f.Location
	if f.Rendered != nil {
		shown = f.Rendered.At
		x.Rendered = clean(object.Abridge(renderedNote(f)))
		if v.renderedInstead(f) && len(x.Lines) > 0 {
			x.Rendered += "; the lines are what comes out, which " + x.File + " does not hold"
		}
	}
	x.Missing = !shown.Exact && shown.Range.Start.IsValid() && len(f.Path) > 0
	for i, r := range f.Related {
		if i == maxHTMLRelated {
			x.RelatedLeftOut = len(f.Related) - i
			break
		}
		x.Related = append(x.Related, htmlNote{shortPlace(r.Location), clean(object.Abridge(r.Message))})
	}
	x.Remedy = parts(clean(sentence(f.Rule.Remedy)))
	for i := range f.Fixes {
		if i == maxHTMLFixes {
			x.FixesLeftOut = len(f.Fixes) - i
			break
		}
		x.Fixes = append(x.Fixes, v.htmlFix(f, &f.Fixes[i]))
	}
}

// parts takes a sentence apart at its backticks. What opens and does not close is text.
func parts(s string) []htmlPart {
	var out []htmlPart
	for s != "" {
		text, rest, opens := strings.Cut(s, "`")
		code, after, closes := strings.Cut(rest, "`")
		if !opens || !closes || code == "" {
			return append(out, htmlPart{Text: s})
		}
		out = append(out, htmlPart{text, code})
		s = after
	}
	return out
}

// size is about how many bytes of the page a finding takes.
func (x *htmlFinding) size() int {
	n := briefBytes + written(x.Message, x.Place, x.File, x.File, x.Namespace, x.Where)
	if x.Brief {
		return n
	}
	n += cardBytes - briefBytes
	for _, p := range slices.Concat(x.Effect, x.Remedy) {
		n += written(p.Text, p.Code)
	}
	for _, l := range x.Lines {
		n += lineBytes + written(l.Text, l.Before, l.Mark, l.Following)
	}
	for _, r := range x.Related {
		n += lineBytes + written(r.Place, r.Message)
	}
	for _, f := range x.Fixes {
		n += 4*lineBytes + written(f.Title, f.Refused)
		for _, o := range f.Ops {
			n += lineBytes + written(o)
		}
		for _, d := range f.Diffs {
			for _, l := range d.Lines {
				n += lineBytes + written(l.Text)
			}
		}
	}
	return n
}

// written is how many bytes texts take once they are escaped.
func written(texts ...string) int {
	n := 0
	for _, s := range texts {
		n += len(s)
		for i := range len(s) {
			switch s[i] {
			case '<', '>', '&', '"', '\'':
				n += 4
			}
		}
	}
	return n
}

// shortPlace is place for names of files that may be longer than anybody reads.
func shortPlace(l object.Location) string {
	l.File = object.Abridge(l.File)
	return place(l)
}

// excerpts cuts the lines around the places of findings out of the files.
func (v *view) excerpts(findings []*lint.Finding) [][]htmlLine {
	order := make([]int, len(findings))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := findings[a].Location, findings[b].Location
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Range.Start.Line, y.Range.Start.Line), cmp.Compare(x.Range.Start.Col, y.Range.Start.Col))
	})
	out := make([][]htmlLine, len(findings))
	e := excerpter{sources: v.Sources}
	for _, i := range order {
		f := findings[i]
		loc, file, cutter := f.Location, v.Sources[f.Location.File], &e
		if v.renderedInstead(f) {
			loc, file = f.Rendered.At, f.Rendered.File
			cutter = &excerpter{sources: map[string]*object.File{loc.File: file}}
		}
		x, ok := cutter.at(loc)
		if !ok {
			continue
		}
		line := loc.Range.Start.Line
		around := func(from, to int) (lines []htmlLine) {
			for n := max(1, from); n <= to; n++ {
				lines = append(lines, htmlLine{N: n, Text: shownLine(file.Line(n))})
			}
			return lines
		}
		lines := append(around(line-contextLines, line-1), htmlLine{N: line, Marked: true, Before: x.before, Mark: x.mark, Following: x.after})
		lines = append(lines, around(line+1, line+contextLines)...)
		if v.renderedInstead(f) { // they are no lines of the file that is named
			for j := range lines {
				lines[j].N = 0
			}
		}
		for len(lines) > 0 && !lines[len(lines)-1].Marked && lines[len(lines)-1].Text == "" {
			lines = lines[:len(lines)-1]
		}
		out[i] = lines
	}
	return out
}

// shownLine is a line of a file, clean and no longer than an excerpt.
func shownLine(line string) string {
	short := head(line, excerptCells)
	if len(short) < len(line) {
		short += "…"
	}
	return strings.TrimRight(expandTabs(cleaned(short, '\t'), 0), " ")
}

func (v *view) htmlFix(f *lint.Finding, x *lint.Fix) htmlFix {
	out := htmlFix{Title: clean(object.Abridge(x.Title)), Kind: kindOfFix(x.Safety)}
	edits, err := v.edits(f, x)
	if err != nil {
		out.Refused = clean(object.Abridge(err.Error()))
	}
	if len(edits) > 0 {
		if out.Diffs = v.diffs(edits); out.Diffs != nil {
			return out
		}
	}
	for i, op := range x.Ops {
		if i == maxHTMLOps {
			out.OpsLeftOut = len(x.Ops) - i
			break
		}
		text := string(op.Kind) + " " + op.Path.String()
		if op.Kind != lint.Remove {
			text += ": " + flow(op.Value)
		}
		out.Ops = append(out.Ops, clean(shortened(text, maxValueBytes)))
	}
	if x.Create != nil {
		out.Ops = append(out.Ops, clean(shortened("create "+flow(x.Create.Object), maxValueBytes)))
	}
	return out
}

// shortened cuts a text that is too long to be read.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// diffs shows edits as lines that go and lines that come; nil if the files are not at hand, or their lines too long to be read.
func (v *view) diffs(edits []Edit) []htmlDiff {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start, b.Start)) })
	var out []htmlDiff
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].File == edits[0].File {
			n++
		}
		f := v.Sources[edits[0].File]
		if f == nil {
			return nil
		}
		lines, ok := diffOf(f, edits[:n])
		if !ok {
			return nil
		}
		d := htmlDiff{File: clean(f.Name), Lines: lines}
		if more := len(lines) - maxDiffLines; more > 0 {
			d.Lines, d.LeftOut = lines[:maxDiffLines], more
		}
		out = append(out, d)
		edits = edits[n:]
	}
	return out
}

// diffOf compares the lines that edits of a file touch with what they become. Edits are sorted.
func diffOf(f *object.File, edits []Edit) (out []htmlDiffLine, ok bool) {
	text, bom := f.Text(), 0
	if f.HasBOM() {
		bom = 3
	}
	lineStart := func(off int) int { return strings.LastIndexByte(text[:off], '\n') + 1 }
	lineEnd := func(off int) int {
		if i := strings.IndexByte(text[off:], '\n'); i >= 0 {
			return off + i + 1
		}
		return len(text)
	}
	for i := 0; i < len(edits); {
		start, end := edits[i].Start-bom, edits[i].End-bom
		if start < 0 || end < start || end > len(text) {
			return nil, false
		}
		from, to := lineStart(start), lineEnd(end)
		var changed strings.Builder
		at := from
		for ; i < len(edits) && edits[i].Start-bom <= to; i++ { // those on the same lines, or the next
			start, end = edits[i].Start-bom, edits[i].End-bom
			if start < at || end < start || end > len(text) {
				return nil, false
			}
			changed.WriteString(text[at:start])
			changed.WriteString(edits[i].Text)
			at, to = end, max(to, lineEnd(end))
		}
		changed.WriteString(text[at:to])
		if to-from > maxDiffBytes || changed.Len() > maxDiffBytes {
			return nil, false
		}
		if len(out) > 0 {
			out = append(out, htmlDiffLine{Op: " ", Text: "…"})
		}
		out = append(out, lineDiff(text[from:to], changed.String(), f.Pos(from).Line)...)
	}
	return out, true
}

// lineDiff drops what two texts have in common at their ends, up to a line; first is the number of the first line.
func lineDiff(before, after string, first int) []htmlDiffLine {
	split := func(s string) []string {
		if s == "" {
			return nil
		}
		return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	}
	a, b := split(before), split(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []htmlDiffLine
	add := func(op string, n int, lines ...string) {
		for i, l := range lines {
			x := htmlDiffLine{Op: op, Text: shownLine(strings.TrimSuffix(l, "\r"))}
			if n > 0 {
				x.N = n + i
			}
			out = append(out, x)
		}
	}
	if head > 0 {
		add(" ", first+head-1, a[head-1])
	}
	add("-", first+head, a[head:len(a)-tail]...)
	add("+", 0, b[head:len(b)-tail]...)
	if tail > 0 {
		add(" ", first+len(a)-tail, a[len(a)-tail])
	}
	return out
}
