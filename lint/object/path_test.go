package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPath(t *testing.T) {
	tests := []struct {
		text, pointer string
		path          Path
	}{
		{"", "", nil},
		{"spec", "/spec", Path{"spec"}},
		{"spec.ports[0].number", "/spec/ports/0/number", Path{"spec", "ports", 0, "number"}},
		{"spec.matrix[1][2]", "/spec/matrix/1/2", Path{"spec", "matrix", 1, 2}},
		{`metadata.annotations["a.b/c"]`, "/metadata/annotations/a.b~1c", Path{"metadata", "annotations", "a.b/c"}},
		{`metadata.labels["a[0]"].x`, "/metadata/labels/a[0]/x", Path{"metadata", "labels", "a[0]", "x"}},
		{`[""]`, "/", Path{""}},
		{"a~b", "/a~0b", Path{"a~b"}},
		{"[3]", "/3", Path{3}},
	}
	for _, tt := range tests {
		if got := tt.path.String(); got != tt.text {
			t.Errorf("%#v is written %q, want %q", tt.path, got, tt.text)
		}
		if diff := cmp.Diff(tt.path, ParsePath(tt.text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
		if got := tt.path.Pointer(); got != tt.pointer {
			t.Errorf("%q has pointer %q, want %q", tt.text, got, tt.pointer)
		}
	}
}

func TestParsePathLenient(t *testing.T) {
	for text, want := range map[string]Path{
		"a[b]":     {"a", "b"},
		"a[1":      {"a", "[1"},
		"a..b":     {"a", "b"},
		`a["b`:     {"a", `["b`},
		`a["b].c]`: {"a", `"b`, "c]"},
	} {
		if diff := cmp.Diff(want, ParsePath(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestPathRelations(t *testing.T) {
	p := Path{"spec", "ports", 0}
	child := p.Child("number")
	other := p.Child("name")
	if !child.Equal(Path{"spec", "ports", 0, "number"}) || !other.Equal(Path{"spec", "ports", 0, "name"}) {
		t.Errorf("children %s and %s share an array", child, other)
	}
	if !child.Parent().Equal(p) || len(Path(nil).Parent()) != 0 {
		t.Errorf("the parent of %s is %s", child, child.Parent())
	}
	if !child.HasPrefix(p) || !p.HasPrefix(p) || !p.HasPrefix(nil) || p.HasPrefix(child) || p.HasPrefix(Path{"spec", "ports", "0"}) || p.Equal(child) {
		t.Error("HasPrefix or Equal is wrong")
	}
}
