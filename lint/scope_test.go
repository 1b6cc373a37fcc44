package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

func TestScopes(t *testing.T) {
	named := func(file, name string) *object.File {
		return load(t, file, strings.Replace(entry, "name: api", "name: "+name, 1))
	}
	for _, c := range []struct {
		name   string
		files  []*object.File
		config []lint.ScopeConfig
		want   map[string][]string
	}{
		{
			"one mesh while no folder repeats an object",
			[]*object.File{named("a/x.yaml", "x"), named("b/y.yaml", "y")}, nil,
			map[string][]string{".": {"a/x.yaml", "b/y.yaml"}},
		},
		{
			"sibling folders that repeat an object are meshes of their own",
			[]*object.File{named("clusters/prod/x.yaml", "x"), named("clusters/staging/x.yaml", "x"), named("clusters/common.yaml", "y")}, nil,
			map[string][]string{
				"clusters/prod":     {"clusters/common.yaml", "clusters/prod/x.yaml"},
				"clusters/staging":  {"clusters/common.yaml", "clusters/staging/x.yaml"},
				"clusters/(shared)": {"clusters/common.yaml"},
			},
		},
		{
			"what all meshes share is one scope, however it nests",
			[]*object.File{
				named("all.yaml", "a"), named("apps/common/b.yaml", "b"), named("apps/c.yaml", "c"),
				named("apps/regions/prod/x.yaml", "x"), named("apps/regions/staging/x.yaml", "x"), named("apps/regions/d.yaml", "d"),
			}, nil,
			map[string][]string{
				"apps/common":           {"all.yaml", "apps/c.yaml", "apps/common/b.yaml"},
				"apps/regions/prod":     {"all.yaml", "apps/c.yaml", "apps/regions/d.yaml", "apps/regions/prod/x.yaml"},
				"apps/regions/staging":  {"all.yaml", "apps/c.yaml", "apps/regions/d.yaml", "apps/regions/staging/x.yaml"},
				"(shared)":              {"all.yaml", "apps/c.yaml"},
				"apps/regions/(shared)": {"all.yaml", "apps/c.yaml", "apps/regions/d.yaml"},
			},
		},
		{
			"a folder that repeats what a file above it defines",
			[]*object.File{named("x.yaml", "x"), named("over/x.yaml", "x"), named("over/deep/y.yaml", "y")}, nil,
			map[string][]string{"over": {"over/deep/y.yaml", "over/x.yaml", "x.yaml"}, "(shared)": {"x.yaml"}},
		},
		{
			"a folder that repeats what a file above it defines, above folders that repeat one another",
			[]*object.File{named("b/x.yaml", "x"), named("b/c/x.yaml", "x"), named("b/c/p/y.yaml", "z"), named("b/c/q/y.yaml", "z")}, nil,
			map[string][]string{
				"b/c/p": {"b/c/p/y.yaml", "b/c/x.yaml", "b/x.yaml"}, "b/c/q": {"b/c/q/y.yaml", "b/c/x.yaml", "b/x.yaml"},
				"b/c/(shared)": {"b/c/x.yaml", "b/x.yaml"}, "b/(shared)": {"b/x.yaml"},
			},
		},
		{
			"twice in one folder is a duplicate, not a mesh",
			[]*object.File{named("a/x.yaml", "x"), named("a/again.yaml", "x")}, nil,
			map[string][]string{"a": {"a/again.yaml", "a/x.yaml"}},
		},
		{
			"configured scopes come first",
			[]*object.File{named("a/x.yaml", "x"), named("b/y.yaml", "y"), named("c/z.yaml", "z")},
			[]lint.ScopeConfig{{Name: "first", Paths: []string{"a"}}, {Name: "second", Paths: []string{"b/**"}}},
			map[string][]string{"first": {"a/x.yaml"}, "second": {"b/y.yaml"}, "c": {"c/z.yaml"}},
		},
		{
			"nothing is left for a scope of the rest",
			[]*object.File{named("a/x.yaml", "x"), named("b/y.yaml", "y")},
			[]lint.ScopeConfig{{Name: "all", Paths: []string{"**"}}},
			map[string][]string{"all": {"a/x.yaml", "b/y.yaml"}},
		},
		{
			"a file of several configured scopes is in each",
			[]*object.File{named("base/x.yaml", "x"), named("prod/y.yaml", "y"), named("staging/y.yaml", "y")},
			[]lint.ScopeConfig{{Name: "prod", Paths: []string{"base", "prod/"}}, {Name: "staging", Paths: []string{"./base/x.yaml", "sta*"}}},
			map[string][]string{"prod": {"base/x.yaml", "prod/y.yaml"}, "staging": {"base/x.yaml", "staging/y.yaml"}},
		},
		{
			"a scope without paths is empty, and a name is no prefix",
			[]*object.File{named("ab/x.yaml", "x")},
			[]lint.ScopeConfig{{Name: "none"}, {Name: "near", Paths: []string{"a", "ab/x"}}},
			map[string][]string{"none": nil, "near": nil, "ab": {"ab/x.yaml"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, &lint.Config{Scopes: c.config}, nil, c.files...)
			got := map[string][]string{}
			for _, s := range r.Scopes {
				got[s.Name] = s.Files
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A rule that counts the objects it sees shows that scopes do not leak into one another.
func TestScopesDoNotSeeEachOther(t *testing.T) {
	counting := simple("MX306", object.ServiceEntry, func(p *lint.Pass) error {
		if n := p.Mesh.Count(object.ServiceEntry); n != 1 {
			p.Report(nil, "sees others")
		}
		return nil
	})
	r := run(t, nil, []lint.Rule{counting}, load(t, "prod/x.yaml", entry), load(t, "staging/x.yaml", entry))
	if len(r.Findings) != 0 || r.Stats.Judged != 2 {
		t.Errorf("findings %v, judged %d", ids(r), r.Stats.Judged)
	}
}

// How folders nest does not depend on the folder that a run is started in.
func TestScopesDoNotDependOnTheWorkingDirectory(t *testing.T) {
	alone := simple("MX306", object.ServiceEntry, func(p *lint.Pass) error {
		if p.Mesh.Count(object.DestinationRule) == 0 {
			p.Report(nil, "sees no rule")
		}
		return nil
	})
	e, err := lint.New([]lint.Rule{alone}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, prefix string
		scopes      []string
	}{
		{"/repo", "", []string{"clusters/one", "clusters/two", "(shared)"}},
		{"/repo/clusters/one", "../../", []string{".", "../two", "../../(shared)"}},
		{"/elsewhere", "../repo/", []string{"../repo/clusters/one", "../repo/clusters/two", "../repo/(shared)"}},
		{"/elsewhere", "/repo/", []string{"/repo/clusters/one", "/repo/clusters/two", "/repo/(shared)"}},
		{"/", "repo/", []string{"repo/clusters/one", "repo/clusters/two", "repo/(shared)"}},
		{"", "", []string{"clusters/one", "clusters/two", "(shared)"}},
	} {
		dir, prefix := c.dir, c.prefix
		r, err := e.Lint(t.Context(), lint.Input{
			Dir: dir,
			Files: []*object.File{
				load(t, prefix+"rule.yaml", rule),
				load(t, prefix+"clusters/one/x.yaml", entry),
				load(t, prefix+"clusters/two/x.yaml", entry),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) != 0 {
			t.Errorf("from %s: findings %v", dir, ids(r))
		}
		var scopes []string
		for _, s := range r.Scopes {
			scopes = append(scopes, s.Name)
		}
		if diff := cmp.Diff(c.scopes, scopes); diff != "" {
			t.Errorf("from %s (-want +got):\n%s", dir, diff)
		}
	}
}

// A rule knows by name which of several meshes it judges. What is absent from the files that meshes share may be in those of each,
// so it is no evidence there.
func TestSharedFilesAreNotAWholeMesh(t *testing.T) {
	absent := simple("MX301", object.DestinationRule, func(p *lint.Pass) error {
		p.Report(nil, "in scope "+p.Mesh.Settings().Scope)
		return nil
	})
	absent.Needs = []object.Kind{object.ServiceEntry}
	config := &lint.Config{Complete: []object.Kind{object.ServiceEntry}}
	files := []*object.File{load(t, "rule.yaml", rule), load(t, "one/x.yaml", entry), load(t, "two/x.yaml", entry), load(t, "two/rule.yaml", strings.Replace(rule, "name: ", "name: other-", 1))}
	r := run(t, config, []lint.Rule{absent}, files...)
	if len(r.Findings) != 1 || r.Findings[0].Message != "in scope two" {
		t.Errorf("findings %+v", r.Findings)
	}
	if len(r.Skipped) != 1 || !strings.HasSuffix(r.Skipped[0].Reason, "each of the meshes that share these files may have more") {
		t.Errorf("skipped %+v", r.Skipped)
	}
	// One mesh alone has no name.
	if r = run(t, config, []lint.Rule{absent}, files[0], files[1]); len(r.Findings) != 1 || r.Findings[0].Message != "in scope " {
		t.Errorf("findings %+v", r.Findings)
	}
}

// A file of several configured scopes is judged in the first and seen from the others.
func TestScopesShareFiles(t *testing.T) {
	seen := simple("MX306", object.ServiceEntry, func(p *lint.Pass) error {
		p.Report(nil, fmt.Sprintf("%d in %s", p.Mesh.Count(object.ServiceEntry), p.Mesh.Settings().Scope))
		return nil
	})
	named := func(file, name string) *object.File {
		return load(t, file, strings.Replace(entry, "name: api", "name: "+name, 1))
	}
	config := &lint.Config{Scopes: []lint.ScopeConfig{{Name: "prod", Paths: []string{"base", "prod"}}, {Name: "staging", Paths: []string{"base", "staging"}}}}
	r := run(t, config, []lint.Rule{seen}, named("base/x.yaml", "x"), named("prod/y.yaml", "y"), named("staging/y.yaml", "y"), named("staging/z.yaml", "z"))
	var got []string
	for i := range r.Findings {
		got = append(got, r.Findings[i].Location.File+": "+r.Findings[i].Message)
	}
	want := []string{"base/x.yaml: 2 in prod", "prod/y.yaml: 2 in prod", "staging/y.yaml: 3 in staging", "staging/z.yaml: 3 in staging"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Stats.Judged != 4 || len(r.Skipped) != 0 {
		t.Errorf("judged %d, skipped %+v", r.Stats.Judged, r.Skipped)
	}
}

// Files that the configured scopes leave out are told once, those without objects not at all.
func TestFilesOutsideScopesAreTold(t *testing.T) {
	config := &lint.Config{Scopes: []lint.ScopeConfig{{Name: "prod", Paths: []string{"prod"}}}}
	named := func(file string) *object.File {
		return load(t, file, strings.Replace(entry, "name: api", "name: "+strings.Trim(file, "/."), 1))
	}
	nothing := load(t, "a/nothing.yaml", "a: 1\n")
	for _, c := range []struct {
		files []string
		want  string
	}{
		{nil, ""},
		{[]string{"b.yaml"}, "b.yaml: is in no scope of the configuration, so none of them sees it"},
		{[]string{"c.yaml", "b.yaml"}, "b.yaml: is in no scope of the configuration, and neither is 1 other file, so none of them sees these"},
		{[]string{"c.yaml", "b.yaml", "d.yaml"}, "b.yaml: is in no scope of the configuration, and neither are 2 other files, so none of them sees these"},
	} {
		files := []*object.File{named("prod/x.yaml"), nothing}
		for _, f := range c.files {
			files = append(files, named(f))
		}
		got := ""
		for _, s := range run(t, config, nil, files...).Skipped {
			got += s.File + ": " + s.Reason
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.files, got, c.want)
		}
		if skipped := run(t, nil, nil, files...).Skipped; len(skipped) > 0 {
			t.Errorf("%v without scopes: %+v", c.files, skipped)
		}
	}
}

// BenchmarkDeepFolders finds two meshes at the end of a long way: what it costs is to grow with the number of files only.
func BenchmarkDeepFolders(b *testing.B) {
	for _, depth := range []int{100, 1000} {
		b.Run(fmt.Sprint(depth), func(b *testing.B) {
			var files []*object.File
			dir := ""
			for i := range depth {
				dir += "a/"
				files = append(files, load(b, dir+"f.yaml", strings.Replace(entry, "name: api", fmt.Sprintf("name: api-%d", i), 1)))
			}
			files = append(files, load(b, dir+"x/f.yaml", entry), load(b, dir+"y/f.yaml", entry))
			e, err := lint.New(nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := e.Lint(b.Context(), lint.Input{Files: files}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
