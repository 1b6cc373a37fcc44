package report

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"github.com/fatih/color"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// proseCells is the width to which effects and help are wrapped.
const proseCells = 100

// pens colour words. Each writer has its own, since whether there is colour differs between outputs of one run.
type pens struct {
	severity map[lint.Severity]*color.Color
	rule     *color.Color
	faint    *color.Color
}

func newPens(on bool) pens {
	pen := func(a ...color.Attribute) *color.Color {
		c := color.New(a...)
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	return pens{
		severity: map[lint.Severity]*color.Color{
			lint.Error:   pen(color.FgRed, color.Bold),
			lint.Warning: pen(color.FgYellow, color.Bold),
			lint.Info:    pen(color.FgBlue, color.Bold),
		},
		rule:  pen(color.FgCyan),
		faint: pen(color.Faint),
	}
}

func (p pens) of(s lint.Severity, text string) string {
	if c := p.severity[s]; c != nil {
		return c.Sprint(text)
	}
	return text
}

// writeText writes findings for people: each with the line that it points into, what it leads to, and what to do.
func writeText(w *bufio.Writer, v *view) error {
	t := textWriter{view: v, pens: newPens(v.opt.Color), excerpter: excerpter{sources: v.Sources}}
	for i := range v.Findings {
		t.finding(&v.Findings[i])
		t.buf.WriteByte('\n')
		w.Write(t.buf.Bytes())
		t.buf.Reset()
	}
	if !v.opt.Quiet {
		fmt.Fprintln(w, summary(v))
		if hint := fixHint(v); hint != "" {
			fmt.Fprintln(w, hint)
		}
	}
	return nil
}

// fixHint says how many findings have fixes that can be applied, and by what; "" if none has that has not been applied.
func fixHint(v *view) string {
	safe, unsafe := 0, 0
	for i := range v.Findings {
		if inCluster(v.Findings[i].Location) { // fixes are made in files
			continue
		}
		switch v.Findings[i].Offers() {
		case lint.Safe:
			if v.opt.Fixed == lint.NoFix {
				safe++
			}
		case lint.Unsafe:
			if v.opt.Fixed != lint.Unsafe {
				unsafe++
			}
		}
	}
	switch {
	case safe == 0 && unsafe == 0:
		return ""
	case unsafe == 0:
		return fmt.Sprintf("%d of these can be fixed with `meshvet fix`", safe)
	case safe == 0:
		return fmt.Sprintf("%d of these can be fixed with `meshvet fix --unsafe`", unsafe)
	}
	return fmt.Sprintf("%d of these can be fixed with `meshvet fix`, %d more with --unsafe", safe, unsafe)
}

// writeCompact writes one line for each finding and nothing else.
func writeCompact(w *bufio.Writer, v *view) error {
	pens := newPens(v.opt.Color)
	for i := range v.Findings {
		fmt.Fprintln(w, headline(&v.Findings[i], pens))
	}
	return nil
}

// headline is what both formats say first: file:line:col: severity: message [ID name].
func headline(f *lint.Finding, p pens) string {
	rule := clean(f.Rule.ID + " " + f.Rule.Name)
	return place(f.Location) + ": " + p.of(f.Severity, f.Severity.String()) + ": " + clean(f.Message) + " " + p.rule.Sprint("["+rule+"]")
}

type textWriter struct {
	*view
	pens
	excerpter excerpter
	buf       bytes.Buffer
}

func (t *textWriter) finding(f *lint.Finding) {
	fmt.Fprintln(&t.buf, headline(f, t.pens))
	x, found := excerpt{}, false
	instead := t.renderedInstead(f)
	if !t.opt.NoExcerpt && !instead {
		x, found = t.excerpter.at(f.Location)
	}
	number := "   "
	if found {
		number = fmt.Sprintf("%3d", f.Location.Range.Start.Line)
	}
	if instead && !t.opt.NoExcerpt {
		x, found = (&excerpter{sources: map[string]*object.File{f.Rendered.At.File: f.Rendered.File}}).at(f.Rendered.At)
	}
	indent := strings.Repeat(" ", len(number)+1)
	missing := !f.Location.Exact && f.Location.Range.Start.IsValid() && len(f.Path) > 0
	if f.Rendered != nil {
		missing = !f.Rendered.At.Exact && f.Rendered.At.Range.Start.IsValid() && len(f.Path) > 0
	}

	if where := whereabouts(f); where != "" {
		if missing && !found {
			where += " (the field is missing; the place is its parent's)"
		}
		fmt.Fprintf(&t.buf, "%sin %s\n", indent, where)
	}
	if found {
		gutter := t.faint.Sprint("|")
		fmt.Fprintf(&t.buf, "%s %s\n", t.faint.Sprint(number), strings.TrimRight(gutter+" "+x.line, " "))
		caret := t.of(f.Severity, "^"+strings.Repeat("~", x.width-1))
		if missing {
			caret += " the field is missing; this is its parent"
		}
		fmt.Fprintf(&t.buf, "%s%s %s%s\n", indent, gutter, strings.Repeat(" ", x.pad), caret)
	}
	if f.Rendered != nil {
		note := renderedNote(f)
		if instead && found {
			note += "; the line above is what comes out, which " + f.Location.File + " does not hold"
		}
		t.prose(indent, "rendered", note)
	}
	t.prose(indent, "effect", f.Effect)
	for _, r := range f.Related {
		fmt.Fprintf(&t.buf, "%s%s: %s\n", indent, place(r.Location), clean(r.Message))
	}
	t.prose(indent, "cause", t.changeNote(f))
	t.prose(indent, "help", help(f))
}

// renderedInstead says whether the line of the source that a finding points at does not show what was rendered of it.
func (v *view) renderedInstead(f *lint.Finding) bool {
	if f.Rendered == nil || !f.Rendered.At.Range.Start.IsValid() {
		return false
	}
	source := v.Sources[f.Location.File]
	return source == nil || strings.TrimSpace(source.Line(f.Location.Range.Start.Line)) != strings.TrimSpace(f.Rendered.Line())
}

// whereabouts names the object and the field, which the excerpt seldom shows.
func whereabouts(f *lint.Finding) string {
	if f.Object.Kind == "" {
		return ""
	}
	where := f.Object.String()
	if len(f.Path) > 0 {
		where += ", field " + f.Path.String()
	}
	return clean(object.Abridge(where))
}

// sentence ends text with a full stop, unless it ends a sentence already.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?:") {
		return text
	}
	return text + "."
}

// prose writes a labelled text over as many lines as it takes.
func (t *textWriter) prose(indent, label, text string) {
	lead := indent + label + ": "
	for i, line := range wrap(clean(text), proseCells-len(lead)) {
		if i == 1 {
			lead = strings.Repeat(" ", len(lead))
		}
		fmt.Fprintf(&t.buf, "%s%s\n", lead, line)
	}
}

// wrap cuts text into lines between words. No line but the first begins with two colons, which a runner of GitHub Actions
// takes for a command even after blanks.
func wrap(text string, width int) []string {
	var lines []string
	var line strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		n := cells.StringWidth(word)
		if line.Len() > 0 && used+1+n > width && !strings.HasPrefix(word, "::") {
			lines = append(lines, line.String())
			line.Reset()
			used = 0
		}
		if line.Len() > 0 {
			line.WriteByte(' ')
			used++
		}
		line.WriteString(word)
		used += n
	}
	if line.Len() > 0 {
		lines = append(lines, line.String())
	}
	return lines
}

// summary says how many findings there are and what was looked at.
func summary(v *view) string {
	var b strings.Builder
	if len(v.Findings) == 0 {
		b.WriteString("no findings")
		if v.interrupted() {
			b.WriteString(" so far")
		}
	} else {
		var parts []string
		for _, s := range severities {
			switch n := v.Count(s); {
			case n == 0:
			case s == lint.Info:
				parts = append(parts, fmt.Sprintf("%d info", n))
			default:
				parts = append(parts, count(n, s.String()))
			}
		}
		files, objects := map[string]bool{}, map[string]bool{}
		for _, f := range v.Findings {
			if inCluster(f.Location) {
				objects[f.Location.File] = true
			} else {
				files[f.Location.File] = true
			}
		}
		var in []string
		if len(files) > 0 {
			in = append(in, count(len(files), "file"))
		}
		if len(objects) > 0 {
			in = append(in, count(len(objects), "object")+" of the cluster")
		}
		fmt.Fprintf(&b, "%s: %s in %s", count(len(v.Findings), "finding"), strings.Join(parts, ", "), strings.Join(in, " and "))
		if v.interrupted() {
			b.WriteString(" so far")
		}
	}
	var left []string
	if v.hidden > 0 {
		left = append(left, fmt.Sprintf("%d below %s not shown", v.hidden, v.opt.MinSeverity))
	}
	suppressed, known := v.accepted()
	if suppressed > 0 {
		left = append(left, fmt.Sprintf("%d suppressed", suppressed))
	}
	if known > 0 {
		where := "the baseline"
		if len(v.Baselines) > 1 {
			where = "baselines"
		}
		left = append(left, fmt.Sprintf("%d in %s", known, where))
	}
	if s := v.Since; s != nil && s.Known > 0 {
		left = append(left, fmt.Sprintf("%d not new since %s", s.Known, clean(object.Abridge(s.Revision))))
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(left, ", "))
	}
	fmt.Fprintf(&b, "; %s judged", count(v.Stats.Judged, "object"))
	if n := len(v.Problems); n > 0 {
		fmt.Fprintf(&b, "; %s", count(n, "problem"))
	}
	return b.String()
}
