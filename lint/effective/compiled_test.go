package effective_test

import (
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/effective"
)

func TestCompiled(t *testing.T) {
	all := []string{"80 http", "81 HTTP2", "82 GRPC", "83 GRPC-WEB", "84 HTTP_PROXY", "443 TLS", "444 HTTPS", "445 TCP", "446", "447 UDP"}
	for _, test := range []struct{ host, resolution, compiled, dynamic string }{
		{"a.example.com", "DNS", "80 81 82 83 84 443 444 445 446", ""},
		{"*.example.com", "NONE", "80 81 82 83 84 443 444 445 446", ""},
		{"*.example.com", "DYNAMIC_DNS", "80 81 82 443", "80 81 82 443"},
		{"a.example.com", "DYNAMIC_DNS", "80 81 82 83 84 443 444 445 446", ""}, // a list without addresses, as under STATIC
	} {
		ix, objects := world(t, "", rule("r", test.host, ""), entry("e", test.host, test.resolution, "", all...))
		var compiled, dynamic []string
		for i, port := range effective.ReachOf(ix, objects[0]).Ports {
			number, _, _ := strings.Cut(all[i], " ")
			if port.Compiled() {
				compiled = append(compiled, number)
			}
			if port.Dynamic() {
				dynamic = append(dynamic, number)
			}
		}
		if got := strings.Join(compiled, " "); got != test.compiled {
			t.Errorf("%s %s: compiled %s, want %s", test.host, test.resolution, got, test.compiled)
		}
		if got := strings.Join(dynamic, " "); got != test.dynamic {
			t.Errorf("%s %s: dynamic %s, want %s", test.host, test.resolution, got, test.dynamic)
		}
	}
}

// TestCompiledOfServices: of a Service of type ExternalName Istio compiles nothing.
func TestCompiledOfServices(t *testing.T) {
	for kind, want := range map[string]bool{"ClusterIP": true, "ExternalName": false} {
		ix, objects := world(t, "", rule("r", "db.shop.svc.cluster.local", ""),
			"apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\nspec: {type: "+kind+", externalName: db.example.com, ports: [{port: 80, name: http}]}\n")
		if got := effective.ReachOf(ix, objects[0]).Ports[0].Compiled(); got != want {
			t.Errorf("%s: %t", kind, got)
		}
	}
}
