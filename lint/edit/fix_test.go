package edit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// made is a made-up rule about labels of DestinationRules: they are a place where nothing else is found.
func made(id string, severity lint.Severity, check func(*lint.Pass)) lint.Rule {
	return lint.Rule{
		Meta: lint.Meta{ID: id, Name: strings.ToLower(id), Severity: severity, Kinds: []object.Kind{object.DestinationRule, object.ServiceEntry}, Presets: []string{"recommended", "strict"}},
		Check: func(p *lint.Pass) error {
			check(p)
			return nil
		},
	}
}

func label(name string) object.Path { return object.Path{"metadata", "labels", name} }

// turns finds a label of one value and has a fix that gives it another; "" is a label that is not there.
func turns(id string, severity lint.Severity, safety lint.Safety, name, from, to string) lint.Rule {
	return made(id, severity, func(p *lint.Pass) {
		at := label(name)
		if p.Object.Label(name) != from {
			return
		}
		op := lint.Op{Kind: lint.Replace, Path: at, Value: to}
		switch {
		case from == "":
			op.Kind = lint.Add
		case to == "":
			op = lint.Op{Kind: lint.Remove, Path: at}
		}
		p.Report(at, fmt.Sprintf("%s is %q", name, from), lint.Suggest(lint.Fix{Title: "write " + to, Safety: safety, Ops: []lint.Op{op}}))
	})
}

// labelled is a manifest with labels, which are lines of YAML.
func labelled(name string, labels ...string) string {
	return "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata:\n  name: " + name + "\n  labels: # see the wiki\n    " +
		strings.Join(labels, "\n    ") + "\nspec: {host: a.example.com}\n"
}

type given struct{ name, text string }

func fix(t *testing.T, rules []lint.Rule, opt Options, files ...given) *Result {
	t.Helper()
	engine, err := lint.New(rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	var in []*object.File
	for _, f := range files {
		file, err := object.Load(t.Context(), f.name, strings.NewReader(f.text), object.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, file)
	}
	r, err := Fix(t.Context(), in, func(ctx context.Context, files []*object.File) (*lint.Report, error) {
		return engine.Lint(ctx, lint.Input{Files: files})
	}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// told is what a result says, in short.
func told(r *Result) []string {
	var out []string
	for _, x := range r.Applied {
		out = append(out, fmt.Sprintf("%d %s %s %s", x.Round, x.Finding.Object.Name, x.Finding.Rule.ID, x.Fix.Title))
	}
	for _, x := range r.Refused {
		out = append(out, fmt.Sprintf("not %s %s: %s", x.Finding.Object.Name, x.Finding.Rule.ID, x.Reason))
	}
	for _, f := range r.Caused {
		out = append(out, fmt.Sprintf("caused %s %s", f.Object.Name, f.Rule.ID))
	}
	if r.Unfinished {
		out = append(out, "unfinished")
	}
	return out
}

func TestFix(t *testing.T) {
	first := func(ops ...lint.Op) lint.Fix { return lint.Fix{Title: "first", Safety: lint.Safe, Ops: ops} }
	set := func(value any) lint.Op { return lint.Op{Kind: lint.Replace, Path: label("a"), Value: value} }
	twelve := func(value string, n int) (labels []string) { // the first n of twelve labels
		for c := 'a'; c < 'a'+rune(n); c++ {
			labels = append(labels, fmt.Sprintf("%c: '%s'", c, value))
		}
		return labels
	}
	halved := made("XX101", lint.Warning, func(p *lint.Pass) {
		if a := p.Object.Label("a"); a != "0" {
			p.Report(label("a"), "a is "+a,
				lint.Suggest(lint.Fix{Title: "one less", Safety: lint.Safe, Ops: []lint.Op{set("1")}}),
				lint.Suggest(lint.Fix{Title: "zero", Safety: lint.Unsafe, Ops: []lint.Op{set("0")}}))
		}
	})
	choice := func(fixes ...lint.Fix) lint.Rule {
		return made("XX100", lint.Warning, func(p *lint.Pass) {
			if p.Object.Label("a") == "1" {
				f := []lint.Extra{}
				for _, x := range fixes {
					f = append(f, lint.Suggest(x))
				}
				p.Report(label("a"), "a is 1", f...)
			}
		})
	}
	unsafe := lint.Fix{Title: "unsafe", Safety: lint.Unsafe, Ops: []lint.Op{set("u")}}
	show := lint.Fix{Title: "show", Safety: lint.Show, Ops: []lint.Op{set("s")}}
	for _, c := range []struct {
		name   string
		rules  []lint.Rule
		opt    Options
		labels []string
		want   []string // labels, nil if nothing changes
		told   []string
	}{
		{"the first safe fix", []lint.Rule{choice(unsafe, show, first(set("2")), lint.Fix{Title: "second", Safety: lint.Safe, Ops: []lint.Op{set("3")}})},
			Options{Unsafe: true}, []string{"a: '1' # why"}, []string{"a: '2' # why"}, []string{"1 x XX100 first"}},
		{"no unsafe fix unless it is asked for", []lint.Rule{choice(unsafe)}, Options{}, []string{"a: '1'"}, nil, nil},
		{"an unsafe fix", []lint.Rule{choice(show, unsafe)}, Options{Unsafe: true}, []string{"a: '1'"}, []string{"a: 'u'"}, []string{"1 x XX100 unsafe"}},
		{"never what is to be read", []lint.Rule{choice(show)}, Options{Unsafe: true}, []string{"a: '1'"}, nil, nil},
		{"rules that are not asked for", []lint.Rule{choice(first(set("2")))}, Options{Rules: func(m *lint.Meta) bool { return m.ID != "XX100" }}, []string{"a: '1'"}, nil, nil},
		{"findings that weigh too little", []lint.Rule{choice(first(set("2")))}, Options{Lowest: lint.Error}, []string{"a: '1'"}, nil, nil},
		{"a file that has to stay", []lint.Rule{choice(first(set("2")))}, Options{Keep: func(f *object.File) string { return f.Name + " is sacred" }},
			[]string{"a: '1'"}, nil, []string{"not x XX100: x.yaml is sacred"}},
		{"a field of two findings goes to the more severe one", []lint.Rule{
			turns("XX101", lint.Info, lint.Safe, "a", "1", "info"), turns("XX102", lint.Error, lint.Safe, "a", "1", "error"),
		}, Options{}, []string{"a: '1'"}, []string{"a: 'error'"}, []string{"1 x XX102 write error"}},
		{"and the other one is tried in the next round", []lint.Rule{
			turns("XX101", lint.Warning, lint.Safe, "a", "1", "2"),
			made("XX102", lint.Info, func(p *lint.Pass) {
				if p.Object.Label("b") == "" {
					p.Report(object.Path{"metadata", "labels"}, "no b", lint.Suggest(lint.Fix{Title: "both", Safety: lint.Safe, Ops: []lint.Op{
						{Kind: lint.Add, Path: label("b"), Value: "1"}, {Kind: lint.Replace, Path: label("a"), Value: p.Object.Label("a") + "!"},
					}}))
				}
			}),
		}, Options{}, []string{"a: '1'"}, []string{"a: '2!'", "b: '1'"}, []string{"1 x XX101 write 2", "2 x XX102 both"}},
		{"the same fix cures two findings", []lint.Rule{
			turns("XX101", lint.Warning, lint.Safe, "a", "1", "2"), turns("XX102", lint.Info, lint.Safe, "a", "1", "2"),
		}, Options{}, []string{"a: '1'"}, []string{"a: '2'"}, []string{"1 x XX101 write 2", "1 x XX102 write 2"}},
		{"fields beside each other at once", []lint.Rule{
			turns("XX101", lint.Warning, lint.Safe, "a", "1", ""), turns("XX102", lint.Info, lint.Safe, "b", "1", "2"), turns("XX103", lint.Info, lint.Safe, "d", "", "4"),
		}, Options{}, []string{"a: '1'", "b: '1' # two", "c: '3'"}, []string{"b: '2' # two", "c: '3'", "d: '4'"},
			[]string{"1 x XX103 write 4", "1 x XX101 write ", "1 x XX102 write 2"}},
		{"a safe fix that brings about a finding is taken back, its neighbours are not", []lint.Rule{
			turns("XX101", lint.Warning, lint.Safe, "a", "1", "bad"), turns("XX102", lint.Info, lint.Safe, "b", "1", "2"),
			turns("XX103", lint.Info, lint.NoFix, "a", "bad", "?"),
		}, Options{}, []string{"a: '1'", "b: '1'"}, []string{"a: '1'", "b: '2'"},
			[]string{"1 x XX102 write 2", `not x XX101: XX103 (xx103) would then find: a is "bad"`}},
		{"an unsafe one stays, and what it brings about is told", []lint.Rule{
			turns("XX101", lint.Warning, lint.Unsafe, "a", "1", "bad"), turns("XX103", lint.Info, lint.NoFix, "a", "bad", "?"),
		}, Options{Unsafe: true}, []string{"a: '1'"}, []string{"a: 'bad'"}, []string{"1 x XX101 write bad", "caused x XX103"}},
		{"what was superseded is nothing new", []lint.Rule{
			func() lint.Rule {
				r := turns("XX101", lint.Warning, lint.Safe, "a", "1", "2")
				r.Supersedes = []lint.Supersede{{Rule: "XX102"}}
				return r
			}(),
			made("XX102", lint.Info, func(p *lint.Pass) { p.Report(label("a"), "a is "+p.Object.Label("a")) }),
		}, Options{}, []string{"a: '1'"}, []string{"a: '2'"}, []string{"1 x XX101 write 2"}},
		{"a fix that does not cure", []lint.Rule{
			made("XX101", lint.Warning, func(p *lint.Pass) {
				p.Report(label("a"), "a is there", lint.Suggest(lint.Fix{Title: "change it", Safety: lint.Safe, Ops: []lint.Op{set(p.Object.Label("a") + "1")}}))
			}),
		}, Options{}, []string{"a: '1'"}, nil, []string{"not x XX101: the rule finds the same after it"}},
		{"fixes that undo one another", []lint.Rule{
			turns("XX101", lint.Warning, lint.Unsafe, "a", "1", "2"), turns("XX102", lint.Info, lint.Unsafe, "a", "2", "1"), turns("XX103", lint.Info, lint.Safe, "b", "1", "2"),
		}, Options{Unsafe: true}, []string{"a: '1'", "b: '1'"}, nil, nil},
		{"a fix without end", []lint.Rule{
			made("XX101", lint.Warning, func(p *lint.Pass) {
				for c := 'a'; c <= 'l'; c++ { // the next one shows once this one is cured
					if name := string(c); p.Object.Label(name) == "1" {
						p.Report(label(name), name+" is 1", lint.Suggest(lint.Fix{
							Title: "set it to 2", Safety: lint.Unsafe, Ops: []lint.Op{{Kind: lint.Replace, Path: label(name), Value: "2"}},
						}))
						return
					}
				}
			}),
		}, Options{Unsafe: true}, twelve("1", 12), append(twelve("2", 10), "k: '1'", "l: '1'"), nil},
		{"a comment that would silence something else", []lint.Rule{
			made("XX101", lint.Warning, func(p *lint.Pass) {
				if p.Object.Label("b") != "" {
					p.Report(label("b"), "b is there", lint.Suggest(lint.Fix{Title: "drop b", Safety: lint.Safe, Ops: []lint.Op{{Kind: lint.Remove, Path: label("b")}}}))
				}
			}),
			made("XX102", lint.Warning, func(p *lint.Pass) { p.Report(label("c"), "c is there") }),
		}, Options{}, []string{"a: '1'", "# meshvet:ignore XX102 -- of old", "b: '1'", "c: '1'"}, nil,
			[]string{"not x XX101: a comment would then be about something else, and silence XX102 (xx102): c is there"}},
		{"half a cure", []lint.Rule{halved}, Options{}, []string{"a: '2'"}, nil, []string{"not x XX101: it cures only a part, after which the rule would find: a is 1"}},
		{"the whole cure", []lint.Rule{halved}, Options{Unsafe: true}, []string{"a: '2'"}, []string{"a: '0'"}, []string{"1 x XX101 zero"}},
		{"what cannot be edited", []lint.Rule{turns("XX101", lint.Warning, lint.Safe, "b", "1", "2")}, Options{}, []string{"a: &x '1'", "b: *x"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := labelled("x", c.labels...)
			r := fix(t, c.rules, c.opt, given{"x.yaml", before})
			got, want := before, before
			if len(r.Changed) > 0 {
				got = r.Changed[0].After
			}
			if c.want != nil {
				want = labelled("x", c.want...)
			}
			switch c.name {
			case "fixes that undo one another":
				want = labelled("x", "a: '1'", "b: '2'")
				for _, x := range r.Refused {
					if x.Reason != "fixes of XX101 (xx101) and XX102 (xx102) undo one another" {
						t.Errorf("refused: %s", x.Reason)
					}
				}
				if len(r.Refused) != 1 || r.Unfinished { // the other one has nothing to fix as things stand
					t.Errorf("says %q", told(r))
				}
			case "a fix without end":
				if !r.Unfinished || r.Rounds != MaxRounds {
					t.Errorf("%d rounds, says %q", r.Rounds, told(r))
				}
			case "what cannot be edited":
				if len(r.Refused) != 1 || !strings.Contains(r.Refused[0].Reason, "alias") {
					t.Errorf("says %q", told(r))
				}
			default:
				if diff := cmp.Diff(c.told, told(r)); diff != "" {
					t.Errorf("says (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the file (-want +got):\n%s", diff)
			}
			if again := fix(t, c.rules, c.opt, given{"x.yaml", before}); cmp.Diff(told(r), told(again)) != "" {
				t.Errorf("another run says %q", told(again))
			}
		})
	}
}

// Items of one list are removed in one round, though each removal moves those behind it.
func TestFixRemovesItems(t *testing.T) {
	rule := made("XX101", lint.Warning, func(p *lint.Pass) {
		for i, v := range p.Object.Spec().Get("exportTo").Items() {
			if at := (object.Path{"spec", "exportTo", i}); strings.HasPrefix(v.Str(), "x") {
				p.Report(at, v.Str()+" is not wanted", lint.Suggest(lint.Fix{Title: "remove it", Safety: lint.Safe, Ops: []lint.Op{{Kind: lint.Remove, Path: at}}}))
			}
			if at := (object.Path{"spec", "exportTo", i}); strings.HasPrefix(v.Str(), "r") {
				p.Report(at, v.Str()+" is old", lint.Suggest(lint.Fix{Title: "replace it", Safety: lint.Safe, Ops: []lint.Op{{Kind: lint.Replace, Path: at, Value: "n" + v.Str()[1:]}}}))
			}
		}
	})
	before := head + "spec:\n  host: a\n  exportTo:\n  - x1\n  - a # first\n  - r2\n  - x3\n  - x4\n  - b\n  - r5\n  - x6\n"
	r := fix(t, []lint.Rule{rule}, Options{}, given{"a.yaml", before})
	if len(r.Changed) != 1 || r.Rounds != 1 || len(r.Applied) != 6 {
		t.Fatalf("%d rounds: %q", r.Rounds, told(r))
	}
	want := head + "spec:\n  host: a\n  exportTo:\n  - a # first\n  - n2\n  - b\n  - n5\n"
	if diff := cmp.Diff(want, r.Changed[0].After); diff != "" {
		t.Error(diff)
	}
}

// Several files, several objects in each, a byte-order mark, and a name that two objects have.
func TestFixFiles(t *testing.T) {
	rules := []lint.Rule{turns("XX101", lint.Warning, lint.Safe, "a", "1", "2")}
	twice := labelled("twin", "a: '1'") + "---\n" + labelled("twin", "a: '0'") + "---\n" + labelled("z", "a: '1'")
	r := fix(t, rules, Options{},
		given{"b.yaml", twice},
		given{"a.yaml", mark + strings.ReplaceAll(labelled("x", "a: '1'"), "\n", "\r\n")},
		given{"c.yaml", labelled("y", "a: '3'")},
	)
	var names []string
	for _, c := range r.Changed {
		names = append(names, c.Name)
		if strings.Replace(c.After, "a: '2'", "a: '1'", 2) != c.Before {
			t.Errorf("%s is %q", c.Name, c.After)
		}
	}
	if diff := cmp.Diff([]string{"a.yaml", "b.yaml"}, names); diff != "" {
		t.Error(diff)
	}
	if n := len(r.Report.Findings); n != 0 {
		t.Errorf("%d findings are left", n)
	}
	for _, f := range r.Files {
		if r.Report.Sources[f.Name] != f {
			t.Errorf("the report shows another %s than there is now", f.Name)
		}
	}
}

func TestFixCreates(t *testing.T) {
	rule := made("XX101", lint.Info, func(p *lint.Pass) {
		if p.Object.Kind != object.ServiceEntry {
			return
		}
		for i, h := range p.Object.Spec().Get("hosts").Items() {
			found := false
			for o := range p.Mesh.All(object.DestinationRule) {
				found = found || o.Spec().Get("host").Str() == h.Str()
			}
			if !found {
				p.Report(object.Path{"spec", "hosts", i}, h.Str()+" has no rule", lint.Suggest(lint.Fix{Title: "create one", Safety: lint.Unsafe, Create: &lint.Create{
					Object: map[string]any{
						"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule",
						"metadata": map[string]any{"name": strings.TrimSuffix(h.Str(), "!")}, "spec": map[string]any{"host": h.Str(), "subsets": []any{}},
					},
				}}))
			}
		}
	})
	bad := made("XX102", lint.Error, func(p *lint.Pass) {
		if p.Object.Name == "bad" {
			p.Report(object.Path{"metadata", "name"}, "bad is bad")
		}
	})
	entry := func(name, hosts string) string {
		return "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: " + name + "}\nspec:\n  hosts: [" + hosts + "]\n"
	}
	r := fix(t, []lint.Rule{rule, bad}, Options{Unsafe: true},
		given{"m/a.yaml", entry("e", "one, two, bad, two!") + "---\n" + labelled("three", "a: '1'")},
		given{"m/b.yaml", entry("f", "one, three")},
	)
	want := []string{
		"1 e XX101 create one", "1 e XX101 create one",
		"not e XX101: XX102 (xx102) would then find: bad is bad",
		"not e XX101: there already is a DestinationRule two",
		"not f XX101: there already is a DestinationRule three",
	}
	if diff := cmp.Diff(want, told(r)); diff != "" {
		t.Error(diff)
	}
	if len(r.Changed) != 1 || !strings.HasPrefix(r.Changed[0].After, entry("e", "one, two, bad, two!")+"---\n") || !strings.HasSuffix(r.Changed[0].After, "---\n"+labelled("three", "a: '1'")) {
		t.Errorf("changed: %+v", r.Changed)
	}
}

func TestRebase(t *testing.T) {
	for _, c := range []struct{ done, ops, want string }{
		{"remove spec.hosts[1]", "remove spec.hosts[2]", "remove spec.hosts[1]"},
		{"remove spec.hosts[1]", "remove spec.hosts[0]", "remove spec.hosts[0]"},
		{"remove spec.hosts[1]", "remove spec.hosts[1]", ""},
		{"remove spec.ports[1]", "replace spec.ports[2].name \"a\"", "replace spec.ports[1].name \"a\""},
		{"remove spec.ports[1]", "replace spec.ports[1].name \"a\"", ""},
		{"replace spec.ports[1].name \"a\"", "remove spec.ports[1]", ""},
		{"replace spec.ports[1].name \"a\"", "remove spec.ports[0]", "remove spec.ports[0]"},
		{"remove spec.ports[1]", "remove spec.ports", ""},
		{"add spec.hosts[0] \"a\"", "replace spec.hosts[0] \"b\"", "replace spec.hosts[1] \"b\""},
		{"add spec.hosts[2] \"a\"", "add spec.hosts[2] \"b\"", "add spec.hosts[3] \"b\""},
		{"add spec.tls {}", "add spec.tls.mode \"a\"", ""},
		{"add spec.tls.mode \"a\"", "remove spec.tls", ""},
		{"remove spec.hosts[1]\nremove spec.hosts[1]", "remove spec.hosts[4]", "remove spec.hosts[2]"},
		{"remove spec.hosts[1]", "remove spec.hosts[2]\nremove spec.hosts[2]", ""},
		{"remove spec.a", "remove spec.b", "remove spec.b"},
	} {
		got, ok := rebase(ops(t, c.ops), ops(t, c.done))
		want := []lint.Op(nil)
		if c.want != "" {
			want = ops(t, c.want)
		}
		if ok != (c.want != "") || ok && !slices.EqualFunc(got, want, func(a, b lint.Op) bool { return a.Kind == b.Kind && a.Path.Equal(b.Path) }) {
			t.Errorf("%s after %s: %v %v, want %s", c.ops, c.done, got, ok, c.want)
		}
	}
}
