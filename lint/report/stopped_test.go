package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// Whoever reads a report in whatever format is told that the run was stopped; of text and compact the notes are a part.
func TestStoppedRun(t *testing.T) {
	r := &lint.Report{Problems: []object.Problem{{Kind: lint.Interrupted, Message: "the run was stopped by a signal when 1 of 2 objects were judged"}}}
	for _, name := range Names() {
		p, err := Named(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out, notes bytes.Buffer
		if err := p.Report(&out, r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Notes(&notes, r, Options{}); err != nil {
			t.Fatal(err)
		}
		told := out.String()
		if name == "text" || name == "compact" {
			told += notes.String()
		}
		if !strings.Contains(told, "the run was stopped by a signal when 1 of 2 objects were judged") {
			t.Errorf("%s: %s", name, told)
		}
		if name == "text" && !strings.Contains(out.String(), "no findings so far") {
			t.Errorf("%s: %s", name, out.String())
		}
	}
	var notes bytes.Buffer
	if err := Notes(&notes, r, Options{}); err != nil || !strings.HasPrefix(notes.String(), "problem: the run was stopped") {
		t.Errorf("%v: %s", err, notes.String())
	}
}
