package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
)

// The effect says what Istio compiles: each line was seen in its output for both orders of creation.
func TestRivalServiceEntryEffects(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		severity   lint.Severity
		effect     string
	}{
		{
			"one has more ports", entry("q", "a", "", tls443, dns), entry("q", "b", "", tls443+", "+http80, none), lint.Error,
			"Istio compiles one cluster for port 443, with the resolution of the entry that was created first; the other's endpoints are added to it or dropped; " +
				"Istio compiles clusters for the ports of the entry that was created first only: if that is a, port 80 of b gets a listener but no cluster, " +
				"so HTTP calls there end in 503 with flag NC and other connections are closed; files do not show which is older",
		},
		{
			"the younger has more ports", entry("q", "a", first, tls443, dns), entry("q", "b", last, tls443+", "+http80, dns+", exportTo: ['*']"), lint.Error,
			"for clients that see both, Istio compiles clusters for the ports of a only: port 80 of b gets a listener but no cluster, " +
				"so HTTP calls there end in 503 with flag NC and other connections are closed; a is the older",
		},
		{
			"the older has more ports", entry("q", "a", last, tls443, one), entry("q", "b", first, tls443+", "+http80, dns), lint.Error,
			"Istio compiles one cluster for port 443, with the resolution of b; the other's endpoints are added to it or dropped, " +
				"and Envoy refuses a DNS_ROUND_ROBIN cluster that has two; b is the older",
		},
		{
			"other ports and labels", entry("q", "a", ", labels: {app: a}", tls443, dns), entry("q", "b", "", http80+", {number: 81, name: h, protocol: HTTP}", dns), lint.Error,
			"Istio compiles clusters for the ports of the entry that was created first only: ports 80, 81 of b get a listener but no cluster, or if b is the first, port 443 of a, " +
				"so HTTP calls there end in 503 with flag NC and other connections are closed; files do not show which is older",
		},
		{
			"the chosen one comes first", entry("q", "a", last, tls443, dns+", exportTo: ['.']"), entry("q", "b", first, http80, dns), lint.Error,
			"for clients that see both, Istio compiles clusters for the ports of a only: port 80 of b gets a listener but no cluster, " +
				"so HTTP calls there end in 503 with flag NC and other connections are closed; a comes first because it is exported to chosen namespaces",
		},
		{
			"no ports at all", entry("q", "a", "", "", dns), entry("q", "b", "", tls443, none), lint.Error,
			"Istio compiles clusters for the ports of the entry that was created first only: if that is a, port 443 of b gets a listener but no cluster, " +
				"so HTTP calls there end in 503 with flag NC and other connections are closed; files do not show which is older",
		},
		{
			"UDP and TCP", entry("q", "a", "", "{number: 53, name: udp, protocol: UDP}", dns+", addresses: [192.0.2.53]"), entry("q", "b", "", "{number: 53, name: tcp, protocol: TCP}", dns+", addresses: [192.0.2.53]"), lint.Error,
			"of a port number that both have Istio takes the port of the entry that was created first, and it compiles nothing for UDP: if that is a, port 53 of b gets a listener but no cluster; files do not show which is older",
		},
		{
			"no ports in another namespace", entry("m", "a", "", "", dns), entry("q", "b", "", tls443, dns), lint.Error,
			"Istio gives each client one of them whole: clients in namespace m that of m, clients in namespace q that of q, all others the one that was created first; " +
				"port 443 is missing where that of m is used; files do not show which is older",
		},
		{
			"TLS and HTTP", entry("q", "a", "", tls443, dns), entry("q", "b", "", "{number: 443, name: http, protocol: HTTP}", dns), lint.Warning,
			"on port 443 Istio builds a filter chain for each protocol, but has a route for HTTP requests to the host only if the entry with HTTP was created last; files do not show which is older",
		},
		{
			"TLS, then HTTP", entry("q", "a", first, tls443, dns), entry("q", "b", last, "{number: 443, name: http, protocol: HTTP}", dns), lint.Warning,
			"on port 443 Istio builds a filter chain for each protocol, and both lead to one cluster; a is the older",
		},
		{
			"HTTP, then TLS", entry("q", "a", last, tls443, dns), entry("q", "b", first, "{number: 443, name: http, protocol: HTTP}", dns), lint.Warning,
			"on port 443 Istio builds a filter chain for each protocol, but has no route for HTTP requests to the host; b is the older",
		},
		{
			"TLS and TCP", entry("q", "a", "", tls443, dns), entry("q", "b", "", "{number: 443, name: tcp, protocol: TCP}", dns), lint.Info,
			"on port 443 Istio builds a filter chain for each protocol, and both lead to one cluster",
		},
		{
			"MONGO and TCP", entry("q", "a", "", "{number: 443, name: mongo, protocol: MONGO}", dns), entry("q", "b", "", "{number: 443, name: tcp, protocol: TCP}", dns), lint.Warning,
			"on port 443 Envoy reads the protocol of the entry that was created first; files do not show which is older",
		},
		{
			"HTTP and none", entry("q", "a", "", http80, dns), entry("q", "b", "", "{number: 80, name: http}", dns), lint.Warning,
			"on port 80 connections that are not HTTP reach the host only if the entry with no protocol was created first; files do not show which is older",
		},
		{
			"HTTP, then none", entry("q", "a", first, http80, dns), entry("q", "b", last, "{number: 80, name: http}", dns), lint.Warning,
			"on port 80 connections that are not HTTP do not reach the host; a is the older",
		},
		{
			"none, then HTTP", entry("q", "a", last, http80, dns), entry("q", "b", first, "{number: 80, name: http}", dns), lint.Warning,
			"on port 80 Envoy takes connections that are not HTTP to be for the host too; b is the older",
		},
		{
			"GRPC and HTTP", entry("q", "a", "", "{number: 80, name: grpc, protocol: GRPC}", dns), entry("q", "b", "", http80, dns), lint.Warning,
			"on port 80 Envoy speaks the protocol of the entry that was created first to the endpoints; files do not show which is older",
		},
		{
			"endpoints of a list", entry("q", "a", "", tls443, static+", endpoints: [{address: 192.0.2.1}]"), entry("q", "b", "", tls443, static+", endpoints: [{address: 192.0.2.2}]"), lint.Info,
			"Envoy spreads calls over the endpoints of both",
		},
		{
			"endpoints under two port names", entry("q", "a", "", tls443, static+", endpoints: [{address: 192.0.2.1}]"),
			entry("q", "b", "", "{number: 443, name: https, protocol: TLS}", static+", endpoints: [{address: 192.0.2.2}]"), lint.Error,
			"Envoy uses the endpoints of the entry that was created first only, because the two give the port different names; files do not show which is older",
		},
		{
			"one endpoint each", entry("q", "a", first, tls443, one+", endpoints: [{address: a.example.org}]"), entry("q", "b", last, tls443, one), lint.Error,
			"Envoy uses the endpoints of a only, because one endpoint is all that DNS_ROUND_ROBIN takes; a is the older",
		},
		{
			"endpoints beside the host's own name", entry("q", "a", "", tls443, dns+", endpoints: [{address: a.example.org}]"), entry("q", "b", "", tls443, dns), lint.Warning,
			"Envoy spreads calls over the endpoints of the one and the host's own name, since the other has no endpoints",
		},
		{
			"names go by age, not by exportTo", entry("q", "a", "", tls443, dns+", exportTo: ['.'], subjectAltNames: [n1]"), entry("q", "b", "", tls443, dns), lint.Warning,
			"for clients that see both, where a DestinationRule starts TLS and names none itself, the certificate is held to the subjectAltNames of the entry that was created last; a comes first because it is exported to chosen namespaces",
		},
		{
			"addresses of HTTP ports", entry("q", "a", first, http80, dns+", addresses: [192.0.2.1]"), entry("q", "b", last, http80, dns), lint.Info,
			"HTTP requests to an address find a route only if it is one of b; a is the older",
		},
		{
			"targetPort of NONE", entry("q", "a", first, tls443, none), entry("q", "b", last, "{number: 443, name: tls, protocol: TLS, targetPort: 6443}", none), lint.Warning,
			"Envoy dials the targetPort of a; a is the older",
		},
		{
			"targetPort of DNS", entry("q", "a", "", tls443, dns), entry("q", "b", "", "{number: 443, name: tls, protocol: TLS, targetPort: 6443}", dns), lint.Warning,
			"Envoy spreads connections over both ports",
		},
		{
			"location", entry("q", "a", first, http80, dns), strings.Replace(entry("q", "b", last, http80, dns), "MESH_EXTERNAL", "MESH_INTERNAL", 1), lint.Warning,
			"Istio takes the location of a: whether calls are mesh-internal, with automatic mutual TLS, depends on it; a is the older",
		},
		{
			"nothing", entry("q", "a", "", tls443, dns), entry("q", "b", ", labels: {app: b}", tls443, dns), lint.Info,
			"Istio compiles one cluster for port 443, so one of the two is enough",
		},
		{
			"two namespaces", entry("m", "a", "", tls443, dns), entry("q", "b", "", tls443+", "+http80, dns), lint.Error,
			"Istio gives each client one of them whole: clients in namespace m that of m, clients in namespace q that of q, all others the one that was created first; " +
				"port 80 is missing where that of m is used; files do not show which is older",
		},
		{
			"two namespaces and ages", entry("m", "a", last, tls443, dns), entry("q", "b", first, http80, dns), lint.Error,
			"Istio gives each client one of them whole: clients in namespace m that of m, clients in namespace q that of q, all others that of q, which is the older; " +
				"port 80 is missing where that of m is used, port 443 is missing where that of q is used",
		},
		{
			"an override at home", entry("m", "a", "", tls443, dns+", exportTo: ['.']"), entry("q", "b", "", tls443+", "+http80, dns), lint.Warning,
			"Istio gives each client one of them whole: clients in namespace m that of m; port 80 is missing where that of m is used",
		},
		{
			"an override with the same ports", entry("m", "a", "", tls443, dns+", exportTo: ['.']"), entry("q", "b", "", tls443, none), lint.Info,
			"Istio gives each client one of them whole: clients in namespace m that of m",
		},
		{
			"exported to a third", entry("m", "a", "", tls443, dns+", exportTo: [z, w]"), entry("q", "b", "", http80, dns), lint.Warning,
			"Istio gives each client one of them whole: those in w (and 1 more) that of m, which is exported to chosen namespaces; port 80 is missing where that of m is used",
		},
		{
			"both exported to a third", entry("m", "a", "", tls443, dns+", exportTo: [z]"), entry("q", "b", "", tls443, dns+", exportTo: [z], subjectAltNames: [n1]"), lint.Warning,
			"Istio gives each client one of them whole: those in z the one that was created first; files do not show which is older",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := judged(t, "MX306", c.a+c.b)
			if len(found) != 2 {
				t.Fatalf("%d findings", len(found))
			}
			if f := found[0]; f.Effect != c.effect || f.Severity != c.severity {
				t.Errorf("%s: %s\n want %s: %s", f.Severity, f.Effect, c.severity, c.effect)
			}
			if found[1].Severity != c.severity {
				t.Errorf("seen from the other it is %s", found[1].Severity)
			}
		})
	}
}

func TestRivalListenerEffects(t *testing.T) {
	tcp := func(name, host, protocol, meta, spec string) string {
		return strings.Replace(entry("q", name, meta, "{number: 5432, name: db"+protocol+"}", spec), "x.example.com", host, 1)
	}
	for _, c := range []struct {
		name, a, b string
		severity   lint.Severity
		effect     string
	}{
		{
			"TCP", tcp("a", "a.example.com", ", protocol: TCP", "", dns), tcp("b", "b.example.com", ", protocol: TCP", "", dns), lint.Error,
			"Envoy has one filter chain for both, which leads to the entry that was created first: connections meant for the other host are delivered to it as well; files do not show which is older",
		},
		{
			"the chosen one comes first", tcp("a", "a.example.com", ", protocol: TCP", last, dns+", exportTo: ['.']"), tcp("b", "b.example.com", ", protocol: TCP", first, dns), lint.Error,
			"Envoy has one filter chain for both, which leads to a: connections meant for the other host are delivered to it as well; a comes first because it is exported to chosen namespaces",
		},
		{
			"no protocol", tcp("a", "a.example.com", "", first, dns), tcp("b", "b.example.com", "", last, dns), lint.Error,
			"Envoy has one filter chain for both, which leads to a: connections that are not HTTP and meant for the other host are delivered to it as well; a is the older",
		},
		{
			"NONE", tcp("a", "a.example.com", ", protocol: TCP", "", none), tcp("b", "b.example.com", ", protocol: TCP", "", none), lint.Warning,
			"Envoy has one filter chain for both, which leads to the entry that was created first: connections meant for the other host still reach the address that was dialled, but count as traffic of this one; files do not show which is older",
		},
	} {
		found := judged(t, "MX306", c.a+c.b)
		if len(found) != 2 || found[0].Effect != c.effect || found[0].Severity != c.severity {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
}

// An entry with very many rivals has one finding, which names the worst and some others.
func TestManyRivals(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		b.WriteString(entry("q", fmt.Sprintf("e%03d", i), "", tls443, dns))
	}
	b.WriteString(entry("q", "z", "", tls443, none))
	found := judged(t, "MX306", b.String())
	if len(found) != 301 {
		t.Fatalf("%d findings", len(found))
	}
	for _, f := range found {
		if f.Severity != lint.Error || len(f.Related) > 5 || !strings.HasSuffix(f.Message, "; 299 more entries have it") {
			t.Fatalf("%s: %s, %d related", f.Severity, f.Message, len(f.Related))
		}
	}
}
