package policy_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const pooled = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: e, namespace: shop}
spec:
  hosts: [a.example.com]
  resolution: DNS
  ports: [{number: 80, name: http, protocol: HTTP}, {number: 81, name: grpc, protocol: GRPC}, {number: 53, name: dns, protocol: UDP}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: r, namespace: shop}
spec:
  host: a.example.com
  trafficPolicy:
    tls: {mode: SIMPLE}
    connectionPool: {http: {maxConcurrentStreams: 10}}
  subsets:
  - name: one
    trafficPolicy:
      portLevelSettings:
      - port: {number: 80}
        connectionPool: {http: {maxConcurrentStreams: 20}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: s, namespace: shop}
spec:
  host: b.example.com
  trafficPolicy: {connectionPool: {http: {maxConcurrentStreams: 30}}}
`

func uses(t *testing.T, arguments string) (found, problems []string) {
	t.Helper()
	body := `findings contains {"path": u.path, "message": sprintf("%s %s%s at %s: live on %s, dead on %s with %v, all ports %v, known %v", [
	u.field, u.text, u.whose, u.level, u.live_on, u.dead_on, [p.beside | some p in u.dead], u.reaches_all, u.known,
])} if {
	some u in mesh.uses(` + arguments + `)
}
`
	meta := strings.ReplaceAll(header, "ServiceEntry", "DestinationRule")
	r := judgeText(t, fstest.MapFS{"x.rego": policyFile(meta, "x", body)}, nil, pooled)
	for _, f := range r.Findings {
		found = append(found, f.Message)
	}
	for _, p := range r.Problems {
		problems = append(problems, p.Message)
	}
	return found, problems
}

// Ports for which Istio compiles nothing are left out; what is in effect beside a field is that of its own level.
func TestUses(t *testing.T) {
	got, problems := uses(t, `["connectionPool.http.maxConcurrentStreams"], ["connectionPool.http.h2UpgradePolicy", "tls"]`)
	want := []string{
		`connectionPool.http.maxConcurrentStreams 10 at destination: live on port 81 (GRPC) of a.example.com, dead on port 80 (HTTP) of a.example.com` +
			` with [{"connectionPool.http.h2UpgradePolicy": "DO_NOT_UPGRADE", "tls": "SIMPLE"}], all ports true, known true`,
		`connectionPool.http.maxConcurrentStreams 20 of subset one at subset port: live on , dead on port 80 (HTTP) of a.example.com` +
			` with [{"connectionPool.http.h2UpgradePolicy": "DO_NOT_UPGRADE", "tls": "plaintext"}], all ports false, known true`,
		`connectionPool.http.maxConcurrentStreams 30 at destination: live on , dead on  with [], all ports true, known false`,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
		t.Errorf("%v (-want +got):\n%s", problems, diff)
	}
	if got, _ := uses(t, `["connectionPool.tcp.connectTimeout"], []`); len(got) > 0 {
		t.Errorf("a field that nobody writes: %v", got)
	}
}

func TestUsesOfNoField(t *testing.T) {
	for _, arguments := range []string{`["connectionPool.http.maxStreams"], []`, `["connectionPool.http.maxRetries"], ["x"]`} {
		if _, problems := uses(t, arguments); len(problems) == 0 || !strings.Contains(problems[0], "is no field of a traffic policy") {
			t.Errorf("%s: %v", arguments, problems)
		}
	}
}
