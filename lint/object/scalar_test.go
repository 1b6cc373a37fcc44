package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parseText(t *testing.T, text string) Value {
	t.Helper()
	b := treeBuilder{limits: Limits{}.WithDefaults(), text: text}
	root, err := b.parse(0, len(text))
	if err != nil {
		t.Fatalf("%q: %s", text, err)
	}
	return root
}

// TestScalars gives values as kubectl sends them. That they are what its reader makes of the text is held by the differential
// tests.
func TestScalars(t *testing.T) {
	for text, want := range map[string]any{
		"yes": true, "Yes": true, "y": true, "on": true, "ON": true, "True": true,
		"no": false, "n": false, "N": false, "off": false, "FALSE": false,
		"~": nil, "null": nil, "Null": nil, "": nil,
		"yEs": "yEs", "nULL": "nULL", "none": "none", "'yes'": "yes", "\"n\"": "n",
		"0": int64(0), "-0": int64(0), "443": int64(443), "+443": int64(443), "-1": int64(-1),
		"0777": int64(511), "0o777": int64(511), "0x1F": int64(31), "-0x1f": int64(-31), "0b101": int64(5), "0b+1": int64(1), "0b2": "0b2", "1e400": "1e400", ".e": ".e", "-0b101": int64(-5), "08": int64(8), "1_000": int64(1000), "_1": "_1",
		"9223372036854775807": int64(9223372036854775807), "9223372036854775808": float64(9223372036854775808), "99999999999999999999": float64(99999999999999999999),
		"1.5": 1.5, "-.5": -0.5, ".5": 0.5, "1.": int64(1), "1.0": int64(1), "1e3": int64(1000), "1E-2": 0.01, "1e21": 1e21, "1e999": "1e999", ".": ".", "1_0.5": 10.5,
		"4611686018427387904.0": int64(4611686018427388000), // the shortest digits of the float
		"10s":                   "10s", "1.2.3.4": "1.2.3.4", "2001:db8::1": "2001:db8::1", "190:20:30": "190:20:30", "1-2": "1-2", "2001-01-01": "2001-01-01", "0x": "0x", "1e": "1e", "--1": "--1", "+": "+",
		"!!str 1": "1", "!!int '1'": int64(1), "!!float 1": int64(1), "!!float '1.5'": 1.5, "!!bool 'y'": true, "!!null ''": nil,
		"!!binary aGVsbG8=": "hello", "!!binary /w==": "\ufffd", "!!timestamp 2001-01-01": "2001-01-01", "!!timestamp '2001-12-14t21:59:43.10-05:00'": "2001-12-14t21:59:43.10-05:00",
		"!Ref 1": "1", "! 1": "1", "!<tag:yaml.org,2002:int> '7'": int64(7),
		"|\n  yes\n": "yes\n", ">-\n  a\n  b\n": "a b", "\"a\\\n  b\"": "ab", "\"\\x41\\u00e9\\U0001F600\\t\"": "A\u00e9\U0001F600\t", "'it''s'": "it's",
	} {
		if diff := cmp.Diff(want, parseText(t, "a: "+text).Get("a").Any()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestKeys(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "'a'": "a", "\"\\x61\"": "a", "on": "true", "n": "false", "1": "1", "0x10": "16", "1.0": "1", "1e10": "1e+10", ".inf": ".inf", "-.inf": "-.inf", ".nan": ".nan", "1e70": ".inf", "-1e70": "-.inf",
		"!!str on": "on", "2001-01-01": "2001-01-01", "!!binary YQ==": "a",
	} {
		v := parseText(t, text+": x").First()
		if v.Key() != want {
			t.Errorf("key %q is %q, want %q", text, v.Key(), want)
		}
	}
	for _, text := range []string{"~: x", "? \n: x", "a: !!binary '*'", "a: !!null b", "a: !!timestamp b", "a: !!timestamp 2001x01-01", "a: !!float x", "18446744073709551615: x", "!!int a: x", "[a]: x"} {
		b := treeBuilder{limits: Limits{}.WithDefaults(), text: text}
		if root, err := b.parse(0, len(text)); err == nil {
			t.Errorf("%q is read as %v", text, root.Any())
		}
	}
}

func TestMergeKeys(t *testing.T) {
	one, two, three := int64(1), int64(2), int64(3)
	tests := []struct {
		name, text string
		want       map[string]any
	}{
		{"later wins over the merge", "a: &a {x: 1, q: 2}\nb: {<<: *a, x: 3}", map[string]any{"x": three, "q": two}},
		{"the merge wins over what is earlier", "a: &a {x: 1}\nb: {x: 3, <<: *a}", map[string]any{"x": one}},
		{"of a list, the first wins", "a: &a {x: 1}\nc: &c {x: 2, q: 2}\nb: {<<: [*a, *c]}", map[string]any{"x": one, "q": two}},
		{"of two merges, the later wins", "a: &a {x: 1}\nc: &c {x: 2}\nb: {<<: *a, <<: *c}", map[string]any{"x": two}},
		{"inline", "b: {<<: {x: 1}, q: 2}", map[string]any{"x": one, "q": two}},
		{"nested", "a: &a {<<: {x: 1}, q: 2}\nb: {<<: *a, z: 3}", map[string]any{"x": one, "q": two, "z": three}},
		{"many fields", "a: &a {a1: 1, a2: 1, a3: 1, a4: 1, a5: 1, a6: 1, a7: 1, a8: 1, a9: 1, b1: 1, b2: 1, b3: 1, b4: 1, b5: 1, b6: 1, b7: 1, b8: 1, x: 1}\nb: {<<: *a, x: 3}", map[string]any{
			"a1": one, "a2": one, "a3": one, "a4": one, "a5": one, "a6": one, "a7": one, "a8": one, "a9": one,
			"b1": one, "b2": one, "b3": one, "b4": one, "b5": one, "b6": one, "b7": one, "b8": one, "x": three,
		}},
		{"quoted is no merge", "b: {\"<<\": {x: 1}}", map[string]any{"<<": map[string]any{"x": one}}},
		{"tagged is no merge", "b: {!!str <<: {x: 1}}", map[string]any{"<<": map[string]any{"x": one}}},
		{"tagged as merge", "b: {!!merge <<: {x: 1}}", map[string]any{"x": one}},
		{"a block is no merge", "b:\n  ? |-\n    <<\n  : {x: 1}", map[string]any{"<<": map[string]any{"x": one}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(any(tt.want), parseText(t, tt.text).Get("b").Any()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if d := disagreement(tt.text, 0, len(tt.text)); d != "" {
				t.Error(d)
			}
		})
	}
	for _, text := range []string{"a: {x: 1, <<: {x: 2}, x: 3}", "a: {<<: {x: 2}, x: 3, x: 3}"} {
		b := treeBuilder{limits: Limits{}.WithDefaults(), text: text}
		if root, err := b.parse(0, len(text)); err == nil {
			t.Errorf("%q has a key twice, but is read as %v", text, root.Any())
		}
	}
}
