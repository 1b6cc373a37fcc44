package rules_test

import (
	"context"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// Either way the run fails, but a path that leads nowhere is no fault of a document.
func TestUnreadableFiles(t *testing.T) {
	for kind, want := range map[object.ProblemKind]int{object.Unreadable: 1, object.Missing: 0} {
		e, err := lint.New(all(t), &lint.Config{})
		if err != nil {
			t.Fatal(err)
		}
		file := &object.File{Name: "a.yaml", Class: object.Broken, Problems: []object.Problem{{
			Kind: kind, Message: "cannot be read: why", Location: object.Location{File: "a.yaml"},
		}}}
		r, err := e.Lint(context.Background(), lint.Input{Files: []*object.File{file}})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) != want || len(r.Problems) != 1 {
			t.Errorf("%s: findings %v, problems %v", kind, r.Findings, r.Problems)
		}
	}
}
