package effective_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
)

func TestOriginatedOf(t *testing.T) {
	web := entry("web", "web.example.com", "DNS", "", "80 HTTP", "443 HTTP")
	in := func(namespace, manifest string) string {
		return strings.Replace(manifest, "namespace: shop", "namespace: "+namespace, 1)
	}
	const simple, off = "trafficPolicy: {tls: {mode: SIMPLE}}", "trafficPolicy: {tls: {mode: DISABLE}}"
	tests := []struct {
		name      string
		manifests []string
		want      []string
	}{
		{"no rule", []string{web}, nil},
		{"a rule for another host", []string{web, rule("r", "api.example.com", simple)}, nil},
		{"every port", []string{web, rule("r", "web.example.com", simple)}, []string{"web.example.com:80 SIMPLE r spec.trafficPolicy.tls", "web.example.com:443 SIMPLE r spec.trafficPolicy.tls"}},
		{"switched off", []string{web, rule("r", "web.example.com", off)}, nil},
		{"empty", []string{web, rule("r", "web.example.com", "trafficPolicy: {tls: {}}")}, nil},
		{"without a mode", []string{web, rule("r", "web.example.com", "trafficPolicy: {portLevelSettings: [{port: {number: 80}, tls: {sni: web.example.com}}]}")},
			[]string{"web.example.com:80  r spec.trafficPolicy.portLevelSettings[0].tls"}},
		{"switched off for a port", []string{web, rule("r", "web.example.com", "trafficPolicy: {tls: {mode: MUTUAL}, portLevelSettings: [{port: {number: 80}, tls: {mode: DISABLE}}]}")},
			[]string{"web.example.com:443 MUTUAL r spec.trafficPolicy.tls"}},
		{"lost through an entry", []string{web, rule("r", "web.example.com", "trafficPolicy: {tls: {mode: SIMPLE}, portLevelSettings: [{port: {number: 80}, connectionPool: {tcp: {maxConnections: 1}}}]}")},
			[]string{"web.example.com:443 SIMPLE r spec.trafficPolicy.tls"}},
		{"in a subset", []string{web, rule("r", "web.example.com", "subsets: [{name: a}, {name: b, trafficPolicy: {portLevelSettings: [{port: {number: 443}, tls: {mode: SIMPLE}}]}}]")},
			[]string{"web.example.com:443 SIMPLE r spec.subsets[1].trafficPolicy.portLevelSettings[0].tls"}},
		{"for some workloads", []string{web, rule("r", "web.example.com", off), rule("s", "web.example.com", "workloadSelector: {matchLabels: {app: a}}\n"+simple)},
			[]string{"web.example.com:80 SIMPLE s spec.trafficPolicy.tls", "web.example.com:443 SIMPLE s spec.trafficPolicy.tls"}},
		{"for clients of another namespace", []string{web, rule("r", "web.example.com", off), in("pay", rule("s", "*.example.com", simple))},
			[]string{"web.example.com:80 SIMPLE s spec.trafficPolicy.tls", "web.example.com:443 SIMPLE s spec.trafficPolicy.tls"}},
		{"for clients that do not see the host", []string{entry("web", "web.example.com", "DNS", "exportTo: ['.']", "80 HTTP"), in("pay", rule("s", "*.example.com", simple))}, nil},
		{"in a namespace where nobody asks for it", []string{in("egress", web), in("pay", rule("s", "web.example.com", "exportTo: ['~']\n"+simple))}, nil},
		{"hidden", []string{entry("web", "web.example.com", "DNS", "exportTo: ['~']", "80 HTTP"), rule("r", "web.example.com", simple)}, nil},
		{"a more specific rule", []string{web, rule("r", "*.example.com", simple), rule("s", "web.example.com", off)}, nil},
		{"a port that is not compiled", []string{entry("web", "web.example.com", "DNS", "", "53 UDP"), rule("r", "web.example.com", simple)}, nil},
		{"the ports of another entry", []string{web, entry("more", "web.example.com", "DNS", "", "8080 HTTP"), rule("r", "web.example.com", simple)},
			[]string{"web.example.com:80 SIMPLE r spec.trafficPolicy.tls", "web.example.com:443 SIMPLE r spec.trafficPolicy.tls"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix, objects := world(t, "", test.manifests...)
			var got []string
			for _, o := range effective.OriginatedOf(ix, ix.Target(objects[0])) {
				got = append(got, fmt.Sprintf("%s:%d %s %s %s", o.Host, o.Port.Number, o.Mode(), o.Block.Object.Name, o.Block.Path))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOriginatedUsed(t *testing.T) {
	web := entry("web", "web.example.com", "DNS", "", "80 HTTP", "443 HTTP")
	tls := rule("r", "web.example.com", "trafficPolicy: {tls: {mode: SIMPLE}}")
	const vs = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: v, namespace: shop}\nspec: "
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: v, namespace: shop}\nspec: "
	to := func(host, port string) string {
		return "route: [{destination: {host: " + host + ", port: {number: " + port + "}}}]"
	}
	for _, test := range []struct {
		name, route string
		want        []bool // of 80 and 443
	}{
		{"no route", "", []bool{true, true}},
		{"of another host", vs + "{hosts: [api.example.com], http: [{" + to("api.example.com", "443") + "}]}", []bool{true, true}},
		{"from one port to the other", vs + "{hosts: [web.example.com], http: [{match: [{port: 80}], " + to("web.example.com", "443") + "}]}", []bool{false, true}},
		{"some requests only", vs + "{hosts: [web.example.com], http: [{match: [{port: 80, uri: {prefix: /a}}], " + to("web.example.com", "443") + "}, {" + to("web.example.com", "80") + "}]}", []bool{true, true}},
		{"all to another host", vs + "{hosts: ['*.example.com'], http: [{" + to("web.example.org", "443") + "}]}", []bool{false, false}},
		{"away, and from elsewhere to here", vs + "{hosts: [web.example.com], http: [{" + to("web.example.org", "443") + "}]}\n---\n" +
			strings.Replace(vs, "name: v", "name: w", 1) + "{hosts: [old.example.com], http: [{" + to("web.example.com", "80") + "}]}", []bool{true, false}},
		{"redirected", vs + "{hosts: [web.example.com], http: [{match: [{port: 80}], redirect: {scheme: https}}]}", []bool{false, true}},
		{"through a gateway", vs + "{hosts: [web.example.com], gateways: [mesh, out], http: [{match: [{gateways: [mesh]}], " + to("egress.shop.svc.cluster.local", "80") +
			"}, {match: [{gateways: [out]}], " + to("web.example.com", "443") + "}]}", []bool{false, true}},
		{"an HTTPRoute", route + "{parentRefs: [{group: networking.istio.io, kind: ServiceEntry, name: web}], rules: [{}]}", []bool{false, false}},
		{"one of another entry", route + "{parentRefs: [{kind: ServiceEntry, name: api}, {kind: ServiceEntry, name: web, namespace: b}, {kind: Gateway, name: web}]}", []bool{true, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			manifests := []string{web, tls}
			if test.route != "" {
				manifests = append(manifests, test.route)
			}
			ix, objects := world(t, "", manifests...)
			var got []bool
			for _, o := range effective.OriginatedOf(ix, ix.Target(objects[0])) {
				got = append(got, o.Used)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
