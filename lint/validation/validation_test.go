package validation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/validation"
)

func refusals(t *testing.T, kind, meta, spec string) []string {
	t.Helper()
	text := fmt.Sprintf("apiVersion: networking.istio.io/v1\nkind: %s\nmetadata: {name: a, namespace: shop%s}\nspec: {%s}\n", kind, meta, spec)
	f, err := object.Load(context.Background(), "a.yaml", strings.NewReader(text), object.Limits{})
	if err != nil || len(f.Objects) != 1 || len(f.Problems) > 0 {
		t.Fatal(err, f.Problems)
	}
	out := []string{}
	for _, r := range validation.Refusals(f.Objects[0]) {
		at := r.Path
		if r.Missing != "" {
			at = at.Child(r.Missing)
		}
		out = append(out, at.String()+": "+r.Message)
	}
	return out
}

// What the fixtures of rejected-by-istio cannot show, since the schema refuses it as well, or another rule explains it better.
func TestRefusalsBesideTheSchema(t *testing.T) {
	const ports = `, ports: [{number: 443, name: tls, protocol: TLS}]`
	for _, c := range []struct{ name, kind, meta, spec, want string }{
		{"no host", "ServiceEntry", "", `resolution: NONE`, "spec.hosts: the ServiceEntry names no host"},
		{"every host", "ServiceEntry", "", `hosts: ["*"]`, `spec.hosts[0]: the host is "*", and a ServiceEntry cannot be for every host there is`},
		{"empty host", "ServiceEntry", "", `hosts: [""]`, `spec.hosts[0]: host "" is empty`},
		{"long host", "ServiceEntry", "", `hosts: [` + strings.Repeat("a.", 130) + `com]`, `has 263 characters, and 255 are the most that a name can have`},
		{"timeouts without a unit", "DestinationRule", "", `host: a, trafficPolicy: {connectionPool: {tcp: {idleTimeout: "500"}}, loadBalancer: {consistentHash: {httpCookie: {name: a, ttl: "60"}}}}`, `tcp.idleTimeout: idleTimeout is "500", which is no duration|httpCookie.ttl: ttl is "60", which is no duration`},
		{"colons before a number", "ServiceEntry", "", `hosts: ["a.com:g:0.0.1"]`, `spec.hosts[0]: host "a.com:g:0.0.1" holds a colon`},
		{"certificate without a key", "DestinationRule", "", `host: a, trafficPolicy: {tls: {mode: MUTUAL, privateKey: /k}}`, "tls.clientCertificate: mode MUTUAL needs clientCertificate beside privateKey /k"},
		{"endpoints beside a selector", "ServiceEntry", "", `hosts: [a.com], resolution: STATIC, workloadSelector: {labels: {a: b}}, endpoints: [{address: 192.0.2.1}]`, "spec.endpoints: endpoints stand beside workloadSelector"},
		{"selector with a star", "ServiceEntry", "", `hosts: [a.com], workloadSelector: {labels: {"a*": b}}`, "spec.workloadSelector.labels.a*: the selector has the label a*=b"},
		{"selector without a name", "ServiceEntry", "", `hosts: [a.com], workloadSelector: {labels: {"": b}}`, "the selector has a label with an empty name"},
		{"endpoints of nothing", "ServiceEntry", "", `hosts: [a.com], endpoints: [{address: 192.0.2.1}]`, "spec.endpoints: endpoints are listed, and resolution is omitted (NONE), by which Envoy goes to the address that the client dialled"},
		{"wildcard to look up", "ServiceEntry", "", `hosts: ["*.a.com"], resolution: DNS`, `spec.resolution: resolution DNS looks hosts up in DNS, and "*.a.com" is a wildcard without an endpoint`},
		{"two round-robin endpoints", "ServiceEntry", "", `hosts: [a.com], resolution: DNS_ROUND_ROBIN, endpoints: [{address: b.com}, {address: c.com}]`, "spec.endpoints: 2 endpoints are listed"},
		{"range to look up", "ServiceEntry", "", `hosts: [a.com], resolution: DNS, addresses: [192.0.2.0/24]`, "spec.addresses[0]: address 192.0.2.0/24 is a range"},
		{"name that is not looked up", "ServiceEntry", "", `hosts: [a.com], resolution: STATIC, endpoints: [{address: b.com}]`, `spec.endpoints[0].address: endpoint "b.com" is no IP address`},
		{"nowhere", "ServiceEntry", "", `hosts: [a.com], resolution: STATIC, endpoints: [{labels: {a: b}}]`, "spec.endpoints[0].address: endpoint 1 has neither an address nor a network"},
		{"nothing to look up", "ServiceEntry", "", `hosts: [a.com], resolution: DNS, endpoints: [{labels: {a: b}}]`, "spec.endpoints[0].address: endpoint 1 has no address to look up"},
		{"socket", "ServiceEntry", "", `hosts: [a.com], resolution: STATIC, endpoints: [{address: "unix://a"}]` + ports, `spec.endpoints[0].address: endpoint "unix://a" is no absolute path to a file`},
		{"socket without a path", "ServiceEntry", "", `hosts: [a.com], resolution: STATIC, endpoints: [{address: "unix://"}]` + ports, "names no socket"},
		{"socket with ports", "ServiceEntry", "", `hosts: [a.com], resolution: STATIC, endpoints: [{address: "unix:///a", ports: {tls: 1}}]` + ports, "spec.endpoints[0].ports: endpoint unix:///a is a socket and has no ports"},
		{"label without a name", "ServiceEntry", "", `hosts: [a.com], resolution: STATIC, endpoints: [{address: 192.0.2.1, labels: {` + strings.Repeat("x", 64) + `: a}}]`, "has a name of 64 characters, and 63 are the most"},
		{"label of a long domain", "ServiceEntry", "", `hosts: [a.com], resolution: STATIC, endpoints: [{address: 192.0.2.1, labels: {` + strings.Repeat("x.", 127) + `x/a: a}}]`, "before the slash has 255 characters, and 253 are the most"},
		{"ports twice", "ServiceEntry", "", `hosts: [a.com], ports: [{number: 80, name: a, protocol: HTTP}, {number: 80, name: a, protocol: HTTP}]`, "spec.ports[1].name: two ports have the name a; endpoints name ports by it|spec.ports[1].number: port 80 is listed twice"},
		{"ports out of range", "ServiceEntry", "", `hosts: [a.com], ports: [{number: 0, name: a, targetPort: 70000}]`, "spec.ports[0].number: number is 0; ports go from 1 to 65535|spec.ports[0].targetPort: targetPort is 70000"},
		{"port without a name", "ServiceEntry", "", `hosts: [a.com], ports: [{number: 80, protocol: HTTP}]`, "spec.ports[0].name: port 80 has no name, and every port needs one, such as http"},
		{"dynamic", "ServiceEntry", `, labels: {istio.io/use-waypoint: w}`, `hosts: [a.com], resolution: DYNAMIC_DNS, location: MESH_INTERNAL, addresses: [192.0.2.1], ports: [{number: 443, name: https, protocol: HTTPS}]`,
			`spec.resolution: resolution DYNAMIC_DNS is for wildcards only, and host "a.com" is none|spec.addresses: addresses are listed (1)|spec.ports[0].protocol: port 443 has protocol HTTPS|spec.location: location is MESH_INTERNAL`},
		{"no host of a rule", "DestinationRule", "", `trafficPolicy: {retryBudget: {}}`, "spec.host: the DestinationRule names no host"},
		{"empty lists count for nothing", "DestinationRule", "", `host: a, trafficPolicy: {portLevelSettings: []}`, "spec.trafficPolicy: trafficPolicy is empty"},
		{"short times", "DestinationRule", "", `host: a, trafficPolicy: {connectionPool: {tcp: {connectTimeout: 0s, idleTimeout: 1500us}}}`, "connectTimeout is 0s; 1ms is the least|idleTimeout is 1500us, which is no whole number of milliseconds"},
		{"keepalive", "DestinationRule", "", `host: a, trafficPolicy: {connectionPool: {http: {http2KeepAlive: {interval: 1s}}}}`, "spec.trafficPolicy.connectionPool.http.http2KeepAlive.timeout: http2KeepAlive has no timeout, and needs both interval and timeout"},
		{"upgrade and not", "DestinationRule", "", `host: a, trafficPolicy: {connectionPool: {http: {h2UpgradePolicy: UPGRADE, useClientProtocol: true}}}`, "useClientProtocol is true beside h2UpgradePolicy UPGRADE"},
		{"failures that do not count", "DestinationRule", "", `host: a, trafficPolicy: {outlierDetection: {consecutiveLocalOriginFailures: 3}}`, "consecutiveLocalOriginFailures is 3, which only counts with splitExternalLocalOriginErrors: true"},
		{"tunnel to nowhere", "DestinationRule", "", `host: a, trafficPolicy: {tunnel: {protocol: GET}}`, `tunnel protocol is "GET"; CONNECT or POST is wanted|spec.trafficPolicy.tunnel.targetHost: the tunnel leads to no host|spec.trafficPolicy.tunnel.targetPort: the tunnel leads to no port`},
		{"rings", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {consistentHash: {minimumRingSize: 3, maglev: {}}}}`, "minimumRingSize is 3 beside ringHash or maglev|maglev has no tableSize"},
		{"large table", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {consistentHash: {maglev: {tableSize: 5000011}}}}`, "tableSize is 5000011; it has to be less than 5000011"},
		{"two orders", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {localityLbSetting: {}, zoneAwareLbSetting: {failoverPriority: [topology.kubernetes.io/zone]}}}`, "zoneAwareLbSetting stands beside localityLbSetting|failoverPriority names topology.kubernetes.io/zone, which zoneAwareLbSetting takes care of itself"},
		{"failover and distribute", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {localityLbSetting: {distribute: [{from: a, to: {a: 100}}], failover: [{from: a, to: b}]}}}`, "failover stands beside distribute"},
		{"regions in two orders", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {localityLbSetting: {failoverPriority: [topology.istio.io/subzone], failover: [{from: a, to: b}]}}}`, "failoverPriority names topology.istio.io/subzone beside failover"},
		{"weights", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {localityLbSetting: {distribute: [{from: a, to: {a: 101}}]}}}`, "the weight of a is 101; weights go from 1 to 100"},
		{"stars", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {localityLbSetting: {distribute: [{from: "a*b", to: {a: 100}}]}}}`, `locality "a*b" has a star that is not at its end, or more than one`},
		{"empty part", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {localityLbSetting: {distribute: [{from: "a//b", to: {a: 100}}]}}}`, `locality "a//b" has an empty part`},
		{"warmup", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {warmup: {aggression: 0, minimumPercent: 101}}}`, "warmup has no duration|minimumPercent is 101; 100 is the most|aggression is 0; it has to be above 0"},
		{"nameless cookie", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {consistentHash: {httpCookie: {attributes: [{value: a}]}}}}`, "httpCookie has no name|attribute 1 of httpCookie has no name"},
		{"nameless subset", "DestinationRule", "", `host: a, subsets: [{labels: {a: b}}]`, "spec.subsets[0].name: subset 1 has no name"},
		{"chosen workloads elsewhere", "DestinationRule", "", `host: a, exportTo: [shop, b], workloadSelector: {matchLabels: {a: b}}`, "spec.exportTo: exportTo is shop, b, and a DestinationRule with a workloadSelector"},
		{"mutual TLS without a certificate", "DestinationRule", "", `host: a, trafficPolicy: {tls: {mode: MUTUAL}}`, "mode MUTUAL needs clientCertificate and privateKey, files in the proxy"},
		{"nothing verified, from a secret", "DestinationRule", "", `host: a, trafficPolicy: {tls: {mode: SIMPLE, insecureSkipVerify: true, credentialName: b}}`, "credentialName stands beside insecureSkipVerify: true"},
		{"annotations", "DestinationRule", `, annotations: {internal.istio.io/parent-namespace: a}`, `host: a`, "annotation internal.istio.io/parent-namespace cannot be set: only istiod may set it"},

		{"values of other types are the schema's", "ServiceEntry", "", `hosts: [1, {}, null], addresses: 5, ports: [x, 3], exportTo: {a: b}, endpoints: "x"`, ""},
		{"so it is for rules", "DestinationRule", "", `host: 3, subsets: [x, {name: 5, labels: 7}], trafficPolicy: {connectionPool: 5, tls: [], loadBalancer: x, outlierDetection: 1, tunnel: y, portLevelSettings: [7]}`, ""},
		{"null is absent", "DestinationRule", "", `host: a, trafficPolicy: null, subsets: null, exportTo: null, workloadSelector: null`, ""},
		{"localities in an order that Istio takes", "DestinationRule", "", `host: a, trafficPolicy: {loadBalancer: {localityLbSetting: {distribute: [{from: us/a, to: {us: 100}}, {from: "us/*", to: {us: 100}}, {from: "*", to: {us: 100}}]}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := refusals(t, c.kind, c.meta, c.spec)
			want := strings.Split(c.want, "|")
			if c.want == "" {
				want = nil
			}
			if len(got) != len(want) {
				t.Fatalf("refusals %s", cmp.Diff(want, got))
			}
			for i := range want {
				if !strings.Contains(got[i], want[i]) {
					t.Errorf("%q, want %q", got[i], want[i])
				}
			}
		})
	}
}
