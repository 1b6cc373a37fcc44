package effective_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
)

func TestGoverningOf(t *testing.T) {
	const od = "outlierDetection: {interval: 5s}"
	tests := []struct {
		name      string
		manifests []string
		want      []string
	}{
		{"none", []string{rule("r", "b.example.com", "trafficPolicy: {"+od+"}")}, []string{}},
		{"another block", []string{rule("r", "a.example.com", "trafficPolicy: {tls: {mode: SIMPLE}}")}, []string{}},
		{"destination level", []string{rule("r", "a.example.com", "trafficPolicy: {"+od+"}")},
			[]string{"a.example.com:80 r spec.trafficPolicy.outlierDetection", "a.example.com:443 r spec.trafficPolicy.outlierDetection"}},
		{"a wildcard", []string{rule("r", "*.example.com", "trafficPolicy: {portLevelSettings: [{port: {number: 443}, "+od+"}]}")},
			[]string{"a.example.com:443 r spec.trafficPolicy.portLevelSettings[0].outlierDetection"}},
		{"replaced by an entry", []string{rule("r", "a.example.com", "trafficPolicy: {"+od+", portLevelSettings: [{port: {number: 443}, tls: {mode: SIMPLE}}]}")},
			[]string{"a.example.com:80 r spec.trafficPolicy.outlierDetection"}},
		{"beaten by a more specific rule", []string{rule("wide", "*.example.com", "trafficPolicy: {"+od+"}"), rule("narrow", "a.example.com", "trafficPolicy: {tls: {mode: SIMPLE}}")},
			[]string{}},
		{"in a subset", []string{rule("r", "a.example.com", "subsets: [{name: eu, trafficPolicy: {"+od+"}}, {name: us}]")},
			[]string{"a.example.com:80 r spec.subsets[0].trafficPolicy.outlierDetection in eu", "a.example.com:443 r spec.subsets[0].trafficPolicy.outlierDetection in eu"}},
		{"inherited by a subset", []string{rule("r", "a.example.com", "trafficPolicy: {"+od+"}\nsubsets: [{name: eu, trafficPolicy: {portLevelSettings: [{port: {number: 80}, "+od+"}]}}]")},
			[]string{
				"a.example.com:80 r spec.trafficPolicy.outlierDetection",
				"a.example.com:80 r spec.subsets[0].trafficPolicy.portLevelSettings[0].outlierDetection in eu",
				"a.example.com:443 r spec.trafficPolicy.outlierDetection",
			}},
		{"for some workloads", []string{rule("all", "a.example.com", "trafficPolicy: {tls: {mode: SIMPLE}}"), rule("some", "a.example.com", "workloadSelector: {matchLabels: {app: x}}\ntrafficPolicy: {"+od+"}")},
			[]string{"a.example.com:80 some spec.trafficPolicy.outlierDetection", "a.example.com:443 some spec.trafficPolicy.outlierDetection"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix, objects := world(t, "defaultTrafficPolicy: {outlierDetection: {interval: 7s}}",
				append([]string{entry("a", "a.example.com", "DNS", "", "80 HTTP", "443 TLS", "53 UDP")}, test.manifests...)...)
			got := []string{}
			for _, g := range effective.GoverningOf(ix, ix.Target(objects[0]), "outlierDetection") {
				text := fmt.Sprintf("%s:%d %s %s", g.Port.Host, g.Port.Number, g.Block.Object.Name, g.Block.Path)
				if g.Subset != "" {
					text += " in " + g.Subset
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Nobody sees a hidden entry, so that nothing is in effect on it.
func TestGoverningOfHidden(t *testing.T) {
	ix, objects := world(t, "", entry("a", "a.example.com", "DNS", "exportTo: ['~']", "443 TLS"), rule("r", "a.example.com", "trafficPolicy: {tls: {mode: SIMPLE}}"))
	if got := effective.GoverningOf(ix, ix.Target(objects[0]), "tls"); len(got) > 0 {
		t.Errorf("found %v", got)
	}
}
