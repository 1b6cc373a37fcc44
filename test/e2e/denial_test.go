package e2e

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/meshvet/meshvet/test/e2e/release"
)

// httpSettings is a DestinationRule that DR201 warns of, for the host of passthrough.
const httpSettings = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: payments}
spec:
  exportTo: [.]
  host: api.payments.example.com
  trafficPolicy:
    connectionPool:
      http: {http2MaxRequests: 1000}
`

// TestDenial: what is denied is not stored, and whoever is refused can read why.
func TestDenial(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r, denyLabel)
	before := counter(t, r, "meshvet_admission_requests_total", "decision", "deny")
	for _, args := range [][]string{{"--dry-run=server"}, nil} {
		s := refused(t, ns, passthrough, args...)
		first, _, _ := strings.Cut(s.Stderr, "\n")
		for _, want := range []string{"SE101", "resolution"} {
			if !strings.Contains(s.Stderr, want) {
				t.Errorf("kubectl does not say %s: %s", want, s)
			}
			if !strings.Contains(first, want) && !strings.Contains(strings.Join(strings.SplitN(s.Stderr, "\n", 3)[:2], " "), want) {
				t.Errorf("the first lines do not say %s: %s", want, s)
			}
		}
		if stored(t, ns, "payments") {
			t.Fatalf("%v: the object was stored", args)
		}
	}
	if n := counter(t, r, "meshvet_admission_requests_total", "decision", "deny") - before; n < 2 {
		t.Errorf("%v denials were counted", n)
	}
	if a := annotations(t, "create", "serviceentries", ns, "payments"); a["decision"] != "deny" || !strings.Contains(a["findings"], "SE101") {
		t.Errorf("the audit log has %q", a)
	}

	objects, err := release.Objects(passthrough)
	if err != nil {
		t.Fatal(err)
	}
	_, err = clients(t, rest.NoWarnings{}).Resource(release.ServiceEntries).Namespace(ns).Create(t.Context(), objects[0], metav1.CreateOptions{})
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("create: %v", err)
	}
	if status.ErrStatus.Code != http.StatusUnprocessableEntity || status.ErrStatus.Reason != metav1.StatusReasonInvalid {
		t.Errorf("the answer is %d %s", status.ErrStatus.Code, status.ErrStatus.Reason)
	}
	// What clients show that know nothing of causes.
	if first, _, _ := strings.Cut(status.ErrStatus.Message, "\n"); !strings.HasSuffix(first, " denied the request: 1 warning: "+
		"[SE101 resolution-not-dns] ServiceEntry "+ns+"/payments: spec.resolution: resolution is omitted, which means NONE for api.payments.example.com") {
		t.Errorf("the message begins with %q", first)
	}
	if d := status.ErrStatus.Details; d == nil || len(d.Causes) != 1 || d.Causes[0].Type != "SE101" || !strings.HasPrefix(d.Causes[0].Field, "spec") ||
		d.Causes[0].Message == "" {
		t.Errorf("details are %+v", d)
	}
}

// TestDenialNamesAll: one of many objects in a file is refused, the others are taken.
func TestDenialNamesAll(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r, denyLabel)
	good := strings.Replace(strings.ReplaceAll(passthrough, "payments", "rates"), "  location", "  resolution: DNS\n  location", 1)
	s := refused(t, ns, passthrough+"---\n"+good)
	if !strings.Contains(s.Stdout, "rates created") {
		t.Errorf("the good object was not taken: %s", s)
	}
	if stored(t, ns, "payments") || !stored(t, ns, "rates") {
		t.Error("not just the good object is there")
	}
}

// TestRatchet: an object with an old fault can be edited, and cannot get a new one.
func TestRatchet(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r)
	apply(t, ns, strings.Replace(passthrough, "  location", "  resolution: DNS\n  location", 1))
	warns(t, apply(t, ns, httpSettings), "DR201") // while nothing is denied here
	label(t, ns, denyLabel)

	t.Run("an unrelated edit passes", func(t *testing.T) {
		s := kubectl(t, "", "patch", "-n", ns, "destinationrule", "payments", "--type=merge",
			`-p={"spec":{"trafficPolicy":{"connectionPool":{"tcp":{"connectTimeout":"3s"}}}}}`)
		if s.Refused() {
			t.Fatal(s)
		}
		warns(t, s, "DR201") // it is still told
	})
	t.Run("a new fault does not", func(t *testing.T) {
		s := kubectl(t, "", "patch", "-n", ns, "destinationrule", "payments", "--type=merge",
			`-p={"spec":{"trafficPolicy":{"connectionPool":{"http":{"idleTimeout":"7m"}}}}}`)
		if !s.Refused() || !strings.Contains(s.Stderr, "idleTimeout") {
			t.Errorf("the patch was not refused for idleTimeout: %s", s)
		}
		stored := kubectl(t, "", "get", "-n", ns, "destinationrule", "payments", "-o", "yaml")
		if strings.Contains(stored.Stdout, "7m") {
			t.Errorf("it is stored: %s", stored)
		}
	})
	t.Run("metadata passes in silence", func(t *testing.T) {
		s := kubectl(t, "", "label", "-n", ns, "destinationrule", "payments", "team=shop")
		if s.Refused() {
			t.Fatal(s)
		}
		silent(t, s)
		if a := annotations(t, "patch", "destinationrules", ns, "payments"); a["skipped"] == "" {
			t.Errorf("the audit log does not say that it was skipped: %q", a)
		}
	})
	t.Run("the fault cannot come back", func(t *testing.T) {
		s := kubectl(t, "", "patch", "-n", ns, "destinationrule", "payments", "--type=json", `-p=[{"op":"remove","path":"/spec/trafficPolicy/connectionPool/http"}]`)
		if s.Refused() {
			t.Fatal(s)
		}
		silent(t, s, "DR201")
		refused(t, ns, httpSettings)
	})
	t.Run("it can be deleted", func(t *testing.T) {
		if s := kubectl(t, "", "delete", "-n", ns, "destinationrule", "payments"); s.Refused() {
			t.Error(s)
		}
	})
}

// label labels a namespace, and returns when the release knows that.
func label(t *testing.T, ns, what string) {
	t.Helper()
	if s := kubectl(t, "", "label", "namespace", ns, what); s.Refused() {
		t.Fatal(s)
	}
	// The action for the namespace is seen in what becomes of a dry run.
	eventually(t, "the label "+what+" is in force", func(context.Context) error {
		s := kubectl(t, strings.ReplaceAll(passthrough, "payments", "label-probe"), "create", "-n", ns, "-f", "-", "--dry-run=server")
		if !s.Refused() {
			return errors.New("a faulty object is still taken")
		}
		return nil
	})
}

// TestActions: what becomes of a finding depends on the namespace.
func TestActions(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	t.Run("audit", func(t *testing.T) {
		t.Parallel()
		ns := namespace(t, r, auditLabel)
		silent(t, apply(t, ns, passthrough))
		if a := annotations(t, "create", "serviceentries", ns, "payments"); a["decision"] != "allow" || !strings.Contains(a["findings"], "SE101/warning/audit") {
			t.Errorf("the audit log has %q", a)
		}
	})
	t.Run("deny errors", func(t *testing.T) {
		t.Parallel()
		ns := namespace(t, r, denyErrorsLabel)
		warns(t, apply(t, ns, passthrough), "SE101") // a warning warns
		s := refused(t, ns, strings.Replace(httpSettings, "http: {http2MaxRequests: 1000}", "tcp: {maxConnections: 5}\n    tls: {mode: ISTIO_MUTUAL}", 1))
		if !strings.Contains(s.Stderr, "DR235") {
			t.Errorf("it is not refused for DR235: %s", s)
		}
	})
	t.Run("elsewhere", func(t *testing.T) {
		t.Parallel()
		warns(t, apply(t, namespace(t, r), passthrough), "SE101")
	})
}

// TestSuppression: an annotation silences a warning, and lifts a denial only where the configuration lets it.
func TestSuppression(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	annotated := func(text, rule string) string {
		return strings.Replace(text, "metadata: {name: payments}",
			`metadata: {name: payments, annotations: {meshvet.dev/ignore: "`+rule+`", meshvet.dev/ignore-reason: the peer resolves}}`, 1)
	}
	t.Run("warn", func(t *testing.T) {
		t.Parallel()
		ns := namespace(t, r)
		silent(t, apply(t, ns, annotated(passthrough, "SE101")), "SE101")
		if a := annotations(t, "create", "serviceentries", ns, "payments"); a["suppressed"] == "" {
			t.Errorf("the audit log does not tell of the suppression: %q", a)
		}
	})
	t.Run("deny", func(t *testing.T) {
		t.Parallel()
		ns := namespace(t, r, denyLabel)
		s := refused(t, ns, annotated(passthrough, "SE101"))
		if !strings.Contains(s.Stderr, "suppression") {
			t.Errorf("it does not say that the suppression was ignored: %s", s)
		}
	})
	t.Run("deny suppressible", func(t *testing.T) {
		t.Parallel()
		ns := namespace(t, r, denyLabel)
		apply(t, ns, strings.Replace(passthrough, "  location", "  resolution: DNS\n  location", 1))
		refused(t, ns, httpSettings)
		silent(t, apply(t, ns, annotated(httpSettings, "DR201")), "DR201")
	})
}

// TestExempt: users, groups and namespaces that the configuration exempts are not judged.
func TestExempt(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	c := server(t)
	grant(t, "--user=robot-deploy", "--user=human", "--group=breakglass", "--serviceaccount=flux-system:kustomize-controller")
	ns := namespace(t, r, denyLabel)
	named := func(name string) string { return strings.ReplaceAll(passthrough, "payments", name) }
	for _, test := range []struct {
		name string
		user []string // and groups
		free bool
	}{
		{"robot", []string{"robot-deploy"}, true},
		{"flux", []string{"system:serviceaccount:flux-system:kustomize-controller"}, true},
		{"group", []string{"human", "breakglass"}, true},
		{"nobody", []string{"human", "breakglassed"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := as(t, c.As(test.user[0], test.user[1:]...), named(test.name), "create", "-n", ns, "-f", "-")
			if s.Refused() == test.free {
				t.Errorf("%v: %s", test.user, s)
			}
			silent(t, s)
			if test.free {
				if a := annotations(t, "create", "serviceentries", ns, test.name); a["exempt"] == "" {
					t.Errorf("the audit log does not say why: %q", a)
				}
			}
		})
	}
	t.Run("namespace", func(t *testing.T) {
		t.Parallel()
		ns := unique("exempt")
		makeNamespace(t, r, ns, denyLabel)
		silent(t, apply(t, ns, passthrough))
		if a := annotations(t, "create", "serviceentries", ns, "payments"); a["exempt"] == "" {
			t.Errorf("the audit log does not say why: %q", a)
		}
	})
}
