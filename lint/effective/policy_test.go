package effective_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

// What the table says of each port was compiled by Istio itself from the same manifests.
func TestPolicyOfAPort(t *testing.T) {
	const everything = `trafficPolicy:
  connectionPool: {tcp: {maxConnections: 5, connectTimeout: 2s}}
  outlierDetection: {interval: 3s}
  loadBalancer: {simple: ROUND_ROBIN}
  tls: {mode: SIMPLE}
  proxyProtocol: {version: V2}
  retryBudget: {percent: 11}
`
	const meshwide = `defaultTrafficPolicy:
  connectionPool: {tcp: {maxConnections: 1000, connectTimeout: 4s}}
  outlierDetection: {interval: 9s}
`
	type values = map[string]string
	nothing := values{
		"connectionPool.tcp.maxConnections": effective.Unlimited, "connectionPool.tcp.connectTimeout": "10s", "outlierDetection": "no outlier detection",
		"loadBalancer.simple": "LEAST_REQUEST", "tls": "plaintext", "proxyProtocol": "none", "retryBudget": "none",
	}
	top := values{
		"connectionPool.tcp.maxConnections": "5", "connectionPool.tcp.connectTimeout": "2s", "outlierDetection": "on",
		"outlierDetection.interval": "3s", "loadBalancer.simple": "ROUND_ROBIN", "tls": "SIMPLE", "proxyProtocol": `{"version":"V2"}`, "retryBudget": `{"percent":11}`,
	}
	but := func(base values, pairs ...string) values {
		out := values{}
		for k, v := range base {
			out[k] = v
		}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	tests := []struct {
		name   string
		mesh   string
		spec   string
		subset int // index, -1 = none
		port   uint32
		want   values
	}{
		{"no policy at all", "", "exportTo: ['*']", -1, 80, nothing},
		{"destination level", "", everything, -1, 80, top},
		{"an entry replaces every block and drops those it cannot hold", "", everything + `  portLevelSettings:
  - port: {number: 80}
    loadBalancer: {simple: RANDOM}
`, -1, 80, but(nothing, "loadBalancer.simple", "RANDOM")},
		{"other ports keep the destination level", "", everything + `  portLevelSettings:
  - port: {number: 80}
    loadBalancer: {simple: RANDOM}
`, -1, 90, top},
		{"of two entries for a port the first wins whole", "", everything + `  portLevelSettings:
  - port: {number: 80}
    loadBalancer: {simple: RANDOM}
  - port: {number: 80}
    tls: {mode: MUTUAL}
`, -1, 80, but(nothing, "loadBalancer.simple", "RANDOM")},
		{"an entry without a number is nobody's", "", everything + `  portLevelSettings:
  - port: {}
    loadBalancer: {simple: RANDOM}
`, -1, 80, top},
		{"mesh defaults fill what is unset", meshwide, "exportTo: ['*']", -1, 80,
			but(nothing, "connectionPool.tcp.maxConnections", "1000", "connectionPool.tcp.connectTimeout", "4s", "outlierDetection", "on", "outlierDetection.interval", "9s")},
		{"a block of the rule drops the mesh's block whole", meshwide, "trafficPolicy:\n  connectionPool: {tcp: {connectTimeout: 1s}}", -1, 80,
			but(nothing, "connectionPool.tcp.connectTimeout", "1s", "outlierDetection", "on", "outlierDetection.interval", "9s")},
		{"mesh defaults come back after an entry", meshwide, everything + `  portLevelSettings:
  - port: {number: 80}
    tls: {mode: MUTUAL}
`, -1, 80, but(nothing, "connectionPool.tcp.maxConnections", "1000", "connectionPool.tcp.connectTimeout", "4s", "outlierDetection", "on",
			"outlierDetection.interval", "9s", "tls", "MUTUAL")},
		{"a subset replaces block by block", "", everything + "subsets:\n- name: one\n  trafficPolicy:\n    connectionPool: {tcp: {maxConnections: 99}}", 0, 80,
			but(top, "connectionPool.tcp.maxConnections", "99", "connectionPool.tcp.connectTimeout", "10s")},
		{"a subset without a policy inherits", "", everything + "subsets:\n- name: one\n  labels: {v: one}", 0, 80, top},
		{"an entry in a subset resets four blocks and keeps two", "", everything + `subsets:
- name: one
  trafficPolicy:
    connectionPool: {tcp: {maxConnections: 99}}
    portLevelSettings:
    - port: {number: 80}
      outlierDetection: {interval: 7s}
`, 0, 80, but(nothing, "outlierDetection", "on", "outlierDetection.interval", "7s", "proxyProtocol", `{"version":"V2"}`, "retryBudget", `{"percent":11}`)},
		{"a subset stands on the destination level's entry", "", everything + `  portLevelSettings:
  - port: {number: 80}
    loadBalancer: {simple: RANDOM}
subsets:
- name: one
  trafficPolicy:
    connectionPool: {tcp: {connectTimeout: 3s}}
`, 0, 80, but(nothing, "loadBalancer.simple", "RANDOM", "connectionPool.tcp.connectTimeout", "3s")},
		{"mesh defaults lie below the subset", meshwide, "subsets:\n- name: one\n  trafficPolicy:\n    connectionPool: {tcp: {maxConnections: 7}}", 0, 80,
			but(nothing, "connectionPool.tcp.maxConnections", "7", "outlierDetection", "on", "outlierDetection.interval", "9s")},
		{"mesh defaults do not come back after a subset's entry", meshwide, `subsets:
- name: one
  trafficPolicy:
    portLevelSettings:
    - port: {number: 80}
      loadBalancer: {simple: RANDOM}
`, 0, 80, but(nothing, "loadBalancer.simple", "RANDOM")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix, objects := world(t, test.mesh, rule("r", "a.example.com", test.spec), entry("e", "a.example.com", "DNS", "", "80 HTTP", "90 HTTP"))
			p := effective.LevelsOf(ix, objects[0], test.subset).For(test.port, effective.Without{})
			port := effective.ReachOf(ix, objects[0]).Numbered(test.port)[0]
			got := values{}
			for name := range test.want {
				got[name] = field(t, name).Value(p, port)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("values in effect (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSourceOfBlocks(t *testing.T) {
	ix, objects := world(t, "defaultTrafficPolicy: {outlierDetection: {interval: 9s}}", rule("r", "a.example.com", `trafficPolicy:
  connectionPool: {tcp: {maxConnections: 5}}
  tunnel: {targetHost: t.example.com, targetPort: 443}
  portLevelSettings:
  - port: {number: 443}
    connectionPool: {tcp: {maxConnections: 6}}
subsets:
- name: one
  trafficPolicy:
    tls: {mode: SIMPLE}
`))
	p := effective.LevelsOf(ix, objects[0], 0).For(443, effective.Without{})
	got := map[string]string{}
	for _, b := range effective.Blocks {
		if s := p.Block(b); s.Set() {
			got[b] = s.Path.String()
		}
	}
	want := map[string]string{
		"connectionPool":   "spec.trafficPolicy.portLevelSettings[0].connectionPool",
		"tunnel":           "spec.trafficPolicy.tunnel",
		"outlierDetection": "defaultTrafficPolicy.outlierDetection",
		"tls":              "spec.subsets[0].trafficPolicy.tls",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if !p.FromMesh("outlierDetection") || p.FromMesh("connectionPool") || p.FromMesh("loadBalancer") {
		t.Error("FromMesh does not tell the mesh's block from the rule's")
	}
	if got := p.Listener.Path.String(); got != "spec.trafficPolicy.connectionPool" {
		t.Errorf("the listener reads %s", got)
	}
	if got := p.Entry.String(); got != "spec.trafficPolicy.portLevelSettings[0]" {
		t.Errorf("the entry is %s", got)
	}
}

func TestLevelsOfMergedRules(t *testing.T) {
	ix, objects := world(t, "",
		rule("a", "a.example.com", "subsets:\n- {name: one, labels: {v: one}}"),
		rule("b", "a.example.com", "trafficPolicy: {tls: {mode: SIMPLE}}"),
		entry("e", "a.example.com", "DNS", "", "443 TLS"))
	target := ix.Target(objects[2])
	merged := ix.RuleFor(target, "a.example.com", "shop", nil)
	for _, subset := range []string{"", "one", "unknown"} {
		p := effective.LevelsOfMerged(ix, merged, subset).For(443, effective.Without{})
		if got := p.Block("tls").Object; got != objects[1] {
			t.Errorf("subset %q: tls comes from %v, not from the rule that has a policy", subset, got)
		}
	}
	if p := effective.LevelsOfMerged(ix, nil, "").For(443, effective.Without{}); len(p.Blocks) != 0 {
		t.Errorf("without a rule there are blocks: %v", p.Blocks)
	}
}

func TestEntryFor(t *testing.T) {
	doc, problem := object.ParseDocument("level.yaml", []byte(`portLevelSettings:
- port: {name: http}
- {}
- port: {number: '80'}
- port: {number: 4294967376}
- port: {number: -80}
- port: {number: 80}
- port: {number: 443}
- port: {number: 80}
`), object.Limits{})
	if problem != nil {
		t.Fatal(problem.Message)
	}
	for port, want := range map[uint32]int{80: 5, 443: 6, 8080: -1, 0: -1} {
		if got := effective.EntryFor(doc.Root(), port); got != want {
			t.Errorf("EntryFor(%d) = %d, want %d", port, got, want)
		}
	}
	if got := effective.EntryFor(object.Value{}, 80); got != -1 {
		t.Errorf("EntryFor of no level = %d", got)
	}
}
