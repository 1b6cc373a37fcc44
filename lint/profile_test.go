package lint_test

import (
	"testing"
	"time"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

func TestProfileCountsWhatPassesTheGates(t *testing.T) {
	gated := simple("SE101", object.ServiceEntry, func(p *lint.Pass) error {
		if !p.Profiled() {
			t.Error("the rule is not told that it is measured")
		}
		start := time.Now().Add(-time.Hour)
		p.Prepared(start)
		return nil
	})
	gated.When = []lint.Gate{{All: []lint.Condition{{Path: "spec.hosts"}}}}
	closed := simple("SE102", object.ServiceEntry, finds(object.Path{"spec"}, "found"))
	closed.When = []lint.Gate{{All: []lint.Condition{{Path: "spec.nothing"}}}}
	other := simple("DR201", object.DestinationRule, finds(object.Path{"spec"}, "found"))

	r := run(t, &lint.Config{Profile: true}, []lint.Rule{gated, closed, other}, load(t, "a.yaml", entry), load(t, "b.yaml", rule))
	if r.Profile == nil || len(r.Profile.Rules) != 3 {
		t.Fatalf("profile %v", r.Profile)
	}
	counts := map[string][2]int{}
	for _, rt := range r.Profile.Rules {
		counts[rt.Rule.ID] = [2]int{rt.Gated, rt.Judged}
		if rt.Check >= time.Hour {
			t.Errorf("%s is charged %s, preparation included", rt.Rule.ID, rt.Check)
		}
	}
	for id, want := range map[string][2]int{"SE101": {1, 1}, "SE102": {1, 0}, "DR201": {1, 1}} {
		if counts[id] != want {
			t.Errorf("%s: gated and judged %v, want %v", id, counts[id], want)
		}
	}
	if r.Profile.Preparing < time.Hour {
		t.Errorf("preparation took %s", r.Profile.Preparing)
	}
	if r := run(t, nil, []lint.Rule{other}, load(t, "b.yaml", rule)); r.Profile != nil {
		t.Error("a profile that nobody asked for")
	}
}
