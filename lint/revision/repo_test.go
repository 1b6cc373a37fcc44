package revision

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repo is a repository that a test makes with git itself.
type repo struct {
	*testing.T
	dir string
	env []string
}

func newRepo(t *testing.T, init ...string) *repo {
	t.Helper()
	home := t.TempDir()
	r := &repo{T: t, dir: filepath.Join(home, "repo"), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
	}}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(append([]string{"init", "-q", "-b", "main"}, init...)...)
	return r
}

// git runs git and returns what it writes, without the last line end.
func (r *repo) git(args ...string) string {
	r.Helper()
	out, err := r.try("", args...)
	if err != nil {
		r.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (r *repo) try(stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.Context(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

// input is git with something on its standard input.
func (r *repo) input(stdin string, args ...string) string {
	r.Helper()
	out, err := r.try(stdin, args...)
	if err != nil {
		r.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (r *repo) write(files map[string]string) {
	r.Helper()
	for name, text := range files {
		at := filepath.Join(r.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			r.Fatal(err)
		}
	}
}

// commit writes files and commits everything; it returns the commit.
func (r *repo) commit(files map[string]string) string {
	r.Helper()
	r.write(files)
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "files")
	return r.git("rev-parse", "HEAD")
}

func (r *repo) open() *Repository {
	r.Helper()
	return r.openAt(r.dir)
}

func (r *repo) openAt(dir string) *Repository {
	r.Helper()
	opened, err := Open(r.Context(), dir, r.env)
	if err != nil {
		r.Fatal(err)
	}
	return opened
}

func (r *repo) resolve(opened *Repository, name string) *Tree {
	r.Helper()
	tree, err := opened.Resolve(r.Context(), name)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(tree.Close)
	return tree
}

func everyFolder(string) bool { return true }

// list walks a tree and returns its entries, by path.
func list(t *testing.T, tree *Tree) map[string]Entry {
	t.Helper()
	out := map[string]Entry{}
	if err := tree.Walk(t.Context(), everyFolder, func(e Entry) { out[e.Path] = e }); err != nil {
		t.Fatal(err)
	}
	return out
}

func paths(entries map[string]Entry) string {
	var names []string
	for name := range entries {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func read(ctx context.Context, tree *Tree, e Entry) (string, error) {
	var text []byte
	err := tree.Read(ctx, e, func(_ int64, content io.Reader) (err error) {
		text, err = io.ReadAll(content)
		return err
	})
	return string(text), err
}
