package edit

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// FuzzLower holds for any text and any operations: Lower ends without a panic, and what it gives stands up to faultOf. Operations are a
// JSON list of [kind, path, value], and i chooses the object. A number below 1000 in place of the list makes operations at
// random that fit the object.
func FuzzLower(f *testing.F) {
	for _, text := range []string{
		head + "spec:\n  host: a # c\n  x:\n  - b: 1\n    c: [d, {e: f}]\n  - |\n    g\n\n  - &h i\n",
		"x: &a\n  b: {c: 1}\n" + head + "spec:\n  <<: *a\n  ? y\n  : *a\n  z: !!str 1\n",
		"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(head, "\n", "\n  ") + "spec: {host: a, # c\n   x: [1,\n2,], y: }\n---\n" + head,
		"{\"apiVersion\":\"networking.istio.io/v1\",\"kind\":\"DestinationRule\",\n\"spec\":{\"host\":\"a\",\"x\":{}, \"y\": [ ]}}",
		strings.ReplaceAll(head, "\n", "\r\n") + "spec:\r\n  x: >+\r\n    a\r\n\r\n    b\r\n  y: 'a\r\n    b' # c\r\n  z:",
		head + "spec:\n# a\n  x:\n    # b\n\n    - - a: b\n        c: d\n      - e\n    -\n    - # f\n     g: \"h\"#i\n",
		head + "spec:\n  x: {a, b: , c: [d: e], ? f : g, \"h\":i, << : {j: k}}\n  y: [ [ ], # l\n  { }\n  , ]\n",
		head + "spec: &a !!map\n  b: &c\n  d: ! |2-\n      e\n  \"f\": *c\n\n\n...\n# g\n",
	} {
		for _, ops := range []string{
			`[["remove",["spec","x"]]]`, `[["replace",["spec","x"],{"a":["on",{"b":null}]}],["add",["spec","y"],[]]]`,
			`[["add",["spec","x",0],"a"],["remove",["spec","x",1]]]`, `[["add",["spec","a","b","c"],{"d":1.5}],["remove",["spec","host"]]]`, "7", "77", "777",
		} {
			f.Add(text, 0, ops)
		}
	}
	f.Add("apiVersion: networking.istio.io/v1\nkind: DestinationRuleList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n---\n"+head, 0, "7")
	for _, rest := range []string{
		"spec:\n  ? &a x # b\n  : &c\n\n    - d\n  <<: {e: f}\n", "\"spec\" : {x: [a, b: c, {? d}], \"y\":1,}", "spec:\n  x: 'a''b\n\n   c' #d\n  y: |1-\n   e\n  z: !a [\n]\n",
	} {
		f.Add(rest, 1, "5")
		f.Add(rest, 1, `[["remove",["spec","x"]]]`)
	}
	for seed := range uint64(30) {
		a := &author{Rand: rand.New(rand.NewPCG(seed, 3))}
		f.Add(a.file(), 0, "5")
	}
	f.Fuzz(func(t *testing.T, text string, i int, script string) {
		if len(text) > 1<<13 || len(script) > 1<<11 {
			return
		}
		if i%2 != 0 { // most texts are no manifest
			text = head + text
		}
		file, err := object.Load(context.Background(), "a.yaml", strings.NewReader(text), object.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if len(file.Objects) == 0 {
			return
		}
		i = int(uint(i) % uint(len(file.Objects)))
		lower(t, file, i, scripted(file.Objects[i], script))
		if _, err := Create(file.Objects[i], map[string]any{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "spec": map[string]any{"hosts": []any{"a"}}}); err == nil {
			created(t, file, i)
		}
	})
}

// scripted reads the operations of a script.
func scripted(o *object.Object, script string) []lint.Op {
	var raw any
	if json.Unmarshal([]byte(script), &raw) != nil {
		return nil
	}
	if n, ok := raw.(float64); ok && n >= 0 && n < 1000 {
		a := &author{Rand: rand.New(rand.NewPCG(uint64(n), 5))}
		return a.ops(o)
	}
	var out []lint.Op
	list, _ := raw.([]any)
	for _, x := range list {
		parts, _ := x.([]any)
		if len(parts) < 2 || len(out) > 8 {
			continue
		}
		kind, _ := parts[0].(string)
		op := lint.Op{Kind: lint.OpKind(kind)}
		path, _ := parts[1].([]any)
		for _, e := range path {
			if n, ok := e.(float64); ok {
				e = int(n)
			}
			op.Path = append(op.Path, e)
		}
		if len(parts) > 2 {
			op.Value = parts[2]
		}
		out = append(out, op)
	}
	return out
}

// created makes an object behind another one, and looks whether all is there.
func created(t *testing.T, f *object.File, i int) {
	t.Helper()
	fresh := map[string]any{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": map[string]any{"name": "on"}, "spec": map[string]any{"hosts": []any{"a"}}}
	edits, err := Create(f.Objects[i], fresh)
	if err != nil {
		t.Errorf("refused for one object only: %s", err)
		return
	}
	after, err := Apply(f.Text(), edits)
	if err != nil {
		t.Fatal(err)
	}
	g := load(t, after)
	if len(g.Objects) != len(f.Objects)+1 {
		t.Fatalf("%d objects where there were %d, in\n%s\nfrom\n%s", len(g.Objects), len(f.Objects), after, f.Text())
	}
	want, err := json.Marshal(fresh)
	if err != nil {
		t.Fatal(err)
	}
	made := i + 1 // behind a list of objects of one kind, it is behind all of those
	for made < len(g.Objects)-1 && string(marshal(t, g.Objects[made])) != string(want) {
		made++
	}
	if got := string(marshal(t, g.Objects[made])); got != string(want) {
		t.Errorf("no object behind number %d is the new one; the last is %s", i, got)
	}
	for j, o := range f.Objects {
		k := j
		if j >= made {
			k++
		}
		if a, b := string(marshal(t, o)), string(marshal(t, g.Objects[k])); a != b {
			t.Errorf("object %d was %s and is %s", j, a, b)
		}
	}
}

func marshal(t *testing.T, o *object.Object) []byte {
	t.Helper()
	js, err := json.Marshal(o.Root())
	if err != nil {
		t.Fatal(err)
	}
	return js
}
