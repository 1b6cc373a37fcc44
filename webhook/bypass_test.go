package webhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/object"
)

// strictMesh has a namespace that is marked, one that is not, and an entry in the first.
const strictMesh = `
apiVersion: v1
kind: Namespace
metadata: {name: web, labels: {policy: strict}}
---
apiVersion: v1
kind: Namespace
metadata: {name: lax}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: web}
spec:
  hosts: [api.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}]
`

// said is all that an answer says.
func said(r admission.Response) string {
	lines := append([]string{fmt.Sprintf("allowed: %v", r.Allowed), r.Result.Message}, r.Warnings...)
	for k, v := range r.AuditAnnotations {
		lines = append(lines, "audit "+k+": "+v)
	}
	return strings.Join(lines, "\n")
}

// TestBypasses has what an author may try to get a denied fault past, and the fault's rule.
func TestBypasses(t *testing.T) {
	const rule = `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: x, namespace: web%s}
spec:
  host: %s`
	const plain = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: x, namespace: %s%s}
spec:
  hosts: [%s]
  location: MESH_EXTERNAL
  resolution: STATIC
  endpoints: [{address: %s}]
  ports: [{number: 443, name: tls, protocol: TLS}]`
	const wildcard = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: x, namespace: web%s}
spec:
  hosts: ["*.example.com"]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}]`
	const strict = "webhook: {denyCaused: true, actions: [{namespaceSelector: {matchLabels: {policy: strict}}, action: deny}]}"
	for _, c := range []struct {
		name, config, mesh, old, now string
		denied                       string // the rule, "" if it is to pass
	}{
		{name: "as if istiod had made it", config: "webhook: {actions: [{rules: [MX301], action: deny}]}",
			now: fmt.Sprintf(rule, ", annotations: {internal.istio.io/parents: x}", "gone.web.svc.cluster.local"), denied: "MX301"},
		{name: "a fault of a name with digits becomes another", config: "webhook: {actions: [{rules: [MX301], action: deny}]}",
			old: fmt.Sprintf(rule, "", "gone1.web.svc.cluster.local"), now: fmt.Sprintf(rule, "", "gone2.web.svc.cluster.local"), denied: "MX301"},
		{name: "a fault that stays", config: "webhook: {actions: [{rules: [MX301], action: deny}]}",
			old: fmt.Sprintf(rule, "", "gone1.web.svc.cluster.local"), now: fmt.Sprintf(rule, "", "gone1.web.svc.cluster.local\n  exportTo: [\".\"]")},
		{name: "a label that kept a rule silent goes afterwards", config: "webhook: {actions: [{rules: [SE103], action: deny}]}",
			old: fmt.Sprintf(wildcard, ", labels: {istio.io/use-waypoint: w}"), now: fmt.Sprintf(wildcard, ""), denied: "SE103"},
		{name: "a label for which the rule is off goes afterwards", denied: "MX301",
			config: "overrides: [{labels: {owner: test}, rules: {MX301: off}}]\nwebhook: {actions: [{rules: [MX301], action: deny}]}",
			old:    fmt.Sprintf(rule, ", labels: {owner: test}", "gone.web.svc.cluster.local"), now: fmt.Sprintf(rule, "", "gone.web.svc.cluster.local")},
		{name: "a label for which the rule is off stays",
			config: "overrides: [{labels: {owner: test}, rules: {MX301: off}}]\nwebhook: {actions: [{rules: [MX301], action: deny}]}",
			now:    fmt.Sprintf(rule, ", labels: {owner: test}", "gone.web.svc.cluster.local")},
		{name: "a rival from a namespace that only warns", config: strict, mesh: strictMesh,
			now: fmt.Sprintf(plain, "lax", "", "api.example.com", "192.0.2.1"), denied: "MX306"},
		{name: "a rival that silences itself", config: "webhook: {denyCaused: true, suppressible: [MX306], actions: [{rules: [MX306], namespaceSelector: {matchLabels: {policy: strict}}, action: deny}]}",
			mesh: strictMesh, denied: "MX306",
			now: fmt.Sprintf(plain, "lax", `, annotations: {meshvet.dev/ignore: MX306, meshvet.dev/ignore-reason: mine}`, "api.example.com", "192.0.2.1")},
		{name: "a victim that silences", config: strict, denied: "MX306",
			mesh: strings.Replace(strictMesh, "{name: api, namespace: web}", "{name: api, namespace: web, annotations: {meshvet.dev/ignore: MX306, meshvet.dev/ignore-reason: mine}}", 1),
			now:  fmt.Sprintf(plain, "lax", "", "api.example.com", "192.0.2.1")},
		{name: "created as if it were on its way out", config: "webhook: {actions: [{rules: [MX301], action: deny}]}",
			now: fmt.Sprintf(rule, `, deletionTimestamp: "2026-01-01T00:00:00Z"`, "gone.web.svc.cluster.local"), denied: "MX301"},
		{name: "more hosts than are looked at", config: "webhook: {onError: deny}", denied: "spec.hosts has 5000 items",
			now: fmt.Sprintf(plain, "web", "", manyHosts(5000), "192.0.2.1")},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := testHandler(t, c.config, c.mesh)
			op, old := admissionv1.Create, document(t, c.old)
			if old != nil {
				op = admissionv1.Update
				o, err := live.Object(old)
				if err != nil {
					t.Fatal(err)
				}
				h.index.Put(o)
			}
			r := h.Handle(t.Context(), requestOf(t, op, old, document(t, c.now)))
			if r.Allowed != (c.denied == "") || !strings.Contains(r.Result.Message, c.denied) {
				t.Errorf("want it denied because of %q:\n%s", c.denied, said(r))
			}
		})
	}
}

func manyHosts(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "h%d.example.com, ", i)
	}
	return b.String()
}

// TestChangeOfMetadata has an update that leaves the spec alone: it is judged only if it changes what Istio reads.
func TestChangeOfMetadata(t *testing.T) {
	const entry = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: x, namespace: web, labels: {%s}, annotations: {%s}}
spec:
  hosts: [x.example.com]
  ports: [{number: 443, name: tls, protocol: TLS}]`
	for _, c := range []struct {
		labels, annotations string
		judged              bool
	}{
		{"team: a", "", false},
		{"", "kubectl.kubernetes.io/restartedAt: x", false},
		{"myistio.io/x: a", "", false},
		{"istio.io/use-waypoint: w", "", true},
		{"", "networking.istio.io/traffic-distribution: PreferClose", true},
	} {
		h := testHandler(t, "", "")
		r := h.Handle(t.Context(), requestOf(t, admissionv1.Update, document(t, fmt.Sprintf(entry, "", "")), document(t, fmt.Sprintf(entry, c.labels, c.annotations))))
		if _, skipped := r.AuditAnnotations["skipped"]; skipped == c.judged {
			t.Errorf("labels %q, annotations %q:\n%s", c.labels, c.annotations, said(r))
		}
	}
}

// TestRatchetWeighs has a finding that was there before and weighs more after the change.
func TestRatchetWeighs(t *testing.T) {
	grave := lint.Rule{
		Meta: lint.Meta{ID: "TT001", Name: "grave", Kinds: []object.Kind{object.ServiceEntry}, Severity: lint.Warning, Presets: []string{lint.Recommended}},
		Check: func(p *lint.Pass) error {
			s := lint.Warning
			if p.Object.Spec().Get("resolution").Str() == "NONE" {
				s = lint.Error
			}
			p.Report(object.Path{"spec", "ports"}, "something is wrong", lint.As(s))
			return nil
		},
	}
	const config = "webhook: {actions: [{action: deny}]}"
	old := plainEntry + "\n  resolution: DNS"
	for now, allowed := range map[string]bool{plainEntry + "\n  resolution: NONE": false, plainEntry + "\n  resolution: STATIC": true} {
		r := handlerWith(t, config, grave).Handle(t.Context(), requestOf(t, admissionv1.Update, document(t, old), document(t, now)))
		if r.Allowed != allowed {
			t.Errorf("want allowed %v:\n%s", allowed, said(r))
		}
	}
	r := handlerWith(t, config, grave).Handle(t.Context(), requestOf(t, admissionv1.Update, document(t, plainEntry+"\n  resolution: NONE"), document(t, old)))
	if !r.Allowed {
		t.Errorf("a fault that weighs less than before:\n%s", said(r))
	}
}

// TestRatchetMeasures has an entry with an old fault: what makes it smaller passes, what adds to it does not.
func TestRatchetMeasures(t *testing.T) {
	const entry = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: x, namespace: web}
spec:
  hosts: [%s]
  ports: [{number: 443, name: tls, protocol: TLS}]`
	for _, c := range []struct {
		old, now string
		allowed  bool
	}{
		{"a.example.com, b.example.com", "b.example.com", true},
		{"a.example.com, b.example.com", "b.example.com, a.example.com", true},
		{"a.example.com", "a.example.com, b.example.com", false},
		{"a.example.com", "b.example.com", false},
		{"api-1.example.com", "api-2.example.com", false},
		{"api-1.example.com, api-2.example.com", "api-2.example.com", true},
	} {
		h := testHandler(t, "webhook: {actions: [{rules: [SE101], action: deny}]}", "")
		r := h.Handle(t.Context(), requestOf(t, admissionv1.Update, document(t, fmt.Sprintf(entry, c.old)), document(t, fmt.Sprintf(entry, c.now))))
		if r.Allowed != c.allowed || !strings.Contains(said(r), "SE101") {
			t.Errorf("%s becomes %s, want allowed %v:\n%s", c.old, c.now, c.allowed, said(r))
		}
	}
}

// TestCausedIsNew has a rule with a field that does nothing on the ports of its hosts. That a host comes or goes changes what the finding
// says, and is not its cause.
func TestCausedIsNew(t *testing.T) {
	const rule = `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: all, namespace: web}
spec:
  host: "*.example.com"
  trafficPolicy: {connectionPool: {http: {maxRetries: 3}}}
---`
	const entry = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: %[1]s, namespace: web}
spec:
  hosts: [%[1]s.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: %[2]d, name: tls, protocol: TLS}]
`
	a, b := fmt.Sprintf(entry, "a", 443), fmt.Sprintf(entry, "b", 8443)
	const config = "webhook: {denyCaused: true, actions: [{rules: [DR201], action: deny}]}"
	for name, c := range map[string]struct {
		mesh     string
		old, now string
		caused   bool
	}{
		"one of two goes":       {rule + a + "---" + b, b, "", false},
		"a second one comes":    {rule + a, "", b, false},
		"the first one comes":   {rule, "", a, true},
		"the last one goes":     {rule + a, a, "", false},
		"one becomes two":       {rule + a, a, strings.Replace(a, "[a.example.com]", "[a.example.com, c.example.com]", 1), false},
		"it was HTTP until now": {rule + strings.ReplaceAll(a, "TLS", "HTTP"), strings.ReplaceAll(a, "TLS", "HTTP"), a, true},
	} {
		t.Run(name, func(t *testing.T) {
			op := admissionv1.Update
			switch {
			case c.old == "":
				op = admissionv1.Create
			case c.now == "":
				op = admissionv1.Delete
			}
			r := testHandler(t, config, c.mesh).Handle(t.Context(), requestOf(t, op, document(t, c.old), document(t, c.now)))
			if r.Allowed == c.caused || strings.Contains(said(r), "DR201") != c.caused {
				t.Error(said(r))
			}
		})
	}
}

// TestAcceptedOldFault has an old fault that an annotation accepts: it denies nothing, so the annotation silences it.
func TestAcceptedOldFault(t *testing.T) {
	faulty := strings.Replace(plainEntry, "namespace: web", "namespace: web, annotations: {meshvet.dev/ignore: SE101, meshvet.dev/ignore-reason: it moves}", 1)
	h := testHandler(t, "webhook: {actions: [{rules: [SE101], action: deny}]}", "")
	r := h.Handle(t.Context(), requestOf(t, admissionv1.Update, document(t, faulty), document(t, faulty+"\n  exportTo: [\".\"]")))
	if !r.Allowed || len(r.Warnings) > 0 || r.AuditAnnotations["suppressed"] != "SE101" {
		t.Error(said(r))
	}
}

// TestNeighbourOfTheSameName has a rule that breaks on a DestinationRule with the name and namespace of the ServiceEntry under review.
func TestNeighbourOfTheSameName(t *testing.T) {
	broken := lint.Rule{
		Meta:  lint.Meta{ID: "TT001", Name: "broken", Kinds: []object.Kind{object.DestinationRule}, Severity: lint.Warning, Presets: []string{lint.Recommended}},
		Check: func(*lint.Pass) error { panic("broken") },
	}
	h := handlerWith(t, "webhook: {onError: deny}", broken)
	o, err := live.Object(document(t, "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: api, namespace: web}\nspec: {host: api.example.com}"))
	if err != nil {
		t.Fatal(err)
	}
	h.index.Put(o)
	if r := h.Handle(t.Context(), requestOf(t, admissionv1.Create, nil, document(t, plainEntry))); !r.Allowed {
		t.Errorf("what breaks on a neighbour is held against the object:\n%s", said(r))
	}
}

// TestNothingToExpect has requests that leave the index alone.
func TestNothingToExpect(t *testing.T) {
	yes := true
	controller := func(r *admission.Request) {
		r.UserInfo.Groups = append(r.UserInfo.Groups, "system:serviceaccounts:kube-system")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, c := range map[string]struct {
		ctx  context.Context
		op   admissionv1.Operation
		with func(*admission.Request)
	}{
		"dry run":                {t.Context(), admissionv1.Create, func(r *admission.Request) { r.DryRun = &yes }},
		"dry run of a removal":   {t.Context(), admissionv1.Delete, func(r *admission.Request) { r.DryRun = &yes }},
		"... of a controller":    {t.Context(), admissionv1.Delete, func(r *admission.Request) { r.DryRun = &yes; controller(r) }},
		"too late":               {ended, admissionv1.Create, func(*admission.Request) {}},
		"too late, a controller": {ended, admissionv1.Delete, controller},
	} {
		t.Run(name, func(t *testing.T) {
			h := testHandler(t, "", "")
			var old, now map[string]any
			key := object.Key{Kind: object.ServiceEntry, Namespace: "web", Name: "api"}
			if c.op == admissionv1.Delete {
				old = document(t, plainEntry)
				o, err := live.Object(old)
				if err != nil {
					t.Fatal(err)
				}
				h.index.Put(o)
			} else {
				now = document(t, plainEntry)
			}
			req := requestOf(t, c.op, old, now)
			c.with(&req)
			if r, _ := h.review(c.ctx, h.rules.Load(), &req.AdmissionRequest); !r.Allowed {
				t.Error(said(r))
			}
			if there := h.index.Snapshot().Get(key) != nil; there != (old != nil) {
				t.Errorf("afterwards the object is in the index: %v", there)
			}
		})
	}
}

// TestRemovalsThatPass has those who remove what a namespace leaves behind.
func TestRemovalsThatPass(t *testing.T) {
	for _, c := range []struct {
		user, group string
		forced      bool
	}{
		{"system:serviceaccount:kube-system:namespace-controller", "system:serviceaccounts:kube-system", true},
		{"system:kube-controller-manager", "system:authenticated", true},
		{"jane", "system:authenticated", false},
	} {
		h := testHandler(t, "webhook: {denyCaused: true, actions: [{action: deny}]}", `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: web}
spec:
  hosts: [api.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: web}
spec: {host: api.example.com}`)
		req := requestOf(t, admissionv1.Delete, document(t, plainEntry), nil)
		req.UserInfo.Username, req.UserInfo.Groups = c.user, []string{c.group}
		if r := h.Handle(t.Context(), req); r.Allowed != c.forced {
			t.Errorf("%s: %s", c.user, said(r))
		}
	}
}

// TestNamespacesOutOfView has a namespace that the index does not know: it is asked for once, in little time, and only where Namespaces
// are in view at all.
func TestNamespacesOutOfView(t *testing.T) {
	for _, inView := range []bool{true, false} {
		h := testHandler(t, "webhook: {actions: [{action: deny, namespaceSelector: {matchLabels: {policy: strict}}}]}", "")
		h.index.SetComplete(object.Namespace, inView)
		asked := 0
		h.namespace = func(ctx context.Context, _ string) (*object.Object, error) {
			asked++
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > time.Second {
				t.Error("it may take all the time there is")
			}
			return live.Object(document(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {policy: strict}}"))
		}
		r := h.Handle(t.Context(), requestOf(t, admissionv1.Create, nil, document(t, plainEntry)))
		if r.Allowed == inView || asked != map[bool]int{true: 1, false: 0}[inView] {
			t.Errorf("Namespaces in view: %v, asked %d times:\n%s", inView, asked, said(r))
		}
	}
}
