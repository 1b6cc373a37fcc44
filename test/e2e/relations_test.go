package e2e

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/test/e2e/cluster"
	"github.com/meshvet/meshvet/test/e2e/release"
)

// rates are, for one namespace only, a ServiceEntry, a DestinationRule with subsets, and routes that lead to one of them.
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
		s := onceWarned(t, "MX301", "delete", "-n", ns, "serviceentry", "gone")
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
		name := "rates-" + ns
		apply(t, ns, strings.ReplaceAll(rates, "rates", name))
		s := onceWarned(t, "MX308", "delete", "-n", ns, "destinationrule", name)
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

// onceWarned waits until a dry run of a command is warned of a rule, which takes until the server has seen the objects that the rule is about,
// and then runs the command.
func onceWarned(t *testing.T, rule string, args ...string) cluster.Said {
	t.Helper()
	eventually(t, "a dry run is warned of "+rule, func(context.Context) error {
		if s := kubectl(t, "", append(args, "--dry-run=server")...); !slices.Contains(ids(s.Warnings), rule) {
			return errors.New(s.String())
		}
		return nil
	})
	return kubectl(t, "", args...)
}

// TestCaused: a change that makes another object wrong is told to whoever makes it, and is no reason to refuse it.
func TestCaused(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r, denyLabel)
	name := "rates-" + ns // also of the host: what is said of a host has to do with its routes in other namespaces
	text := strings.ReplaceAll(rates, "rates", name)
	text = strings.Replace(text, "  subsets:", "  trafficPolicy: {connectionPool: {http: {http2MaxRequests: 7}}}\n  subsets:", 1)
	silent(t, apply(t, ns, text), "DR201")
	// With TLS on the port the DestinationRule's HTTP settings do nothing any more, which is denied where somebody writes it.
	s := onceWarned(t, "DR201", "patch", "-n", ns, "serviceentry", name, "--type=merge",
		`-p={"spec":{"ports":[{"number":8080,"name":"tls","protocol":"TLS"}]}}`)
	if s.Refused() {
		t.Fatal(s)
	}
	warns(t, s, "DR201")
	if !strings.Contains(s.Stderr, "DestinationRule "+ns+"/"+name) {
		t.Errorf("it does not name the DestinationRule: %s", s)
	}
}

// causedDenied is the same under denyCaused, in a release of the test that calls it.
func causedDenied(t *testing.T, r *release.Release) {
	t.Helper()
	ns := namespace(t, r, denyLabel)
	name := "rates-" + ns
	text := strings.ReplaceAll(rates, "rates", name)
	text = strings.Replace(text, "  subsets:", "  trafficPolicy: {connectionPool: {http: {http2MaxRequests: 7}}}\n  subsets:", 1)
	apply(t, ns, text)
	patch := []string{"patch", "-n", ns, "serviceentry", name, "--type=merge", `-p={"spec":{"ports":[{"number":8080,"name":"tls","protocol":"TLS"}]}}`}
	eventually(t, "a dry run is refused", func(context.Context) error {
		if s := kubectl(t, "", append(patch, "--dry-run=server")...); !s.Refused() {
			return errors.New(s.String())
		}
		return nil
	})
	s := kubectl(t, "", patch...)
	if !s.Refused() || !strings.Contains(s.Stderr, "DestinationRule "+ns+"/"+name) || !strings.Contains(s.Stderr, "http2MaxRequests") {
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
