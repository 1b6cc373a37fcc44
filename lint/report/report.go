package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/object"
)

// Reporter writes a report in one format.
type Reporter interface {
	// Report writes the whole report. An error is that of the writer, or a fix whose value cannot be written.
	Report(io.Writer, *lint.Report) error
}

// Options says how reports are written. The zero value shows every finding, without colour.
type Options struct {
	Color     bool // colour text, compact and notes; the caller knows whether the output is a terminal
	NoExcerpt bool // leave the lines of the file out of text
	Verbose   bool // Notes also tells which findings are silenced, which rules did not run, and the mesh scopes
	Quiet     bool // no summary after text, and Notes tells problems only

	// Fixed is the lowest safety of the fixes that have been applied, as far as they can be; text does not offer these.
	Fixed lint.Safety

	// MinSeverity is the lowest severity that any format shows; the zero value shows all.
	MinSeverity lint.Severity
	// SkipTold makes Notes leave out a problem at a place where a finding without an object already tells it. It is for runs
	// whose findings go to the same terminal.
	SkipTold bool

	Version string // of meshvet, for formats that name the tool
	DocsURL string // where the pages of the rules are: the page of a rule is DocsURL/ID.md; "" gives no links

	// Edits turns a fix that can be applied into replacements in files, for json, sarif and html. Its error is the reason why that cannot be
	// done. It is asked for the fixes that are written only, once by each of the three. Without it they tell fixes as operations alone.
	Edits func(*lint.Finding, *lint.Fix) ([]Edit, error)

	// Egress works out who reaches which host and by which policy, for html, which shows it as a map and asks once. A nil map, or an
	// error, leaves the map out; the page says why. Without it there is no map either.
	Egress func() (*egress.Map, error)

	// FailOn is the lowest severity that fails the run: junit has findings from there on as failures. The zero value means Warning.
	FailOn lint.Severity

	// Root is the absolute path of the folder that services see as the root of the repository, and Dir that of the folder from
	// which relative file names start. With both, sarif, junit, github, gitlab, checkstyle and markdown name files from Root;
	// otherwise, and in all other formats, files keep the names they have in the report.
	Root, Dir string
}

// Edit is a replacement of some text of a file.
type Edit struct {
	File       string
	Start, End int          // bytes of the file, its byte-order mark included; End is exclusive
	Range      object.Range // the same place in lines and columns
	Text       string
}

// formats are in the order in which they are listed to people.
var formats = [...]struct {
	name  string
	write func(*bufio.Writer, *view) error
}{
	{"text", writeText},
	{"compact", writeCompact},
	{"json", writeJSON},
	{"sarif", writeSARIF},
	{"junit", writeJUnit},
	{"github", writeGitHub},
	{"gitlab", writeGitLab},
	{"checkstyle", writeCheckstyle},
	{"markdown", writeMarkdown},
	{"html", writeHTML},
}

// Names lists the formats.
func Names() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Named returns the reporter of a format. The error for a name that is none lists those that are, and which may be meant.
func Named(name string, opt Options) (Reporter, error) {
	for _, f := range formats {
		if f.name == name {
			return reporter{f.name, f.write, opt}, nil
		}
	}
	hint := ""
	if n := lint.Slip(name, Names()); n != "" {
		hint = fmt.Sprintf("did you mean %q? ", n)
	}
	return nil, fmt.Errorf("unknown format %q: %sthe formats are %s", name, hint, strings.Join(Names(), ", "))
}

type reporter struct {
	name  string
	write func(*bufio.Writer, *view) error
	opt   Options
}

func (p reporter) Report(w io.Writer, r *lint.Report) error {
	bw := bufio.NewWriter(w)
	err := p.write(bw, newView(r, p.opt))
	if err == nil {
		err = bw.Flush()
	}
	if err != nil {
		return fmt.Errorf("write %s report: %w", p.name, err)
	}
	return nil
}

// view is the part of a report that is shown. All formats see the report through one, so that they agree on what that is.
type view struct {
	*lint.Report
	opt    Options
	hidden int // findings below Options.MinSeverity
}

func newView(r *lint.Report, opt Options) *view {
	v := &view{Report: r, opt: opt}
	low := func(f *lint.Finding) bool { return f.Severity < opt.MinSeverity }
	for i := range r.Findings {
		if low(&r.Findings[i]) {
			v.hidden++
		}
	}
	if v.hidden == 0 && len(r.Suppressed) == 0 {
		return v
	}
	shown := *r
	shown.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f lint.Finding) bool { return low(&f) })
	shown.Suppressed = slices.DeleteFunc(slices.Clone(r.Suppressed), func(f lint.SuppressedFinding) bool { return low(&f.Finding) })
	v.Report = &shown
	return v
}

// entry is a finding as the formats for programs tell it.
type entry struct {
	*lint.Finding
	suppression *lint.Suppression // nil unless the finding is silenced
}

// entries are the findings and those that are silenced, in the order of the report.
func (v *view) entries() []entry {
	out := make([]entry, 0, len(v.Findings)+len(v.Suppressed))
	for i := range v.Findings {
		out = append(out, entry{Finding: &v.Findings[i]})
	}
	if len(v.Suppressed) == 0 {
		return out
	}
	for i := range v.Suppressed {
		out = append(out, entry{&v.Suppressed[i].Finding, &v.Suppressed[i].Suppression})
	}
	slices.SortStableFunc(out, func(a, b entry) int { return lint.CompareFindings(*a.Finding, *b.Finding) })
	return out
}

// edits are the replacements that a fix consists of. A fix that is to be read only has none, and neither has one without operations.
func (v *view) edits(f *lint.Finding, x *lint.Fix) ([]Edit, error) {
	if v.opt.Edits == nil || x.Safety == lint.Show || len(x.Ops) == 0 && x.Create == nil {
		return nil, nil
	}
	return v.opt.Edits(f, x)
}

// accepted counts the findings that are silenced: by their authors, and by a baseline.
func (v *view) accepted() (suppressed, known int) {
	for i := range v.Suppressed {
		if v.Suppressed[i].Suppression.Kind == lint.ByBaseline {
			known++
		}
	}
	return len(v.Suppressed) - known, known
}

// causedNote says what a reader of a finding's file would wonder about: that the change which brings it in is elsewhere, or that the object
// is made from the file by something else; "" of any other.
func (v *view) causedNote(f *lint.Finding) string {
	note := v.changeNote(f)
	if f.Rendered != nil {
		rendered := "rendered " + renderedNote(f)
		if note != "" {
			return rendered + "; " + note
		}
		return rendered
	}
	return note
}

// renderedNote names what renders an object.
func renderedNote(f *lint.Finding) string {
	names, more := f.Rendered.By, ""
	if n := len(names) - mostRenderings; n > 0 {
		names, more = names[:mostRenderings], fmt.Sprintf(" and %d more", n)
	}
	return "by " + strings.Join(names, ", ") + more
}

// mostRenderings is how many kustomizations and charts a sentence names.
const mostRenderings = 5

// changeNote says of a finding that the change which brings it in is elsewhere; "" of any other.
func (v *view) changeNote(f *lint.Finding) string {
	if !f.Caused || v.Since == nil {
		return ""
	}
	return "this file has not changed since " + v.Since.Revision + "; a change elsewhere brings the finding in"
}

// interrupted says whether the run was stopped before it was complete.
func (v *view) interrupted() bool {
	return slices.ContainsFunc(v.Problems, func(p object.Problem) bool { return p.Kind == lint.Interrupted })
}

// severities are those that findings have, worst first.
var severities = [...]lint.Severity{lint.Error, lint.Warning, lint.Info}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
