package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldens are the reports that are kept in testdata; schemas and consumers are held against them too.
var goldens = []struct {
	name   string // testdata/NAME.golden
	format string
	opt    Options
	report func(testing.TB) *lint.Report
}{
	{"text", "text", Options{}, fixture},
	{"text-color", "text", Options{Color: true, MinSeverity: lint.Error}, fixture},
	{"text-no-excerpt", "text", Options{NoExcerpt: true}, fixture},
	{"text-warnings", "text", Options{MinSeverity: lint.Warning, Quiet: true}, fixture},
	{"text-empty", "text", Options{}, empty},
	{"text-suppressed", "text", Options{}, suppressed},
	{"text-suppressed-warnings", "text", Options{MinSeverity: lint.Warning}, suppressed},
	{"text-since", "text", Options{}, changed},
	{"compact", "compact", Options{}, fixture},
	{"compact-empty", "compact", Options{}, empty},
	{"compact-suppressed", "compact", Options{}, suppressed},
	{"github", "github", Options{Root: "/src", Dir: "/src/deploy"}, fixture},
	{"github-empty", "github", Options{}, empty},
	{"github-suppressed", "github", Options{}, suppressed},
	{"github-since", "github", Options{}, changed},
	{"json", "json", Options{}, fixture},
	{"json-errors", "json", Options{MinSeverity: lint.Error}, fixture},
	{"json-edits", "json", Options{Edits: edits}, fixture},
	{"json-empty", "json", Options{}, empty},
	{"json-suppressed", "json", Options{}, suppressed},
	{"json-suppressed-warnings", "json", Options{MinSeverity: lint.Warning}, suppressed},
	{"json-since", "json", Options{}, changed},
	{"sarif", "sarif", Options{Version: "v1.2.3", DocsURL: "https://meshvet.example/rules/"}, fixture},
	{"sarif-root", "sarif", Options{MinSeverity: lint.Error, Root: "/src", Dir: "/src/deploy", Version: "devel"}, fixture},
	{"sarif-edits", "sarif", Options{Edits: edits, Root: "/src", Dir: "/src/deploy"}, fixture},
	{"sarif-empty", "sarif", Options{}, empty},
	{"sarif-suppressed", "sarif", Options{}, suppressed},
	{"text-baseline", "text", Options{}, baselined},
	{"json-baseline", "json", Options{}, baselined},
	{"sarif-baseline", "sarif", Options{Root: "/src", Dir: "/src/deploy"}, baselined},
	{"sarif-since", "sarif", Options{}, changed},
	{"junit", "junit", Options{DocsURL: "https://meshvet.example/rules/", Root: "/src", Dir: "/src/deploy"}, fixture},
	{"junit-errors", "junit", Options{MinSeverity: lint.Error}, fixture},
	{"junit-empty", "junit", Options{}, empty},
	{"junit-suppressed", "junit", Options{}, suppressed},
	{"junit-baseline", "junit", Options{}, baselined},
	{"junit-since", "junit", Options{}, changed},
	{"gitlab", "gitlab", Options{DocsURL: "https://meshvet.example/rules/", Root: "/src", Dir: "/src/deploy"}, fixture},
	{"gitlab-errors", "gitlab", Options{MinSeverity: lint.Error}, fixture},
	{"gitlab-empty", "gitlab", Options{}, empty},
	{"gitlab-suppressed", "gitlab", Options{}, suppressed},
	{"gitlab-baseline", "gitlab", Options{}, baselined},
	{"gitlab-since", "gitlab", Options{}, changed},
	{"checkstyle", "checkstyle", Options{DocsURL: "https://meshvet.example/rules/", Root: "/src", Dir: "/src/deploy"}, fixture},
	{"checkstyle-errors", "checkstyle", Options{MinSeverity: lint.Error}, fixture},
	{"checkstyle-empty", "checkstyle", Options{}, empty},
	{"checkstyle-suppressed", "checkstyle", Options{}, suppressed},
	{"checkstyle-baseline", "checkstyle", Options{}, baselined},
	{"checkstyle-since", "checkstyle", Options{}, changed},
	{"markdown", "markdown", Options{DocsURL: "https://meshvet.example/rules/", Root: "/src", Dir: "/src/deploy"}, fixture},
	{"markdown-errors", "markdown", Options{MinSeverity: lint.Error}, fixture},
	{"markdown-empty", "markdown", Options{}, empty},
	{"markdown-suppressed", "markdown", Options{}, suppressed},
	{"markdown-baseline", "markdown", Options{}, baselined},
	{"markdown-since", "markdown", Options{}, changed},
	{"junit-fail-on-info", "junit", Options{FailOn: lint.Info}, suppressed},
}

func write(t testing.TB, format string, opt Options, r *lint.Report) []byte {
	t.Helper()
	p, err := Named(format, opt)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := p.Report(&buf, r); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got), run with -update if it shall:\n%s", file, diff)
	}
}

func TestGolden(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			r := g.report(t)
			got := write(t, g.format, g.opt, r)
			checkGolden(t, g.name, got)
			if again := write(t, g.format, g.opt, r); !bytes.Equal(got, again) {
				t.Error("two reports of the same run differ")
			}
		})
	}
}

func TestNotesGolden(t *testing.T) {
	for _, g := range []struct {
		name   string
		opt    Options
		report func(testing.TB) *lint.Report
	}{
		{"notes", Options{}, fixture},
		{"notes-verbose", Options{Verbose: true, SkipTold: true}, fixture},
		{"notes-quiet", Options{Quiet: true}, fixture},
		{"notes-color", Options{Color: true}, fixture},
		{"notes-suppressed", Options{}, suppressed},
		{"notes-since-verbose", Options{Verbose: true}, changed},
		{"notes-suppressed-verbose", Options{Verbose: true}, suppressed},
		{"notes-baseline", Options{}, baselined},
		{"notes-baseline-verbose", Options{Verbose: true}, baselined},
	} {
		t.Run(g.name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := Notes(&buf, g.report(t), g.opt); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, g.name, buf.Bytes())
		})
	}
	t.Run("context", func(t *testing.T) {
		r := &lint.Report{Skipped: []lint.Skip{
			{File: "a.yaml", Reason: "is a template", Cause: lint.Templated},
			{File: "b.yaml", Reason: "is a template", Cause: lint.Templated, Around: true},
			{File: "c.yaml", Reason: "document 1 cannot be read", Cause: lint.Unread, Around: true},
			{File: "c.yaml", Reason: "document 2 cannot be read", Cause: lint.Unread, Around: true},
		}}
		const summed = "context: notice: 2 files around the paths given are templates or cannot be read, so what they hold is not known; -v lists them\n"
		const own, b, c = "a.yaml: notice: is a template\n", "b.yaml: notice: is a template\n", "c.yaml: notice: document 1 cannot be read\nc.yaml: notice: document 2 cannot be read\n"
		for _, x := range []struct {
			skipped int
			opt     Options
			want    string
		}{
			{4, Options{}, own + summed},
			{4, Options{Verbose: true}, own + b + c},
			{4, Options{Quiet: true}, ""},
			{2, Options{}, own + b},
		} {
			var buf bytes.Buffer
			if err := Notes(&buf, &lint.Report{Skipped: r.Skipped[:x.skipped]}, x.opt); err != nil {
				t.Fatal(err)
			}
			if buf.String() != x.want {
				t.Errorf("%d skipped, %+v: %q, want %q", x.skipped, x.opt, buf.String(), x.want)
			}
		}
	})
	t.Run("empty", func(t *testing.T) {
		var buf bytes.Buffer
		if err := Notes(&buf, &lint.Report{}, Options{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		if buf.Len() > 0 {
			t.Errorf("notes on nothing: %q", buf.String())
		}
	})
}
