package mesh

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

func TestDials(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		want       []uint32
		known      bool
	}{
		{"the host itself", "resolution: DNS", []uint32{80}, true},
		{"another port of it", "resolution: DNS_ROUND_ROBIN, ports: [{number: 80, name: http, targetPort: 443}]", []uint32{443}, true},
		{"no endpoint", "resolution: STATIC", nil, true},
		{"endpoints", "resolution: STATIC, endpoints: [{address: 192.0.2.1}, {address: 192.0.2.2, ports: {http: 8443}}, {address: 192.0.2.3, ports: {tls: 9, http: 443}}, {address: 192.0.2.4, ports: {http: 0}}]",
			[]uint32{80, 443, 8443}, true},
		{"sockets have no port", "resolution: STATIC, endpoints: [{address: 'unix:///run/a.sock'}]", nil, true},
		{"what the client dials", "resolution: NONE", []uint32{80}, true},
		{"what the client dials, on another port", "ports: [{number: 80, name: http, targetPort: 443}], endpoints: [{address: 192.0.2.1, ports: {http: 9}}]", []uint32{443}, true},
		{"chosen by labels", "resolution: STATIC, workloadSelector: {labels: {app: a}}", nil, false},
		{"told by the request", "resolution: DYNAMIC_DNS", nil, false},
	} {
		spec := c.spec
		if !strings.Contains(spec, "ports: [") {
			spec += ", ports: [{number: 80, name: http}]"
		}
		ix := world(t, Settings{}, "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: e, namespace: a}\nspec: {hosts: [a.example.com], "+spec+"}\n")
		target := ix.Target(named(t, ix, object.ServiceEntry, "a", "e"))
		got, known := target.Dials(target.Ports[0])
		if diff := cmp.Diff(c.want, got); diff != "" || known != c.known {
			t.Errorf("%s: known %t, (-want +got):\n%s", c.name, known, diff)
		}
	}
}
