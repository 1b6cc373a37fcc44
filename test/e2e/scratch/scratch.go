// Package scratch makes what the tests of integrations run on: a home of its own for git and the tools, a clone of this checkout as users
// would have it, and repositories of users.
package scratch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// Origin is where users have the project from. In a Home, git finds the clone of the checkout there.
	Origin = "https://github.com/meshvet/meshvet"
	// Release is the tag of the clone, which the guides and examples name.
	Release = "v0.1.0"
)

// Home is a home directory for git and the tools that are tested, with their environment.
type Home struct {
	Dir      string
	Checkout string   // the root of the project
	Clone    string   // a clone of it, working tree included
	Environ  []string // of what Run starts
}

// New makes a home in a new temporary folder, which Remove removes. It has to be called in a package right below test/e2e.
func New(ctx context.Context) (*Home, error) {
	h := &Home{}
	var err error
	if h.Checkout, err = filepath.Abs("../../.."); err != nil {
		return nil, fmt.Errorf("find the checkout: %w", err)
	}
	if h.Dir, err = os.MkdirTemp("", "meshvet-e2e-"); err != nil {
		return nil, fmt.Errorf("make a home: %w", err)
	}
	h.Clone = filepath.Join(h.Dir, "clone")
	if err := h.prepare(ctx); err != nil {
		return nil, errors.Join(err, h.Remove())
	}
	return h, nil
}

// Remove removes the home and all that is in it.
func (h *Home) Remove() error { return os.RemoveAll(h.Dir) }

func (h *Home) prepare(ctx context.Context) error {
	caches, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("ask go for its caches: %w", err)
	}
	modules, builds, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	for _, v := range os.Environ() {
		switch prefix, _, _ := strings.Cut(v, "_"); prefix {
		case "GIT", "MESHVET", "GITHUB", "RUNNER", "CI", "GITLAB", "PRE":
		default:
			h.Environ = append(h.Environ, v)
		}
	}
	h.Environ = append(h.Environ,
		"HOME="+h.Dir, "XDG_CONFIG_HOME="+filepath.Join(h.Dir, ".config"), "XDG_CACHE_HOME="+filepath.Join(h.Dir, ".cache"), "GIT_CONFIG_NOSYSTEM=1",
		// Modules and compiled packages come from the machine's caches, where `make build` leaves them: the flags are the same.
		"GOMODCACHE="+modules, "GOCACHE="+builds, "GOPROXY=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -trimpath '-ldflags=-s -w'",
	)
	config := fmt.Sprintf(`[user]
	name = a
	email = a@example.com
[init]
	defaultBranch = main
[protocol "file"]
	allow = always
[url %q]
	insteadOf = %s
`, h.Clone, Origin)
	if err := os.WriteFile(filepath.Join(h.Dir, ".gitconfig"), []byte(config), 0o600); err != nil {
		return fmt.Errorf("configure git: %w", err)
	}
	for _, args := range [][]string{
		{"git", "clone", "--quiet", "--shared", "--no-checkout", h.Checkout, h.Clone},
		{"git", "--git-dir", filepath.Join(h.Clone, ".git"), "--work-tree", h.Checkout, "add", "--all"},
		{"git", "-C", h.Clone, "commit", "--quiet", "--allow-empty", "-m", "as it is in the working tree"},
		{"git", "-C", h.Clone, "tag", Release},
		{"git", "-C", h.Clone, "checkout", "--quiet", "--force", Release},
	} {
		if _, err := h.MustRun(ctx, h.Checkout, args...); err != nil {
			return err
		}
	}
	return nil
}

// Build builds the programs of the clone into a folder and returns it.
func (h *Home) Build(ctx context.Context) (string, error) {
	dir := filepath.Join(h.Dir, "programs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for the programs: %w", err)
	}
	_, err := h.MustRun(ctx, h.Clone, "go", "build", "-o", dir+string(filepath.Separator), "./cmd/...")
	return dir, err
}

// Tool builds a tool that test/tools pins in a module file of that name, and returns its path in the build cache.
func (h *Home) Tool(ctx context.Context, name string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "-n", "-modfile="+name+".mod", name)
	cmd.Dir = filepath.Join(h.Checkout, "test", "tools")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, errs.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// Run runs a program in a folder. It returns what the program said to either output, and its exit code. err says why it did not run, or
// that a signal ended it.
func (h *Home) Run(ctx context.Context, dir string, args ...string) (out string, code int, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, h.Environ
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		err = nil
	}
	return b.String(), cmd.ProcessState.ExitCode(), err
}

// MustRun is Run of a program that has to succeed.
func (h *Home) MustRun(ctx context.Context, dir string, args ...string) (string, error) {
	out, code, err := h.Run(ctx, dir, args...)
	if err != nil {
		return out, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	if code != 0 {
		return out, fmt.Errorf("%s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out, nil
}
