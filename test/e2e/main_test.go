// Package e2e tests the webhook as a user has it: the chart on a real API server, the real program behind it, and
// kubectl in front.
//
// `make e2e` builds what is needed (etcd, kube-apiserver, kubectl and helm) and runs the tests. All of them share one API server, in
// namespaces of their own. Without these programs the tests are skipped.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

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
	code = m.Run()
	return code, shared.uninstall(ctx)
}

// server returns the cluster, or skips the test.
func server(t *testing.T) *cluster.Cluster {
	t.Helper()
	if missing != nil {
		t.Skip(missing)
	}
	return theCluster
}

// installOnce is a release that several tests share.
type installOnce struct {
	once    sync.Once
	release *release.Release
	err     error
}

func (i *installOnce) uninstall(ctx context.Context) error {
	if i.release == nil {
		return nil
	}
	return i.release.Uninstall(ctx)
}

var shared installOnce

// The labels of namespaces that the shared release's configuration goes by.
const (
	denyLabel       = "e2e.meshvet.dev/action=deny"        // SE101 and DR201 are denied
	denyErrorsLabel = "e2e.meshvet.dev/action=deny-errors" // all errors are
	auditLabel      = "e2e.meshvet.dev/action=audit"       // everything is only noted
)

// meshvet returns the release that most tests use. It has the chart's defaults but for this configuration.
func meshvet(t *testing.T) *release.Release {
	t.Helper()
	c := server(t)
	shared.once.Do(func() {
		shared.release, shared.err = release.Install(context.WithoutCancel(t.Context()), c, binary, release.Options{
			Name: "meshvet",
			Values: `config:
  version: 1
  webhook:
    actions:
    - {rules: [SE101, http-settings-at-l4], namespaceSelector: {matchLabels: {e2e.meshvet.dev/action: deny}}, action: deny}
    - {severities: [error], namespaceSelector: {matchLabels: {e2e.meshvet.dev/action: deny-errors}}, action: deny}
    - {namespaceSelector: {matchExpressions: [{key: e2e.meshvet.dev/action, operator: In, values: [audit]}]}, action: audit}
    exempt:
      users: ["robot-*", "system:serviceaccount:flux-system:kustomize-controller"]
      groups: [breakglass]
      namespaces: ["exempt-*"]
    suppressible: [DR201]
`,
		})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.release
}

// install installs a release for one test.
func install(t *testing.T, o release.Options) *release.Release {
	t.Helper()
	o.Name = unique(o.Name)
	r, err := release.Install(t.Context(), server(t), binary, o)
	if r != nil {
		t.Cleanup(func() {
			if t.Failed() {
				for _, p := range r.Pods() {
					t.Logf("log of %s:\n%s", p.Name, p.Tail(40))
				}
			}
			if err := r.Uninstall(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var names atomic.Int64

// unique makes a name that no other object has, also when a test runs several times.
func unique(name string) string {
	return fmt.Sprintf("%s-%d", name, names.Add(1))
}

// namespace makes a namespace that the release reviews, with further labels. It returns when the release knows of it, so
// that what the configuration says of its labels holds.
func namespace(t *testing.T, r *release.Release, labels ...string) string {
	t.Helper()
	name := unique("e2e")
	makeNamespace(t, r, name, labels...)
	return name
}

func makeNamespace(t *testing.T, r *release.Release, name string, labels ...string) {
	t.Helper()
	if _, err := server(t).MakeNamespace(t.Context(), name, append(labels, release.Label+"="+r.Namespace)...); err != nil {
		t.Fatal(err)
	}
	knowsAll(t, r, "Namespace")
}

// groups of the kinds that knowsAll is asked for.
var groups = map[string]schema.GroupVersion{
	"Namespace":       {Version: "v1"},
	"ServiceEntry":    {Group: "networking.istio.io", Version: "v1"},
	"DestinationRule": {Group: "networking.istio.io", Version: "v1"},
	"VirtualService":  {Group: "networking.istio.io", Version: "v1"},
	"HTTPRoute":       {Group: "gateway.networking.k8s.io", Version: "v1"},
}

// knowsAll waits until every Pod of the release has as many objects of a kind in its index as the API server has. What a
// test has just made is among them, unless others have removed as many that the Pod has not seen go: it is for kinds that nobody removes now.
func knowsAll(t *testing.T, r *release.Release, kind string) {
	t.Helper()
	eventually(t, "the release knows every "+kind, func(ctx context.Context) error {
		list := new(metav1.PartialObjectMetadataList)
		list.SetGroupVersionKind(groups[kind].WithKind(kind + "List"))
		if err := server(t).Client.List(ctx, list); err != nil {
			return err
		}
		for _, p := range r.Pods() {
			if !p.Alive() {
				continue
			}
			m, err := p.Metrics(ctx)
			if err != nil {
				return err
			}
			if n := m.Sum("meshvet_index_objects", "kind", kind); int(n) != len(list.Items) {
				return fmt.Errorf("%s knows %v of %d", p.Name, n, len(list.Items))
			}
		}
		return nil
	})
}

// eventually polls until done returns nil, for a minute at most.
func eventually(t *testing.T, what string, done func(context.Context) error) {
	t.Helper()
	if err := cluster.Poll(t.Context(), time.Minute, what, done); err != nil {
		t.Fatal(err)
	}
}

// kubectl runs kubectl as the administrator.
func kubectl(t *testing.T, stdin string, args ...string) cluster.Said {
	t.Helper()
	return as(t, server(t).Admin(), stdin, args...)
}

// as runs kubectl as a user.
func as(t *testing.T, u cluster.User, stdin string, args ...string) cluster.Said {
	t.Helper()
	s, err := u.Kubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// apply applies manifests in a namespace; they must be taken.
func apply(t *testing.T, ns, manifest string, args ...string) cluster.Said {
	t.Helper()
	s := kubectl(t, manifest, append([]string{"apply", "-n", ns, "-f", "-"}, args...)...)
	if s.Refused() {
		t.Fatalf("kubectl apply was refused: %s", s)
	}
	return s
}

// refused tries to apply manifests; they must not be taken.
func refused(t *testing.T, ns, manifest string, args ...string) cluster.Said {
	t.Helper()
	s := kubectl(t, manifest, append([]string{"apply", "-n", ns, "-f", "-"}, args...)...)
	if !s.Refused() {
		t.Fatalf("kubectl apply was not refused: %s", s)
	}
	return s
}

// ids are the rules of warnings, which begin with them.
func ids(warnings []string) []string {
	var list []string
	for _, w := range warnings {
		id, _, _ := strings.Cut(w, " ")
		list = append(list, id)
	}
	return list
}

// warns fails the test if one of the rules is not among the warnings.
func warns(t *testing.T, s cluster.Said, rules ...string) {
	t.Helper()
	for _, id := range rules {
		if !slices.Contains(ids(s.Warnings), id) {
			t.Errorf("no warning of %s: %s", id, s)
		}
	}
}

// silent fails the test if one of the rules is among the warnings; without rules, if there is any warning.
func silent(t *testing.T, s cluster.Said, rules ...string) {
	t.Helper()
	if len(rules) == 0 && len(s.Warnings) > 0 {
		t.Errorf("there are warnings: %s", s)
	}
	for _, id := range rules {
		if slices.Contains(ids(s.Warnings), id) {
			t.Errorf("a warning of %s: %s", id, s)
		}
	}
}

// stored tells whether the API server has a ServiceEntry.
func stored(t *testing.T, ns, name string) bool {
	t.Helper()
	s := kubectl(t, "", "get", "-n", ns, "serviceentry", name, "--ignore-not-found", "-o", "name")
	if s.Refused() {
		t.Fatal(s)
	}
	return strings.TrimSpace(s.Stdout) != ""
}

// grant makes users, groups and ServiceAccounts administrators; they are given as flags of kubectl.
func grant(t *testing.T, to ...string) {
	t.Helper()
	if s := kubectl(t, "", append([]string{"create", "clusterrolebinding", unique("e2e"), "--clusterrole=cluster-admin"}, to...)...); s.Refused() {
		t.Fatal(s)
	}
}

// annotations are those that the webhook left in the audit log for a request, without the webhook's name.
func annotations(t *testing.T, verb, resource, ns, name string) map[string]string {
	t.Helper()
	e, err := server(t).Audit(t.Context(), verb, resource, ns, name)
	if err != nil {
		t.Fatal(err)
	}
	own := make(map[string]string)
	for key, value := range e.Annotations {
		if hook, key, ok := strings.Cut(key, "/"); ok && strings.Contains(hook, "meshvet") {
			own[key] = value
		}
	}
	return own
}

// counter reads a sum of a metric of the release's newest Pod.
func counter(t *testing.T, r *release.Release, name string, labels ...string) float64 {
	t.Helper()
	m, err := r.Pod().Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m.Sum(name, labels...)
}

// clients makes a client of the API server that keeps the warnings it gets.
func clients(t *testing.T, warnings rest.WarningHandler) dynamic.Interface {
	t.Helper()
	config := rest.CopyConfig(server(t).Config)
	config.WarningHandler = warnings
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
