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

// goldens are the reports that are kept in testdata; the JSON and SARIF ones are also held to their schemas.
var goldens = []struct {
	name   string // testdata/NAME.golden
	format string
	opt    Options
	empty  bool
}{
	{name: "text", format: "text"},
	{name: "text-color", format: "text", opt: Options{Color: true, MinSeverity: lint.Error}},
	{name: "text-no-excerpt", format: "text", opt: Options{NoExcerpt: true}},
	{name: "text-warnings", format: "text", opt: Options{MinSeverity: lint.Warning, Quiet: true}},
	{name: "text-empty", format: "text", empty: true},
	{name: "compact", format: "compact"},
	{name: "compact-empty", format: "compact", empty: true},
	{name: "github", format: "github", opt: Options{Root: "/src", Dir: "/src/deploy"}},
	{name: "github-empty", format: "github", empty: true},
	{name: "json", format: "json"},
	{name: "json-errors", format: "json", opt: Options{MinSeverity: lint.Error}},
	{name: "json-empty", format: "json", empty: true},
	{name: "sarif", format: "sarif", opt: Options{Version: "v1.2.3", DocsURL: "https://meshvet.example/rules/"}},
	{name: "sarif-root", format: "sarif", opt: Options{MinSeverity: lint.Error, Root: "/src", Dir: "/src/deploy", Version: "devel"}},
	{name: "sarif-empty", format: "sarif", empty: true},
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
			r := &lint.Report{}
			if !g.empty {
				r = fixture(t)
			}
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
		name string
		opt  Options
	}{
		{"notes", Options{}},
		{"notes-verbose", Options{Verbose: true, SkipTold: true}},
		{"notes-quiet", Options{Quiet: true}},
		{"notes-color", Options{Color: true}},
	} {
		t.Run(g.name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := Notes(&buf, fixture(t), g.opt); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, g.name, buf.Bytes())
		})
	}
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
