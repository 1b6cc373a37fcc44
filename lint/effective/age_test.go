package effective_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
)

// aged is a DestinationRule for api.example.com.
func aged(namespace, name, created, rest string) string {
	if created != "" {
		created = ", creationTimestamp: '" + created + "'"
	}
	return "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {namespace: " + namespace + ", name: " + name + created + "}\nspec: {host: api.example.com" + rest + "}"
}

func TestOfUnknownAge(t *testing.T) {
	const long, short = "2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z"
	host := entry("api", "api.example.com", "DNS", "", "443 TLS")
	for _, c := range []struct {
		name    string
		objects []string
		client  string
		want    []string
	}{
		{"two rules of one namespace", []string{host, aged("shop", "a", "", ""), aged("shop", "b", "", "")}, "shop", []string{"a b"}},
		{"both say how old they are", []string{host, aged("shop", "a", long, ""), aged("shop", "b", short, "")}, "shop", nil},
		{"one does", []string{host, aged("shop", "a", long, ""), aged("shop", "b", "", "")}, "shop", []string{"a b"}},
		{"the namespace decides", []string{host, aged("shop", "a", "", ""), aged("pay", "b", "", "")}, "pay", nil},
		{"the labels of the client decide", []string{host, aged("shop", "a", "", ""), aged("shop", "b", "", ", workloadSelector: {matchLabels: {app: other}}")}, "shop", nil},
		{"two entries of one host", []string{host, entry("other", "api.example.com", "STATIC", "", "443 TLS")}, "shop", []string{"api other"}},
		{"one entry is the client's own", []string{host, strings.ReplaceAll(entry("mine", "api.example.com", "DNS", "", "443 TLS"), "namespace: shop", "namespace: pay")}, "pay", nil},
		{"a host that nobody defines", []string{aged("shop", "a", "", ""), aged("shop", "b", "", "")}, "shop", nil},
	} {
		ix, _ := world(t, "", c.objects...)
		var got []string
		for _, list := range effective.OfUnknownAge(ix, sidecarIn(c.client), "api.example.com") {
			var names []string
			for _, o := range list {
				names = append(names, o.Name)
			}
			got = append(got, strings.Join(names, " "))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// What a client waits for hangs on the route: its own limits may be shorter, and it may not try again at all.
func TestFeltConnectTime(t *testing.T) {
	route := func(rest string) string {
		return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: vs, namespace: shop}\nspec: {hosts: [api.example.com], http: [{route: [{destination: {host: api.example.com}}]" + rest + "}]}"
	}
	slow := aged("shop", "slow", "", ", trafficPolicy: {connectionPool: {tcp: {connectTimeout: 5s}}}")
	for _, c := range []struct {
		name, protocol, rest string
		want                 string
		attempts             int64
	}{
		{"Istio's own retries", "80 HTTP", "", "15s", 3},
		{"bytes are not sent again", "80 TCP", "", "5s", 1},
		{"the route's retries", "80 HTTP", ", retries: {attempts: 4}", "25s", 5},
		{"the route's timeout", "80 HTTP", ", timeout: 1s, retries: {attempts: 3}", "1s", 4},
		{"a shorter time for each try", "80 HTTP", ", retries: {attempts: 3, perTryTimeout: 2s}", "8s", 4},
		{"a longer one", "80 HTTP", ", retries: {attempts: 3, perTryTimeout: 20s}", "20s", 4},
		{"retries that are not about connections", "80 HTTP", ", retries: {attempts: 3, retryOn: 'retriable-4xx'}", "5s", 1},
		{"among others about connections", "80 HTTP", ", retries: {attempts: 3, retryOn: 'retriable-4xx, connect-failure'}", "20s", 4},
	} {
		manifests := []string{entry("api", "api.example.com", "DNS", "", c.protocol), slow}
		if c.rest != "" {
			manifests = append(manifests, route(c.rest))
		}
		ix, _ := world(t, "", manifests...)
		felt, ok := effective.ClusterFor(ix, sidecarIn("shop"), "api.example.com", 80, "").FeltConnectTime()
		if !ok || felt.Time.String() != c.want || felt.Attempts != c.attempts {
			t.Errorf("%s: %s in %d attempts, want %s in %d", c.name, felt.Time, felt.Attempts, c.want, c.attempts)
		}
	}
}

// A key of consistentHash goes to the routes, whichever level has it; a port entry without one keeps the destination level's.
func TestRouteHash(t *testing.T) {
	const header, cookie = "loadBalancer: {consistentHash: {httpHeaderName: x-user}}", "loadBalancer: {consistentHash: {httpCookie: {name: who, ttl: 1m}}}"
	for _, c := range []struct {
		name, policy string
		want         map[string]string
	}{
		{"destination level", header, map[string]string{"hash_policy[0].header.header_name": "x-user"}},
		{"port entry", header + ", portLevelSettings: [{port: {number: 80}, " + cookie + "}]",
			map[string]string{"hash_policy[0].cookie.name": "who", "hash_policy[0].cookie.ttl": "60s"}},
		{"port entry without a key", header + ", portLevelSettings: [{port: {number: 80}, loadBalancer: {simple: RANDOM}}]", map[string]string{"hash_policy[0].header.header_name": "x-user"}},
		{"no key", "loadBalancer: {consistentHash: {ringHash: {}}}", map[string]string{}},
		{"query parameter", "loadBalancer: {consistentHash: {httpQueryParameterName: q}}", map[string]string{"hash_policy[0].query_parameter.name": "q"}},
		{"source address", "loadBalancer: {consistentHash: {useSourceIp: true}}", map[string]string{"hash_policy[0].connection_properties.source_ip": "true"}},
	} {
		ix, _ := world(t, "", entry("api", "api.example.com", "DNS", "", "80 HTTP"), aged("shop", "hash", "", ", trafficPolicy: {"+c.policy+"}"))
		retries := effective.ClusterFor(ix, sidecarIn("shop"), "api.example.com", 80, "").Retries
		if len(retries) != 1 {
			t.Fatalf("%s: %d routes", c.name, len(retries))
		}
		if diff := cmp.Diff(c.want, map[string]string(effective.Leaves(retries[0].Hash))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
