package webhook

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// fakeCluster is an API server of which a test decides what it serves and to whom.
type fakeCluster struct {
	*cluster
	discovery *fakediscovery.FakeDiscovery
	dynamic   *dynamicfake.FakeDynamicClient

	mu        sync.Mutex
	forbidden map[string]bool // "list services"
}

type fakeAccess struct {
	authorization.SelfSubjectAccessReviewInterface
	c *fakeCluster
}

func (f fakeAccess) Create(_ context.Context, r *authorizationv1.SelfSubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SelfSubjectAccessReview, error) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	a := r.Spec.ResourceAttributes
	r.Status.Allowed = !f.c.forbidden[a.Verb+" "+a.Resource]
	return r, nil
}

func newFakeCluster(t *testing.T, serve map[string][]string, objects ...map[string]any) *fakeCluster {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{}
	for _, w := range append(live.Kinds(), live.ReadKind{Kind: object.ConfigMap, Resource: "configmaps"}) {
		for _, v := range live.Versions() {
			kinds[schema.GroupVersionResource{Group: w.Group, Version: v, Resource: w.Resource}] = string(w.Kind) + "List"
		}
	}
	var list []runtime.Object
	for _, raw := range objects {
		list = append(list, &unstructured.Unstructured{Object: raw})
	}
	f := &fakeCluster{
		dynamic:   dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, list...),
		discovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}},
		forbidden: map[string]bool{},
	}
	f.serve(serve)
	f.cluster = &cluster{dynamic: f.dynamic, discovery: f.discovery, access: fakeAccess{c: f}}
	return f
}

// serve says which resources the API server has, by group and version.
func (f *fakeCluster) serve(resources map[string][]string) {
	var lists []*metav1.APIResourceList
	for gv, names := range resources {
		l := &metav1.APIResourceList{GroupVersion: gv}
		for _, n := range names {
			l.APIResources = append(l.APIResources, metav1.APIResource{Name: n})
		}
		lists = append(lists, l)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.discovery.Lock()
	defer f.discovery.Unlock()
	f.discovery.Resources = lists
}

func (f *fakeCluster) forbid(what string, yes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forbidden[what] = yes
}

// follow runs the watches of some kinds until the test ends.
func follow(t *testing.T, f *fakeCluster, kinds ...object.Kind) (*Index, map[object.Kind]*watch) {
	t.Helper()
	index := NewIndex(mesh.Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	out := map[object.Kind]*watch{}
	for _, w := range newWatches(f.cluster, index, logr.Discard(), "istio-system", "istio") {
		if slices.Contains(kinds, w.Kind) {
			w.retry = 10 * time.Millisecond
			out[w.Kind] = w
			running.Go(func() { w.run(ctx) })
		}
	}
	return index, out
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatal("it did not happen: " + what)
}

func entry(name, host string) map[string]any {
	return map[string]any{
		"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry",
		"metadata": map[string]any{"name": name, "namespace": "web"},
		"spec":     map[string]any{"hosts": []any{host}},
	}
}

func TestWatchFollows(t *testing.T) {
	f := newFakeCluster(t, map[string][]string{"networking.istio.io/v1": {"serviceentries"}}, entry("a", "a.example"))
	index, watches := follow(t, f, object.ServiceEntry)
	eventually(t, "the kind is in view", func() bool { s, _ := watches[object.ServiceEntry].status(); return s == Synced })
	if x := index.Snapshot(); x.Count(object.ServiceEntry) != 1 || !x.Complete(object.ServiceEntry) {
		t.Fatalf("%d entries, complete %v", x.Count(object.ServiceEntry), x.Complete(object.ServiceEntry))
	}
	entries := f.dynamic.Resource(schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "serviceentries"}).Namespace("web")
	if _, err := entries.Create(t.Context(), &unstructured.Unstructured{Object: entry("b", "b.example")}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new object is in the index", func() bool { return len(index.Snapshot().Targets("b.example")) == 1 })
	if _, err := entries.Update(t.Context(), &unstructured.Unstructured{Object: entry("b", "c.example")}, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a changed object is", func() bool {
		return len(index.Snapshot().Targets("b.example")) == 0 && len(index.Snapshot().Targets("c.example")) == 1
	})
	if err := entries.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a removed object is not", func() bool { return index.Snapshot().Count(object.ServiceEntry) == 1 })
}

// TestWatchWithoutRights loses and gets the right to read one kind; the other one is followed throughout.
func TestWatchWithoutRights(t *testing.T) {
	f := newFakeCluster(t, map[string][]string{"networking.istio.io/v1": {"serviceentries", "virtualservices"}}, entry("a", "a.example"))
	f.forbid("watch virtualservices", true)
	index, watches := follow(t, f, object.ServiceEntry, object.VirtualService)
	eventually(t, "the other kind is in view", func() bool { s, _ := watches[object.ServiceEntry].status(); return s == Synced })
	eventually(t, "the missing right is known", func() bool { s, _ := watches[object.VirtualService].status(); return s == Forbidden })
	if _, why := watches[object.VirtualService].status(); why != "no permission to watch virtualservices.networking.istio.io" {
		t.Errorf("it says %q", why)
	}
	if !watches[object.VirtualService].settled() || index.Snapshot().Complete(object.VirtualService) {
		t.Error("the server is to serve what it can, and to conclude nothing from what it does not see")
	}
	if said := describe([]*watch{watches[object.ServiceEntry], watches[object.VirtualService]}); !strings.Contains(said, "VirtualService (no permission") || strings.Contains(said, "ServiceEntry") {
		t.Errorf("not in view: %q", said)
	}
	f.forbid("watch virtualservices", false)
	eventually(t, "the right is used once it is there", func() bool { return index.Snapshot().Complete(object.VirtualService) })
}

// TestWatchOfKindsThatComeLater installs a CustomResourceDefinition while the server runs, in the only version that it serves.
func TestWatchOfKindsThatComeLater(t *testing.T) {
	f := newFakeCluster(t, map[string][]string{"v1": {"services"}})
	index, watches := follow(t, f, object.ServiceEntry)
	eventually(t, "the kind is known to be absent", func() bool { s, _ := watches[object.ServiceEntry].status(); return s == Absent })
	if !index.Snapshot().Complete(object.ServiceEntry) {
		t.Error("of a kind that is not served all objects are known: there are none")
	}
	f.serve(map[string][]string{"networking.istio.io/v1beta1": {"serviceentries"}})
	eventually(t, "the kind is followed", func() bool { s, _ := watches[object.ServiceEntry].status(); return s == Synced })
	old := entry("a", "a.example")
	old["apiVersion"] = "networking.istio.io/v1beta1"
	entries := f.dynamic.Resource(schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1beta1", Resource: "serviceentries"}).Namespace("web")
	if _, err := entries.Create(t.Context(), &unstructured.Unstructured{Object: old}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its objects are in the index", func() bool { return index.Snapshot().Count(object.ServiceEntry) == 1 })
}

// TestWatchOfUnreadable has an object that is nested too deep: the kind is not completely known until it is gone.
func TestWatchOfUnreadable(t *testing.T) {
	deep := any("x")
	for range 500 {
		deep = map[string]any{"a": deep}
	}
	bad := entry("bad", "bad.example")
	bad["spec"] = map[string]any{"hosts": []any{"bad.example"}, "deep": deep}
	f := newFakeCluster(t, map[string][]string{"networking.istio.io/v1": {"serviceentries"}}, entry("a", "a.example"), bad)
	index, watches := follow(t, f, object.ServiceEntry)
	eventually(t, "the kind is in view", func() bool { s, _ := watches[object.ServiceEntry].status(); return s == Synced })
	if x := index.Snapshot(); x.Count(object.ServiceEntry) != 1 || x.Complete(object.ServiceEntry) {
		t.Fatalf("%d entries, complete %v", x.Count(object.ServiceEntry), x.Complete(object.ServiceEntry))
	}
	gvr := schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "serviceentries"}
	if err := f.dynamic.Resource(gvr).Namespace("web").Delete(t.Context(), "bad", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the kind is completely known", func() bool { return index.Snapshot().Complete(object.ServiceEntry) })
}

// TestWatchOfMeshConfig follows one ConfigMap, in another namespace after a while.
func TestWatchOfMeshConfig(t *testing.T) {
	config := func(ns, text string) map[string]any {
		return map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "istio", "namespace": ns},
			"data": map[string]any{"mesh": text, "meshNetworks": "networks: {}"},
		}
	}
	f := newFakeCluster(t, map[string][]string{"v1": {"configmaps"}},
		config("istio-system", "defaultServiceExportTo: ['.']"), config("elsewhere", "defaultServiceExportTo: ['b']"))
	index, watches := follow(t, f, object.ConfigMap)
	exports := func() string { return strings.Join(index.Snapshot().Settings().DefaultServiceExportTo, ",") }
	eventually(t, "the mesh configuration counts", func() bool { return exports() == "." })
	maps := f.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	changed := &unstructured.Unstructured{Object: config("istio-system", "defaultServiceExportTo: ['a']")}
	if _, err := maps.Namespace("istio-system").Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a change of it counts", func() bool { return exports() == "a" })
	index.Configure(mesh.Settings{RootNamespace: "elsewhere"})
	watches[object.ConfigMap].move("elsewhere")
	eventually(t, "that of another root namespace counts", func() bool { return exports() == "b" })
	if err := maps.Namespace("elsewhere").Delete(t.Context(), "istio", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its removal counts", func() bool { return exports() == "" })
}
