package live

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// apiServer answers as a kube-apiserver does, as far as Read asks; the e2e tests have a real one. What is asked of it is noted.
type apiServer struct {
	serves  map[string][]string // resources by group and version, such as "networking.istio.io/v1"
	objects map[string][]string // the JSON of objects by resource, namespaces in front of a slash: "shop/serviceentries"
	// answer, if it returns true, has answered the request itself.
	answer func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	asked []string // METHOD PATH?QUERY
}

func newServer(t *testing.T, s *apiServer) *rest.Config {
	t.Helper()
	if s.serves == nil {
		s.serves = map[string][]string{
			"v1": {"services", "namespaces", "configmaps"},
			"networking.istio.io/v1": {
				"serviceentries", "destinationrules", "virtualservices", "gateways", "sidecars", "workloadentries",
			},
		}
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL}
}

// kindsOf are the kinds of the resources that tests hold objects of.
var kindsOf = map[string]string{
	"serviceentries": "ServiceEntry", "destinationrules": "DestinationRule", "virtualservices": "VirtualService", "gateways": "Gateway",
	"sidecars": "Sidecar", "workloadentries": "WorkloadEntry", "envoyfilters": "EnvoyFilter", "services": "Service", "namespaces": "Namespace",
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.String())
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if s.answer != nil && s.answer(w, r) {
		return
	}
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
	for gv, resources := range s.serves {
		rest, below := strings.CutPrefix(path, gv)
		switch {
		case !below || rest != "" && rest[0] != '/':
			continue
		case rest == "":
			var list []map[string]any
			for _, name := range resources {
				list = append(list, map[string]any{"name": name, "kind": kindsOf[name], "namespaced": name != "namespaces", "verbs": []string{"get", "list"}})
			}
			reply(w, http.StatusOK, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": gv, "resources": list})
			return
		}
		ns := ""
		parts := strings.Split(strings.TrimPrefix(rest, "/"), "/")
		if parts[0] == "namespaces" && len(parts) > 2 {
			ns, parts = parts[1]+"/", parts[2:]
		}
		if len(parts) > 1 {
			for _, raw := range s.objects[ns+parts[0]+"/"+parts[1]] {
				writeText(w, raw)
				return
			}
			deny(w, http.StatusNotFound, "NotFound", parts[1]+" not found")
			return
		}
		s.list(w, r, gv, ns, parts[0])
		return
	}
	deny(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
}

// list answers with as many objects as are asked for; the continue token is where the next ones begin.
func (s *apiServer) list(w http.ResponseWriter, r *http.Request, gv, ns, resource string) {
	var all []string
	for at, objects := range s.objects {
		if in, of, found := strings.Cut(at, "/"); at == resource || at == ns+resource || found && ns == "" && in != "" && of == resource {
			all = append(all, objects...)
		}
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	to := len(all)
	next := ""
	if limit > 0 && from+limit < to {
		to = from + limit
		next = strconv.Itoa(to)
	}
	items := []json.RawMessage{}
	for _, raw := range all[from:to] {
		items = append(items, json.RawMessage(raw))
	}
	reply(w, http.StatusOK, map[string]any{
		"kind": kindsOf[resource] + "List", "apiVersion": gv, "metadata": map[string]any{"resourceVersion": "1", "continue": next}, "items": items,
	})
}

func reply(w http.ResponseWriter, code int, body any) {
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err)
	}
}

func writeText(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil {
		panic(err)
	}
}

func deny(w http.ResponseWriter, code int, reason, message string) {
	reply(w, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": message})
}

// forbid denies as RBAC does.
func forbid(w http.ResponseWriter, verb, resource, scope string) {
	deny(w, http.StatusForbidden, "Forbidden", fmt.Sprintf(`%s is forbidden: User "bob" cannot %s resource %q in API group "" %s`, resource, verb, resource, scope))
}

func entry(name string) string {
	return fmt.Sprintf(`{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": %q, "namespace": "shop", "uid": "u",
"managedFields": [{"manager": "kubectl"}], "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "meshvet.dev/ignore": "SE101"}},
"spec": {"hosts": ["%s.example.com"], "resolution": "DNS"}, "status": {"conditions": [{"type": "Reconciled"}], "addresses": [{"value": "240.240.0.1"}]}}`, name, name)
}

func newTLSServer(t *testing.T) *rest.Config {
	t.Helper()
	srv := httptest.NewTLSServer(&apiServer{})
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) //nolint:forbidigo // net/http wants one; the handshake that fails is the test
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL}
}
