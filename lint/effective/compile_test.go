package effective_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// compiled is a small mesh and what Istio compiles for one port of it. Istio's own compiler gives all that the rows expect, except
// those with an older version.
type compiled struct {
	why     string
	version string // of Istio, "" = the one that was compiled
	mesh    string // meshConfig
	in      []string
	proxy   effective.Proxy // the zero Proxy is a sidecar in shop
	host    mesh.Host       // "" = api.example.com
	at      string          // the port and, after a slash, the subset

	want    []string // of the cluster: "path value", or "no path" for what must not be there; see shorthand
	tcp     []string // the same of the tcp_proxy that leads to it
	retries []string // of the routes that lead to it: "2 timeout 0s"
	absent  string   // part of why there is no cluster
	panics  string   // part of why Istio's compiler panics
}

const api = "api.example.com"

// shorthand is how the rows write the paths that come often.
var shorthand = [...][2]string{
	{"CB.", "circuit_breakers.thresholds[0]."},
	{"COMMON", "typed_extension_protocol_options.HttpProtocolOptions.common_http_protocol_options"},
	{"H1", "typed_extension_protocol_options.HttpProtocolOptions.explicit_http_config.http_protocol_options"},
	{"H2", "typed_extension_protocol_options.HttpProtocolOptions.explicit_http_config.http2_protocol_options"},
	{"DOWNSTREAM", "typed_extension_protocol_options.HttpProtocolOptions.use_downstream_protocol_config"},
	{"AUTO.", "typed_extension_protocol_options.HttpProtocolOptions.upstream_http_protocol_options."},
	{"HPO", "typed_extension_protocol_options"},
	{"OD", "outlier_detection"},
	{"PANIC", "common_lb_config.healthy_panic_threshold"},
	{"TS", "transport_socket"},
	{"TLS.", "transport_socket.typed_config."},
	{"CTX.", "transport_socket.typed_config.common_tls_context."},
	{"CA", "transport_socket.typed_config.common_tls_context.combined_validation_context.validation_context_sds_secret_config.name"},
	{"NAMES", "transport_socket.typed_config.common_tls_context.combined_validation_context.default_validation_context.match_subject_alt_names"},
	{"CERT", "transport_socket.typed_config.common_tls_context.tls_certificate_sds_secret_configs[0].name"},
	{"MATCH[", "transport_socket_matches["},
}

func longhand(path string) string {
	for _, s := range shorthand {
		if rest, ok := strings.CutPrefix(path, s[0]); ok {
			return s[1] + rest
		}
	}
	return path
}

func (r *compiled) hostName() mesh.Host {
	if r.host == "" {
		return api
	}
	return r.host
}

func (r *compiled) client() effective.Proxy {
	if r.proxy.Type == "" {
		return sidecarIn("shop")
	}
	return r.proxy
}

// index loads the row's manifests.
func (r *compiled) index(t *testing.T) *mesh.Index {
	t.Helper()
	f, err := object.Load(context.Background(), "in.yaml", strings.NewReader(strings.Join(r.in, "\n---\n")), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) > 0 {
		t.Fatalf("%s: %s", f.Problems[0].Location, f.Problems[0].Message)
	}
	settings := mesh.Settings{IstioVersion: r.version}
	if r.mesh != "" {
		doc, problem := object.ParseDocument("mesh.yaml", []byte(r.mesh), object.Limits{})
		if problem != nil {
			t.Fatal(problem.Message)
		}
		settings.MeshConfig = doc.Root()
	}
	return mesh.New(settings).With(f.Objects...)
}

func (r *compiled) compile(t *testing.T, ix *mesh.Index) *effective.Cluster {
	t.Helper()
	number, subset, _ := strings.Cut(r.at, "/")
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return effective.ClusterFor(ix, r.client(), r.hostName(), uint32(n), subset)
}

// checkLeaves says where leaves are not as the rows have them.
func checkLeaves(got envoy.Leaves, want []string) (wrong []string) {
	for _, line := range want {
		path, value, _ := strings.Cut(line, " ")
		if path != "no" {
			if at := longhand(path); got[at] != value {
				wrong = append(wrong, fmt.Sprintf("%s is %q, want %q", path, got[at], value))
			}
			continue
		}
		for at, v := range got {
			if envoy.Under(at, longhand(value)) {
				wrong = append(wrong, fmt.Sprintf("%s is there: %s", at, v))
			}
		}
	}
	return wrong
}

// retriesText writes retries as the rows have them, each once.
func retriesText(list []effective.Retry) []string {
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprintf("%d timeout %s", r.Attempts, r.Timeout))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestCompile(t *testing.T) {
	for _, r := range compiledRows() {
		t.Run(r.why, func(t *testing.T) {
			ix := r.index(t)
			c := r.compile(t, ix)
			if c == nil {
				if r.absent != "unknown" {
					t.Fatal("no such port or subset")
				}
				return
			}
			if !strings.Contains(c.Absent, r.absent) || (c.Absent == "") != (r.absent == "") {
				t.Errorf("absent: %q, want %q", c.Absent, r.absent)
			}
			if !strings.Contains(c.Panics, r.panics) || (c.Panics == "") != (r.panics == "") {
				t.Errorf("panics: %q, want %q", c.Panics, r.panics)
			}
			wrong := checkLeaves(effective.Leaves(c.Settings), r.want)
			wrong = append(wrong, checkLeaves(effective.Leaves(c.TCP), r.tcp)...)
			for _, w := range wrong {
				t.Error(w)
			}
			if got := retriesText(c.Retries); r.retries != nil && !slices.Equal(got, r.retries) {
				t.Errorf("retries %q, want %q", got, r.retries)
			}
		})
	}
}

func compiledRows() []compiled {
	return slices.Concat(typeRows(), breakerRows(), protocolRows(), ejectionRows(), balancerRows(), tlsRows(), levelRows(), selectionRows(), severalRows(), listenerRows(), olderRows())
}

// dns is a ServiceEntry for api.example.com, which Envoy resolves.
func dns(ports ...string) string { return entry("api", api, "DNS", "", ports...) }

// policy is a DestinationRule for api.example.com with a destination level, in flow style.
func policy(flow string) string { return rule("api", api, "trafficPolicy: {"+flow+"}") }

// within moves a manifest to another namespace.
func within(namespace, manifest string) string {
	return strings.Replace(manifest, "namespace: shop", "namespace: "+namespace, 1)
}

// born gives a manifest a day of creation.
func born(day, manifest string) string {
	return meta("creationTimestamp: '2024-01-"+day+"T00:00:00Z'", manifest)
}

// meta adds a field to a manifest's metadata.
func meta(field, manifest string) string {
	return strings.Replace(manifest, "metadata: {", "metadata: {"+field+", ", 1)
}

func router() effective.Proxy {
	return effective.Proxy{Type: effective.Gateway, Namespace: "istio-system", Labels: map[string]string{"istio": "egressgateway"}}
}

// chosen is a sidecar that workloadSelectors choose by app.
func chosen() effective.Proxy {
	return effective.Proxy{Type: effective.Sidecar, Namespace: "shop", Labels: map[string]string{"app": "app"}}
}

// typeRows: what the resolution of the entry, the protocol of the port and a loadBalancer PASSTHROUGH make of the cluster.
func typeRows() []compiled {
	resolutions := []struct {
		name, rest string
		sidecar    []string
		gateway    []string
	}{
		{"NONE", "", []string{"type ORIGINAL_DST", "lb_policy CLUSTER_PROVIDED", "no respect_dns_ttl"}, []string{"type EDS", "lb_policy LEAST_REQUEST"}},
		{"null", "", []string{"type ORIGINAL_DST", "lb_policy CLUSTER_PROVIDED"}, []string{"type EDS"}},
		{"STATIC", "endpoints: [{address: 10.0.0.1}]", []string{"type EDS", "lb_policy LEAST_REQUEST", "no respect_dns_ttl", "no dns_refresh_rate"}, nil},
		{"DNS", "", []string{"type STRICT_DNS", "lb_policy LEAST_REQUEST", "respect_dns_ttl true", "dns_refresh_rate 60s"}, nil},
		{"DNS_ROUND_ROBIN", "", []string{"type LOGICAL_DNS", "lb_policy LEAST_REQUEST", "respect_dns_ttl true", "dns_refresh_rate 60s"}, nil},
		{"DYNAMIC_DNS", "", []string{"cluster_type.name envoy.clusters.dynamic_forward_proxy", "lb_policy CLUSTER_PROVIDED", "no type", "no common_lb_config"}, nil},
	}
	protocols := []struct {
		name             string
		sidecar, gateway []string
	}{
		{"HTTP", []string{"no HPO"}, nil},
		{"HTTP2", []string{"H2 {}"}, nil},
		{"GRPC", []string{"H2 {}", "no DOWNSTREAM"}, nil},
		{"GRPC-WEB", []string{"H2 {}"}, nil},
		{"TLS", []string{"no HPO"}, nil},
		{"HTTPS", []string{"no HPO"}, nil},
		{"TCP", []string{"no HPO"}, nil},
		{"MONGO", []string{"no HPO"}, nil},
		{"tls", []string{"no HPO"}, nil}, // case does not matter
		{"", []string{"DOWNSTREAM.http2_protocol_options {}", "DOWNSTREAM.http_protocol_options {}"}, []string{"no HPO"}},
		{"UDP", nil, nil},
	}
	var out []compiled
	for _, res := range resolutions {
		for _, proto := range protocols {
			for _, p := range []effective.Proxy{sidecarIn("shop"), router()} {
				host := mesh.Host(api)
				if res.name == "DYNAMIC_DNS" {
					host = "*.example.com"
				}
				r := compiled{
					why: fmt.Sprintf("%s %s for a %s", res.name, proto.name, p.Type), proxy: p, host: host, at: "443",
					in:   []string{entry("api", string(host), res.name, res.rest, "443 "+proto.name)},
					want: slices.Concat(res.sidecar, proto.sidecar),
				}
				if p.Type == effective.Gateway {
					typ, options := res.sidecar, proto.sidecar
					if res.gateway != nil {
						typ = res.gateway
					}
					if proto.gateway != nil {
						options = proto.gateway
					}
					r.want = slices.Concat(typ, options)
				}
				switch {
				case proto.name == "UDP":
					r.want, r.absent = nil, "UDP"
				case res.name == "DYNAMIC_DNS" && !slices.Contains([]string{"HTTP", "HTTP2", "GRPC", "TLS", "tls"}, proto.name):
					r.want, r.absent = nil, "no dynamic_forward_proxy"
				}
				out = append(out, r)
			}
		}
	}
	const passes = "loadBalancer: {simple: PASSTHROUGH}"
	none := func(ports ...string) string { return entry("api", api, "NONE", "", ports...) }
	service := func(spec string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{name: http, port: 80}], " + spec + "}"
	}
	const web = mesh.Host("web.shop.svc.cluster.local")
	return append(out, []compiled{
		{why: "DYNAMIC_DNS without a wildcard is a list that stays empty", in: []string{entry("api", api, "DYNAMIC_DNS", "", "443 TCP")}, at: "443", want: []string{"type EDS", "no cluster_type"}},
		{why: "DYNAMIC_DNS has no subsets", in: []string{entry("api", "*.example.com", "DYNAMIC_DNS", "", "80 HTTP"), rule("api", "*.example.com", "subsets: [{name: v1}]")}, host: "*.example.com", at: "80/v1", absent: "no subsets"},
		{why: "targetPort with NONE", in: []string{none("80 HTTP, targetPort: 8443")}, at: "80", want: []string{"original_dst_lb_config.upstream_port_override 8443"}},
		{why: "targetPort with NONE at a gateway", in: []string{none("80 HTTP, targetPort: 8443")}, proxy: router(), at: "80", want: []string{"type EDS", "no original_dst_lb_config"}},
		{why: "targetPort with DNS is a matter of the endpoints", in: []string{dns("80 HTTP, targetPort: 8443")}, at: "80", want: []string{"no original_dst_lb_config"}},
		{why: "targetPort with PASSTHROUGH is forgotten", in: []string{dns("80 HTTP, targetPort: 8443"), policy(passes)}, at: "80", want: []string{"type ORIGINAL_DST", "no original_dst_lb_config"}},
		{why: "targetPort in a subset of PASSTHROUGH", in: []string{dns("80 HTTP, targetPort: 8443"), rule("api", api, "trafficPolicy: {"+passes+"}\nsubsets: [{name: v1}]")}, at: "80/v1", want: []string{"type ORIGINAL_DST", "no original_dst_lb_config"}},
		{why: "targetPort in a subset of NONE", in: []string{none("80 HTTP, targetPort: 8443"), rule("api", api, "subsets: [{name: v1}]")}, at: "80/v1", want: []string{"original_dst_lb_config.upstream_port_override 8443"}},
		{why: "PASSTHROUGH leaves what was said about DNS", in: []string{dns("443 TLS"), policy(passes)}, at: "443", want: []string{"type ORIGINAL_DST", "lb_policy CLUSTER_PROVIDED", "respect_dns_ttl true", "dns_refresh_rate 60s"}},
		{why: "PASSTHROUGH of a fixed list", in: []string{entry("api", api, "STATIC", "endpoints: [{address: 10.0.0.1}]", "443 TLS"), policy(passes)}, at: "443", want: []string{"type ORIGINAL_DST", "lb_policy CLUSTER_PROVIDED"}},
		{why: "PASSTHROUGH at a gateway, which NONE does not give", in: []string{none("443 TLS"), policy(passes)}, proxy: router(), at: "443", want: []string{"type ORIGINAL_DST", "lb_policy CLUSTER_PROVIDED"}},
		{why: "PASSTHROUGH in the port's entry", in: []string{dns("443 TLS", "80 HTTP"), policy("portLevelSettings: [{port: {number: 443}, " + passes + "}]")}, at: "443", want: []string{"type ORIGINAL_DST"}},
		{why: "PASSTHROUGH in another port's entry", in: []string{dns("443 TLS", "80 HTTP"), policy("portLevelSettings: [{port: {number: 443}, " + passes + "}]")}, at: "80", want: []string{"type STRICT_DNS"}},
		{why: "PASSTHROUGH in the subset", in: []string{entry("api", api, "DNS", "endpoints: [{address: gw.example.com, labels: {version: v1}}]", "443 TLS"), rule("api", api, "subsets: [{name: v1, labels: {version: v1}, trafficPolicy: {"+passes+"}}]")}, at: "443/v1", want: []string{"type ORIGINAL_DST", "lb_policy CLUSTER_PROVIDED"}},
		{why: "PASSTHROUGH in the subset is not the port's", in: []string{dns("443 TLS"), rule("api", api, "subsets: [{name: v1, trafficPolicy: {"+passes+"}}]")}, at: "443", want: []string{"type STRICT_DNS"}},
		{why: "PASSTHROUGH in the entry of the subset", in: []string{dns("443 TLS"), rule("api", api, "subsets: [{name: v1, trafficPolicy: {portLevelSettings: [{port: {number: 443}, "+passes+"}]}}]")}, at: "443/v1", want: []string{"type ORIGINAL_DST"}},
		{why: "a subset cannot take PASSTHROUGH back", in: []string{dns("443 TLS"), rule("api", api, "trafficPolicy: {"+passes+"}\nsubsets: [{name: v1, trafficPolicy: {loadBalancer: {simple: RANDOM}}}]")}, at: "443/v1", want: []string{"type ORIGINAL_DST", "lb_policy CLUSTER_PROVIDED"}},
		{why: "a Service", in: []string{service("selector: {app: web}")}, host: web, at: "80", want: []string{"type EDS", "lb_policy LEAST_REQUEST"}},
		{why: "a headless Service", in: []string{service("clusterIP: None, selector: {app: web}")}, host: web, at: "80", want: []string{"type ORIGINAL_DST"}},
		{why: "an alias", in: []string{service("type: ExternalName, externalName: x.example.com")}, host: web, at: "80", absent: "alias"},
		{why: "no workload is selected", in: []string{entry("api", api, "DNS", "workloadSelector: {labels: {app: out}}", "443 TLS")}, at: "443", absent: "no endpoint is in view"},
		{why: "a WorkloadEntry is selected", in: []string{entry("api", api, "DNS", "workloadSelector: {labels: {app: out}}", "443 TLS"), "apiVersion: networking.istio.io/v1\nkind: WorkloadEntry\nmetadata: {name: out, namespace: shop}\nspec: {address: gw.example.com, labels: {app: out}}"}, at: "443", want: []string{"type STRICT_DNS"}},
		{why: "a fixed list may be empty", in: []string{entry("api", api, "STATIC", "workloadSelector: {labels: {app: out}}", "443 TLS")}, at: "443", want: []string{"type EDS"}},
		{why: "the mesh's refresh rate", mesh: "dnsRefreshRate: 17s", in: []string{dns("443 TLS")}, at: "443", want: []string{"dns_refresh_rate 17s"}},
		{why: "a port that is not there", in: []string{dns("443 TLS")}, at: "80", absent: "unknown"},
		{why: "a subset that is not there", in: []string{dns("443 TLS"), policy("")}, at: "443/v9", absent: "unknown"},
	}...)
}

// breakerRows: connectionPool, retryBudget, and what the mesh says where no rule does.
func breakerRows() []compiled {
	const meshPool = "defaultTrafficPolicy: {connectionPool: {tcp: {maxConnections: 1000}, http: {maxRetries: 9}}, outlierDetection: {consecutive5xxErrors: 7}}"
	unlimited := []string{"CB.max_connections 4294967295", "CB.max_pending_requests 4294967295", "CB.max_requests 4294967295", "CB.max_retries 4294967295"}
	const keepalive = "upstream_connection_options.tcp_keepalive"
	entryOf := func(flow string) string {
		return policy("connectionPool: {tcp: {maxConnections: 5}}, portLevelSettings: [{port: {number: 443}, " + flow + "}]")
	}
	return []compiled{
		{why: "no rule", in: []string{dns("443 TLS")}, at: "443", want: append(unlimited, "connect_timeout 10s", "no HPO", "no upstream_connection_options", "no OD")},
		{why: "an empty tcp", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {}}")}, at: "443", want: append(unlimited, "connect_timeout 10s")},
		{why: "0 is the same as not set", in: []string{dns("80 HTTP"), policy("connectionPool: {tcp: {maxConnections: 0}, http: {http1MaxPendingRequests: 0, http2MaxRequests: 0, maxRetries: 0, maxRequestsPerConnection: 0}}")}, at: "80", want: append(unlimited, "no HPO")},
		{why: "each breaker", in: []string{dns("80 HTTP"), policy("connectionPool: {tcp: {maxConnections: 1}, http: {http1MaxPendingRequests: 2, http2MaxRequests: 3, maxRetries: 4}}")}, at: "80", want: []string{"CB.max_connections 1", "CB.max_pending_requests 2", "CB.max_requests 3", "CB.max_retries 4", "no circuit_breakers.thresholds[1]"}},
		{why: "one breaker leaves the others open", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {maxConnections: 1}}")}, at: "443", want: append([]string{"CB.max_connections 1"}, unlimited[1:]...)},
		{why: "HTTP breakers on a TLS port are written too", in: []string{dns("443 TLS"), policy("connectionPool: {http: {http1MaxPendingRequests: 2, http2MaxRequests: 3, maxRetries: 4}}")}, at: "443", want: []string{"CB.max_pending_requests 2", "CB.max_requests 3", "CB.max_retries 4", "no HPO"}},

		{why: "numbers as text and with a fraction of 0", in: []string{dns("80 HTTP"), policy("connectionPool: {tcp: {maxConnections: '5'}, http: {maxRetries: 3.0}}")}, at: "80", want: []string{"CB.max_connections 5", "CB.max_retries 3"}},

		{why: "connectTimeout", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {connectTimeout: 1m30s}}")}, at: "443", want: []string{"connect_timeout 90s"}},
		{why: "connectTimeout below a second", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {connectTimeout: 250ms}}")}, at: "443", want: []string{"connect_timeout 0.25s"}},
		{why: "the mesh's connectTimeout", mesh: "connectTimeout: 3s", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {maxConnections: 1}}")}, at: "443", want: []string{"connect_timeout 3s"}},
		{why: "the rule's connectTimeout before the mesh's", mesh: "connectTimeout: 3s", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {connectTimeout: 1s}}")}, at: "443", want: []string{"connect_timeout 1s"}},

		{why: "keepalive", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {tcpKeepalive: {time: 1m, interval: 1.5s, probes: 3}}}")}, at: "443", want: []string{keepalive + ".keepalive_time 60", keepalive + ".keepalive_interval 1", keepalive + ".keepalive_probes 3"}},
		{why: "an empty keepalive", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {tcpKeepalive: {}}}")}, at: "443", want: []string{keepalive + " {}"}},
		{why: "keepalive of the mesh, field by field", mesh: "tcpKeepalive: {probes: 3, time: 7200s, interval: 75s}", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {tcpKeepalive: {time: 60s, probes: 0}}}")}, at: "443", want: []string{keepalive + ".keepalive_time 60", keepalive + ".keepalive_interval 75", keepalive + ".keepalive_probes 3"}},
		{why: "keepalive of the mesh alone", mesh: "tcpKeepalive: {interval: 75s}", in: []string{dns("443 TLS")}, at: "443", want: []string{keepalive + ".keepalive_interval 75", "no " + keepalive + ".keepalive_time"}},
		{why: "no probes", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {tcpKeepalive: {probes: 0}}}")}, at: "443", want: []string{keepalive + " {}"}},

		{why: "the mesh's policy without a rule", mesh: meshPool, in: []string{dns("443 TLS")}, at: "443", want: []string{"CB.max_connections 1000", "CB.max_retries 9", "CB.max_requests 4294967295", "OD.consecutive_5xx 7"}},
		{why: "a rule's block drops the mesh's, and only that block", mesh: meshPool, in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {connectTimeout: 3s}}")}, at: "443", want: append(unlimited, "connect_timeout 3s", "OD.consecutive_5xx 7")},
		{why: "the mesh's policy with a port entry", mesh: meshPool, in: []string{dns("443 TLS"), entryOf("tls: {mode: SIMPLE}")}, at: "443", want: []string{"CB.max_connections 1000", "OD.consecutive_5xx 7"}},
		{why: "the mesh's policy with a port entry's own pool", mesh: meshPool, in: []string{dns("443 TLS"), entryOf("connectionPool: {tcp: {connectTimeout: 1s}}")}, at: "443", want: append(unlimited, "OD.consecutive_5xx 7")},
		{why: "the mesh's policy in a subset", mesh: meshPool, in: []string{dns("443 TLS"), rule("api", api, "subsets: [{name: v1, trafficPolicy: {outlierDetection: {interval: 5s}}}]")}, at: "443/v1", want: []string{"CB.max_connections 1000", "OD.interval 5s", "no OD.consecutive_5xx"}},
		{why: "a port entry in a subset drops the mesh's policy", mesh: meshPool, in: []string{dns("443 TLS"), rule("api", api, "subsets: [{name: v1, trafficPolicy: {portLevelSettings: [{port: {number: 443}, tls: {mode: DISABLE}}]}}]")}, at: "443/v1", want: append(unlimited, "no OD")},

		{why: "retryBudget", in: []string{dns("80 HTTP"), policy("retryBudget: {percent: 12.5, minRetryConcurrency: 5, budgetInterval: 5s}")}, at: "80", want: []string{"CB.retry_budget.budget_percent.value 12.5", "CB.retry_budget.min_retry_concurrency 5", "CB.retry_budget.budget_interval 5s"}},
		{why: "retryBudget by default", in: []string{dns("443 TLS"), policy("retryBudget: {}")}, at: "443", want: []string{"CB.retry_budget.budget_percent.value 20", "CB.retry_budget.min_retry_concurrency 3", "no CB.retry_budget.budget_interval"}},
		{why: "retryBudget of nothing", in: []string{dns("80 HTTP"), policy("retryBudget: {percent: 0, minRetryConcurrency: 0}")}, at: "80", want: []string{"CB.retry_budget.budget_percent {}", "CB.retry_budget.min_retry_concurrency 3"}},
		{why: "retryBudget beside maxRetries", in: []string{dns("80 HTTP"), policy("connectionPool: {http: {maxRetries: 2}}, retryBudget: {percent: 10}")}, at: "80", want: []string{"CB.retry_budget.budget_percent.value 10", "CB.max_retries 2"}},
	}
}

// protocolRows: HttpProtocolOptions, on a port of each kind.
func protocolRows() []compiled {
	pool := func(port, http string, want ...string) compiled {
		number, _, _ := strings.Cut(port, " ")
		return compiled{why: port + " with " + http, in: []string{dns(port), policy("connectionPool: {" + http + "}")}, at: number, want: want}
	}
	meshwide := func(mesh, port, flow string, want ...string) compiled {
		r := pool(port, flow, want...)
		r.why += " under " + mesh
		r.mesh = mesh
		return r
	}
	const (
		upgrade = "http: {h2UpgradePolicy: UPGRADE}"
		never   = "http: {h2UpgradePolicy: DO_NOT_UPGRADE}"
		follow  = "http: {useClientProtocol: true}"
		streams = "http: {maxConcurrentStreams: 64}"
		alive   = "http: {http2KeepAlive: {interval: 30s, timeout: 5s}}"
		idle    = "tcp: {idleTimeout: 33s}, http: {idleTimeout: 11s}"
		keeps   = "defaultConfig: {proxyHeaders: {preserveHttp1HeaderCase: true}}"
		upMesh  = "h2UpgradePolicy: UPGRADE"
		cased   = ".header_key_format.stateful_formatter.name preserve_case"
	)
	var out []compiled
	for _, port := range []string{"443 TLS", "443 HTTPS", "443 TCP", "80 HTTP"} { // without an upgrade they are the same
		out = append(out,
			pool(port, "http: {maxRequestsPerConnection: 7}", "COMMON.max_requests_per_connection 7", "H1 {}"),
			pool(port, "http: {idleTimeout: 11s}", "COMMON.idle_timeout 11s", "H1 {}"),
			pool(port, idle, "COMMON.idle_timeout 11s"),
			pool(port, "tcp: {idleTimeout: 33s}", "COMMON.idle_timeout 33s", "H1 {}"),
			pool(port, "tcp: {idleTimeout: 0s}", "COMMON.idle_timeout 0s"),
			pool(port, "tcp: {maxConnectionDuration: 44s}", "COMMON.max_connection_duration 44s"),
			pool(port, upgrade, "H2 {}", "no H1", "no COMMON"),
			pool(port, never, "no HPO"),
			pool(port, follow, "DOWNSTREAM.http_protocol_options {}", "DOWNSTREAM.http2_protocol_options {}", "no H1"),
			pool(port, streams, "COMMON {}", "H1 {}", "no H2"),
			pool(port, alive, "COMMON {}", "no H2"),
		)
	}
	return append(out,
		pool("80 GRPC", upgrade, "H2 {}"),
		pool("80 GRPC", never, "H2 {}"),
		pool("80 GRPC", follow, "DOWNSTREAM.http2_protocol_options {}", "no H2"),
		pool("80 GRPC", streams, "H2.max_concurrent_streams 64", "COMMON {}"),
		pool("80 GRPC", alive, "H2.connection_keepalive.interval 30s", "H2.connection_keepalive.timeout 5s"),
		pool("80 GRPC", "http: {http2KeepAlive: {}}", "H2.connection_keepalive {}"),
		pool("80 ", upgrade, "DOWNSTREAM.http2_protocol_options {}", "no H2"), // the client's protocol it is anyway
		pool("80 ", follow, "DOWNSTREAM.http2_protocol_options {}"),
		pool("80 ", streams, "DOWNSTREAM.http2_protocol_options {}", "COMMON {}"),
		pool("80 ", "http: {maxRequestsPerConnection: 7}", "COMMON.max_requests_per_connection 7", "DOWNSTREAM.http_protocol_options {}", "no H1"),
		pool("80 HTTP", "http: {h2UpgradePolicy: UPGRADE, useClientProtocol: true}", "DOWNSTREAM.http2_protocol_options {}", "no H2"),
		pool("80 HTTP", "http: {h2UpgradePolicy: UPGRADE, maxConcurrentStreams: 10, http2KeepAlive: {interval: 30s}}", "H2.max_concurrent_streams 10", "H2.connection_keepalive.interval 30s", "no H2.connection_keepalive.timeout"),
		pool("80 HTTP", "http: {useClientProtocol: true, maxConcurrentStreams: 10}", "DOWNSTREAM.http2_protocol_options {}", "COMMON {}"),
		pool("80 GRPC", "http: {useClientProtocol: true, maxConcurrentStreams: 10}", "DOWNSTREAM.http2_protocol_options {}", "no H2"),
		pool("80 HTTP", "http: {maxConcurrentStreams: 0}", "no HPO"),

		meshwide(upMesh, "80 HTTP", "tcp: {}", "H2 {}"),
		meshwide(upMesh, "443 TLS", "tcp: {}", "no HPO"),
		meshwide(upMesh, "80 HTTP", never, "no HPO"),
		meshwide(upMesh, "80 HTTP", "http: {h2UpgradePolicy: DEFAULT}", "H2 {}"),
		meshwide(upMesh, "80 HTTP", "http: {useClientProtocol: true}", "DOWNSTREAM.http2_protocol_options {}", "no H2"),
		meshwide("h2UpgradePolicy: DO_NOT_UPGRADE", "80 HTTP", upgrade, "H2 {}"),
		meshwide(keeps, "80 HTTP", "tcp: {}", "H1"+cased),
		meshwide(keeps, "80 GRPC", "tcp: {}", "H2 {}", "no H1"),
		meshwide(keeps, "443 TLS", "tcp: {}", "no HPO"),
		meshwide(keeps, "80 ", "tcp: {}", "DOWNSTREAM.http_protocol_options"+cased),
		meshwide(keeps, "80 HTTP", follow, "DOWNSTREAM.http_protocol_options"+cased),
		meshwide(keeps, "80 HTTP", upgrade, "H1"+cased, "no H2"), // it counts as a choice of HTTP/1
	)
}

// ejectionRows: outlierDetection.
func ejectionRows() []compiled {
	od := func(why, flow string, want ...string) compiled {
		return compiled{why: why, in: []string{dns("80 HTTP"), policy("outlierDetection: {" + flow + "}")}, at: "80", want: want}
	}
	const prefers = "annotations: {networking.istio.io/traffic-distribution: PreferClose}"
	dynamic := entry("api", "*.example.com", "DYNAMIC_DNS", "", "80 HTTP")
	return []compiled{
		od("an empty block switches Envoy's defaults on", "", "OD.enforcing_success_rate 0", "PANIC {}", "no OD.consecutive_5xx"),
		od("5xx", "consecutive5xxErrors: 3", "OD.consecutive_5xx 3", "OD.enforcing_consecutive_5xx 100", "no OD.consecutive_gateway_failure"),
		od("no 5xx", "consecutive5xxErrors: 0", "OD.consecutive_5xx 0", "OD.enforcing_consecutive_5xx 0"),
		od("gateway errors", "consecutiveGatewayErrors: 4", "OD.consecutive_gateway_failure 4", "OD.enforcing_consecutive_gateway_failure 100", "no OD.consecutive_5xx"),
		od("no gateway errors", "consecutiveGatewayErrors: 0", "OD.consecutive_gateway_failure 0", "OD.enforcing_consecutive_gateway_failure 0"),
		od("times", "interval: 1m, baseEjectionTime: 250ms", "OD.interval 60s", "OD.base_ejection_time 0.25s"),
		od("the share that may be ejected", "maxEjectionPercent: 50", "OD.max_ejection_percent 50"),
		od("a share of 0 is not set", "maxEjectionPercent: 0", "no OD.max_ejection_percent", "OD.enforcing_success_rate 0"),
		od("panic", "minHealthPercent: 50", "PANIC.value 50"),
		od("no panic", "minHealthPercent: 0", "PANIC {}"),
		od("consecutiveErrors is ignored", "consecutiveErrors: 3", "OD.enforcing_success_rate 0", "no OD.consecutive_5xx"),
		od("outlierDetectionHttpErrorCodes is ignored", "outlierDetectionHttpErrorCodes: [500]", "OD.enforcing_success_rate 0", "no OD.consecutive_5xx"),
		od("local failures without the split", "consecutiveLocalOriginFailures: 4", "no OD.consecutive_local_origin_failure", "no OD.split_external_local_origin_errors"),
		od("local failures", "splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 4", "OD.split_external_local_origin_errors true", "OD.consecutive_local_origin_failure 4", "OD.enforcing_consecutive_local_origin_failure 100", "OD.enforcing_local_origin_success_rate 0"),
		od("the split alone", "splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 0", "OD.split_external_local_origin_errors true", "no OD.consecutive_local_origin_failure"),
		{why: "without detection the panic threshold is 0 too", in: []string{dns("80 HTTP")}, at: "80", want: []string{"PANIC {}", "no OD"}},
		{why: "on a TLS port all is written", in: []string{dns("443 TLS"), policy("outlierDetection: {consecutive5xxErrors: 3}")}, at: "443", want: []string{"OD.consecutive_5xx 3"}},
		{why: "without a list of addresses too", in: []string{entry("api", api, "NONE", "", "443 TLS"), policy("outlierDetection: {consecutive5xxErrors: 3}")}, at: "443", want: []string{"OD.consecutive_5xx 3", "type ORIGINAL_DST"}},
		{why: "and of a single logical host", in: []string{entry("api", api, "DNS_ROUND_ROBIN", "", "443 TLS"), policy("outlierDetection: {consecutive5xxErrors: 3}")}, at: "443", want: []string{"OD.consecutive_5xx 3"}},
		{why: "where traffic should stay close there is no panic", in: []string{meta(prefers, dns("80 HTTP")), policy("outlierDetection: {minHealthPercent: 50}")}, at: "80", want: []string{"PANIC {}", "common_lb_config.locality_weighted_lb_config {}"}},
		{why: "detection of a dynamic host", in: []string{dynamic, rule("api", "*.example.com", "trafficPolicy: {outlierDetection: {consecutive5xxErrors: 3}}")}, host: "*.example.com", at: "80", panics: "DYNAMIC_DNS"},
		{why: "the mesh's detection of a dynamic host", mesh: "defaultTrafficPolicy: {outlierDetection: {consecutive5xxErrors: 3}}", in: []string{dynamic}, host: "*.example.com", at: "80", panics: "DYNAMIC_DNS"},
	}
}

// balancerRows: loadBalancer.
func balancerRows() []compiled {
	lb := func(why, flow string, want ...string) compiled {
		return compiled{why: why, in: []string{dns("80 HTTP"), policy("loadBalancer: {" + flow + "}")}, at: "80", want: want}
	}
	none := func(why, flow string, want ...string) compiled {
		return compiled{why: why, in: []string{entry("api", api, "NONE", "", "443 TLS"), policy("loadBalancer: {" + flow + "}")}, at: "443", want: want}
	}
	const (
		weighted = "common_lb_config.locality_weighted_lb_config"
		zone     = "common_lb_config.zone_aware_lb_config"
		shares   = "distribute: [{from: 'r1/z1/*', to: {'r1/z1/*': 80, 'r2/z1/*': 20}}]"
		priority = "failoverPriority: ['topology.kubernetes.io/region']"
		od       = "outlierDetection: {interval: 5s}"
		slow     = "slow_start_config."
	)
	places := func(resolution string, localities ...string) string {
		list := ""
		for i, l := range localities {
			list += fmt.Sprintf("{address: 10.0.0.%d, locality: %s}, ", i+1, l)
		}
		return entry("api", api, resolution, "endpoints: ["+list+"]", "80 HTTP")
	}
	failover := policy("loadBalancer: {localityLbSetting: {" + priority + "}}, " + od)
	return []compiled{
		lb("ROUND_ROBIN", "simple: ROUND_ROBIN", "lb_policy ROUND_ROBIN", "no round_robin_lb_config"),
		lb("RANDOM", "simple: RANDOM", "lb_policy RANDOM"),
		lb("LEAST_REQUEST", "simple: LEAST_REQUEST", "lb_policy LEAST_REQUEST"),
		lb("LEAST_CONN", "simple: LEAST_CONN", "lb_policy LEAST_REQUEST"),
		lb("UNSPECIFIED", "simple: UNSPECIFIED", "lb_policy LEAST_REQUEST"),
		lb("a hash without a size", "consistentHash: {httpHeaderName: x}", "lb_policy RING_HASH", "ring_hash_lb_config.minimum_ring_size 1024"),
		lb("a ring without a size", "consistentHash: {httpHeaderName: x, ringHash: {}}", "lb_policy RING_HASH", "no ring_hash_lb_config.minimum_ring_size"),
		lb("a ring with a size", "consistentHash: {ringHash: {minimumRingSize: 4096}}", "lb_policy RING_HASH", "ring_hash_lb_config.minimum_ring_size 4096"),
		lb("the older name of the size", "consistentHash: {httpHeaderName: x, minimumRingSize: 2048}", "ring_hash_lb_config.minimum_ring_size 2048"),
		lb("maglev", "consistentHash: {httpHeaderName: x, maglev: {tableSize: 65537}}", "lb_policy MAGLEV", "maglev_lb_config.table_size 65537"),
		lb("maglev without a size", "consistentHash: {httpHeaderName: x, maglev: {}}", "lb_policy MAGLEV", "no maglev_lb_config"),
		lb("warmup", "warmup: {duration: 30s}", "least_request_lb_config."+slow+"slow_start_window 30s", "least_request_lb_config."+slow+"aggression.default_value 1", "least_request_lb_config."+slow+"min_weight_percent.value 10"),
		lb("warmup, all of it", "simple: ROUND_ROBIN, warmup: {duration: 30s, aggression: 2.5, minimumPercent: 20}", "round_robin_lb_config."+slow+"slow_start_window 30s", "round_robin_lb_config."+slow+"aggression.default_value 2.5", "round_robin_lb_config."+slow+"min_weight_percent.value 20"),
		lb("warmup from nothing", "warmup: {duration: 30s, minimumPercent: 0}", "least_request_lb_config."+slow+"min_weight_percent {}"),
		lb("the older warmup", "warmupDurationSecs: 30s", "least_request_lb_config."+slow+"slow_start_window 30s", "no least_request_lb_config."+slow+"aggression"),
		lb("warmup before the older one", "warmup: {duration: 30s}, warmupDurationSecs: 5s", "least_request_lb_config."+slow+"slow_start_window 30s"),
		lb("RANDOM knows no warmup", "simple: RANDOM, warmup: {duration: 30s}", "lb_policy RANDOM", "no least_request_lb_config", "no round_robin_lb_config"),
		lb("a hash knows no warmup", "consistentHash: {httpHeaderName: x}, warmup: {duration: 30s}", "lb_policy RING_HASH", "no least_request_lb_config"),
		lb("but without a size it stays", "consistentHash: {httpHeaderName: x, ringHash: {}}, warmup: {duration: 30s}", "lb_policy RING_HASH", "least_request_lb_config."+slow+"slow_start_window 30s"),
		none("RANDOM without a list", "simple: RANDOM", "lb_policy CLUSTER_PROVIDED"),
		none("a hash without a list", "consistentHash: {useSourceIp: true}", "lb_policy CLUSTER_PROVIDED", "no ring_hash_lb_config"),
		none("warmup without a list", "warmup: {duration: 30s}", "lb_policy CLUSTER_PROVIDED", "no least_request_lb_config"),
		{why: "warmup of a single logical host", in: []string{entry("api", api, "DNS_ROUND_ROBIN", "", "80 HTTP"), policy("loadBalancer: {warmup: {duration: 30s}}")}, at: "80", want: []string{"least_request_lb_config." + slow + "slow_start_window 30s"}},
		{why: "PASSTHROUGH beats a hash beside it", in: []string{dns("443 TLS"), policy("loadBalancer: {simple: PASSTHROUGH}")}, at: "443", want: []string{"lb_policy CLUSTER_PROVIDED"}},
		{why: "a dynamic host takes no balancer", in: []string{entry("api", "*.example.com", "DYNAMIC_DNS", "", "80 HTTP"), rule("api", "*.example.com", "trafficPolicy: {loadBalancer: {simple: RANDOM, localityLbSetting: {"+shares+"}}}")}, host: "*.example.com", at: "80", want: []string{"lb_policy CLUSTER_PROVIDED", "no common_lb_config"}},

		lb("shares by locality", "localityLbSetting: {"+shares+"}", weighted+" {}"),
		lb("shares, switched off", "localityLbSetting: {enabled: false, "+shares+"}", "no "+weighted),
		lb("failover without detection", "localityLbSetting: {failover: [{from: r1, to: r2}]}", "no "+weighted),
		{why: "failover with detection", in: []string{dns("80 HTTP"), policy("loadBalancer: {localityLbSetting: {failover: [{from: r1, to: r2}]}}, " + od)}, at: "80", want: []string{weighted + " {}"}},
		{why: "the mesh's shares", mesh: "localityLbSetting: {" + shares + "}", in: []string{dns("80 HTTP")}, at: "80", want: []string{weighted + " {}"}},
		{why: "the rule's setting before the mesh's", mesh: "localityLbSetting: {" + shares + "}", in: []string{dns("80 HTTP"), policy("loadBalancer: {localityLbSetting: {enabled: false}}")}, at: "80", want: []string{"no " + weighted}},
		lb("by zone", "zoneAwareLbSetting: {minClusterSize: 6}", zone+".min_cluster_size 6"),
		lb("by zone, switched off", "zoneAwareLbSetting: {enabled: false}", zone+".routing_enabled {}"),
		lb("by zone before by locality", "zoneAwareLbSetting: {}, localityLbSetting: {"+shares+"}", zone+" {}", "no "+weighted),
		{why: "by zone in the mesh", mesh: "zoneAwareLbSetting: {minClusterSize: 6}\nlocalityLbSetting: {" + shares + "}", in: []string{dns("80 HTTP")}, at: "80", want: []string{zone + ".min_cluster_size 6", "no " + weighted}},

		{why: "failoverPriority for names in two localities", in: []string{places("DNS", "r1/z1", "r2/z1"), failover}, at: "80", panics: "failoverPriority"},
		{why: "failoverPriority in one locality", in: []string{places("DNS", "r1/z1", "r1/z1"), failover}, at: "80", want: []string{weighted + " {}"}},
		{why: "failoverPriority of a fixed list", in: []string{places("STATIC", "r1/z1", "r2/z1"), failover}, at: "80", want: []string{weighted + " {}"}},
		{why: "failoverPriority without detection", in: []string{places("DNS", "r1/z1", "r2/z1"), policy("loadBalancer: {localityLbSetting: {" + priority + "}}")}, at: "80", want: []string{"no " + weighted}},
		{why: "failoverPriority in a subset", in: []string{places("DNS", "r1/z1", "r2/z1"), rule("api", api, "subsets: [{name: v1, trafficPolicy: {loadBalancer: {localityLbSetting: {"+priority+"}}, "+od+"}}]")}, at: "80/v1", want: []string{weighted + " {}"}},
		{why: "shares before failoverPriority", in: []string{places("DNS", "r1/z1", "r2/z1"), policy("loadBalancer: {localityLbSetting: {" + shares + ", " + priority + "}}, " + od)}, at: "80", want: []string{weighted + " {}"}},
		{why: "failoverPriority by zone needs no detection", in: []string{places("DNS", "r1/z1", "r2/z1"), policy("loadBalancer: {zoneAwareLbSetting: {" + priority + "}}")}, at: "80", panics: "failoverPriority"},
	}
}

// tlsRows: tls, proxyProtocol, and Istio's automatic mutual TLS.
func tlsRows() []compiled {
	tls := func(why, port, flow string, want ...string) compiled {
		number, _, _ := strings.Cut(port, " ")
		return compiled{why: why, in: []string{dns(port), policy("tls: {" + flow + "}")}, at: number, want: want}
	}
	gateway := func(r compiled) compiled {
		r.proxy = router()
		return r
	}
	const (
		started   = "TS.name envoy.transport_sockets.tls"
		internal  = "location: MESH_INTERNAL"
		proxied   = "TS.name envoy.transport_sockets.upstream_proxy_protocol"
		insideTLS = "TLS.transport_socket.name envoy.transport_sockets.tls"
	)
	dynamic := func(flow string, want ...string) compiled {
		return compiled{why: "a dynamic host with " + flow, in: []string{entry("api", "*.example.com", "DYNAMIC_DNS", "", "443 HTTP"), rule("api", "*.example.com", "trafficPolicy: {tls: {"+flow+"}}")}, host: "*.example.com", at: "443", want: want}
	}
	inside := func(resolution, rest string) string {
		return entry("api", api, resolution, internal+"\n"+rest, "80 HTTP")
	}
	withNames := entry("api", api, "DNS", "subjectAltNames: [peer.example.com]", "443 HTTP")
	return []compiled{
		tls("SIMPLE verifies the host of the requests", "443 HTTP", "mode: SIMPLE", started, "CA file-root:system", "AUTO.auto_sni true", "AUTO.auto_san_validation true", "H1 {}", "no TLS.sni", "no NAMES", "no CERT", "CTX.tls_params.tls_minimum_protocol_version TLSv1_2", "no CTX.alpn_protocols"),
		tls("sni alone switches the check of names off", "443 HTTP", "mode: SIMPLE, sni: x.example.com", "TLS.sni x.example.com", "no AUTO.auto_sni", "no AUTO.auto_san_validation", "no NAMES", "no HPO"),
		tls("names alone", "443 HTTP", "mode: SIMPLE, subjectAltNames: [x.example.com, y.example.com]", "NAMES[0].exact x.example.com", "NAMES[1].exact y.example.com", "AUTO.auto_sni true", "no AUTO.auto_san_validation"),
		{why: "names of the entry", in: []string{withNames, policy("tls: {mode: SIMPLE}")}, at: "443", want: []string{"NAMES[0].exact peer.example.com", "AUTO.auto_san_validation true"}},
		{why: "names of the rule before the entry's", in: []string{withNames, policy("tls: {mode: SIMPLE, subjectAltNames: [x.example.com]}")}, at: "443", want: []string{"NAMES[0].exact x.example.com", "no NAMES[1]"}},
		{why: "names of the youngest entry", in: []string{born("01", withNames), born("02", strings.Replace(strings.Replace(withNames, "peer.", "young.", 1), "name: api", "name: b", 1)), policy("tls: {mode: SIMPLE}")}, at: "443", want: []string{"NAMES[0].exact young.example.com", "no NAMES[1]"}},
		{why: "no names of the youngest entry", in: []string{born("01", withNames), born("02", entry("b", api, "DNS", "", "443 HTTP")), policy("tls: {mode: SIMPLE}")}, at: "443", want: []string{"no NAMES"}},
		{why: "names of the entry without TLS", in: []string{withNames}, at: "443", want: []string{"no TS"}},
		tls("insecureSkipVerify", "443 HTTP", "mode: SIMPLE, insecureSkipVerify: true", "CTX.validation_context {}", "AUTO.auto_sni true", "no AUTO.auto_san_validation", "no CA"),
		tls("no mode is DISABLE", "443 HTTP", "sni: x.example.com", "no TS", "no HPO"),
		tls("DISABLE", "443 HTTP", "mode: DISABLE, sni: x.example.com, caCertificates: /ca.pem", "no TS"),
		tls("SIMPLE takes no client certificate", "443 HTTP", "mode: SIMPLE, clientCertificate: /c.pem, privateKey: /k.pem", started, "no CERT"),
		tls("CA and CRL", "443 HTTP", "mode: SIMPLE, caCertificates: /ca.pem, caCrl: /crl.pem", "CA file-root:/ca.pem", "CTX.combined_validation_context.default_validation_context.crl.filename /crl.pem"),
		tls("MUTUAL", "443 HTTP", "mode: MUTUAL, clientCertificate: /c.pem, privateKey: /k.pem", started, "CERT file-cert:/c.pem~/k.pem", "CA file-root:system"),
		tls("MUTUAL without a key starts no TLS", "443 HTTP", "mode: MUTUAL, clientCertificate: /c.pem", "no TS"),
		tls("a Secret is for gateways", "443 HTTP", "mode: SIMPLE, credentialName: cred", "no TS"),
		gateway(tls("a Secret at a gateway", "443 HTTP", "mode: SIMPLE, credentialName: cred", started, "CA kubernetes://cred-cacert", "no CERT")),
		gateway(tls("a Secret with a certificate at a gateway", "443 HTTP", "mode: MUTUAL, credentialName: cred", "CERT kubernetes://cred", "CA kubernetes://cred-cacert")),
		{why: "a Secret for selected sidecars", in: []string{dns("443 HTTP"), rule("api", api, "workloadSelector: {matchLabels: {app: app}}\ntrafficPolicy: {tls: {mode: SIMPLE, credentialName: cred}}")}, proxy: chosen(), at: "443", want: []string{started, "CA kubernetes://cred-cacert"}},
		tls("a ConfigMap is for sidecars too", "443 HTTP", "mode: SIMPLE, credentialName: 'configmap://cm'", started, "CA configmap://cm-cacert"),
		tls("double TLS", "443 TLS", "mode: SIMPLE", started, "AUTO.auto_sni true", "no TLS.sni"),
		tls("TLS around bytes", "443 TCP", "mode: SIMPLE, sni: x.example.com, subjectAltNames: [x.example.com]", "TLS.sni x.example.com", "NAMES[0].exact x.example.com", "no HPO"),
		tls("GRPC offers h2", "443 GRPC", "mode: SIMPLE", "CTX.alpn_protocols[0] h2", "H2 {}"),
		{why: "an upgrade offers h2", in: []string{dns("443 TLS"), policy("tls: {mode: SIMPLE}, connectionPool: {http: {h2UpgradePolicy: UPGRADE}}")}, at: "443", want: []string{"CTX.alpn_protocols[0] h2"}},
		{why: "the client's protocol does not", in: []string{dns("443 GRPC"), policy("tls: {mode: SIMPLE}, connectionPool: {http: {useClientProtocol: true}}")}, at: "443", want: []string{"no CTX.alpn_protocols"}},
		{why: "tlsDefaults", mesh: "tlsDefaults: {ecdhCurves: [P-256], cipherSuites: [ECDHE-RSA-AES256-GCM-SHA384]}", in: []string{dns("443 HTTP"), policy("tls: {mode: SIMPLE}")}, at: "443", want: []string{"CTX.tls_params.ecdh_curves[0] P-256", "CTX.tls_params.cipher_suites[0] ECDHE-RSA-AES256-GCM-SHA384"}},
		{why: "tlsDefaults are not for mutual TLS", mesh: "tlsDefaults: {ecdhCurves: [P-256]}", in: []string{dns("443 HTTP"), policy("tls: {mode: ISTIO_MUTUAL}")}, at: "443", want: []string{"no CTX.tls_params.ecdh_curves"}},

		tls("ISTIO_MUTUAL", "80 HTTP", "mode: ISTIO_MUTUAL", "TLS.sni outbound_.80_._.api.example.com", "CTX.alpn_protocols[0] istio-peer-exchange", "CTX.alpn_protocols[1] istio", "no CTX.alpn_protocols[2]", "CERT default", "CA ROOTCA"),
		tls("ISTIO_MUTUAL heeds sni and names only", "80 GRPC", "mode: ISTIO_MUTUAL, sni: x.example.com, subjectAltNames: [spiffe://x], caCertificates: /ca.pem", "TLS.sni x.example.com", "NAMES[0].exact spiffe://x", "CTX.alpn_protocols[2] h2", "CA ROOTCA"),
		{why: "ISTIO_MUTUAL in a subset", in: []string{dns("80 HTTP"), rule("api", api, "subsets: [{name: v1, trafficPolicy: {tls: {mode: ISTIO_MUTUAL}}}]")}, at: "80/v1", want: []string{"TLS.sni outbound_.80_.v1_.api.example.com"}},
		{why: "automatic mutual TLS", in: []string{inside("DNS", "endpoints: [{address: gw.example.com, serviceAccount: sa}]")}, at: "80", want: []string{"MATCH[0].name tlsMode-istio", "MATCH[0].transport_socket.typed_config.sni outbound_.80_._.api.example.com", "MATCH[0].transport_socket.typed_config.common_tls_context.combined_validation_context.default_validation_context.match_subject_alt_names[0].exact spiffe://cluster.local/ns/shop/sa/sa", "MATCH[1].name tlsMode-disabled", "no TS"}},
		{why: "the trust domain", mesh: "trustDomain: corp", in: []string{inside("DNS", "endpoints: [{address: gw.example.com, serviceAccount: sa}]")}, at: "80", want: []string{"MATCH[0].transport_socket.typed_config.common_tls_context.combined_validation_context.default_validation_context.match_subject_alt_names[0].exact spiffe://corp/ns/shop/sa/sa"}},
		{why: "no automatic mutual TLS", mesh: "enableAutoMtls: false", in: []string{inside("DNS", "")}, at: "80", want: []string{"no MATCH[0]", "no TS"}},
		{why: "a rule's tls takes its place", in: []string{inside("DNS", ""), policy("tls: {mode: DISABLE}")}, at: "80", want: []string{"no MATCH[0]", "no TS"}},
		{why: "not for the outside", in: []string{dns("80 HTTP")}, at: "80", want: []string{"no MATCH[0]", "no TS"}},
		{why: "to addresses that the client chose, with a proxy", in: []string{inside("STATIC", "endpoints: [{address: 10.0.0.1, labels: {security.istio.io/tlsMode: istio}}]"), policy("loadBalancer: {simple: PASSTHROUGH}")}, at: "80", want: []string{started, "no MATCH[0]"}},
		{why: "to addresses that the client chose, without", in: []string{inside("STATIC", "endpoints: [{address: 10.0.0.1}]"), policy("loadBalancer: {simple: PASSTHROUGH}")}, at: "80", want: []string{"no TS", "no MATCH[0]"}},
		{why: "to addresses that the client chose in a subset", in: []string{inside("STATIC", "endpoints: [{address: 10.0.0.1}]"), rule("api", api, "subsets: [{name: v1, trafficPolicy: {loadBalancer: {simple: PASSTHROUGH}}}]")}, at: "80/v1", want: []string{"no TS", "no MATCH[0]"}},
		{why: "NONE has no endpoint that has a proxy", in: []string{inside("NONE", "")}, at: "80", want: []string{"no TS", "no MATCH[0]"}},

		dynamic("mode: SIMPLE", started, "AUTO.auto_sni true", "AUTO.auto_san_validation true", "no cluster_type.typed_config.allow_insecure_cluster_options"),
		dynamic("mode: SIMPLE, sni: x.example.com", "TLS.sni x.example.com", "AUTO.auto_san_validation true", "no AUTO.auto_sni", "cluster_type.typed_config.allow_insecure_cluster_options true"),
		dynamic("mode: SIMPLE, insecureSkipVerify: true", "no AUTO.auto_san_validation", "cluster_type.typed_config.allow_insecure_cluster_options true"),
		dynamic("mode: ISTIO_MUTUAL", "AUTO.auto_sni true", "no TLS.sni"),

		{why: "proxyProtocol around bytes", in: []string{dns("443 TLS"), policy("proxyProtocol: {}")}, at: "443", want: []string{proxied, "TLS.config {}", "TLS.transport_socket.name raw_buffer"}},
		{why: "proxyProtocol V2 around TLS", in: []string{dns("443 HTTP"), policy("proxyProtocol: {version: V2}, tls: {mode: SIMPLE, sni: x.example.com}")}, at: "443", want: []string{proxied, "TLS.config.version V2", insideTLS, "TLS.transport_socket.typed_config.sni x.example.com", "no TLS.sni"}},
		{why: "proxyProtocol around automatic mutual TLS", in: []string{inside("DNS", ""), policy("proxyProtocol: {version: V1}")}, at: "80", want: []string{"MATCH[0].transport_socket.name envoy.transport_sockets.upstream_proxy_protocol", "MATCH[1].transport_socket.name envoy.transport_sockets.upstream_proxy_protocol", "MATCH[0].transport_socket.typed_config.transport_socket.name envoy.transport_sockets.tls", "no TS"}},
	}
}

// levelRows: what a port entry and a subset keep of the level around them.
func levelRows() []compiled {
	const all = "connectionPool: {tcp: {maxConnections: 5, connectTimeout: 2s}}, outlierDetection: {consecutive5xxErrors: 3}, loadBalancer: {simple: RANDOM}, tls: {mode: SIMPLE, sni: x.example.com}, proxyProtocol: {}, retryBudget: {percent: 10}"
	pool := func(n int) string { return fmt.Sprintf("connectionPool: {tcp: {maxConnections: %d}}", n) }
	port := func(n int, flow string) string { return fmt.Sprintf("{port: {number: %d}, %s}", n, flow) }
	entries := func(list ...string) string { return "portLevelSettings: [" + strings.Join(list, ", ") + "]" }
	top := func(why, at, flow string, want ...string) compiled {
		return compiled{why: why, in: []string{dns("80 HTTP", "443 HTTP"), policy(all + ", " + flow)}, at: at, want: want}
	}
	sub := func(why, outer, flow string, want ...string) compiled {
		return compiled{why: why, in: []string{dns("80 HTTP", "443 HTTP"), rule("api", api, "trafficPolicy: {"+outer+"}\nsubsets: [{name: v1, trafficPolicy: {"+flow+"}}]")}, at: "443/v1", want: want}
	}
	whole := []string{"CB.max_connections 5", "connect_timeout 2s", "OD.consecutive_5xx 3", "lb_policy RANDOM", "TS.name envoy.transport_sockets.upstream_proxy_protocol", "CB.retry_budget.budget_percent.value 10"}
	labelled := entry("api", api, "DNS", "endpoints: [{address: gw.example.com, labels: {version: v1}}]", "443 TLS")
	v := func(labels string) string { return rule("api", api, "subsets: [{name: v, labels: {"+labels+"}}]") }
	placed := func(where string) string {
		return entry("api", api, "DNS", "endpoints: [{address: gw.example.com, "+where+"}]", "443 TLS")
	}
	return []compiled{
		top("an entry resets all that it does not say", "443", entries(port(443, "tls: {mode: SIMPLE}")), "CB.max_connections 4294967295", "connect_timeout 10s", "no OD", "lb_policy LEAST_REQUEST", "TS.name envoy.transport_sockets.tls", "no CB.retry_budget", "AUTO.auto_sni true"),
		top("an entry without tls sends plaintext", "443", entries(port(443, pool(9))), "CB.max_connections 9", "connect_timeout 10s", "no TS", "no OD"),
		top("other ports keep the level", "80", entries(port(443, pool(9))), whole...),
		top("an entry for a port that is not there", "443", entries(port(8080, pool(9))), whole...),
		top("of two entries the first counts, whole", "443", entries(port(443, pool(9)), port(443, "outlierDetection: {consecutive5xxErrors: 1}")), "CB.max_connections 9", "no OD"),
		top("an entry with no field resets all", "443", entries("{port: {number: 443}}"), "CB.max_connections 4294967295", "no TS"),
		sub("a subset inherits block by block", all, pool(99), "CB.max_connections 99", "connect_timeout 10s", "OD.consecutive_5xx 3", "lb_policy RANDOM", "CB.retry_budget.budget_percent.value 10", "TS.name envoy.transport_sockets.upstream_proxy_protocol"),
		sub("a subset's blocks", all, "outlierDetection: {interval: 5s}, loadBalancer: {simple: LEAST_REQUEST}, tls: {mode: DISABLE}, retryBudget: {percent: 50}, proxyProtocol: {version: V2}", "CB.max_connections 5", "OD.interval 5s", "no OD.consecutive_5xx", "lb_policy LEAST_REQUEST", "TLS.config.version V2", "TLS.transport_socket.name raw_buffer", "CB.retry_budget.budget_percent.value 50"),
		sub("an entry in a subset resets what it can say", all, entries(port(443, pool(9))), "CB.max_connections 9", "no OD", "lb_policy LEAST_REQUEST", "CB.retry_budget.budget_percent.value 10", "TS.name envoy.transport_sockets.upstream_proxy_protocol", "TLS.transport_socket.name raw_buffer"),
		sub("an entry in a subset takes the place of the subset's own", "", pool(9)+", "+entries(port(443, "tls: {mode: SIMPLE}")), "CB.max_connections 4294967295", "TS.name envoy.transport_sockets.tls"),
		sub("a subset is put upon the port's entry", all+", "+entries(port(443, "outlierDetection: {interval: 5s}")), pool(9), "CB.max_connections 9", "OD.interval 5s", "no TS", "lb_policy LEAST_REQUEST", "no CB.retry_budget"),
		sub("a subset that says nothing", all, "", append(slices.Clone(whole), "TLS.transport_socket.typed_config.sni x.example.com")...),
		{why: "a subset's labels match an endpoint", in: []string{labelled, v("version: v1")}, at: "443/v", want: []string{"type STRICT_DNS"}},
		{why: "a subset's labels match none", in: []string{labelled, v("version: v2")}, at: "443/v", absent: "labels of the subset"},
		{why: "the locality is a label", in: []string{placed("locality: eu/north/a"), v("topology.kubernetes.io/region: eu, topology.kubernetes.io/zone: north, topology.istio.io/subzone: a")}, at: "443/v", want: []string{"type STRICT_DNS"}},
		{why: "in part", in: []string{placed("locality: eu"), v("topology.kubernetes.io/zone: north")}, at: "443/v", absent: "labels of the subset"},
		{why: "the locality goes before the label", in: []string{placed("locality: eu, labels: {topology.kubernetes.io/region: us}"), v("topology.kubernetes.io/region: us")}, at: "443/v", absent: "labels of the subset"},
		{why: "a label that the locality says nothing of", in: []string{placed("locality: eu, labels: {topology.kubernetes.io/zone: north}"), v("topology.kubernetes.io/zone: north")}, at: "443/v", want: []string{"type STRICT_DNS"}},
		{why: "the locality from a label", in: []string{placed("labels: {istio-locality: eu.north}"), v("topology.kubernetes.io/zone: north")}, at: "443/v", want: []string{"type STRICT_DNS"}},
		{why: "the newer label first, with its dots", in: []string{placed("labels: {istio-locality: eu.north, topology.istio.io/locality: us.x/south}"), v("topology.kubernetes.io/region: us.x")}, at: "443/v", want: []string{"type STRICT_DNS"}},
		{why: "the network is a label", in: []string{placed("network: one"), v("topology.istio.io/network: one")}, at: "443/v", want: []string{"type STRICT_DNS"}},
		{why: "the label goes before the network", in: []string{placed("network: one, labels: {topology.istio.io/network: two}"), v("topology.istio.io/network: one")}, at: "443/v", absent: "labels of the subset"},
		{why: "the host itself has no labels", in: []string{dns("443 TLS"), v("version: v1")}, at: "443/v", absent: "labels of the subset"},
		{why: "a subset without labels has all endpoints", in: []string{dns("443 TLS"), v("")}, at: "443/v", want: []string{"type STRICT_DNS"}},
		{why: "a fixed list may have none", in: []string{entry("api", api, "STATIC", "endpoints: [{address: 10.0.0.1}]", "443 TLS"), v("version: v1")}, at: "443/v", want: []string{"type EDS"}},
		{why: "NONE has no use for labels", in: []string{entry("api", api, "NONE", "", "443 TLS"), v("version: v1")}, at: "443/v", want: []string{"type ORIGINAL_DST"}},
	}
}

// selectionRows: which DestinationRule holds.
func selectionRows() []compiled {
	pool := func(name, host string, n int) string {
		return rule(name, host, fmt.Sprintf("trafficPolicy: {connectionPool: {tcp: {maxConnections: %d}}}", n))
	}
	exported := func(to, manifest string) string { return manifest + "  exportTo: [" + to + "]\n" }
	selects := func(labels string, n int) string {
		return rule("chosen", api, fmt.Sprintf("workloadSelector: {matchLabels: {%s}}\ntrafficPolicy: {connectionPool: {http: {http1MaxPendingRequests: %d}}}", labels, n))
	}
	pay := sidecarIn("pay")
	const all, open = "CB.max_connections 4294967295", "CB.max_pending_requests 4294967295"
	host := dns("443 TLS")
	own, root, client := pool("own", api, 1), within("istio-system", pool("root", api, 2)), within("pay", pool("client", api, 3))
	return []compiled{
		{why: "the namespace of the host", in: []string{host, own}, proxy: pay, at: "443", want: []string{"CB.max_connections 1"}},
		{why: "the client's namespace first", in: []string{host, own, client, root}, proxy: pay, at: "443", want: []string{"CB.max_connections 3"}},
		{why: "a third namespace counts for nothing", in: []string{host, client}, at: "443", want: []string{all}},
		{why: "the root namespace last", in: []string{host, root}, at: "443", want: []string{"CB.max_connections 2"}},
		{why: "the host's namespace before the root's", in: []string{host, own, root}, proxy: pay, at: "443", want: []string{"CB.max_connections 1"}},
		{why: "another root namespace", mesh: "rootNamespace: pay", in: []string{host, root, client}, at: "443", want: []string{"CB.max_connections 3"}},
		{why: "a wildcard takes the host in", in: []string{host, pool("w", "*.example.com", 4)}, at: "443", want: []string{"CB.max_connections 4"}},
		{why: "the exact host before a wildcard, whole", in: []string{host, rule("w", "*.example.com", "trafficPolicy: {outlierDetection: {}}"), own}, at: "443", want: []string{"CB.max_connections 1", "no OD"}},
		{why: "the longest wildcard", in: []string{host, pool("a", "*.com", 5), pool("b", "*.example.com", 4), pool("c", "*", 6)}, at: "443", want: []string{"CB.max_connections 4"}},
		{why: "the star alone", in: []string{host, pool("c", "*", 6)}, at: "443", want: []string{"CB.max_connections 6"}},
		{why: "the client's wildcard before the host's own rule", in: []string{host, own, within("pay", pool("w", "*.example.com", 4))}, proxy: pay, at: "443", want: []string{"CB.max_connections 4"}},
		{why: "a rule below a wildcard host", in: []string{entry("api", "*.example.com", "NONE", "", "443 TLS"), own}, host: "*.example.com", at: "443", want: []string{all}},
		{why: "not exported", in: []string{host, exported(".", own)}, proxy: pay, at: "443", want: []string{all}},
		{why: "exported to the client", in: []string{host, exported("pay", own)}, proxy: pay, at: "443", want: []string{"CB.max_connections 1"}},
		{why: "exported to another", in: []string{host, exported("web", own)}, proxy: pay, at: "443", want: []string{all}},
		{why: "the root's own affair", in: []string{host, exported(".", root)}, at: "443", want: []string{all}},
		{why: "the mesh exports no rules", mesh: "defaultDestinationRuleExportTo: ['.']", in: []string{host, own}, proxy: pay, at: "443", want: []string{all}},
		{why: "a host that is not exported", in: []string{entry("api", api, "DNS", "exportTo: ['.']", "443 TLS")}, proxy: pay, at: "443", absent: "unknown"},
		{why: "a host that is for nobody", in: []string{entry("api", api, "DNS", "exportTo: ['~']", "443 TLS")}, at: "443", absent: "unknown"},

		{why: "a selected workload gets that rule whole", in: []string{host, own, selects("app: app", 7)}, proxy: chosen(), at: "443", want: []string{"CB.max_pending_requests 7", all}},
		{why: "another workload", in: []string{host, own, selects("app: other", 7)}, proxy: chosen(), at: "443", want: []string{"CB.max_connections 1", open}},
		{why: "a selector is for its own namespace", in: []string{host, selects("app: app", 7)}, proxy: effective.Proxy{Type: effective.Sidecar, Namespace: "pay", Labels: map[string]string{"app": "app"}}, at: "443", want: []string{open}},

		{why: "of two rules the oldest holds, not both", in: []string{host, born("02", rule("a", api, "trafficPolicy: {outlierDetection: {}}")), born("01", pool("b", api, 2))}, at: "443", want: []string{"CB.max_connections 2", "no OD"}},
		{why: "of equal age the first by name", in: []string{host, pool("b", api, 2), pool("a", api, 1)}, at: "443", want: []string{"CB.max_connections 1"}},
		{why: "an older rule without a policy adopts the other's", in: []string{host, born("01", rule("a", api, "subsets: [{name: v1}]")), born("02", pool("b", api, 2))}, at: "443/v1", want: []string{"CB.max_connections 2"}},
		{why: "subsets of both", in: []string{host, born("01", pool("a", api, 1)), born("02", rule("b", api, "subsets: [{name: v2, trafficPolicy: {outlierDetection: {interval: 5s}}}]"))}, at: "443/v2", want: []string{"CB.max_connections 1", "OD.interval 5s"}},
		{why: "of a subset's two forms the older", in: []string{host, born("01", rule("a", api, "subsets: [{name: v1, trafficPolicy: {connectionPool: {tcp: {maxConnections: 1}}}}]")), born("02", rule("b", api, "subsets: [{name: v1, trafficPolicy: {connectionPool: {tcp: {maxConnections: 2}}}}]"))}, at: "443/v1", want: []string{"CB.max_connections 1"}},
		{why: "exported differently, the newest holds", in: []string{host, born("01", pool("a", api, 1)), born("02", exported("'*'", pool("b", api, 2)))}, at: "443", want: []string{"CB.max_connections 2"}},
	}
}

// severalRows: several ServiceEntries for one host.
func severalRows() []compiled {
	se := func(name, resolution, rest string, ports ...string) string {
		return entry(name, api, resolution, rest, ports...)
	}
	foreign := func(ns, name string, port string) string { return within(ns, se(name, "DNS", "", port)) }
	hidden := se("a", "DNS", "exportTo: ['~']", "443 TLS", "80 HTTP")
	routeTo := func(port string) string {
		return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: api, namespace: shop}\nspec: {hosts: [api.example.com], http: [{route: [{destination: {host: api.example.com, port: {number: " + port + "}}}]}]}"
	}
	a, b := born("01", se("a", "DNS", "", "443 TLS")), born("02", se("b", "NONE", "", "80 HTTP"))
	return []compiled{
		{why: "ports of both", in: []string{se("a", "DNS", "", "443 TLS"), se("b", "DNS", "", "80 HTTP")}, at: "80", want: []string{"type STRICT_DNS"}},
		{why: "the oldest's resolution", in: []string{born("02", se("a", "STATIC", "endpoints: [{address: 10.0.0.1}]", "443 TLS")), born("01", se("b", "DNS", "", "443 TLS"))}, at: "443", want: []string{"type STRICT_DNS"}},
		{why: "the oldest's resolution, the other way round", in: []string{born("01", se("a", "STATIC", "endpoints: [{address: 10.0.0.1}]", "443 TLS")), born("02", se("b", "DNS", "", "443 TLS"))}, at: "443", want: []string{"type EDS"}},
		{why: "the younger's ports if the resolutions differ", in: []string{a, b}, at: "80", absent: "differs in resolution"},
		{why: "the older's ports if the resolutions differ", in: []string{a, b}, at: "443", want: []string{"type STRICT_DNS"}},
		{why: "the younger's ports if the labels differ", in: []string{a, meta("labels: {team: x}", born("02", se("b", "DNS", "", "80 HTTP")))}, at: "80", absent: "labels"},
		{why: "the younger's ports if the exportTo differ", in: []string{a, born("02", se("b", "DNS", "exportTo: ['*']", "80 HTTP"))}, at: "80", absent: "exportTo"},
		{why: "the client's own namespace, whole", in: []string{foreign("pay", "a", "80 HTTP"), se("b", "DNS", "", "443 TLS")}, at: "80", absent: "unknown"},
		{why: "the oldest of two others", in: []string{born("02", foreign("pay", "a", "80 HTTP")), born("01", foreign("web", "b", "443 TLS"))}, at: "443", want: []string{"type STRICT_DNS"}},
		{why: "the ports of the younger vanish", in: []string{born("02", foreign("pay", "a", "80 HTTP")), born("01", foreign("web", "b", "443 TLS"))}, at: "80", absent: "unknown"},
		{why: "gateways do not prefer their own", in: []string{born("02", foreign("istio-system", "a", "443 TLS")), born("01", foreign("web", "b", "443 HTTP2"))}, proxy: router(), at: "443", want: []string{"H2 {}"}},
		{why: "two protocols on one port", in: []string{born("01", se("a", "DNS", "", "443 TLS")), born("02", se("b", "DNS", "", "443 HTTP2"))}, at: "443", want: []string{"no HPO"}},
		{why: "what else differs does not matter", in: []string{a, meta("annotations: {x: y}", born("02", se("b", "DNS", "location: MESH_INTERNAL\naddresses: [240.0.0.1]\nendpoints: [{address: gw.example.com}]", "80 HTTP")))}, at: "80", want: []string{"type STRICT_DNS"}},
		{why: "resolution that is omitted is NONE", in: []string{born("01", se("a", "NONE", "", "443 TLS")), born("02", se("b", "null", "", "80 HTTP"))}, at: "80", want: []string{"type ORIGINAL_DST"}},
		{why: "exportTo in another order", in: []string{born("01", se("a", "DNS", "exportTo: [shop, pay]", "443 TLS")), born("02", se("b", "DNS", "exportTo: [pay, shop]", "80 HTTP"))}, at: "80", want: []string{"type STRICT_DNS"}},
		{why: "no labels and none", in: []string{a, meta("labels: {}", born("02", se("b", "DNS", "", "80 HTTP")))}, at: "80", want: []string{"type STRICT_DNS"}},
		{why: "other values of labels", in: []string{meta("labels: {team: a}", a), meta("labels: {team: b}", born("02", se("b", "DNS", "", "80 HTTP")))}, at: "80", absent: "labels"},
		{why: "other names of labels", in: []string{meta("labels: {team: a}", a), meta("labels: {owner: a}", born("02", se("b", "DNS", "", "80 HTTP")))}, at: "80", absent: "labels"},
		{why: "another workloadSelector", in: []string{born("01", se("a", "STATIC", "", "443 TLS")), born("02", se("b", "STATIC", "workloadSelector: {labels: {app: out}}", "80 HTTP"))}, at: "80", absent: "workloadSelector"},
		{why: "the same workloadSelector", in: []string{born("01", se("a", "STATIC", "workloadSelector: {labels: {app: out}}", "443 TLS")), born("02", se("b", "STATIC", "workloadSelector: {labels: {app: out}}", "80 HTTP"))}, at: "80", want: []string{"type EDS"}},
		{why: "UDP and TCP on one number", in: []string{dns("53 UDP", "53 TCP")}, at: "53", want: []string{"type STRICT_DNS"}},
		{why: "UDP and TCP on one number, the other way round", in: []string{dns("53 TCP", "53 UDP")}, at: "53", want: []string{"type STRICT_DNS"}},
		{why: "a route makes a hidden host known in its namespace", in: []string{hidden, routeTo("80")}, at: "80", want: []string{"type STRICT_DNS"}},
		{why: "but only the port that it names", in: []string{hidden, routeTo("80")}, at: "443", absent: "unknown"},
		{why: "and only in its namespace", in: []string{hidden, routeTo("80")}, proxy: sidecarIn("pay"), at: "80", absent: "unknown"},
		{why: "a third entry fills a port that the first does not share with the second", in: []string{a, b, born("03", se("c", "DNS", "", "80 HTTP"))}, at: "80", want: []string{"type STRICT_DNS"}},
		{why: "a Service before an entry of its host", in: []string{backendService, entry("a", "backend.shop.svc.cluster.local", "DNS", "", "80 HTTP")}, host: "backend.shop.svc.cluster.local", at: "80", want: []string{"type EDS"}},
		{why: "endpoints come together", in: []string{born("01", se("a", "DNS", "workloadSelector: {labels: {app: none}}", "443 TLS")), born("02", se("b", "DNS", "endpoints: [{address: gw.example.com}]", "443 TLS"))}, at: "443", want: []string{"type STRICT_DNS"}},
	}
}

// listenerRows: the tcp_proxy and the routes that lead to a cluster.
func listenerRows() []compiled {
	const idle = "connectionPool: {tcp: {idleTimeout: 33s, maxConnectionDuration: 44s}}"
	const tunnel = "tunnel: {targetHost: t.example.com, targetPort: 443}"
	tlsRoute := "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: api, namespace: shop}\nspec: {hosts: [api.example.com], tls: [{match: [{port: 443, sniHosts: [api.example.com]}], route: [{destination: {host: api.example.com, subset: v1}}]}]}"
	httpRoute := func(flow string) string {
		return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: api, namespace: shop}\nspec: {hosts: [api.example.com], http: [{route: [{destination: {host: api.example.com}}]" + flow + "}]}"
	}
	entryOf := func(flow string) string { return "portLevelSettings: [{port: {number: 443}, " + flow + "}]" }
	subset := func(outer, flow string) string {
		return rule("api", api, "trafficPolicy: {"+outer+"}\nsubsets: [{name: v1, trafficPolicy: {"+flow+"}}]")
	}
	l4 := func(why, flow string, tcp ...string) compiled {
		return compiled{why: why, in: []string{dns("443 TLS"), policy(flow)}, at: "443", tcp: tcp}
	}
	retried := func(why, mesh string, retries string, in ...string) compiled {
		return compiled{why: why, mesh: mesh, in: append([]string{dns("80 HTTP")}, in...), at: "80", retries: []string{retries}}
	}
	wild := func(name, host, routes string) string {
		return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {namespace: shop, name: " + name + "}\nspec: {hosts: ['" + host + "'], " + routes + "}\n"
	}
	const elsewhere = "http: [{route: [{destination: {host: other.example.com}}]}]"
	return []compiled{
		l4("timeouts of the destination level", idle, "idle_timeout 33s", "max_downstream_connection_duration 44s", "no hash_policy", "no tunneling_config"),
		l4("timeouts of a port entry are lost", entryOf(idle), "no idle_timeout", "no max_downstream_connection_duration"),
		l4("timeouts of the destination level despite an entry", idle+", "+entryOf("tls: {mode: SIMPLE}"), "idle_timeout 33s", "max_downstream_connection_duration 44s"),
		{why: "timeouts of the mesh are lost", mesh: "defaultTrafficPolicy: {" + idle + "}", in: []string{dns("443 TLS")}, at: "443", tcp: []string{"no idle_timeout"}, want: []string{"COMMON.idle_timeout 33s"}},
		{why: "timeouts of a subset are lost", in: []string{dns("443 TLS"), subset("connectionPool: {tcp: {idleTimeout: 5s}}", idle), tlsRoute}, at: "443/v1", tcp: []string{"idle_timeout 5s", "no max_downstream_connection_duration"}, want: []string{"COMMON.idle_timeout 33s"}},
		{why: "http.idleTimeout is not for bytes", in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {idleTimeout: 33s}, http: {idleTimeout: 11s}}")}, at: "443", tcp: []string{"idle_timeout 33s"}, want: []string{"COMMON.idle_timeout 11s"}},
		{why: "a port without protocol has a tcp_proxy too", in: []string{entry("api", api, "DNS", "addresses: [240.1.1.1]", "443 "), policy(idle)}, at: "443", tcp: []string{"idle_timeout 33s"}, want: []string{"COMMON.idle_timeout 33s"}},
		{why: "a gateway's tcp_proxy", in: []string{dns("443 TLS"), policy(idle), gateway("{port: {number: 443, name: tls, protocol: TLS}, hosts: [api.example.com], tls: {mode: PASSTHROUGH}}"), virtualService("tls:\n- match: [{gateways: [out], port: 443, sniHosts: [api.example.com]}]\n  route: [{destination: {host: api.example.com, port: {number: 443}}}]")}, proxy: router(), at: "443", tcp: []string{"idle_timeout 33s", "max_downstream_connection_duration 44s"}},
		l4("the client's address is hashed", "loadBalancer: {consistentHash: {useSourceIp: true}}", "hash_policy[0].source_ip {}"),
		l4("a header is not", "loadBalancer: {consistentHash: {httpHeaderName: x}}", "no hash_policy"),
		l4("a port entry's hash is lost", entryOf("loadBalancer: {consistentHash: {useSourceIp: true}}"), "no hash_policy"),
		{why: "a subset's hash is not lost", in: []string{dns("443 TLS"), subset("", "loadBalancer: {consistentHash: {useSourceIp: true}}"), tlsRoute}, at: "443/v1", tcp: []string{"hash_policy[0].source_ip {}"}},
		{why: "a subset's other balancer hides the hash", in: []string{dns("443 TLS"), subset("loadBalancer: {consistentHash: {useSourceIp: true}}", "loadBalancer: {simple: RANDOM}"), tlsRoute}, at: "443/v1", tcp: []string{"no hash_policy"}},
		l4("a tunnel", tunnel, "tunneling_config.hostname t.example.com:443", "no tunneling_config.use_post"),
		l4("a tunnel by POST", "tunnel: {targetHost: t.example.com, targetPort: 443, protocol: POST}", "tunneling_config.use_post true"),
		l4("a tunnel despite an entry", tunnel+", "+entryOf("tls: {mode: SIMPLE}"), "tunneling_config.hostname t.example.com:443"),
		{why: "a subset does not inherit the tunnel", in: []string{dns("443 TLS"), subset(tunnel, "outlierDetection: {}"), tlsRoute}, at: "443/v1", tcp: []string{"no tunneling_config"}},
		{why: "a subset's own tunnel", in: []string{dns("443 TLS"), subset("", tunnel), tlsRoute}, at: "443/v1", tcp: []string{"tunneling_config.hostname t.example.com:443"}},
		{why: "requests have no tunnel", in: []string{dns("80 HTTP"), policy(tunnel)}, at: "80", tcp: []string{"no tunneling_config"}},
		{why: "but what a tcp route sends to their port has", in: []string{dns("80 HTTP"), policy(tunnel), virtualService("tcp: [{match: [{port: 5000}], route: [{destination: {host: api.example.com, port: {number: 80}}}]}]")}, at: "80", tcp: []string{"tunneling_config.hostname t.example.com:443"}},

		retried("Istio's retries", "", "2 timeout 0s"),
		retried("the mesh's retries", "defaultHttpRetryPolicy: {attempts: 5}", "5 timeout 0s"),
		retried("the mesh retries nothing", "defaultHttpRetryPolicy: {attempts: 0}", "0 timeout 0s"),
		retried("a route's retries", "", "5 timeout 0s", httpRoute(", retries: {attempts: 5}")),
		retried("a route retries nothing", "", "0 timeout 0s", httpRoute(", retries: {attempts: 0}")),
		retried("a route's timeout", "", "2 timeout 1m30s", httpRoute(", timeout: 90s")),
		retried("a route's retries before the mesh's", "defaultHttpRetryPolicy: {attempts: 5}", "1 timeout 0s", httpRoute(", retries: {attempts: 1}")),
		{why: "a route that others do not get", in: []string{dns("80 HTTP"), strings.Replace(httpRoute(", retries: {attempts: 5}"), "spec: {", "spec: {exportTo: ['.'], ", 1)}, proxy: sidecarIn("pay"), at: "80", retries: []string{"2 timeout 0s"}},
		{why: "mirrored requests are not retried", in: []string{dns("80 HTTP"), entry("m", "m.example.com", "DNS", "", "80 HTTP"), httpRoute(", retries: {attempts: 5}, mirror: {host: m.example.com}")}, host: "m.example.com", at: "80", retries: []string{"2 timeout 0s"}},
		{why: "a route for another port", in: []string{dns("80 HTTP", "8080 HTTP"), httpRoute(", retries: {attempts: 5}, match: [{port: 80}]")}, at: "8080", retries: []string{"2 timeout 0s"}},
		{why: "a route for gateways", in: []string{dns("80 HTTP", "8080 HTTP"), strings.Replace(httpRoute(", retries: {attempts: 5}, match: [{gateways: [out]}]"), "spec: {", "spec: {gateways: [mesh, out], ", 1)}, at: "80", retries: []string{"2 timeout 0s"}},
		{why: "a route for other workloads", in: []string{dns("80 HTTP", "8080 HTTP"), httpRoute(", retries: {attempts: 5}, match: [{sourceLabels: {app: other}}]")}, proxy: chosen(), at: "80", retries: []string{"2 timeout 0s"}},
		{why: "a route on the port of the request", in: []string{dns("80 HTTP", "8080 HTTP"), httpRoute(", retries: {attempts: 5}, match: [{port: 80}]")}, at: "80", retries: []string{"5 timeout 0s"}},
		{why: "requests that a route sends to a port of bytes", in: []string{dns("80 HTTP", "443 TLS"), strings.Replace(httpRoute(", retries: {attempts: 5}"), "{host: api.example.com}", "{host: api.example.com, port: {number: 443}}", 1)}, at: "443", retries: []string{"5 timeout 0s"}},
		{why: "the other port is not retried then", in: []string{dns("80 HTTP", "443 TLS"), strings.Replace(httpRoute(", retries: {attempts: 5}"), "{host: api.example.com}", "{host: api.example.com, port: {number: 443}}", 1)}, at: "80", retries: []string{}},
		{why: "a wildcard's route to another host", in: []string{dns("80 HTTP"), wild("wide", "*.com", elsewhere)}, at: "80", retries: []string{}},
		retried("a wildcard's route behind a narrower wildcard", "", "2 timeout 0s", wild("wide", "*.com", elsewhere), wild("narrow", "*.example.com", "tls: [{match: [{sniHosts: ['*.example.com']}], route: [{destination: {host: other.example.com}}]}]")),
		retried("a wildcard's route behind a VirtualService of the name", "", "2 timeout 0s", wild("wide", "*.com", elsewhere), wild("narrow", "api.example.com", "tcp: [{route: [{destination: {host: other.example.com}}]}]")),
		{why: "a second VirtualService of the name", in: []string{dns("80 HTTP"), wild("a", "api.example.com", "tcp: [{route: [{destination: {host: other.example.com}}]}]"), wild("b", "api.example.com", elsewhere)}, at: "80", retries: []string{}},
	}
}

// olderRows: what Istio 1.30 does otherwise. Its compiler is not at hand, so that these rows rest on its source alone.
func olderRows() []compiled {
	old := func(why, mesh, flow string, want ...string) compiled {
		return compiled{why: "1.30: " + why, version: "1.30", mesh: mesh, in: []string{dns("80 HTTP2"), policy(flow)}, at: "80", want: want}
	}
	return []compiled{
		old("no mesh-wide policy", "defaultTrafficPolicy: {connectionPool: {tcp: {maxConnections: 1000}}}", "tls: {mode: DISABLE}", "CB.max_connections 4294967295"),
		old("no panic threshold without detection", "", "tls: {mode: DISABLE}", "no PANIC"),
		old("a panic threshold with detection", "", "outlierDetection: {}", "PANIC {}"),
		old("no http2KeepAlive", "", "connectionPool: {http: {http2KeepAlive: {interval: 30s}}}", "no H2.connection_keepalive", "no COMMON"),
		old("no zoneAwareLbSetting", "", "loadBalancer: {zoneAwareLbSetting: {minClusterSize: 6}, localityLbSetting: {distribute: [{from: 'r1/*', to: {'r1/*': 100}}]}}", "no common_lb_config.zone_aware_lb_config", "common_lb_config.locality_weighted_lb_config {}"),
		old("no zoneAwareLbSetting of the mesh", "zoneAwareLbSetting: {minClusterSize: 6}", "tls: {mode: DISABLE}", "no common_lb_config"),
		old("no budgetInterval", "", "retryBudget: {percent: 10, budgetInterval: 5s}", "CB.retry_budget.budget_percent.value 10", "no CB.retry_budget.budget_interval"),
		{why: "1.24: no retryBudget", version: "1.24", in: []string{dns("80 HTTP"), policy("retryBudget: {percent: 10}")}, at: "80", want: []string{"no CB.retry_budget"}},
	}
}
