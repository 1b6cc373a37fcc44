package lint_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// overridden are rules of which each says of every object what it was told: its option.
func overridden() []lint.Rule {
	tell := func(p *lint.Pass) error {
		p.Report(object.Path{"spec"}, fmt.Sprint(p.Option("limit")))
		return nil
	}
	entries := simple("SE101", object.ServiceEntry, tell)
	entries.Options = []lint.Option{{Name: "limit", Default: int64(6), Doc: "the limit"}, {Name: "gate", Default: true, Doc: "whether it looks"}}
	entries.When = []lint.Gate{{Option: "gate"}}
	strict := simple("SE118", object.ServiceEntry, tell)
	strict.Presets = []string{"strict"}
	unread := lint.Rule{
		Meta: lint.Meta{ID: "MV903", Name: "not-loadable", Severity: lint.Error, Presets: []string{"recommended"}},
		CheckFile: func(p *lint.FilePass) error {
			for _, problem := range p.File.Problems {
				p.Report(problem.Location, "not loadable", "")
			}
			return nil
		},
	}
	return []lint.Rule{entries, strict, simple("DR202", object.DestinationRule, tell), unread}
}

func manifest(kind, namespace, name, spec, metadata string) string {
	return fmt.Sprintf("apiVersion: networking.istio.io/v1\nkind: %s\nmetadata: {name: %s, namespace: %s%s}\nspec: {%s}\n---\n", kind, name, namespace, metadata, spec)
}

func TestOverrides(t *testing.T) {
	files := []*object.File{
		load(t, "team-a/entries.yaml", manifest("ServiceEntry", "a", "plain", "hosts: [api.example.com]", "")+
			manifest("ServiceEntry", "b-prod", "wild", "hosts: [x.example.org, '*.eu.example.com']", ", labels: {tier: gold, team: b}")+
			manifest("DestinationRule", "a", "short", "host: Reviews", ", labels: {tier: gold}")),
		load(t, "team-b/entries.yaml", manifest("ServiceEntry", "b-test", "other", "hosts: [example.com]", "")),
		load(t, "team-b/broken.yaml", "kind: ServiceEntry\nmetadata: [\n"),
	}
	const plain = "SE101 plain warning 6, SE101 wild warning 6, DR202 short warning <nil>, MV903  error not loadable, SE101 other warning 6"
	for _, c := range []struct {
		name, text string
		want       string // with what differs from plain
		rules      string // "" = DR202 MV903 SE101
	}{
		{name: "none", want: plain},
		{name: "for nothing that is there", text: "- {namespaces: [c], rules: {SE101: off}}", want: plain},
		{name: "folder", text: "- {paths: [team-a], rules: {SE101: off, MV903: off}}",
			want: "DR202 short warning <nil>, MV903  error not loadable, SE101 other warning 6"},
		{name: "glob", text: "- {paths: ['**/ent*.yaml', nowhere/**], rules: {SE101: info}}",
			want: "SE101 plain info 6, SE101 wild info 6, DR202 short warning <nil>, MV903  error not loadable, SE101 other info 6"},
		{name: "all paths", text: "- {paths: [.], rules: {SE101: off, MV903: info, DR202: off}}", want: "MV903  info not loadable"},
		{name: "a file has no namespace", text: "- {paths: ['**'], namespaces: ['*'], rules: {MV903: off}}", want: plain},
		{name: "namespace", text: "- {namespaces: [a], rules: {SE101: off, DR202: error}}",
			want: "SE101 wild warning 6, DR202 short error <nil>, MV903  error not loadable, SE101 other warning 6"},
		{name: "stars", text: "- {namespaces: ['b-*t'], rules: {SE101: {options: {limit: 9}}}}",
			want: "SE101 plain warning 6, SE101 wild warning 6, DR202 short warning <nil>, MV903  error not loadable, SE101 other warning 9"},
		{name: "host", text: "- {hosts: [API.example.com], rules: {SE101: off}}",
			want: "SE101 wild warning 6, DR202 short warning <nil>, MV903  error not loadable, SE101 other warning 6"},
		{name: "wildcard host as in Istio", text: "- {hosts: ['*.example.com'], rules: {SE101: off}}",
			want: "DR202 short warning <nil>, MV903  error not loadable, SE101 other warning 6"},
		{name: "short host", text: "- {hosts: [reviews.a.svc.cluster.local], rules: {DR202: off}}",
			want: "SE101 plain warning 6, SE101 wild warning 6, MV903  error not loadable, SE101 other warning 6"},
		{name: "short host as written", text: "- {hosts: [reviews], rules: {DR202: off}}",
			want: "SE101 plain warning 6, SE101 wild warning 6, MV903  error not loadable, SE101 other warning 6"},
		{name: "labels", text: "- {labels: {tier: gold}, rules: {SE101: off, DR202: info}}",
			want: "SE101 plain warning 6, DR202 short info <nil>, MV903  error not loadable, SE101 other warning 6"},
		{name: "selector", text: "- {labels: {matchExpressions: [{key: team, operator: DoesNotExist}]}, rules: {SE101: off}}",
			want: "SE101 wild warning 6, DR202 short warning <nil>, MV903  error not loadable"},
		{name: "all conditions", text: "- {labels: {tier: gold}, namespaces: [a], paths: [team-a], hosts: ['*'], rules: {SE101: off, DR202: info}}",
			want: "SE101 plain warning 6, SE101 wild warning 6, DR202 short info <nil>, MV903  error not loadable, SE101 other warning 6"},
		{name: "switched on", text: "- {namespaces: ['*-prod'], rules: {SE118: error}}", rules: "DR202 MV903 SE101 SE118",
			want: "SE101 plain warning 6, SE101 wild warning 6, SE118 wild error <nil>, DR202 short warning <nil>, MV903  error not loadable, SE101 other warning 6"},
		{name: "later ones win, severity and options apart",
			text: "- {paths: [team-a], rules: {SE101: {severity: error, options: {limit: 1}}}}\n- {namespaces: [a], rules: {se101: {options: {limit: 2}}}}\n- {hosts: [x.example.org], rules: {SE101: info}}",
			want: "SE101 plain error 2, SE101 wild info 1, DR202 short warning <nil>, MV903  error not loadable, SE101 other warning 6"},
		{name: "an option shuts a gate", text: "- {namespaces: [a], rules: {SE101: {options: {gate: false}}}}",
			want: "SE101 wild warning 6, DR202 short warning <nil>, MV903  error not loadable, SE101 other warning 6"},
		{name: "off and on again", text: "- {paths: [.], rules: {SE101: off}}\n- {namespaces: [a], rules: {SE101: warning}}",
			want: "SE101 plain warning 6, DR202 short warning <nil>, MV903  error not loadable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "rules: {MV903: error}\n"
			if c.text != "" {
				text += "overrides:\n" + c.text + "\n"
			}
			cfg, problems := lint.ReadConfig("cfg", []byte(text))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			r := run(t, cfg, overridden(), files...)
			var got, selected []string
			for _, f := range r.Findings {
				got = append(got, fmt.Sprintf("%s %s %s %s", f.Rule.ID, f.Object.Name, f.Severity, f.Message))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
			for _, m := range r.Rules {
				selected = append(selected, m.ID)
			}
			if want := strings.Fields(c.rules); c.rules != "" && !slices.Equal(want, selected) || c.rules == "" && len(selected) != 3 {
				t.Errorf("the report lists the rules %v", selected)
			}
		})
	}
}

// Flags outrank overrides, and a path of an override is one below the configuration's folder.
func TestOverridesAndWhatIsAround(t *testing.T) {
	file := load(t, "../shop/a.yaml", manifest("ServiceEntry", "a", "x", "hosts: [a.example.com]", ""))
	cfg, _ := lint.ReadConfig("cfg", []byte("overrides:\n- {paths: [shop], rules: {SE101: error, SE118: info}}\n"))
	cfg.PathOf = func(name string) string { return strings.TrimPrefix(name, "../") }
	cfg.Disable = []string{"SE118"}
	r := run(t, cfg, overridden(), file)
	if len(r.Findings) != 1 || r.Findings[0].Severity != lint.Error || len(r.Rules) != 3 {
		t.Errorf("findings %v of rules %v", r.Findings, r.Rules)
	}
	cfg.PathOf = func(string) string { return "" }
	if r := run(t, cfg, overridden(), file); len(r.Findings) != 1 || r.Findings[0].Severity != lint.Warning {
		t.Errorf("findings outside of the folder %v", r.Findings)
	}
	cfg.Disable, cfg.Enable = nil, []string{"SE118"}
	if r := run(t, cfg, overridden(), file); len(r.Findings) != 2 {
		t.Errorf("findings with --enable %v", r.Findings)
	}
}

// A finding that an override switches off supersedes nothing.
func TestOverridesAndSupersession(t *testing.T) {
	strong, weak := simple("SE101", object.ServiceEntry, finds(object.Path{"spec"}, "strong")), simple("SE102", object.ServiceEntry, finds(object.Path{"spec"}, "weak"))
	strong.Supersedes = []lint.Supersede{{Rule: "SE102", Scope: lint.ScopePath}}
	cfg, _ := lint.ReadConfig("cfg", []byte("overrides:\n- {namespaces: [a], rules: {SE101: off}}\n"))
	r := run(t, cfg, []lint.Rule{strong, weak}, load(t, "a.yaml", manifest("ServiceEntry", "a", "x", "", "")+manifest("ServiceEntry", "b", "z", "", "")))
	if diff := cmp.Diff([]string{"SE102@x", "SE101@z"}, ids(r)); diff != "" {
		t.Error(diff)
	}
}

// A rule that needs to know everything is named as left out only if it would have run on something.
func TestOverridesAndNeeds(t *testing.T) {
	needy := simple("SE101", object.ServiceEntry, finds(object.Path{"spec"}, "nothing there"))
	needy.Needs = []object.Kind{object.Service}
	for namespace, want := range map[string]int{"a": 0, "b": 1} {
		cfg, _ := lint.ReadConfig("cfg", []byte("overrides:\n- {namespaces: [a], rules: {SE101: off}}\n"))
		if r := run(t, cfg, []lint.Rule{needy}, load(t, "a.yaml", manifest("ServiceEntry", namespace, "x", "", ""))); len(r.Skipped) != want {
			t.Errorf("namespace %s: skipped %v", namespace, r.Skipped)
		}
	}
}

// At admission, overrides hold by what the object says, and those with paths never do.
func TestOverridesAtAdmission(t *testing.T) {
	cfg, problems := lint.ReadConfig("cfg", []byte(`overrides:
- {paths: ['**'], rules: {SE101: off}}
- {namespaces: [a], rules: {SE101: error}}
- {hosts: [quiet.example.com], rules: {SE101: off}}
- {labels: {tier: gold}, rules: {SE101: info}}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e, err := lint.New(overridden(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		namespace, host string
		labels          map[string]any
		want            string
	}{
		{"b", "a.example.com", nil, "warning"},
		{"a", "a.example.com", nil, "error"},
		{"a", "quiet.example.com", nil, ""},
		{"a", "a.example.com", map[string]any{"tier": "gold"}, "info"},
	} {
		o, err := object.FromMap(map[string]any{
			"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry",
			"metadata": map[string]any{"name": "x", "namespace": c.namespace, "labels": c.labels},
			"spec":     map[string]any{"hosts": []any{c.host}},
		})
		if err != nil {
			t.Fatal(err)
		}
		store := mesh.NewStore(mesh.Settings{})
		store.Put(o)
		r, err := e.Review(context.Background(), store.Snapshot(), lint.Review{Object: o, Operation: "CREATE"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range r.Findings {
			got += f.Severity.String()
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestReadOverridesMistakes(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int // column of the second line
		want string
	}{
		{"{}", 0, "overrides is a mapping; a list is wanted"},
		{"[x]", 2, "overrides[0] is a string; a mapping is wanted"},
		{"[{rules: {SE101: off}}]", 2, "takes at least one of paths, namespaces, hosts and labels"},
		{"[{paths: [a]}]", 2, "an override takes rules"},
		{"[{paths: [a], rules: {}}]", 2, "an override takes rules"},
		{"[{path: [a], rules: {SE101: off}}]", 3, `unknown key "path" in overrides[0]; did you mean "paths"?`},
		{"[{paths: [], rules: {SE101: off}}]", 3, "is empty, so the override is for nothing"},
		{"[{paths: a, rules: {SE101: off}}]", 10, "a list is wanted"},
		{"[{paths: ['!a'], rules: {SE101: off}}]", 11, "cannot be negated"},
		{"[{paths: [../a], rules: {SE101: off}}]", 11, "only what is below"},
		{"[{namespaces: [], rules: {SE101: off}}]", 3, "is empty"},
		{"[{namespaces: [Shop], rules: {SE101: off}}]", 16, `no namespace can be called "Shop"`},
		{"[{namespaces: [''], rules: {SE101: off}}]", 16, "a namespace is wanted"},
		{"[{namespaces: [1], rules: {SE101: off}}]", 16, "a string is wanted"},
		{"[{namespaces: [-a], rules: {SE101: off}}]", 16, "no namespace can be called"},
		{"[{namespaces: [" + strings.Repeat("a", 64) + "], rules: {SE101: off}}]", 16, "no namespace can be called"},
		{"[{hosts: [], rules: {SE101: off}}]", 3, "is empty"},
		{"[{hosts: [''], rules: {SE101: off}}]", 11, "a host is wanted"},
		{"[{hosts: [api.*.example.com], rules: {SE101: off}}]", 11, "a star stands only at the beginning"},
		{"[{hosts: ['http://x'], rules: {SE101: off}}]", 11, "matches no host"},
		{"[{hosts: [" + strings.Repeat("a", 254) + "], rules: {SE101: off}}]", 11, "matches no host"},
		{"[{labels: {}, rules: {SE101: off}}]", 3, "every object has them"},
		{"[{labels: {matchLabels: {}}, rules: {SE101: off}}]", 3, "every object has them"},
		{"[{labels: [a], rules: {SE101: off}}]", 3, "a mapping is wanted"},
		{"[{labels: {a: 1}, rules: {SE101: off}}]", 15, "a string is wanted"},
		{"[{labels: {'a b': x}, rules: {SE101: off}}]", 19, "a b"},
		{"[{labels: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: DoesNotExist}]}, rules: {SE101: off}}]", 3, "contradict each other"},
		{"[{labels: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: NotIn, values: [b]}]}, rules: {SE101: off}}]", 3, "contradict each other"},
		{"[{paths: [a], rules: {SE101: fatal}}]", 30, "severity"},
		{"[{paths: [a], rules: {SE110: off}}]", 23, `unknown rule "SE110"; did you mean`},
		{"[{paths: [a], rules: {SE101: off, se101: off}}]", 35, "configured twice"},
		{"[{paths: [a], rules: {SE101: {options: {limt: 1}}}}]", 47, `SE101 has no option "limt"; did you mean "limit"?`},
		{"[{paths: [a], rules: {SE101: {options: {limit: x}}}}]", 48, `option "limit" of SE101 is x`},
		{"[" + strings.Repeat("{},", lint.MostEntries+1) + "]", 0, "are the most"},
	} {
		cfg, problems := lint.ReadConfig("cfg", []byte("overrides:\n "+c.text+"\n"))
		_, err := lint.New(overridden(), cfg)
		var ce *lint.ConfigError
		if errors.As(err, &ce) {
			problems = append(problems, ce.Problems...)
		}
		if len(problems) == 0 {
			t.Errorf("%s: no problem", c.text)
			continue
		}
		wantAt := object.Pos{Line: 2, Col: c.at + 1} // behind the blank
		if c.at == 0 {
			wantAt = object.Pos{Line: 1, Col: 1} // of the key
		}
		if p := problems[0]; p.Location.Range.Start != wantAt || !strings.Contains(p.Message, c.want) {
			t.Errorf("%.60s: %s: %s\nwant 2:%d: %s", c.text, p.Location, p.Message, c.at, c.want)
		}
	}
}

// Each set of overrides that meet on an object is worked out once, whoever asks first.
func TestOverridesFromManyGoroutines(t *testing.T) {
	var cfgText, manifests strings.Builder
	cfgText.WriteString("overrides:\n")
	for i := range 10 {
		fmt.Fprintf(&cfgText, "- {namespaces: ['*%d*'], rules: {SE101: {options: {limit: %d}}}}\n", i, i)
	}
	for i := range 500 {
		manifests.WriteString(manifest("ServiceEntry", fmt.Sprintf("n%d", i), fmt.Sprintf("x%d", i), "", ""))
	}
	cfg, problems := lint.ReadConfig("cfg", []byte(cfgText.String()))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r := run(t, cfg, overridden(), load(t, "a.yaml", manifests.String()))
	if len(r.Findings) != 500 {
		t.Fatalf("%d findings", len(r.Findings))
	}
	for _, f := range r.Findings {
		highest := slices.Max([]byte(f.Object.Name[1:])) // digits in the name of the namespace; the last override wins
		if f.Message != string(highest) {
			t.Errorf("%s: limit %s", f.Object.Name, f.Message)
		}
	}
}

func BenchmarkOverrides(b *testing.B) {
	var manifests strings.Builder
	for i := range 1000 {
		manifests.WriteString(manifest("ServiceEntry", fmt.Sprintf("n%d", i%50), fmt.Sprintf("x%d", i), "hosts: [a.example.com]", ""))
	}
	file := load(b, "team/a.yaml", manifests.String())
	for name, text := range map[string]string{
		"none": "version: 1\n",
		"few":  "overrides:\n- {paths: [team], rules: {SE101: error}}\n- {namespaces: ['*4'], rules: {SE101: off}}\n- {hosts: ['*.example.com'], rules: {SE101: info}}\n",
	} {
		b.Run(name, func(b *testing.B) {
			cfg, problems := lint.ReadConfig("cfg", []byte(text))
			if len(problems) > 0 {
				b.Fatal(problems)
			}
			e, err := lint.New([]lint.Rule{simple("SE101", object.ServiceEntry, func(*lint.Pass) error { return nil })}, cfg)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := e.Lint(context.Background(), lint.Input{Files: []*object.File{file}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
