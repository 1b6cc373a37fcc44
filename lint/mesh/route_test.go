package mesh

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

// two writes a ServiceEntry with a port that Envoy reads requests from and one that it passes through.
func two(name, hosts string) string {
	return "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {namespace: egress, name: " + name + "}\nspec: {hosts: [" + hosts + "], resolution: DNS, ports: [{number: 80, name: http, protocol: HTTP}, {number: 443, name: tls, protocol: TLS}]}\n---\n"
}

func virtual(ns, name, spec string) string {
	return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {namespace: " + ns + ", name: " + name + "}\nspec: {" + spec + "}\n---\n"
}

func TestCleartextRoutes(t *testing.T) {
	const host = "api.example.com"
	to := func(port string) string { return "{destination: {host: api.example.com" + port + "}}" }
	const p443 = ", port: {number: 443}"
	for _, c := range []struct {
		name, objects string
		host          Host // api.example.com if empty
		want          []string
	}{
		{name: "none", objects: two("api", host)},
		{name: "the port of the host itself", objects: two("api", host) + virtual("egress", "vs", "hosts: [api.example.com], http: [{match: [{port: 80}], route: ["+to(p443)+"]}]"),
			want: []string{"vs spec.http[0].route[0].destination"}},
		{name: "another port", objects: two("api", host) + virtual("egress", "vs", "hosts: [api.example.com], http: [{route: ["+to(", port: {number: 80}")+"]}]")},
		{name: "another host", objects: two("api", host) + virtual("egress", "vs", "hosts: [api.example.com], http: [{route: [{destination: {host: x.example.com, port: {number: 443}}}]}]")},
		{name: "a tls route forwards no requests", objects: two("api", host) + virtual("egress", "vs", "hosts: [api.example.com], tls: [{match: [{sniHosts: [api.example.com]}], route: ["+to(p443)+"]}]")},
		{name: "a route that only clients of TLS could meet", objects: two("api", host) + virtual("egress", "vs", "hosts: [api.example.com], http: [{match: [{port: 443}], route: ["+to(p443)+"]}]")},
		{name: "or whose host has no port of HTTP", objects: entry("egress", "api", host, "", "") + virtual("egress", "vs", "hosts: [api.example.com], http: [{route: ["+to(p443)+"]}]")},
		{name: "from a host that has", objects: entry("egress", "api", host, "", "") + two("door", "door.example.com") + virtual("egress", "vs", "hosts: [door.example.com], http: [{route: ["+to(p443)+"]}]"),
			want: []string{"vs spec.http[0].route[0].destination"}},
		{name: "from a wildcard that takes one in", objects: entry("egress", "api", host, "", "") + two("door", "door.example.com") + virtual("egress", "vs", "hosts: ['*.example.com'], http: [{route: ["+to(p443)+"]}]"),
			want: []string{"vs spec.http[0].route[0].destination"}},
		{name: "from a host that is not in view", objects: entry("egress", "api", host, "", "") + virtual("egress", "vs", "hosts: [door], http: [{route: ["+to(p443)+"]}]"),
			want: []string{"vs spec.http[0].route[0].destination"}},
		{name: "through a gateway", objects: entry("egress", "api", host, "", "") + virtual("egress", "vs", "hosts: [api.example.com], gateways: [mesh, out], http: [{route: ["+to(p443)+"]}]"),
			want: []string{"vs spec.http[0].route[0].destination"}},
		{name: "through a gateway that only the match names", objects: entry("egress", "api", host, "", "") + virtual("egress", "vs", "hosts: [api.example.com], http: [{match: [{gateways: [out]}], route: ["+to(p443)+"]}]"),
			want: []string{"vs spec.http[0].route[0].destination"}},
		{name: "for sidecars only", objects: entry("egress", "api", host, "", "") + virtual("egress", "vs", "hosts: [api.example.com], gateways: [mesh], http: [{route: ["+to(p443)+"]}]")},
		{name: "no port, and the host has just one other", objects: entry("egress", "api", host, "", "") + two("door", "door.example.com") + virtual("egress", "vs", "hosts: [door.example.com], http: [{route: ["+to("")+"]}]")},
		{name: "no port, and the host has two", objects: two("api", host) + two("door", "door.example.com") + virtual("egress", "vs", "hosts: [door.example.com], http: [{route: ["+to("")+"]}]")},
		{name: "no port, through a gateway", objects: two("api", host) + virtual("egress", "vs", "hosts: [door.example.com], gateways: [out], http: [{route: ["+to("")+"]}]"),
			want: []string{"vs spec.http[0].route[0].destination"}},
		{name: "mirrored requests", objects: two("api", host) + virtual("egress", "vs", "hosts: [api.example.com], http: [{mirror: {host: api.example.com, port: {number: 443}}, mirrors: ["+to(p443)+"], route: ["+to(", port: {number: 80}")+"]}]"),
			want: []string{"vs spec.http[0].mirror", "vs spec.http[0].mirrors[0].destination"}},
		{name: "a short name", host: "foo.back.svc.cluster.local", objects: service + virtual("back", "vs", "hosts: [door.example.com], http: [{route: [{destination: {host: foo, port: {number: 443}}}]}]"),
			want: []string{"vs spec.http[0].route[0].destination"}},
		{name: "an HTTPRoute to a host name", objects: two("api", host) + "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: hr, namespace: egress}\nspec: {rules: [{backendRefs: [{name: other, port: 443}, {group: networking.istio.io, kind: Hostname, name: api.example.com, port: 443}]}]}\n",
			want: []string{"hr spec.rules[0].backendRefs[1]"}},
		{name: "an HTTPRoute to a Service", host: "foo.back.svc.cluster.local", objects: service + "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: hr, namespace: egress}\nspec: {rules: [{backendRefs: [{name: foo, port: 443}, {name: foo, namespace: back, port: 443}]}]}\n",
			want: []string{"hr spec.rules[0].backendRefs[1]"}},
		{name: "a wildcard host takes in the routes below it", host: "*.example.com", objects: two("wild", "'*.example.com'") +
			virtual("egress", "b", "hosts: [door], http: [{route: [{destination: {host: two.example.com, port: {number: 443}}}]}]") +
			virtual("egress", "a", "hosts: [door], http: [{route: [{destination: {host: one.example.com, port: {number: 443}}}]}]"),
			want: []string{"a spec.http[0].route[0].destination", "b spec.http[0].route[0].destination"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := c.host
			if h == "" {
				h = host
			}
			var got []string
			for _, r := range world(t, Settings{}, c.objects).CleartextRoutes(h, 443) {
				got = append(got, r.Object.Name+" "+r.Path.String())
				if !r.Object.Lookup(r.Path).Exists() {
					t.Errorf("nothing stands at %s", r.Path)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A sidecar sends what comes in on a port to the same port of a destination that names none.
func TestRoutesThatNameNoPort(t *testing.T) {
	const host = "api.example.com"
	to := "route: [{destination: {host: api.example.com}}]"
	for _, c := range []struct {
		name, objects string
		port          uint32
		want          bool
	}{
		{"the port of requests", two("api", host) + virtual("egress", "vs", "hosts: [api.example.com], http: [{"+to+"}]"), 80, true},
		{"the port that is passed through", two("api", host) + virtual("egress", "vs", "hosts: [api.example.com], http: [{"+to+"}]"), 443, false},
		{"a match for another port", two("api", host) + virtual("egress", "vs", "hosts: [api.example.com], http: [{match: [{port: 443}], "+to+"}]"), 80, false},
		{"port 80, on which a sidecar takes requests for any host", two("api", host) + entry("egress", "door", "door.example.com", "", "") + virtual("egress", "vs", "hosts: [door.example.com], http: [{"+to+"}]"), 80, true},
		{"another port than 80", two("api", host) + entry("egress", "door", "door.example.com", "", "") + virtual("egress", "vs", "hosts: [door.example.com], http: [{"+to+"}]"), 443, false},
	} {
		ix := world(t, Settings{}, c.objects)
		if got := ix.HasCleartextRoute(host, c.port); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestIsDestination(t *testing.T) {
	const host = "db.corp.internal"
	const to = "route: [{destination: {host: db.corp.internal}}]"
	for _, c := range []struct {
		name, objects string
		want          bool
	}{
		{"no route", two("db", host), false},
		{"its own", virtual("a", "vs", "hosts: [db.corp.internal], http: [{"+to+"}], tcp: [{"+to+"}]"), false},
		{"from another host", virtual("a", "vs", "hosts: [db.corp.internal, db.example.com], http: [{"+to+"}]"), true},
		{"of bytes", virtual("a", "vs", "hosts: [db.example.com], tcp: [{"+to+"}]"), true},
		{"of TLS", virtual("a", "vs", "hosts: [db.example.com], tls: [{"+to+"}]"), true},
		{"from a gateway", virtual("a", "vs", "hosts: [db.corp.internal], gateways: [in], tcp: [{"+to+"}]"), true},
		{"to another host", virtual("a", "vs", "hosts: [db.example.com], tcp: [{route: [{destination: {host: x.example.com}}]}]"), false},
		{"an HTTPRoute", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: hr, namespace: egress}\nspec: {rules: [{backendRefs: [{kind: Hostname, name: db.corp.internal, port: 443}]}]}\n", true},
	} {
		if got := world(t, Settings{}, c.objects).IsDestination(host); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	doc, _ := object.ParseDocument("mesh.yaml", []byte("extensionProviders: [{name: a, envoyExtAuthzHttp: {service: authz/db.corp.internal}}, {name: b, zipkin: {service: trace.corp.internal}}, 7]"), object.Limits{})
	ix := world(t, Settings{MeshConfig: doc.Root()}, two("db", host))
	for h, want := range map[Host]bool{host: true, "trace.corp.internal": true, "authz": false, "b": false} {
		if got := ix.IsDestination(h); got != want {
			t.Errorf("extension provider %s: %t", h, got)
		}
	}
}
