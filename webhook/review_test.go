package webhook

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/policies"
	"github.com/meshvet/meshvet/rules"
)

// realRules are the rules that the program has.
var realRules = sync.OnceValues(func() ([]lint.Rule, error) {
	rego, err := policy.Load(context.Background(), policies.FS)
	if err != nil {
		return nil, err
	}
	return append(rules.All(), rego...), nil
})

// testHandler answers with the real rules, under a configuration, in the mesh that a stream of manifests describes.
func testHandler(t *testing.T, config, manifests string) *Handler {
	t.Helper()
	all, err := realRules()
	if err != nil {
		t.Fatal(err)
	}
	h := &Handler{index: NewIndex(lint.Config{}.Mesh), wording: Wording{DocsURL: "https://docs.example/rules"}, metrics: newMetrics(), log: logr.Discard()}
	r := &reloader{file: "config.yaml", rules: all, log: logr.Discard(), metrics: h.metrics, use: func(rs *ruleset) {
		h.use(rs)
		h.index.Configure(rs.config.Mesh)
	}}
	rs, err := r.read([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	r.put(rs)
	for _, raw := range documents(t, manifests) {
		o, err := live.Object(raw)
		if err != nil {
			t.Fatal(err)
		}
		h.index.Put(o)
	}
	for _, k := range lint.AllKinds() {
		h.index.SetComplete(k, true)
	}
	return h
}

// documents decodes a stream of manifests as a cluster would hold them.
func documents(t *testing.T, stream string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, doc := range strings.Split("\n"+stream, "\n---") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		out = append(out, document(t, doc))
	}
	return out
}

func document(t *testing.T, text string) map[string]any {
	t.Helper()
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	body, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	raw, err := decode(runtime.RawExtension{Raw: body})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// requestOf makes a request about objects.
func requestOf(t *testing.T, op admissionv1.Operation, old, now map[string]any) admission.Request {
	t.Helper()
	about := now
	if about == nil {
		about = old
	}
	meta, _ := about["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	ns, _ := meta["namespace"].(string)
	kind, _ := about["kind"].(string)
	marshal := func(raw map[string]any) runtime.RawExtension {
		if raw == nil {
			return runtime.RawExtension{}
		}
		body, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: body}
	}
	dry := false
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "uid", Kind: metav1.GroupVersionKind{Group: object.IstioGroup, Version: "v1", Kind: kind},
		Name: name, Namespace: ns, Operation: op, DryRun: &dry,
		UserInfo: authenticationv1.UserInfo{Username: "jane", Groups: []string{"system:authenticated"}},
		Object:   marshal(now), OldObject: marshal(old),
	}}
}

// TestReviews answers recorded requests: each archive in testdata/reviews has the configuration, the mesh, the object before and after,
// and the answer that was read by a person.
func TestReviews(t *testing.T) {
	files, err := filepath.Glob("testdata/reviews/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no reviews", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			h := testHandler(t, parts["config.yaml"], parts["mesh.yaml"])
			old, now := document(t, parts["old.yaml"]), document(t, parts["object.yaml"])
			op := admissionv1.Create
			switch {
			case now == nil:
				op = admissionv1.Delete
			case old != nil:
				op = admissionv1.Update
			}
			req := requestOf(t, op, old, now)
			if who := parts["user.yaml"]; who != "" {
				if err := yaml.UnmarshalStrict([]byte(who), &req.UserInfo); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			response := h.Handle(ctx, req)
			if len(response.Patches) > 0 {
				t.Error("a validating webhook patches nothing")
			}
			got, err := json.MarshalIndent(response.AdmissionResponse, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			if *linttest.Update {
				writeResponse(t, file, archive, got)
				return
			}
			if diff := cmp.Diff(parts["response.json"], string(got)); diff != "" {
				t.Errorf("the answer differs (-want +got):\n%s", diff)
			}
		})
	}
}

func writeResponse(t *testing.T, file string, archive *txtar.Archive, got []byte) {
	t.Helper()
	for i := range archive.Files {
		if archive.Files[i].Name == "response.json" {
			archive.Files[i].Data = got
			got = nil
		}
	}
	if got != nil {
		archive.Files = append(archive.Files, txtar.File{Name: "response.json", Data: got})
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
