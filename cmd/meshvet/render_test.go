package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meshvet/meshvet/lint/render"
)

// builtRenderer is where the program that renders is built, once for all tests that want it. It is a program of its own, so no test
// binary stands in for it. What it is made of is in the build cache after the first time; a link is what it costs.
var builtRenderer struct {
	once sync.Once
	dir  string
	err  error
}

// renderless runs tests, and removes the program that renders after them.
type renderless struct{ *testing.M }

func (m renderless) Run() int {
	defer func() {
		if dir := builtRenderer.dir; dir != "" {
			os.RemoveAll(dir) //nolint:errcheck // a leftover in the folder for temporary files
		}
	}()
	return m.M.Run()
}

func buildRenderer() (string, error) {
	b := &builtRenderer
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "meshvet-render-"); b.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", b.dir, "../meshvet-render").CombinedOutput() //nolint:noctx // the deadline of the tests ends it
		if err != nil {
			b.err = fmt.Errorf("build %s: %w\n%s", render.Program, err, out)
		}
	})
	return filepath.Join(b.dir, render.Program), b.err
}

// theRenderer is the path of the program that renders.
func theRenderer(t testing.TB) string {
	t.Helper()
	path, err := buildRenderer()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// renderer puts the program that renders into PATH, where users have it.
func renderer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: renderer")
	}
	path, err := buildRenderer()
	ts.Check(err)
	ts.Setenv("PATH", filepath.Dir(path)+string(os.PathListSeparator)+ts.Getenv("PATH"))
}
