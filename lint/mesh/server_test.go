package mesh

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func gatewayOf(ns, name, selector, servers string) string {
	return "apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {namespace: " + ns + ", name: " + name + "}\nspec: {selector: {" + selector + "}, servers: [" + servers + "]}\n---\n"
}

func TestServersFor(t *testing.T) {
	const (
		host = "istio-egressgateway.edge.svc.cluster.local"
		tls  = "{port: {number: 443, protocol: https}, hosts: [shop/b.example.com, a.example.com, '*/b.example.com'], tls: {mode: ISTIO_MUTUAL}}"
		bare = "{port: {number: 80, protocol: HTTP}, hosts: ['*']}"
	)
	service := "apiVersion: v1\nkind: Service\nmetadata: {namespace: edge, name: istio-egressgateway}\nspec: {selector: {istio: out, tier: 1}, ports: [{port: 443, targetPort: 8443}, {port: 80, targetPort: 80}]}\n---\n"
	tell := func(s Server) string {
		return fmt.Sprintf("%s %v %s %s %v", s.Gateway.Name, s.Names, s.Protocol, s.Mode, s.Sure)
	}
	for _, c := range []struct {
		name, objects string
		port          uint32
		want          []string
	}{
		{"by the names of Istio's chart", gatewayOf("a", "g", "istio: egressgateway", tls), 443, []string{"g [a.example.com b.example.com] HTTPS ISTIO_MUTUAL true"}},
		{"both of them", gatewayOf("a", "g", "istio: egressgateway, app: istio-egressgateway", bare), 80, []string{"g [*] HTTP  true"}},
		{"one that says otherwise", gatewayOf("a", "g", "istio: ingressgateway", bare), 80, nil},
		{"by more than is known", gatewayOf("a", "g", "istio: egressgateway, tier: 1", bare), 80, []string{"g [*] HTTP  false"}},
		{"for all pods", gatewayOf("a", "g", "", bare), 80, []string{"g [*] HTTP  false"}},
		{"another port", gatewayOf("a", "g", "istio: egressgateway", bare), 443, nil},
		{"a Service in view", service + gatewayOf("a", "g", "istio: out", bare) + gatewayOf("a", "h", "istio: egressgateway", bare), 80, []string{"g [*] HTTP  true"}},
		{"what the pod listens on", service + gatewayOf("a", "g", "tier: '1'", strings.Replace(tls, "443", "8443", 1)), 443, []string{"g [a.example.com b.example.com] HTTPS ISTIO_MUTUAL true"}},
		{"a port twice", service + gatewayOf("a", "g", "istio: out", bare), 80, []string{"g [*] HTTP  true"}},
		{"no mode", gatewayOf("a", "g", "istio: egressgateway", "{port: {number: 443, protocol: TLS}, hosts: ['*'], tls: {credentialName: c}}"), 443, []string{"g [*] TLS PASSTHROUGH true"}},
		{"no Service", entry("edge", "e", host, "", "") + gatewayOf("a", "g", "istio: egressgateway", bare), 80, nil},
		{"very many", gatewayOf("a", "g", "istio: egressgateway", strings.Repeat(bare+", ", maxServers+1)), 80, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, Settings{}, c.objects)
			for range 2 { // the second answer is a remembered one
				var got []string
				for _, s := range ix.ServersFor(host, c.port) {
					got = append(got, tell(s))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestRoutedPorts(t *testing.T) {
	const host = "gw.edge.svc.cluster.local"
	to := func(rest string) string { return "{route: [{destination: {host: " + rest + "}}]}" }
	ix := world(t, Settings{}, virtual("edge", "vs", "hosts: [a.example.com], http: ["+to("gw, subset: a, port: {number: 443}")+", "+to("gw, port: {number: 80}")+", "+to("gw, subset: a, port: {number: 443}")+"], tls: ["+
		to(host+", subset: a, port: {number: 81}")+", "+to("gw, subset: a")+", "+to("x, subset: a, port: {number: 82}")+"]"))
	for subset, want := range map[string][]uint32{"": {80, 81, 443}, "a": {81, 443}, "b": nil} {
		if diff := cmp.Diff(want, ix.RoutedPorts(host, subset)); diff != "" {
			t.Errorf("subset %q (-want +got):\n%s", subset, diff)
		}
	}
	many := world(t, Settings{}, virtual("edge", "vs", "hosts: [a.example.com], http: ["+strings.Repeat(to("gw, port: {number: 80}")+", ", 1000)+to("gw, port: {number: 81}")+"]"))
	if diff := cmp.Diff([]uint32{80}, many.RoutedPorts(host, "")); diff != "" {
		t.Errorf("of very many (-want +got):\n%s", diff)
	}
}
