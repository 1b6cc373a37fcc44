package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/meshvet/meshvet/lint/object"
)

// A file that is gone counts if the run would have read it, were it there.
func TestGone(t *testing.T) {
	tree := map[string]string{
		"a.yaml": entry, "b.yml": "", "c.json": "", "D.YAML": "", "notes.txt": "",
		"sub/e.yaml": entry, "sub/skip/f.yaml": "", "sub/deep/g.yaml": "", "sub/deep/er/h.yaml": "", "sub/deep/er/.gitignore": "i.yaml\n!ignored.yaml\n",
		"sub/deep/er/i.yaml": "", "sub/ignored.yaml": "", "sub/deep/er/ignored.yaml": "", "build/j.yaml": "", "sub/build/k.yaml": "", "kept/build/l.yaml": "",
		".github/workflow.yaml": "", "other/m.yaml": "", "other/n.yaml": "", "other/sub/o.yaml": "", "spare/p.yaml": "", "spare/q.txt": "",
		"nested/.git/HEAD": "", "nested/r.yaml": "", "nested/ignored.yaml": "", "nested/.gitignore": "s.yaml\n", "nested/s.yaml": "",
		".git/info/exclude": "excluded.yaml\n", "sub/excluded.yaml": "", "sub/.git.yaml": "", "line\nend.yaml": "",
		".gitignore": "ignored.yaml\nbuild/\n!kept/build/\n",
	}
	for name, c := range map[string]struct {
		config  string
		args    []string
		context []string
	}{
		"folder":                 {"exclude: ['**/skip']\n", []string{"."}, nil},
		"sub-folder":             {"exclude: ['**/skip', sub/deep/g.yaml]\n", []string{"sub"}, nil},
		"file, and the rest":     {"", []string{"a.yaml"}, nil},
		"absolute":               {"", []string{"/sub", "other"}, nil},
		"context of its own":     {"context: {paths: [a.yaml, 'other/*.yaml', spare]}\n", []string{"a.yaml", "sub/deep"}, nil},
		"context by a flag":      {"context: []\n", []string{"a.yaml"}, []string{"other", "spare/p.yaml"}},
		"nothing in the context": {"context: []\n", []string{"a.yaml", "build", "sub/build"}, nil},
		"excluded itself":        {"exclude: [sub]\n", []string{"a.yaml", "sub", "sub/deep"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := writeTree(t, tree)
			if c.config != "" {
				if err := os.WriteFile(filepath.Join(root, ".meshvet.yaml"), []byte(c.config), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			a := &app{process: process{stderr: io.Discard, getwd: func() (string, error) { return root, nil }}}
			args := make([]string, len(c.args))
			for i, arg := range c.args {
				if args[i] = arg; arg[0] == '/' {
					args[i] = filepath.Join(root, arg)
				}
			}
			begin := func() *lintRun {
				r, err := a.newRun(t.Context(), &lintFlags{context: c.context, dataplane: newChoice("")}, args)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			whole := begin()
			in, err := whole.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			read, focus := map[string]bool{}, map[string]bool{}
			for _, set := range [][]*object.File{in.files, in.around} {
				for _, f := range set {
					read[f.Name] = true
				}
			}
			for _, f := range in.files {
				focus[f.Name] = true
			}
			if len(read) < 3 {
				t.Fatalf("the run reads %v", read)
			}
			for file := range tree {
				if slices.Contains(append(c.context, c.args...), file) {
					continue // that fails the run
				}
				at := filepath.Join(root, file)
				if err := os.Rename(at, at+".gone"); err != nil {
					t.Fatal(err)
				}
				s := &since{root: root, folders: map[string]string{}}
				s.real = s.folder(root)
				r := begin()
				r.used = whole.used
				g := gone{walker: r.walker, places: r.reaches(s), stacks: map[string]ignoreStack{}}
				got, inFocus := g.name(file)
				if (got != "") != read[file] || got != "" && (got != file || inFocus != focus[file]) {
					t.Errorf("%q would be read as %q, in focus %t; want %t, %t", file, got, inFocus, read[file], focus[file])
				}
				if err := os.Rename(at+".gone", at); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
