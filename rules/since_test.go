package rules_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/object"
)

// Judging the past only as far as it matters must not make a difference: every bad file of the rules becomes the fixed one, and the other
// way round.
func TestEarlierIsEnough(t *testing.T) {
	all := all(t)
	engines := map[*lint.Config]*lint.Engine{}
	compared, found, known := 0, 0, 0
	for i := range all {
		dir := "testdata"
		if all[i].Lang == "rego" {
			dir = "../policies/testdata"
		}
		cases, err := linttest.Cases(dir, all[i].Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if !c.Bad {
				continue
			}
			if engines[c.Config] == nil {
				if engines[c.Config], err = lint.New(all, c.Config); err != nil {
					t.Fatal(err)
				}
			}
			e := engines[c.Config]
			bad, fixed := sameName(t, c.Path), sameName(t, c.FixedPath())
			for _, change := range [][2]*object.File{{bad, fixed}, {fixed, bad}} {
				then := lint.Input{Files: change[:1], Around: c.Context}
				full, err := e.Lint(t.Context(), then)
				if err != nil {
					t.Fatal(err)
				}
				now, err := e.Lint(t.Context(), lint.Input{Files: change[1:], Around: c.Context})
				if err != nil {
					t.Fatal(err)
				}
				part, err := e.Earlier(t.Context(), then, now)
				if err != nil {
					t.Fatal(err)
				}
				found += len(now.Findings)
				var reports [2]lint.Report
				for n, before := range []*lint.Report{full, part} {
					reports[n] = *now
					reports[n].Compare(&lint.Before{
						Report: before, Now: append(slices.Clone(c.Context), change[1]), Then: append(slices.Clone(c.Context), change[0]),
						Unchanged: func(string) bool { return false },
					})
				}
				compared++
				known += reports[1].Since.Known
				if diff := cmp.Diff(fingerprints(&reports[0]), fingerprints(&reports[1])); diff != "" {
					t.Errorf("%s: -all of the past +what matters of it:\n%s", c.Path, diff)
				}
			}
		}
	}
	if compared < 200 || found < 500 || known < 50 {
		t.Errorf("%d changes with %d findings, of which %d were known, show nothing", compared, found, known)
	}
}

// sameName reads a file under a name that its other version has too.
func sameName(t *testing.T, path string) *object.File {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() //nolint:errcheck // it was only read
	f, err := object.Load(t.Context(), "a.yaml", in, object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func fingerprints(r *lint.Report) []string {
	var out []string
	for i := range r.Findings {
		f := &r.Findings[i]
		out = append(out, f.Rule.ID+" "+f.Object.String()+" "+f.Path.String()+" "+f.Message+" "+f.Fingerprint())
	}
	return out
}
