package mesh

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

func TestServicePorts(t *testing.T) {
	for _, c := range []struct {
		port, protocol string
		family         Family
	}{
		{"{port: 80, name: http}", "HTTP", L7},
		{"{port: 80, name: http-web}", "HTTP", L7},
		{"{port: 80, name: HTTP-web}", "HTTP", L7},
		{"{port: 80, name: httpweb}", "", Sniffed},
		{"{port: 80, name: web}", "", Sniffed},
		{"{port: 80}", "", Sniffed},
		{"{port: 443, name: https}", "HTTPS", L4},
		{"{port: 443, name: tls-x}", "TLS", L4},
		{"{port: 80, name: grpc-web}", "GRPC-WEB", L7},
		{"{port: 80, name: grpc-webby}", "GRPC-WEB", L7},
		{"{port: 80, name: grpc-x}", "GRPC", L7},
		{"{port: 80, name: web, appProtocol: http2}", "HTTP2", L7},
		{"{port: 80, name: tcp-x, appProtocol: kubernetes.io/h2c}", "HTTP2", L7},
		{"{port: 80, appProtocol: kubernetes.io/ws}", "HTTP", L7},
		{"{port: 80, appProtocol: kubernetes.io/wss}", "HTTPS", L4},
		{"{port: 3306}", "TCP", L4},
		{"{port: 3306, name: http}", "HTTP", L7},
		{"{port: 53, protocol: UDP, name: http}", "UDP", NoProxy},
		{"{port: 6379, name: redis}", "REDIS", L4},
	} {
		ix := world(t, Settings{}, "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: a}\nspec: {ports: ["+c.port+"]}\n")
		p := ix.Target(named(t, ix, object.Service, "a", "s")).Ports[0]
		if p.Protocol != c.protocol || p.Family != c.family {
			t.Errorf("%s: %q %s, want %q %s", c.port, p.Protocol, p.Family, c.protocol, c.family)
		}
	}
}

func TestEntryTarget(t *testing.T) {
	ix := world(t, Settings{}, `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: e}
spec:
  hosts: [a.example.com, b.example.com, a.example.com]
  ports:
  - {number: 443, name: tls, protocol: tls, targetPort: 8443}
  - {number: 80, name: http}
  - {number: 53, name: dns, protocol: UDP}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: inside, namespace: x}
spec:
  hosts: [c.example.com]
  location: MESH_INTERNAL
  resolution: STATIC
  addresses: [192.0.2.0/24]
  endpoints: [{address: 192.0.2.1}]
  workloadSelector: {labels: {app: c}}
`)
	e := ix.Target(named(t, ix, object.ServiceEntry, "", "e"))
	if e.Namespace() != "default" || e.Resolution != "NONE" || !e.External || e.HasSelector() || e.IsService() {
		t.Errorf("target %+v", e)
	}
	if diff := cmp.Diff([]Host{"a.example.com", "b.example.com"}, e.Hosts); diff != "" {
		t.Error(diff)
	}
	p, ok := e.Port(443)
	if !ok || !p.IsTLS() || p.Family != L4 || p.TargetPort != 8443 || p.IsHTTP2() {
		t.Errorf("port 443 is %+v", p)
	}
	if p, _ := e.Port(80); p.Family != Sniffed {
		t.Errorf("a port without protocol is %s", p.Family)
	}
	if _, ok := e.Port(81); ok {
		t.Error("there is a port 81")
	}
	inside := entryOf(t, ix, "x", "inside")
	if inside.External || !inside.HasSelector() || inside.Endpoints().Len() != 1 || inside.Resolution != "STATIC" {
		t.Errorf("target %+v", inside)
	}
}

// Creation times decide first, undated objects are the youngest, then a Service comes before ServiceEntries, then namespaces
// and names decide.
func TestTargetOrder(t *testing.T) {
	ix := world(t, Settings{},
		entry("b", "undated", "foo.a.svc.cluster.local", "", "")+
			entry("b", "late", "foo.a.svc.cluster.local", created("2026-03-01T00:00:00Z"), "")+
			entry("c", "early", "foo.a.svc.cluster.local", created(`"2026-01-01T00:00:00Z"`), "")+
			entry("a", "undated", "foo.a.svc.cluster.local", "", "")+
			entry("a", "another", "foo.a.svc.cluster.local", created("null"), "")+`
apiVersion: v1
kind: Service
metadata: {name: foo, namespace: a}
spec: {ports: [{port: 443}]}
`)
	want := []string{"c/early", "b/late", "a/foo", "a/another", "a/undated", "b/undated"}
	if diff := cmp.Diff(want, names(ix.Targets("foo.a.svc.cluster.local"))); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// What sidecars compile from a VirtualService with a route of each kind, port by port.
func TestRouteKinds(t *testing.T) {
	for protocol, want := range map[string][]string{
		"HTTP": {"http"}, "http2": {"http"}, "GRPC": {"http"}, "": {"http", "tcp"}, "TLS": {"tls"}, "HTTPS": {"tls"},
		"TCP": {"tcp"}, "MONGO": {"tcp"}, "UDP": nil,
	} {
		ix := world(t, Settings{}, "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: e, namespace: a}\nspec: {hosts: [e.example.com], ports: [{number: 1, name: p, protocol: '"+protocol+"'}]}\n")
		if got := entryOf(t, ix, "a", "e").Ports[0].RouteKinds(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", protocol, got, want)
		}
	}
}
