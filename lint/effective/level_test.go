package effective_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// TestEndpointCount holds the number of addresses to what Istio compiles from the same entries.
func TestEndpointCount(t *testing.T) {
	const host = "api.example.com"
	entryWith := func(name, resolution, ports, endpoints string) string {
		return "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: " + name + ", namespace: shop}\n" +
			"spec:\n  hosts: [" + host + "]\n  resolution: " + resolution + "\n  ports: [" + ports + "]\n" + endpoints
	}
	const (
		http80  = "{number: 80, name: http, protocol: HTTP}"
		web80   = "{number: 80, name: web, protocol: HTTP}"
		http81  = "{number: 81, name: http, protocol: HTTP}"
		one     = "  endpoints: [{address: 192.0.2.1}]\n"
		another = "  endpoints: [{address: 192.0.2.2}]\n"
		byName  = "  endpoints: [{address: pool.example.net}]\n"
	)
	for _, c := range []struct {
		name    string
		entries []string
		want    int // -1: not known
	}{
		{"an endpoint whose ports do not name the port counts", []string{
			entryWith("a", "STATIC", http80, "  endpoints: [{address: 192.0.2.1, ports: {http: 8080}}, {address: 192.0.2.2, ports: {other: 1}}]\n"),
		}, 2},
		{"fixed addresses of another entry under the same name of port", []string{entryWith("a", "STATIC", http80, one), entryWith("b", "STATIC", http80, another)}, 2},
		{"also if it has another number", []string{entryWith("a", "STATIC", http80, one), entryWith("b", "STATIC", http81, another)}, 2},
		{"not under another name", []string{entryWith("a", "STATIC", http80, one), entryWith("b", "STATIC", web80, another)}, 1},
		{"those of a DNS entry go into the fixed list", []string{entryWith("a", "STATIC", http80, one), entryWith("b", "DNS", http80, another)}, 2},
		{"a DNS list goes by the number of the port", []string{entryWith("a", "DNS", http80, one), entryWith("b", "DNS", web80, another)}, 2},
		{"and not by its name", []string{entryWith("a", "DNS", http80, one), entryWith("b", "DNS", http81, another)}, 1},
		{"an entry without endpoints adds the host's own name", []string{entryWith("a", "DNS", http80, one), entryWith("b", "DNS", http80, "")}, -1},
		{"unless it has not the port", []string{entryWith("a", "DNS", http80, one), entryWith("b", "DNS", http81, "")}, 1},
		{"a name may have any number of addresses", []string{entryWith("a", "DNS", http80, byName)}, -1},
		{"a name in a fixed list", []string{entryWith("a", "STATIC", http80, byName)}, -1},
		{"a socket", []string{entryWith("a", "STATIC", http80, "  endpoints: [{address: 'unix:///run/a.sock'}]\n")}, 1},
		{"none", []string{entryWith("a", "STATIC", http80, "")}, 0},
		{"workloads chosen by label", []string{entryWith("a", "STATIC", http80, "  workloadSelector: {labels: {app: a}}\n")}, -1},
		{"workloads for another port", []string{
			entryWith("a", "STATIC", http80, one), entryWith("b", "STATIC", web80, "  workloadSelector: {labels: {app: a}}\n"),
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix, _ := world(t, "", c.entries...)
			target := ix.Resolve(mesh.Host(host), "shop")
			got, known := effective.EndpointCount(ix, host, target, target.Ports[0], object.Value{})
			if !known {
				got = -1
			}
			if got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestLocalities(t *testing.T) {
	const near, far = "{address: 203.0.113.1, locality: r1/z1, labels: {row: a}}", "{address: 203.0.113.2, locality: r2/z1}"
	for name, c := range map[string]struct {
		in     []string
		labels string
		want   []string
		known  bool
	}{
		"of endpoints":                {in: []string{entry("a", api, "STATIC", "endpoints: ["+near+", "+far+", "+near+"]", "443 TLS")}, want: []string{"r1/z1", "r2/z1"}, known: true},
		"of a subset":                 {in: []string{entry("a", api, "STATIC", "endpoints: ["+near+", "+far+"]", "443 TLS")}, labels: "{row: a}", want: []string{"r1/z1"}, known: true},
		"none":                        {in: []string{entry("a", api, "STATIC", "endpoints: [{address: 203.0.113.1}]", "443 TLS")}, want: []string{""}, known: true},
		"of the host itself":          {in: []string{entry("a", api, "DNS", "", "443 TLS")}, want: []string{""}, known: true},
		"in another entry":            {in: []string{entry("a", api, "DNS", "endpoints: ["+near+"]", "443 TLS"), entry("b", api, "DNS", "", "443 TLS")}, want: []string{"r1/z1", ""}, known: true},
		"for another port":            {in: []string{entry("a", api, "DNS", "endpoints: ["+near+"]", "443 TLS"), entry("b", api, "DNS", "endpoints: ["+far+"]", "80 HTTP")}, want: []string{"r1/z1"}, known: true},
		"of workloads":                {in: []string{entry("a", api, "STATIC", "workloadSelector: {labels: {app: x}}", "443 TLS")}},
		"of workloads beside a fixed": {in: []string{entry("a", api, "STATIC", "endpoints: ["+near+"]", "443 TLS"), entry("b", api, "STATIC", "workloadSelector: {labels: {app: x}}", "443 TLS")}},
	} {
		t.Run(name, func(t *testing.T) {
			ix, _ := world(t, "", c.in...)
			var labels object.Value
			if c.labels != "" {
				doc, problem := object.ParseDocument("labels", []byte(c.labels), object.Limits{})
				if problem != nil {
					t.Fatal(problem.Message)
				}
				labels = doc.Root()
			}
			target := ix.Targets(api)[0]
			got, known := effective.Localities(ix, api, target, target.Ports[0], labels)
			if diff := cmp.Diff(c.want, got); diff != "" || known != c.known {
				t.Errorf("known %t (-want +got):\n%s", known, diff)
			}
		})
	}
}
