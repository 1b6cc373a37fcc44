package object

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValue(t *testing.T) {
	root := parseText(t, "s: text\nq: \"te\\nxt\"\nn: null\n'n': null\ni: 5\nf: 1.5\nb: true\nl: [a, 1, c]\nm: {x: 1, y1: [2]}\nel: []\nem: {}\n")
	tests := []struct {
		path  Path
		typ   Type
		str   string
		i     int64
		f     float64
		b     bool
		len   int
		text  string
		json  string
		isSet bool
	}{
		{Path{"s"}, String, "text", 0, 0, false, 0, "text", `"text"`, true},
		{Path{"q"}, String, "te\nxt", 0, 0, false, 0, "te\nxt", `"te\nxt"`, true},
		{Path{"n"}, Null, "", 0, 0, false, 0, "null", `null`, false},
		{Path{"i"}, Int, "", 5, 5, false, 0, "5", `5`, true},
		{Path{"f"}, Float, "", 0, 1.5, false, 0, "1.5", `1.5`, true},
		{Path{"b"}, Bool, "", 0, 0, true, 0, "true", `true`, true},
		{Path{"l"}, List, "", 0, 0, false, 3, "a list of 3", `["a",1,"c"]`, true},
		{Path{"l", 2}, String, "c", 0, 0, false, 0, "c", `"c"`, true},
		{Path{"m"}, Map, "", 0, 0, false, 2, "{x, y1}", `{"x":1,"y1":[2]}`, true},
		{Path{"m", "y1", 0}, Int, "", 2, 2, false, 0, "2", `2`, true},
		{Path{"el"}, List, "", 0, 0, false, 0, "a list of 0", `[]`, true},
		{Path{"em"}, Map, "", 0, 0, false, 0, "{}", `{}`, true},
		{Path{"absent"}, Absent, "", 0, 0, false, 0, "", `null`, false},
		{Path{"l", 3}, Absent, "", 0, 0, false, 0, "", `null`, false},
		{Path{"l", "x"}, Absent, "", 0, 0, false, 0, "", `null`, false},
		{Path{"m", 0}, Absent, "", 0, 0, false, 0, "", `null`, false},
		{Path{"s", "x", 1}, Absent, "", 0, 0, false, 0, "", `null`, false},
		{Path{1.5}, Absent, "", 0, 0, false, 0, "", `null`, false},
	}
	for _, tt := range tests {
		v := root.At(tt.path...)
		js, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if v.Type() != tt.typ || v.Str() != tt.str || v.Int() != tt.i || v.Float() != tt.f || v.Bool() != tt.b || v.Len() != tt.len ||
			v.Text() != tt.text || string(js) != tt.json || v.Set() != tt.isSet || v.Exists() != (tt.typ != Absent) {
			t.Errorf("%v: type %s str %q int %d float %v bool %t len %d text %q json %s set %t exists %t, want %+v",
				tt.path, v.Type(), v.Str(), v.Int(), v.Float(), v.Bool(), v.Len(), v.Text(), js, v.Set(), v.Exists(), tt)
		}
	}
}

func TestValueOrder(t *testing.T) {
	root := parseText(t, "z: 1\na: 2\nlist: [c, 1, b]\n")
	var keys []string
	for k := range root.Fields() {
		keys = append(keys, k)
	}
	if want := []string{"z", "a", "list"}; !slices.Equal(keys, want) {
		t.Errorf("fields in the order %v, want that of the text, %v", keys, want)
	}
	if got, want := root.Get("list").Strings(), []string{"c", "b"}; !slices.Equal(got, want) {
		t.Errorf("strings %v, want %v", got, want)
	}
	for range root.Fields() {
		break // must not go on
	}
	for range root.Get("list").Items() {
		break
	}
	var walked []string
	for v := root.First(); v.Exists(); v = v.Next() {
		walked = append(walked, v.Key())
	}
	if !slices.Equal(walked, keys) {
		t.Errorf("First and Next give %v, want %v", walked, keys)
	}
}

// TestZeroValue holds that every method works on an absent value.
func TestZeroValue(t *testing.T) {
	var v Value
	if v.Exists() || v.Set() || v.Type() != Absent || v.Len() != 0 || v.Get("a").Exists() || v.Index(0).Exists() || v.At("a", 1).Exists() ||
		v.First().Exists() || v.Next().Exists() || v.Key() != "" || v.Str() != "" || v.Int() != 0 || v.Float() != 0 || v.Bool() ||
		len(v.Strings()) != 0 || v.Any() != nil || v.Text() != "" {
		t.Error("an absent value has something")
	}
	for range v.Items() {
		t.Error("an absent value has items")
	}
	for range v.Fields() {
		t.Error("an absent value has fields")
	}
	if got := v.Type().String(); got != "absent" {
		t.Errorf("its type is %q", got)
	}
}

func TestFromMap(t *testing.T) {
	raw := map[string]any{
		"apiVersion": "networking.istio.io/v1",
		"kind":       "ServiceEntry",
		"metadata": map[string]any{
			"name": "a", "namespace": "ns",
			"labels": map[string]any{"app": "x"}, "annotations": map[string]any{"note": "y"},
		},
		"spec": map[string]any{
			"hosts": []any{"a.example.com"}, "ports": []any{map[string]any{"number": int64(443), "weight": 1.5, "on": true, "off": nil, "": "empty key"}},
			"empty": map[string]any{}, "none": []any{}, "json": json.Number("7"),
		},
	}
	o, err := FromMap(raw)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Key{ServiceEntry, "ns", "a"}); o.Key != want || o.Label("app") != "x" || o.Annotation("note") != "y" || o.Label("absent") != "" {
		t.Errorf("got %s with label %q and annotation %q", o.Key, o.Label("app"), o.Annotation("note"))
	}
	raw["spec"].(map[string]any)["json"] = int64(7)
	if diff := cmp.Diff(any(raw), o.Root().Any()); diff != "" {
		t.Errorf("(-given +kept):\n%s", diff)
	}
	want := Location{File: "cluster:ServiceEntry/ns/a", Exact: true}
	for _, p := range []string{"", "spec.hosts[0]", "spec.absent"} {
		if got := o.Locate(ParsePath(p)); got != want {
			t.Errorf("%q is at %v, want %v", p, got, want)
		}
		if got := o.LocateKey(ParsePath(p)); got != want {
			t.Errorf("key of %q is at %v, want %v", p, got, want)
		}
	}
	if _, _, ok := o.Span(ParsePath("spec")); ok || o.File() != nil || o.LastLine() != 0 {
		t.Error("an object of a cluster has a place in a file")
	}
	if se := o.ServiceEntry(); se.GetPorts()[0].GetNumber() != 443 || o.DecodeError() != nil {
		t.Errorf("the spec decodes to %v, %v", se, o.DecodeError())
	}
}

func TestFromMapRefuses(t *testing.T) {
	deep := map[string]any{}
	for range 200 {
		deep = map[string]any{"a": deep}
	}
	for name, raw := range map[string]map[string]any{
		"too deep":       deep,
		"not JSON":       {"kind": "ServiceEntry", "spec": make(chan int)},
		"not finite":     {"kind": "ServiceEntry", "spec": json.Number("1e999")},
		"in a list":      {"kind": "ServiceEntry", "spec": []any{struct{}{}}},
		"too many nodes": {"kind": "ServiceEntry", "spec": make([]any, 1_000_001)},
	} {
		if o, err := FromMap(raw); err == nil {
			t.Errorf("%s: no error, object %v", name, o)
		}
	}
	if o, err := FromMap(map[string]any{"kind": "Pod", "apiVersion": "v1"}); o != nil || err != nil {
		t.Errorf("a Pod gives %v, %v, want neither", o, err)
	}
}
