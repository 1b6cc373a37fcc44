package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/report"
)

// TestSuppressGuide judges the manifests that the guide shows: they have the findings that stand below them, and none if nothing does,
// and each accepts something.
func TestSuppressGuide(t *testing.T) {
	all, err := allRules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/guide/suppress.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```(?:\n\n```text\n(.*?)```)?").FindAllStringSubmatch(string(text), -1)
	manifests, configs := 0, 0
	for _, b := range blocks {
		if !strings.Contains(b[1], "kind: ServiceEntry") {
			configs++
			cfg, problems := lint.ReadConfig(".meshvet.yaml", []byte(b[1]))
			if len(problems) > 0 {
				t.Fatalf("%v in\n%s", problems, b[1])
			}
			if _, err := lint.New(all, cfg); err != nil {
				t.Errorf("%v in\n%s", err, b[1])
			}
			continue
		}
		manifests++
		f, err := object.Load(t.Context(), "payments.yaml", strings.NewReader(b[1]), object.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := lint.New(all, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Lint(t.Context(), lint.Input{Files: []*object.File{f}})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		compact, err := report.Named("compact", report.Options{MinSeverity: lint.Warning})
		if err != nil {
			t.Fatal(err)
		}
		if err := compact.Report(&out, r); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b[2], out.String()); diff != "" {
			t.Errorf("-guide +now of\n%s\n%s", b[1], diff)
		}
		if b[2] == "" && len(r.Suppressed) == 0 {
			t.Errorf("nothing is suppressed in\n%s", b[1])
		}
	}
	if manifests < 6 || configs != 1 {
		t.Errorf("%d manifests and %d configurations", manifests, configs)
	}
}
