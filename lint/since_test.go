package lint_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// faultyEntry is an entry on which the named rules find something.
func faultyEntry(name string, rules ...string) string {
	return fmt.Sprintf("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata:\n  name: %s\n  namespace: shop\n  annotations:\n    faults: %q\nspec:\n  hosts: [%s.example.com]\n---\n",
		name, strings.Join(rules, " "), name)
}

// silent is a faulty entry whose author accepts what SE101 finds.
func silent(text string) string {
	return strings.Replace(text, "    faults:", "    meshvet.dev/ignore: SE101\n    "+reasoned+"\n    faults:", 1)
}

// changeRules find what the entries ask for: SE101 supersedes SE102, and SE103 finds two places that read the same. MX301 finds
// something if there is an object called rival. MV903 is about files.
func changeRules() []lint.Rule {
	wants := func(p *lint.Pass) bool {
		return slices.Contains(strings.Fields(p.Object.Annotation("faults")), p.Rule().ID)
	}
	at := object.Path{"spec", "hosts"}
	made := func(id string, found func(*lint.Pass)) lint.Rule {
		return simple(id, object.ServiceEntry, func(p *lint.Pass) error {
			if wants(p) {
				found(p)
			}
			return nil
		})
	}
	rules := []lint.Rule{
		made("SE101", func(p *lint.Pass) { p.Report(at, "value 50 is wrong") }),
		made("SE102", func(p *lint.Pass) { p.Report(at, "weak") }),
		made("SE103", func(p *lint.Pass) { p.Report(at, "two 1"); p.Report(at, "two 2") }),
		made("MX301", func(p *lint.Pass) {
			if p.Mesh.Get(object.Key{Kind: object.ServiceEntry, Namespace: "shop", Name: "rival"}) != nil {
				p.Report(at, "has a rival")
			}
		}),
		{Meta: lint.Meta{ID: "MV903", Name: "not-loadable", Severity: lint.Error, Presets: []string{"recommended"}}, CheckFile: func(p *lint.FilePass) error {
			for _, problem := range p.File.Problems {
				p.Report(problem.Location, problem.Message, "")
			}
			return nil
		}},
	}
	rules[0].Supersedes = []lint.Supersede{{Rule: "SE102", Scope: lint.ScopeObject}}
	return rules
}

func TestCompare(t *testing.T) {
	const torn = "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nspec: [\n"
	type files map[string]string
	for _, c := range []struct {
		name      string
		then, now files
		want      string // what is new, as FILE:ID, + where the change is elsewhere
		known     int
	}{
		{"nothing found", files{"a.yaml": faultyEntry("a", "SE101")}, files{"a.yaml": faultyEntry("a")}, "", 0},
		{"as it was", files{"a.yaml": faultyEntry("a", "SE101"), "b.yaml": ""}, files{"a.yaml": faultyEntry("a", "SE101"), "b.yaml": faultyEntry("b")}, "", 1},
		{"new object", files{}, files{"a.yaml": faultyEntry("a", "SE101")}, "a.yaml:SE101", 0},
		{"new fault", files{"a.yaml": faultyEntry("a", "SE101")}, files{"a.yaml": faultyEntry("a", "SE101", "SE103")}, "a.yaml:SE103 a.yaml:SE103", 1}, //nolint:dupword // it is found twice
		{"moved lines", files{"a.yaml": faultyEntry("a", "SE101")}, files{"a.yaml": "# one\n# two\n" + faultyEntry("b") + faultyEntry("a", "SE101")}, "", 1},
		{"renamed file", files{"a.yaml": faultyEntry("a", "SE101", "SE103")}, files{"b.yaml": faultyEntry("a", "SE101", "SE103")}, "", 3},
		{"moved object", files{"a.yaml": faultyEntry("a", "SE101") + faultyEntry("c")}, files{"a.yaml": faultyEntry("c"), "b.yaml": faultyEntry("a", "SE101")}, "", 1},
		{"copied object", files{"a.yaml": faultyEntry("a", "SE101")}, files{"a.yaml": faultyEntry("a", "SE101"), "b/b.yaml": faultyEntry("a", "SE101")}, "b/b.yaml:SE101", 1},
		{"copied object, and the first repaired", files{"a/a.yaml": faultyEntry("a", "SE101")}, files{"a/a.yaml": faultyEntry("a"), "b/b.yaml": faultyEntry("a", "SE101")}, "b/b.yaml:SE101", 0},
		{
			"two meshes change places", files{"prod/a.yaml": faultyEntry("a", "SE101"), "staging/a.yaml": faultyEntry("a")},
			files{"prod/a.yaml": faultyEntry("a"), "staging/a.yaml": faultyEntry("a", "SE101")}, "staging/a.yaml:SE101", 0,
		},
		{
			"one of two meshes", files{"prod/a.yaml": faultyEntry("a", "SE101"), "staging/a.yaml": faultyEntry("a", "SE101")},
			files{"prod/a.yaml": faultyEntry("a"), "staging/a.yaml": faultyEntry("a", "SE101") + faultyEntry("b")}, "", 1,
		},
		{
			"the other of two meshes", files{"prod/a.yaml": faultyEntry("a", "SE101"), "staging/a.yaml": faultyEntry("a", "SE101")},
			files{"prod/a.yaml": faultyEntry("a", "SE101") + faultyEntry("b"), "staging/a.yaml": faultyEntry("a")}, "", 1,
		},
		{"a folder moved to where another was", files{"a/x.yaml": faultyEntry("a", "SE101"), "b/x.yaml": faultyEntry("a")}, files{"b/x.yaml": faultyEntry("a", "SE101")}, "b/x.yaml:SE101", 0},
		{"one more that reads alike", files{"a.yaml": faultyEntry("a", "SE101")}, files{"a.yaml": faultyEntry("a", "SE101") + faultyEntry("a", "SE101")}, "a.yaml:SE101", 1},
		{"uncovered", files{"a.yaml": faultyEntry("a", "SE101", "SE102")}, files{"a.yaml": faultyEntry("a", "SE102")}, "", 1},
		{"covered", files{"a.yaml": faultyEntry("a", "SE102")}, files{"a.yaml": faultyEntry("a", "SE101", "SE102")}, "a.yaml:SE101", 0},
		{"silenced", files{"a.yaml": faultyEntry("a", "SE101")}, files{"a.yaml": silent(faultyEntry("a", "SE101"))}, "", 0},
		{"silent no more", files{"a.yaml": silent(faultyEntry("a", "SE101"))}, files{"a.yaml": faultyEntry("a", "SE101")}, "a.yaml:SE101", 0},
		{"another name", files{"a.yaml": faultyEntry("a", "SE101")}, files{"a.yaml": faultyEntry("b", "SE101")}, "a.yaml:SE101", 0},
		{
			"elsewhere", files{"a.yaml": faultyEntry("a", "MX301", "SE101")},
			files{"a.yaml": faultyEntry("a", "MX301", "SE101"), "rival.yaml": faultyEntry("rival", "MX301")}, "a.yaml:MX301+ rival.yaml:MX301", 1,
		},
		{"broken", files{"a.yaml": faultyEntry("a")}, files{"a.yaml": torn}, "a.yaml:MV903", 0},
		{"broken before", files{"a.yaml": torn}, files{"a.yaml": torn + "#\n"}, "", 1},
		{"broken and renamed", files{"a.yaml": torn}, files{"b.yaml": torn}, "", 1},
		{"broken and copied", files{"a.yaml": torn}, files{"a.yaml": torn, "b.yaml": torn}, "b.yaml:MV903", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, then := loadAll(t, c.now), loadAll(t, c.then)
			r := run(t, nil, changeRules(), now...)
			silenced := len(r.Suppressed)
			e, err := lint.New(changeRules(), nil)
			if err != nil {
				t.Fatal(err)
			}
			before, err := e.Earlier(context.Background(), lint.Input{Files: then[:len(then)/2], Around: then[len(then)/2:]}, r)
			if err != nil {
				t.Fatal(err)
			}
			b := &lint.Before{Since: lint.Since{Revision: "main"}, Report: before, Now: now, Then: then,
				Unchanged: func(name string) bool { return c.now[name] == c.then[name] }}
			r.Compare(b)
			if got := newOnes(r); got != c.want {
				t.Errorf("new is %q, want %q", got, c.want)
			}
			if r.Since.Known != c.known || r.Since.Revision != "main" || len(r.Suppressed) != silenced {
				t.Errorf("%+v, %d suppressed; want %d known, %d suppressed", *r.Since, len(r.Suppressed), c.known, silenced)
			}
		})
	}
	t.Run("no file has changed", func(t *testing.T) {
		r := run(t, nil, changeRules(), load(t, "a.yaml", faultyEntry("a", "SE101")))
		r.Compare(&lint.Before{Since: lint.Since{Revision: "main"}})
		if len(r.Findings) > 0 || r.Since.Known != 1 {
			t.Errorf("%d findings, %+v", len(r.Findings), *r.Since)
		}
	})
}

func loadAll(t *testing.T, files map[string]string) []*object.File {
	t.Helper()
	var out []*object.File
	for name, text := range files {
		out = append(out, load(t, name, text))
	}
	slices.SortFunc(out, func(a, b *object.File) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func newOnes(r *lint.Report) string {
	var out []string
	for _, f := range r.Findings {
		found := f.Location.File + ":" + f.Rule.ID
		if f.Caused {
			found += "+"
		}
		out = append(out, found)
	}
	return strings.Join(out, " ")
}
