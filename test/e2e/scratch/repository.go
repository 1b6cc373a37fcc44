package scratch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Repository is a git repository of a user. What goes wrong in making it ends the test.
type Repository struct {
	T    *testing.T
	Home *Home
	Dir  string
}

// Repository makes an empty one.
func (h *Home) Repository(t *testing.T) *Repository {
	t.Helper()
	r := &Repository{t, h, t.TempDir()}
	r.Git("init", "--quiet")
	return r
}

// Write writes a file.
func (r *Repository) Write(name, text string) {
	r.T.Helper()
	file := filepath.Join(r.Dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		r.T.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.T.Fatal(err)
	}
}

// Read returns the text of a file.
func (r *Repository) Read(name string) string {
	r.T.Helper()
	text, err := os.ReadFile(filepath.Join(r.Dir, name))
	if err != nil {
		r.T.Fatal(err)
	}
	return string(text)
}

// Git runs git and returns what it printed, without the line end.
func (r *Repository) Git(args ...string) string {
	r.T.Helper()
	out, err := r.Home.MustRun(r.T.Context(), r.Dir, append([]string{"git"}, args...)...)
	if err != nil {
		r.T.Fatal(err)
	}
	return strings.TrimSuffix(out, "\n")
}

// Stage writes a file and adds it to what is to be committed.
func (r *Repository) Stage(name, text string) {
	r.T.Helper()
	r.Write(name, text)
	r.Git("--literal-pathspecs", "add", "--", name)
}

// Commit commits all there is and returns the commit. Hooks are not asked.
func (r *Repository) Commit() string {
	r.T.Helper()
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--no-verify", "--allow-empty", "-m", "all")
	return r.Git("rev-parse", "HEAD")
}

// Run runs a program in the repository, whose exit code has to be as expected, and returns what it said.
func (r *Repository) Run(code int, args ...string) string {
	r.T.Helper()
	out, got, err := r.Home.Run(context.WithoutCancel(r.T.Context()), r.Dir, args...)
	if err != nil || got != code {
		r.T.Fatalf("%s: exit code %d, want %d, %v\n%s", strings.Join(args, " "), got, code, err, out)
	}
	return out
}

// Entry is a ServiceEntry of NAME.example.com. With resolution NONE it is SE101, at 7:15.
func Entry(name, resolution, protocol string) string {
	return fmt.Sprintf(`apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: %[1]s, namespace: shop}
spec:
  hosts: [%[1]s.example.com]
  location: MESH_EXTERNAL
  resolution: %[2]s
  ports:
  - {number: 443, name: port, protocol: %[3]s}
`, name, resolution, protocol)
}

// Bad is a manifest with a finding, SE101 at 7:15.
func Bad(name string) string { return Entry(name, "NONE", "TLS") }

// Good is one without.
func Good(name string) string { return Entry(name, "DNS", "TLS") }

// Says fails the test unless a text has all of these in it.
func Says(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("it lacks %q:\n%s", w, text)
		}
	}
}

// Silent fails the test if a text has one of these in it.
func Silent(t *testing.T, text string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(text, w) {
			t.Errorf("it has %q:\n%s", w, text)
		}
	}
}
