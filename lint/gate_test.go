package lint_test

import (
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

const levels = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: shop}
spec:
  host: api.example.com
  trafficPolicy:
    tls: {mode: SIMPLE}
    portLevelSettings:
    - port: {number: 443}
      outlierDetection: {}
    - port: {number: 80}
      tls: {mode: MUTUAL}
`

func TestGates(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name   string
		when   []lint.Gate
		levels []lint.LevelGate
		facts  []lint.Fact
		open   bool
	}{
		{name: "no gate", open: true},
		{name: "field is there", when: []lint.Gate{{All: []lint.Condition{{Path: "spec.trafficPolicy.tls"}}}}, open: true},
		{name: "field is not there", when: []lint.Gate{{All: []lint.Condition{{Path: "spec.subsets"}}}}},
		{name: "field is absent as wanted", when: []lint.Gate{{All: []lint.Condition{{Path: "spec.subsets", Absent: true}}}}, open: true},
		{name: "value", when: []lint.Gate{{All: []lint.Condition{{Path: "spec.trafficPolicy.tls.mode", Values: []any{"SIMPLE"}}}}}, open: true},
		{name: "other value", when: []lint.Gate{{All: []lint.Condition{{Path: "spec.trafficPolicy.tls.mode", Values: []any{"DISABLE"}}}}}},
		{name: "value or absent", when: []lint.Gate{{All: []lint.Condition{{Path: "spec.trafficPolicy.tls.mode", Values: []any{"DISABLE"}, Absent: true}}}}},
		{name: "any item", when: []lint.Gate{{All: []lint.Condition{{Path: "spec.trafficPolicy.portLevelSettings[*].port.number", Values: []any{int64(80)}}}}}, open: true},
		{name: "one item lacks it", when: []lint.Gate{{All: []lint.Condition{{Path: "spec.trafficPolicy.portLevelSettings[*].tls", Absent: true}}}}, open: true},
		{name: "every item has it", when: []lint.Gate{{All: []lint.Condition{{Path: "spec.trafficPolicy.portLevelSettings[*].port", Absent: true}}}}},
		{name: "one of two gates", when: []lint.Gate{{All: []lint.Condition{{Path: "spec.subsets"}}}, {All: []lint.Condition{{Path: "spec.host"}}}}, open: true},
		{name: "gate of another kind", when: []lint.Gate{{Kind: object.ServiceEntry, All: []lint.Condition{{Path: "spec.nothing"}}}}, open: true},
		{name: "level reaches the port", levels: []lint.LevelGate{{All: []lint.Condition{{Path: "outlierDetection"}}, Port: lint.PortGate{TLS: &yes}}}, open: true},
		{name: "level reaches another port only", levels: []lint.LevelGate{{All: []lint.Condition{{Path: "outlierDetection"}}, Port: lint.PortGate{TLS: &no}}}},
		{name: "no level meets the conditions", levels: []lint.LevelGate{{All: []lint.Condition{{Path: "tls.sni"}}}}},
		{name: "level that reaches no port at all", levels: []lint.LevelGate{{All: []lint.Condition{{Path: "tls.mode", Values: []any{"MUTUAL"}}}, Port: lint.PortGate{Family: []string{"L4"}}}}, open: true},
		{name: "fact holds", facts: []lint.Fact{lint.PortLosses}, open: true},
		{name: "fact does not hold", facts: []lint.Fact{lint.UnwatchedHost}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := simple("DR201", object.DestinationRule, finds(nil, "open"))
			r.When, r.Levels, r.Facts = c.when, c.levels, c.facts
			got := run(t, nil, []lint.Rule{r}, load(t, "a.yaml", entry+"---\n"+levels))
			if len(got.Problems) > 0 {
				t.Fatal(got.Problems)
			}
			if open := len(got.Findings) > 0; open != c.open {
				t.Errorf("open %v, want %v", open, c.open)
			}
		})
	}
}

func TestUnknownFactIsAProblem(t *testing.T) {
	r := simple("DR201", object.DestinationRule, finds(nil, "open"))
	r.Facts = []lint.Fact{"no-such-fact"}
	if got := run(t, nil, []lint.Rule{r}, load(t, "a.yaml", rule)); len(got.Problems) != 1 {
		t.Errorf("problems %v", got.Problems)
	}
}

func TestGateHangsOnOption(t *testing.T) {
	of := func(value bool) *lint.Config {
		return &lint.Config{Rules: map[string]lint.RuleConfig{"DR201": {Options: map[string]any{"more": value}}}}
	}
	for _, c := range []struct {
		name     string
		fallback any
		cfg      *lint.Config
		open     bool
	}{
		{"off by default", false, nil, false},
		{"switched on", false, of(true), true},
		{"on by default", true, nil, true},
		{"switched off", true, of(false), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := simple("DR201", object.DestinationRule, finds(nil, "open"))
			r.Options = []lint.Option{{Name: "more", Default: c.fallback, Doc: "more"}}
			r.When = []lint.Gate{{All: []lint.Condition{{Path: "spec.host"}}, Option: "more"}, {All: []lint.Condition{{Path: "spec.subsets"}}}}
			if got := run(t, c.cfg, []lint.Rule{r}, load(t, "a.yaml", entry+"---\n"+levels)); len(got.Findings) > 0 != c.open {
				t.Errorf("%d findings", len(got.Findings))
			}
		})
	}
	for name, options := range map[string][]lint.Option{"unknown": nil, "no switch": {{Name: "more", Default: "yes", Doc: "more"}}} {
		r := simple("DR201", object.DestinationRule, finds(nil, "open"))
		r.Options = options
		r.When = []lint.Gate{{All: []lint.Condition{{Path: "spec.host"}}, Option: "more"}}
		if _, err := lint.New([]lint.Rule{r}, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
