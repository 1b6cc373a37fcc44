// Package hooks tests .pre-commit-hooks.yaml with the real pre-commit: hooks are installed from this checkout as pre-commit installs
// them for users, and run on repositories that the tests make.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/meshvet/meshvet/test/e2e/scratch"
)

// What all tests share. TestMain sets it.
var (
	home    *scratch.Home
	missing string // why there is no pre-commit
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
	if home, err = scratch.New(context.Background()); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, home.Remove()) }()
	home.Environ = append(home.Environ, "PRE_COMMIT_HOME="+filepath.Join(home.Dir, "pre-commit"), "PRE_COMMIT_COLOR=never")
	return m.Run(), nil
}

// repository is one whose owner has the hooks.
type repository struct{ *scratch.Repository }

// hook is what most tests have in their configuration.
const hook = "  - id: meshvet\n    args: [--format, compact, --]\n"

// newRepository makes a repository with these hooks in its configuration, and commits it.
func newRepository(t *testing.T, hooks string) *repository {
	t.Helper()
	if missing != "" {
		t.Skip(missing)
	}
	r := &repository{home.Repository(t)}
	r.Write(".pre-commit-config.yaml", "repos:\n- repo: "+scratch.Origin+"\n  rev: "+scratch.Release+"\n  hooks:\n"+hooks)
	r.Commit()
	return r
}

// run runs the hooks on what is staged. The exit code has to be as expected.
func (r *repository) run(code int, args ...string) string {
	r.T.Helper()
	return r.Run(code, append([]string{"pre-commit", "run"}, args...)...)
}

// installed is the folder of the programs that pre-commit has built.
func installed(t *testing.T) string {
	t.Helper()
	newRepository(t, hook).Run(0, "pre-commit", "install-hooks")
	folders, err := filepath.Glob(filepath.Join(home.Dir, "pre-commit", "repo*", "golangenv-*", "bin"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("programs are installed in %q, %v", folders, err)
	}
	return folders[0]
}
