package object

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// oddDocuments are made-up documents that use the corners of YAML.
var oddDocuments = []string{
	"",
	"# nothing\n",
	"---\n...\n---\n",
	"apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: a, namespace: b}\nspec:\n  hosts: [a.example.com]\n  ports:\n  - {number: 443, name: https, protocol: TLS}\n",
	"\ufeffkind: \"DestinationRule\"\r\napiVersion: 'networking.istio.io/v1beta1'\r\nspec:\r\n  host: a\r\n",
	`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"networking.istio.io/v1","kind":"ServiceEntry","spec":{"hosts":["\ud83d\ude00.example"]}}]}`,
	"{\"a\"\n :\"\\ud83d\\ude00\x7f\ufeff\", \"b\": [1e2, 1.0, -0, {}]}",
	"base: &base\n  a: 1\n  b: [x, y]\nuse: *base\nmerge:\n  <<: *base\n  a: 2\nlist:\n- <<: [*base, {c: 3}]\n- *base\n",
	"a: {<<: {x: 1}, x: 2, <<: {x: 3}}\nb: {x: 1, <<: {x: 2}}\n",
	"a: &a [1]\nb: &a [2]\nc: *a\n? *a\n: x\n",
	"&k key: &v value\n*v : *k\n",
	"n: no\ny: yes\non: off\nt: ~\nTrue: FALSE\n1: 1\n1.5: 1.5\n0x10: 0x10\n010: 010\n1_000: 1_000\n0b11: 0b11\n0o17: 0o17\n1e3: 1e3\n+1: +1\n.5: .5\n-0: -0\n",
	"d: 2001-01-01\nt: 2001-12-14t21:59:43.10-05:00\nu: 18446744073709551615\nv: 99999999999999999999\nf: 1.0\ng: 9223372036854775808.0\nh: 1e21\n",
	"a: .inf\n", ".inf: a\n", "1E70: a\n", "#\r\r\r\r\r\r!0", "#\r! 0", "0: &base\n a:\n  <<: *base\n  a:", "a: !!float .nan\n", "~: a\n", "? [a]\n: b\n", "18446744073709551615: a\n",
	"a: !!str 1\nb: !!int \"1\"\nc: !!float 1\nd: !!null ''\ne: !!bool \"yes\"\nf: !!binary aGVsbG8=\ng: !Ref x\nh: ! 'yes'\ni: !!timestamp 2001-01-01\nj: !<tag:yaml.org,2002:str> 5\nk: !!int x\n",
	"%YAML 1.1\n%TAG !e! tag:example.com,2000:\n---\na: !e!x y\n",
	"a: |\n  one\n   two\n\n  three\n\nb: >-\n  folded\n  text\n\n  more\nc: |2+\n    kept\n\nd: >\n\n\n  x\ne: |\n",
	"a: plain\n  over\n\n  lines\nb: \"quoted\n  over \\\n  lines\\n\"\nc: 'it''s\n  here'\n",
	"k:\n- a\n-\n- - b\n  - c\n- d: e\n  f:\n- ? g\n  : h\n- ? i\n",
	"flow: [a, b: c, {d, e: , \"f\":g}, [], {}, [ ], { }, 2001:db8::, \"x\"]\n",
	"[1, 2]\n", "\"text\"\n", "{a: b}\n{c: d}\n", "a: b\n}\n",
	"  a: b\nc: d\n",
	"a: [b, # comment\n  c # comment\n  # comment\n]\nd: {e: f,\n# comment\n}\n",
	"h\u00e9: \u65e5\u672c\n\"\u65e5\": [\u00e9, \u65e5: \U0001F600 x, \"\u65e5\\u65e5\"]\n",
	"a: b\u0085c: d\u2028e: f\rg: h\r",
	"a: 1\na: 2\n", "a: 1\n\"a\": 2\n", "1: a\n\"1\": b\n",
	"a: *b\n", "a: &a [*a]\n", "a: &a {<<: *a}\n", "<<: 1\n", "<<: [a]\n", "\"<<\": 1\n",
	"a:\tb\n", "\ta: b\n", "a: 'b\n", "a: [b\n", "a: b: c\n", "- a\nb: c\n", "a: @b\n", "a: \"\\q\"\n", "a: \"\\ud800\"\n",
	"a: {{ .Values.x }}\n", "{{ if .x }}\na: b\n{{ end }}\n",
	"kind: \"Service\\x45ntry\"\n", "kind: \"Destination\\\n  Rule\"\n", "kind: !!binary U2VydmljZUVudHJ5\n", "kind: !!%62inary U2VydmljZUVudHJ5\n",
	"a: &x\nb: !!str\nc: &y !!str\nd: [&z , !!str ]\n",
	"- ! a\n- !\n- ! |\n  1\n- &a !!map\n  b: c\n- !!seq\n  - d\n- &b\n  - e\n",
}

// fuzzLimits are small enough for the fuzzer to meet them.
var fuzzLimits = Limits{FileBytes: 1 << 16, DocumentBytes: 1 << 14, Depth: 20, Nodes: 2000, Documents: 30, ListItems: 20, ObjectItems: 15}

func addSeeds(f *testing.F) {
	f.Helper()
	for _, d := range oddDocuments {
		f.Add(d)
	}
	f.Add(strings.Join(oddDocuments[3:7], "\n---\n"))
}

// FuzzLoad holds for any text: it ends without a panic, the file has a class that fits what was found, every location is in
// the text, every object can be read, and none is read otherwise for what stands before it.
func FuzzLoad(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Load(context.Background(), "fuzz.yaml", strings.NewReader(text), fuzzLimits)
		if err != nil {
			t.Fatal(err)
		}
		text = strings.TrimPrefix(text, bom)
		checkFile(t, file, text)
		if file.Text() != "" {
			if err := checkRuns(file, text, fuzzLimits); err != nil {
				t.Error(err)
			}
		}
	})
}

func checkFile(t *testing.T, f *File, text string) {
	t.Helper()
	judged := 0
	for _, o := range f.Objects {
		if o.Kind.Judged() {
			judged++
		}
	}
	want := Other
	switch {
	case len(f.Problems) > 0:
		want = Broken
	case f.Template != nil:
		want = Template
	case judged > 0:
		want = Linted
	}
	if f.Class != want {
		t.Errorf("class %q, want %q", f.Class, want)
	}
	all := lines{}
	inText := func(what string, r Range) {
		if len(all.starts) == 0 {
			all = editorLines(text)
		}
		end := all.pos(uint32(len(text)))
		end.Col++ // a location has one character even at the end of the text
		if !r.Start.IsValid() || r.End.Less(r.Start) || end.Less(r.End) {
			t.Errorf("%s: range %v is not in the text, which ends at %v", what, r, end)
		}
	}
	for _, p := range f.Problems {
		if p.Message == "" {
			t.Error("a problem without a message")
		}
		if p.Location.Range.Start.IsValid() {
			inText(p.Message, p.Location.Range)
		}
	}
	if f.Template != nil {
		inText("template", f.Template.Location.Range)
	}
	for _, u := range f.Unread {
		inText("unread", u.Location.Range)
	}
	for _, o := range f.Objects {
		checkObject(t, o, inText)
	}
}

func checkObject(t *testing.T, o *Object, inText func(string, Range)) {
	t.Helper()
	if o.DecodeError() == nil && o.Kind == ServiceEntry && o.ServiceEntry() == nil {
		t.Errorf("%s has neither a spec nor an error", o.Key)
	}
	if again, err := FromMap(o.Root().Any().(map[string]any)); err != nil {
		t.Errorf("%s as a cluster would hold it: %s", o.Key, err)
	} else if again != nil && again.Key != o.Key {
		t.Errorf("%s as a cluster would hold it is %s", o.Key, again.Key)
	}
	var walk func(v Value, p Path)
	walk = func(v Value, p Path) {
		what := fmt.Sprintf("%s %s", o.Key, p)
		inText(what, o.Locate(p).Range)
		inText(what, o.LocateKey(p).Range)
		if missing := o.Locate(p.Child("no such field")); missing.Exact {
			t.Errorf("%s: a missing field is located exactly", what)
		}
		if !o.Lookup(p).Exists() {
			t.Errorf("%s does not exist", what)
		}
		for i, item := range v.Items() {
			walk(item, p.Child(i))
		}
		for k, f := range v.Fields() {
			walk(f, p.Child(k))
		}
	}
	walk(o.Root(), nil)
}

// FuzzDifferential holds the values of any document to those of Kubernetes' reader, and its spans to the text.
func FuzzDifferential(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.TrimPrefix(text, bom)
		for p := range split(text) {
			if p.empty {
				continue
			}
			if d := disagreement(text, p.start, p.end); d != "" {
				t.Errorf("document %q: %s", text[p.start:p.end], d)
			}
			if err := checkSpans(text, p.start, p.end); err != nil {
				t.Errorf("document %q: %s", text[p.start:p.end], err)
			}
		}
	})
}

// FuzzMentions holds that no document is passed over unparsed whose parse would give a kind that is read.
func FuzzMentions(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		b := treeBuilder{limits: fuzzLimits.WithDefaults(), text: text}
		root, err := b.parse(0, len(text))
		if err != nil {
			return
		}
		kind := Kind(root.Get("kind").Str())
		if kind.Judged() && !MentionsJudged(text) {
			t.Errorf("%q holds a %s, but would not be parsed", text, kind)
		}
		if _, read := groups[kind]; read && !mentionsKind(text) {
			t.Errorf("%q holds a %s, but would not be parsed", text, kind)
		}
		if newObject(nil, root, typed{}) != nil && !worthParsing(text) {
			t.Errorf("%q holds an object, but would not be parsed", text)
		}
		for p := range split(text) {
			if p.empty && p.start == 0 && p.end == len(text) && root.Exists() && root.Type() != Null {
				t.Errorf("%q is taken for empty, but holds %s", text, root.Text())
			}
		}
	})
}
