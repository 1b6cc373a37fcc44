package effective_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
)

// portsText writes ports as "a.example.com:443/TLS".
func portsText(ports []effective.Port) []string {
	out := []string{}
	for _, p := range ports {
		out = append(out, fmt.Sprintf("%s:%d/%s", p.Host, p.Number, p.Protocol))
	}
	return out
}

func TestReachOf(t *testing.T) {
	tests := []struct {
		name      string
		host      string
		manifests []string
		want      []string
		hosts     []int
	}{
		{"not in view", "a.example.com", []string{entry("b", "b.example.com", "DNS", "", "443 TLS")}, []string{}, nil},
		{"one host", "a.example.com", []string{entry("a", "a.example.com", "DNS", "", "443 TLS", "80 HTTP")}, []string{"a.example.com:443/TLS", "a.example.com:80/HTTP"}, []int{1, 1}},
		{"two entries of one host", "a.example.com", []string{entry("a", "a.example.com", "DNS", "", "443 TLS"), entry("b", "a.example.com", "DNS", "", "80 HTTP")},
			[]string{"a.example.com:443/TLS", "a.example.com:80/HTTP"}, []int{1, 1}},
		{"a wildcard counts like ports once, under the first host", "*.example.com",
			[]string{entry("b", "b.example.com", "DNS", "", "443 TLS"), entry("a", "a.example.com", "DNS", "", "443 tls"), entry("c", "c.example.com", "DNS", "", "443 HTTP")},
			[]string{"a.example.com:443/TLS", "c.example.com:443/HTTP"}, []int{2, 1}},
		{"and not hosts beside it", "*.example.com", []string{entry("a", "example.com", "DNS", "", "443 TLS"), entry("b", "a.example.org", "DNS", "", "443 TLS")}, []string{}, nil},
		{"a wildcard takes in a narrower wildcard", "*.com", []string{entry("a", "*.example.com", "NONE", "", "443 TLS")}, []string{"*.example.com:443/TLS"}, []int{1}},
		{"an exact rule does not take in the wildcard above it", "a.example.com", []string{entry("a", "*.example.com", "NONE", "", "443 TLS")}, []string{}, nil},
		{"the cluster type tells ports apart", "*.example.com", []string{entry("a", "a.example.com", "DNS", "", "443 TLS"), entry("b", "b.example.com", "NONE", "", "443 TLS")},
			[]string{"a.example.com:443/TLS", "b.example.com:443/TLS"}, []int{1, 1}},
		{"so does the number of endpoints", "*.example.com",
			[]string{entry("a", "a.example.com", "STATIC", "endpoints: [{address: 192.0.2.1}]", "443 TLS"), entry("b", "b.example.com", "STATIC", "endpoints: [{address: 192.0.2.2}, {address: 192.0.2.3}]", "443 TLS")},
			[]string{"a.example.com:443/TLS", "b.example.com:443/TLS"}, []int{1, 1}},
		{"and whether the entry names who may answer", "*.example.com", []string{entry("a", "a.example.com", "DNS", "", "443 TLS"), entry("b", "b.example.com", "DNS", "subjectAltNames: [x]", "443 TLS")},
			[]string{"a.example.com:443/TLS", "b.example.com:443/TLS"}, []int{1, 1}},
		{"and where it is", "*.example.com", []string{entry("a", "a.example.com", "DNS", "", "443 TLS"), entry("b", "b.example.com", "DNS", "location: MESH_INTERNAL", "443 TLS")},
			[]string{"a.example.com:443/TLS", "b.example.com:443/TLS"}, []int{1, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix, objects := world(t, "", append([]string{rule("r", test.host, "trafficPolicy: {tls: {mode: SIMPLE}}")}, test.manifests...)...)
			reach := effective.ReachOf(ix, objects[0])
			if diff := cmp.Diff(test.want, portsText(reach.Ports)); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.hosts, reach.Hosts); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
			if reach.Known() != (len(test.want) > 0) {
				t.Errorf("Known() = %v", reach.Known())
			}
		})
	}
}

func TestLevelsIn(t *testing.T) {
	ix, objects := world(t, "", rule("r", "a.example.com", `trafficPolicy:
  connectionPool: {tcp: {maxConnections: 5}}
  portLevelSettings:
  - port: {number: 443}
    tls: {mode: SIMPLE}
  - port: {number: 443}
    tls: {mode: MUTUAL}
  - port: {}
    tls: {mode: SIMPLE}
  - port: {number: 8443}
    tls: {mode: SIMPLE}
subsets:
- name: one
  trafficPolicy:
    portLevelSettings:
    - port: {number: 80}
      tls: {mode: SIMPLE}
- name: bare
`), entry("e", "a.example.com", "DNS", "", "443 TLS", "80 HTTP"))
	var got []string
	for _, l := range effective.LevelsIn(objects[0], effective.ReachOf(ix, objects[0])) {
		got = append(got, fmt.Sprintf("%s %q %s port=%d shadowed=%v %v", l.Kind, l.Subset, l.Path, l.Port, l.Shadowed, portsText(l.Ports)))
	}
	want := []string{
		`destination "" spec.trafficPolicy port=0 shadowed=false [a.example.com:80/HTTP]`,
		`port "" spec.trafficPolicy.portLevelSettings[0] port=443 shadowed=false [a.example.com:443/TLS]`,
		`port "" spec.trafficPolicy.portLevelSettings[1] port=443 shadowed=true [a.example.com:443/TLS]`,
		`port "" spec.trafficPolicy.portLevelSettings[2] port=0 shadowed=false []`,
		`port "" spec.trafficPolicy.portLevelSettings[3] port=8443 shadowed=false []`,
		`subset "one" spec.subsets[0].trafficPolicy port=0 shadowed=false [a.example.com:443/TLS]`,
		`subset port "one" spec.subsets[0].trafficPolicy.portLevelSettings[0] port=80 shadowed=false [a.example.com:80/HTTP]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
}

func TestUsesIn(t *testing.T) {
	ix, objects := world(t, "", rule("r", "a.example.com", `trafficPolicy:
  connectionPool: {http: {maxRetries: 3, http1MaxPendingRequests: 4}}
  tls: {mode: SIMPLE}
  portLevelSettings:
  - port: {number: 90}
    connectionPool: {http: {maxRetries: 5}}
  - port: {number: 90}
    connectionPool: {http: {maxRetries: 6}}
subsets:
- name: one
  trafficPolicy:
    connectionPool: {http: {h2UpgradePolicy: UPGRADE}}
`), entry("e", "a.example.com", "DNS", "", "443 TLS", "80 HTTP", "90 TCP"))
	levels := effective.LevelsIn(objects[0], effective.ReachOf(ix, objects[0]))
	var got []string
	for _, u := range effective.UsesIn(ix, objects[0], levels) {
		got = append(got, fmt.Sprintf("%s live %v dead %v", u.Path, numbers(u.Live), numbers(u.Dead)))
	}
	want := []string{
		"spec.trafficPolicy.tls live [443 80] dead []",
		"spec.trafficPolicy.connectionPool.http.maxRetries live [80] dead [443]",
		"spec.trafficPolicy.connectionPool.http.http1MaxPendingRequests live [443 80] dead []",
		"spec.trafficPolicy.portLevelSettings[0].connectionPool.http.maxRetries live [] dead [90]",
		// On 443 the subset inherits TLS, so an upgrade shows in ALPN; on 90 the port's entry has dropped it.
		"spec.subsets[0].trafficPolicy.connectionPool.http.h2UpgradePolicy live [443 80] dead [90]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
}

// tcp_proxy takes its timeouts from the destination level, whatever an entry or a subset says.
func TestUsesOfTimers(t *testing.T) {
	ix, objects := world(t, "", rule("r", "a.example.com", `trafficPolicy:
  connectionPool: {tcp: {idleTimeout: 5m}}
  portLevelSettings:
  - port: {number: 443}
    connectionPool: {tcp: {idleTimeout: 6m, maxConnectionDuration: 1h}}
  - port: {number: 443}
    connectionPool: {tcp: {idleTimeout: 7m}}
  - port: {number: 80}
    connectionPool: {tcp: {idleTimeout: 8m}}
  - port: {number: 9090}
    connectionPool: {tcp: {idleTimeout: 9m}}
  - port: {number: 53}
    connectionPool: {tcp: {connectTimeout: 1s}}
subsets:
- name: one
  trafficPolicy:
    connectionPool: {tcp: {idleTimeout: 10m}}
`), entry("e", "a.example.com", "DNS", "", "443 TLS", "80 HTTP", "9090", "5432 TCP", "53 UDP"))
	var got []string
	for _, u := range effective.UsesIn(ix, objects[0], effective.LevelsIn(objects[0], effective.ReachOf(ix, objects[0]))) {
		if u.Field.Timer {
			got = append(got, fmt.Sprintf("%s live %v dead %v", u.Path, numbers(u.Live), numbers(u.Dead)))
		}
	}
	want := []string{
		"spec.trafficPolicy.connectionPool.tcp.idleTimeout live [5432 443 9090] dead []",
		"spec.trafficPolicy.portLevelSettings[0].connectionPool.tcp.maxConnectionDuration live [] dead [443]",
		"spec.trafficPolicy.portLevelSettings[0].connectionPool.tcp.idleTimeout live [] dead [443]",
		"spec.trafficPolicy.portLevelSettings[2].connectionPool.tcp.idleTimeout live [80] dead []",
		"spec.trafficPolicy.portLevelSettings[3].connectionPool.tcp.idleTimeout live [9090] dead []",
		"spec.subsets[0].trafficPolicy.connectionPool.tcp.idleTimeout live [80 9090 53] dead [443 5432]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
}

// What the mesh's Istio does not have is used by nobody, and takes no other field's place.
func TestUsesInOlderReleases(t *testing.T) {
	_, objects := world(t, "", rule("r", "a.example.com", `trafficPolicy:
  retryBudget: {percent: 5}
  connectionPool: {http: {maxRetries: 3, http2KeepAlive: {interval: 5s}}}
`), entry("e", "a.example.com", "DNS", "", "80 GRPC"))
	for version, want := range map[string][]string{
		"1.24": {"spec.trafficPolicy.connectionPool.http.maxRetries live [80] dead []"},
		"1.25": {"spec.trafficPolicy.retryBudget live [80] dead []", "spec.trafficPolicy.connectionPool.http.maxRetries live [] dead [80]"},
		"": {
			"spec.trafficPolicy.retryBudget live [80] dead []", "spec.trafficPolicy.connectionPool.http.maxRetries live [] dead [80]",
			"spec.trafficPolicy.connectionPool.http.http2KeepAlive live [80] dead []",
		},
	} {
		store := mesh.NewStore(mesh.Settings{IstioVersion: version})
		store.Put(objects...)
		ix := store.Snapshot()
		var got []string
		for _, u := range effective.UsesIn(ix, objects[0], effective.LevelsIn(objects[0], effective.ReachOf(ix, objects[0]))) {
			got = append(got, fmt.Sprintf("%s live %v dead %v", u.Path, numbers(u.Live), numbers(u.Dead)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", version, diff)
		}
	}
}

func numbers(ports []effective.Port) []uint32 {
	out := []uint32{}
	for _, p := range ports {
		out = append(out, p.Number)
	}
	return out
}

func TestHasRetryBudget(t *testing.T) {
	ix, objects := world(t, "", rule("r", "a.example.com", `trafficPolicy:
  retryBudget: {percent: 5}
  portLevelSettings:
  - port: {number: 443}
    tls: {mode: SIMPLE}
subsets:
- name: one
  trafficPolicy:
    connectionPool: {tcp: {maxConnections: 5}}
    portLevelSettings:
    - port: {number: 80}
      outlierDetection: {}
`), entry("e", "a.example.com", "DNS", "", "443 HTTP", "80 HTTP"))
	got := map[string]bool{}
	for _, l := range effective.LevelsIn(objects[0], effective.ReachOf(ix, objects[0])) {
		got[l.Path.String()] = l.HasRetryBudget(ix, objects[0])
	}
	want := map[string]bool{
		"spec.trafficPolicy":                                 true,
		"spec.trafficPolicy.portLevelSettings[0]":            false,
		"spec.subsets[0].trafficPolicy":                      false, // it reaches 443, whose entry dropped the budget
		"spec.subsets[0].trafficPolicy.portLevelSettings[0]": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("retry budgets (-want +got):\n%s", diff)
	}
}

func TestUnwatched(t *testing.T) {
	const pool = "trafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}"
	const watching = "trafficPolicy: {outlierDetection: {}}"
	foreign := func(manifest, namespace string) string {
		return strings.Replace(manifest, "namespace: shop", "namespace: "+namespace, 1)
	}
	dns := entry("e", "a.example.com", "DNS", "", "443 TLS")
	tests := []struct {
		name      string
		mesh      string
		manifests []string
		want      []string // object: host client ports at
	}{
		{"no rule", "", []string{dns}, []string{"e: a.example.com shop [443] [spec.trafficPolicy]"}},
		{"the mesh watches", "defaultTrafficPolicy: {outlierDetection: {}}", []string{dns}, nil},
		{"a rule without it", "", []string{dns, rule("r", "a.example.com", pool)}, []string{"r: a.example.com shop [443] [spec.trafficPolicy]"}},
		{"a rule with it", "", []string{dns, rule("r", "a.example.com", watching)}, nil},
		{"an empty block is on", "", []string{dns, rule("r", "*.example.com", watching)}, nil},
		{"a more specific rule without it", "", []string{dns, rule("r", "*.example.com", watching), rule("s", "a.example.com", pool)}, []string{"s: a.example.com shop [443] [spec.trafficPolicy]"}},
		{"an entry that drops it", "", []string{entry("e", "a.example.com", "DNS", "", "443 TLS", "80 HTTP"), rule("r", "a.example.com", "trafficPolicy:\n  outlierDetection: {}\n  portLevelSettings: [{port: {number: 80}, tls: {mode: SIMPLE}}]")},
			[]string{"r: a.example.com shop [80] [spec.trafficPolicy.portLevelSettings[0]]"}},
		{"two rules that Istio merges", "", []string{dns, rule("r", "a.example.com", "subsets: [{name: one}]"), rule("s", "a.example.com", pool)}, []string{"s: a.example.com shop [443] [spec.trafficPolicy]"}},
		{"every subset watches", "", []string{dns, rule("r", "a.example.com", "subsets: [{name: one, trafficPolicy: {outlierDetection: {}}}]")}, nil},
		{"one subset does not", "", []string{dns, rule("r", "a.example.com", "subsets: [{name: one, trafficPolicy: {outlierDetection: {}}}, {name: two}]")},
			[]string{"r: a.example.com shop [443] [spec.trafficPolicy]"}},
		{"PASSTHROUGH gives the list up", "", []string{dns, rule("r", "a.example.com", "trafficPolicy: {loadBalancer: {simple: PASSTHROUGH}}")}, nil},
		{"a private rule serves its own clients only", "", []string{dns, rule("r", "a.example.com", watching+"\nexportTo: ['.']"), foreign(rule("x", "b.example.com", pool), "web")},
			[]string{"e: a.example.com web [443] [spec.trafficPolicy]"}},
		{"a rule of the client's namespace", "", []string{dns, rule("r", "a.example.com", watching), foreign(rule("x", "a.example.com", pool), "web")},
			[]string{"x: a.example.com web [443] [spec.trafficPolicy]"}},
		{"a rule for chosen workloads", "", []string{dns, rule("r", "a.example.com", pool+"\nworkloadSelector: {matchLabels: {app: x}}")}, []string{"r: a.example.com shop [443] [spec.trafficPolicy]"}},
		{"two entries of one host are one host", "", []string{dns, entry("f", "a.example.com", "DNS", "", "80 HTTP")}, []string{"e: a.example.com shop [443 80] [spec.trafficPolicy spec.trafficPolicy]"}},
		{"UDP is not proxied", "", []string{entry("e", "a.example.com", "DNS", "", "53 UDP")}, nil},
		{"NONE", "", []string{entry("e", "a.example.com", "NONE", "", "443 TLS")}, nil},
		{"one name, one address", "", []string{entry("e", "a.example.com", "DNS_ROUND_ROBIN", "", "443 TLS")}, nil},
		{"DYNAMIC_DNS", "", []string{entry("e", "*.example.com", "DYNAMIC_DNS", "", "443 TLS")}, nil},
		{"a wildcard cannot be looked up", "", []string{entry("e", "*.example.com", "DNS", "", "443 TLS")}, nil},
		{"a wildcard behind a name", "", []string{entry("e", "*.example.com", "DNS", "endpoints: [{address: gw.example.com}]", "443 TLS")}, []string{"e: *.example.com shop [443] [spec.trafficPolicy]"}},
		{"two static endpoints", "", []string{entry("e", "a.example.com", "STATIC", "endpoints: [{address: 192.0.2.1}, {address: 192.0.2.2}]", "443 TLS")}, []string{"e: a.example.com shop [443] [spec.trafficPolicy]"}},
		{"one static endpoint", "", []string{entry("e", "a.example.com", "STATIC", "endpoints: [{address: 192.0.2.1}]", "443 TLS")}, nil},
		{"one address under DNS", "", []string{entry("e", "a.example.com", "DNS", "endpoints: [{address: 192.0.2.1}]", "443 TLS")}, nil},
		{"endpoints chosen by labels", "", []string{entry("e", "a.example.com", "STATIC", "workloadSelector: {labels: {app: x}}", "443 TLS")}, nil},
		{"a service of the mesh", "", []string{entry("e", "a.example.com", "DNS", "location: MESH_INTERNAL", "443 TLS")}, nil},
		{"a name of the cluster", "", []string{entry("e", "a.shop.svc.cluster.local", "DNS", "", "443 TLS")}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix, objects := world(t, test.mesh, test.manifests...)
			var got []string
			for _, o := range objects {
				var found []effective.Unwatched
				if target := ix.Target(o); target != nil {
					found = effective.UnwatchedOf(ix, target)
				} else {
					found = effective.UnwatchedUnder(ix, ix.Rule(o))
				}
				for _, u := range found {
					got = append(got, fmt.Sprintf("%s: %s %s %v %v", o.Name, u.Host, u.Client, numbers(u.Ports), u.At))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("unwatched (-want +got):\n%s", diff)
			}
		})
	}
}

// in moves a manifest to another namespace.
func in(namespace, manifest string) string {
	return strings.Replace(manifest, "namespace: shop", "namespace: "+namespace, 1)
}

func TestReachAcrossNamespaces(t *testing.T) {
	private := "exportTo: ['.']"
	for _, test := range []struct {
		name   string
		rule   string
		others []string
		want   []string
	}{
		{"a rule of the root namespace reaches what each namespace means by the host", in("istio-system", rule("r", "a.example.com", "subsets: []")),
			[]string{in("x", entry("a", "a.example.com", "DNS", private, "443 TLS")), in("z", entry("a", "a.example.com", "DNS", private, "443 HTTP"))},
			[]string{"a.example.com:443/TLS", "a.example.com:443/HTTP"}},
		{"but not where the namespace has a rule of its own", in("istio-system", rule("r", "a.example.com", "subsets: []")),
			[]string{in("x", entry("a", "a.example.com", "DNS", private, "443 TLS")), in("z", entry("a", "a.example.com", "DNS", private, "443 HTTP")), in("x", rule("own", "a.example.com", "subsets: []"))},
			[]string{"a.example.com:443/HTTP"}},
		{"unless it is private", in("istio-system", rule("r", "a.example.com", private)),
			[]string{in("x", entry("a", "a.example.com", "DNS", private, "443 TLS"))}, []string{}},
		{"a rule reaches no host that its clients do not see", rule("r", "a.example.com", private),
			[]string{in("x", entry("a", "a.example.com", "DNS", private, "443 TLS"))}, []string{}},
		{"and a host's own rule reaches it for others", rule("r", "a.example.com", "exportTo: [x]"),
			[]string{entry("a", "a.example.com", "DNS", "", "443 TLS"), in("x", rule("other", "b.example.com", "subsets: []"))}, []string{"a.example.com:443/TLS"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ix, objects := world(t, "", append([]string{test.rule}, test.others...)...)
			reach := effective.ReachOf(ix, objects[0])
			if diff := cmp.Diff(test.want, portsText(reach.Ports)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !reach.Known() {
				t.Error("the host is in view")
			}
		})
	}
}

func TestPortsThatRoutesLeadTo(t *testing.T) {
	route := "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: v, namespace: shop}\nspec:\n  hosts: [a.example.com]\n  http:\n  - route: [{destination: {host: a.example.com, port: {number: 443}}}]\n"
	ix, objects := world(t, "", rule("r", "a.example.com", "trafficPolicy: {connectionPool: {http: {maxRetries: 3, maxConcurrentStreams: 5}}}"),
		entry("a", "a.example.com", "DNS", "", "80 HTTP", "443 TLS", "8443 TLS"), route)
	reach := effective.ReachOf(ix, objects[0])
	var carrying []string
	for _, p := range reach.Ports {
		if p.CarriesRequests() == p.ForwardsBytes() {
			t.Errorf("port %d both carries requests and only forwards bytes, or neither", p.Number)
		}
		if p.CarriesRequests() {
			carrying = append(carrying, fmt.Sprint(p.Number))
		}
	}
	if diff := cmp.Diff([]string{"80", "443"}, carrying); diff != "" {
		t.Errorf("ports that carry requests (-want +got):\n%s", diff)
	}
	for _, u := range effective.UsesIn(ix, objects[0], effective.LevelsIn(objects[0], reach)) {
		want := map[string]int{"connectionPool.http.maxRetries": 1, "connectionPool.http.maxConcurrentStreams": 3}[u.Field.Name]
		if len(u.Dead) != want {
			t.Errorf("%s is dead on %v, want %d ports", u.Field.Name, portsText(u.Dead), want)
		}
	}
}

func TestSubsetsThatInherit(t *testing.T) {
	for _, test := range []struct {
		name, subset string
		live         bool
	}{
		{"starts TLS", "trafficPolicy: {tls: {mode: SIMPLE}}", true},
		{"starts TLS with a pool of its own", "trafficPolicy: {tls: {mode: SIMPLE}, connectionPool: {tcp: {maxConnections: 5}}}", false},
		{"starts none", "trafficPolicy: {loadBalancer: {simple: RANDOM}}", false},
		{"says nothing", "labels: {v: one}", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ix, objects := world(t, "", rule("r", "a.example.com", "trafficPolicy: {connectionPool: {http: {h2UpgradePolicy: UPGRADE}}}\nsubsets:\n- name: one\n  "+test.subset),
				entry("a", "a.example.com", "DNS", "", "443 TLS"))
			uses := effective.UsesIn(ix, objects[0], effective.LevelsIn(objects[0], effective.ReachOf(ix, objects[0])))
			if len(uses) == 0 || uses[0].Level.Kind != effective.Destination || (len(uses[0].Live) > 0) != test.live {
				t.Errorf("%+v", uses)
			}
		})
	}
}
