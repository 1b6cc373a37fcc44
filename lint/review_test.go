package lint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// indexed puts the objects of files into an index.
func indexed(files ...*object.File) *mesh.Index {
	store := mesh.NewStore(mesh.Settings{})
	for _, f := range files {
		store.Put(f.Objects...)
	}
	return store.Snapshot()
}

func newEngine(t *testing.T, rules ...lint.Rule) *lint.Engine {
	t.Helper()
	e, err := lint.New(rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// told lists findings, as "SE101 ServiceEntry shop/api".
func told(findings []lint.Finding) []string {
	out := []string{}
	for _, f := range findings {
		out = append(out, fmt.Sprintf("%s %s", f.Rule.ID, f.Object))
	}
	return out
}

// What a rule is told of a change: only the object under review has an operation and an old object.
func TestReviewTellsOfTheChange(t *testing.T) {
	se, dr := load(t, "se.yaml", entry), load(t, "dr.yaml", rule)
	old := load(t, "old.yaml", strings.Replace(entry, "TLS", "TCP", 1)).Objects[0]
	tell := func(p *lint.Pass) error {
		was := "none"
		if p.Old != nil {
			was = p.Old.Spec().At("ports", 0, "protocol").Str()
		}
		p.Report(nil, fmt.Sprintf("%q, old %s", p.Operation, was))
		return nil
	}
	e := newEngine(t, simple("SE101", object.ServiceEntry, tell), simple("DR201", object.DestinationRule, tell))
	around := []*object.Object{dr.Objects[0], se.Objects[0], nil, dr.Objects[0]}
	for _, c := range []struct {
		name   string
		review lint.Review
		want   []string
	}{
		{"create", lint.Review{Object: se.Objects[0], Operation: "CREATE"}, []string{
			`DestinationRule shop/api: "", old none`, `ServiceEntry shop/api: "CREATE", old none`}},
		{"update", lint.Review{Object: se.Objects[0], Old: old, Operation: "UPDATE"}, []string{
			`DestinationRule shop/api: "", old none`, `ServiceEntry shop/api: "UPDATE", old TCP`}},
		{"delete", lint.Review{Old: se.Objects[0]}, []string{
			`DestinationRule shop/api: "", old none`, `ServiceEntry shop/api: "", old none`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := e.Review(context.Background(), indexed(se, dr), c.review, around)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range r.Findings {
				got = append(got, fmt.Sprintf("%s: %s", f.Object, f.Message))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if r.Stats.Judged != 2 {
				t.Errorf("%d objects are judged, each once", r.Stats.Judged)
			}
		})
	}
}

// Rules that only files can break neither run at admission, nor supersede, nor are they told as skipped.
func TestReviewLeavesOutRulesOfFiles(t *testing.T) {
	f := load(t, "a.yaml", entry)
	files := simple("MV901", object.ServiceEntry, finds(nil, "only in files"))
	files.View = lint.ViewFiles
	files.Supersedes = []lint.Supersede{{Rule: "SE101", Scope: lint.ScopeObject}}
	lacking := simple("MV906", object.ServiceEntry, finds(nil, "needs"))
	lacking.View, lacking.Needs = lint.ViewFiles, []object.Kind{object.Service}
	everywhere := simple("SE101", object.ServiceEntry, func(p *lint.Pass) error {
		p.Report(nil, fmt.Sprintf("beside %d rules", len(p.Active())))
		return nil
	})
	e := newEngine(t, files, lacking, everywhere)

	r, err := e.Review(context.Background(), indexed(f), lint.Review{Object: f.Objects[0], Operation: "CREATE"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 1 || r.Findings[0].Message != "beside 1 rules" || len(r.Skipped) != 0 {
		t.Errorf("at admission: %v, skipped %v", told(r.Findings), r.Skipped)
	}
	r, err = e.Run(context.Background(), indexed(f), f.Objects)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"MV901 ServiceEntry shop/api"}, told(r.Findings)); diff != "" || len(r.Skipped) != 1 {
		t.Errorf("of files: %s, skipped %v", diff, r.Skipped)
	}
}

// One cause is one finding at admission too, whichever of the two objects is under review; and the findings, fingerprints included, are
// those of a run over files.
func TestReviewSupersedesAcrossObjects(t *testing.T) {
	se, dr := load(t, "mesh/se.yaml", entry), load(t, "mesh/dr.yaml", rule)
	weak := simple("SE101", object.ServiceEntry, finds(nil, "weak", lint.About(lint.Subject{Hosts: []string{"api.example.com"}})))
	other := simple("SE102", object.ServiceEntry, finds(object.Path{"spec", "hosts"}, "twice the same"))
	twin := simple("SE103", object.ServiceEntry, func(p *lint.Pass) error {
		p.Report(nil, "1 of two alike")
		p.Report(nil, "2 of two alike")
		return nil
	})
	strong := simple("DR201", object.DestinationRule, finds(nil, "strong", lint.About(lint.Subject{Hosts: []string{"api.example.com"}})))
	strong.Supersedes = []lint.Supersede{{Rule: "SE101", Scope: lint.ScopeObject}}
	e := newEngine(t, weak, other, twin, strong)

	files, err := e.Lint(context.Background(), lint.Input{Files: []*object.File{se, dr}})
	if err != nil {
		t.Fatal(err)
	}
	prints := func(r *lint.Report) []string {
		var out []string
		for _, f := range r.Findings {
			out = append(out, f.Rule.ID+" "+f.Message+" "+f.Fingerprint())
		}
		return out
	}
	want := prints(files)
	if len(want) != 4 || strings.Contains(strings.Join(want, " "), "SE101") {
		t.Fatalf("files: %v", want)
	}
	for _, o := range []*object.Object{se.Objects[0], dr.Objects[0]} {
		around := []*object.Object{dr.Objects[0], se.Objects[0]}
		r, err := e.Review(context.Background(), indexed(se, dr), lint.Review{Object: o, Operation: "UPDATE"}, around)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, prints(r)); diff != "" {
			t.Errorf("%s: %s", o, diff)
		}
	}
}

// A review that is out of time stops after the rule that is running, and runs no other.
func TestReviewStopsWithItsContext(t *testing.T) {
	f := load(t, "a.yaml", entry)
	ctx, cancel := context.WithCancel(context.Background())
	ran := 0
	stop := func(*lint.Pass) error {
		ran++
		cancel()
		return nil
	}
	e := newEngine(t, simple("SE101", object.ServiceEntry, stop), simple("SE102", object.ServiceEntry, stop))
	r, err := e.Review(ctx, indexed(f), lint.Review{Object: f.Objects[0], Operation: "CREATE"}, nil)
	if !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("report %v, error %v", r, err)
	}
	if ran != 1 {
		t.Errorf("%d rules ran", ran)
	}
}
