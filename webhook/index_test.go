package webhook

import (
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

func mustRead(t *testing.T, raw map[string]any) *object.Object {
	t.Helper()
	o, err := read(raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestExpectations: what was admitted counts at once, and no longer than the informers take to say otherwise, or to say nothing.
func TestExpectations(t *testing.T) {
	hosts := func(x *Index) string {
		out := ""
		for o := range x.Snapshot().All(object.ServiceEntry) {
			out += o.Spec().At("hosts", 0).Str() + " "
		}
		return out
	}
	key := object.Key{Kind: object.ServiceEntry, Namespace: "web", Name: "a"}
	one, two, three := mustRead(t, entry("a", "one")), mustRead(t, entry("a", "two")), mustRead(t, entry("a", "three"))
	now := time.Unix(0, 0)
	for name, c := range map[string]struct {
		before *object.Object
		steps  func(*Index)
		soon   string
		late   string
	}{
		"a creation that nobody sees":       {nil, func(x *Index) { x.Expect(key, one) }, "one ", ""},
		"a creation that is seen":           {nil, func(x *Index) { x.Expect(key, one); x.Put(one) }, "one ", "one "},
		"a change that nobody sees":         {one, func(x *Index) { x.Expect(key, two) }, "two ", "one "},
		"two changes, none seen":            {one, func(x *Index) { x.Expect(key, two); x.Expect(key, three) }, "three ", "one "},
		"two changes, the second seen":      {one, func(x *Index) { x.Expect(key, two); x.Expect(key, three); x.Put(three) }, "three ", "three "},
		"a removal that nobody sees":        {one, func(x *Index) { x.Expect(key, nil) }, "", "one "},
		"a removal that is seen":            {one, func(x *Index) { x.Expect(key, nil); x.Delete(key) }, "", ""},
		"a removal that a finalizer delays": {one, func(x *Index) { x.Expect(key, nil); x.Put(one) }, "one ", "one "},
	} {
		x := NewIndex(mesh.Settings{})
		x.now = func() time.Time { return now }
		if c.before != nil {
			x.Put(c.before)
		}
		c.steps(x)
		if got := hosts(x); got != c.soon {
			t.Errorf("%s: at once %q, want %q", name, got, c.soon)
		}
		now = now.Add(expectFor)
		if got := hosts(x); got != c.late {
			t.Errorf("%s: later %q, want %q", name, got, c.late)
		}
	}
}

// TestOneApply sends a ServiceEntry and the DestinationRule for it, as one kubectl apply does, to a server whose informers are late.
func TestOneApply(t *testing.T) {
	rule := `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: web}
spec:
  host: api.example.com
  trafficPolicy:
    tls: {mode: SIMPLE, sni: api.example.com}`
	for dryRun, want := range map[bool]int{false: 0, true: 1} {
		h := testHandler(t, "", "")
		first := requestOf(t, admissionv1.Create, nil, document(t, plainEntry))
		*first.DryRun = dryRun
		if r := h.Handle(t.Context(), first); !r.Allowed {
			t.Fatal(r.Result)
		}
		r := h.Handle(t.Context(), requestOf(t, admissionv1.Create, nil, document(t, rule)))
		missing := 0
		for _, w := range r.Warnings {
			if len(w) > 5 && w[:5] == "MX301" {
				missing++
			}
		}
		if missing != want {
			t.Errorf("after a dry run (%v) the host is missing: %q", dryRun, r.Warnings)
		}
	}
}
