package effective_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meshvet/meshvet/lint/effective"
)

func TestClientsOf(t *testing.T) {
	in := func(namespace, manifest string) string {
		return strings.Replace(manifest, "namespace: shop", "namespace: "+namespace, 1)
	}
	const tls = "trafficPolicy: {tls: {mode: SIMPLE}}"
	for _, c := range []struct {
		name string
		rule string
		more string
		want effective.Clients
	}{
		{"a rule beside the entry is for all", rule("r", "a.example.com", tls), "", effective.Clients{In: []string{"shop"}, Elsewhere: true}},
		{"but those with a rule of their own", rule("r", "a.example.com", tls), in("desk", rule("own", "a.example.com", tls)),
			effective.Clients{In: []string{"shop"}, Elsewhere: true, Except: []string{"desk"}}},
		{"a private one is for its namespace", rule("r", "a.example.com", "exportTo: ['.']\n"+tls), in("desk", rule("x", "b.example.com", tls)),
			effective.Clients{In: []string{"shop"}, Except: []string{"desk"}}},
		{"so is one in a third namespace", in("desk", rule("r", "a.example.com", tls)), "",
			effective.Clients{In: []string{"desk"}, Except: []string{"shop"}}},
		{"one of the root namespace is for those without", in("istio-system", rule("r", "*", tls)), in("desk", rule("own", "a.example.com", tls)),
			effective.Clients{In: []string{"istio-system", "shop"}, Elsewhere: true, Except: []string{"desk"}}},
		{"one with a selector stays at home", rule("r", "a.example.com", "workloadSelector: {matchLabels: {app: a}}\n"+tls), "",
			effective.Clients{In: []string{"shop"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix, objects := world(t, "", entry("a", "a.example.com", "DNS", "", "80 HTTP"), c.rule, c.more)
			target := ix.Resolve("a.example.com", "shop")
			if diff := cmp.Diff(c.want, effective.ClientsOf(ix, find(t, objects, "r"), "a.example.com", target)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDirectClients(t *testing.T) {
	const tls = "trafficPolicy: {tls: {mode: SIMPLE}}"
	route := func(bound, to string) string {
		return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: v, namespace: shop}\nspec: {hosts: [a.example.com], gateways: [" + bound +
			"], http: [{match: [{port: 80}], route: [{destination: {host: " + to + ", port: {number: 80}}}]}]}\n"
	}
	all := effective.Clients{In: []string{"shop"}, Elsewhere: true}
	none := effective.Clients{}
	for _, c := range []struct {
		name string
		rule string
		more []string
		port uint32
		want effective.Clients
	}{
		{"all", rule("r", "a.example.com", tls), nil, 80, all},
		{"but gateways", rule("r", "a.example.com", "exportTo: ['.']\n"+tls), []string{"apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {name: g, namespace: shop}\nspec: {}\n"}, 80, none},
		{"those whose routes lead there", rule("r", "a.example.com", tls), []string{route("mesh", "a.example.com")}, 80, all},
		{"not those whose routes lead elsewhere", rule("r", "a.example.com", tls), []string{route("mesh", "out.edge.svc.cluster.local")}, 80, none},
		{"on that port", rule("r", "a.example.com", tls), []string{route("mesh", "out.edge.svc.cluster.local")}, 8080, all},
		{"none beside a gateway", rule("r", "a.example.com", tls), []string{route("out", "a.example.com")}, 8080, none},
		{"none under another's labels", rule("r", "a.example.com", "exportTo: ['.']\n"+tls), []string{rule("s", "a.example.com", "workloadSelector: {matchLabels: {app: a}}")}, 80, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix, objects := world(t, "", append([]string{entry("a", "a.example.com", "DNS", "", "80 HTTP", "8080 HTTP"), c.rule}, c.more...)...)
			o := find(t, objects, "r")
			got := effective.DirectClients(ix, o, effective.EachPortOf(ix, o).Numbered(c.port)[0])
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if got := effective.DirectClients(ix.Without(o.Key), o, effective.EachPortOf(ix, o).Numbered(c.port)[0]); c.want.Elsewhere != got.Elsewhere {
				t.Errorf("of a rule that the index does not hold: %+v", got)
			}
		})
	}
}

// TestDirectClientsOfRoutedPorts: what a route of sidecars leads to is called by them, although no client dials it.
func TestDirectClientsOfRoutedPorts(t *testing.T) {
	ix, objects := world(t, "", entry("a", "a.example.com", "DNS", "", "80 HTTP", "443 TLS"), rule("r", "a.example.com", "trafficPolicy: {tls: {mode: SIMPLE}}"),
		"apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: v, namespace: shop}\nspec:\n  hosts: [a.example.com]\n"+
			"  http: [{match: [{port: 80}], route: [{destination: {host: a.example.com, port: {number: 443}}}]}]\n"+
			"  tls: [{match: [{port: 443, sniHosts: [a.example.com]}], route: [{destination: {host: out.edge.svc.cluster.local, port: {number: 443}}}]}]\n")
	o := find(t, objects, "r")
	if got := effective.DirectClients(ix, o, effective.EachPortOf(ix, o).Numbered(443)[0]); !got.Elsewhere {
		t.Errorf("got %+v", got)
	}
}
