package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/meshvet/meshvet/lint/object"
)

func entries(n int) []string {
	var out []string
	for i := range n {
		out = append(out, entry(fmt.Sprintf("e%03d", i)))
	}
	return out
}

func mustRead(t *testing.T, o Options) *State {
	t.Helper()
	s, err := Read(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is asked for is pages of objects and nothing else, and what is kept is what the webhook keeps.
func TestReadPages(t *testing.T) {
	srv := &apiServer{objects: map[string][]string{
		"shop/serviceentries": entries(25),
		"services":            {`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"type": "ClusterIP", "ipFamilies": ["IPv4"]}}`},
		"istio-system/configmaps/istio": {
			`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "istio", "namespace": "istio-system"}, "data": {"mesh": "trustDomain: a", "meshNetworks": "networks: {}"}}`,
		},
	}}
	var done atomic.Int64
	s := mustRead(t, Options{Cluster: newServer(t, srv), PageSize: 10, Done: &done})
	if n := len(s.Objects); n != 27 || done.Load() != 27 {
		t.Fatalf("%d objects, %d counted", n, done.Load())
	}
	pages, others := 0, 0
	for _, asked := range srv.asked {
		if strings.Contains(asked, "/serviceentries?") {
			pages++
		}
		if !strings.HasPrefix(asked, "GET ") || strings.Contains(asked, "watch") || strings.Contains(asked, "secret") {
			others++
		}
	}
	if pages != 3 || others > 0 {
		t.Errorf("%d pages, %d requests that are none of a reader's: %q", pages, others, srv.asked)
	}
	for _, o := range s.Objects {
		switch o.FileName() {
		case "cluster:ServiceEntry/shop/e000":
			if o.Root().At("metadata", "managedFields").Exists() || o.Annotation("kubectl.kubernetes.io/last-applied-configuration") != "" {
				t.Error("metadata that no rule looks at is kept")
			}
			if o.Annotation("meshvet.dev/ignore") != "SE101" || o.Status().Get("addresses").Len() != 1 || o.Root().At("status", "conditions").Exists() {
				t.Error("not the annotations and the addresses that are wanted")
			}
		case "cluster:Service/shop/web":
			if o.Spec().Get("ipFamilies").Exists() {
				t.Error("all of a Service is kept")
			}
		case "cluster:ConfigMap/istio-system/istio":
			if o.Root().At("data", "meshNetworks").Exists() || o.Root().At("data", "mesh").Str() == "" {
				t.Error("not the mesh configuration alone is kept")
			}
		}
	}
	want := map[object.Kind]Outcome{
		object.ServiceEntry: All, object.EnvoyFilter: Absent, object.HTTPRoute: Absent, object.Service: All, object.ConfigMap: All,
	}
	for k, outcome := range want {
		if got := s.Of(k); got.Outcome != outcome || !got.Complete() {
			t.Errorf("%s: %s, %s, %v", k, got.Outcome, got.Reason, got.Unreadable)
		}
	}
}

// The best version that is served is asked for.
func TestReadOldVersions(t *testing.T) {
	for _, v := range []string{"v1beta1", "v1alpha3"} {
		srv := &apiServer{
			serves:  map[string][]string{"v1": {"services"}, "networking.istio.io/" + v: {"serviceentries", "destinationrules"}},
			objects: map[string][]string{"shop/serviceentries": {strings.Replace(entry("a"), "io/v1", "io/"+v, 1)}},
		}
		s := mustRead(t, Options{Cluster: newServer(t, srv)})
		if len(s.Objects) != 1 || s.Objects[0].APIVersion != "networking.istio.io/"+v {
			t.Errorf("%s: %v", v, s.Objects)
		}
	}
}

// A list whose continue token has expired begins again, and in the end is asked for in one piece.
func TestReadExpired(t *testing.T) {
	for _, c := range []struct {
		name    string
		expires int // how often
		starts  int
	}{{"once", 1, 2}, {"for ever", 1000, mostRestarts + 2}} {
		t.Run(c.name, func(t *testing.T) {
			var left, starts atomic.Int64
			left.Store(int64(c.expires))
			srv := &apiServer{objects: map[string][]string{"shop/serviceentries": entries(25)}}
			srv.answer = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/serviceentries") {
					return false
				}
				if r.URL.Query().Get("continue") == "" {
					starts.Add(1)
					return false
				}
				if r.URL.Query().Get("continue") == "20" && left.Add(-1) >= 0 {
					deny(w, http.StatusGone, "Expired", "The provided continue parameter is too old")
					return true
				}
				return false
			}
			var done atomic.Int64
			s := mustRead(t, Options{Cluster: newServer(t, srv), PageSize: 10, Done: &done})
			if k := s.Of(object.ServiceEntry); len(s.Objects) != 25 || k.Outcome != All {
				t.Errorf("%d objects, %s, %s, %v", len(s.Objects), k.Outcome, k.Reason, k.Unreadable)
			}
			if done.Load() != 25 || starts.Load() != int64(c.starts) {
				t.Errorf("%d counted, %d starts", done.Load(), starts.Load())
			}
		})
	}
}

// Who may not list everywhere is shown what a Role of a namespace allows; what is missing is named.
func TestReadDenied(t *testing.T) {
	srv := &apiServer{objects: map[string][]string{
		"shop/serviceentries": entries(3),
		"namespaces/shop":     {`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"istio-injection": "enabled"}}}`},
	}}
	srv.answer = func(w http.ResponseWriter, r *http.Request) bool {
		path := r.URL.Path
		switch {
		case slices.Contains(Versions(), path[strings.LastIndex(path, "/")+1:]), path == "/api/v1/namespaces/shop", strings.Contains(path, "/shop/") && !strings.Contains(path, "/sidecars"):
			return false
		}
		resource := path[strings.LastIndex(path, "/")+1:]
		verb := "list"
		if strings.Contains(path, "configmaps/") {
			verb, resource = "get", "configmaps"
		}
		forbid(w, verb, resource, "at the cluster scope")
		return true
	}
	cfg := newServer(t, srv)
	got := map[object.Kind]string{}
	for _, k := range mustRead(t, Options{Cluster: cfg, Namespaces: []string{"shop", "web"}}).Kinds {
		if k.Outcome != Absent {
			got[k.Kind] = fmt.Sprintf("%s %v: %s", k.Outcome, k.Namespaces, k.Reason)
		}
	}
	const web = `some [shop]: user "bob" has no permission to list %s in namespace web`
	want := map[object.Kind]string{
		object.ServiceEntry:    fmt.Sprintf(web, "serviceentries.networking.istio.io"),
		object.DestinationRule: fmt.Sprintf(web, "destinationrules.networking.istio.io"),
		object.VirtualService:  fmt.Sprintf(web, "virtualservices.networking.istio.io"),
		object.Gateway:         fmt.Sprintf(web, "gateways.networking.istio.io"),
		object.WorkloadEntry:   fmt.Sprintf(web, "workloadentries.networking.istio.io"),
		object.Sidecar: `denied []: user "bob" has no permission to list sidecars.networking.istio.io in namespace shop; ` +
			`user "bob" has no permission to list sidecars.networking.istio.io in namespace web`,
		object.Service:   fmt.Sprintf(web, "services"),
		object.Namespace: `some [shop]: user "bob" has no permission to get namespaces web`,
		object.ConfigMap: `denied []: user "bob" has no permission to get configmaps istio in namespace istio-system`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s := mustRead(t, Options{Cluster: cfg})
	if k := s.Of(object.ServiceEntry); k.Outcome != Denied || k.Reason != `user "bob" has no permission to list serviceentries.networking.istio.io in all namespaces` {
		t.Errorf("%s: %s", k.Outcome, k.Reason)
	}
	if len(s.Objects) > 0 {
		t.Errorf("%d objects", len(s.Objects))
	}
}

// What cannot be asked at all is one error.
func TestReadUnreachable(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	refused := func(code int, reason string) *apiServer {
		return &apiServer{answer: func(w http.ResponseWriter, _ *http.Request) bool { deny(w, code, reason, "no"); return true }}
	}
	for name, c := range map[string]struct {
		cfg  *rest.Config
		want string
	}{
		"nobody":     {&rest.Config{Host: "http://127.0.0.1:1"}, "nothing listens there (connection refused)"},
		"no name":    {&rest.Config{Host: "https://cluster.invalid"}, "there is no address for cluster.invalid"},
		"unknown CA": {newTLSServer(t), "signed by an authority that the kubeconfig does not name"},
		"login":      {newServer(t, refused(http.StatusUnauthorized, "Unauthorized")), "it does not accept the credentials; log in again"},
		"no cluster": {newServer(t, refused(http.StatusNotFound, "NotFound")), "what answers there is no Kubernetes API server"},
		"silence": {newServer(t, &apiServer{answer: func(_ http.ResponseWriter, r *http.Request) bool {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
			return true
		}}), "it did not answer within 300ms (--request-timeout)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(t.Context(), Options{Cluster: c.cfg, RequestTimeout: 300 * time.Millisecond})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.cfg.Host) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// A kind that does not come does not keep the others from it.
func TestReadFailed(t *testing.T) {
	srv := &apiServer{objects: map[string][]string{"shop/serviceentries": entries(2)}}
	srv.answer = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/services"):
			w.Header().Set("Retry-After", "3600") // which is longer than anybody waits
			deny(w, http.StatusTooManyRequests, "TooManyRequests", "later")
		case strings.HasSuffix(r.URL.Path, "/gateways"):
			writeText(w, "<html>")
		case strings.HasSuffix(r.URL.Path, "/sidecars"):
			w.Header().Add("Warning", `299 - "\u001b[31mold"`)
			return false
		default:
			return false
		}
		return true
	}
	began := time.Now()
	s := mustRead(t, Options{Cluster: newServer(t, srv), RequestTimeout: 500 * time.Millisecond})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	for k, want := range map[object.Kind]Outcome{object.ServiceEntry: All, object.Service: Failed, object.Gateway: Failed, object.Sidecar: All} {
		if got := s.Of(k); got.Outcome != want || (want == Failed) != (got.Reason != "") {
			t.Errorf("%s: %s, %s, %v", k, got.Outcome, got.Reason, got.Unreadable)
		}
	}
	if len(s.Warnings) != 1 {
		t.Errorf("warnings %q", s.Warnings)
	}
}

// A server that goes on for ever does not keep a reader.
func TestReadEndless(t *testing.T) {
	srv := &apiServer{}
	srv.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/serviceentries") {
			return false
		}
		writeText(w, `{"kind": "ServiceEntryList", "apiVersion": "networking.istio.io/v1", "metadata": {"continue": "more"}, "items": []}`)
		return true
	}
	k := mustRead(t, Options{Cluster: newServer(t, srv)}).Of(object.ServiceEntry)
	if k.Outcome != Failed || !strings.Contains(k.Reason, "goes on listing") {
		t.Errorf("%s: %s", k.Outcome, k.Reason)
	}
}

// Reading ends when the run does, whatever the server does.
func TestReadStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := &apiServer{answer: func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/services") {
			return false
		}
		cancel()
		<-r.Context().Done()
		return true
	}}
	if _, err := Read(ctx, Options{Cluster: newServer(t, srv)}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// An object deeper than is read is told, and its kind is not completely known.
func TestReadTooDeep(t *testing.T) {
	deep := strings.Replace(entry("deep"), `"DNS"`, strings.Repeat(`{"a":`, 200)+"1"+strings.Repeat("}", 200), 1)
	s := mustRead(t, Options{Cluster: newServer(t, &apiServer{objects: map[string][]string{"shop/serviceentries": {entry("a"), deep}}})})
	k := s.Of(object.ServiceEntry)
	if len(s.Objects) != 1 || k.Complete() || len(k.Unreadable) != 1 || k.Unreadable[0].Name != "cluster:ServiceEntry/shop/deep" {
		t.Errorf("%d objects, %s, %s, %v", len(s.Objects), k.Outcome, k.Reason, k.Unreadable)
	}
}
