package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// example is a file of examples, with its objects in another namespace than it says, and for that namespace only: the good and the bad
// ones are about the same hosts.
func example(t *testing.T, path, ns string) string {
	t.Helper()
	data, err := os.ReadFile("../../examples/" + path)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^  namespace: .*$`).ReplaceAllString(string(data), "  namespace: "+ns)
	return strings.ReplaceAll(text, "\nspec:\n", "\nspec:\n  exportTo: [.]\n")
}

var warning = regexp.MustCompile(`^(SE|DR|MX|MV)\d{3} (error|warning|info): .+: https://\S+/(SE|DR|MX|MV)\d{3}\.md$`)

// TestHeadlineRules applies the examples of the README as anybody would: kubectl takes them, and prints what is wrong with them.
func TestHeadlineRules(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	for file, rules := range map[string][]string{
		"bad/passthrough.yaml":     {"SE101", "DR201"}, // the client chooses the address; HTTP settings on a port of TLS
		"bad/tls-origination.yaml": {"DR202", "DR203"}, // a port entry resets the rest; some limits set, the others unlimited
		"bad/egress-gateway.yaml":  {"DR234", "MX302"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			ns := namespace(t, r)
			s := apply(t, ns, example(t, file, ns))
			warns(t, s, rules...)
			for _, w := range s.Warnings {
				if !warning.MatchString(w) {
					t.Errorf("a warning is not `ID severity: …: link`: %q", w)
				}
				if len(w) > 256 {
					t.Errorf("a warning has %d characters: %q", len(w), w)
				}
			}
			again := apply(t, ns, example(t, file, ns))
			silent(t, again) // nothing has changed
		})
	}
}

// TestGoodExamples are silent but for advice.
func TestGoodExamples(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r)
	for _, file := range []string{"passthrough.yaml", "tls-origination.yaml"} {
		s := apply(t, ns, example(t, "good/"+file, ns))
		for _, w := range s.Warnings {
			if !strings.Contains(w, " info: ") {
				t.Errorf("%s: %s", file, w)
			}
		}
	}
	if n := counter(t, r, "meshvet_admission_requests_total", "kind", "DestinationRule"); n == 0 {
		t.Error("no review of a DestinationRule was counted")
	}
}

// TestDryRunWarns: a dry run gets the same answer and stores nothing.
func TestDryRunWarns(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r)
	dry := apply(t, ns, passthrough, "--dry-run=server")
	if stored(t, ns, "payments") {
		t.Fatal("a dry run stored the object")
	}
	wet := apply(t, ns, passthrough)
	warns(t, wet, "SE101")
	if !slices.Equal(dry.Warnings, wet.Warnings) {
		t.Errorf("a dry run is answered with\n%q\nand the real one with\n%q", dry.Warnings, wet.Warnings)
	}
	del := kubectl(t, "", "delete", "-n", ns, "serviceentry", "payments", "--dry-run=server")
	if del.Refused() || !stored(t, ns, "payments") {
		t.Errorf("a dry run deleted the object, or failed: %s", del)
	}
}

// passthrough is a ServiceEntry without a resolution, which SE101 warns of.
const passthrough = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: payments}
spec:
  exportTo: [.]
  hosts: [api.payments.example.com]
  location: MESH_EXTERNAL
  ports:
  - {number: 443, name: tls, protocol: TLS}
`

// TestEveryVersion: the webhook is registered for some versions of the API, and matchPolicy has the API server convert the others.
func TestEveryVersion(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r)
	for _, version := range []string{"v1alpha3", "v1beta1", "v1"} {
		text := strings.ReplaceAll(passthrough, "networking.istio.io/v1", "networking.istio.io/"+version)
		text = strings.ReplaceAll(text, "payments", "payments-"+version)
		before := counter(t, r, "meshvet_admission_requests_total", "operation", "CREATE", "kind", "ServiceEntry")
		warns(t, apply(t, ns, text), "SE101")
		if n := counter(t, r, "meshvet_admission_requests_total", "operation", "CREATE", "kind", "ServiceEntry") - before; n < 1 {
			t.Errorf("%s: %v reviews were counted", version, n)
		}
	}
}

// TestManyWarnings: what an answer may hold is bounded, and the heaviest comes first.
func TestManyWarnings(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r)
	apply(t, ns, strings.Replace(passthrough, "  location", "  resolution: DNS\n  location", 1))
	var subsets strings.Builder
	for i := range 40 {
		fmt.Fprintf(&subsets, `  - name: s%d
    labels: {version: s%d}
    trafficPolicy:
      tls: {sni: a-rather-long-name-%d.payments.example.com}
      connectionPool: {http: {http2MaxRequests: 10, idleTimeout: 10m}}
`, i, i, i)
	}
	s := apply(t, ns, `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: payments}
spec:
  exportTo: [.]
  host: api.payments.example.com
  subsets:
`+subsets.String())
	total := 0
	for _, w := range s.Warnings {
		total += len(w)
		if len(w) > 256 {
			t.Errorf("a warning has %d characters: %q", len(w), w)
		}
	}
	if total > 4096 || total < 3000 {
		t.Errorf("%d characters of warnings", total)
	}
	if len(s.Warnings) == 0 || !regexp.MustCompile(`^and \d+ more: `).MatchString(s.Warnings[len(s.Warnings)-1]) {
		t.Fatalf("the last warning does not sum up the rest: %s", s)
	}
	rank := map[string]int{"error:": 0, "warning:": 1, "info:": 2}
	heaviest := 0
	for _, w := range s.Warnings[:len(s.Warnings)-1] {
		now := rank[strings.Fields(w)[1]]
		if now < heaviest {
			t.Errorf("%q comes after something lighter", w)
		}
		heaviest = max(heaviest, now)
	}
}
