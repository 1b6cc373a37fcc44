package edit

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

const head = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata:\n  name: a\n"

// ops reads operations of the form `remove spec.host`, `add spec.hosts[0] "a"`, one a line, with values in JSON. [-] is the end of a
// list.
func ops(t testing.TB, text string) []lint.Op {
	t.Helper()
	var out []lint.Op
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		path, value, _ := strings.Cut(rest, " ")
		op := lint.Op{Kind: lint.OpKind(kind), Path: object.ParsePath(path)}
		if value != "" {
			if err := json.Unmarshal([]byte(value), &op.Value); err != nil {
				t.Fatalf("%s: %s", line, err)
			}
		}
		out = append(out, op)
	}
	return out
}

func TestLower(t *testing.T) {
	for _, c := range []struct{ what, before, ops, after string }{
		// Scalars keep how they are written, as far as the new value can be written so.
		{"plain", "spec:\n  host: a\n", `replace spec.host "b"`, "spec:\n  host: b\n"},
		{"plain, with alignment and comment", "spec:\n  host:   a   # c\n", `replace spec.host "b"`, "spec:\n  host:   b   # c\n"},
		{"double quotes", "spec:\n  host: \"a\"\n", `replace spec.host "b"`, "spec:\n  host: \"b\"\n"},
		{"double quotes need escapes", "spec:\n  host: \"a\"\n", `replace spec.host "b\"\\\n"`, "spec:\n  host: \"b\\\"\\\\\\n\"\n"},
		{"single quotes", "spec:\n  host: 'a'\n", `replace spec.host "it's"`, "spec:\n  host: 'it''s'\n"},
		{"single quotes cannot hold a line end", "spec:\n  host: 'a'\n", `replace spec.host "b\n"`, "spec:\n  host: \"b\\n\"\n"},
		{"quotes go from what is no string", "spec:\n  x: \"1\"\n", `replace spec.x 1`, "spec:\n  x: 1\n"},
		{"quotes come as in the rest of the object", "spec:\n  host: 'x'\n  w: 1\n", `replace spec.w "1"`, "spec:\n  host: 'x'\n  w: '1'\n"},
		{"plain over several lines", "spec:\n  x: a\n    b\n\n    c # c\n  w: 1\n", `replace spec.x "d"`, "spec:\n  x: d # c\n  w: 1\n"},
		{"quoted over several lines", "spec:\n  x: \"a\n    b\\\n    c\" # c\n", `replace spec.x "d"`, "spec:\n  x: \"d\" # c\n"},
		{"literal", "spec:\n  x: |- # c\n    a\n     b # no comment\n\n  # d\n  w: 1\n", `replace spec.x "d"`, "spec:\n  x: d # c\n\n  # d\n  w: 1\n"},
		{"folded", "spec:\n  x: >+\n    a\n\n  w: 1\n", `replace spec.x 5`, "spec:\n  x: 5\n\n  w: 1\n"},
		{"missing", "spec:\n  x: # c\n  w:\n", "replace spec.x 5\nreplace spec.w 6", "spec:\n  x: 5 # c\n  w: 6\n"},
		{"null", "spec:\n  x: ~ # c\n", `replace spec.x true`, "spec:\n  x: true # c\n"},
		{"to null", "spec:\n  x: 5 # c\n", `replace spec.x null`, "spec:\n  x: null # c\n"},
		{"not in ASCII", "spec:\n  h\u00e9: \u65e5\u672c # \u672c\n", "replace spec.h\u00e9 \"h\u00f4te\"", "spec:\n  h\u00e9: h\u00f4te # \u672c\n"},
		{"a tag goes with its value", "spec:\n  x: !!str 5\n", `replace spec.x 6`, "spec:\n  x: 6\n"},
		{"an anchor that nobody uses stays", "spec:\n  x: &a 5\n", `replace spec.x 6`, "spec:\n  x: &a 6\n"},
		{"explicit key", "spec:\n  ? x\n  : 5\n  w: 1\n", `replace spec.x 6`, "spec:\n  ? x\n  : 6\n  w: 1\n"},
		{"below its key", "spec:\n  x:\n    5 # c\n", `replace spec.x 6`, "spec:\n  x:\n    6 # c\n"},
		{"list item", "spec:\n  hosts:\n  - a\n  - 'b' # c\n", `replace spec.hosts[1] "d"`, "spec:\n  hosts:\n  - a\n  - 'd' # c\n"},
		{"list item that is missing", "spec:\n  x:\n  -\n  - # c\n", "replace spec.x[0] 1\nreplace spec.x[1] 2", "spec:\n  x:\n  - 1\n  - 2 # c\n"},
		{"in flow style", "spec: {host: a, x: [1, 'b']} # c\n", "replace spec.host \"d,e\"\nreplace spec.x[1] \"f\"", "spec: {host: 'd,e', x: [1, 'f']} # c\n"},
		{"missing in flow style", "spec: {x: , w: 1}\n", `replace spec.x 5`, "spec: {x: 5, w: 1}\n"},
		{"the same", "spec:\n  host: a\n", `replace spec.host "a"`, "spec:\n  host: a\n"},

		// Values of another form.
		{"scalar to mapping", "spec:\n  x: 5 # c\n  w: 1\n", `replace spec.x {"b": 1, "a": {"c": []}}`, "spec:\n  x: # c\n    a:\n      c: []\n    b: 1\n  w: 1\n"},
		{"scalar to list", "spec:\n  x: 5 # c\n", `replace spec.x ["a", {"b": 1, "c": 2}]`, "spec:\n  x: # c\n  - a\n  - b: 1\n    c: 2\n"},
		{"list item to mapping", "spec:\n  x:\n  - 5 # c\n  - 6\n", `replace spec.x[0] {"a": 1, "b": 2}`, "spec:\n  x:\n  - a: 1 # c\n    b: 2\n  - 6\n"},
		{"mapping to scalar", "spec:\n  x: # c\n    # d\n    a: 1 # e\n\n    b: 2\n  w: 1\n", `replace spec.x 5`, "spec:\n  x: 5 # c\n    # d\n    # e\n\n  w: 1\n"},
		{"list to mapping", "spec:\n  x:\n  - a # c\n  w: 1\n", `replace spec.x {"a": 1}`, "spec:\n  x:\n    # c\n    a: 1\n  w: 1\n"},
		{"mapping in a list to scalar", "spec:\n  x:\n  - a: 1 # c\n    b: 2 # d\n  - 3\n", `replace spec.x[0] 5`, "spec:\n  x:\n  - 5\n    # c\n    # d\n  - 3\n"},
		{"flow to scalar", "spec:\n  x: {a: 1, # c\n    b: 2} # d\n", `replace spec.x 5`, "spec:\n  x: 5 # d\n  # c\n"},
		{"block scalar to mapping", "spec:\n  x: | # c\n    a\n  w: 1\n", `replace spec.x {"a": 1}`, "spec:\n  x: # c\n    a: 1\n  w: 1\n"},
		{"mapping to one with some of the same", "spec:\n  x:\n    a: 1 # c\n    b: 2 # d\n    e: 3\n", `replace spec.x {"a": 1, "b": 5, "f": 6}`, "spec:\n  x:\n    a: 1 # c\n    b: 5 # d\n    f: 6\n"},
		{"list to one with some of the same", "spec:\n  x:\n  - a # c\n  - b # d\n  - c # e\n", `replace spec.x ["a", "c", "d"]`, "spec:\n  x:\n  - a # c\n  - c # d\n  - d # e\n"},
		{"list to a shorter one", "spec:\n  x:\n  - a # c\n  - b # d\n  - c # e\n", `replace spec.x ["a", "c"]`, "spec:\n  x:\n  - a # c\n  # d\n  - c # e\n"},

		// Adding.
		{"field", "spec:\n  host: a # c\n  # d\nstatus: {}\n", `add spec.x 1`, "spec:\n  host: a # c\n  x: 1\n  # d\nstatus: {}\n"},
		{"field, with the indentation of the file", "spec:\n    host: a\n", `add spec.x {"a": 1}`, "spec:\n    host: a\n    x:\n        a: 1\n"},
		{"field, with lists as in the file", "spec:\n  x:\n    - a\n", `add spec.w ["b"]`, "spec:\n  x:\n    - a\n  w:\n    - b\n"},
		{"field behind the comments of what is before it", "spec:\n  x:\n    a: 1\n    # c\n\n  # d\n", `add spec.w 1`, "spec:\n  x:\n    a: 1\n    # c\n  w: 1\n\n  # d\n"},
		{"field that is there is replaced", "spec:\n  x: 1 # c\n", `add spec.x 2`, "spec:\n  x: 2 # c\n"},
		{"field where null stands", "spec:\n  x: # c\n  w: 1\n", `add spec.x.a 2`, "spec:\n  x: # c\n    a: 2\n  w: 1\n"},
		{"missing parents", "spec:\n  host: a\n", "add spec.x.a.b 2\nadd spec.x.a.c 3", "spec:\n  host: a\n  x:\n    a:\n      b: 2\n      c: 3\n"},
		{"field in an empty mapping", "spec:\n  x: {} # c\n  w: 1\n", `add spec.x.a 2`, "spec:\n  x: # c\n    a: 2\n  w: 1\n"},
		{"field behind a literal that keeps its line ends", "spec:\n  x: |+\n    a\n\nstatus: {}\n", `add spec.w 1`, "spec:\n  x: |+\n    a\n\n  w: 1\nstatus: {}\n"},
		{"field in flow style", "spec: {host: a}\n", `add spec.x {"b": [1, "c"], "a": true}`, "spec: {host: a, x: {a: true, b: [1, c]}}\n"},
		{"field in flow style over lines", "spec: {\n  host: a, # c\n  w: 1 # d\n}\n", `add spec.x 2`, "spec: {\n  host: a, # c\n  w: 1, # d\n  x: 2\n}\n"},
		{"field in flow style behind a comma", "spec: {\n  host: a,\n  w: 1,\n}\n", `add spec.x 2`, "spec: {\n  host: a,\n  w: 1,\n  x: 2,\n}\n"},
		{"item by index", "spec:\n  x:\n  # c\n  - a\n  # d\n  - b\n", "add spec.x[1] \"e\"", "spec:\n  x:\n  # c\n  - a\n  - e\n  # d\n  - b\n"},
		{"first item", "spec:\n  x:\n  - a # c\n  - b\n", "add spec.x[0] \"e\"", "spec:\n  x:\n  - e\n  - a # c\n  - b\n"},
		{"last item", "spec:\n  x:\n  - a # c\n  w: 1\n", "add spec.x[-] {\"a\": 1, \"b\": {\"c\": 2}}", "spec:\n  x:\n  - a # c\n  - a: 1\n    b:\n      c: 2\n  w: 1\n"},
		{"item, with dashes as in the list", "spec:\n  x:\n    -   a: 1\n        b: 2\n", "add spec.x[-] {\"a\": 3, \"b\": 4}", "spec:\n  x:\n    -   a: 1\n        b: 2\n    -   a: 3\n        b: 4\n"},
		{"item in an empty list", "spec:\n  x: [] # c\n", "add spec.x[-] 1", "spec:\n  x: # c\n  - 1\n"},
		{"item in flow style", "spec:\n  x: [a, b] # c\n", "add spec.x[1] \"d e\"\nadd spec.x[-] \"f\"", "spec:\n  x: [a, d e, b, f] # c\n"},
		{"item in a list in a list", "spec:\n  x:\n  - - a\n    - b\n", "add spec.x[0][0] 1", "spec:\n  x:\n  - - 1\n    - a\n    - b\n"},
		{"item of a literal", "spec:\n  x:\n  - |\n    a\n", "add spec.x[-] 1", "spec:\n  x:\n  - |\n    a\n  - 1\n"},
		{"root", "spec:\n  host: a\n", `add status {"a": 1}`, "spec:\n  host: a\nstatus:\n  a: 1\n"},

		// Removing.
		{"removed field", "spec:\n  # c\n  x: 1 # d\n  # e\n  w: 2\n", `remove spec.x`, "spec:\n  # c\n  # d\n  # e\n  w: 2\n"},
		{"removed last field", "spec:\n  w: 2\n  x: 1\nstatus: {}\n", `remove spec.x`, "spec:\n  w: 2\nstatus: {}\n"},
		{"removed mapping", "spec:\n  x: # c\n    # d\n    a: # e\n\n      b: 1 # f\n      # g\n  w: 2\n", `remove spec.x`, "spec:\n  # c\n  # d\n  # e\n\n  # f\n  # g\n  w: 2\n"},
		{"removed literal", "spec:\n  x: | # c\n    # no comment\n\n    a\n\n  w: 2\n", `remove spec.x`, "spec:\n  # c\n\n  w: 2\n"},
		{"removed only field", "spec:\n  host: a\n  x: # c\n    a: 1 # d\n  w: 2\n", `remove spec.x.a`, "spec:\n  host: a\n  x: {} # c\n    # d\n  w: 2\n"},
		{"removed only item", "spec:\n  x: # c\n  - 1 # d\n  w: 2\n", `remove spec.x[0]`, "spec:\n  x: [] # c\n  # d\n  w: 2\n"},
		{"removed first field of an item", "spec:\n  x:\n  - a: 1\n    b: 2\n", `remove spec.x[0].a`, "spec:\n  x:\n  - b: 2\n"},
		{"removed first field of an item, with comments", "spec:\n  x:\n  # c\n  - a: 1 # d\n    # e\n\n    b: 2 # f\n", `remove spec.x[0].a`, "spec:\n  x:\n  # c\n  # d\n  # e\n\n  - b: 2 # f\n"},
		{"removed first two fields of an item", "spec:\n  x:\n  - a: 1\n    b: 2\n    c: 3\n", "remove spec.x[0].a\nremove spec.x[0].b", "spec:\n  x:\n  - c: 3\n"},
		{"removed only field of an item", "spec:\n  x:\n  - a: 1 # c\n  - b: 2\n", `remove spec.x[0].a`, "spec:\n  x:\n  - {}\n    # c\n  - b: 2\n"},
		{"removed item", "spec:\n  x:\n  - a: 1 # c\n    b: 2\n  # d\n  - 3\n", `remove spec.x[0]`, "spec:\n  x:\n  # c\n  # d\n  - 3\n"},
		{"removed item of a list in a list", "spec:\n  x:\n  - - a # c\n    - b\n", `remove spec.x[0][0]`, "spec:\n  x:\n  # c\n  - - b\n"},
		{"removed in flow style", "spec: {host: a, x: 1, w: 2}\n", `remove spec.x`, "spec: {host: a, w: 2}\n"},
		{"removed first in flow style", "spec: {x: 1, w: 2}\n", `remove spec.x`, "spec: {w: 2}\n"},
		{"removed last in flow style", "spec: { w: 2, x: 1 }\n", `remove spec.x`, "spec: { w: 2 }\n"},
		{"removed only one in flow style", "spec:\n  x: { a: 1 }\n", `remove spec.x.a`, "spec:\n  x: {}\n"},
		{"removed in flow style over lines", "spec: {\n  x: 1, # c\n  w: 2, # d\n  z: 3 # e\n}\n", "remove spec.w", "spec: {\n  x: 1, # c\n  # d\n  z: 3 # e\n}\n"},
		{"removed last in flow style over lines", "spec:\n  x: [\n    a,\n    b,\n  ]\n", "remove spec.x[1]", "spec:\n  x: [\n    a,\n  ]\n"},
		{"removed last in flow style behind a comment", "spec: {\n  x: 1, # c\n  w: 2 # d\n}\n", "remove spec.w", "spec: {\n  x: 1 # c\n   # d\n}\n"},
		{"removed alias", "x: &a {b: 1}\nspec:\n  w: *a # c\n  z: 1\n", `remove spec.w`, "x: &a {b: 1}\nspec:\n  # c\n  z: 1\n"},
		{"removed and added", "spec:\n  x:\n    a: 1 # c\n", "remove spec.x.a\nadd spec.x.b 1", "spec:\n  x:\n    # c\n    b: 1\n"},
		{"removed and added in an item", "spec:\n  x:\n  - a: 1 # c\n", "remove spec.x[0].a\nadd spec.x[0].b 1", "spec:\n  x:\n  - b: 1 # c\n"},
		{"added before what is removed", "spec:\n  x:\n  - - a # c\n  - d\n", "add spec.x[0][0] 1\nremove spec.x[0][1]", "spec:\n  x:\n  - - 1 # c\n  - d\n"},
		{"removed and back", "spec:\n  x: 1 # c\n  w: 2\n", "remove spec.x\nadd spec.x 3", "spec:\n  x: 3 # c\n  w: 2\n"},
		{"removed items, whose indexes shift", "spec:\n  x:\n  - a\n  - b\n  - c\n", "remove spec.x[0]\nremove spec.x[1]", "spec:\n  x:\n  - b\n"},
		{"added and removed", "spec:\n  host: a\n", "add spec.x 1\nremove spec.x", "spec:\n  host: a\n"},
		{"added and changed", "spec:\n  host: a\n", "add spec.x {\"a\": [1]}\nadd spec.x.a[0] 2\nreplace spec.x.a[1] 3", "spec:\n  host: a\n  x:\n    a:\n    - 2\n    - 3\n"},
		{"own field beside a merge key", "x: &a {b: 1}\nspec:\n  <<: *a\n  c: 2 # c\n", "replace spec.c 3\nadd spec.d 4", "x: &a {b: 1}\nspec:\n  <<: *a\n  c: 3 # c\n  d: 4\n"},
		{"beside a merge key alone", "x: &a {b: 1}\nspec:\n  <<: *a # c\n", "add spec.d 4", "x: &a {b: 1}\nspec:\n  <<: *a # c\n  d: 4\n"},
		{"beside what a merge key replaces", "x: &a {b: 1}\nspec:\n  b: \"# no comment \\\" # nor this\" # c\n  d: 'it''s # none' # e\n  <<: *a\n  z: 1\n", "remove spec.z", "x: &a {b: 1}\nspec:\n  b: \"# no comment \\\" # nor this\" # c\n  d: 'it''s # none' # e\n  <<: *a\n"},
		{"mapping in a list to list", "spec:\n  x:\n  - a: 1 # c\n    b: 2 # d\n  - 3\n", `replace spec.x[0] ["e", "f"]`, "spec:\n  x:\n  - - e\n    - f\n    # c\n    # d\n  - 3\n"},
		{"list in a list to mapping", "spec:\n  x:\n  - - a # c\n  - 3\n", `replace spec.x[0] {"e": 1, "f": 2}`, "spec:\n  x:\n  - e: 1\n    f: 2\n    # c\n  - 3\n"},
		{"anchored item to mapping", "spec:\n  x:\n  - &a 5 # c\n", `replace spec.x[0] {"e": 1}`, "spec:\n  x:\n  - &a {e: 1} # c\n"},
		{"tab before a comment", "spec:\n  x: 5\t# c\n", `replace spec.x {"e": 1}`, "spec:\n  x: # c\n    e: 1\n"},
		{"comments further right than what is removed", "spec:\n  x: |\n    a\n  z:\n    b: 1\n      # c\n\n    # d\n  # e\n", "remove spec.z", "spec:\n  x: |\n    a\n  # c\n\n  # d\n  # e\n"},

		// Ends of files and lines.
		{"no line end at the end", "spec:\n  x: 1\n  w: 2", "replace spec.w 3", "spec:\n  x: 1\n  w: 3"},
		{"no line end at the end, added", "spec:\n  x: 1", "add spec.w 3", "spec:\n  x: 1\n  w: 3"},
		{"no line end at the end, replaced and added", "spec:\n  x: 1", "replace spec.x 2\nadd spec.w 3", "spec:\n  x: 2\n  w: 3"},
		{"no line end at the end, removed", "spec:\n  x: 1\n  w: 2", "remove spec.w", "spec:\n  x: 1"},
		{"no line end at the end, removed with comment", "spec:\n  x: 1\n  w: 2 # c", "remove spec.w", "spec:\n  x: 1\n  # c"},
		{"no line end at the end, removed and added", "spec:\n  x: 1\n  w: 2", "remove spec.w\nadd spec.z 3", "spec:\n  x: 1\n  z: 3"},
		{"CRLF", "spec:\r\n  x: 1 # c\r\n  w: 2\r\n", "remove spec.x\nadd spec.z {\"a\": 1}", "spec:\r\n  # c\r\n  w: 2\r\n  z:\r\n    a: 1\r\n"},
		{"CRLF, no line end at the end", "spec:\r\n  x: 1\r\n  w: 2", "remove spec.w", "spec:\r\n  x: 1"},
	} {
		t.Run(c.what, func(t *testing.T) {
			nl := "\n"
			if strings.Contains(c.before, "\r\n") {
				nl = "\r\n"
			}
			start := strings.ReplaceAll(head, "\n", nl)
			f := load(t, start+c.before)
			if len(f.Objects) != 1 {
				t.Fatalf("%d objects, %v", len(f.Objects), f.Problems)
			}
			after, ok := lower(t, f, 0, ops(t, c.ops))
			if !ok {
				t.Fatalf("refused: %s", after)
			}
			if diff := cmp.Diff(start+c.after, after); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestQuotes writes strings that a reader of YAML takes for something else if they have no quotes.
func TestQuotes(t *testing.T) {
	for _, s := range []string{
		"yes", "No", "on", "OFF", "y", "n", "true", "null", "~", "Null", "", "1", "1_000", "0777", "0x1F", "0o17", "0b1", "1e3", ".5", "1.", "+1", "-1", ".inf", ".NaN",
		"2020-01-01", "2001-12-14t21:59:43.10-05:00", "12:30:45", "190:20:30", "=", "<<", "- a", "-", "? a", ": a", "a: b", "a:", "a #b", "#a", "&a", "*a", "!a", "|", ">", "'a'",
		"\"a\"", "%a", "@a", "`a", "[a", "{a", "]", "}", ",", " a", "a ", "a\nb", "\t", "---", "...", "\u0085", "\u2028", "\ufeff", "\x00", "\x7f", "{{ a }}", "${a}",
	} {
		for _, flow := range []bool{false, true} {
			if canBePlain(s, flow) {
				t.Errorf("%q has no quotes (flow %t)", s, flow)
			}
		}
		for _, before := range []string{"spec:\n  x: a\n", "spec: {x: a}\n", "spec:\n  x: 'a'\n", "spec: {x: \"a\"}\n"} {
			f := load(t, head+before)
			if after, ok := lower(t, f, 0, []lint.Op{{Kind: lint.Replace, Path: object.Path{"spec", "x"}, Value: s}}); !ok {
				t.Errorf("%q in %q is refused: %s", s, before, after)
			}
		}
	}
	for _, s := range []string{"a", "ISTIO_MUTUAL", "10s", "a.example.com", "10.0.0.1", "a b", "a/b", "h\u00e9", "a-b", "a:b", "2001:db8::1", "\U0001F600", "a'b"} {
		if !canBePlain(s, false) {
			t.Errorf("%q has quotes", s)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ what, text, ops, want string }{
		{"behind an alias", "x: &a\n  b: 1\n" + head + "spec:\n  w: *a\n", `replace spec.w.b 2`, "the value of spec.w is an alias"},
		{"alias", "x: &a 1\n" + head + "spec:\n  w: *a\n", `replace spec.w 2`, "the value of spec.w is an alias"},
		{"anchor that is used", head + "spec:\n  x: &a 1\n  w: *a\n", `replace spec.x 2`, "spec.x has the anchor &a"},
		{"in an anchor that is used", head + "spec:\n  x: &a\n    b: 1\n  w: *a\n", `add spec.x.c 2`, "spec.x has the anchor &a"},
		{"removed anchor that is used", head + "spec:\n  x: &a 1\n  w: *a\n", `remove spec.x`, "spec.x has the anchor &a"},
		{"removed around an anchor that is used", head + "spec:\n  x:\n    z: &a 1\n  w: *a\n", `remove spec.x`, "would not be readable"},
		{"merged", "x: &a {b: 1}\n" + head + "spec:\n  <<: *a\n  c: 1\n", `replace spec.b 2`, "spec.b comes from a merge key"},
		{"merged, removed", "x: &a {b: 1}\n" + head + "spec:\n  <<: *a\n", `remove spec.b`, "spec.b comes from a merge key"},
		{"below merged", "x: &a {b: {c: 1}}\n" + head + "spec:\n  <<: *a\n", `replace spec.b.c 1`, "spec.b comes from a merge key"},
		{"merged in place", head + "spec:\n  <<: {b: 1}\n  c: 1\n", `remove spec.b`, "spec.b comes from a merge key"},
		{"merged in flow style", "x: &a {b: 1}\n" + head + "spec: {<<: *a, c: 1}\n", `replace spec.c 2`, "spec has a merge key"},
		{"what a merge key would bring back", "x: &a {b: 1}\n" + head + "spec:\n  <<: *a\n  b: 2\n", `remove spec.b`, "would say something else"},
		{"pair without braces", head + "spec:\n  x: [a: 1]\n", `replace spec.x[0].a 2`, "a pair in a list without braces"},
		{"key without colon", head + "spec: {x, w: 1}\n", `replace spec.x 2`, "the key spec.x has no colon"},
		{"tag and anchor", head + "spec:\n  x: !!str &a b\n", `replace spec.x 2`, "a tag and an anchor"},
		{"not there", head + "spec:\n  x: 1\n", `replace spec.w 2`, "there is no spec.w"},
		{"not there, removed", head + "spec:\n  x: 1\n", `remove spec.w.z`, "there is no spec.w"},
		{"index beyond the list", head + "spec:\n  x: [1]\n", `add spec.x[2] 2`, "there is no place spec.x[2] in a list of 1"},
		{"below a scalar", head + "spec:\n  x: 1\n", `add spec.x.y 2`, "there is no spec.x.y"},
		{"an old line end", head + "spec:\n  x: 1\r  w: 2\n", `remove spec.x`, "only YAML takes"},
		{"nothing named", head + "spec:\n  x: 1\n", `remove `, "about the whole object"},
		{"kind of a typed list's item", "apiVersion: networking.istio.io/v1\nkind: DestinationRuleList\nitems:\n- metadata: {name: a}\n  spec: {host: a}\n", `replace kind "ServiceEntry"`, "there is no kind"},
		{"item that is an alias", "x: &a\n  apiVersion: networking.istio.io/v1\n  kind: DestinationRule\n  metadata: {name: a}\n  spec: {host: a}\napiVersion: v1\nkind: List\nitems:\n- *a\n", `remove spec.host`, "the object is the value of an alias"},
		{"item that is used again", "apiVersion: v1\nkind: List\nitems:\n- &a\n  apiVersion: networking.istio.io/v1\n  kind: DestinationRule\n  metadata: {name: a}\n  spec: {host: a}\n- *a\n", `remove spec.host`, "*a stands for it elsewhere"},
		{"without its kind", head + "spec: {host: a}\n", "replace metadata {}\nremove metadata", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := load(t, c.text)
			if len(f.Objects) == 0 {
				t.Fatalf("no objects, %v", f.Problems)
			}
			after, ok := lower(t, f, 0, ops(t, c.ops))
			if ok != (c.want == "") || !strings.Contains(after, c.want) {
				t.Errorf("got %q, want a refusal that says %q", after, c.want)
			}
		})
	}
	o, err := object.FromMap(map[string]any{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"host": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lower(o, ops(t, "remove spec.host")); err == nil || !strings.Contains(err.Error(), "not read from a file") {
		t.Errorf("an object of a cluster: got %v", err)
	}
}

// TestPlaces edits objects wherever one can stand in a file.
func TestPlaces(t *testing.T) {
	item := func(name, pad string) string {
		return strings.ReplaceAll("apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata:\n  name: "+name+"\nspec:\n  host: "+name+" # c\n", "\n", "\n"+pad)
	}
	for _, c := range []struct {
		what, text string
		object     int
		ops        string
		old, fresh string // what the text is to have in place of what
	}{
		{"second document", "# a\n---\n" + item("a", "") + "--- # b\n" + item("b", "") + "...\n---\nx: 1\n", 1, `replace spec.host "z"`, "host: b", "host: z"},
		{"block list", "apiVersion: v1\nkind: List\nitems:\n# a\n- " + item("a", "  ") + "\n- " + item("b", "  "), 0, "replace spec.host \"z\"\nadd spec.x 1", "host: a # c\n", "host: z # c\n    x: 1\n"},
		{"flow list", "apiVersion: v1\nkind: List\nitems: [{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {name: a}, spec: {host: a}}]\n", 0, "add spec.x 1", "{host: a}", "{host: a, x: 1}"},
		{"list in a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - " + item("a", "    ") + "\n", 0, "remove spec.host", "spec:\n      host: a # c", "spec: {}\n      # c"},
		{"typed list", "apiVersion: networking.istio.io/v1\nkind: DestinationRuleList\nitems:\n- metadata: {name: a}\n  spec: {host: a}\n- metadata: {name: b}\n  spec: {host: b}\n", 1, `replace spec.host "z"`, "{host: b}", "{host: z}"},
		{"behind a byte-order mark", "\ufeff" + item("a", ""), 0, `replace spec.host "z"`, "host: a", "host: z"},
		{"behind a directive", "%YAML 1.1\n---\n" + item("a", ""), 0, `replace spec.host "z"`, "host: a", "host: z"},
		{"on the line of the marker", "--- {apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {name: a}, spec: {host: a}}\n", 0, `add spec.x 1`, "{host: a}", "{host: a, x: 1}"},
		{"JSON", `{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "a"}, "spec": {"host": "a"}}`, 0, `add spec.x {"a": [1, "b"]}`, `{"host": "a"}`, `{"host": "a", "x": {"a": [1, "b"]}}`},
		{"JSON without blanks", `{"apiVersion":"networking.istio.io/v1","kind":"DestinationRule","metadata":{"name":"a"},"spec":{"host":"a"}}`, 0, `add spec.x {"a": 1, "b": 2}`, `{"host":"a"}`, `{"host":"a","x":{"a":1,"b":2}}`},
		{"JSON over lines", "{\n    \"apiVersion\": \"networking.istio.io/v1\",\n    \"kind\": \"DestinationRule\",\n    \"metadata\": {\n        \"name\": \"a\"\n    },\n    \"spec\": {\n        \"host\": \"a\"\n    }\n}\n", 0, `add spec.x {"a": [1]}`, "\"host\": \"a\"\n", "\"host\": \"a\",\n        \"x\": {\n            \"a\": [\n                1\n            ]\n        }\n"},
		{"JSON over lines, empty", "{\n  \"apiVersion\": \"networking.istio.io/v1\",\n  \"kind\": \"DestinationRule\",\n  \"metadata\": {\"name\": \"a\"},\n  \"spec\": {}\n}\n", 0, `add spec.host "yes"`, "\"spec\": {}", "\"spec\": {\n    \"host\": \"yes\"\n  }"},
		{"JSON with escapes that YAML does not know", `{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "a\/b\ud83d\ude00"}, "spec": {"host": "a"}}`, 0, `remove spec.host`, `{"host": "a"}`, `{}`},
		{"one of several JSON values", `{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "a"}, "spec": {"host": "a"}}{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "b"}, "spec": {"host": "b"}}` + "\n", 0, `replace spec.host "z"`, `{"host": "a"}`, `{"host": "z"}`},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := load(t, c.text)
			if len(f.Objects) <= c.object {
				t.Fatalf("%d objects, %v", len(f.Objects), f.Problems)
			}
			after, ok := lower(t, f, c.object, ops(t, c.ops))
			if !ok {
				t.Fatalf("refused: %s", after)
			}
			text := strings.TrimPrefix(c.text, "\ufeff")
			want := strings.Replace(text, c.old, c.fresh, 1)
			if want == text {
				t.Fatalf("%q is not in the text", c.old)
			}
			if diff := cmp.Diff(want, after); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCreate(t *testing.T) {
	fresh := map[string]any{
		"kind": "DestinationRule", "apiVersion": "networking.istio.io/v1", "metadata": map[string]any{"namespace": "x", "name": "on"},
		"spec": map[string]any{"trafficPolicy": map[string]any{"tls": map[string]any{"mode": "SIMPLE"}}, "host": "a.example.com", "exportTo": []string{"."}},
	}
	made := "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata:\n  name: \"on\"\n  namespace: x\nspec:\n  host: a.example.com\n  exportTo:\n  - \".\"\n  trafficPolicy:\n    tls:\n      mode: SIMPLE\n"
	indented := func(pad string) string { return strings.ReplaceAll(strings.TrimSuffix(made, "\n"), "\n", "\n"+pad) }
	old := head + "spec:\n  host: b\n"
	for _, c := range []struct {
		what, text string
		object     int
		want       string // the text after, or the refusal
	}{
		{"one document", old, 0, old + "---\n" + made},
		{"behind a marker", "---\n" + old, 0, "---\n" + old + "---\n" + made},
		{"before another", old + "---\n" + old, 0, old + "---\n" + made + "---\n" + old},
		{"before another, with an empty line", old + "\n---\n" + old, 0, old + "\n---\n" + made + "\n---\n" + old},
		{"behind the second", old + "---\n" + old + "# c\n", 1, old + "---\n" + old + "# c\n---\n" + made},
		{"before an end marker", old + "...\n", 0, old + "---\n" + made + "...\n"},
		{"before an end marker and directives", old + "...\n%YAML 1.1\n---\nx: 1\n", 0, old + "---\n" + made + "...\n%YAML 1.1\n---\nx: 1\n"},
		{"no line end at the end", strings.TrimSuffix(old, "\n"), 0, strings.TrimSuffix(old+"---\n"+made, "\n")},
		{"comment at the end", old + "# c", 0, old + "# c\n---\n" + strings.TrimSuffix(made, "\n")},
		{"CRLF", strings.ReplaceAll(old, "\n", "\r\n"), 0, strings.ReplaceAll(old+"---\n"+made, "\n", "\r\n")},
		{"behind a literal that would take a line end", strings.TrimSuffix(old, "\n") + "\n  x: |\n    a", 0, "with a line end after its last line"},
		{"JSON", `{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "a"}, "spec": {"host": "a"}}`, 0, "the file is JSON"},
		{"flow style", "{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {name: a}, spec: {host: a}}\n", 0,
			"{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {name: a}, spec: {host: a}}\n---\n" + made},
		{"list", "apiVersion: v1\nkind: List\nitems:\n- " + indented("  ") + " # c\n- a: 1\n", 0, "apiVersion: v1\nkind: List\nitems:\n- " + indented("  ") + " # c\n- " + indented("  ") + "\n- a: 1\n"},
		{"JSON list", `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "a"}, "spec": {"host": "a"}}]}`, 0,
			`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "a"}, "spec": {"host": "a"}}, ` +
				`{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "on", "namespace": "x"}, "spec": {"host": "a.example.com", "exportTo": ["."], "trafficPolicy": {"tls": {"mode": "SIMPLE"}}}}]}`},
		{"typed list", "apiVersion: networking.istio.io/v1\nkind: DestinationRuleList\nitems:\n- metadata: {name: a}\n  spec: {host: a}\n", 0,
			"apiVersion: networking.istio.io/v1\nkind: DestinationRuleList\nitems:\n- metadata: {name: a}\n  spec: {host: a}\n---\n" + made},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := load(t, c.text)
			if len(f.Objects) <= c.object {
				t.Fatalf("%d objects, %v", len(f.Objects), f.Problems)
			}
			edits, err := Create(f.Objects[c.object], fresh)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("refused: %s", err)
				}
				return
			}
			after, err := Apply(f.Text(), edits)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, after); diff != "" {
				t.Fatalf("-want +got:\n%s", diff)
			}
			g := load(t, after)
			if len(g.Objects) != len(f.Objects)+1 || len(g.Problems) > 0 {
				t.Fatalf("%d objects after %d, %v", len(g.Objects), len(f.Objects), g.Problems)
			}
			want, err := canonical(fresh)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, g.Objects[c.object+1].Root().Any()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	item := "- &a\n  apiVersion: networking.istio.io/v1\n  kind: DestinationRule\n  metadata: {name: a}\n  spec: {host: a}\n"
	list := load(t, "apiVersion: v1\nkind: List\nitems:\n"+item+"x: *a\n").Objects[0]
	document := load(t, head+"spec: {host: a}\n").Objects[0]
	cluster, err := object.FromMap(map[string]any{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": map[string]any{"name": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		after *object.Object
		fresh map[string]any
		want  string
	}{
		{"a list with anchors", list, map[string]any{"kind": "x"}, "*a stands for it elsewhere"},
		{"an object of a cluster", cluster, map[string]any{"kind": "x"}, "not read from a file"},
		{"what JSON cannot hold", document, map[string]any{"kind": math.Inf(1)}, "unsupported value"},
	} {
		if _, err := Create(c.after, c.fresh); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.what, err, c.want)
		}
	}
}

// TestLargeWithAliases: of a large document with aliases all would have to be read for each change.
func TestLargeWithAliases(t *testing.T) {
	for _, size := range []int{wholeBytes / 2, wholeBytes * 2} {
		f := load(t, "x: &a 1\ny: *a\nz: \""+strings.Repeat("z", size)+"\"\n"+head+"spec:\n  host: a\n")
		if _, err := Lower(f.Objects[0], ops(t, `replace spec.host "b"`)); (err != nil) != (size > wholeBytes) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestApply(t *testing.T) {
	if got, err := Apply("abcdef", []Edit{{4, 5, "Y"}, {0, 1, ""}, {2, 2, "1"}, {2, 2, "2"}}); err != nil || got != "b12cdYf" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, edits := range [][]Edit{{{0, 3, ""}, {2, 4, ""}}, {{-1, 0, ""}}, {{3, 2, ""}}, {{6, 7, ""}}} {
		if got, err := Apply("abcdef", edits); err == nil {
			t.Errorf("%v gives %q and no error", edits, got)
		}
	}
}

func TestPatch(t *testing.T) {
	f := load(t, head+"spec:\n  x:\n  w: [1, 2]\n")
	for _, c := range []struct{ ops, want string }{
		{"add spec.x.a.b 1", `{"x": {"a": {"b": 1}}, "w": [1, 2]}`},
		{"add spec.z.a 1\nadd spec.z.b 2", `{"x": null, "w": [1, 2], "z": {"a": 1, "b": 2}}`},
		{"add spec.w[-] 3\nremove spec.w[0]\nremove spec.x", `{"w": [2, 3]}`},
		{"remove spec.z", "error"},
		{"replace spec.z.a 1", "error"},
		{"add spec.w.a 1", "error"},
	} {
		got, err := Patch(f.Objects[0], ops(t, c.ops))
		if err != nil {
			if c.want != "error" {
				t.Errorf("%s: %s", c.ops, err)
			}
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Errorf("%s: got %v, want an error", c.ops, got.Spec().Any())
			continue
		}
		if want, _ = plainNumbers(want); fmt.Sprint(want) != fmt.Sprint(got.Spec().Any()) {
			if js, _ := got.Spec().MarshalJSON(); !jsonEqual(string(js), c.want) {
				t.Errorf("%s: got %s, want %s", c.ops, js, c.want)
			}
		}
	}
}

func jsonEqual(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}
