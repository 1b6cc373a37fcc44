package mesh

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func gateway(ns, name, selector string) string {
	return "apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {namespace: " + ns + ", name: " + name + "}\nspec: {selector: {" + selector + "}}\n---\n"
}

func TestGatewayNamespaces(t *testing.T) {
	service := func(ns, selector string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {namespace: " + ns + ", name: gw}\nspec: {selector: {" + selector + "}}\n---\n"
	}
	for _, c := range []struct {
		name     string
		settings Settings
		objects  string
		want     []string
	}{
		{"the root namespace", Settings{}, "", []string{"istio-system"}},
		{"whatever its name", Settings{RootNamespace: "control"}, "", []string{"control"}},
		{"a Gateway's own without a Service", Settings{}, gateway("edge", "a", "istio: out"), []string{"edge", "istio-system"}},
		{"that of its Service", Settings{}, gateway("shop", "a", "istio: out") + service("edge", "istio: out, app: gw"), []string{"edge", "istio-system"}},
		{"of each of its Services", Settings{}, gateway("shop", "a", "istio: out") + service("edge", "istio: out") + service("border", "istio: out"), []string{"border", "edge", "istio-system"}},
		{"not of one with some of the labels", Settings{}, gateway("edge", "a", "istio: out, app: gw") + service("shop", "istio: out") + service("pay", "app: gw"), []string{"edge", "istio-system"}},
		{"not of one with another value", Settings{}, gateway("edge", "a", "istio: out, app: gw") + service("shop", "istio: out, app: web"), []string{"edge", "istio-system"}},
		{"a Gateway for all gateways", Settings{}, gateway("edge", "a", "") + service("shop", "app: web"), []string{"edge", "istio-system"}},
		{"what the settings say instead", Settings{GatewayNamespaces: []string{"out", "in"}}, gateway("edge", "a", "istio: out"), []string{"in", "out"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, world(t, c.settings, c.objects).GatewayNamespaces()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHasGatewayRoute(t *testing.T) {
	const to = "route: [{destination: {host: api.example.com}}]"
	httpRoute := func(parent string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {namespace: edge, name: a}\nspec:\n  parentRefs: [" + parent + "]\n  rules: [{backendRefs: [{kind: Hostname, group: networking.istio.io, name: api.example.com, port: 443}]}]\n"
	}
	for _, c := range []struct {
		name, objects string
		host          Host
		want          bool
	}{
		{"none", virtual("edge", "a", "hosts: [api.example.com], gateways: [out], http: [{route: [{destination: {host: x.example.com}}]}]"), "api.example.com", false},
		{"http", virtual("edge", "a", "hosts: [x.example.com], gateways: [out], http: [{"+to+"}]"), "api.example.com", true},
		{"tls", virtual("edge", "a", "hosts: [x.example.com], gateways: [out], tls: [{"+to+"}]"), "api.example.com", true},
		{"tcp", virtual("edge", "a", "hosts: [x.example.com], gateways: [out], tcp: [{"+to+"}]"), "api.example.com", true},
		{"of sidecars", virtual("edge", "a", "hosts: [api.example.com], gateways: [mesh], http: [{"+to+"}]"), "api.example.com", false},
		{"of sidecars by default", virtual("edge", "a", "hosts: [api.example.com], http: [{"+to+"}]"), "api.example.com", false},
		{"of both", virtual("edge", "a", "hosts: [api.example.com], gateways: [mesh, out], http: [{"+to+"}]"), "api.example.com", true},
		{"by its match", virtual("edge", "a", "hosts: [api.example.com], gateways: [mesh, out], http: [{match: [{gateways: [mesh]}, {gateways: [out]}], "+to+"}]"), "api.example.com", true},
		{"of sidecars by its match", virtual("edge", "a", "hosts: [api.example.com], gateways: [mesh, out], http: [{match: [{gateways: [mesh]}], "+to+"}]"), "api.example.com", false},
		{"a match of all", virtual("edge", "a", "hosts: [api.example.com], gateways: [out], http: [{match: [{port: 80}], "+to+"}]"), "api.example.com", true},
		{"a match of sidecars", virtual("edge", "a", "hosts: [api.example.com], http: [{match: [{port: 80}], "+to+"}]"), "api.example.com", false},
		{"a host of a wildcard", virtual("edge", "a", "hosts: [api.example.com], gateways: [out], http: [{"+to+"}]"), "*.example.com", true},
		{"no host of a wildcard", virtual("edge", "a", "hosts: [api.example.com], gateways: [out], http: [{"+to+"}]"), "*.example.org", false},
		{"HTTPRoute", httpRoute("{name: out}"), "api.example.com", true},
		{"HTTPRoute by kind", httpRoute("{name: api, kind: Service, group: ''}, {name: out, kind: Gateway}"), "api.example.com", true},
		{"HTTPRoute of sidecars", httpRoute("{name: api, kind: Service, group: ''}"), "api.example.com", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := world(t, Settings{}, c.objects).HasGatewayRoute(c.host); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
