package webhook

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/object"
)

// ruleFor makes a DestinationRule with so many subsets.
func ruleFor(t *testing.T, name string, subsets int) *object.Object {
	t.Helper()
	var list strings.Builder
	for i := range subsets {
		fmt.Fprintf(&list, "{name: v%d, labels: {version: v%d}}, ", i, i)
	}
	o, err := live.Object(document(t, fmt.Sprintf(`
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: %s, namespace: web}
spec: {host: api.example.com, subsets: [%s]}`, name, list.String())))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestWideNeighbours has neighbours that are too much to be judged with each request, and others between them.
func TestWideNeighbours(t *testing.T) {
	var values, small atomic.Int64
	counting := lint.Rule{
		Meta: lint.Meta{ID: "TT001", Name: "counting", Kinds: []object.Kind{object.DestinationRule}, Severity: lint.Warning, Presets: []string{lint.Recommended}},
		Check: func(p *lint.Pass) error {
			values.Add(int64(p.Object.Size()))
			if p.Object.Spec().Get("subsets").Len() == 1 {
				small.Add(1)
			}
			return nil
		},
	}
	h := handlerWith(t, "", counting)
	const pairs = 50
	for i := range pairs {
		h.index.Put(ruleFor(t, fmt.Sprintf("wide%d", i), 300))
		h.index.Put(ruleFor(t, fmt.Sprintf("zsmall%d", i), 1))
	}
	if r := h.Handle(t.Context(), requestOf(t, admissionv1.Create, nil, document(t, plainEntry))); !r.Allowed || len(r.Warnings) > 0 {
		t.Error(said(r))
	}
	if n := values.Load(); n > mostAround || n < mostAround/2 {
		t.Errorf("neighbours with %d values were judged", n)
	}
	if small.Load() == 0 {
		t.Error("wide neighbours keep all others from being judged")
	}
}

// TestOldNeighbours has an update that leaves one neighbour for more than can be judged: what happens to that one is told.
func TestOldNeighbours(t *testing.T) {
	h := testHandler(t, "", strictMesh)
	h.index.Put(ruleFor(t, "left", 0))
	for i := range mostNeighbours + 10 {
		o, err := live.Object(document(t, fmt.Sprintf("apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: x%d, namespace: web}\nspec: {host: b.example.org}", i)))
		if err != nil {
			t.Fatal(err)
		}
		h.index.Put(o)
	}
	const entry = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: web}
spec:
  hosts: [%s]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}]`
	r := h.Handle(t.Context(), requestOf(t, admissionv1.Update, document(t, fmt.Sprintf(entry, "api.example.com")), document(t, fmt.Sprintf(entry, "b.example.org"))))
	if !strings.Contains(said(r), "DestinationRule web/left") {
		t.Error(said(r))
	}
}

// TestNoTimeForNeighbours has a rule that takes all the time it gets on a neighbour: what is wrong with the object itself is told, and
// denied, all the same.
func TestNoTimeForNeighbours(t *testing.T) {
	slow := lint.Rule{
		Meta: lint.Meta{ID: "TT001", Name: "slow", Kinds: []object.Kind{object.ServiceEntry, object.DestinationRule}, Severity: lint.Warning, Presets: []string{lint.Recommended}},
		Check: func(p *lint.Pass) error {
			if p.Object.Kind == object.DestinationRule {
				<-p.Context.Done()
				return p.Context.Err()
			}
			p.Report(object.Path{"spec", "hosts"}, "something is wrong")
			return nil
		},
	}
	for config, want := range map[string]struct {
		allowed bool
		says    string
	}{
		"webhook: {}":                                                   {true, "there was no time"},
		"webhook: {onError: deny}":                                      {true, "there was no time"},
		"webhook: {actions: [{action: deny}]}":                          {false, "something is wrong"},
		"webhook: {denyCaused: true}":                                   {true, "could not judge this wholly: there was no time"},
		"webhook: {denyCaused: true, onError: deny}":                    {false, "onError is deny: there was no time"},
		"webhook: {exempt: {users: [jane]}, actions: [{action: deny}]}": {true, ""},
	} {
		h := handlerWith(t, config, slow)
		h.index.Put(ruleFor(t, "x", 1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		r := h.Handle(ctx, requestOf(t, admissionv1.Create, nil, document(t, plainEntry)))
		cancel()
		if r.Allowed != want.allowed || !strings.Contains(said(r), want.says) {
			t.Errorf("%s, want allowed %v and %q:\n%s", config, want.allowed, want.says, said(r))
		}
	}
}
