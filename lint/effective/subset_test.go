package effective_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
)

func TestLossesInSubsets(t *testing.T) {
	labelled := "endpoints: [{address: 192.0.2.1, labels: {zone: a}}]"
	tests := []struct {
		name       string
		resolution string
		spec       string
		want       []string // block or port of the entry, "mixed", and what is lost
	}{
		{"nothing is written", "STATIC", "subsets: [{name: x, labels: {zone: a}}]", nil},
		{"a field of a block", "STATIC", "trafficPolicy: {connectionPool: {tcp: {connectTimeout: 2s}}}\nsubsets: [{name: x, labels: {zone: a}, trafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}}]",
			[]string{"connectionPool: tcp.connectTimeout: 2s -> 10s"}},
		{"two blocks", "STATIC", "trafficPolicy: {connectionPool: {tcp: {connectTimeout: 2s}}, outlierDetection: {interval: 3s}}\nsubsets: [{name: x, labels: {zone: a}, trafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}, outlierDetection: {}}}]",
			[]string{"connectionPool: tcp.connectTimeout: 2s -> 10s", "outlierDetection: outlierDetection.interval: 3s -> 10s"}},
		{"fields that both ports lose", "STATIC", "trafficPolicy: {connectionPool: {tcp: {connectTimeout: 2s}}, portLevelSettings: [{port: {number: 80}, connectionPool: {tcp: {connectTimeout: 3s}}}]}\nsubsets: [{name: x, labels: {zone: a}, trafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}}]",
			[]string{"connectionPool mixed: tcp.connectTimeout: 2s -> 10s, tcp.connectTimeout: 3s -> 10s"}},
		{"a field that one port loses", "STATIC", "trafficPolicy: {connectionPool: {tcp: {connectTimeout: 2s}}, portLevelSettings: [{port: {number: 80}, loadBalancer: {simple: RANDOM}}]}\nsubsets: [{name: x, labels: {zone: a}, trafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}}]",
			[]string{"connectionPool mixed: tcp.connectTimeout: 2s -> 10s"}},
		{"a field that the last port alone loses", "STATIC", "trafficPolicy: {loadBalancer: {simple: RANDOM}, portLevelSettings: [{port: {number: 443}, connectionPool: {tcp: {connectTimeout: 2s}}}]}\nsubsets: [{name: x, labels: {zone: a}, trafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}}]",
			[]string{"connectionPool mixed: tcp.connectTimeout: 2s -> 10s"}},
		{"an entry", "STATIC", "trafficPolicy: {outlierDetection: {interval: 3s}}\nsubsets: [{name: x, labels: {zone: a}, trafficPolicy: {connectionPool: {tcp: {connectTimeout: 2s}}, portLevelSettings: [{port: {number: 80}, loadBalancer: {simple: RANDOM}}]}}]",
			[]string{`80: tcp.connectTimeout: 2s -> 10s, outlierDetection: {"interval":"3s"} -> no outlier detection`}},
		{"an entry behind another", "STATIC", "trafficPolicy: {outlierDetection: {interval: 3s}}\nsubsets: [{name: x, labels: {zone: a}, trafficPolicy: {portLevelSettings: [{port: {number: 80}, outlierDetection: {interval: 3s}}, {port: {number: 80}, loadBalancer: {simple: RANDOM}}]}}]", nil},
		{"the second of a name", "STATIC", "trafficPolicy: {connectionPool: {tcp: {connectTimeout: 2s}}}\nsubsets: [{name: x, labels: {zone: a}}, {name: x, labels: {zone: a}, trafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}}]", nil},
		{"no endpoint with the labels, in a list that is looked up", "DNS", "trafficPolicy: {connectionPool: {tcp: {connectTimeout: 2s}}}\nsubsets: [{name: x, labels: {zone: b}, trafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}}]", nil},
		{"no endpoint with the labels, in a fixed list", "STATIC", "trafficPolicy: {connectionPool: {tcp: {connectTimeout: 2s}}}\nsubsets: [{name: x, labels: {zone: b}, trafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}}]",
			[]string{"connectionPool: tcp.connectTimeout: 2s -> 10s"}},
		{"a list that is given up at the destination level", "DNS", "trafficPolicy: {loadBalancer: {simple: PASSTHROUGH}, outlierDetection: {interval: 3s}, connectionPool: {tcp: {connectTimeout: 2s}}}\nsubsets: [{name: x, labels: {zone: a}, trafficPolicy: {outlierDetection: {}, connectionPool: {tcp: {maxConnections: 5}}}}]",
			[]string{"connectionPool: tcp.connectTimeout: 2s -> 10s"}},
		{"a list that is given up in the entry", "DNS", "trafficPolicy: {outlierDetection: {interval: 3s}}\nsubsets: [{name: x, labels: {zone: a}, trafficPolicy: {portLevelSettings: [{port: {number: 80}, loadBalancer: {simple: PASSTHROUGH}}]}}]", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix, objects := world(t, "", rule("r", "a.example.com", test.spec), entry("e", "a.example.com", test.resolution, labelled, "443 TLS", "80 HTTP"))
			// A rule that the index does not hold counts all the same.
			for _, ix := range []func() []effective.SubsetLosses{
				func() []effective.SubsetLosses {
					return effective.LossesInSubsets(ix, objects[0], effective.LevelsIn(objects[0], effective.ReachOf(ix, objects[0])), true)
				},
				func() []effective.SubsetLosses {
					without := ix.Without(objects[0].Key)
					return effective.LossesInSubsets(without, objects[0], effective.LevelsIn(objects[0], effective.ReachOf(without, objects[0])), true)
				},
			} {
				var got []string
				for _, s := range ix() {
					through := s.Block
					if through == "" {
						through = s.Level.Policy.At("port", "number").Text()
					}
					if s.Mixed {
						through += " mixed"
					}
					got = append(got, through+": "+strings.Join(told(s.Losses), ", "))
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("losses (-want +got):\n%s", diff)
				}
			}
		})
	}
}
