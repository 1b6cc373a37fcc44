package rules_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/edit"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/object"
)

// TestFixesAreEdits: every fix that a rule offers can be made in the text of the file, and makes of it what the operations mean.
func TestFixesAreEdits(t *testing.T) {
	set := all(t)
	var count edits
	err := linttest.EachFile("testdata", "../policies/testdata", set, func(c linttest.Case, f *object.File) {
		report, err := c.Lint(set, f)
		if err != nil {
			t.Fatal(err)
		}
		count.of(t, []*object.File{f}, report)
	})
	if err != nil {
		t.Fatal(err)
	}
	if count.made < 300 || count.created == 0 || len(count.refused) > 0 {
		t.Errorf("in fixtures %d fixes are made and %d objects created; refused: %v", count.made, count.created, count.refused)
	}
	var corpus edits
	dirs, err := filepath.Glob("../../shared/corpus/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		files := filesIn(t, dir)
		cfg := lint.Config{Complete: lint.AllKinds()}
		for _, r := range set {
			cfg.Enable = append(cfg.Enable, r.ID)
		}
		e, err := lint.New(set, &cfg)
		if err != nil {
			t.Fatal(err)
		}
		report, err := e.Lint(context.Background(), lint.Input{Files: files})
		if err != nil {
			t.Fatal(err)
		}
		corpus.of(t, files, report)
	}
	t.Logf("fixtures: %d fixes made, %d objects created; corpus: %d made, %d created, refused: %v", count.made, count.created, corpus.made, corpus.created, corpus.refused)
	if total := len(corpus.refused); len(dirs) > 0 && (corpus.made < 300 || total*100 > corpus.made) {
		t.Errorf("in public manifests %d fixes are made and %d refused: %v", corpus.made, total, corpus.refused)
	}
}

// filesIn reads all manifests below a folder.
func filesIn(t *testing.T, dir string) []*object.File {
	t.Helper()
	var files []*object.File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		f, err := linttest.Load(path)
		if err == nil {
			files = append(files, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// edits counts what became of fixes.
type edits struct {
	made, created int
	refused       []string
}

// of makes each fix of a report in the text of its file, and nothing else.
func (n *edits) of(t *testing.T, files []*object.File, report *lint.Report) {
	t.Helper()
	for _, finding := range report.Findings {
		for _, fix := range finding.Fixes {
			f, o := holder(files, finding)
			if o == nil {
				t.Errorf("%s: the object of %s is not found", finding.Location, finding.Rule.ID)
				continue
			}
			var es []edit.Edit
			var err error
			if fix.Create != nil {
				es, err = edit.Create(o, fix.Create.Object)
			} else {
				es, err = edit.Lower(o, fix.Ops)
			}
			if err != nil {
				var r *edit.Refusal
				if !errors.As(err, &r) {
					t.Errorf("%s: %s", finding.Location, err)
				}
				n.refused = append(n.refused, finding.Rule.ID+" "+err.Error())
				continue
			}
			after, err := edit.Apply(f.Text(), es)
			if err != nil {
				t.Errorf("%s: %s", finding.Location, err)
				continue
			}
			g, err := object.Load(context.Background(), f.Name, strings.NewReader(after), object.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var want []*object.Object
			for _, x := range f.Objects {
				if x == o && fix.Create == nil {
					if x, err = edit.Patch(o, fix.Ops); err != nil {
						t.Fatal(err)
					}
				}
				want = append(want, x)
				if x == o && fix.Create != nil {
					want = append(want, inMemory(t, fix.Create.Object))
				}
			}
			if a, b := values(want), values(g.Objects); !reflect.DeepEqual(a, b) {
				t.Errorf("%s: the fix %q makes of the text something else (-meant +made):\n%s\n%s", finding.Location, fix.Title, cmp.Diff(a, b), edit.Diff(f.Name, f.Text(), after))
			}
			if a, b := strings.Count(f.Text(), "#"), strings.Count(after, "#"); b < a {
				t.Errorf("%s: the fix %q loses a comment:\n%s", finding.Location, fix.Title, edit.Diff(f.Name, f.Text(), after))
			}
			if fix.Create != nil {
				n.created++
			} else {
				n.made++
			}
			if os.Getenv("SHOW_EDITS") != "" {
				t.Logf("%s %s\n%s", finding.Rule.ID, fix.Title, edit.Diff(f.Name, f.Text(), after))
			}
		}
	}
}

// holder finds the object of a finding.
func holder(files []*object.File, finding lint.Finding) (*object.File, *object.Object) {
	for _, f := range files {
		if f.Name != finding.Location.File {
			continue
		}
		for _, o := range f.Objects {
			if o.Key == finding.Object && o.Locate(finding.Path).Range == finding.Location.Range || o.Key == finding.Object && o.LocateKey(finding.Path).Range == finding.Location.Range {
				return f, o
			}
		}
	}
	return nil, nil
}

func inMemory(t *testing.T, raw map[string]any) *object.Object {
	t.Helper()
	js, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	f, err := object.Load(context.Background(), "made.json", bytes.NewReader(js), object.Limits{})
	if err != nil || len(f.Objects) != 1 {
		t.Fatalf("%s: %d objects, %v", js, len(f.Objects), err)
	}
	return f.Objects[0]
}

func values(objects []*object.Object) []any {
	var out []any
	for _, o := range objects {
		out = append(out, o.Root().Any())
	}
	return out
}
