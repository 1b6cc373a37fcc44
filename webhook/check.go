package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/meshvet/meshvet/lint/object"
)

// CheckAnnotation makes meshvet answer a dry run with a warning that says so, whatever becomes of its findings.
const CheckAnnotation = "meshvet.dev/check"

// checkAnswer is how that warning begins; what the request was answered with follows.
const checkAnswer = "meshvet check: "

// Checked is how a cluster answers a faulty ServiceEntry.
type Checked struct {
	Warnings []string // what the API server sent back, but for the answer of meshvet
	Denial   string   // "" if it would have stored the object
	// Answer is what meshvet answered: allow, deny, exempt, error or shed; "" if it was not asked.
	Answer string
}

// Check asks the API server to create a ServiceEntry that leaves its resolution out, as a dry run, and returns what it answers. Nothing
// is stored. An error means that no answer came, or one that has nothing to do with the object.
func Check(ctx context.Context, cfg *rest.Config, namespace string) (Checked, error) {
	heard := &warnings{}
	cfg = rest.CopyConfig(cfg)
	cfg.WarningHandler = heard
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return Checked{}, fmt.Errorf("make a client for the API server: %w", err)
	}
	entries := schema.GroupVersionResource{Group: object.IstioGroup, Version: "v1", Resource: "serviceentries"}
	entry := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": entries.GroupVersion().String(),
		"kind":       string(object.ServiceEntry),
		"metadata": map[string]any{
			"name": "meshvet-check", "namespace": namespace, "annotations": map[string]any{CheckAnnotation: "true"},
		},
		"spec": map[string]any{
			"hosts":    []any{"meshvet-check.invalid"},
			"location": "MESH_EXTERNAL",
			"ports":    []any{map[string]any{"number": int64(443), "name": "tls", "protocol": "TLS"}},
		},
	}}
	_, err = client.Resource(entries).Namespace(namespace).Create(ctx, entry, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	var out Checked
	for _, w := range heard.all() {
		if answer, ok := strings.CutPrefix(w, checkAnswer); ok {
			out.Answer = answer
		} else {
			out.Warnings = append(out.Warnings, w)
		}
	}
	switch {
	case err == nil:
	case apierrors.IsInvalid(err) && out.Answer != "":
		out.Denial = err.Error()
	default:
		return out, fmt.Errorf("create a ServiceEntry as a dry run in namespace %s: %w", namespace, err)
	}
	return out, nil
}

// warnings collects what API servers warn of. It is safe for concurrent use.
type warnings struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeader is part of rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	const miscellaneous = 299
	if code != miscellaneous || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.list)
}
