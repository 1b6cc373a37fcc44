package policy_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/policy"
)

func TestMeets(t *testing.T) {
	const manifests = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: a, namespace: shop}
spec:
  hosts: [a.example.com]
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}, {number: 80, name: http, protocol: HTTP}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: a, namespace: shop}
spec:
  host: a.example.com
  trafficPolicy: {loadBalancer: {consistentHash: {httpHeaderName: x}}}
  subsets: [{name: s, trafficPolicy: {outlierDetection: {interval: 5s}, portLevelSettings: [{port: {number: 443}, loadBalancer: {simple: RANDOM}}]}}]
`
	meta := strings.NewReplacer("ServiceEntry", "DestinationRule", "service-entry", "traffic-policy").Replace(header)
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"meets":           {`findings contains {"path": b.path, "message": sprintf("%v", [mesh.meets(b.path, "outlierDetection")]), "effect": "x"} if some b in mesh.blocks("loadBalancer")`, []string{"true", "false"}},
		"no block beside": {`findings contains {"path": [], "message": "x"} if mesh.meets(["spec", "trafficPolicy", "loadBalancer"], "shoes")`, []string{`broken: "shoes" is no block of a traffic policy`}},
		"not written":     {`findings contains {"path": [], "message": "x"} if mesh.meets(["spec", "subsets", 7, "trafficPolicy", "tls"], "tls")`, []string{"broken: spec.subsets[7].trafficPolicy.tls is in no traffic policy of the object"}},
		"no path":         {`findings contains {"path": [], "message": "x"} if mesh.meets(["spec", true], "tls")`, []string{"broken: true is no element of a path"}},
		"no index":        {`findings contains {"path": [], "message": "x"} if mesh.meets(["spec", -1], "tls")`, []string{"broken: -1 is no index"}},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := policy.LoadWithin(context.Background(), fstest.MapFS{"a.rego": policyFile(meta, "a", c.body)}, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			file, err := object.Load(context.Background(), "a.yaml", strings.NewReader(manifests), object.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			e, err := lint.New(rules, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Lint(context.Background(), lint.Input{Files: []*object.File{file}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range r.Findings {
				got = append(got, f.Message)
			}
			for _, p := range r.Problems {
				got = append(got, "broken: "+p.Message)
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %q", got)
			}
			for i, want := range c.want {
				text, broken := strings.CutPrefix(want, "broken: ")
				if broken && !strings.Contains(got[i], text) || !broken && got[i] != want {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}
