package effective_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
)

// TestTLSState: what a cluster's TLS comes to, in words. The leaves that it is read from are those of TestCompile.
func TestTLSState(t *testing.T) {
	type state = effective.TLSState
	inside := func(ports ...string) string { return entry("api", api, "DNS", "location: MESH_INTERNAL", ports...) }
	for _, c := range []struct {
		compiled

		want state
	}{
		{compiled{why: "requests without TLS", in: []string{dns("80 HTTP")}, at: "80"}, state{State: effective.InPlaintext}},
		{compiled{why: "the client's TLS", in: []string{dns("443 TLS")}, at: "443"}, state{State: effective.ClientTLS}},
		{compiled{why: "bytes that may be anything", in: []string{dns("443 TCP")}, at: "443"}, state{State: effective.NotTold}},
		{compiled{why: "origination", in: []string{dns("443 HTTP"), policy("tls: {mode: SIMPLE}")}, at: "443"}, state{State: effective.Origination, ServerName: "the host of each request", Verified: true, Names: "the host of each request"}},
		{compiled{why: "origination that checks no name", in: []string{dns("443 HTTP"), policy("tls: {mode: SIMPLE, sni: x.example.com}")}, at: "443"}, state{State: effective.Origination, ServerName: "x.example.com", Verified: true}},
		{compiled{why: "origination that checks nothing", in: []string{dns("443 HTTP"), policy("tls: {mode: SIMPLE, insecureSkipVerify: true}")}, at: "443"}, state{State: effective.Origination, ServerName: "the host of each request"}},
		{compiled{why: "around the client's own", in: []string{dns("443 TLS"), policy("tls: {mode: SIMPLE}")}, at: "443"}, state{State: effective.DoubleTLS, Verified: true}},
		{compiled{why: "inside PROXY protocol", in: []string{dns("443 HTTP"), policy("tls: {mode: SIMPLE, sni: x.example.com, subjectAltNames: [x.example.com]}, proxyProtocol: {}")}, at: "443"}, state{State: effective.Origination, ServerName: "x.example.com", Verified: true, Names: `["x.example.com"]`}},
		{compiled{why: "PROXY protocol alone", in: []string{dns("443 HTTP"), policy("proxyProtocol: {}")}, at: "443"}, state{State: effective.InPlaintext}},
		{compiled{why: "a rule that gets none", in: []string{dns("443 HTTP"), policy("tls: {mode: SIMPLE, credentialName: cred}")}, at: "443"}, state{State: effective.InPlaintext}},
		{compiled{why: "the mesh's own", in: []string{inside("80 HTTP"), policy("tls: {mode: ISTIO_MUTUAL}")}, at: "80"}, state{State: effective.MeshMTLS, ServerName: "outbound_.80_._.api.example.com", Verified: true, Names: "the service accounts of its endpoints"}},
		{compiled{why: "the mesh's own, by itself", in: []string{inside("80 HTTP")}, at: "80"}, state{State: effective.AutoMeshMTLS}},
	} {
		t.Run(c.why, func(t *testing.T) {
			ix := c.index(t)
			if diff := cmp.Diff(c.want, c.compile(t, ix).TLS()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFragment: what fields decide, as istioctl spells it; what is left to Envoy or ignored is not in it.
func TestFragment(t *testing.T) {
	r := compiled{in: []string{dns("443 TLS"), policy("connectionPool: {tcp: {maxConnections: 5}}, outlierDetection: {interval: 5s, consecutiveErrors: 3}")}, at: "443"}
	ix := r.index(t)
	js, err := json.MarshalIndent(effective.Fragment(r.compile(t, ix).Settings), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "circuitBreakers": {
    "thresholds": [
      {
        "maxConnections": 5,
        "maxPendingRequests": 4294967295,
        "maxRequests": 4294967295,
        "maxRetries": 4294967295
      }
    ]
  },
  "commonLbConfig": {
    "healthyPanicThreshold": {}
  },
  "connectTimeout": "10s",
  "dnsRefreshRate": "60s",
  "lbPolicy": "LEAST_REQUEST",
  "outlierDetection": {
    "enforcingSuccessRate": 0,
    "interval": "5s"
  },
  "respectDnsTtl": true,
  "type": "STRICT_DNS"
}`
	if diff := cmp.Diff(want, string(js)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestServiceAccountsOfSeveralEntries: the names of a peer are those of all endpoints that any port of the host has. DNS_ROUND_ROBIN
// keeps the first endpoint of a port only, an entry without ports or with a workloadSelector has none.
func TestServiceAccountsOfSeveralEntries(t *testing.T) {
	at := func(accounts ...string) string {
		var list []string
		for _, a := range accounts {
			list = append(list, "{address: "+a+".example.com, serviceAccount: "+a+"}")
		}
		return "location: MESH_INTERNAL\nendpoints: [" + strings.Join(list, ", ") + "]"
	}
	for _, c := range []struct {
		why  string
		in   []string
		want []string
	}{
		{"all", []string{entry("a", api, "DNS", at("a", "b"), "80 HTTP"), entry("b", api, "DNS", at("c"), "81 HTTP", "80 HTTP")}, []string{"a", "b", "c"}},
		{"the first of a single logical host", []string{entry("a", api, "DNS_ROUND_ROBIN", at("a", "b"), "80 HTTP")}, []string{"a"}},
		{"none where the port has one", []string{entry("a", api, "DNS_ROUND_ROBIN", at("a"), "80 HTTP"), entry("b", api, "DNS_ROUND_ROBIN", at("b"), "80 HTTP")}, []string{"a"}},
		{"one where another port has none", []string{entry("a", api, "DNS_ROUND_ROBIN", at("a"), "80 HTTP"), entry("b", api, "DNS_ROUND_ROBIN", at("b"), "80 HTTP", "81 HTTP")}, []string{"a", "b"}},
		{"the host's own name is an endpoint", []string{entry("a", api, "DNS_ROUND_ROBIN", "location: MESH_INTERNAL", "80 HTTP"), entry("b", api, "DNS_ROUND_ROBIN", at("b"), "80 HTTP")}, nil},
		{"no port", []string{entry("a", api, "DNS", at("a"), "80 HTTP"), entry("b", api, "DNS", at("b"))}, []string{"a"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			ix, _ := world(t, "", append(c.in, rule("r", api, "trafficPolicy: {tls: {mode: ISTIO_MUTUAL}}"))...)
			var got []string
			for _, s := range effective.ClusterFor(ix, sidecarIn("shop"), api, 80, "").Settings {
				if strings.Contains(s.Envoy, "match_subject_alt_names") {
					got = append(got, strings.TrimPrefix(s.Value.(string), "spiffe://cluster.local/ns/shop/sa/"))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
