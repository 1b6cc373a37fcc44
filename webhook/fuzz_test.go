package webhook

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	admissionv1 "k8s.io/api/admission/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// FuzzHandle answers what nobody would ask: it never panics, denies nothing by default, and whatever it says the API server passes on as it is.
func FuzzHandle(f *testing.F) {
	files, err := filepath.Glob("testdata/reviews/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no reviews", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		parts := map[string][]byte{}
		for _, part := range archive.Files {
			if parts[part.Name], err = yaml.YAMLToJSON(part.Data); err != nil {
				f.Fatal(part.Name, err)
			}
		}
		for i := range fuzzedOperations {
			f.Add(uint8(i), "web", parts["object.yaml"], parts["old.yaml"])
		}
	}
	const strict = "webhook: {onError: deny, denyCaused: true, actions: [{action: deny}]}"
	handlers := map[string]*Handler{}
	var once sync.Once
	f.Fuzz(func(t *testing.T, op uint8, ns string, now, old []byte) {
		req := requestOf(t, fuzzedOperations[int(op)%len(fuzzedOperations)], nil, nil)
		req.Namespace, req.Kind.Kind = ns, "ServiceEntry"
		req.Object.Raw, req.OldObject.Raw = now, old
		dry := true
		req.DryRun = &dry
		once.Do(func() {
			for _, config := range []string{"", strict} {
				handlers[config] = fuzzed(t, config)
			}
		})
		for config, h := range handlers {
			r := h.Handle(t.Context(), req)
			if !r.Allowed && (config == "" || r.Result.Code < http.StatusBadRequest || r.Result.Message == "" || !utf8.ValidString(r.Result.Message)) {
				t.Errorf("config %q: denied with %+v", config, r.Result)
			}
			if strings.Contains(said(r), "meshvet itself failed") || strings.Contains(said(r), "panic:") {
				t.Error("it panicked:", said(r))
			}
			total := 0
			for _, w := range r.Warnings {
				total += len(w)
				if _, err := utilnet.NewWarningHeader(299, "", w); err != nil || len(w) > mostWarning || w == "" {
					t.Errorf("a warning of %d bytes: %q (%v)", len(w), w, err)
				}
			}
			if total > mostWarnings {
				t.Errorf("%d bytes of warnings", total)
			}
			for k, v := range r.AuditAnnotations {
				if faults := validation.IsQualifiedName("validate.meshvet.dev/" + k); len(faults) > 0 || !utf8.ValidString(v) || len(v) > mostAudit {
					t.Errorf("audit annotation %s=%q: %v", k, v, faults)
				}
			}
		}
	})
}

var fuzzedOperations = [...]admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete, "", "PATCH"}

// fuzzed is a handler in a mesh where there is something to meet.
func fuzzed(t *testing.T, config string) *Handler {
	t.Helper()
	return testHandler(t, config, strictMesh+`
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: web}
spec:
  host: api.example.com
  subsets: [{name: v1, labels: {version: v1}}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: api, namespace: web}
spec:
  hosts: [api.example.com]
  tls: [{match: [{port: 443, sniHosts: [api.example.com]}], route: [{destination: {host: api.example.com, subset: v1}}]}]`)
}
