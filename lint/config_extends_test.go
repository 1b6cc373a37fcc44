package lint_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// loadConfig reads a configuration from files of a repository in /repo.
func loadConfig(t *testing.T, main string, files map[string]string) (*lint.Config, []object.Problem) {
	t.Helper()
	l := lint.ConfigLoader{
		Root: "/repo",
		Name: func(p string) string { return strings.TrimPrefix(p, "/repo/") },
		Read: func(p string) ([]byte, error) {
			text, ok := files[strings.TrimPrefix(p, "/repo/")]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
	}
	folder := "/repo"
	if i := strings.LastIndex(main, "/"); i >= 0 {
		folder += "/" + main[:i]
	}
	return l.Load("/repo/"+main, []byte(files[main]), folder)
}

// What is merged and what is replaced.
func TestExtends(t *testing.T) {
	cfg, problems := loadConfig(t, "team/.meshvet.yaml", map[string]string{
		"team/.meshvet.yaml": `extends: [../presets/base.yaml, ../presets/more.yaml]
rules: {DR220: {options: {limitSeconds: 3}}, se101: error}
overrides: [{namespaces: [own], rules: {SE101: off}}]
exclude: [own]
istio: {version: "1.31"}
context: {complete: [Service]}
webhook: {onError: deny}
`,
		"presets/base.yaml": `extends: [strict]
rules: {DR220: {severity: info, options: {hosts: [a]}}, SE101: off}
overrides: [{namespaces: [base], rules: {DR220: off}}]
exclude: [base, base/**]
scopes: [{name: base, paths: [x]}]
context: {paths: [mesh], complete: true}
istio: {version: "1.30", dataplane: ambient, meshConfig: {connectTimeout: 5s}}
webhook: {onError: allow, denyCaused: true, actions: [{action: deny}]}
`,
		"presets/more.yaml": `rules: {slow-failure: error}
scopes: [{name: more, paths: [z]}]
istio: {clusterDomain: more.local}
`,
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff([]string{"own"}, cfg.Exclude); diff != "" {
		t.Error("exclude is replaced:", diff)
	}
	if len(cfg.Scopes) != 1 || cfg.Scopes[0].Name != "more" {
		t.Errorf("scopes are replaced: %v", cfg.Scopes)
	}
	if len(cfg.Complete) != 1 || len(cfg.Context) != 1 || cfg.Context[0] != "mesh" {
		t.Errorf("context is merged by key: %v, %v", cfg.Complete, cfg.Context)
	}
	m := cfg.Mesh
	if m.IstioVersion != "1.31" || m.Dataplane != "ambient" || m.ClusterDomain != "more.local" || m.MeshConfigSource != "presets/base.yaml:7:46" {
		t.Errorf("istio is merged by key: %+v", m)
	}
	if a := cfg.Admission; !a.DenyOnError || !a.DenyCaused || len(a.Actions) != 1 {
		t.Errorf("webhook is merged by key: %+v", a)
	}
	if cfg.Source != "team/.meshvet.yaml" || cfg.Folder != "/repo/team" {
		t.Errorf("it is %s for %s", cfg.Source, cfg.Folder)
	}

	var option, hosts any
	slow := simple("DR220", object.DestinationRule, func(p *lint.Pass) error {
		option, hosts = p.Option("limitSeconds"), p.Option("hosts")
		p.Report(object.Path{"spec"}, "slow")
		return nil
	})
	slow.Name = "slow-failure"
	slow.Options = []lint.Option{{Name: "limitSeconds", Default: int64(6), Doc: "the limit"}, {Name: "hosts", Default: []string{}, Doc: "hosts"}}
	habit := simple("SE118", object.ServiceEntry, finds(object.Path{"spec"}, "habit"))
	habit.Presets = []string{"strict"}
	all := []lint.Rule{slow, habit, simple("SE101", object.ServiceEntry, finds(object.Path{"spec"}, "found"))}
	r := run(t, cfg, all, load(t, "a.yaml", manifest("ServiceEntry", "a", "e", "", "")+manifest("DestinationRule", "a", "d", "host: x", "")+
		manifest("ServiceEntry", "own", "quiet", "", "")+manifest("DestinationRule", "base", "quieter", "host: x", "")))
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprintf("%s %s %s", f.Rule.ID, f.Object.Name, f.Severity))
	}
	// The rule that both files name, by ID and by name, has the severity of the later one and the options of both. What the base overrides
	// is outranked by what comes after it.
	want := []string{"SE101 e error", "SE118 e warning", "DR220 d error", "SE118 quiet warning", "DR220 quieter error"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{int64(3), []string{"a"}}, []any{option, hosts}); diff != "" {
		t.Error(diff)
	}
}

func TestExtendedPresets(t *testing.T) {
	for _, c := range []struct {
		name, own, base string
		want            []string
	}{
		{"none says any", "extends: [base.yaml]", "rules: {}", nil},
		{"the base does", "extends: [base.yaml]", "extends: [strict]", []string{"strict"}},
		{"both do", "extends: [recommended, base.yaml]", "extends: [strict]", []string{"recommended", "strict"}},
		{"the base wants none", "extends: [base.yaml]", "extends: []", []string{}},
		{"the base wants none, and is asked for more", "extends: [base.yaml, recommended]", "extends: []", []string{"recommended"}},
		{"an empty file", "extends: [./base.yaml]", "", nil},
	} {
		cfg, problems := loadConfig(t, ".meshvet.yaml", map[string]string{".meshvet.yaml": c.own, "base.yaml": c.base})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if diff := cmp.Diff(c.want, cfg.Extends); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Paths in a preset are relative to the configuration that extends it; those in the configuration of another folder to that folder.
func TestExtendedPaths(t *testing.T) {
	paths := `exclude: [gen, "x/*.yaml"]
context: [../shared, mesh]
scopes: [{name: prod, paths: [prod]}]
overrides: [{paths: [old], rules: {SE101: off}}]
`
	type result struct {
		Folder                               string
		Exclude, Context, Scope, OfOverrides []string
	}
	at := func(folder, prefix string) result {
		return result{folder, []string{prefix + "gen", prefix + "x/*.yaml"}, []string{prefix + "../shared", prefix + "mesh"}, []string{prefix + "prod"}, []string{prefix + "old"}}
	}
	rebased := func(folder, prefix, up string) result {
		r := at(folder, prefix)
		r.Context[0] = up + "shared"
		return r
	}
	for _, c := range []struct {
		name, main string
		files      map[string]string
		want       result
	}{
		{"own", "team/.meshvet.yaml", map[string]string{"team/.meshvet.yaml": paths}, at("/repo/team", "")},
		{"of a preset", "team/.meshvet.yaml", map[string]string{"team/.meshvet.yaml": "extends: [../presets/x.yaml]", "presets/x.yaml": paths}, at("/repo/team", "")},
		{"of a preset of a preset", "team/.meshvet.yaml",
			map[string]string{"team/.meshvet.yaml": "extends: [../presets/x.yaml]", "presets/x.yaml": "extends: [deep/y.yaml]", "presets/deep/y.yaml": paths}, at("/repo/team", "")},
		{"of the folder above", "teams/[a]/.meshvet.yaml", map[string]string{"teams/[a]/.meshvet.yaml": "extends: [../../.meshvet.yaml]", ".meshvet.yaml": paths}, at("/repo", "")},
		{"of a preset of the folder above", "team/.meshvet.yaml",
			map[string]string{"team/.meshvet.yaml": "extends: [../.meshvet.yml]", ".meshvet.yml": "extends: [presets/x.yaml]", "presets/x.yaml": paths}, at("/repo", "")},
		{"own, beside those of the folder above", "teams/[a]/.meshvet.yaml",
			map[string]string{"teams/[a]/.meshvet.yaml": "extends: [../../.meshvet.yaml]\noverrides: [{paths: [.], rules: {SE101: off}}, {namespaces: [a], rules: {SE101: off}}]\n" + strings.Split(paths, "\n")[0], ".meshvet.yaml": "context: [all]\nscopes: [{name: x, paths: [z]}]\n"},
			result{"/repo", []string{`teams/\[a]/gen`, `teams/\[a]/x/*.yaml`}, []string{"all"}, []string{"z"}, []string{`teams/\[a]`}}},
		{"of a folder beside it", "a/.meshvet.yaml", map[string]string{"a/.meshvet.yaml": "extends: [../b/.meshvet.yaml]", "b/.meshvet.yaml": paths}, rebased("/repo", "b/", "")},
		{"nothing of the folder above has paths", "a/.meshvet.yaml", map[string]string{"a/.meshvet.yaml": "extends: [../.meshvet.yaml]\n" + paths, ".meshvet.yaml": "exclude: [z]"}, at("/repo/a", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, problems := loadConfig(t, c.main, c.files)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			got := result{Folder: cfg.Folder, Exclude: cfg.Exclude, Context: cfg.Context}
			for _, s := range cfg.Scopes {
				got.Scope = append(got.Scope, s.Paths...)
			}
			for _, l := range append(cfg.Inherited, lint.Layer{Overrides: cfg.Overrides}) {
				for _, o := range l.Overrides {
					got.OfOverrides = append(got.OfOverrides, o.Paths...)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExtendsMistakes(t *testing.T) {
	deep := map[string]string{".meshvet.yaml": "extends: [0.yaml]"}
	wide := map[string]string{".meshvet.yaml": "extends: [0.yaml, 0.yaml]"}
	big := map[string]string{".meshvet.yaml": "extends: [big.yaml, big.yaml, big.yaml, big.yaml, big.yaml]", "big.yaml": "#" + strings.Repeat("x", 1<<20)}
	many := map[string]string{".meshvet.yaml": "extends: [many.yaml, many.yaml]", "many.yaml": "overrides: [" + strings.Repeat("{namespaces: [a], rules: {SE101: off}},", 600) + "]"}
	for i := range 12 {
		deep[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("extends: [%d.yaml]", i+1)
		wide[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("extends: [%d.yaml, %d.yaml]", i+1, i+1)
	}
	wide["8.yaml"] = ""
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"missing", map[string]string{".meshvet.yaml": "extends:\n- base.yaml"}, ".meshvet.yaml:2:3: base.yaml cannot be extended: file does not exist"},
		{"its own mistake", map[string]string{".meshvet.yaml": "extends: [a/b.yaml]", "a/b.yaml": "version: 1\nexlude: []\n"}, `a/b.yaml:2:1: unknown key "exlude" in the configuration; did you mean "exclude"?`},
		{"a mistake of its own", map[string]string{".meshvet.yaml": "extends: [a/b.yaml]", "a/b.yaml": "extends: [recomended]\n"}, `a/b.yaml:1:11: "recomended" is no preset; did you mean "recommended"?`},
		{"unreadable text", map[string]string{".meshvet.yaml": "extends: [b.yaml]", "b.yaml": "rules: [\n"}, "b.yaml:"},
		{"itself", map[string]string{".meshvet.yaml": "extends: [./.meshvet.yaml]"}, ".meshvet.yaml:1:11: a configuration cannot extend itself: .meshvet.yaml → .meshvet.yaml"},
		{"in a circle", map[string]string{".meshvet.yaml": "extends: [a/b.yaml]", "a/b.yaml": "extends: [strict, ../c.yaml]", "c.yaml": "extends:\n- a/b.yaml"},
			"c.yaml:2:3: a configuration cannot extend itself: .meshvet.yaml → a/b.yaml → c.yaml → a/b.yaml"},
		{"deep", deep, "8.yaml:1:11: more than 10 files extend one another: .meshvet.yaml → 0.yaml → 1.yaml → 2.yaml"},
		{"wide", wide, "more than 100 files are extended in all"},
		{"big", big, ".meshvet.yaml:1:41: more than 4 MiB are extended in all"},
		{"many overrides", many, ".meshvet.yaml: the files that are extended have 1200 overrides with those here, and 1000 are the most"},
		{"outside", map[string]string{".meshvet.yaml": "extends: [../x.yaml]"}, ".meshvet.yaml:1:11: /x.yaml is outside of /repo, and only what is inside can be extended"},
		{"outside by a detour", map[string]string{".meshvet.yaml": "extends: [a/../../repository/x.yaml]"}, "/repository/x.yaml is outside of /repo"},
		{"absolute", map[string]string{".meshvet.yaml": "extends: [/repo/x.yaml]"}, `"/repo/x.yaml" is no path relative to this file`},
		{"backslash", map[string]string{".meshvet.yaml": `extends: ['..\x.yaml']`}, "with forward slashes"},
		{"remote", map[string]string{".meshvet.yaml": "extends: ['https://example.com/x.yaml']"}, "is not in the repository, and only what is can be extended"},
		{"remote by git", map[string]string{".meshvet.yaml": "extends: ['git@example.com:x/y.yaml']"}, "is not in the repository"},
		{"a drive", map[string]string{".meshvet.yaml": `extends: ['cd:\x.yaml']`}, "is not in the repository"},
		{"no string", map[string]string{".meshvet.yaml": "extends: [1]"}, ".meshvet.yaml:1:11: extends[0] is 1, an integer; a string is wanted"},
		{"a name without an ending", map[string]string{".meshvet.yaml": "extends: [team]"}, `"team" is no preset; known are recommended, strict; a file is written with its ending`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := loadConfig(t, ".meshvet.yaml", c.files)
			if len(problems) != 1 {
				t.Fatalf("problems: %v", problems)
			}
			if got := fmt.Sprintf("%s: %s", problems[0].Location, problems[0].Message); !strings.Contains(got, c.want) {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// Rules that a base names wrongly are told where the base names them.
func TestExtendedRulesMistakes(t *testing.T) {
	cfg, problems := loadConfig(t, ".meshvet.yaml", map[string]string{".meshvet.yaml": "extends: [b.yaml]", "b.yaml": "rules: {SE999: off}\noverrides: [{hosts: [a], rules: {SE998: off}}]"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	_, err := lint.New(overridden(), cfg)
	var ce *lint.ConfigError
	if !errors.As(err, &ce) || len(ce.Problems) != 2 || ce.Problems[0].Location.String() != "b.yaml:1:9" || ce.Problems[1].Location.String() != "b.yaml:2:34" {
		t.Errorf("error %v", err)
	}
}

// A configuration that is read by itself, as that of the webhook is, extends no files.
func TestReadConfigExtendsNoFile(t *testing.T) {
	_, problems := lint.ReadConfig("cfg", []byte("extends: [strict, base.yaml]\n"))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, `"base.yaml" is a file, and this configuration, which is read by itself, can extend presets only: recommended, strict`) {
		t.Errorf("problems %v", problems)
	}
}

// A bomb of aliases, depth without end and the like are problems like others, and cost next to nothing.
func TestHostileConfigurations(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ","))
	}
	for name, text := range map[string]string{
		"aliases":            bomb + "exclude: *j\n",
		"depth":              "rules: " + strings.Repeat("{a: ", 5000) + strings.Repeat("}", 5000),
		"an alias of itself": "rules: &a {DR202: *a}\n",
		"no text":            "\xff\xfe\x00",
		"large":              "exclude: [" + strings.Repeat("'x/**',", 1<<19) + "]",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, problems := loadConfig(t, "x/.meshvet.yaml", map[string]string{"x/.meshvet.yaml": "extends: [../y.yaml]", "y.yaml": text})
			if len(problems) == 0 || problems[0].Location.File != "y.yaml" {
				t.Errorf("problems %v", problems)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// FuzzExtends: whatever files say, loading ends, and what is wrong is a problem with its place.
func FuzzExtends(f *testing.F) {
	f.Add("extends: [a.yaml, strict]", "extends: [b/.meshvet.yaml]\nexclude: [x]", "extends: [../.meshvet.yaml]\noverrides: [{paths: ['*'], rules: {SE101: off}}]")
	f.Add("extends: [&a a.yaml, *a]\nexclude: [../x]", "- x", "context: [../../x]\nscopes: [{name: a, paths: ['{a,b}']}]")
	f.Add("overrides: [{labels: {matchExpressions: [{key: a, operator: In, values: [b]}]}}]", "", "\x00")
	f.Fuzz(func(t *testing.T, own, a, b string) {
		cfg, problems := loadConfig(t, "x/.meshvet.yaml", map[string]string{"x/.meshvet.yaml": own, "x/a.yaml": a, "x/b/.meshvet.yaml": b, ".meshvet.yaml": b})
		for _, p := range problems {
			if p.Location.File == "" || p.Message == "" {
				t.Errorf("problem %+v", p)
			}
		}
		if cfg == nil {
			return
		}
		if cfg.Folder != "/repo/x" && cfg.Folder != "/repo" {
			t.Errorf("paths are relative to %s", cfg.Folder)
		}
		if _, err := lint.New(overridden(), cfg); err != nil {
			var ce *lint.ConfigError
			if !errors.As(err, &ce) {
				t.Error(err)
			}
		}
	})
}
