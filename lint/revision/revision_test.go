package revision

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestResolve(t *testing.T) {
	r := newRepo(t)
	first := r.commit(map[string]string{"a.yaml": "1"})
	r.git("branch", "old")
	r.git("tag", "-a", "v1", "-m", "tag")
	second := r.commit(map[string]string{"a.yaml": "2"})
	r.git("branch", "both")
	r.git("tag", "both", first)
	r.git("update-ref", "refs/remotes/origin/far", first)
	r.git("checkout", "-q", "-b", "change", first)
	r.commit(map[string]string{"b.yaml": "3"})
	r.git("branch", "odd's-(x)-$y")
	r.git("checkout", "-q", "--orphan", "lone")
	r.commit(nil)
	r.git("checkout", "-q", "change")

	opened := r.open()
	for name, want := range map[string]string{
		"main": second, "old": first, "v1": first, "main~1": first, first[:12]: first, "refs/heads/both": second, "refs/tags/both": first,
		"origin/far": first, "@~1": first, "main...": first, "main...change": first, "...main": first, "odd's-(x)-$y~1": first, "v1^{}": first, "main^{/files}": second, "main@{2026-01-01 00:00:00}": second,
	} {
		if got := r.resolve(opened, name).Commit(); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"":                           "is empty",
		"nope":                       `no revision "nope"`,
		"far":                        "did you mean origin/far?",
		"both":                       "refs/heads/both, refs/tags/both",
		"--all":                      "dash",
		"-":                          "dash",
		"main\nold":                  "line end",
		"main\x00":                   "control character",
		"main..change":               `"main...change"`,
		"main:a.yaml":                "is a file of a revision",
		"main^{/b}:a.yaml":           "is a file of a revision",
		":a.yaml":                    "index",
		":/files":                    "index",
		"^main":                      "set of revisions",
		"main^!":                     "set of revisions",
		"main...lone":                "no commit in common",
		"nope...":                    `no revision "nope"`,
		"main ":                      "no revision",
		"main^{commit} %(rest)":      "no revision",
		strings.Repeat("a", 2000):    "longer than",
		strings.Repeat("0", 40):      "no revision",
		"HEAD^{tree}":                "is no commit",
		"\u202emain":                 "no revision",
		"main^{/" + "a**(((((" + "}": "no revision",
	} {
		tree, err := opened.Resolve(t.Context(), name)
		if err == nil {
			t.Errorf("%q is %s", name, tree.Commit())
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", name, err, want)
		}
	}
	two := ambiguousStart(r)
	if _, err := opened.Resolve(t.Context(), two); err == nil || !strings.Contains(err.Error(), "more than one commit") {
		t.Errorf("%s: %v", two, err)
	}
}

// ambiguousStart makes two commits that begin alike, and returns what they have in common.
func ambiguousStart(r *repo) string {
	tree := r.git("rev-parse", "HEAD^{tree}")
	seen := map[string]string{}
	for i := range 10_000 {
		content := fmt.Sprintf("tree %s\nauthor a <a@example.com> %d +0000\ncommitter a <a@example.com> 0 +0000\n\nx\n", tree, i)
		sum := sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(content), content))
		start := hex.EncodeToString(sum[:2])
		if other, taken := seen[start]; taken {
			r.input(content, "hash-object", "-w", "-t", "commit", "--stdin")
			r.input(other, "hash-object", "-w", "-t", "commit", "--stdin")
			return start
		}
		seen[start] = content
	}
	r.Fatal("no two commits begin alike")
	return ""
}

func TestOpen(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"sub/a.yaml": "1"})
	bare := filepath.Join(t.TempDir(), "bare.git")
	r.git("clone", "-q", "--bare", ".", bare)
	fakeBare := filepath.Join(t.TempDir(), "fake")
	r.git("clone", "-q", ".", fakeBare)
	r.git("-C", fakeBare, "config", "core.bare", "true")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	r.git("clone", "-q", ".", elsewhere)
	r.git("-C", elsewhere, "config", "core.worktree", r.dir)
	empty := filepath.Join(r.dir, "inside")
	if err := os.MkdirAll(filepath.Join(empty, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		t.TempDir():                 "is not a git repository",
		filepath.Join(r.dir, "no"):  "no such file",
		filepath.Join(r.dir, "sub"): "is not the root of a working tree",
		bare:                        "bare repository",
		fakeBare:                    "bare repository",
		elsewhere:                   "is not the root of a working tree",
		empty:                       "is not the root of a working tree",
	} {
		if _, err := Open(t.Context(), dir, r.env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
	}
	// What a hook of git leaves in the environment is about another repository.
	r.env = append(r.env, "GIT_DIR="+bare, "GIT_INDEX_FILE=/nowhere", "GIT_WORK_TREE="+elsewhere)
	tree := r.resolve(r.open(), "main")
	if got := paths(list(t, tree)); got != "sub/a.yaml" {
		t.Errorf("files are %q", got)
	}
	t.Run("no git", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := Open(t.Context(), r.dir, r.env); !errors.Is(err, errNoGit) {
			t.Error(err)
		}
	})
	t.Run("git in the working directory", func(t *testing.T) {
		t.Chdir(r.dir)
		if err := os.WriteFile("git", []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", ".")
		if _, err := Open(t.Context(), r.dir, r.env); !errors.Is(err, errNoGit) {
			t.Error(err)
		}
	})
}

func TestOtherKindsOfRepository(t *testing.T) {
	files := map[string]string{"a.yaml": "one\n", "sub/b.yaml": "two\r\n"}
	t.Run("SHA-256", func(t *testing.T) {
		r := newRepo(t, "--object-format=sha256")
		r.commit(files)
		tree := r.resolve(r.open(), "main")
		if len(tree.Commit()) != 64 {
			t.Fatalf("commit is %s", tree.Commit())
		}
		checkFiles(t, tree, files)
	})
	t.Run("worktree", func(t *testing.T) {
		r := newRepo(t)
		r.commit(files)
		at := filepath.Join(t.TempDir(), "w")
		r.git("worktree", "add", "-q", "-b", "other", at)
		checkFiles(t, r.resolve(r.openAt(at), "other"), files)
	})
	t.Run("through a link", func(t *testing.T) {
		r := newRepo(t)
		r.commit(files)
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(r.dir, link); err != nil {
			t.Fatal(err)
		}
		checkFiles(t, r.resolve(r.openAt(link), "main"), files)
	})
	t.Run("packed", func(t *testing.T) {
		r := newRepo(t)
		r.commit(files)
		r.git("gc", "-q", "--aggressive", "--prune=now")
		r.git("pack-refs", "--all")
		checkFiles(t, r.resolve(r.open(), "main"), files)
	})
	t.Run("submodule", func(t *testing.T) {
		inner, r := newRepo(t), newRepo(t)
		commit := inner.commit(files)
		r.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", inner.dir, "inner")
		r.commit(files)
		got := list(t, r.resolve(r.open(), "main"))
		if e := got["inner"]; e.Type != Nested || e.ID != commit {
			t.Errorf("the submodule is %+v", e)
		}
		if _, below := got["inner/a.yaml"]; below {
			t.Error("the submodule was entered")
		}
		checkFiles(t, r.resolve(r.openAt(filepath.Join(r.dir, "inner")), "HEAD"), files)
	})
	t.Run("shallow", func(t *testing.T) {
		r := newRepo(t)
		first := r.commit(files)
		r.commit(map[string]string{"a.yaml": "three\n"})
		shallow := filepath.Join(t.TempDir(), "shallow")
		r.git("clone", "-q", "--depth=1", "file://"+r.dir, shallow)
		opened := r.openAt(shallow)
		for _, name := range []string{first, "HEAD~1", "v2", first + "..."} {
			if _, err := opened.Resolve(t.Context(), name); err == nil || !strings.Contains(err.Error(), "fetch-depth: 0") {
				t.Errorf("%s: %v", name, err)
			}
		}
		files := map[string]string{"a.yaml": "three\n", "sub/b.yaml": "two\r\n"}
		checkFiles(t, r.resolve(opened, "main"), files)
	})
	t.Run("partial", func(t *testing.T) {
		r := newRepo(t)
		r.commit(files)
		r.commit(map[string]string{"a.yaml": "three\n"})
		r.git("config", "uploadpack.allowFilter", "true")
		partial := filepath.Join(t.TempDir(), "partial")
		r.git("clone", "-q", "--filter=blob:none", "file://"+r.dir, partial)
		tree := r.resolve(r.openAt(partial), "HEAD~1")
		got := list(t, tree)
		if _, err := read(t.Context(), tree, got["a.yaml"]); err == nil || !strings.Contains(err.Error(), "a.yaml at HEAD~1 is not in this clone") {
			t.Errorf("reading what was not fetched: %v", err)
		}
		if text, err := read(t.Context(), tree, got["sub/b.yaml"]); err != nil || text != files["sub/b.yaml"] {
			t.Errorf("sub/b.yaml is %q, %v", text, err)
		}
	})
	t.Run("replaced", func(t *testing.T) {
		r := newRepo(t)
		first := r.commit(files)
		r.git("replace", first, r.commit(map[string]string{"a.yaml": "three\n"}))
		checkFiles(t, r.resolve(r.open(), first), files)
	})
}

// checkFiles wants a tree to hold these files.
func checkFiles(t *testing.T, tree *Tree, want map[string]string) {
	t.Helper()
	got := list(t, tree)
	for name, text := range want {
		e, there := got[name]
		if !there {
			t.Errorf("%s is missing: there are %s", name, paths(got))
			continue
		}
		if read, err := read(t.Context(), tree, e); err != nil || read != text {
			t.Errorf("%s is %q, want %q (%v)", name, read, text, err)
		}
		if !tree.Holds(e, text[:1], text[1:]) {
			t.Errorf("%s is not %q by its hash", name, text)
		}
		if tree.Holds(e, text+"#") {
			t.Errorf("%s is something else by its hash", name)
		}
	}
}

func TestWalk(t *testing.T) {
	r := newRepo(t)
	long := strings.Repeat("n", 200)
	files := map[string]string{
		"b.yaml": "", "a/b/c.yaml": "x", "a-b/d.yaml": "", "line\nend.yaml": "", "q\"uote\\.yaml": "", "ünï.yaml": "", "\xff.yaml": "", "-r": "", "with blanks .yaml": "",
		long + "/" + long + "/" + long + "/x.yaml": "",
	}
	r.write(files)
	if err := os.Symlink("/etc/passwd", filepath.Join(r.dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	r.commit(nil)
	tree := r.resolve(r.open(), "main")
	got := list(t, tree)
	for name := range files {
		if _, there := got[name]; !there {
			t.Errorf("%q is missing", name)
		}
	}
	if e := got["link.yaml"]; len(got) != len(files)+1 || e.Type != Symlink {
		t.Errorf("there are %s, and the link is %+v", paths(got), e)
	}
	if tree.Holds(got["link.yaml"], "/etc/passwd") {
		t.Error("a link is a file of that content")
	}

	var entered []string
	var found []string
	err := tree.Walk(t.Context(), func(dir string) bool { entered = append(entered, dir); return dir == "a" },
		func(e Entry) { found = append(found, e.Path) })
	if err != nil || strings.Contains(strings.Join(found, " "), "/") {
		t.Errorf("found %q, %v", found, err)
	}
	if want := "a-b a " + long + " a/b"; strings.Join(entered, " ") != want {
		t.Errorf("asked for %q, want %q", entered, want)
	}

	e, err := tree.Lookup(t.Context(), "a/b/c.yaml")
	if err != nil || e != got["a/b/c.yaml"] {
		t.Errorf("lookup finds %+v, %v", e, err)
	}
	for _, path := range []string{"a", "a/b", "a/b/d.yaml", "/a/b/c.yaml", "../a", ""} {
		if e, err := tree.Lookup(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("lookup of %q finds %+v, %v", path, e, err)
		}
	}
}

func TestLineEnds(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"lf": "a\nb\n", "crlf": "a\r\nb\r\n"})
	tree := r.resolve(r.open(), "main")
	got := list(t, tree)
	if !tree.Holds(got["lf"], "a\r\nb\r\n") || !tree.Holds(got["lf"], "a\nb\n") || !tree.Holds(got["crlf"], "a\r\nb\r\n") {
		t.Error("a file that differs in its line ends is another")
	}
	if tree.Holds(got["lf"], "a\rb\n") || tree.Holds(got["crlf"], "a\nb\n") { // whoever needs to know reads it
		t.Error("line ends do not count at all")
	}
}

func TestSparse(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"in/a.yaml": "", "out/b.yaml": "", "out/line\nend.yaml": "", "in/gone.yaml": ""})
	for _, index := range []string{"--no-sparse-index", "--sparse-index"} {
		r.git("sparse-checkout", "set", "--cone", index, "in")
		if err := os.RemoveAll(filepath.Join(r.dir, "in", "gone.yaml")); err != nil {
			t.Fatal(err)
		}
		got, err := r.open().LeftOut(t.Context(), map[string]bool{"out/b.yaml": true, "out/line\nend.yaml": true, "in/gone.yaml": true, "never.yaml": true})
		if err != nil || len(got) != 2 || !got["out/b.yaml"] || !got["out/line\nend.yaml"] {
			t.Errorf("%s: left out are %v, %v", index, got, err)
		}
	}
}

// A tree can be made that git itself would not check out, or that would take for ever.
func TestHostileTrees(t *testing.T) {
	r := newRepo(t)
	r.commit(nil)
	blob := r.input("x", "hash-object", "-w", "--stdin")
	raw, err := hex.DecodeString(blob)
	if err != nil {
		t.Fatal(err)
	}
	tree := func(content string) string {
		t.Helper()
		return r.input(content, "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	}
	entry := func(mode, name string) string { return mode + " " + name + "\x00" + string(raw) }
	commit := func(tree string) *Tree {
		t.Helper()
		return r.resolve(r.open(), r.git("commit-tree", tree, "-m", "x"))
	}
	for name, c := range map[string]struct{ content, want string }{
		"parent":      {entry("100644", ".."), `".."`},
		"self":        {entry("100644", "."), `"."`},
		"slash":       {entry("100644", "a/../../b.yaml"), `"a/../../b.yaml"`},
		"absolute":    {entry("100644", "/etc/x.yaml"), `"/etc/x.yaml"`},
		"no name":     {entry("100644", ""), `""`},
		"cut off":     {entry("100644", "a")[:20], "damaged"},
		"no end":      {"100644 " + strings.Repeat("a", 100_000), "damaged"},
		"long name":   {entry("100644", strings.Repeat("a", 100_000)), "damaged"},
		"mode":        {entry("1a0644", "a"), "damaged"},
		"device":      {entry("020000", "a"), "damaged"},
		"no blank":    {"100644a\x00" + string(raw), "damaged"},
		"blob folder": {entry("40000", "a"), "is a blob, and a tree is wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			err := commit(tree(c.content)).Walk(t.Context(), everyFolder, func(Entry) {})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	// Each folder holds the one before ten times.
	t.Run("bomb", func(t *testing.T) {
		id := tree(entry("100644", "a.yaml"))
		for range 12 {
			below, err := hex.DecodeString(id)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for i := range 10 {
				fmt.Fprintf(&b, "40000 d%d\x00%s", i, below)
			}
			id = tree(b.String())
		}
		start, visited := time.Now(), 0
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		err := commit(id).Walk(ctx, everyFolder, func(Entry) { visited++ })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestManyFiles(t *testing.T) {
	r := newRepo(t)
	blob, err := hex.DecodeString(r.input("x", "hash-object", "-w", "--stdin"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "100644 a%06d.yaml\x00%s", i, blob)
	}
	tree := r.resolve(r.open(), r.git("commit-tree", r.input(b.String(), "hash-object", "-w", "-t", "tree", "--stdin"), "-m", "x"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	err = tree.Walk(t.Context(), everyFolder, func(e Entry) {
		if e.Type == File {
			n++
		}
	})
	runtime.ReadMemStats(&after)
	if err != nil || n != 100_000 {
		t.Errorf("%d files, %v", n, err)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
		t.Errorf("%d MiB were allocated", made>>20)
	}
}

func TestHugeBlob(t *testing.T) {
	r := newRepo(t)
	at := filepath.Join(r.dir, "huge.yaml")
	if err := os.WriteFile(at, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const size = 40 << 20
	if err := os.Truncate(at, size); err != nil {
		t.Fatal(err)
	}
	r.commit(map[string]string{"a.yaml": "x"})
	tree := r.resolve(r.open(), "main")
	got := list(t, tree)
	for range 2 { // git is ended and started again
		err := tree.Read(t.Context(), got["huge.yaml"], func(n int64, content io.Reader) error {
			if n != size {
				t.Errorf("the size is %d", n)
			}
			_, err := io.CopyN(io.Discard, content, 10)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if text, err := read(t.Context(), tree, got["a.yaml"]); err != nil || text != "x" {
			t.Errorf("a.yaml is %q, %v", text, err)
		}
	}
	// An error of the reader's own comes back, and spoils nothing.
	mine := errors.New("mine")
	if err := tree.Read(t.Context(), got["huge.yaml"], func(int64, io.Reader) error { return mine }); !errors.Is(err, mine) {
		t.Error(err)
	}
	if text, err := read(t.Context(), tree, got["a.yaml"]); err != nil || text != "x" {
		t.Errorf("a.yaml is %q, %v", text, err)
	}
	// Reading ends with the context, and git with it.
	ctx, cancel := context.WithCancel(t.Context())
	err := tree.Read(ctx, got["huge.yaml"], func(_ int64, content io.Reader) error {
		cancel()
		_, err := io.Copy(io.Discard, content)
		return err
	})
	if !errors.Is(err, context.Canceled) || tree.batch != nil {
		t.Errorf("%v, and git is %v", err, tree.batch)
	}
	if _, err := r.open().Resolve(ctx, "main"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Open(ctx, r.dir, r.env); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzReadTree(f *testing.F) {
	f.Add("100644 a\x00aaaaaaaaaaaaaaaaaaaa40000 b\x00bbbbbbbbbbbbbbbbbbbb")
	f.Add("120000 a\x00")
	f.Fuzz(func(t *testing.T, content string) {
		err := readTree(strings.NewReader(content), 20, func(name string, _ Type, id string) error {
			if name == "" || name == ".." || strings.ContainsAny(name, "/\x00") || !isHash(id) {
				t.Errorf("an entry is called %q, its hash is %q", name, id)
			}
			return nil
		})
		_ = err // any content may be damaged
	})
}

// git takes HEAD for HEAD itself, whatever branch is called so.
func TestBranchCalledHEAD(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": "a: 1\n"})
	old := r.git("rev-parse", "HEAD")
	want := r.commit(map[string]string{"a.yaml": "a: 2\n"})
	r.git("update-ref", "refs/heads/HEAD", old)
	repository, err := Open(t.Context(), r.dir, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := repository.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if tree.Commit() != want {
		t.Errorf("commit %s, want %s", tree.Commit(), want)
	}
}
