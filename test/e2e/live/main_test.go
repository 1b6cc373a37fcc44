// Package live tests `meshvet lint --live` on a real API server, as users have it whose rights RBAC decides.
//
// The API server is the package's own: it ends without Istio's CustomResourceDefinitions. Without the programs that `make e2e` builds the
// tests are skipped.
package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/meshvet/meshvet/test/e2e/cluster"
	"github.com/meshvet/meshvet/test/e2e/release"
)

// What all tests share. TestMain sets it before the first of them.
var (
	theCluster *cluster.Cluster
	binary     string
	missing    error // why there is no cluster
)

func TestMain(m *testing.M) {
	if cluster.Reap() {
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	assets, err := cluster.Find()
	if errors.Is(err, cluster.ErrNoAssets) {
		missing = err
		return m.Run(), nil
	}
	if err != nil {
		return 1, err
	}
	reaper, err := cluster.StartReaper()
	if err != nil {
		return 1, err
	}
	defer func() {
		if left, stopErr := reaper.Stop(); stopErr != nil || left > 0 {
			code, err = 1, errors.Join(err, stopErr, fmt.Errorf("%d processes were left over", left))
		}
	}()
	ctx := context.Background()
	if theCluster, err = cluster.Start(ctx, assets, reaper.Folder); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, theCluster.Stop()) }()
	if binary, err = release.Binary(ctx, theCluster); err != nil {
		return 1, err
	}
	if err := fill(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// bulk is the number of faultless ServiceEntries, which make several pages.
const bulk = 600

// The faults: SE101 in shop, DR206 (the host is nobody's) in payments.
const objects = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: rates, namespace: shop}
spec:
  hosts: [rates.example.com]
  ports: [{number: 443, name: tls, protocol: TLS}]
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata:
  name: accepted
  namespace: shop
  annotations: {meshvet.dev/ignore: SE101, meshvet.dev/ignore-reason: known}
spec:
  hosts: [accepted.example.com]
  ports: [{number: 443, name: tls, protocol: TLS}]
---
apiVersion: networking.istio.io/v1beta1
kind: DestinationRule
metadata: {name: nobody, namespace: payments}
spec:
  host: nobody.payments.svc.cluster.local
  trafficPolicy: {connectionPool: {http: {http1MaxPendingRequests: 10}}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: payments}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: payments}
spec:
  host: web.payments.svc.cluster.local
  trafficPolicy: {outlierDetection: {consecutive5xxErrors: 5}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: istio, namespace: istio-system}
data:
  mesh: |
    trustDomain: cluster.local
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: shop}
data: {key: c2VjcmV0}
`

// fill puts objects into the cluster.
func fill(ctx context.Context) error {
	for _, ns := range []string{"shop", "payments", "bulk", "istio-system"} {
		if _, err := theCluster.MakeNamespace(ctx, ns); err != nil {
			return err
		}
	}
	said, err := theCluster.Admin().Kubectl(ctx, objects, "apply", "-f", "-")
	if err != nil {
		return err
	}
	if said.Refused() {
		return fmt.Errorf("fill the cluster: %s", said)
	}
	var wg sync.WaitGroup
	errs := make([]error, bulk)
	slots := make(chan struct{}, 8)
	for i := range bulk {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = theCluster.Client.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry",
				"metadata": map[string]any{"name": fmt.Sprintf("bulk-%03d", i), "namespace": "bulk"},
				"spec": map[string]any{
					"hosts": []any{fmt.Sprintf("bulk-%03d.example.com", i)}, "location": "MESH_EXTERNAL", "resolution": "DNS",
					"ports": []any{map[string]any{"number": int64(443), "name": "tls", "protocol": "TLS"}},
				},
			}})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// server returns the cluster, or skips the test.
func server(t *testing.T) *cluster.Cluster {
	t.Helper()
	if missing != nil {
		t.Skip(missing)
	}
	return theCluster
}

// said is what meshvet did.
type said struct {
	code           int
	stdout, stderr string
	report         struct {
		Findings []struct {
			ID         string
			Location   struct{ File string }
			Suppressed any
		}
		Problems []struct {
			Kind, Message string
			Location      struct{ File string }
		}
		Skipped []struct{ Rule, File, Reason string }
		Scopes  []struct{ Name string }
		Context struct{ From string }
		Stats   struct{ Objects, Judged int }
	}
}

func (s *said) String() string {
	return fmt.Sprintf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
}

// found are the findings that are not silenced, as ID FILE.
func (s *said) found() []string {
	out := []string{}
	for _, f := range s.report.Findings {
		if f.Suppressed == nil {
			out = append(out, f.ID+" "+f.Location.File)
		}
	}
	slices.Sort(out)
	return out
}

// problem says whether there is a problem at a place whose text has all the words.
func (s *said) problem(at string, words ...string) bool {
	return slices.ContainsFunc(s.report.Problems, func(p struct {
		Kind, Message string
		Location      struct{ File string }
	}) bool {
		return p.Location.File == at && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(p.Message, w) })
	})
}

// skipped says whether a notice is about a place, and has the words.
func (s *said) skipped(rule, at string, words ...string) bool {
	return slices.ContainsFunc(s.report.Skipped, func(k struct{ Rule, File, Reason string }) bool {
		return k.Rule == rule && k.File == at && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(k.Reason, w) })
	})
}

// meshvet runs the program with a kubeconfig, in an empty folder unless the test has put files there.
func meshvet(t *testing.T, kubeconfig, folder string, args ...string) *said {
	t.Helper()
	if folder == "" {
		folder = t.TempDir()
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	s := &said{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	if slices.Contains(args, "json") {
		if err := json.Unmarshal(stdout.Bytes(), &s.report); err != nil {
			t.Fatalf("%v: %s", err, s)
		}
	}
	return s
}

// user makes a user whose requests are all in the audit log, and returns the kubeconfig.
func user(t *testing.T, name string) string {
	t.Helper()
	path, err := server(t).KubeconfigOf(name, cluster.AuditedGroup)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// kubectl runs kubectl as the administrator; it has to succeed.
func kubectl(t *testing.T, stdin string, args ...string) {
	t.Helper()
	s, err := server(t).Admin().Kubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	if s.Refused() {
		t.Fatalf("kubectl %s: %s", strings.Join(args, " "), s)
	}
}

// guide returns the guide.
func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(server(t).Repository, "docs", "guide", "live.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
