package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/meshvet/meshvet/lint"
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
	Verbose   bool // Notes also tells which rules did not run, and the mesh scopes
	Quiet     bool // no summary after text, and Notes tells problems only

	// MinSeverity is the lowest severity that any format shows; the zero value shows all.
	MinSeverity lint.Severity
	// SkipTold makes Notes leave out a problem at a place where a finding without an object already tells it. It is for runs
	// whose findings go to the same terminal.
	SkipTold bool

	Version string // of meshvet, for formats that name the tool
	DocsURL string // where the pages of the rules are: the page of a rule is DocsURL/ID.md; "" gives no links

	// Root is the absolute path of the folder that code-scanning services see as the root of the repository, and Dir that of
	// the folder from which relative file names start. With both, sarif and github name files from Root; otherwise, and in all
	// other formats, files keep the names they have in the report.
	Root, Dir string
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
	{"github", writeGitHub},
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
	for _, f := range r.Findings {
		if f.Severity < opt.MinSeverity {
			v.hidden++
		}
	}
	if v.hidden == 0 {
		return v
	}
	shown := *r
	shown.Findings = make([]lint.Finding, 0, len(r.Findings)-v.hidden)
	for _, f := range r.Findings {
		if f.Severity >= opt.MinSeverity {
			shown.Findings = append(shown.Findings, f)
		}
	}
	v.Report = &shown
	return v
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
