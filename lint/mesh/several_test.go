package mesh

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

// TestSharePorts: Istio's compiler gives the ports of the second entry a cluster in just these cases.
func TestSharePorts(t *testing.T) {
	plain := entry("egress", "a", "api.example.com", "", "")
	with := func(meta, spec string) string { return entry("egress", "b", "api.example.com", meta, spec) }
	for _, c := range []struct {
		name, a, b string
		want       bool
	}{
		{"alike", plain, with("", ""), true},
		{"what else differs does not matter", plain, with(", annotations: {x: y}", ", location: MESH_INTERNAL, addresses: [240.0.0.1], endpoints: [{address: 10.0.0.1}]"), true},
		{"resolution", plain, strings.Replace(with("", ""), "NONE", "DNS", 1), false},
		{"resolution that is omitted is NONE", plain, strings.Replace(with("", ""), "resolution: NONE, ", "", 1), true},
		{"exportTo", plain, with("", ", exportTo: ['*']"), false},
		{"exportTo in another order", entry("egress", "a", "api.example.com", "", ", exportTo: [x, y]"), with("", ", exportTo: [y, x]"), true},
		{"labels", plain, with(", labels: {team: a}", ""), false},
		{"no labels and none", plain, with(", labels: {}", ""), true},
		{"other values of labels", entry("egress", "a", "api.example.com", ", labels: {team: b}", ""), with(", labels: {team: a}", ""), false},
		{"other names of labels", entry("egress", "a", "api.example.com", ", labels: {team: a}", ""), with(", labels: {owner: a}", ""), false},
		{"workloadSelector", plain, with("", ", workloadSelector: {labels: {app: out}}"), false},
		{"the same workloadSelector", entry("egress", "a", "api.example.com", "", ", workloadSelector: {labels: {app: out}}"), with("", ", workloadSelector: {labels: {app: out}}"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, Settings{}, c.a+c.b)
			a, b := entryOf(t, ix, "egress", "a"), entryOf(t, ix, "egress", "b")
			if got := SharePorts(a, b); got != c.want {
				t.Errorf("SharePorts = %v", got)
			}
			if SharePorts(a, b) != SharePorts(b, a) {
				t.Error("it matters which comes first")
			}
		})
	}
	ix := world(t, Settings{}, service+entry("back", "a", "foo.back.svc.cluster.local", "", ""))
	if SharePorts(ix.Target(named(t, ix, object.Service, "back", "foo")), entryOf(t, ix, "back", "a")) {
		t.Error("a Service and a ServiceEntry share ports")
	}
}

func TestResolveForGateway(t *testing.T) {
	const host = "api.example.com"
	const older, younger = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"
	at := func(ns, name, when, spec string) string { return entry(ns, name, host, created(when), spec) }
	for _, c := range []struct{ name, objects, want string }{
		{"none", entry("shop", "a", "x.example.com", "", ""), ""},
		{"the oldest, wherever", at("gw", "a", younger, "") + at("shop", "b", older, ""), "shop/b"},
		{"of equal age the first by name", entry("shop", "b", host, "", "") + entry("shop", "a", host, "", ""), "shop/a"},
		{"one that is exported to the namespace", at("shop", "a", older, "") + at("shop", "b", younger, ", exportTo: [gw]"), "shop/b"},
		{"not one that is exported elsewhere", at("shop", "a", younger, "") + at("shop", "b", older, ", exportTo: ['.']"), "shop/a"},
		{"none that it sees", at("shop", "a", younger, ", exportTo: ['.']"), ""},
		{"for nobody", at("gw", "a", younger, ", exportTo: ['~']"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, Settings{}, c.objects)
			got := ""
			if target := ix.ResolveForGateway(host, "gw"); target != nil {
				got = names([]*Target{target})[0]
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	ix := world(t, Settings{}, service+entry("aaa", "a", "foo.back.svc.cluster.local", created(older), ", exportTo: [gw]"))
	if got := ix.ResolveForGateway("foo.back.svc.cluster.local", "gw"); got == nil || !got.IsService() {
		t.Error("a Service comes before ServiceEntries")
	}
}

func TestHosts(t *testing.T) {
	ix := world(t, Settings{}, entry("shop", "a", "b.example.com, a.example.com", "", "")+entry("pay", "b", "b.example.com, '*.example.com'", "", "")+service)
	want := []Host{"*.example.com", "a.example.com", "b.example.com", "foo.back.svc.cluster.local"}
	if diff := cmp.Diff(want, ix.Hosts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, o := range slices.Collect(ix.All(object.ServiceEntry)) {
		ix = ix.Without(o.Key)
	}
	if diff := cmp.Diff(want[3:], ix.Hosts()); diff != "" {
		t.Errorf("after removal (-want +got):\n%s", diff)
	}
}

func TestSelectsEndpoint(t *testing.T) {
	workload := func(ns, labels string) string {
		return "apiVersion: networking.istio.io/v1\nkind: WorkloadEntry\nmetadata: {namespace: " + ns + ", name: w}\nspec: {address: 10.0.0.1, labels: {" + labels + "}}\n---\n"
	}
	for _, c := range []struct {
		name, objects, subset string
		want                  bool
	}{
		{"no WorkloadEntry", "", "", false},
		{"one with the labels", workload("egress", "app: out"), "", true},
		{"one with more labels", workload("egress", "app: out, version: v1"), "", true},
		{"one with others", workload("egress", "app: other"), "", false},
		{"one of another namespace", workload("shop", "app: out"), "", false},
		{"one of the subset", workload("egress", "app: out, version: v1"), "version: v1", true},
		{"one of another subset", workload("egress", "app: out, version: v2"), "version: v1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, Settings{}, entry("egress", "api", "api.example.com", "", ", workloadSelector: {labels: {app: out}}")+c.objects+
				rule("egress", "api", "api.example.com", "", ", subsets: [{name: v1, labels: {"+c.subset+"}}]"))
			labels := named(t, ix, object.DestinationRule, "egress", "api").Spec().At("subsets", 0, "labels")
			if got := ix.SelectsEndpoint(entryOf(t, ix, "egress", "api"), labels); got != c.want {
				t.Errorf("SelectsEndpoint = %v", got)
			}
		})
	}
}

// TestHTTPOn80: where sidecars read requests on port 80 for any host, they put every VirtualService's http routes there.
func TestHTTPOn80(t *testing.T) {
	const host = "api.example.com"
	tlsOnly := entry("egress", "api", host, "", "")
	toTLS := virtual("egress", "vs", "hosts: [api.example.com], http: [{route: [{destination: {host: api.example.com, port: {number: 443}}}]}]")
	onlyOn := func(port string) string {
		return virtual("egress", "vs", "hosts: [api.example.com], http: [{match: [{port: "+port+"}], route: [{destination: {host: api.example.com, port: {number: 443}}}]}]")
	}
	door := func(port, spec string) string {
		return strings.Replace(entry("other", "door", "door.example.com", "", spec), "{number: 443, name: tls, protocol: TLS}", "{"+port+"}", 1)
	}
	for _, c := range []struct {
		name, objects string
		want          bool
	}{
		{"no port 80", tlsOnly + toTLS, false},
		{"another host's", tlsOnly + toTLS + door("number: 80, name: http, protocol: HTTP", ""), true},
		{"one without protocol", tlsOnly + toTLS + door("number: 80, name: x", ""), true},
		{"one of bytes", tlsOnly + toTLS + door("number: 80, name: x, protocol: TCP", ""), false},
		{"another port of HTTP", tlsOnly + toTLS + door("number: 8080, name: x, protocol: HTTP", ""), false},
		{"one that nobody sees", tlsOnly + toTLS + door("number: 80, name: http, protocol: HTTP", ", exportTo: ['~']"), false},
		{"a Service's", tlsOnly + toTLS + "apiVersion: v1\nkind: Service\nmetadata: {namespace: back, name: web}\nspec: {ports: [{name: http, port: 80}]}\n---\n", true},
		{"a route for port 80", tlsOnly + onlyOn("80") + door("number: 80, name: http, protocol: HTTP", ""), true},
		{"a route for another port", tlsOnly + onlyOn("443") + door("number: 80, name: http, protocol: HTTP", ""), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, Settings{}, c.objects)
			if got := ix.HasCleartextRoute(host, 443); got != c.want {
				t.Errorf("HasCleartextRoute = %v", got)
			}
			if len(ix.RoutesTo(host)) != 1 {
				t.Error("RoutesTo counts the route whether or not requests meet it")
			}
		})
	}
}

func TestRoutesTo(t *testing.T) {
	ix := world(t, Settings{}, virtual("egress", "a", "hosts: [door], http: [{route: [{destination: {host: api.example.com}}, {destination: {host: api.example.com, port: {number: 443}}}], mirror: {host: api.example.com}}, {route: [{destination: {host: short}}]}]")+
		virtual("egress", "b", "hosts: [door], tls: [{route: [{destination: {host: api.example.com}}]}]"))
	for host, want := range map[Host][]string{
		"api.example.com":                {"a spec.http[0].mirror", "a spec.http[0].route[0].destination", "a spec.http[0].route[1].destination"},
		"short.egress.svc.cluster.local": {"a spec.http[1].route[0].destination"},
		"short":                          nil,
	} {
		var got []string
		for _, r := range ix.RoutesTo(host) {
			got = append(got, r.Object.Name+" "+r.Path.String())
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", host, diff)
		}
	}
}
