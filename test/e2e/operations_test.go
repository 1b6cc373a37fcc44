package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/meshvet/meshvet/test/e2e/release"
)

// TestHealth: what kubelet asks.
func TestHealth(t *testing.T) {
	t.Parallel()
	p := meshvet(t).Pod()
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body, err := p.Get(t.Context(), p.HealthPort, path); err != nil || code != http.StatusOK {
			t.Errorf("%s: %d %s (%v)", path, code, body, err)
		}
	}
}

// TestNotReadyWithoutCertificate: a Pod whose certificate is not there yet gets no reviews, and is no reason to start anew.
func TestNotReadyWithoutCertificate(t *testing.T) {
	t.Parallel()
	r := install(t, release.Options{Name: "waiting"})
	r.Pod().Kill()
	broken := &release.Leaf{Cert: []byte("no certificate"), Key: []byte("no key"), Serial: r.Leaf.Serial}
	good := r.Leaf
	if err := r.PutCertificate(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	p, err := r.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process is alive and not ready", func(ctx context.Context) error {
		code, body, err := p.Get(ctx, p.HealthPort, "/healthz")
		if err != nil || code != http.StatusOK {
			return fmt.Errorf("/healthz: %d %s: %w", code, body, err)
		}
		code, body, err = p.Get(ctx, p.HealthPort, "/readyz?verbose=1")
		if err != nil || code == http.StatusOK || !strings.Contains(body, "[-]certificate") || !strings.Contains(body, "[+]index") {
			return fmt.Errorf("/readyz: %d %s: %w", code, body, err)
		}
		return nil
	})
	if err := r.PutCertificate(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	if err := r.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}

// metricNames are those that dashboards and alerts are built on.
var metricNames = []string{
	"meshvet_admission_requests_total", "meshvet_admission_duration_seconds", "meshvet_findings_total",
	"meshvet_rule_skipped_total", "meshvet_index_objects", "meshvet_index_synced", "meshvet_config_info",
	"meshvet_certificate_expiry_timestamp_seconds", "meshvet_build_info",
	"controller_runtime_webhook_requests_total", "controller_runtime_webhook_latency_seconds",
}

// TestMetrics: they are there under their names, count what happens, and have no label with the name of anything in the cluster.
func TestMetrics(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r)
	text := strings.ReplaceAll(passthrough, "payments", "metrics-canary")
	before := counter(t, r, "meshvet_findings_total", "rule", "SE101", "severity", "warning", "action", "warn")
	apply(t, ns, text)
	if n := counter(t, r, "meshvet_findings_total", "rule", "SE101", "severity", "warning", "action", "warn"); n <= before {
		t.Errorf("meshvet_findings_total of SE101 was %v and is %v", before, n)
	}
	apply(t, ns, strings.ReplaceAll(httpSettings, "payments", "metrics-canary"))
	m, err := r.Pod().Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range metricNames {
		if m[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	for _, kind := range []string{"ServiceEntry", "DestinationRule", "VirtualService", "Gateway", "Sidecar", "WorkloadEntry", "EnvoyFilter", "Service", "Namespace"} {
		if m.Sum("meshvet_index_synced", "kind", kind) != 1 {
			t.Errorf("meshvet_index_synced of %s is not 1", kind)
		}
	}
	if end := m.Sum("meshvet_certificate_expiry_timestamp_seconds"); end < 1e9 {
		t.Errorf("the certificate ends at %v", end)
	}
	for name, family := range m {
		for _, metric := range family.GetMetric() {
			for _, l := range metric.GetLabel() {
				if strings.Contains(l.GetValue(), "metrics-canary") || strings.Contains(l.GetValue(), ns) {
					t.Errorf("%s has the label %s=%s", name, l.GetName(), l.GetValue())
				}
			}
		}
	}
}

// TestLogs: they are JSON, one line tells of each denial, and nothing of what an object holds is in them.
func TestLogs(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	ns := namespace(t, r, denyLabel)
	secret := "s3cr3t-" + ns
	text := strings.ReplaceAll(passthrough, "api.payments.example.com", secret+".example.com")
	text = strings.Replace(text, "metadata: {name: payments}", "metadata: {name: payments, annotations: {token: "+secret+"}}", 1)
	refused(t, ns, text)
	lines, err := r.Pod().Lines()
	if err != nil {
		t.Error(err)
	}
	var told bool
	for _, l := range lines {
		if l["namespace"] != ns || l["rule"] != "SE101" {
			continue
		}
		told = true
		for key, want := range map[string]any{"severity": "warning", "action": "deny", "kind": "ServiceEntry", "name": "payments", "dryRun": false, "user": "admin"} {
			if l[key] != want {
				t.Errorf("the line of the denial has %s: %v, want %v", key, l[key], want)
			}
		}
		if l["uid"] == nil {
			t.Errorf("the line of the denial has no uid: %v", l)
		}
	}
	if !told {
		t.Errorf("no line tells of the denial:\n%s", r.Pod().Tail(20))
	}
	if data, err := os.ReadFile(r.Pod().Log); err != nil || strings.Contains(string(data), secret) {
		t.Errorf("the log holds what the object does, or cannot be read (%v)", err)
	}
}

// configure replaces the configuration of a release, as `helm upgrade` would.
func configure(t *testing.T, r *release.Release, text string) {
	t.Helper()
	m := new(corev1.ConfigMap)
	if err := server(t).Client.Get(t.Context(), client.ObjectKey{Namespace: r.Namespace, Name: r.FullName}, m); err != nil {
		t.Fatal(err)
	}
	if len(m.Data) != 1 {
		t.Fatalf("the ConfigMap has %d files", len(m.Data))
	}
	for name := range m.Data {
		m.Data[name] = text
	}
	if err := server(t).Client.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// TestReload: a new configuration is taken over without a restart, a bad one is not, and that is said in a metric, a log line and an Event.
func TestReload(t *testing.T) {
	t.Parallel()
	r := install(t, release.Options{Name: "reloading"})
	ns := namespace(t, r)
	pid := r.Pod().PID()
	denied := func(want bool) func(context.Context) error {
		return func(context.Context) error {
			s := kubectl(t, passthrough, "create", "-n", ns, "-f", "-", "--dry-run=server")
			if s.Refused() != want {
				return errors.New(s.String())
			}
			return nil
		}
	}
	hash := func() string {
		m, err := r.Pod().Metrics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		families := m["meshvet_config_info"].GetMetric()
		if len(families) != 1 {
			t.Fatalf("%d configurations are in force", len(families))
		}
		return families[0].GetLabel()[0].GetValue()
	}
	if err := denied(false)(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := hash()
	configure(t, r, "version: 1\nwebhook: {actions: [{rules: [SE101], action: deny}]}\n")
	eventually(t, "the new configuration denies", denied(true))
	second := hash()
	if first == second {
		t.Error("meshvet_config_info is still that of the old configuration")
	}
	if n := counter(t, r, "meshvet_config_reloads_total", "result", "success"); n != 1 {
		t.Errorf("%v reloads succeeded", n)
	}

	configure(t, r, "version: 1\nwebhook: {actions: [{rules: [SE101], action: forbid}]}\n")
	eventually(t, "the bad configuration is counted", func(context.Context) error {
		if n := counter(t, r, "meshvet_config_reloads_total", "result", "failure"); n != 1 {
			return fmt.Errorf("%v reloads failed", n)
		}
		return nil
	})
	if err := denied(true)(t.Context()); err != nil {
		t.Errorf("the configuration before is not in force any more: %v", err)
	}
	if h := hash(); h != second {
		t.Errorf("meshvet_config_info has changed from %s to %s", second, h)
	}
	lines, err := r.Pod().Lines()
	if err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(lines, func(l release.Line) bool {
		return l["level"] == "error" && strings.Contains(fmt.Sprint(l["error"]), "forbid") && strings.Contains(fmt.Sprint(l["error"]), "webhook.actions")
	}) {
		t.Errorf("no line of the log says what is wrong:\n%s", r.Pod().Tail(10))
	}
	eventually(t, "an Event about the Pod says it", func(ctx context.Context) error {
		events := new(eventsv1.EventList)
		if err := server(t).Client.List(ctx, events, client.InNamespace(r.Namespace)); err != nil {
			return err
		}
		for i := range events.Items {
			e := &events.Items[i]
			if e.Regarding.Kind == "Pod" && e.Regarding.Name == r.Pod().Name && e.Type == corev1.EventTypeWarning && strings.Contains(e.Note, "forbid") {
				return nil
			}
		}
		return fmt.Errorf("there are %d Events, none of it", len(events.Items))
	})

	configure(t, r, "version: 1\n")
	eventually(t, "a good configuration is taken over again", denied(false))
	if r.Pod().PID() != pid || !r.Pod().Alive() {
		t.Error("the process was restarted")
	}
}

// TestHelmTest does what `helm test` does, with the rights of the chart's test Pod.
func TestHelmTest(t *testing.T) {
	t.Parallel()
	code, out, err := meshvet(t).Test(t.Context())
	if err != nil || code != 0 || !strings.Contains(out, "SE101 warning: ") {
		t.Errorf("it ends with %d: %s (%v)", code, out, err)
	}
}

// TestCheck: the command that the chart's test Pod runs tells whether a namespace is reviewed.
func TestCheck(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	c := server(t)
	check := func(ns string) (int, string) {
		cmd := exec.CommandContext(t.Context(), binary, "webhook", "check", "--kubeconfig="+c.Kubeconfig, "--namespace="+ns)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	ns := namespace(t, r)
	code, out := check(ns)
	if code != 0 || !regexp.MustCompile(`(SE|DR|MX)\d{3} (error|warning|info): `).MatchString(out) {
		t.Errorf("in a namespace that is reviewed it exits with %d: %s", code, out)
	}
	if s := kubectl(t, "", "get", "serviceentries,destinationrules", "-n", ns, "-o", "name"); s.Stdout != "" {
		t.Errorf("it stored %s", s)
	}
	unreviewed, err := c.MakeNamespace(t.Context(), unique("e2e-unreviewed"))
	if err != nil {
		t.Fatal(err)
	}
	if code, out := check(unreviewed); code != 1 {
		t.Errorf("in a namespace that is not reviewed it exits with %d: %s", code, out)
	}
	if code, out := check("e2e-no-such-namespace"); code != 2 {
		t.Errorf("in a namespace that is not there it exits with %d: %s", code, out)
	}
}

// TestExemptionLabel: when the label is on it exempts a namespace, and only the listed groups may set it, which the API server decides itself.
func TestExemptionLabel(t *testing.T) {
	t.Parallel()
	r := install(t, release.Options{Name: "labelled", Values: `webhook: {exemptionLabel: {enabled: true, groups: [platform]}}
config: {version: 1, webhook: {actions: [{rules: [SE101], action: deny}]}}
`})
	c := server(t)
	const exempting = "admission.meshvet.dev/ignore=yes"
	grant(t, "--group=platform", "--group=developers")
	developer, operator := c.As("dana", "developers"), c.As("olga", "platform")
	ns := namespace(t, r)
	refused(t, ns, passthrough)
	eventually(t, "the policy is in force", func(context.Context) error {
		if s := as(t, developer, "", "label", "namespace", ns, exempting, "--dry-run=server"); !s.Refused() {
			return errors.New(s.String())
		}
		return nil
	})
	if s := as(t, developer, "", "label", "namespace", ns, exempting); !s.Refused() || !strings.Contains(s.Stderr, "admission.meshvet.dev/ignore") {
		t.Errorf("a developer set the label, or is not told why not: %s", s)
	}
	if s := as(t, developer, "", "label", "namespace", ns, "team=shop"); s.Refused() {
		t.Errorf("a developer could not set another label: %s", s)
	}
	labelled := "apiVersion: v1\nkind: Namespace\nmetadata: {name: e2e-born-exempt, labels: {admission.meshvet.dev/ignore: yes-please}}\n"
	if s := as(t, developer, labelled, "create", "-f", "-"); !s.Refused() {
		t.Errorf("a developer made a namespace with the label: %s", s)
	}
	if s := as(t, operator, "", "label", "namespace", ns, exempting); s.Refused() {
		t.Fatalf("an operator could not set the label: %s", s)
	}
	if s := as(t, developer, "", "label", "namespace", ns, "admission.meshvet.dev/ignore-"); !s.Refused() {
		t.Errorf("a developer removed the label: %s", s)
	}
	eventually(t, "the namespace is exempt", func(context.Context) error {
		s := as(t, developer, passthrough, "apply", "-n", ns, "-f", "-")
		if s.Refused() || len(s.Warnings) > 0 {
			return errors.New(s.String())
		}
		return nil
	})
}
