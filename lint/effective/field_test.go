package effective_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

// families are ports of one host that resolves by DNS, one for each kind of port.
var families = map[string]string{"L4": "443 TLS", "HTTP": "80 HTTP", "HTTP2": "81 GRPC", "sniffed": "90", "none": "53 UDP"}

func TestLivenessByFamily(t *testing.T) {
	tests := []struct {
		name  string
		spec  string
		field string
		live  string // families
	}{
		{"pending requests bound connecting at L4", "connectionPool: {http: {http1MaxPendingRequests: 1}}", "connectionPool.http.http1MaxPendingRequests", "L4 HTTP HTTP2 sniffed none"},
		{"requests", "connectionPool: {http: {http2MaxRequests: 1}}", "connectionPool.http.http2MaxRequests", "HTTP HTTP2 sniffed"},
		{"retries", "connectionPool: {http: {maxRetries: 1}}", "connectionPool.http.maxRetries", "HTTP HTTP2 sniffed"},
		{"retries under a budget", "connectionPool: {http: {maxRetries: 1}}\nretryBudget: {}", "connectionPool.http.maxRetries", ""},
		{"retry budget", "retryBudget: {}", "retryBudget", "HTTP HTTP2 sniffed"},
		{"requests per connection", "connectionPool: {http: {maxRequestsPerConnection: 1}}", "connectionPool.http.maxRequestsPerConnection", "HTTP HTTP2 sniffed"},
		{"idle time of http", "connectionPool: {http: {idleTimeout: 1s}}", "connectionPool.http.idleTimeout", "HTTP HTTP2 sniffed"},
		{"idle time of tcp", "connectionPool: {tcp: {idleTimeout: 1s}}", "connectionPool.tcp.idleTimeout", "L4 HTTP HTTP2 sniffed none"},
		{"idle time of tcp beside that of http", "connectionPool: {tcp: {idleTimeout: 1s}, http: {idleTimeout: 2s}}", "connectionPool.tcp.idleTimeout", "L4 sniffed none"},
		{"upgrade", "connectionPool: {http: {h2UpgradePolicy: UPGRADE}}", "connectionPool.http.h2UpgradePolicy", "HTTP"},
		{"upgrade and TLS: ALPN", "connectionPool: {http: {h2UpgradePolicy: UPGRADE}}\ntls: {mode: SIMPLE}", "connectionPool.http.h2UpgradePolicy", "L4 HTTP"},
		{"no upgrade and TLS", "connectionPool: {http: {h2UpgradePolicy: DO_NOT_UPGRADE}}\ntls: {mode: SIMPLE}", "connectionPool.http.h2UpgradePolicy", "HTTP"},
		{"upgrade beside the client's protocol", "connectionPool: {http: {h2UpgradePolicy: UPGRADE, useClientProtocol: true}}", "connectionPool.http.h2UpgradePolicy", ""},
		{"the client's protocol", "connectionPool: {http: {useClientProtocol: true}}", "connectionPool.http.useClientProtocol", "HTTP HTTP2"},
		{"streams", "connectionPool: {http: {maxConcurrentStreams: 1}}", "connectionPool.http.maxConcurrentStreams", "HTTP2"},
		{"streams of an upgraded port", "connectionPool: {http: {maxConcurrentStreams: 1, h2UpgradePolicy: UPGRADE}}", "connectionPool.http.maxConcurrentStreams", "HTTP HTTP2"},
		{"streams with the client's protocol", "connectionPool: {http: {maxConcurrentStreams: 1, useClientProtocol: true}}", "connectionPool.http.maxConcurrentStreams", ""},
		{"keepalive of HTTP/2", "connectionPool: {http: {http2KeepAlive: {interval: 1s, timeout: 1s}}}", "connectionPool.http.http2KeepAlive", "HTTP2"},
		{"gateway errors at L4", "outlierDetection: {consecutiveGatewayErrors: 1}", "outlierDetection.consecutiveGatewayErrors", "L4 HTTP HTTP2 sniffed none"},
		{"5xx split off from failures to connect", "outlierDetection: {consecutive5xxErrors: 1, splitExternalLocalOriginErrors: true}", "outlierDetection.consecutive5xxErrors", "HTTP HTTP2 sniffed none"},
		{"failures to connect that are not split off", "outlierDetection: {consecutiveLocalOriginFailures: 1}", "outlierDetection.consecutiveLocalOriginFailures", ""},
		{"failures to connect", "outlierDetection: {consecutiveLocalOriginFailures: 1, splitExternalLocalOriginErrors: true}", "outlierDetection.consecutiveLocalOriginFailures", "L4 HTTP HTTP2 sniffed none"},
		{"hash of a header", "loadBalancer: {consistentHash: {httpHeaderName: x}}", "loadBalancer.consistentHash", "HTTP HTTP2 sniffed none"},
		{"hash of the address", "loadBalancer: {consistentHash: {useSourceIp: true}}", "loadBalancer.consistentHash", "L4 HTTP HTTP2 sniffed none"},
		{"warm-up", "loadBalancer: {simple: ROUND_ROBIN, warmup: {duration: 1s}}", "loadBalancer.warmup", "L4 HTTP HTTP2 sniffed none"},
		{"warm-up of a random choice", "loadBalancer: {simple: RANDOM, warmup: {duration: 1s}}", "loadBalancer.warmup", ""},
		{"failover with nothing that ejects", "loadBalancer: {localityLbSetting: {failover: [{from: a, to: b}]}}", "loadBalancer.localityLbSetting", ""},
		{"failover", "loadBalancer: {localityLbSetting: {failover: [{from: a, to: b}]}}\noutlierDetection: {}", "loadBalancer.localityLbSetting", "L4 HTTP HTTP2 sniffed none"},
		{"shares by locality", "loadBalancer: {localityLbSetting: {distribute: [{from: a, to: {b: 100}}]}}", "loadBalancer.localityLbSetting", "L4 HTTP HTTP2 sniffed none"},
		{"certificate that mode SIMPLE does not show", "tls: {mode: SIMPLE, clientCertificate: /c}", "tls.clientCertificate", ""},
		{"certificate", "tls: {mode: MUTUAL, clientCertificate: /c}", "tls.clientCertificate", "L4 HTTP HTTP2 sniffed none"},
		{"CA under ISTIO_MUTUAL", "tls: {mode: ISTIO_MUTUAL, caCertificates: /c}", "tls.caCertificates", ""},
		{"name under ISTIO_MUTUAL", "tls: {mode: ISTIO_MUTUAL, sni: x}", "tls.sni", "L4 HTTP HTTP2 sniffed none"},
		{"name without a mode", "tls: {sni: x}", "tls.sni", ""},
		{"the name that requests bear anyway", "tls: {mode: SIMPLE, sni: A.example.com}", "tls.sni", "L4 sniffed none"},
		{"that name to be verified", "tls: {mode: SIMPLE, subjectAltNames: [a.example.com]}", "tls.subjectAltNames", "L4 sniffed none"},
		{"that name to be verified beside another sni", "tls: {mode: SIMPLE, sni: x, subjectAltNames: [a.example.com]}", "tls.subjectAltNames", "L4 HTTP HTTP2 sniffed none"},
		{"that name and another", "tls: {mode: SIMPLE, subjectAltNames: [a.example.com, x]}", "tls.subjectAltNames", "L4 HTTP HTTP2 sniffed none"},
		{"no verification", "tls: {mode: SIMPLE, insecureSkipVerify: true}", "tls.insecureSkipVerify", "L4 HTTP HTTP2 sniffed none"},
		{"ISTIO_MUTUAL verifies regardless", "tls: {mode: ISTIO_MUTUAL, insecureSkipVerify: true}", "tls.insecureSkipVerify", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ports []string
			for _, p := range families {
				ports = append(ports, p)
			}
			spec := "trafficPolicy:\n  " + strings.ReplaceAll(test.spec, "\n", "\n  ")
			ix, objects := world(t, "", rule("r", "a.example.com", spec), entry("e", "a.example.com", "DNS", "", ports...))
			reach := effective.ReachOf(ix, objects[0])
			var live []string
			for _, family := range []string{"L4", "HTTP", "HTTP2", "sniffed", "none"} {
				number, _, _ := strings.Cut(families[family], " ")
				for _, port := range reach.Ports {
					p := effective.LevelsOf(ix, objects[0], -1).For(port.Number, effective.Without{})
					if number == portText(port) && field(t, test.field).Live(port, p) {
						live = append(live, family)
					}
				}
			}
			if got := strings.Join(live, " "); got != test.live {
				t.Errorf("%s is live on %q, want %q", test.field, got, test.live)
			}
		})
	}
}

func portText(p effective.Port) string { return strings.TrimPrefix(p.Name, "p") }

func TestListsOfAddresses(t *testing.T) {
	for resolution, list := range map[string]bool{"DNS": true, "STATIC": true, "DNS_ROUND_ROBIN": false, "NONE": false, "DYNAMIC_DNS": false} {
		host := "a.example.com"
		if resolution == "DYNAMIC_DNS" {
			host = "*.example.com"
		}
		ix, objects := world(t, "", rule("r", host, "trafficPolicy: {outlierDetection: {}}"), entry("e", host, resolution, "", "443 TLS"))
		port := effective.ReachOf(ix, objects[0]).Ports[0]
		p := effective.LevelsOf(ix, objects[0], -1).For(443, effective.Without{})
		for _, name := range []string{"outlierDetection", "loadBalancer.simple"} {
			if got := field(t, name).Live(port, p); got != list {
				t.Errorf("%s: %s is live = %v, want %v", resolution, name, got, list)
			}
		}
	}
}

// Of a host that is not in view only what holds for every kind of port may be said.
func TestFieldsOfUnknownPorts(t *testing.T) {
	var got []string
	for _, f := range effective.Fields() {
		if f.Live(effective.Port{}, &effective.Policy{}) {
			got = append(got, f.Name)
		}
	}
	want := []string{
		"tls", "proxyProtocol", "connectionPool.tcp.maxConnections", "connectionPool.http.http1MaxPendingRequests",
		"connectionPool.tcp.connectTimeout", "outlierDetection", "loadBalancer.simple",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestValuesInEffect(t *testing.T) {
	tests := []struct {
		name  string
		mesh  string
		spec  string
		field string
		port  uint32 // 443 is TLS, 80 HTTP, 90 without protocol
		want  string
	}{
		{"durations are equal however they are written", "", "connectionPool: {tcp: {connectTimeout: 60s}}", "connectionPool.tcp.connectTimeout", 80, "1m"},
		{"zero is unset", "", "connectionPool: {tcp: {maxConnections: 0}}", "connectionPool.tcp.maxConnections", 80, effective.Unlimited},
		{"the mesh's connectTimeout", "connectTimeout: 3s", "tls: {mode: SIMPLE}", "connectionPool.tcp.connectTimeout", 80, "3s"},
		{"keepalive field by field over the mesh's", "tcpKeepalive: {probes: 3, time: 7200s, interval: 75s}", "connectionPool: {tcp: {tcpKeepalive: {time: 60s}}}",
			"connectionPool.tcp.tcpKeepalive", 80, "probes: 3, time: 1m, interval: 1m15s"},
		{"keepalive of the mesh alone", "tcpKeepalive: {time: 7200s}", "tls: {mode: SIMPLE}", "connectionPool.tcp.tcpKeepalive", 80, "time: 2h"},
		{"keepalive that is only switched on", "", "connectionPool: {tcp: {tcpKeepalive: {probes: 0}}}", "connectionPool.tcp.tcpKeepalive", 80, "on, with the operating system's times"},
		{"no keepalive", "", "connectionPool: {tcp: {maxConnections: 1}}", "connectionPool.tcp.tcpKeepalive", 80, "none"},
		{"upgrade by the mesh", "h2UpgradePolicy: UPGRADE", "connectionPool: {http: {h2UpgradePolicy: DEFAULT}}", "connectionPool.http.h2UpgradePolicy", 80, "UPGRADE"},
		{"the mesh upgrades HTTP ports only", "h2UpgradePolicy: UPGRADE", "tls: {mode: SIMPLE}", "connectionPool.http.h2UpgradePolicy", 443, "DO_NOT_UPGRADE"},
		{"http's idle time comes first", "", "connectionPool: {tcp: {idleTimeout: 3s}, http: {idleTimeout: 2s}}", "connectionPool.http.idleTimeout", 80, "2s"},
		{"tcp's idle time is what tcp_proxy knows", "", "connectionPool: {tcp: {idleTimeout: 3s}, http: {idleTimeout: 2s}}", "connectionPool.tcp.idleTimeout", 443, "3s"},
		{"an entry does not reach tcp_proxy", "", "connectionPool: {tcp: {idleTimeout: 3s, maxConnectionDuration: 9s}}\nportLevelSettings:\n- port: {number: 443}\n  connectionPool: {tcp: {idleTimeout: 4s}}",
			"connectionPool.tcp.idleTimeout", 443, "3s"},
		{"nor does it take the lifetime from it", "", "connectionPool: {tcp: {idleTimeout: 3s, maxConnectionDuration: 9s}}\nportLevelSettings:\n- port: {number: 443}\n  connectionPool: {tcp: {idleTimeout: 4s}}",
			"connectionPool.tcp.maxConnectionDuration", 443, "9s"},
		{"an entry reaches the cluster of an HTTP port", "", "connectionPool: {tcp: {idleTimeout: 3s}}\nportLevelSettings:\n- port: {number: 80}\n  connectionPool: {tcp: {idleTimeout: 4s}}",
			"connectionPool.tcp.idleTimeout", 80, "4s"},
		{"LEAST_CONN is the default by another name", "", "loadBalancer: {simple: LEAST_CONN}", "loadBalancer.simple", 80, "LEAST_REQUEST"},
		{"tls without a mode starts none", "", "tls: {sni: x}", "tls", 80, "plaintext"},
		{"the system's CAs by name", "", "tls: {mode: SIMPLE, caCertificates: system}", "tls.caCertificates", 80, "the system's CAs"},
		{"CAs of a file", "", "tls: {mode: SIMPLE, caCertificates: /ca}", "tls.caCertificates", 80, "/ca"},
		{"CAs of a Secret", "", "tls: {mode: SIMPLE, credentialName: s}", "tls.caCertificates", 80, "what credentialName s holds"},
		{"certificate of a Secret", "", "tls: {mode: MUTUAL, credentialName: s}", "tls.clientCertificate", 80, "what credentialName s holds"},
		{"0 gateway errors are the default", "", "outlierDetection: {consecutiveGatewayErrors: 0}", "outlierDetection.consecutiveGatewayErrors", 80, "not enforced"},
		{"0 5xx errors are not", "", "outlierDetection: {consecutive5xxErrors: 0}", "outlierDetection.consecutive5xxErrors", 80, "0"},
		{"locality settings of the mesh", "localityLbSetting: {enabled: false}", "tls: {mode: SIMPLE}", "loadBalancer.localityLbSetting", 80, `{"enabled":false}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix, objects := world(t, test.mesh,
				rule("r", "a.example.com", "trafficPolicy:\n  "+strings.ReplaceAll(test.spec, "\n", "\n  ")),
				entry("e", "a.example.com", "DNS", "", "443 TLS", "80 HTTP", "90"))
			port := effective.ReachOf(ix, objects[0]).Numbered(test.port)[0]
			p := effective.LevelsOf(ix, objects[0], -1).For(test.port, effective.Without{})
			if got := field(t, test.field).Value(p, port); got != test.want {
				t.Errorf("%s is %q, want %q", test.field, got, test.want)
			}
		})
	}
}

func TestNamesInEffect(t *testing.T) {
	const sni, names = "tls.sni", "tls.subjectAltNames"
	const requests = "the host of each request"
	tests := []struct {
		resolution string // DYNAMIC_DNS is for *.example.com, anything else for a.example.com
		rest       string // of the ServiceEntry
		tls        string
		field      string
		http, tcp  string // on a port of protocol HTTP, and of TLS
	}{
		{"DNS", "", "mode: SIMPLE", sni, requests, "none"},
		{"DNS", "", "mode: SIMPLE", names, requests, "none"},
		{"DNS", "", "mode: SIMPLE, sni: ''", sni, requests, "none"},
		{"DNS", "", "mode: SIMPLE, sni: x", sni, "x", "x"},
		{"DNS", "", "mode: SIMPLE, sni: x", names, "none", "none"},
		{"DNS", "", "mode: SIMPLE, subjectAltNames: [x]", names, `["x"]`, `["x"]`},
		{"DNS", "", "mode: SIMPLE, subjectAltNames: [x]", sni, requests, "none"},
		{"DNS", "", "mode: SIMPLE, insecureSkipVerify: true", names, "none", "none"},
		{"DNS", "", "mode: SIMPLE, insecureSkipVerify: true", sni, requests, "none"},
		{"DNS", "", "mode: MUTUAL, clientCertificate: /c, privateKey: /k", sni, requests, "none"},
		{"DNS", "", "mode: MUTUAL, clientCertificate: /c, privateKey: /k", names, requests, "none"},
		{"DNS", "", "mode: ISTIO_MUTUAL", sni, "outbound_.80_._.a.example.com", "outbound_.443_._.a.example.com"},
		{"DNS", "", "mode: ISTIO_MUTUAL", names, "none", "none"},
		{"DNS", "", "mode: DISABLE", sni, "none", "none"},
		{"DNS", "subjectAltNames: [e]", "mode: SIMPLE, sni: x", names, `["e"]`, `["e"]`},
		{"DNS", "subjectAltNames: [e]", "mode: ISTIO_MUTUAL", names, `["e"]`, `["e"]`},
		{"DNS", "subjectAltNames: [e]", "mode: SIMPLE, subjectAltNames: [x]", names, `["x"]`, `["x"]`},
		{"DNS", "location: MESH_INTERNAL", "mode: ISTIO_MUTUAL", names, "the service accounts of its endpoints", "the service accounts of its endpoints"},
		{"DYNAMIC_DNS", "", "mode: SIMPLE", sni, requests, "none"},
		{"DYNAMIC_DNS", "", "mode: SIMPLE, sni: x", names, requests, "none"},
		{"DYNAMIC_DNS", "subjectAltNames: [e]", "mode: SIMPLE", names, requests, "none"},
		{"DYNAMIC_DNS", "", "mode: ISTIO_MUTUAL", sni, requests, "none"},
		{"DYNAMIC_DNS", "", "mode: ISTIO_MUTUAL", names, requests, "none"},
		{"DYNAMIC_DNS", "", "mode: ISTIO_MUTUAL, insecureSkipVerify: true", names, "none", "none"},
	}
	for _, test := range tests {
		host := "a.example.com"
		if test.resolution == "DYNAMIC_DNS" {
			host = "*.example.com"
		}
		ix, objects := world(t, "", rule("r", host, "trafficPolicy: {tls: {"+test.tls+"}}"), entry("e", host, test.resolution, test.rest, "443 TLS", "80 HTTP"))
		for number, want := range map[uint32]string{80: test.http, 443: test.tcp} {
			port := effective.ReachOf(ix, objects[0]).Numbered(number)[0]
			if got := field(t, test.field).Value(effective.LevelsOf(ix, objects[0], -1).For(number, effective.Without{}), port); got != want {
				t.Errorf("%s {%s}, port %d with {%s}: %s is %q, want %q", test.resolution, test.rest, number, test.tls, test.field, got, want)
			}
		}
	}
}

func TestTLSOfInMeshHosts(t *testing.T) {
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\nspec: {ports: [{port: 5432, name: tcp}]}"
	const alias = "apiVersion: v1\nkind: Service\nmetadata: {name: alias, namespace: shop}\nspec: {type: ExternalName, externalName: a.example.com, ports: [{port: 443, name: tls}]}"
	tests := []struct{ mesh, host, spec, want string }{
		{"", "db.shop.svc.cluster.local", "tls: {mode: ISTIO_MUTUAL}", "Istio's automatic mutual TLS"},
		{"", "db.shop.svc.cluster.local", "connectionPool: {tcp: {maxConnections: 1}}", "Istio's automatic mutual TLS"},
		{"enableAutoMtls: false", "db.shop.svc.cluster.local", "connectionPool: {tcp: {maxConnections: 1}}", "plaintext"},
		{"", "db.shop.svc.cluster.local", "tls: {mode: DISABLE}", "plaintext"},
		{"", "alias.shop.svc.cluster.local", "connectionPool: {tcp: {maxConnections: 1}}", "plaintext"},
		{"", "alias.shop.svc.cluster.local", "tls: {mode: ISTIO_MUTUAL}", "ISTIO_MUTUAL"},
	}
	for _, test := range tests {
		ix, objects := world(t, test.mesh, rule("r", test.host, "trafficPolicy:\n  "+test.spec), service, alias)
		port := effective.ReachOf(ix, objects[0]).Ports[0]
		p := effective.LevelsOf(ix, objects[0], -1).For(port.Number, effective.Without{})
		if got := field(t, "tls").Value(p, port); got != test.want {
			t.Errorf("%s with %q and mesh %q: %q, want %q", test.host, test.spec, test.mesh, got, test.want)
		}
	}
}

func TestText(t *testing.T) {
	for yaml, want := range map[string]string{
		"v: 1h0m0s": "1h", "v: 90s": "1m30s", "v: 0s": "0s", "v: 3600s": "1h", "v: word": "word", "v: 7": "7", "v: true": "true",
		"v: {b: 1, a: [x]}": `{"b":1,"a":["x"]}`, "v: 1.5h": "1h30m",
	} {
		doc, problem := object.ParseDocument("v.yaml", []byte(yaml), object.Limits{})
		if problem != nil {
			t.Fatal(problem.Message)
		}
		if got := effective.Text(doc.Root().Get("v")); got != want {
			t.Errorf("Text(%s) = %q, want %q", yaml, got, want)
		}
	}
}
