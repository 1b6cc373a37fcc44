package effective_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
)

func TestLostBetween(t *testing.T) {
	ix, objects := world(t, "", entry("a", "a.example.com", "DNS", "", "443 TLS", "80 HTTP", "53 UDP"),
		rule("wide", "*.example.com", "trafficPolicy:\n  connectionPool: {tcp: {maxConnections: 5, connectTimeout: 2s}, http: {maxRetries: 1}}\n  loadBalancer: {simple: LEAST_REQUEST}"),
		rule("exact", "a.example.com", "trafficPolicy: {connectionPool: {tcp: {maxConnections: 9}}}"))
	wide, exact := ix.MergedWith(objects[1]), ix.MergedWith(objects[2])
	ports := effective.PortsSeen(ix, "a.example.com", ix.Target(objects[0]), "shop")
	for _, c := range []struct {
		name          string
		instead, rule *mesh.Merged
		want          []string
	}{
		{"of a rule for what the other has too", wide, exact, []string{"tcp.connectTimeout: 2s -> 10s", "http.maxRetries: 1 -> 4294967295"}},
		{"of a rule for none", wide, nil, []string{"tcp.maxConnections: 5 -> 4294967295", "tcp.connectTimeout: 2s -> 10s", "http.maxRetries: 1 -> 4294967295"}},
		{"of none for a rule", nil, wide, []string{}},
		{"of a rule for itself", wide, wide, []string{}},
	} {
		losses := effective.LostBetween(ix, c.instead, c.rule, ports)
		if diff := cmp.Diff(c.want, told(losses)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	for _, l := range effective.LostBetween(ix, wide, exact, ports) {
		want := map[string]int{"connectionPool.tcp.connectTimeout": 2, "connectionPool.http.maxRetries": 1}[l.Field.Name]
		if len(l.Ports) != want {
			t.Errorf("%s is lost on %d ports, not on %d", l.Field.Name, len(l.Ports), want)
		}
	}
}
