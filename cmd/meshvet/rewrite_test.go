package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// worksite is a work tree with a file in it, beside a folder that is none of it.
func worksite(t *testing.T) (work *workTree, file, outside string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file, outside = filepath.Join(top, "repo", "manifests", "a.yaml"), filepath.Join(top, "outside")
	for _, dir := range []string{filepath.Dir(file), outside, filepath.Join(top, "repo", ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, file, "old")
	put(t, filepath.Join(outside, "a.yaml"), "old")
	put(t, filepath.Join(top, "repo", ".git", "a.yaml"), "old")
	work, err = openWorkTree(filepath.Join(top, "repo"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = work.Close() })
	return work, file, outside
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// holds checks what a file holds, and that nothing else is left in its folder.
func holds(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "tmp") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

func TestRewrite(t *testing.T) {
	work, file, _ := worksite(t)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if reason := work.keep(file); reason != "" {
		t.Fatal(reason)
	}
	if err := work.rewrite(file, "old", "new"); err != nil {
		t.Fatal(err)
	}
	holds(t, file, "new")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o640 {
		t.Errorf("mode %v, want 0640", info.Mode())
	}
}

// What somebody else wrote meanwhile is not lost, whatever is longer.
func TestRewriteKeepsChanges(t *testing.T) {
	for _, now := range []string{"else", "old and more", "o", ""} {
		work, file, _ := worksite(t)
		put(t, file, now)
		if err := work.rewrite(file, "old", "new"); !errors.Is(err, errChanged) {
			t.Errorf("file that holds %q: %v", now, err)
		}
		holds(t, file, now)
	}
	work, file, _ := worksite(t)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := work.rewrite(file, "old", "new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("file that is gone: %v", err)
	}
	if _, err := os.Lstat(file); err == nil {
		t.Error("a file that was removed is back")
	}
}

// A file that is replaced between the first look and the last is not overwritten.
func TestStillNoticesReplacement(t *testing.T) {
	work, file, _ := worksite(t)
	e, err := work.open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if err := e.still("old"); err != nil {
		t.Fatal(err)
	}
	put(t, file+"~", "old")
	if err := os.Rename(file+"~", file); err != nil {
		t.Fatal(err)
	}
	if err := e.still("old"); !errors.Is(err, errChanged) {
		t.Errorf("replaced by an equal file: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b.yaml", file); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(filepath.Dir(file), "b.yaml"), "old")
	if err := e.still("old"); !errors.Is(err, errChanged) {
		t.Errorf("replaced by a link: %v", err)
	}
}

// A folder that is swapped for a link does not lead to another place: neither out of the tree, nor into .git.
func TestRewriteStaysInside(t *testing.T) {
	for _, to := range []string{"outside", "repo/.git"} {
		work, file, outside := worksite(t)
		top := filepath.Dir(outside)
		dir := filepath.Dir(file)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(top, to), dir); err != nil {
			t.Fatal(err)
		}
		if work.keep(file) == "" {
			t.Errorf("%s: may be rewritten", to)
		}
		if err := work.rewrite(file, "old", "new"); err == nil {
			t.Errorf("%s: rewritten", to)
		}
		holds(t, filepath.Join(top, to, "a.yaml"), "old")
		// The same if the swap comes after the path was resolved.
		if _, err := descend(work.root, "manifests"); !errors.Is(err, errMoved) {
			t.Errorf("%s: the link is followed: %v", to, err)
		}
	}
}

// A folder that is moved away while it is held open does not drag the file along: what is written is beside what was looked at.
func TestRewriteInMovedFolder(t *testing.T) {
	work, file, outside := worksite(t)
	e, err := work.open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if err := os.Rename(filepath.Dir(file), filepath.Dir(file)+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	tmp, name, err := e.createBeside()
	if err != nil {
		t.Fatal(err)
	}
	if err := tmp.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(outside, name)); err == nil {
		t.Error("written outside the tree")
	}
	if err := e.folder.Rename(name, e.name); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(outside, "a.yaml"), "old")
}

func TestKeep(t *testing.T) {
	work, file, outside := worksite(t)
	repo := filepath.Dir(filepath.Dir(file))
	link := func(to, name string) string {
		at := filepath.Join(repo, name)
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	readOnly, twice := filepath.Join(repo, "ro.yaml"), filepath.Join(repo, "twice.yaml")
	put(t, readOnly, "old")
	if err := os.Chmod(readOnly, 0o444); err != nil {
		t.Fatal(err)
	}
	put(t, twice, "old")
	if err := os.Link(twice, twice+"2"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, file, want string }{
		{"inside", file, ""},
		{"link to a file inside", link("manifests/a.yaml", "in.yaml"), ""},
		{"file below a link to a folder inside", filepath.Join(link("manifests", "folder"), "a.yaml"), ""},
		{"outside", filepath.Join(outside, "a.yaml"), "it lies outside"},
		{"link to a file outside", link(filepath.Join(outside, "a.yaml"), "out.yaml"), "it is a link to"},
		{"file below a link to a folder outside", filepath.Join(link(outside, "away"), "a.yaml"), "it is a link to"},
		{".git", filepath.Join(repo, ".git", "a.yaml"), "it lies in .git"},
		{"link into .git", link(".git/a.yaml", "git.yaml"), "it lies in .git"},
		{"read-only", readOnly, "read-only"},
		{"two names", twice, "2 names"},
		{"folder", filepath.Dir(file), "no regular file"},
		{"missing", filepath.Join(repo, "none.yaml"), "no such file"},
	} {
		got := work.keep(c.file)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
