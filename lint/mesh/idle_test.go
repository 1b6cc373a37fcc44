package mesh

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

func TestIdleRoutes(t *testing.T) {
	tls := entry("egress", "api", "api.example.com", "", "")
	both := two("both", "both.example.com")
	const to = "route: [{destination: {host: api.example.com}}]"
	for _, c := range []struct {
		name, objects, spec string
		want                IdleRoutes
	}{
		{"http for TLS", tls, "hosts: [api.example.com], http: [{" + to + "}]", IdleRoutes{"http": {0: {0}}}},
		{"the others too", tls, "hosts: [api.example.com], tls: [{" + to + "}], tcp: [{" + to + "}]", IdleRoutes{"tcp": {0: {0}}}},
		{"by port", both, "hosts: [both.example.com], http: [{match: [{port: 80}], " + to + "}, {match: [{port: 443}], " + to + "}]", IdleRoutes{"http": {443: {1}}}},
		{"one of two ports will do", both, "hosts: [both.example.com], http: [{match: [{port: 443}, {port: 80}], " + to + "}]", IdleRoutes{}},
		{"two ports", both, "hosts: [both.example.com], http: [{match: [{port: 443}, {port: 8443}, {port: 443}], " + to + "}]", IdleRoutes{"http": {443: {0}, 8443: {0}}}},
		{"a match without a port", tls, "hosts: [api.example.com], http: [{match: [{port: 443}, {uri: {prefix: /}}], " + to + "}]", IdleRoutes{"http": {0: {0}}}},
		{"one of several hosts", tls + both, "hosts: [api.example.com, both.example.com], http: [{" + to + "}]", IdleRoutes{}},
		{"hosts of a wildcard", tls + both, "hosts: ['*.example.com'], http: [{" + to + "}]", IdleRoutes{}},
		{"tcp under a wildcard of bytes", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {namespace: egress, name: wide}\nspec: {hosts: ['*.com'], resolution: NONE, ports: [{number: 9000, name: tcp, protocol: TCP}]}\n---\n" + tls,
			"hosts: [api.example.com], tcp: [{" + to + "}, {match: [{port: 443}], " + to + "}], http: [{" + to + "}]", IdleRoutes{"http": {0: {0}}, "tcp": {443: {1}}}},
		{"a host that is not in view", tls, "hosts: [api.example.com, x.example.com], http: [{" + to + "}]", nil},
		{"a gateway's", tls, "hosts: [api.example.com], gateways: [mesh, out], http: [{" + to + "}]", IdleRoutes{}},
		{"a gateway's by its match", tls, "hosts: [api.example.com], http: [{match: [{gateways: [mesh]}, {gateways: [out]}], " + to + "}]", IdleRoutes{}},
		{"a sidecar's by its match", tls, "hosts: [api.example.com], gateways: [mesh, out], http: [{match: [{gateways: [mesh]}], " + to + "}]", IdleRoutes{"http": {0: {0}}}},
		{"so many are enough", tls, "hosts: [api.example.com], http: [" + strings.Repeat("{"+to+"}, ", 20) + "]", IdleRoutes{"http": {0: {0, 1, 2, 3, 4, 5, 6, 7}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, Settings{}, c.objects+virtual("egress", "vs", c.spec))
			vs := named(t, ix, object.VirtualService, "egress", "vs")
			if diff := cmp.Diff(c.want, ix.IdleRoutes(vs)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Of a VirtualService for more hosts than anybody writes out nothing is said.
func TestIdleRoutesOfVeryManyHosts(t *testing.T) {
	for _, hosts := range []string{"'*.example.com'", "h0.example.com"} {
		var b strings.Builder
		for i := range maxServed + 1 {
			host := fmt.Sprintf("h%d.example.com", i)
			if hosts != "'*.example.com'" {
				host = hosts
			}
			b.WriteString(entry("egress", fmt.Sprintf("e%d", i), host, "", ""))
		}
		ix := world(t, Settings{}, b.String()+virtual("egress", "vs", "hosts: ["+hosts+"], http: [{}]"))
		if got := ix.IdleRoutes(named(t, ix, object.VirtualService, "egress", "vs")); got != nil {
			t.Errorf("%s: %v", hosts, got)
		}
	}
}

func TestIdleRoutesOnPort(t *testing.T) {
	r := IdleRoutes{"http": {0: {1, 4}, 443: {0, 2}}}
	for _, c := range []struct {
		kind string
		port uint32
		want []int
	}{{"http", 443, []int{0, 1, 2, 4}}, {"http", 80, []int{1, 4}}, {"http", 0, []int{1, 4}}, {"tls", 443, nil}} {
		if diff := cmp.Diff(c.want, r.On(c.kind, c.port)); diff != "" {
			t.Errorf("%s %d (-want +got):\n%s", c.kind, c.port, diff)
		}
	}
}
