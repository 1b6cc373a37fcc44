package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeTree writes files below a new folder.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// notIgnoredByGit lists the manifests that git would offer to add.
func notIgnoredByGit(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	for name := range strings.SplitSeq(git(t, root, "ls-files", "-z", "--others", "--exclude-standard"), "\x00") {
		if isManifestName(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// walkedNames lists the manifests that the walker takes from a folder.
func walkedNames(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	for _, s := range newWalker(root, nil, t.Logf).add(".") {
		if s.err != nil {
			t.Fatalf("%s: %v", s.name, s.err)
		}
		out = append(out, s.name)
	}
	slices.Sort(out)
	return out
}

// tree is a set of manifests with names that patterns can tell apart.
var tree = []string{
	"a.yaml", "b.yaml", "c.json", "ab.yaml", "[x].yaml", "sp ace.yaml", "bang!.yaml", "#hash.yaml",
	"a/a.yaml", "a/b.yaml", "a/b/a.yaml", "a/b/c/a.yaml", "a/b/c/deep.yml", "b/a.yaml", "b/a/a.yaml", "b/keep/keep.yaml",
	"keep/a.yaml", "keep/keep.yaml", "x1/a.yaml", "x2/a.yaml", "node_modules/a.yaml", "vendor/a.yaml", ".hidden/a.yaml", ".hidden.yaml",
}

func TestIgnoreFilesAgreeWithGit(t *testing.T) {
	cases := []struct {
		name  string
		files map[string]string
	}{
		{"none", nil},
		{"name anywhere", map[string]string{".gitignore": "a.yaml\n"}},
		{"anchored", map[string]string{".gitignore": "/a.yaml\nb/a.yaml\n"}},
		{"folder only", map[string]string{".gitignore": "a.yaml/\nkeep/\n"}},
		{"stars", map[string]string{".gitignore": "*.json\na*.yaml\n*b*\n"}},
		{"double stars", map[string]string{".gitignore": "**/keep\na/**/a.yaml\nb/**\n"}},
		{"double star inside a name", map[string]string{".gitignore": "a**.yaml\n/a**b\n"}},
		{"re-included", map[string]string{".gitignore": "*.yaml\n!keep.yaml\n!b.yaml\n"}},
		{"parent excluded", map[string]string{".gitignore": "keep/\n!keep/keep.yaml\n"}},
		{"content excluded", map[string]string{".gitignore": "keep/*\n!keep/keep.yaml\n"}},
		{"deny by default", map[string]string{".gitignore": "/*\n!/a\n/a/*\n!/a/b\n"}},
		{"folder below its content", map[string]string{".gitignore": "a/**\n!a/b\n!a/b/c\n"}},
		{"classes", map[string]string{".gitignore": "x[0-9]\n[ab].yaml\n[!a-z]*.yaml\n"}},
		{"posix classes", map[string]string{".gitignore": "x[[:digit:]]\n[[:punct:]]*\n"}},
		{"bracket first in a class", map[string]string{".gitignore": "[]x]*\n[[]*\n"}},
		{"unclosed class", map[string]string{".gitignore": "[ab\na[.yaml\n"}},
		{"escapes", map[string]string{".gitignore": "\\#hash.yaml\nbang\\!.yaml\n\\[x\\].yaml\n"}},
		{"escaped bang", map[string]string{".gitignore": "\\!a.yaml\na.yaml\\\n"}},
		{"comments and blanks", map[string]string{".gitignore": "# a.yaml\n\n   \nb.yaml   \nsp\\ ace.yaml\n"}},
		{"line ends and byte-order mark", map[string]string{".gitignore": "\ufeffa.yaml\r\nkeep/\r\n"}},
		{"no final newline", map[string]string{".gitignore": "a.yaml"}},
		{"nested", map[string]string{".gitignore": "a.yaml\n", "a/.gitignore": "!a.yaml\nb/\n", "b/.gitignore": "/a\n"}},
		{"nested negation of a folder", map[string]string{".gitignore": "**/keep/\n", "b/.gitignore": "!keep\n"}},
		{"own list of the repository", map[string]string{".git/info/exclude": "a.yaml\n", "b/.gitignore": "!a.yaml\n"}},
		{"odd lines", map[string]string{".gitignore": "/\n!\n!/\n//\n**\\\n***/a.yaml\n"}},
		{"question marks", map[string]string{".gitignore": "?.yaml\nx?\na/?/c\n"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { agreesWithGit(t, c.files) })
	}
}

// TestRandomIgnoreFilesAgreeWithGit tries mixtures that nobody would write down.
func TestRandomIgnoreFilesAgreeWithGit(t *testing.T) {
	atoms := []string{
		"a", "b", "c", "keep", "*", "**", "?", ".yaml", "*.yaml", "[ab]", "[!a]", "x[0-9]", "/", "/", "/", "/**/", "/*", "\\a", "a*", "*b",
		"[[:alpha:]]", "[a-", "]", "-", ".", " ", "deep",
	}
	r := rand.New(rand.NewPCG(7, 11))
	pattern := func() string {
		var b strings.Builder
		if r.IntN(3) == 0 {
			b.WriteByte('!')
		}
		for range 1 + r.IntN(4) {
			b.WriteString(atoms[r.IntN(len(atoms))])
		}
		return b.String()
	}
	for n := range 40 {
		files := map[string]string{}
		for _, dir := range []string{"", "a/", "b/"} {
			var lines []string
			for range r.IntN(6) {
				lines = append(lines, pattern())
			}
			if lines != nil {
				files[dir+".gitignore"] = strings.Join(lines, "\n") + "\n"
			}
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) { agreesWithGit(t, files) })
	}
}

func agreesWithGit(t *testing.T, files map[string]string) {
	t.Helper()
	all := map[string]string{}
	for _, name := range tree {
		all[name] = "a: 1\n"
	}
	root := writeTree(t, all)
	git(t, root, "init", "-q")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(notIgnoredByGit(t, root), walkedNames(t, root)); diff != "" {
		t.Errorf("with %q (-git +meshvet):\n%s", files, diff)
	}
}

func TestIgnoreFilesOfAWorktree(t *testing.T) {
	root := writeTree(t, map[string]string{"repo/a.yaml": "", "repo/b.yaml": ""})
	repo := filepath.Join(root, "repo")
	git(t, repo, "init", "-q")
	git(t, repo, "-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-q", "--allow-empty", "-m", "empty")
	git(t, repo, "worktree", "add", "-q", filepath.Join(root, "tree"))
	if err := os.WriteFile(filepath.Join(repo, ".git", "info", "exclude"), []byte("b.yaml\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.yaml", "b.yaml"} {
		if err := os.WriteFile(filepath.Join(root, "tree", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := notIgnoredByGit(t, filepath.Join(root, "tree"))
	if diff := cmp.Diff(want, walkedNames(t, filepath.Join(root, "tree"))); diff != "" || len(want) != 1 {
		t.Errorf("want the one file that git knows (-git +meshvet):\n%s", diff)
	}
}

// TestIgnorePatternsTakeBoundedTime holds the matcher to bounded work on patterns made to defeat it.
func TestIgnorePatternsTakeBoundedTime(t *testing.T) {
	name := strings.Repeat("a", 200) + ".yaml"
	p, ok := parseIgnorePattern(strings.Repeat("a*", 100) + "b")
	if !ok || matchWildcard(p.segments[0], name) {
		t.Errorf("%v matches %s", p, name)
	}
	names := slices.Repeat([]string{"a"}, 300)
	deep, _ := parseIgnorePattern(strings.Repeat("**/a/", 100) + "b")
	if matchSegments(deep.segments, names) {
		t.Error("a path without b matches")
	}
}
