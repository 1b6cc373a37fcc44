package webhook

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

func mustRead(t *testing.T, raw map[string]any) *object.Object {
	t.Helper()
	o, err := live.Object(raw)
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
		"a change of what is gone":          {one, func(x *Index) { x.Expect(key, two); x.Retain(key.Kind, func(object.Key) bool { return false }) }, "two ", ""},
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
	for _, c := range []struct {
		name          string
		first, second bool // whether they are dry runs
		user          string
		wait          time.Duration
		missing       int
	}{
		{name: "both are stored"},
		{name: "both are rehearsed", first: true, second: true},
		{name: "one is rehearsed, the other one stored", first: true, missing: 1},
		{name: "another user rehearses", first: true, second: true, user: "joe", missing: 1},
		{name: "the first rehearsal is long past", first: true, second: true, wait: rehearsalFor, missing: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := testHandler(t, "", "")
			now := time.Unix(0, 0)
			h.index.now = func() time.Time { return now }
			first := requestOf(t, admissionv1.Create, nil, document(t, plainEntry))
			*first.DryRun = c.first
			if r := h.Handle(t.Context(), first); !r.Allowed {
				t.Fatal(r.Result)
			}
			now = now.Add(c.wait)
			second := requestOf(t, admissionv1.Create, nil, document(t, rule))
			*second.DryRun = c.second
			if c.user != "" {
				second.UserInfo.Username = c.user
			}
			r := h.Handle(t.Context(), second)
			missing := 0
			for _, w := range r.Warnings {
				if strings.HasPrefix(w, "MX301 ") {
					missing++
				}
			}
			if missing != c.missing {
				t.Errorf("the host is missing %d times, want %d: %q", missing, c.missing, r.Warnings)
			}
		})
	}
}

// TestRehearsalsAreBounded rehearses more than is kept.
func TestRehearsalsAreBounded(t *testing.T) {
	var r rehearsals
	now := time.Unix(0, 0)
	for user := range 2 * mostRehearsals / mostRehearsed {
		for range 2 * mostRehearsed {
			r.add(strconv.Itoa(user), object.Key{Kind: object.ServiceEntry}, nil, now)
		}
	}
	if r.count != mostRehearsals || len(r.byUser["0"]) != mostRehearsed {
		t.Errorf("%d are kept, %d of one user", r.count, len(r.byUser["0"]))
	}
	r.over(mesh.New(mesh.Settings{}), "0", now.Add(rehearsalFor))
	if r.count != 0 || len(r.byUser) != 0 {
		t.Errorf("later %d are kept, of %d users", r.count, len(r.byUser))
	}
}

// soundEntry has no fault of any weight.
const soundEntry = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: sound, namespace: web}
spec:
  hosts: [sound.example.com]
  location: MESH_EXTERNAL
  resolution: STATIC
  endpoints: [{address: 192.0.2.1}]
  ports: [{number: 443, name: tls, protocol: TLS}]`

// TestUnknownLabels has actions that go by labels of a namespace that is not in view: what becomes of a finding is not known.
func TestUnknownLabels(t *testing.T) {
	const byLabel = "webhook: {%sactions: [{namespaceSelector: {matchLabels: {policy: strict}}, action: deny}]}"
	for config, allowed := range map[string]bool{
		fmt.Sprintf(byLabel, ""):                true,
		fmt.Sprintf(byLabel, "onError: deny, "): false,
	} {
		h := testHandler(t, config, "")
		h.index.SetComplete(object.Namespace, false)
		r := h.Handle(t.Context(), requestOf(t, admissionv1.Create, nil, document(t, plainEntry)))
		if r.Allowed != allowed || !strings.Contains(said(r), "labels of namespace web") {
			t.Errorf("%s: %s", config, said(r))
		}
		if r := h.Handle(t.Context(), requestOf(t, admissionv1.Create, nil, document(t, soundEntry))); !r.Allowed || len(r.Warnings) > 0 {
			t.Errorf("%s: of what nothing is found the labels do not matter: %s", config, said(r))
		}
	}
}

// TestCheckIsAnswered sends what meshvet webhook check sends: it is told what became of it, also where nothing warns.
func TestCheckIsAnswered(t *testing.T) {
	checking := strings.Replace(plainEntry, "namespace: web", "namespace: web, annotations: {meshvet.dev/check: \"true\"}", 1)
	for config, want := range map[string]string{
		"": "allow", "webhook: {actions: [{action: audit}]}": "allow", "webhook: {actions: [{action: deny}]}": "deny",
		"webhook: {exempt: {namespaces: [web]}}": "exempt",
	} {
		h := testHandler(t, config, "")
		req := requestOf(t, admissionv1.Create, nil, document(t, checking))
		if r := h.Handle(t.Context(), req); slices.Contains(r.Warnings, checkAnswer+want) {
			t.Errorf("%s: a change that is stored is told of the check", config)
		}
		*req.DryRun = true
		if r := h.Handle(t.Context(), req); !slices.Contains(r.Warnings, checkAnswer+want) {
			t.Errorf("%s: %s", config, said(r))
		}
	}
}
