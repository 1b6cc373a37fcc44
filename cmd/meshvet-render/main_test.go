package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/meshvet/meshvet/lint/render"
)

// TestMain lets the tests be the program, under its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == render.Program {
		main()
	}
	os.Exit(m.Run())
}

// program is a path at which the tests are the program.
func program(t *testing.T) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), render.Program)
	if err := os.Symlink(own, path); err != nil {
		t.Fatal(err)
	}
	return path
}
