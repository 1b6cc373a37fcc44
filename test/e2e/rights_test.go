package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/test/e2e/release"
)

// withoutRoutes takes the right to read VirtualServices from a release, and returns what gives it back.
func withoutRoutes(t *testing.T, r *release.Release) (giveBack func()) {
	t.Helper()
	c := server(t)
	role := new(rbacv1.ClusterRole)
	for _, o := range r.Objects {
		if o.GetKind() == "ClusterRole" {
			if err := c.Client.Get(t.Context(), client.ObjectKey{Name: o.GetName()}, role); err != nil {
				t.Fatal(err)
			}
		}
	}
	full := role.DeepCopy()
	found := false
	for i := range role.Rules {
		before := len(role.Rules[i].Resources)
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(s string) bool { return s == "virtualservices" })
		found = found || len(role.Rules[i].Resources) < before
	}
	if !found {
		t.Fatalf("the ClusterRole has no virtualservices: %v", full.Rules)
	}
	if err := c.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	return func() {
		full.ResourceVersion = role.ResourceVersion
		if err := c.Client.Update(t.Context(), full); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMissingRight: without one of its rights the server says which, and serves what it can. When it has it again, it goes on by itself.
func TestMissingRight(t *testing.T) {
	t.Parallel()
	r := install(t, release.Options{Name: "restricted"})
	ns := namespace(t, r)
	giveBack := withoutRoutes(t, r)
	r.Pod().Kill()
	p, err := r.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// It is ready, and answers.
	if err := r.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	warns(t, apply(t, ns, passthrough), "SE101")
	m, err := p.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m.Sum("meshvet_index_synced", "kind", "VirtualService") != 0 || m.Sum("meshvet_index_synced", "kind", "Gateway") != 1 {
		t.Errorf("meshvet_index_synced is %v for VirtualService and %v for Gateway", m.Sum("meshvet_index_synced", "kind", "VirtualService"),
			m.Sum("meshvet_index_synced", "kind", "Gateway"))
	}
	lines, err := p.Lines()
	if err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(lines, func(l release.Line) bool {
		said := fmt.Sprint(l["msg"], l["reason"], l["error"])
		return strings.Contains(said, "virtualservices") && strings.Contains(said, "list")
	}) {
		t.Errorf("no line of the log says which right is missing:\n%s", p.Tail(20))
	}
	// What concludes from the absence of routes is not said.
	unused := strings.ReplaceAll(strings.Split(rates, "---\n")[0]+"---\n"+strings.Split(rates, "---\n")[1], "rates", "rates-"+ns)
	unused = strings.Replace(unused, "{name: v1, labels: {version: v1}}", "{name: v1, labels: {version: v1}, trafficPolicy: {connectionPool: {tcp: {maxConnections: 3}}}}", 1)
	silent(t, apply(t, ns, unused), "DR227")
	// What the routes that are not in view would tell is not said either, and nothing else is held up.
	giveBack()
	eventually(t, "it reads VirtualServices again", func(ctx context.Context) error {
		m, err := p.Metrics(ctx)
		if err != nil {
			return err
		}
		if m.Sum("meshvet_index_synced", "kind", "VirtualService") != 1 {
			return errors.New("meshvet_index_synced is 0")
		}
		return nil
	})
	warns(t, apply(t, ns, strings.Replace(unused, "maxConnections: 3", "maxConnections: 4", 1)), "DR227")
	if !p.Alive() {
		t.Error("the process was restarted")
	}
}

// TestLateKind: a kind whose CustomResourceDefinition is installed later is watched from then on.
func TestLateKind(t *testing.T) {
	t.Parallel()
	r := meshvet(t)
	c := server(t)
	routes := func(ctx context.Context, want float64) error {
		m, err := r.Pod().Metrics(ctx)
		if err != nil {
			return err
		}
		if n := m.Sum("meshvet_index_objects", "kind", "HTTPRoute"); n != want || m.Sum("meshvet_index_synced", "kind", "HTTPRoute") != 1 {
			return fmt.Errorf("there are %v, synced or known to be absent: %v", n, m.Sum("meshvet_index_synced", "kind", "HTTPRoute"))
		}
		return nil
	}
	eventually(t, "no HTTPRoute is known", func(ctx context.Context) error { return routes(ctx, 0) })
	folder, err := c.ModuleFolder(t.Context(), "sigs.k8s.io/gateway-api")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.InstallCRDs(filepath.Join(folder, "config", "crd", "standard", "gateway.networking.k8s.io_httproutes.yaml")); err != nil {
		t.Fatal(err)
	}
	ns := namespace(t, r)
	route := &gatewayv1.HTTPRoute{
		TypeMeta:   metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: "HTTPRoute"},
		ObjectMeta: metav1.ObjectMeta{Name: "late"},
		Spec:       gatewayv1.HTTPRouteSpec{Hostnames: []gatewayv1.Hostname{"late.example.com"}},
	}
	text, err := yaml.Marshal(route)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, ns, string(text))
	eventually(t, "the HTTPRoute is in the index", func(ctx context.Context) error { return routes(ctx, 1) })
	// And when the kind goes, so do the objects.
	if s := kubectl(t, "", "delete", "customresourcedefinition", "httproutes.gateway.networking.k8s.io"); s.Refused() {
		t.Fatal(s)
	}
	eventually(t, "no HTTPRoute is known any more", func(ctx context.Context) error { return routes(ctx, 0) })
}

// TestMeshConfig: what the mesh configuration says counts, from the moment on when it says it.
func TestMeshConfig(t *testing.T) {
	t.Parallel()
	c := server(t)
	root, err := c.MakeNamespace(t.Context(), unique("e2e-istio"))
	if err != nil {
		t.Fatal(err)
	}
	r := install(t, release.Options{Name: "configured", Values: "meshConfigMap: istio-canary\nconfig: {version: 1, istio: {rootNamespace: " + root + "}}\n"})
	ns := namespace(t, r)
	// With a default of the mesh, a DestinationRule that says something else of the connection pool drops it: MX310.
	apply(t, ns, strings.Replace(passthrough, "  location", "  resolution: DNS\n  location", 1))
	rule := strings.Replace(httpSettings, "http: {http2MaxRequests: 1000}", "tcp: {maxConnections: N}", 1)
	silent(t, apply(t, ns, strings.Replace(rule, "N}", "10}", 1)), "MX310")
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: root, Name: "istio-canary"},
		Data:       map[string]string{"mesh": meshDefaults},
	}
	if err := c.Client.Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	n := 10
	eventually(t, "the default of the mesh counts", func(context.Context) error {
		n++
		s := kubectl(t, strings.Replace(rule, "N}", fmt.Sprint(n, "}"), 1), "apply", "-n", ns, "-f", "-")
		if s.Refused() || !slices.Contains(ids(s.Warnings), "MX310") {
			return errors.New(s.String())
		}
		return nil
	})
	config.Data["mesh"] = "{}"
	if err := c.Client.Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the default of the mesh is gone", func(context.Context) error {
		n++
		s := kubectl(t, strings.Replace(rule, "N}", fmt.Sprint(n, "}"), 1), "apply", "-n", ns, "-f", "-")
		if s.Refused() || slices.Contains(ids(s.Warnings), "MX310") {
			return errors.New(s.String())
		}
		return nil
	})
}

// meshDefaults is a mesh configuration with a setting that rules for single hosts drop.
const meshDefaults = `defaultTrafficPolicy: {connectionPool: {tcp: {connectTimeout: 3s}}}
`
