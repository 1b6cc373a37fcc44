package object

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseDocument(t *testing.T) {
	d, problem := ParseDocument("c.yaml", []byte(bom+"# config\n---\nrules:\n  SE101: {severity: error}\n"), Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	if diff := cmp.Diff(any(map[string]any{"rules": map[string]any{"SE101": map[string]any{"severity": "error"}}}), d.Root().Any()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p := Path{"rules", "SE101", "severity"}
	if got := rangeText(d.Locate(p)) + " " + rangeText(d.LocateKey(p)); got != "4:21-4:26 4:11-4:19" {
		t.Errorf("severity is at %s", got)
	}
	if f := d.o.file; f.Name != "c.yaml" || f.Line(3) != "rules:" || !f.HasBOM() {
		t.Errorf("file %q, line 3 %q", f.Name, f.Line(3))
	}
	for _, text := range []string{"", "# nothing\n", "---\n...\n"} {
		if d, problem := ParseDocument("c.yaml", []byte(text), Limits{}); problem != nil || d.Root().Exists() {
			t.Errorf("%q: root %v, problem %v", text, d.Root().Any(), problem)
		}
	}
}

func TestParseDocumentProblems(t *testing.T) {
	for text, want := range map[string]Problem{
		"a: b\n---\nc: d\n":          {Kind: Syntax, Message: "holds more than one YAML document; keep one", Location: Location{"c.yaml", Range{Pos{2, 1}, Pos{2, 2}}, true}},
		"a: b\na: c\n":               {Kind: Syntax, Message: "cannot be read: key \"a\" is already set on line 1; remove one of the two", Location: Location{"c.yaml", Range{Pos{2, 1}, Pos{2, 2}}, true}},
		"a: 'b\n":                    {Kind: Syntax, Message: "cannot be read: a quoted string is not closed; add the closing quote", Location: Location{"c.yaml", Range{Pos{2, 1}, Pos{2, 2}}, true}},
		strings.Repeat("#", 1<<20+1): {Kind: Bounds, Message: "is larger than 1 MiB; shorten it", Location: Location{File: "c.yaml"}},
		"a: [[[b]]]\n":               {Kind: Bounds, Message: "cannot be read: nested more than 3 levels deep; flatten it", Location: Location{"c.yaml", Range{Pos{1, 7}, Pos{1, 8}}, true}},
	} {
		_, got := ParseDocument("c.yaml", []byte(text), Limits{DocumentBytes: 1 << 20, Depth: 3})
		if got == nil {
			t.Errorf("%.20q: no problem, want %v", text, want)
			continue
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", text, diff)
		}
	}
}
