package effective_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/mesh"
)

const backendService = `apiVersion: v1
kind: Service
metadata: {name: backend, namespace: shop}
spec:
  selector: {app: backend}
  ports: [{name: http, port: 80, targetPort: 8080}]`

// TestMeasuredClusters: what a cluster of Istio 1.30.0 was seen to hold for a Service with an http port and these settings. Istio's
// compiler gives the same for these manifests.
func TestMeasuredClusters(t *testing.T) {
	const breakers = "circuit_breakers.thresholds[0]."
	const options = "typed_extension_protocol_options.HttpProtocolOptions."
	for _, c := range []struct {
		name, pool string
		want       map[string]string // by path
		lacks      []string
	}{
		{
			name: "keepalive, retries and streams",
			pool: "tcp: {tcpKeepalive: {time: 300s, interval: 30s, probes: 3}}\nhttp: {maxRetries: 2, h2UpgradePolicy: UPGRADE, maxConcurrentStreams: 64}",
			want: map[string]string{
				"upstream_connection_options.tcp_keepalive.keepalive_probes":                   "3",
				"upstream_connection_options.tcp_keepalive.keepalive_time":                     "300",
				"upstream_connection_options.tcp_keepalive.keepalive_interval":                 "30",
				breakers + "max_connections":                                                   effective.Unlimited,
				breakers + "max_pending_requests":                                              effective.Unlimited,
				breakers + "max_requests":                                                      effective.Unlimited,
				breakers + "max_retries":                                                       "2",
				options + "explicit_http_config.http2_protocol_options.max_concurrent_streams": "64",
			},
			lacks: []string{options + "use_downstream_protocol_config"},
		},
		{
			name: "an upgrade to HTTP/2 alone",
			pool: "http: {h2UpgradePolicy: UPGRADE}",
			want: map[string]string{
				breakers + "max_connections":                            effective.Unlimited,
				breakers + "max_pending_requests":                       effective.Unlimited,
				breakers + "max_requests":                               effective.Unlimited,
				breakers + "max_retries":                                effective.Unlimited,
				options + "explicit_http_config.http2_protocol_options": envoy.Empty,
			},
			lacks: []string{"upstream_connection_options"},
		},
		{
			name:  "the client's protocol against an upgrade",
			pool:  "http: {useClientProtocol: true, h2UpgradePolicy: UPGRADE}",
			want:  map[string]string{options + "use_downstream_protocol_config.http2_protocol_options": envoy.Empty},
			lacks: []string{options + "explicit_http_config"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := "trafficPolicy:\n  connectionPool:\n    " + strings.ReplaceAll(c.pool, "\n", "\n    ")
			ix, _ := world(t, "", backendService, rule("backend", "backend", pool))
			cluster := effective.ClusterFor(ix, sidecarIn("shop"), "backend.shop.svc.cluster.local", 80, "")
			if cluster == nil {
				t.Fatal("no cluster")
			}
			got := effective.Leaves(cluster.Settings)
			for path, want := range c.want {
				if got[path] != want {
					t.Errorf("%s is %q, want %q", path, got[path], want)
				}
			}
			for path := range got {
				for _, never := range c.lacks {
					if envoy.Under(path, never) {
						t.Errorf("%s is there: %s", path, got[path])
					}
				}
			}
		})
	}
}

const (
	egressService = `apiVersion: v1
kind: Service
metadata: {name: istio-egressgateway, namespace: istio-system}
spec:
  selector: {istio: egressgateway}
  ports: [{name: http2, port: 80, targetPort: 8080}, {name: tls, port: 443, targetPort: 8443}]`
	egressHost = "istio-egressgateway.istio-system.svc.cluster.local"
)

// gateway is the Gateway out for the egress gateway's pods; server is its only one.
func gateway(server string) string {
	return "apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {name: out, namespace: shop}\nspec:\n  selector: {istio: egressgateway}\n  servers: [" + server + "]"
}

// virtualService is for api.example.com, at sidecars and at the Gateway out; routes is the rest of the spec.
func virtualService(routes string) string {
	return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: api, namespace: shop}\nspec:\n  hosts: [api.example.com]\n  gateways: [mesh, out]\n  " +
		strings.ReplaceAll(routes, "\n", "\n  ")
}

// toldHop is a hop as the tests compare it: where it leads, and the values that tell the two hops apart.
type toldHop struct {
	Proxy    effective.ProxyType
	Where    string
	Cluster  string
	Connect  string
	Most     string
	TLS      effective.Security
	TCPIdle  string
	Felt     string
	Assumed  bool
	Absent   string
	Branches int
}

func tellHop(h *effective.Hop) toldHop {
	leaves := effective.Leaves(h.Cluster.Settings)
	out := toldHop{
		Proxy: h.Proxy.Type, Where: h.Proxy.Namespace, Cluster: h.Cluster.Name(), TLS: h.Cluster.TLS().State,
		Connect: leaves["connect_timeout"], Most: leaves["circuit_breakers.thresholds[0].max_connections"],
		Assumed: h.Assumed != "", Absent: h.Cluster.Absent, Branches: len(h.Next),
	}
	if h.Path == nil || h.Path[1] != "http" {
		out.TCPIdle = effective.Leaves(h.Cluster.TCP)["idle_timeout"]
	}
	if felt, ok := h.Cluster.FeltConnectTime(); ok {
		out.Felt = felt.Time.String()
	}
	return out
}

// TestTwoHops: what is set for the first hop is in the cluster of the caller's sidecar, and what is set for the second one in the
// gateway's. Istio's compiler gives these clusters, routes and filters for these manifests.
func TestTwoHops(t *testing.T) {
	ports := []string{"80 HTTP", "443 TLS"}
	httpRoutes := virtualService(`http:
- match: [{gateways: [mesh], port: 80}]
  route: [{destination: {host: ` + egressHost + `, subset: api, port: {number: 80}}}]
- match: [{gateways: [out], port: 80}]
  route: [{destination: {host: api.example.com, port: {number: 443}}}]
  retries: {attempts: 4}`)
	httpGateway := gateway("{port: {number: 80, name: http, protocol: HTTP}, hosts: [api.example.com]}")
	tlsRoutes := virtualService(`tls:
- match: [{gateways: [mesh], port: 443, sniHosts: [api.example.com]}]
  route: [{destination: {host: ` + egressHost + `, subset: api, port: {number: 443}}}]
- match: [{gateways: [out], port: 443, sniHosts: [api.example.com]}]
  route: [{destination: {host: api.example.com, port: {number: 443}}}]`)
	tlsGateway := gateway("{port: {number: 443, name: tls, protocol: TLS}, hosts: [api.example.com], tls: {mode: PASSTHROUGH}}")
	first := rule("egress", egressHost, `trafficPolicy: {connectionPool: {tcp: {idleTimeout: 70s}}}
subsets:
- name: api
  trafficPolicy: {connectionPool: {tcp: {connectTimeout: 1s, maxConnections: 11, idleTimeout: 71s}}}`)
	originate := rule("api", "api.example.com", `trafficPolicy:
  portLevelSettings:
  - port: {number: 443}
    tls: {mode: SIMPLE, sni: api.example.com}
    connectionPool: {tcp: {connectTimeout: 3s, maxConnections: 22}}`)
	forward := rule("api", "api.example.com", "trafficPolicy: {connectionPool: {tcp: {connectTimeout: 3s, maxConnections: 22, idleTimeout: 80s}}}")
	api := entry("api", "api.example.com", "DNS", "location: MESH_EXTERNAL", ports...)

	httpWay := []toldHop{
		{Proxy: effective.Sidecar, Where: "shop", Cluster: "outbound|80|api|" + egressHost, Connect: "1s", Most: "11", TLS: effective.AutoMeshMTLS, Felt: "3s", Branches: 1},
		{Proxy: effective.Gateway, Where: "istio-system", Cluster: "outbound|443||api.example.com", Connect: "3s", Most: "22", TLS: effective.Origination, Felt: "15s"},
	}
	tlsWay := []toldHop{
		{Proxy: effective.Sidecar, Where: "shop", Cluster: "outbound|443|api|" + egressHost, Connect: "1s", Most: "11", TLS: effective.AutoMeshMTLS, TCPIdle: "70s", Felt: "1s", Branches: 1},
		{Proxy: effective.Gateway, Where: "istio-system", Cluster: "outbound|443||api.example.com", Connect: "3s", Most: "22", TLS: effective.ClientTLS, TCPIdle: "80s", Felt: "3s"},
	}
	assumed := func(way []toldHop) []toldHop {
		out := append([]toldHop{}, way...)
		out[0].Assumed = true
		return out
	}
	const gone = "; requests that the route sends there fail"
	for _, c := range []struct {
		name      string
		manifests []string
		from      string
		port      uint32
		want      []toldHop
	}{
		{"requests", []string{egressService, api, httpGateway, httpRoutes, first, originate}, "shop", 80, httpWay},
		{"TLS passed through", []string{egressService, api, tlsGateway, tlsRoutes, first, forward}, "shop", 443, tlsWay},
		{"requests, without the gateway's Service", []string{api, httpGateway, httpRoutes, first, originate}, "shop", 80, assumed(httpWay)},
		{"TLS passed through, without the gateway's Service", []string{api, tlsGateway, tlsRoutes, first, forward}, "shop", 443, assumed(tlsWay)},
		{"without the Gateway's own manifest", []string{egressService, api, httpRoutes, first, originate}, "shop", 80, httpWay},
		{
			// The route holds at the gateway only, so the sidecar wraps the client's own TLS.
			"past the gateway", []string{egressService, api, httpGateway, httpRoutes, first, originate}, "shop", 443,
			[]toldHop{{Proxy: effective.Sidecar, Where: "shop", Cluster: "outbound|443||api.example.com", Connect: "3s", Most: "22", TLS: effective.DoubleTLS, Felt: "3s"}},
		},
		{
			// On a port of protocol TLS sidecars follow tls routes only.
			"past tcp routes", []string{egressService, api, virtualService("tcp:\n- route: [{destination: {host: gone.example.com, port: {number: 443}}}]"), forward}, "shop", 443,
			[]toldHop{{Proxy: effective.Sidecar, Where: "shop", Cluster: "outbound|443||api.example.com", Connect: "3s", Most: "22", TLS: effective.ClientTLS, TCPIdle: "80s", Felt: "3s"}},
		},
		{
			// The only port of the destination does not stand in for the one that the route leaves out.
			"requests to a host with another port only", []string{
				entry("other", "other.example.com", "DNS", "location: MESH_EXTERNAL", "8080 HTTP"), api,
				virtualService("http:\n- route: [{destination: {host: other.example.com}}]"),
			}, "shop", 80,
			[]toldHop{{
				Proxy: effective.Sidecar, Where: "shop", Cluster: "outbound|80||other.example.com", TLS: effective.InPlaintext,
				Absent: "the host has no port 80" + gone,
			}},
		},
		{
			// For TLS it does.
			"TLS to a host with another port only", []string{
				entry("other", "other.example.com", "DNS", "location: MESH_EXTERNAL", "8443 TLS"), api,
				virtualService("tls:\n- match: [{gateways: [mesh], sniHosts: [api.example.com]}]\n  route: [{destination: {host: other.example.com}}]"),
			}, "shop", 443,
			[]toldHop{{Proxy: effective.Sidecar, Where: "shop", Cluster: "outbound|8443||other.example.com", Connect: "10s", Most: "4294967295", TLS: effective.ClientTLS, Felt: "10s"}},
		},
		{
			// The subset is in a rule of shop, which clients elsewhere do not get for the gateway's host.
			"a subset that other namespaces lack", []string{egressService, api, httpGateway, httpRoutes, first, originate}, "web", 80,
			[]toldHop{{
				Proxy: effective.Sidecar, Where: "web", Cluster: "outbound|80|api|" + egressHost, TLS: effective.InPlaintext,
				Absent: "no DestinationRule in force for this proxy has a subset api" + gone,
			}},
		},
		{
			"a port that the gateway lacks", []string{strings.Replace(egressService, "port: 80", "port: 81", 1), api, httpGateway, httpRoutes, first, originate}, "shop", 80,
			[]toldHop{{
				Proxy: effective.Sidecar, Where: "shop", Cluster: "outbound|80|api|" + egressHost, TLS: effective.InPlaintext,
				Absent: "the host has no port 80" + gone,
			}},
		},
		{
			"a host that nothing defines", []string{api, virtualService("http:\n- route: [{destination: {host: gone.example.com, port: {number: 80}}}]")}, "shop", 80,
			[]toldHop{{
				Proxy: effective.Sidecar, Where: "shop", Cluster: "outbound|80||gone.example.com", TLS: effective.InPlaintext,
				Absent: "no ServiceEntry or Service in view has the host" + gone,
			}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix, _ := world(t, "", c.manifests...)
			var got []toldHop
			for hops := effective.WayTo(ix, sidecarIn(c.from), "api.example.com", c.port); len(hops) > 0; hops = hops[0].Next {
				if len(hops) > 1 {
					t.Errorf("%d ways, want 1", len(hops))
				}
				got = append(got, tellHop(hops[0]))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRoundInCircles: gateways that send to each other, or a route that leads to its own host, end; so do more ways than anybody can read.
func TestRoundInCircles(t *testing.T) {
	service := func(name string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + ", namespace: shop}\nspec:\n  selector: {app: " + name + "}\n  ports: [{name: http, port: 80}]"
	}
	gw := func(name string) string {
		return "apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {name: " + name + ", namespace: shop}\nspec:\n  selector: {app: " + name +
			"}\n  servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: ['*']}]"
	}
	route := func(gateway string, to ...string) string {
		var b strings.Builder
		b.WriteString("- match: [{gateways: [" + gateway + "]}]\n  route:\n")
		for _, host := range to {
			b.WriteString("  - destination: {host: " + host + ", port: {number: 80}}\n    weight: 1\n")
		}
		return b.String()
	}
	vs := func(routes ...string) string {
		return strings.Replace(virtualService("http:\n"+strings.Join(routes, "")), "gateways: [mesh, out]", "gateways: [mesh, a, b]", 1)
	}
	api := entry("api", "api.example.com", "DNS", "location: MESH_EXTERNAL", "80 HTTP")
	var many []string
	var all []string
	for i := range 40 {
		name := "g" + strings.Repeat("x", i)
		many = append(many, service(name), strings.Replace(gw(name), "selector: {app: "+name+"}", "selector: {}", 1))
		all = append(all, name)
	}
	everywhere := strings.Replace(vs(route("mesh, "+strings.Join(all, ", "), all...)), "gateways: [mesh, a, b]", "gateways: [mesh, "+strings.Join(all, ", ")+"]", 1)
	for _, c := range []struct {
		name      string
		manifests []string
		most      int // hops in all
		deepest   int
	}{
		{"two gateways", []string{api, service("a"), service("b"), gw("a"), gw("b"), vs(route("mesh", "a"), route("a", "b"), route("b", "a"))}, 4, 4},
		{"a host that leads to itself", []string{api, vs(route("mesh", "api.example.com"))}, 1, 1},
		{"every gateway to every gateway", append(many, api, everywhere), 1000, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix, _ := world(t, "", c.manifests...)
			total, deepest := 0, 0
			var walk func(hops []*effective.Hop, depth int)
			walk = func(hops []*effective.Hop, depth int) {
				for _, h := range hops {
					total++
					deepest = max(deepest, depth)
					walk(h.Next, depth+1)
				}
			}
			walk(effective.WayTo(ix, sidecarIn("shop"), "api.example.com", 80), 1)
			if total == 0 || total > c.most || deepest != c.deepest {
				t.Errorf("%d hops, %d deep; want at most %d and %d deep", total, deepest, c.most, c.deepest)
			}
		})
	}
}

// TestEjectionArithmetic: Envoy ejects one more only while the share of ejected addresses stays within the percentage.
func TestEjectionArithmetic(t *testing.T) {
	endpoints := func(n int) string {
		var b strings.Builder
		b.WriteString("location: MESH_EXTERNAL\nendpoints:")
		for i := range n {
			b.WriteString("\n- address: 192.0.2." + strconv.Itoa(i+1))
		}
		return b.String()
	}
	for _, c := range []struct {
		detection, resolution, rest string
		want                        effective.Ejection
		atOnce                      int
		fewest                      int64
	}{
		{"interval: 5s", "STATIC", endpoints(9), effective.Ejection{Percent: 10, Endpoints: 9, Known: true, List: true}, 0, 10},
		{"interval: 5s", "STATIC", endpoints(19), effective.Ejection{Percent: 10, Endpoints: 19, Known: true, List: true}, 1, 10},
		{"maxEjectionPercent: 50", "STATIC", endpoints(3), effective.Ejection{Percent: 50, Endpoints: 3, Known: true, List: true}, 1, 2},
		{"maxEjectionPercent: 34", "STATIC", endpoints(3), effective.Ejection{Percent: 34, Endpoints: 3, Known: true, List: true}, 1, 3},
		{"maxEjectionPercent: 33", "STATIC", endpoints(3), effective.Ejection{Percent: 33, Endpoints: 3, Known: true, List: true}, 0, 4},
		{"maxEjectionPercent: 100", "STATIC", endpoints(1), effective.Ejection{Percent: 100, Endpoints: 1, Known: true, List: true}, 1, 1},
		{"maxEjectionPercent: 0", "DNS", "", effective.Ejection{Percent: 10, List: true}, 0, 10},
		{"maxEjectionPercent: 50", "NONE", "", effective.Ejection{Percent: 50}, 0, 2},
	} {
		ix, _ := world(t, "", entry("api", "api.example.com", c.resolution, c.rest, "443 TLS"), rule("api", "api.example.com", "trafficPolicy: {outlierDetection: {"+c.detection+"}}"))
		got, ok := effective.ClusterFor(ix, sidecarIn("shop"), mesh.Host("api.example.com"), 443, "").Ejection(ix)
		got.Origin = effective.Origin{}
		if diff := cmp.Diff(c.want, got); !ok || diff != "" {
			t.Errorf("%s, %s: %v (-want +got):\n%s", c.detection, c.resolution, ok, diff)
		}
		if got.AtOnce() != c.atOnce || got.Fewest() != c.fewest {
			t.Errorf("%s, %s: %d at once, from %d on; want %d and %d", c.detection, c.resolution, got.AtOnce(), got.Fewest(), c.atOnce, c.fewest)
		}
	}
}

// TestDestinations: which of the routes of a VirtualService count for a sidecar. Istio's compiler has the same clusters in its routes.
func TestDestinations(t *testing.T) {
	const to = "destination: {host: api.example.com, subset: "
	api := entry("api", "api.example.com", "DNS", "location: MESH_EXTERNAL", "80 HTTP")
	subsets := rule("api", "api.example.com", "subsets: [{name: a}, {name: b}, {name: c}]")
	for _, c := range []struct {
		name, routes string
		want         []string // subsets
	}{
		{"weights", "- route: [{" + to + "a}, weight: 90}, {" + to + "b}, weight: 10}]", []string{"a", "b"}},
		{"a weight of 0", "- route: [{" + to + "a}, weight: 100}, {" + to + "b}, weight: 0}]", []string{"a"}},
		{"a single weight of 0", "- route: [{" + to + "a}, weight: 0}]", []string{"a"}},
		{"the first takes all", "- route: [{" + to + "a}}]\n- route: [{" + to + "b}}]", []string{"a"}},
		{"the first takes all of the port", "- match: [{port: 80, gateways: [mesh]}]\n  route: [{" + to + "a}}]\n- route: [{" + to + "b}}]", []string{"a"}},
		{"the first takes some", "- match: [{uri: {prefix: /a}}]\n  route: [{" + to + "a}}]\n- route: [{" + to + "b}}]", []string{"a", "b"}},
		{"another port", "- match: [{port: 81}]\n  route: [{" + to + "a}}]\n- route: [{" + to + "b}}]", []string{"b"}},
		{"another gateway", "- match: [{gateways: [out]}]\n  route: [{" + to + "a}}]\n- route: [{" + to + "b}}]", []string{"b"}},
		{"a workload that is another", "- match: [{sourceLabels: {app: web}}]\n  route: [{" + to + "a}}]\n- route: [{" + to + "b}}]", []string{"b"}},
		{"a namespace", "- match: [{sourceNamespace: shop}]\n  route: [{" + to + "a}}]\n- route: [{" + to + "b}}]", []string{"a"}},
		{"another namespace", "- match: [{sourceNamespace: web}]\n  route: [{" + to + "a}}]\n- route: [{" + to + "b}}]", []string{"b"}},
		{"a redirect", "- redirect: {uri: /}\n- route: [{" + to + "b}}]", nil},
		{"twice the same", "- match: [{uri: {prefix: /a}}]\n  route: [{" + to + "a}}]\n- route: [{" + to + "a}}]", []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix, _ := world(t, "", api, subsets, virtualService("http:\n"+c.routes))
			var got []string
			for _, h := range effective.WayTo(ix, sidecarIn("shop"), "api.example.com", 80) {
				got = append(got, h.Cluster.Subset)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			answered := effective.AnsweredBy(ix, sidecarIn("shop"), "api.example.com", 80)
			if (answered != nil) != (c.want == nil) {
				t.Errorf("answered by %v", answered)
			}
		})
	}
}

// TestWayFromGateway: a gateway is no sidecar, so the routes for those are not its.
func TestWayFromGateway(t *testing.T) {
	ix, _ := world(t, "", egressService, entry("api", "api.example.com", "DNS", "location: MESH_EXTERNAL", "80 HTTP"),
		virtualService("http:\n- route: [{destination: {host: "+egressHost+", port: {number: 80}}}]"))
	hops := effective.WayTo(ix, effective.Proxy{Type: effective.Gateway, Namespace: "istio-system"}, "api.example.com", 80)
	if len(hops) != 1 || hops[0].Cluster.Name() != "outbound|80||api.example.com" || hops[0].Next != nil {
		t.Errorf("%+v", hops)
	}
}
