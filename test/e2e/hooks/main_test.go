// Package hooks tests .pre-commit-hooks.yaml with the real pre-commit: hooks are installed from this checkout as pre-commit installs
// them for users, and run on repositories that the tests make.
//
// The URL of the project leads to a clone of the checkout, working tree included (url.insteadOf), so configurations are tested as the guide shows them.
package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// origin is where users have the hooks from.
	origin = "https://github.com/meshvet/meshvet"
	// release is the tag that the tests, and the guide, take from there.
	release = "v0.1.0"
)

// What all tests share. TestMain sets it.
var (
	checkout string   // the root of the project
	home     string   // HOME, with the configuration of git
	environ  []string // of git and pre-commit
	missing  string   // why there is no pre-commit
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if _, err := exec.LookPath("pre-commit"); err != nil {
		missing = "there is no pre-commit; .ci/packages installs it"
		return m.Run(), nil
	}
	if checkout, err = filepath.Abs("../../.."); err != nil {
		return 1, err
	}
	if home, err = os.MkdirTemp("", "meshvet-hooks-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	if err := prepare(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// prepare makes the clone that the URL of the project leads to.
func prepare() error {
	// Modules and compiled packages come from the machine's caches, where `make build` leaves them: the flags are the same. What is left is
	// to link each program of the module, since pre-commit installs them all.
	caches, err := exec.Command("go", "env", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("ask go for its caches: %w", err)
	}
	folders := strings.Fields(string(caches))
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "MESHVET_") && !strings.HasPrefix(v, "PRE_COMMIT_") {
			environ = append(environ, v)
		}
	}
	environ = append(environ,
		"HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "GIT_CONFIG_NOSYSTEM=1",
		"PRE_COMMIT_HOME="+filepath.Join(home, "pre-commit"), "PRE_COMMIT_COLOR=never",
		"GOMODCACHE="+folders[0], "GOCACHE="+folders[1], "GOPROXY=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -trimpath -ldflags=-w",
	)
	clone := filepath.Join(home, "clone")
	config := fmt.Sprintf(`[user]
	name = a
	email = a@example.com
[init]
	defaultBranch = main
[url %q]
	insteadOf = %s
`, clone, origin)
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"git", "clone", "--quiet", "--shared", "--no-checkout", checkout, clone},
		{"git", "--git-dir", filepath.Join(clone, ".git"), "--work-tree", checkout, "add", "--all"},
		{"git", "-C", clone, "commit", "--quiet", "--allow-empty", "-m", "as it is in the working tree"},
		{"git", "-C", clone, "tag", release},
	} {
		if out, code, err := execute(checkout, args...); err != nil || code != 0 {
			return fmt.Errorf("%s: exit code %d, %w\n%s", strings.Join(args, " "), code, err, out)
		}
	}
	return nil
}

// execute runs a program in a folder and returns what it said.
func execute(dir string, args ...string) (out string, code int, err error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, environ
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return b.String(), cmd.ProcessState.ExitCode(), err
}

// repository is one of a user.
type repository struct {
	t   *testing.T
	dir string
}

// hook is what most tests have in their configuration.
const hook = "  - id: meshvet\n    args: [--format, compact, --]\n"

// newRepository makes a repository with these hooks in its configuration, and commits it.
func newRepository(t *testing.T, hooks string) *repository {
	t.Helper()
	if missing != "" {
		t.Skip(missing)
	}
	r := &repository{t, t.TempDir()}
	r.git("init", "--quiet")
	r.write(".pre-commit-config.yaml", "repos:\n- repo: "+origin+"\n  rev: "+release+"\n  hooks:\n"+hooks)
	r.commit()
	return r
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	out, code, err := execute(r.dir, append([]string{"git"}, args...)...)
	if err != nil || code != 0 {
		r.t.Fatalf("git %s: exit code %d, %v\n%s", strings.Join(args, " "), code, err, out)
	}
	return out
}

// stage writes a file and adds it to what is to be committed.
func (r *repository) stage(name, text string) {
	r.t.Helper()
	r.write(name, text)
	r.git("--literal-pathspecs", "add", "--", name)
}

// commit commits all there is. Hooks are not asked.
func (r *repository) commit() {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--no-verify", "--allow-empty", "-m", "all")
}

// preCommit runs pre-commit. The exit code has to be as expected.
func (r *repository) preCommit(code int, args ...string) string {
	r.t.Helper()
	return r.command(code, append([]string{"pre-commit"}, args...)...)
}

func (r *repository) command(code int, args ...string) string {
	r.t.Helper()
	out, got, err := execute(r.dir, args...)
	if err != nil || got != code {
		r.t.Fatalf("%s: exit code %d, want %d, %v\n%s", strings.Join(args, " "), got, code, err, out)
	}
	return out
}

// run runs the hooks on what is staged.
func (r *repository) run(code int) string {
	r.t.Helper()
	return r.preCommit(code, "run")
}

// installed is the folder of the programs that pre-commit has built.
func installed(t *testing.T) string {
	t.Helper()
	newRepository(t, hook).preCommit(0, "install-hooks")
	folders, err := filepath.Glob(filepath.Join(home, "pre-commit", "repo*", "golangenv-*", "bin"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("programs are installed in %q, %v", folders, err)
	}
	return folders[0]
}

// says fails the test unless a text has all of these in it.
func says(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("it lacks %q:\n%s", w, text)
		}
	}
}

// silent fails the test if a text has one of these in it.
func silent(t *testing.T, text string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(text, w) {
			t.Errorf("it has %q:\n%s", w, text)
		}
	}
}
