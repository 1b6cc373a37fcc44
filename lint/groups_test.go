package lint_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// engineWith makes an engine of a configuration's text.
func engineWith(t *testing.T, text string, rules ...lint.Rule) *lint.Engine {
	t.Helper()
	cfg, problems := lint.ReadConfig("cfg", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e, err := lint.New(rules, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Of two findings with one cause one is left out, whatever configurations the files are under, and whether or not both are judged. What
// is switched off for a file says no cause of another.
func TestJudgeGroups(t *testing.T) {
	dr := load(t, "a/rule.yaml", rule)
	se := load(t, "b/entry.yaml", entry)
	strong := simple("SE101", object.ServiceEntry, finds(object.Path{"spec"}, "strong", lint.About(lint.Subject{Objects: []object.Key{dr.Objects[0].Key}})))
	strong.Supersedes = []lint.Supersede{{Rule: "DR202", Scope: lint.ScopeObject}}
	weak := simple("DR202", object.DestinationRule, finds(object.Path{"spec"}, "weak"))
	on, louder := engineWith(t, "version: 1", strong, weak), engineWith(t, "rules: {SE101: error}", strong, weak)
	off, elsewhere := engineWith(t, "rules: {SE101: off}", strong, weak), engineWith(t, "istio: {clusterDomain: other.local}", strong, weak)
	by := func(e *lint.Engine) func(*object.File) *lint.Engine { return func(*object.File) *lint.Engine { return e } }
	both := func(a, b *lint.Engine) []lint.Group {
		return []lint.Group{
			{Engine: a, Files: []*object.File{dr}, Around: []*object.File{se}, EngineOf: by(b)},
			{Engine: b, Files: []*object.File{se}, Around: []*object.File{dr}, EngineOf: by(a)},
		}
	}
	for _, c := range []struct {
		name   string
		groups []lint.Group
		want   []string
		judged int
		scopes int
	}{
		{"one group", []lint.Group{{Engine: on, Files: []*object.File{dr, se}}}, []string{"SE101@api"}, 2, 1},
		{"two groups with one view", both(on, louder), []string{"SE101@api"}, 2, 1},
		{"two groups with different views", both(on, elsewhere), []string{"SE101@api"}, 2, 1},
		{"off where the cause is", both(on, off), []string{"DR202@api"}, 1, 1},
		{"off where the cause is, and seen in another way", both(elsewhere, off), []string{"DR202@api"}, 1, 1}, // no rule is left for the entry
		{"one of two", both(on, louder)[:1], nil, 1, 1},
		{"one of two, off where the cause is", both(on, off)[:1], []string{"DR202@api"}, 1, 1},
		{"one of two, and nobody knows the other", []lint.Group{{Engine: on, Files: []*object.File{dr}, Around: []*object.File{se}}}, nil, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := lint.JudgeGroups(context.Background(), c.groups, "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, ids(r)); diff != "" {
				t.Error(diff)
			}
			if r.Stats.Judged != c.judged || len(r.Scopes) != c.scopes || r.Stats.Objects != 2 {
				t.Errorf("%+v, %d scopes", r.Stats, len(r.Scopes))
			}
		})
	}
}
