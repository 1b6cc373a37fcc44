package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest/configmistakes"
)

func everyRule(t *testing.T) []lint.Rule {
	t.Helper()
	all, err := allRules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRuleSet(t *testing.T) {
	all := everyRule(t)
	for i := range all {
		r := &all[i]
		if i > 0 && all[i-1].ID >= r.ID {
			t.Errorf("%s comes after %s", r.ID, all[i-1].ID)
		}
		if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(r.Source))); err != nil {
			t.Errorf("%s names a source that does not exist: %v", r.ID, err)
		}
	}
}

func TestCombineRefusesTwins(t *testing.T) {
	rule := func(id, name string) lint.Rule { return lint.Rule{Meta: lint.Meta{ID: id, Name: name, Source: name}} }
	if _, err := combine([]lint.Rule{rule("SE101", "a")}, []lint.Rule{rule("SE101", "b")}); err == nil || !strings.Contains(err.Error(), "SE101: a and b") {
		t.Errorf("two of one ID: %v", err)
	}
	if _, err := combine([]lint.Rule{rule("SE101", "a"), rule("SE102", "a")}); err == nil || !strings.Contains(err.Error(), "called a") {
		t.Errorf("two of one name: %v", err)
	}
	got, err := combine([]lint.Rule{rule("SE103", "c")}, []lint.Rule{rule("SE101", "a")})
	if err != nil || len(got) != 2 || got[0].ID != "SE101" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestPagesAreComplete writes the pages twice: every rule has one with an example, and nothing changes the second time.
func TestPages(t *testing.T) {
	all := everyRule(t)
	dir := t.TempDir()
	root := filepath.Join("..", "..")
	stale := filepath.Join(dir, "XX999.md")
	foreign := filepath.Join(dir, "guide.md")
	for file, text := range map[string]string{stale: generatedMark + "\n", foreign: "# Written by hand\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeRulePages(t.Context(), dir, root, all); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("the page of a rule that is gone is still there")
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error("a page that was written by hand is gone")
	}
	first := readAll(t, dir)
	if err := writeRulePages(t.Context(), dir, root, all); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, readAll(t, dir)); diff != "" {
		t.Errorf("a second run writes something else:\n%s", diff)
	}
	index := first["README.md"]
	for i := range all {
		r := &all[i]
		text := first[r.ID+".md"]
		for _, want := range []string{
			"# " + r.ID + " " + r.Name + "\n", "## What it flags\n", "## Why\n", "## What to do\n", "## Example\n", "`meshvet lint` says",
			"## How it is proven\n", proofOnPage(t, r), "[" + r.ID + " " + r.Name + "]", "  " + r.ID + ":\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the page of %s lacks %q", r.ID, want)
			}
		}
		for _, never := range []string{"# want ", "<no value>", "%!", "\x1b", "\n\n\n"} {
			if strings.Contains(text, never) {
				t.Errorf("the page of %s holds %q", r.ID, never)
			}
		}
		if !strings.Contains(index, "["+r.ID+"]("+r.ID+".md)") {
			t.Errorf("the index lacks %s", r.ID)
		}
	}
}

// proofOnPage is what the page of a rule must show of its proof: a line that is compared, or else what is said.
func proofOnPage(t *testing.T, r *lint.Rule) string {
	t.Helper()
	e, err := evidenceOf(&r.Meta, "")
	switch {
	case err != nil:
		t.Fatal(err)
	case e == nil:
		t.Fatalf("%s comes without a proof", r.ID)
	case len(e.Notes) > 0:
		return e.Notes[0]
	}
	if !strings.Contains(e.Diff, "cluster ") && !strings.Contains(e.Diff, "listener ") && !strings.Contains(e.Diff, "endpoints ") && !strings.Contains(e.Diff, "Istio's ") {
		t.Errorf("the proof of %s compares nothing: %s", r.ID, e.Diff)
	}
	return "```diff\n" + e.Fixture
}

func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(text)
	}
	return out
}

func TestCommandPages(t *testing.T) {
	dir := t.TempDir()
	a := &app{color: newChoice("auto", "auto", "always", "never")}
	if err := writeCommandPages(dir, a.newRoot()); err != nil {
		t.Fatal(err)
	}
	pages := readAll(t, dir)
	want := []string{
		"meshvet.md", "meshvet_completion.md", "meshvet_config.md", "meshvet_config_print.md", "meshvet_config_verify.md", "meshvet_effective.md",
		"meshvet_explain.md", "meshvet_fix.md", "meshvet_init.md", "meshvet_lint.md", "meshvet_rules.md", "meshvet_verify.md", "meshvet_version.md",
		"meshvet_webhook.md", "meshvet_webhook_check.md",
	}
	var got []string
	for name := range pages {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	for _, row := range []string{
		"| `-c`, `--config FILE` | `MESHVET_CONFIG` |  | ",
		"| `--fail-on error\\|warning\\|info\\|never` | `MESHVET_FAIL_ON` | `warning` | ",
		"| `--complete[=KIND,…]` | `MESHVET_COMPLETE` |  | ",
		"| `--color auto\\|always\\|never` | `MESHVET_COLOR` | `auto` | ",
	} {
		if !strings.Contains(pages["meshvet_lint.md"], row) {
			t.Errorf("the page of lint lacks %q:\n%s", row, pages["meshvet_lint.md"])
		}
	}
	for name, text := range pages {
		for target := range strings.SplitSeq(text, "](") {
			if file, _, found := strings.Cut(target, ".md)"); found && pages[file+".md"] == "" && !strings.Contains(file, "\n") {
				t.Errorf("%s links to %s.md, which does not exist", name, file)
			}
		}
	}
}

// The help of lint names the categories, without loading the policies to know them.
func TestLintNamesCategories(t *testing.T) {
	a := &app{}
	if want := "by category: " + strings.Join(categoriesOf(everyRule(t)), ", ") + ". "; !strings.Contains(a.newLintCommand().Long, want) {
		t.Errorf("the help lacks %q", want)
	}
}

func TestExampleHidesWants(t *testing.T) {
	text := "a: 1 # want SE101 \"x\" SE102 \"y\"\nb: 2\n  # want SE103 \"z\"\nc: \"# want\"\n# wanted\n"
	if got, want := wantComment.ReplaceAllString(text, ""), "a: 1\nb: 2\nc: \"# want\"\n# wanted\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A page names only rules that exist, and statistics by their whole names.
func TestPageOfOneRule(t *testing.T) {
	all := []lint.Rule{
		{Meta: lint.Meta{
			ID: "SE101", Name: "first", Presets: []string{"strict"}, Fix: lint.Unsafe,
			Supersedes: []lint.Supersede{{Rule: "SE102", Scope: lint.ScopePath}, {Rule: "SE199", Scope: lint.ScopePath}},
			Observe:    lint.Observe{Stats: []string{"upstream_cx_total", "listener.ADDRESS_PORT.downstream_cx_total", "pilot_xds"}},
		}},
		{Meta: lint.Meta{ID: "SE102", Name: "second", Presets: []string{"recommended", "strict"}, Observe: lint.Observe{Stats: []string{"pilot_xds_pushes"}}}},
	}
	for i, want := range []struct{ has, lacks []string }{
		{
			[]string{
				"off by default", "findings of SE102 `second` at the same field", "Fix: unsafe, which means", "proxyStatsMatcher", "- Metrics of istiod: `pilot_xds`\n",
				"- Statistics: `cluster.NAME.upstream_cx_total`, `listener.ADDRESS_PORT.downstream_cx_total`\n",
			},
			[]string{"SE199", "presets"},
		},
		{[]string{"Left out where SE101 `first` finds something", "Metrics of istiod: `pilot_xds_pushes`"}, []string{"off by default", "proxyStatsMatcher", "Statistics", "presets", "Fix:"}},
	} {
		var b bytes.Buffer
		p, err := newPage(&all[i], all, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.write(&b); err != nil {
			t.Fatal(err)
		}
		for _, text := range want.has {
			if !strings.Contains(b.String(), text) {
				t.Errorf("the page of %s lacks %q:\n%s", all[i].ID, text, b.String())
			}
		}
		for _, text := range want.lacks {
			if strings.Contains(b.String(), text) {
				t.Errorf("the page of %s holds %q:\n%s", all[i].ID, text, b.String())
			}
		}
	}
	var b bytes.Buffer
	if err := writeRulesJSON(&b, all); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "SE199") || !strings.Contains(text, `"rule": "SE102"`) {
		t.Errorf("the list for programs:\n%s", text)
	}
}

func TestFence(t *testing.T) {
	if got, want := fence("yaml", "a: ```\n"), "````yaml\na: ```\n````"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRenderMarkdown(t *testing.T) {
	md := "# ID name\n\n**warning** · `a` [here](https://example.com)\n\n- item of [x/y.go](https://example.com/x/y.go)\n  goes on\n- <https://example.com>\n\n" +
		"```yaml\n# kept: **as** `is`\n\n  b: 1\n```\n" + strings.Repeat("word ", 30) + "\n"
	for _, c := range []struct {
		color bool
		want  string
	}{
		{false, "ID name\n\nwarning · `a` here (https://example.com)\n\n- item of x/y.go goes on\n- https://example.com\n\n    # kept: **as** `is`\n\n      b: 1\n" +
			strings.TrimSpace(strings.Repeat("word ", 19)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 11)) + "\n"},
		{true, "\x1b[1mID name\x1b[0m\n\n\x1b[1mwarning\x1b[0m · \x1b[36ma\x1b[0m here (https://example.com)\n\n- item of x/y.go goes on\n- https://example.com\n\n    # kept: **as** `is`\n\n      b: 1\n" +
			strings.TrimSpace(strings.Repeat("word ", 19)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 11)) + "\n"},
	} {
		var b bytes.Buffer
		if err := renderMarkdown(&b, md, c.color); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("colour %v (-want +got):\n%s", c.color, diff)
		}
	}
}

// TestConfigSchema holds the schema to the reader of the configuration: what one takes, the other takes.
func TestConfigSchema(t *testing.T) {
	all := append(everyRule(t), lint.Rule{Meta: lint.Meta{
		ID: "XX999", Name: "with-options", Kinds: nil,
		Options: []lint.Option{
			{Name: "limit", Default: int64(3), Doc: "A limit."}, {Name: "share", Default: 0.5, Doc: "A share."},
			{Name: "strictly", Default: false, Doc: "A switch."}, {Name: "word", Default: "a", Doc: "A word."},
			{Name: "words", Default: []string{"a"}, Doc: "Words."},
		},
	}})
	var text bytes.Buffer
	if err := writeConfigSchema(&text, all); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(&text)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	refused := func(t *testing.T, config string) error {
		t.Helper()
		js, err := yaml.YAMLToJSON([]byte(config))
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(js))
		if err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(instance)
	}
	for _, m := range configmistakes.All() {
		if !m.Beyond && refused(t, m.Text) == nil {
			t.Errorf("%s: the schema takes %.60q", m.Name, m.Text)
		}
	}
	for _, config := range []string{ // files, which the reader takes only in a repository
		"extends: [../.meshvet.yaml, presets/team.yaml, ./x, a/b, a.yml, recommended]",
	} {
		if err := refused(t, config); err != nil {
			t.Errorf("%s: the schema says %v", config, err)
		}
	}
	for _, pattern := range []string{"../../.meshvet.yaml", "../../examples/*/.meshvet.yaml", "../../examples/*/*/.meshvet.yaml", "../../examples/*/presets/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := refused(t, string(text)); err != nil {
				t.Errorf("%s: the schema says %v", file, err)
			}
		}
	}
	for config, valid := range map[string]bool{
		"extends: [/a.yaml]":                             false,
		"extends: ['https://example.com/a.yaml']":        false,
		"extends: ['git@example.com:a/b.yaml']":          false,
		"extends: [nonsense]":                            false,
		"overrides: [{paths: [a], rules: {SE101: off}}]": true,
		"overrides: [{namespaces: [a, 'b-*', '*'], hosts: ['*.example.com', '*', a], rules: {XX999: {severity: info, options: {limit: 1}}}}]": true,
		"overrides: [{labels: {a.b/c: d}, rules: {SE101: off}}]":                                                                              true,
		"overrides: [{labels: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}, rules: {SE101: off}}]":                   true,
		"overrides: {}":                                                    false,
		"overrides: [{rules: {SE101: off}}]":                               false,
		"overrides: [{paths: [a]}]":                                        false,
		"overrides: [{paths: [a], rules: {}}]":                             false,
		"overrides: [{paths: [], rules: {SE101: off}}]":                    false,
		"overrides: [{paths: a, rules: {SE101: off}}]":                     false,
		"overrides: [{path: [a], paths: [a], rules: {SE101: off}}]":        false,
		"overrides: [{paths: ['!a'], rules: {SE101: off}}]":                false,
		"overrides: [{paths: [a], rules: {SE999: off}}]":                   false,
		"overrides: [{paths: [a], rules: {XX999: {options: {limt: 1}}}}]":  false,
		"overrides: [{paths: [a], rules: {XX999: {options: {limit: b}}}}]": false,
		"overrides: [{namespaces: [Shop], rules: {SE101: off}}]":           false,
		"overrides: [{namespaces: [], rules: {SE101: off}}]":               false,
		"overrides: [{namespaces: [''], rules: {SE101: off}}]":             false,
		"overrides: [{namespaces: [-a], rules: {SE101: off}}]":             false,
		"overrides: [{hosts: [a.*.b], rules: {SE101: off}}]":               false,
		"overrides: [{hosts: ['http://x'], rules: {SE101: off}}]":          false,
		"overrides: [{hosts: [''], rules: {SE101: off}}]":                  false,
		"overrides: [{labels: {}, rules: {SE101: off}}]":                   false,
		"overrides: [{labels: {matchLabels: {}}, rules: {SE101: off}}]":    false,
		"overrides: [{labels: {a: 1}, rules: {SE101: off}}]":               false,
		"overrides: [{labels: [a], rules: {SE101: off}}]":                  false,
		"version: 1":   true,
		"version: 2":   false,
		"version: '1'": false,
		"rules: {SE101: off, DR202: error, MX302: {severity: info}}": true,
		"rules: {SE101: 'off', wildcard-cannot-resolve: warning}":    true,
		"rules: {SE101: fatal}":                false,
		"rules: {SE101: {severity: fatal}}":    false,
		"rules: {SE999: off}":                  false,
		"rules: {SE101: {level: info}}":        false,
		"rules: {SE101: {options: {none: 1}}}": false,
		"rules: {XX999: {severity: error, options: {limit: 4, share: 1, strictly: true, word: b, words: [c]}}}": true,
		"rules: {with-options: {options: {limit: many}}}":                                                       false,
		"rules: {XX999: {options: {words: c}}}":                                                                 false,
		"exclude: ['**/testdata/**']":                                                                           true,
		"extends: [strict]":                                                                                     true,
		"extends: [strong]":                                                                                     false,
		"extends: strict":                                                                                       false,
		"exclude: '**'":                                                                                         false,
		"exclude: ['']":                                                                                         false,
		"exclude: [/a]":                                                                                         false,
		"exclude: ['!a']":                                                                                       false,
		"exclude: [1]":                                                                                          false,
		"context: [a, b/*]":                                                                                     true,
		"context: {paths: [], complete: [Service, ServiceEntry]}":                                               true,
		"context: {complete: true}":                                                                             true,
		"context: {complete: [Pod]}":                                                                            false,
		"context: {path: []}":                                                                                   false,
		"context: a":                                                                                            false,
		"scopes: [{name: prod, paths: [a]}]":                                                                    true,
		"scopes: [{name: prod}]":                                                                                false,
		"scopes: [{name: prod, paths: []}]":                                                                     false,
		"scopes: {prod: [a]}":                                                                                   false,
		"istio: {version: '1.30', dataplane: ambient, dnsCapture: true, autoAllocate: false}":                                           true,
		"istio: {version: 1.31, gatewayNamespaces: [a], clusterDomain: a.local, rootNamespace: root, meshConfig: {connectTimeout: 5s}}": true,
		"istio: {version: latest}":      false,
		"istio: {dataplane: envoy}":     false,
		"istio: {dnsCapture: 'yes'}":    false,
		"istio: {meshConfig: []}":       false,
		"istio: {gatewayNamespaces: a}": false,
		"ruls: {}":                      false,
		"webhook: {}":                   true,
		"webhook: {actions: [{action: deny}, {rules: [DR202, port-level-resets, tls], severities: [error], action: audit}]}": true,
		"webhook: {actions: [{rules: [DR202]}]}":                      false,
		"webhook: {actions: [{action: refuse}]}":                      false,
		"webhook: {actions: [{rules: [DR999], action: deny}]}":        false,
		"webhook: {actions: [{rules: [], action: deny}]}":             false,
		"webhook: {actions: [{severities: [], action: deny}]}":        false,
		"webhook: {actions: [{severities: [off], action: deny}]}":     false,
		"webhook: {actions: {action: deny}}":                          false,
		"webhook: {actions: [{namespaceSelector: {}, action: deny}]}": true,
		"webhook: {actions: [{namespaceSelector: {matchLabels: {a.b/c: d}, matchExpressions: [{key: e, operator: NotIn, values: [f]}]}, action: deny}]}": true,
		"webhook: {actions: [{namespaceSelector: {matchLabels: {a: 1}}, action: deny}]}":                                                                 false,
		"webhook: {actions: [{namespaceSelector: {matchExpressions: [{key: e, operator: Gt}]}, action: deny}]}":                                          false,
		"webhook: {actions: [{namespaceSelector: {matchExpressions: [{operator: Exists}]}, action: deny}]}":                                              false,
		"webhook: {actions: [{namespaceSelector: {app: x}, action: deny}]}":                                                                              false,
		"webhook: {onError: deny, maxInFlight: 4, denyCaused: true, suppressible: [DR204, service-entry]}":                                               true,
		"webhook: {onError: fail}":                                  false,
		"webhook: {maxInFlight: 0}":                                 false,
		"webhook: {maxInFlight: 1025}":                              false,
		"webhook: {maxInFlight: '4'}":                               false,
		"webhook: {suppressible: [nonsense]}":                       false,
		"webhook: {suppressible: [MV901]}":                          false,
		"webhook: {suppressible: []}":                               true,
		"suppressions: {}":                                          true,
		"suppressions: {forbid: [DR233, double-tls, input, MV901]}": true,
		"suppressions: {forbid: [DR999]}":                           false,
		"suppressions: {forbid: DR233}":                             false,
		"suppressions: {allow: [DR233]}":                            false,
		"webhook: {denyCaused: 'yes'}":                              false,
		"webhook: {exempt: {users: [a, 'b*'], groups: ['*'], namespaces: [kube-system]}}": true,
		"webhook: {exempt: {users: ['*b']}}":                                              false,
		"webhook: {exempt: {groups: ['']}}":                                               false,
		"webhook: {exempt: {namespace: [a]}}":                                             false,
		"webhook: {failurePolicy: Fail}":                                                  false,
	} {
		cfg, problems := lint.ReadConfig("config.yaml", []byte(config))
		_, newErr := lint.New(all, cfg)
		if read := configErrors(problems, newErr); (read == nil) != valid {
			t.Errorf("%s: the reader says %v", config, read)
		}
		if err := refused(t, config); (err == nil) != valid {
			t.Errorf("%s: the schema says %v", config, err)
		}
	}
}

// TestRulesJSON holds the list for programs to what scripts rely on.
func TestRulesJSON(t *testing.T) {
	all := everyRule(t)
	var b bytes.Buffer
	if err := writeRulesJSON(&b, all); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Rules []map[string]any `json:"rules"`
	}
	if err := json.Unmarshal(b.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Rules) != len(all) {
		t.Fatalf("%d rules, want %d", len(list.Rules), len(all))
	}
	words := map[string][]string{
		"severity": {"error", "warning", "info"}, "lang": {"go", "rego"}, "fix": {"safe", "unsafe", "show", "none"},
		"proof": {"changes", "ignored", "inert", "rejects", "panics", "envoy", "input"}, "view": {"all", "files"},
	}
	for i, r := range list.Rules {
		for key, allowed := range words {
			if v, _ := r[key].(string); !slices.Contains(allowed, v) {
				t.Errorf("%s: %s is %v", all[i].ID, key, r[key])
			}
		}
		for _, key := range []string{"presets", "kinds", "needs", "options", "supersedes", "references"} {
			if _, isList := r[key].([]any); !isList {
				t.Errorf("%s: %s is %v, want a list", all[i].ID, key, r[key])
			}
		}
		for _, key := range []string{"id", "name", "title", "summary", "docs", "source"} {
			if v, _ := r[key].(string); v == "" {
				t.Errorf("%s: %s is missing", all[i].ID, key)
			}
		}
	}
}
