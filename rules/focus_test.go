package rules_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/object"
)

// TestFocus: a file that is judged alone, with all others as context, has the findings that it has in a run over everything. The bad
// fixtures of all rules are one mesh here, in which much meets that knows nothing of each other: the same objects, hosts and wildcards.
func TestFocus(t *testing.T) {
	set := all(t)
	var files []*object.File
	err := linttest.EachFile("testdata", "../policies/testdata", set, func(_ linttest.Case, f *object.File) {
		name := strings.ReplaceAll(strings.TrimPrefix(f.Name, "../"), "/", "-") // in one folder, or they would be meshes of their own
		flat, err := object.Load(context.Background(), name, strings.NewReader(f.Text()), object.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "-bad.yaml") && len(flat.Problems) == 0 {
			files = append(files, flat)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := lint.New(set, &lint.Config{Complete: lint.AllKinds(), Extends: []string{lint.Strict}})
	if err != nil {
		t.Fatal(err)
	}
	found := func(files, around []*object.File) []string {
		r, err := e.Lint(context.Background(), lint.Input{Files: files, Around: around})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range r.Findings {
			out = append(out, fmt.Sprintf("%s %s %s", f.Location, f.Rule.ID, f.Message))
		}
		return out
	}
	whole := found(files, nil)
	var parts []string
	for i := range files {
		parts = append(parts, found(files[i:i+1], slices.Delete(slices.Clone(files), i, i+1))...)
	}
	slices.Sort(whole)
	slices.Sort(parts)
	if len(files) < 40 || len(whole) < 200 {
		t.Errorf("%d findings in %d files are too few", len(whole), len(files))
	}
	if diff := cmp.Diff(whole, parts); diff != "" {
		t.Errorf("one file at a time finds something else (-all at once +one at a time):\n%s", diff)
	}
}
