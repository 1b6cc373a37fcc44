package effective_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
)

// told writes losses as "field: from -> to".
func told(losses []effective.Loss) []string {
	out := []string{}
	for _, l := range losses {
		out = append(out, fmt.Sprintf("%s: %s -> %s", strings.TrimPrefix(l.Field.Name, "connectionPool."), l.From, l.To))
	}
	return out
}

func TestLostByEntry(t *testing.T) {
	all := []string{"443 TLS", "80 HTTP", "90"}
	tests := []struct {
		name  string
		mesh  string
		top   string // destination level
		entry string // rest of the entry
		port  string
		want  []string
	}{
		{"nothing above", "", "tunnel: {targetHost: t.example.com, targetPort: 443}", "tls: {mode: SIMPLE}", "80", []string{}},
		{"pool and outlier detection", "", "connectionPool: {tcp: {maxConnections: 5, connectTimeout: 2s}}\noutlierDetection: {interval: 3s}", "tls: {mode: SIMPLE}", "443",
			[]string{"tcp.maxConnections: 5 -> 4294967295", "tcp.connectTimeout: 2s -> 10s", `outlierDetection: {"interval":"3s"} -> no outlier detection`}},
		{"everything restated", "", "connectionPool: {tcp: {maxConnections: 5}}\nloadBalancer: {simple: RANDOM}", "connectionPool: {tcp: {maxConnections: 5}}\nloadBalancer: {simple: RANDOM}", "443", []string{}},
		{"restated with another value", "", "connectionPool: {tcp: {maxConnections: 5}}", "connectionPool: {tcp: {maxConnections: 50}}", "443", []string{}},
		{"half of a block restated", "", "connectionPool: {tcp: {maxConnections: 5, connectTimeout: 2s}}", "connectionPool: {tcp: {maxConnections: 5}}", "443", []string{"tcp.connectTimeout: 2s -> 10s"}},
		{"defaults are no loss", "", "loadBalancer: {simple: LEAST_CONN}\nconnectionPool: {tcp: {connectTimeout: 10s, maxConnections: 0}}\ntls: {mode: DISABLE}", "outlierDetection: {}", "80", []string{}},
		{"the mesh's own values are no loss", "defaultTrafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}", "connectionPool: {tcp: {maxConnections: 5}}", "tls: {mode: SIMPLE}", "80", []string{}},
		{"the mesh fills in another value", "defaultTrafficPolicy: {connectionPool: {tcp: {maxConnections: 9}}}", "connectionPool: {tcp: {maxConnections: 5}}", "tls: {mode: SIMPLE}", "80",
			[]string{"tcp.maxConnections: 5 -> 9"}},
		{"outlier detection that the mesh keeps on, with other thresholds", "defaultTrafficPolicy: {outlierDetection: {consecutive5xxErrors: 9}}", "outlierDetection: {consecutive5xxErrors: 3, interval: 10s}", "tls: {mode: SIMPLE}", "80",
			[]string{"outlierDetection.consecutive5xxErrors: 3 -> 9"}},
		{"encryption", "", "tls: {mode: SIMPLE, sni: x, subjectAltNames: [x]}", "loadBalancer: {simple: RANDOM}", "80", []string{"tls: SIMPLE -> plaintext"}},
		{"names under the same mode", "", "tls: {mode: SIMPLE, sni: x, subjectAltNames: [x]}", "tls: {mode: SIMPLE, sni: x}", "80", []string{`tls.subjectAltNames: ["x"] -> none`}},
		{"names that come from the requests instead", "", "tls: {mode: SIMPLE, sni: x, subjectAltNames: [x]}", "tls: {mode: SIMPLE}", "80",
			[]string{"tls.sni: x -> the host of each request", `tls.subjectAltNames: ["x"] -> the host of each request`}},
		{"names that come from nowhere at L4", "", "tls: {mode: SIMPLE, sni: x, subjectAltNames: [x]}", "tls: {mode: SIMPLE}", "443", []string{"tls.sni: x -> none", `tls.subjectAltNames: ["x"] -> none`}},
		{"names that the requests bear anyway", "", "tls: {mode: SIMPLE, sni: a.example.com, subjectAltNames: [a.example.com]}", "tls: {mode: SIMPLE}", "80", []string{}},
		{"but not what an sni of the entry's switches off", "", "tls: {mode: SIMPLE, subjectAltNames: [a.example.com]}", "tls: {mode: SIMPLE, sni: a.example.com}", "80",
			[]string{`tls.subjectAltNames: ["a.example.com"] -> none`}},
		{"a name of the cluster", "", "tls: {mode: ISTIO_MUTUAL, sni: x}", "tls: {mode: ISTIO_MUTUAL}", "80", []string{"tls.sni: x -> outbound_.80_._.a.example.com"}},
		{"the system's CAs by name", "", "tls: {mode: SIMPLE, caCertificates: system}", "tls: {mode: SIMPLE}", "80", []string{}},
		{"another mode is a choice", "", "tls: {mode: MUTUAL, clientCertificate: /c, privateKey: /k}", "tls: {mode: SIMPLE}", "80", []string{}},
		{"what an entry cannot hold", "", "proxyProtocol: {version: V1}\nretryBudget: {percent: 5}", "tls: {mode: SIMPLE}", "80",
			[]string{`proxyProtocol: {"version":"V1"} -> none`, `retryBudget: {"percent":5} -> none`}},
		{"a budget for retries is nothing at L4", "", "retryBudget: {percent: 5}", "tls: {mode: SIMPLE}", "443", []string{}},
		{"maxRetries was dead under a budget", "", "retryBudget: {percent: 5}\nconnectionPool: {http: {maxRetries: 3}}", "tls: {mode: SIMPLE}", "80", []string{`retryBudget: {"percent":5} -> none`}},
		{"a tunnel stays", "", "tunnel: {targetHost: t.example.com, targetPort: 443}\nconnectionPool: {tcp: {maxConnections: 5}}", "connectionPool: {tcp: {maxConnections: 5}}", "443", []string{}},
		{"tcp_proxy keeps its times", "", "connectionPool: {tcp: {idleTimeout: 5s, maxConnectionDuration: 6s}}", "loadBalancer: {simple: RANDOM}", "443", []string{}},
		{"an HTTP cluster loses them", "", "connectionPool: {tcp: {idleTimeout: 5s, maxConnectionDuration: 6s}}", "loadBalancer: {simple: RANDOM}", "80",
			[]string{"tcp.maxConnectionDuration: 6s -> none", "tcp.idleTimeout: 5s -> 1h"}},
		{"of two idle times only the one in effect", "", "connectionPool: {tcp: {idleTimeout: 5s}, http: {idleTimeout: 6s}}", "loadBalancer: {simple: RANDOM}", "80", []string{"http.idleTimeout: 6s -> 1h"}},
		{"also without a protocol", "", "connectionPool: {tcp: {idleTimeout: 5s}, http: {idleTimeout: 6s}}", "loadBalancer: {simple: RANDOM}", "90", []string{"http.idleTimeout: 6s -> 1h"}},
		{"the other idle time is a choice", "", "connectionPool: {tcp: {idleTimeout: 5s}}", "connectionPool: {http: {idleTimeout: 6s}}", "80", []string{}},
		{"HTTP settings are nothing at L4", "", "connectionPool: {http: {maxRetries: 3, http2MaxRequests: 4, idleTimeout: 5s, h2UpgradePolicy: UPGRADE, http1MaxPendingRequests: 6}}", "loadBalancer: {simple: RANDOM}", "443",
			[]string{"http.http1MaxPendingRequests: 6 -> 4294967295"}},
		{"an opt-out of the mesh's upgrade", "h2UpgradePolicy: UPGRADE", "connectionPool: {http: {h2UpgradePolicy: DO_NOT_UPGRADE}}", "tls: {mode: DISABLE}", "80", []string{"http.h2UpgradePolicy: DO_NOT_UPGRADE -> UPGRADE"}},
		{"streams go with the upgrade", "", "connectionPool: {http: {h2UpgradePolicy: UPGRADE, maxConcurrentStreams: 7}}", "tls: {mode: DISABLE}", "80",
			[]string{"http.h2UpgradePolicy: UPGRADE -> DO_NOT_UPGRADE", "http.maxConcurrentStreams: 7 -> 1024"}},
		{"streams mean nothing to an entry that forbids the upgrade", "", "connectionPool: {http: {h2UpgradePolicy: UPGRADE, maxConcurrentStreams: 7}}", "connectionPool: {http: {h2UpgradePolicy: DO_NOT_UPGRADE}}", "80", []string{}},
		{"local failures mean nothing to an entry that does not split", "", "outlierDetection: {splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 3}", "outlierDetection: {splitExternalLocalOriginErrors: false}", "443", []string{}},
		{"a warm-up means nothing to a random choice", "", "loadBalancer: {simple: ROUND_ROBIN, warmup: {duration: 9s}}", "loadBalancer: {simple: RANDOM}", "80", []string{}},
		{"a warm-up is lost beside the same choice", "", "loadBalancer: {simple: ROUND_ROBIN, warmup: {duration: 9s}}", "loadBalancer: {simple: ROUND_ROBIN}", "80", []string{`loadBalancer.warmup: {"duration":"9s"} -> none`}},
		{"another kind of balancer is a choice", "", "loadBalancer: {simple: ROUND_ROBIN}", "loadBalancer: {consistentHash: {useSourceIp: true}}", "80", []string{}},
		{"hash of a header, which tcp_proxy cannot see", "", "loadBalancer: {consistentHash: {httpHeaderName: x}}", "tls: {mode: DISABLE}", "443", []string{}},
		{"keepalive that the mesh sets as well", "tcpKeepalive: {time: 60s}", "connectionPool: {tcp: {tcpKeepalive: {time: 1m}}}", "tls: {mode: DISABLE}", "80", []string{}},
		{"keepalive", "tcpKeepalive: {time: 60s, probes: 3}", "connectionPool: {tcp: {tcpKeepalive: {time: 30s}}}", "tls: {mode: DISABLE}", "80",
			[]string{"tcp.tcpKeepalive: probes: 3, time: 30s -> probes: 3, time: 1m"}},
		{"an entry for a port that the host lacks", "", "connectionPool: {tcp: {maxConnections: 5}}", "tls: {mode: SIMPLE}", "8443", []string{}},
		{"an entry without a port", "", "connectionPool: {tcp: {maxConnections: 5}}", "tls: {mode: SIMPLE}", "null", []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := "trafficPolicy:\n" + indent(test.top, "  ") + "\n  portLevelSettings:\n  - port: {number: " + test.port + "}\n" + indent(test.entry, "    ")
			ix, objects := world(t, test.mesh, rule("r", "a.example.com", spec), entry("e", "a.example.com", "DNS", "", all...))
			reach := effective.ReachOf(ix, objects[0])
			got := effective.LostByEntry(ix, objects[0], reach, 0)
			if diff := cmp.Diff(test.want, told(slices.DeleteFunc(slices.Clone(got), func(l effective.Loss) bool { return l.Latent }))); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
			if loses := len(effective.LossesAtEntries(ix, objects[0], reach)) > 0; loses != (len(test.want) > 0) {
				t.Errorf("an entry loses a value: %v", loses)
			}
			for _, l := range got {
				if v := l.On.Lookup(l.At); !v.Set() || effective.Text(v) != effective.Text(l.Value) {
					t.Errorf("%s points at %s, which holds %q", l.Field.Name, l.At, effective.Text(v))
				}
			}
		})
	}
}

// What the mesh makes up for is no loss, but a level that restates a value of the block drops the mesh's block.
func TestLatentLosses(t *testing.T) {
	tests := []struct {
		name, mesh, top string
		lost, latent    []string
	}{
		{"pool", "defaultTrafficPolicy: {connectionPool: {tcp: {maxConnections: 9, connectTimeout: 3s}}}",
			"connectionPool: {tcp: {maxConnections: 5, connectTimeout: 3s}}\noutlierDetection: {}",
			[]string{"tcp.maxConnections: 5 -> 9", "outlierDetection: {} -> no outlier detection"}, []string{"tcp.connectTimeout: 3s -> 10s"}},
		{"outlier detection goes as a whole", "defaultTrafficPolicy: {outlierDetection: {interval: 9s}}", "outlierDetection: {interval: 3s, maxEjectionPercent: 10}",
			[]string{"outlierDetection.interval: 3s -> 9s"}, []string{`outlierDetection: {"interval":"3s","maxEjectionPercent":10} -> no outlier detection`}},
		{"nothing lost, nothing to restate", "defaultTrafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}", "connectionPool: {tcp: {maxConnections: 5}}", nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := "trafficPolicy:\n" + indent(test.top, "  ") + "\n  portLevelSettings:\n  - port: {number: 80}\n    loadBalancer: {simple: RANDOM}"
			ix, objects := world(t, test.mesh, rule("r", "a.example.com", spec), entry("e", "a.example.com", "DNS", "", "80 HTTP"))
			var lost, latent []string
			for _, l := range effective.LostByEntry(ix, objects[0], effective.ReachOf(ix, objects[0]), 0) {
				text := told([]effective.Loss{l})
				if l.Latent {
					latent = append(latent, text...)
				} else {
					lost = append(lost, text...)
				}
				if want := l.Field.Name != "outlierDetection" || l.Latent; l.OverMesh != want {
					t.Errorf("%s: OverMesh = %v", l.Field.Name, l.OverMesh)
				}
			}
			if diff := cmp.Diff(test.lost, lost); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.latent, latent); diff != "" {
				t.Errorf("latent losses (-want +got):\n%s", diff)
			}
		})
	}
}

func indent(s, by string) string { return by + strings.ReplaceAll(s, "\n", "\n"+by) }

func TestLostOfAHostThatIsNotInView(t *testing.T) {
	tests := []struct {
		name, host, top string
		want            []string
	}{
		{"only what every kind of port has", "a.example.com", "connectionPool: {tcp: {maxConnections: 5, tcpKeepalive: {time: 5s}}, http: {maxRetries: 3}}\nretryBudget: {percent: 5}",
			[]string{"tcp.maxConnections: 5 -> 4294967295"}},
		{"TLS", "a.example.com", "tls: {mode: SIMPLE}", []string{"tls: SIMPLE -> no TLS of the rule's own"}},
		{"TLS that the mesh may start anyway", "a.example.com", "tls: {mode: ISTIO_MUTUAL}", []string{}},
		{"no TLS", "a.example.com", "tls: {mode: DISABLE}", []string{}},
		{"no TLS inside the mesh", "db.shop.svc.cluster.local", "tls: {mode: DISABLE}", []string{"tls: plaintext -> Istio's automatic mutual TLS"}},
		{"mutual TLS inside the mesh", "db.shop.svc.cluster.local", "tls: {mode: ISTIO_MUTUAL}", []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := "trafficPolicy:\n" + indent(test.top, "  ") + "\n  portLevelSettings:\n  - port: {number: 443}\n    loadBalancer: {simple: RANDOM}"
			ix, objects := world(t, "", rule("r", test.host, spec))
			got := effective.LostByEntry(ix, objects[0], effective.ReachOf(ix, objects[0]), 0)
			if diff := cmp.Diff(test.want, told(got)); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecondEntryForAPortLosesNothing(t *testing.T) {
	ix, objects := world(t, "", rule("r", "a.example.com", `trafficPolicy:
  connectionPool: {tcp: {maxConnections: 5}}
  portLevelSettings:
  - port: {number: 443}
    connectionPool: {tcp: {maxConnections: 6}}
  - port: {number: 443}
    tls: {mode: SIMPLE}
`), entry("e", "a.example.com", "DNS", "", "443 TLS"))
	if got := effective.LostByEntry(ix, objects[0], effective.ReachOf(ix, objects[0]), 1); len(got) != 0 {
		t.Errorf("losses of an entry that Istio ignores: %v", told(got))
	}
}

// A wildcard rule's entry meets ports of several kinds; a loss names those on which it is one.
func TestLossNamesPorts(t *testing.T) {
	ix, objects := world(t, "", rule("r", "*.example.com", `trafficPolicy:
  connectionPool: {tcp: {maxConnections: 5}, http: {maxRetries: 3}}
  portLevelSettings:
  - port: {number: 443}
    loadBalancer: {simple: RANDOM}
`), entry("a", "a.example.com", "DNS", "", "443 TLS"), entry("b", "b.example.com", "DNS", "", "443 HTTP"))
	got := map[string][]string{}
	for _, l := range effective.LostByEntry(ix, objects[0], effective.ReachOf(ix, objects[0]), 0) {
		for _, p := range l.Ports {
			got[l.Field.Name] = append(got[l.Field.Name], string(p.Host))
		}
	}
	want := map[string][]string{
		"connectionPool.tcp.maxConnections": {"a.example.com", "b.example.com"},
		"connectionPool.http.maxRetries":    {"b.example.com"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

func TestLostInSubset(t *testing.T) {
	tests := []struct {
		name   string
		mesh   string
		top    string
		subset string
		want   []string
	}{
		{"a block replaced", "", "connectionPool: {tcp: {maxConnections: 5, connectTimeout: 2s}}\ntls: {mode: SIMPLE}", "connectionPool: {tcp: {maxConnections: 9}}", []string{"tcp.connectTimeout: 2s -> 10s"}},
		{"a block of another name", "", "connectionPool: {tcp: {maxConnections: 5}}", "outlierDetection: {}", []string{}},
		{"an entry inside resets four blocks", "", "connectionPool: {tcp: {maxConnections: 5}}\nproxyProtocol: {version: V1}\nretryBudget: {percent: 5}", "portLevelSettings:\n- port: {number: 80}\n  outlierDetection: {}",
			[]string{"tcp.maxConnections: 5 -> 4294967295"}},
		{"an entry for another port", "", "connectionPool: {tcp: {maxConnections: 5}}", "portLevelSettings:\n- port: {number: 81}\n  outlierDetection: {}", []string{}},
		{"what the destination's entry says counts, not what it hides", "", "connectionPool: {tcp: {connectTimeout: 2s}}\nportLevelSettings:\n- port: {number: 80}\n  connectionPool: {tcp: {maxConnections: 5}}",
			"connectionPool: {http: {maxRetries: 1}}", []string{"tcp.maxConnections: 5 -> 4294967295"}},
		{"the mesh does not fill in behind an entry inside", "defaultTrafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}", "connectionPool: {tcp: {maxConnections: 5}}",
			"portLevelSettings:\n- port: {number: 80}\n  outlierDetection: {}", []string{"tcp.maxConnections: 5 -> 4294967295"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := "trafficPolicy:\n" + indent(test.top, "  ") + "\nsubsets:\n- name: one\n  trafficPolicy:\n" + indent(test.subset, "    ")
			ix, objects := world(t, test.mesh, rule("r", "a.example.com", spec), entry("e", "a.example.com", "DNS", "", "80 HTTP"))
			got := effective.LevelsOf(ix, objects[0], 0).LostInSubset(effective.ReachOf(ix, objects[0]).Numbered(80))
			if diff := cmp.Diff(test.want, told(got)); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
		})
	}
}
