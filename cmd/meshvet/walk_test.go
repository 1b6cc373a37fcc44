package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

const entry = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: a}
spec: {hosts: [a.example.com], resolution: DNS, ports: [{number: 443, name: tls, protocol: TLS}]}
`

func namesOf(sources []source) []string {
	out := []string{}
	for _, s := range sources {
		name := s.name
		if s.err != nil {
			name += ": " + s.err.Error()
		}
		out = append(out, name)
	}
	return out
}

func TestWalk(t *testing.T) {
	root := writeTree(t, map[string]string{
		"a.yaml": "", "b.yml": "", "c.json": "", "notes.txt": "", "d.yaml.bak": "", "D.YAML": "", "E.Yml": "",
		"sub/e.yaml": "", "sub/testdata/f.yaml": "", "sub/deep/g.yaml": "",
		".git/config.yaml": "", ".github/workflow.yaml": "",
		".gitignore": "ignored.yaml\n", "ignored.yaml": "", "sub/ignored.yaml": "",
	})
	outside := writeTree(t, map[string]string{"secret.yaml": "", "folder/h.yaml": ""})
	for link, target := range map[string]string{
		"link.yaml": filepath.Join(outside, "secret.yaml"), "linked": filepath.Join(outside, "folder"),
		"inner.yaml": filepath.Join(root, "a.yaml"), "loop": root,
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	// What is left when everything above is obeyed: files of the right endings that are files.
	everything := []string{".github/workflow.yaml", "D.YAML", "E.Yml", "a.yaml", "b.yml", "c.json", "sub/deep/g.yaml", "sub/e.yaml", "sub/testdata/f.yaml"}

	cases := []struct {
		name    string
		args    []string
		exclude []string
		want    []string
	}{
		{"folder", []string{"."}, nil, everything},
		{"the same twice", []string{".", root, "sub", "a.yaml", "./a.yaml"}, nil, everything},
		{"file, then its folder", []string{"sub/e.yaml", "sub"}, nil, []string{"sub/e.yaml", "sub/deep/g.yaml", "sub/testdata/f.yaml"}},
		{"sub-folder", []string{"sub"}, nil, []string{"sub/deep/g.yaml", "sub/e.yaml", "sub/testdata/f.yaml"}},
		{"ignored file by name", []string{"ignored.yaml", "sub/ignored.yaml"}, nil, []string{"ignored.yaml", "sub/ignored.yaml"}},
		{"other ending by name", []string{"notes.txt"}, nil, []string{"notes.txt"}},
		{"link by name", []string{"link.yaml"}, nil, []string{"link.yaml"}},
		{"linked folder by name", []string{"linked"}, nil, []string{"linked/h.yaml"}},
		{"missing", []string{"nowhere.yaml", "a.yaml"}, nil, []string{"nowhere.yaml: no such file or directory", "a.yaml"}},
		{"excluded folders", []string{"."}, []string{"**/testdata/**", "sub/deep"}, []string{".github/workflow.yaml", "D.YAML", "E.Yml", "a.yaml", "b.yml", "c.json", "sub/e.yaml"}},
		{"excluded folder by name", []string{"sub/testdata"}, []string{"**/testdata/**"}, []string{}},
		{"excluded file by name", []string{"sub/testdata/f.yaml", "a.yaml"}, []string{"**/testdata/**"}, []string{"a.yaml"}},
		{"excluded with ./ and /", []string{"."}, []string{"./sub/", ".github"}, []string{"D.YAML", "E.Yml", "a.yaml", "b.yml", "c.json"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWalker(root, newPathFilter(root, c.exclude), t.Logf)
			var got []source
			for _, arg := range c.args {
				got = append(got, w.add(arg)...)
			}
			if diff := cmp.Diff(c.want, namesOf(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	root := writeTree(t, map[string]string{"repo/sub/a.yaml": "", "repo/b.yaml": "", "c.yaml": ""})
	cwd := filepath.Join(root, "repo", "sub")
	for arg, want := range map[string]string{
		"a.yaml":                           "a.yaml",
		"./a.yaml":                         "a.yaml",
		filepath.Join(cwd, "a.yaml"):       "a.yaml",
		"../b.yaml":                        "../b.yaml",
		"../../c.yaml":                     "../../c.yaml",
		filepath.Join(root, "c.yaml"):      filepath.ToSlash(filepath.Join(root, "c.yaml")),
		filepath.Join(cwd, "..", "b.yaml"): filepath.ToSlash(filepath.Join(root, "repo", "b.yaml")),
	} {
		got := newWalker(cwd, nil, t.Logf).add(arg)
		if len(got) != 1 || got[0].name != want {
			t.Errorf("%s is called %v, want %s", arg, namesOf(got), want)
		}
	}
}

func TestAddGlob(t *testing.T) {
	root := writeTree(t, map[string]string{
		"k8s/a.yaml": "", "k8s/sub/b.yaml": "", "apps/one/mesh.yaml": "", "apps/two/mesh.yaml": "", "apps/two/other.yaml": "",
	})
	for glob, want := range map[string][]string{
		"k8s":                 {"k8s/a.yaml", "k8s/sub/b.yaml"},
		"./k8s/":              {"k8s/a.yaml", "k8s/sub/b.yaml"},
		"k8s/*":               {"k8s/a.yaml", "k8s/sub/b.yaml"}, // what is below a folder that matches belongs to it
		"k8s/*.yaml":          {"k8s/a.yaml"},
		"apps/*/mesh.yaml":    {"apps/one/mesh.yaml", "apps/two/mesh.yaml"},
		"**/mesh.yaml":        {"apps/one/mesh.yaml", "apps/two/mesh.yaml"},
		"k8s/a.yaml":          {"k8s/a.yaml"},
		"nothing/*.yaml":      {},
		"absent":              {"absent: no such file or directory"},
		"apps/t*/{o,m}*.yaml": {"apps/two/mesh.yaml", "apps/two/other.yaml"},
	} {
		got, matched := newWalker(root, nil, t.Logf).addGlob(root, glob)
		if diff := cmp.Diff(want, namesOf(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", glob, diff)
		}
		if matched != (len(want) > 0) {
			t.Errorf("%s: matched is %t", glob, matched)
		}
	}
}

// TestLoadReadsOnce counts how often each file is opened: the focus and its context never overlap.
func TestFocusAndContextDoNotOverlap(t *testing.T) {
	root := writeTree(t, map[string]string{"a.yaml": entry, "sub/b.yaml": entry, "sub/c.yaml": entry})
	for _, focus := range [][]string{{"."}, {"sub"}, {"sub/b.yaml"}, {"sub/b.yaml", "."}} {
		w := newWalker(root, nil, t.Logf)
		seen := map[string]int{}
		for _, arg := range focus {
			for _, s := range w.add(arg) {
				seen[s.name]++
			}
		}
		for _, s := range w.addFolder(root, false) {
			seen[s.name]++
		}
		if diff := cmp.Diff(map[string]int{"a.yaml": 1, "sub/b.yaml": 1, "sub/c.yaml": 1}, seen); diff != "" {
			t.Errorf("%v (-want +got):\n%s", focus, diff)
		}
	}
}

func TestLoad(t *testing.T) {
	root := writeTree(t, map[string]string{"b.yaml": entry, "a.yaml": entry, "closed.yaml": entry})
	w := newWalker(root, nil, t.Logf)
	sources := w.add("b.yaml")
	sources = append(sources, w.add("a.yaml")...)
	sources = append(sources, w.add("missing.yaml")...)
	sources = append(sources, w.addStdin(strings.NewReader(entry), "sub/edited.yaml")...)
	sources = append(sources, source{name: "failing.yaml", in: failingReader{}})
	files, err := load(t.Context(), sources, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		line := f.Name + " " + string(f.Class)
		for _, p := range f.Problems {
			line += ": " + string(p.Kind) + ": " + p.Message
		}
		got = append(got, line)
	}
	want := []string{
		"a.yaml linted", "b.yaml linted", "failing.yaml broken: unreadable: cannot be read: input/output error",
		"missing.yaml broken: missing: cannot be read: no such file or directory", "sub/edited.yaml linted",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := load(ctx, w.add("closed.yaml"), nil); err == nil {
		t.Error("a cancelled run reads on")
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, syscall.EIO }

func TestFindConfig(t *testing.T) {
	root := writeTree(t, map[string]string{
		".meshvet.yaml": "", "repo/.git/HEAD": "", "repo/.meshvet.yml": "", "repo/sub/deep/a.yaml": "",
		"repo/both/.meshvet.yaml": "", "repo/both/.meshvet.yml": "", "loose/sub/a.yaml": "", "repo/folder/.meshvet.yaml/x": "",
	})
	for dir, want := range map[string]string{
		"repo/sub/deep": "repo/.meshvet.yml",
		"repo":          "repo/.meshvet.yml",
		"repo/both":     "repo/both/.meshvet.yaml",
		"repo/folder":   "repo/.meshvet.yml", // a folder of that name is no configuration
		"loose/sub":     "",                  // without a repository, nothing above the start counts
		".":             ".meshvet.yaml",
	} {
		start := filepath.Join(root, dir)
		w := newWalker(root, nil, t.Logf)
		got := newConfigs(w, nil, []string{start}, "", func(*settings) {}).of(start).Source
		if got != want {
			t.Errorf("from %s: %q, want %q", dir, got, want)
		}
	}
}

func TestAnchorScopes(t *testing.T) {
	root := writeTree(t, map[string]string{"clusters/prod/a.yaml": entry, "clusters/stage/a.yaml": entry, "clusters/[odd]/a.yaml": entry})
	cwd := filepath.Join(root, "clusters", "prod")
	w := newWalker(cwd, nil, t.Logf)
	s, problems := lintConfig(t, "scopes:\n- {name: prod, paths: [clusters/prod]}\n- {name: odd, paths: ['clusters/\\[odd]/**']}\n- {name: none, paths: [a.yaml]}\n")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s.base = root
	files, err := load(t.Context(), slices.Concat(w.add("."), w.add("../[odd]"), w.add("../stage")), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, sc := range s.anchored(w, files).Scopes {
		got[sc.Name] = sc.Paths
	}
	want := map[string][]string{"prod": {"a.yaml"}, "odd": {`../\[odd]/a.yaml`}, "none": nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func lintConfig(t *testing.T, text string) (*settings, []object.Problem) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := readConfig(newWalker("/", nil, func(string, ...any) {}), "config.yaml", file, "")
	if err != nil {
		t.Fatal(err)
	}
	return s, s.problems
}

func TestWriteFileIsAtomic(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "report.json")
	put := func(text string, fail error) error {
		return writeFile(name, func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			return fail
		})
	}
	if err := put("first", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := put("half of the sec", syscall.ENOSPC); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("error %v does not name the file", err)
	}
	check := func(want string) {
		t.Helper()
		data, err := os.ReadFile(name)
		if err != nil || string(data) != want {
			t.Errorf("file holds %q (%v), want %q", data, err, want)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("mode %v (%v)", info.Mode(), err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("%d files are left (%v)", len(entries), err)
		}
	}
	check("first")
	if err := put("second", nil); err != nil {
		t.Fatal(err)
	}
	check("second")
}
