package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/meshvet/meshvet/test/e2e/release"
)

// TestAPIServerRestarts kills the API server under the webhook and starts it again. The webhook learns what was made meanwhile, and
// goes on as it is. It is not parallel to other tests, which need the API server.
func TestAPIServerRestarts(t *testing.T) {
	r := meshvet(t)
	c := server(t)
	ns := namespace(t, r)
	apply(t, ns, strings.ReplaceAll(httpSettings, "payments", "before-restart"))
	pid := r.Pod().PID()

	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	// Long enough for the watches to notice; a review is answered from what was known.
	time.Sleep(time.Second)
	if s := kubectl(t, "", "get", "namespaces", "--request-timeout=1s"); !s.Refused() {
		t.Fatalf("the API server is still there: %s", s)
	}
	if !r.Pod().Ready(t.Context()) {
		t.Error("it is not ready while the API server is away")
	}
	if err := c.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	apply(t, ns, strings.ReplaceAll(passthrough, "payments", "after-restart"))
	knowsAll(t, r, "ServiceEntry")
	knowsAll(t, r, "DestinationRule")
	// An API server that has just started may refuse what it will allow in a moment.
	eventually(t, "every kind is followed again", func(ctx context.Context) error {
		m, err := r.Pod().Metrics(ctx)
		if err != nil {
			return err
		}
		for _, kind := range m["meshvet_index_synced"].GetMetric() {
			if kind.GetGauge().GetValue() != 1 {
				return fmt.Errorf("%s is not", kind.GetLabel()[0].GetValue())
			}
		}
		return nil
	})
	// The DestinationRule is known from before, the ServiceEntry came after: only who knows both says this.
	s := apply(t, ns, strings.Replace(strings.ReplaceAll(httpSettings, "payments", "after-restart"), "1000", "1001", 1))
	warns(t, s, "DR201")
	s = kubectl(t, "", "delete", "-n", ns, "serviceentry", "after-restart")
	warns(t, s, "MX301")
	if r.Pod().PID() != pid || !r.Pod().Alive() {
		t.Error("the process was restarted")
	}
}

// TestKilledWithIgnore: with failurePolicy Ignore, the default, nobody is kept from anything when the webhook is gone.
func TestKilledWithIgnore(t *testing.T) {
	t.Parallel()
	r := install(t, release.Options{Name: "ignoring", Values: denyEverything})
	ns := namespace(t, r)
	refused(t, ns, passthrough)
	r.Pod().Kill()
	began := time.Now()
	silent(t, apply(t, ns, passthrough))
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
	if _, err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	refused(t, ns, strings.ReplaceAll(passthrough, "payments", "again"))
}

// denyEverything is what a platform team may end up with.
const denyEverything = `config:
  version: 1
  webhook:
    actions: [{severities: [error, warning], action: deny}]
`

// TestFailClosed is a release with failurePolicy Fail and two Pods, through all that must not let a review fail. Its parts follow one another.
func TestFailClosed(t *testing.T) {
	t.Parallel()
	r := install(t, release.Options{Name: "failing", Pods: 2, Values: `webhook: {failurePolicy: Fail}
config:
  version: 1
  webhook:
    actions: [{rules: [DR201], action: deny}]
    denyCaused: true
`})

	t.Run("caused findings deny", func(t *testing.T) { causedDenied(t, r) })

	t.Run("certificate rotation under load", func(t *testing.T) {
		ns := namespace(t, r)
		pids := []int{r.Pods()[0].PID(), r.Pods()[1].PID()}
		l := startLoad(t, ns)
		for range 2 {
			l.goOn(t)
			leaf, err := r.CA.Leaf(r.FullName+"."+r.Namespace+".svc", "localhost")
			if err != nil {
				t.Fatal(err)
			}
			if err := r.PutCertificate(t.Context(), leaf); err != nil {
				t.Fatal(err)
			}
			for _, p := range r.Pods() {
				eventually(t, p.Name+" serves the new certificate", func(ctx context.Context) error {
					serial, err := served(ctx, p)
					if err != nil {
						return err
					}
					if serial.Cmp(leaf.Serial) != 0 {
						return fmt.Errorf("it serves %s", serial)
					}
					return nil
				})
			}
		}
		l.goOn(t)
		l.end(t, r)
		for i, p := range r.Pods() {
			if !p.Alive() || p.PID() != pids[i] {
				t.Errorf("%s was restarted", p.Name)
			}
		}
	})

	t.Run("rolling update under load", func(t *testing.T) {
		ns := namespace(t, r)
		l := startLoad(t, ns)
		l.goOn(t)
		for _, p := range r.Pods() {
			// The next Pod answers before the last one leaves, as the Deployment's strategy says.
			if _, err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := r.Await(t.Context(), 3); err != nil {
				t.Fatal(err)
			}
			code, err := p.Terminate(30 * time.Second)
			if err != nil || code != 0 {
				t.Errorf("%s ended with %d: %v\n%s", p.Name, code, err, p.Tail(20))
			}
			if err := r.Await(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}
		l.goOn(t)
		l.end(t, r)
	})

	t.Run("one of two is killed", func(t *testing.T) {
		ns := namespace(t, r)
		r.Pod().Kill()
		if err := r.Await(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		warns(t, apply(t, ns, passthrough), "SE101")
	})

	t.Run("all are killed", func(t *testing.T) {
		ns := namespace(t, r)
		for _, p := range r.Pods() {
			if p.Alive() {
				p.Kill()
			}
		}
		s := refused(t, ns, passthrough)
		if !strings.Contains(s.Stderr, "failed calling webhook") {
			t.Errorf("it is refused for something else: %s", s)
		}
		// What is needed to repair the cluster is not held up.
		for _, what := range []string{"configmap/repair", "namespace/" + unique("e2e-repair")} {
			kind, name, _ := strings.Cut(what, "/")
			if s := kubectl(t, "", "create", kind, name, "-n", r.Namespace); s.Refused() {
				t.Error(s)
			}
		}
		// What the labels of these namespaces say does not count.
		for _, own := range []string{r.Namespace, "kube-system"} {
			if s := kubectl(t, "", "label", "--overwrite", "namespace", own, release.Label+"="+r.Namespace); s.Refused() {
				t.Fatal(s)
			}
			apply(t, own, passthrough)
		}
		if s := kubectl(t, "", "delete", "validatingwebhookconfiguration", r.FullName, "--dry-run=server"); s.Refused() {
			t.Errorf("it could not be switched off: %s", s)
		}
	})
}

// served is the serial number of the certificate that a new connection gets.
func served(ctx context.Context, p *release.Pod) (*big.Int, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", release.Port(p.WebhookPort))
	if err != nil {
		return nil, fmt.Errorf("dial the webhook: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	t, ok := conn.(*tls.Conn)
	if !ok {
		return nil, errors.New("no TLS connection")
	}
	return t.ConnectionState().PeerCertificates[0].SerialNumber, nil
}
