package release

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "meshvet-release-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// handedOut are flags of a build that is handed out, which are those that link and pack soonest too.
var handedOut = []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}

// program builds meshvet once and returns its path.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "meshvet")
	cmd := exec.Command("go", append(slices.Clone(handedOut), "-o", path, "./cmd/meshvet")...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// runAs runs meshvet in a folder with the arguments of a container and nothing of the surroundings.
func runAs(t *testing.T, dir string, args ...string) (out string, code int) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, []string{}, &text, &text
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return text.String(), cmd.ProcessState.ExitCode()
}

// put copies files of the repository into a new folder, under the names given.
func put(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(read(t, from)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	good = "examples/good/passthrough.yaml"
	bad  = "examples/bad/passthrough.yaml"
)
