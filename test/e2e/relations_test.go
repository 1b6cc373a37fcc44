package e2e

import (
	"strings"
	"testing"

	"github.com/meshvet/meshvet/test/e2e/release"
)

// rates are a ServiceEntry, a DestinationRule with subsets, and routes that lead to one of them.
const rates = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: rates}
spec:
  exportTo: [.]
  hosts: [rates.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports:
  - {number: 8080, name: http, protocol: HTTP}
  endpoints:
  - {address: a.rates.example.com, labels: {version: v1}}
  - {address: b.rates.example.com, labels: {version: v2}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: rates}
spec:
  exportTo: [.]
  host: rates.example.com
  subsets:
  - {name: v1, labels: {version: v1}}
  - {name: v2, labels: {version: v2}}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: rates}
spec:
  exportTo: [.]
  hosts: [rates.example.com]
  http:
  - route:
    - {destination: {host: rates.example.com, subset: v1}, weight: 50}
    - {destination: {host: rates.example.com, subset: v2}, weight: 50}
`

// TestDelete: removing something that others need is told.
func TestDelete(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	t.Run("a ServiceEntry that a DestinationRule needs", func(t *testing.T) {
		t.Parallel()
		ns := namespace(t, r)
		apply(t, ns, strings.ReplaceAll(passthrough, "payments", "gone")+"---\n"+strings.ReplaceAll(httpSettings, "payments", "gone"))
		knowsAll(t, r, "DestinationRule")
		s := kubectl(t, "", "delete", "-n", ns, "serviceentry", "gone")
		if s.Refused() {
			t.Fatal(s)
		}
		warns(t, s, "MX301")
		if !strings.Contains(s.Stderr, "DestinationRule "+ns+"/gone") {
			t.Errorf("it does not name the DestinationRule: %s", s)
		}
		if stored(t, ns, "gone") {
			t.Error("it is still there")
		}
	})
	t.Run("a DestinationRule that routes need", func(t *testing.T) {
		t.Parallel()
		ns := namespace(t, r)
		apply(t, ns, strings.ReplaceAll(rates, "rates", "rates-d"))
		knowsAll(t, r, "VirtualService")
		s := kubectl(t, "", "delete", "-n", ns, "destinationrule", "rates-d")
		if s.Refused() {
			t.Fatal(s)
		}
		warns(t, s, "MX308")
	})
	t.Run("nothing that anybody needs", func(t *testing.T) {
		t.Parallel()
		ns := namespace(t, r)
		apply(t, ns, strings.ReplaceAll(passthrough, "payments", "alone"))
		s := kubectl(t, "", "delete", "-n", ns, "serviceentry", "alone")
		if s.Refused() {
			t.Fatal(s)
		}
		silent(t, s)
	})
}

// TestCaused: a change that makes another object wrong is told to whoever makes it, and is no reason to refuse it.
func TestCaused(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r, denyLabel)
	text := strings.ReplaceAll(rates, "rates", "rates-c")
	text = strings.Replace(text, "  subsets:", "  trafficPolicy: {connectionPool: {http: {http2MaxRequests: 7}}}\n  subsets:", 1)
	silent(t, apply(t, ns, text), "DR201")
	knowsAll(t, r, "DestinationRule")
	// With TLS on the port the DestinationRule's HTTP settings do nothing any more, which is denied where somebody writes it.
	s := kubectl(t, "", "patch", "-n", ns, "serviceentry", "rates-c", "--type=merge",
		`-p={"spec":{"ports":[{"number":8080,"name":"tls","protocol":"TLS"}]}}`)
	if s.Refused() {
		t.Fatal(s)
	}
	warns(t, s, "DR201")
	if !strings.Contains(s.Stderr, "DestinationRule "+ns+"/rates-c") {
		t.Errorf("it does not name the DestinationRule: %s", s)
	}
}

// causedDenied is the same under denyCaused, in a release of the test that calls it.
func causedDenied(t *testing.T, r *release.Release) {
	t.Helper()
	ns := namespace(t, r, denyLabel)
	text := strings.ReplaceAll(rates, "rates", "rates-x")
	text = strings.Replace(text, "  subsets:", "  trafficPolicy: {connectionPool: {http: {http2MaxRequests: 7}}}\n  subsets:", 1)
	apply(t, ns, text)
	knowsAll(t, r, "DestinationRule")
	s := kubectl(t, "", "patch", "-n", ns, "serviceentry", "rates-x", "--type=merge",
		`-p={"spec":{"ports":[{"number":8080,"name":"tls","protocol":"TLS"}]}}`)
	if !s.Refused() || !strings.Contains(s.Stderr, "rates-x") || !strings.Contains(s.Stderr, "http2MaxRequests") {
		t.Errorf("the patch was not refused because of the DestinationRule: %s", s)
	}
}

// TestUnknownFields: how Kubernetes handles them. kubectl asks for strict validation, and the API server refuses them before the webhook is
// asked; without it they are dropped before the webhook is asked, so it cannot report them.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r)
	text := strings.Replace(passthrough, "  location", "  resolutoin: DNS\n  location", 1)
	if s := refused(t, ns, text); !strings.Contains(s.Stderr, "unknown field") || !strings.Contains(s.Stderr, "resolutoin") {
		t.Errorf("it is refused for something else: %s", s)
	}
	s := apply(t, ns, text, "--validate=false")
	warns(t, s, "SE101")
	silent(t, s, "MV901")
	stored := kubectl(t, "", "get", "-n", ns, "serviceentry", "payments", "-o", "jsonpath={.spec}")
	if strings.Contains(stored.Stdout, "resolutoin") {
		t.Errorf("the field is stored: %s", stored)
	}
}
