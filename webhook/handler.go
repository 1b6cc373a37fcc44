package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// sampleEvery is how many requests there are to one in which each rule is timed.
const sampleEvery = 64

// ruleset is what requests are judged by: one configuration and the engines that were made of it.
type ruleset struct {
	config *lint.Config
	engine *lint.Engine
	timed  *lint.Engine // the same, but that it measures what each rule takes
	hash   string
	slots  chan struct{} // holds a token for each request that is being judged
}

func newRuleset(rules []lint.Rule, cfg *lint.Config, hash string) (*ruleset, error) {
	engine, err := lint.New(rules, cfg)
	if err != nil {
		return nil, err
	}
	profiled := *cfg
	profiled.Profile = true
	timed, err := lint.New(rules, &profiled)
	if err != nil {
		return nil, err
	}
	slots := cfg.Admission.MaxInFlight
	if slots == 0 {
		slots = lint.DefaultInFlight
	}
	return &ruleset{config: cfg, engine: engine, timed: timed, hash: hash, slots: make(chan struct{}, slots)}, nil
}

// Handler answers admission requests.
type Handler struct {
	index   *Index
	rules   atomic.Pointer[ruleset]
	wording Wording
	metrics *metrics
	log     logr.Logger
	seen    atomic.Uint64
	dry     rehearsals
	// namespace reads a Namespace that the index does not have yet; nil reads none.
	namespace func(ctx context.Context, name string) (*object.Object, error)
}

// What a request was answered with, in metrics.
const (
	allowed   = "allow"
	denied    = "deny"
	exempt    = "exempt"    // whoever asks is not judged
	unchanged = "unchanged" // nothing to judge
	failed    = "error"     // it could not be judged; webhook.onError decided
	shed      = "shed"      // there was no time or no room to judge it; webhook.onError decided
)

// Handle answers one request. It never returns an error as controller-runtime means it, which would be a denial whatever the
// configuration says.
func (h *Handler) Handle(ctx context.Context, req admission.Request) admission.Response {
	start := time.Now()
	rs := h.rules.Load()
	response, decision := h.answer(ctx, rs, &req.AdmissionRequest)
	h.metrics.answered(req.Kind.Kind, string(req.Operation), decision, time.Since(start))
	if isDryRun(&req.AdmissionRequest) && bytes.Contains(req.Object.Raw, []byte(CheckAnnotation)) {
		response.Warnings = append(response.Warnings, checkAnswer+decision)
	}
	return response
}

func (h *Handler) answer(ctx context.Context, rs *ruleset, req *admissionv1.AdmissionRequest) (admission.Response, string) {
	cfg := &rs.config.Admission
	if why := cfg.Exempt.Covers(req.UserInfo.Username, req.UserInfo.Groups, req.Namespace); why != "" {
		return pass("exempt", why), exempt
	}
	type outcome struct {
		response admission.Response
		decision string
	}
	// Half of the time is left for judging: under load a request that gets its slot at the last moment would take it from those that can
	// still be judged, and be answered too late itself.
	wait := ctx
	if deadline, bounded := ctx.Deadline(); bounded {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	select {
	case rs.slots <- struct{}{}:
	case <-wait.Done():
		h.metrics.shed.WithLabelValues("busy").Inc()
		return h.unjudged(cfg, req, errors.New("too many requests at once: there was no time left to judge this one")), shed
	}
	done := make(chan outcome, 1) // of one, so that an answer that comes too late holds nobody up
	h.metrics.inFlight.Inc()
	go func() {
		defer func() {
			if v := recover(); v != nil {
				// The value may quote the object, so it is not logged; the stack is what finds the fault.
				h.log.Error(errors.New("panic"), "a review panicked", "uid", req.UID, "stack", string(debug.Stack()))
				done <- outcome{h.unjudged(cfg, req, errors.New("meshvet itself failed; its log says where")), failed}
			}
			h.metrics.inFlight.Dec()
			<-rs.slots
		}()
		r, decision := h.review(ctx, rs, req)
		done <- outcome{r, decision}
	}()
	select {
	case o := <-done:
		return o.response, o.decision
	case <-ctx.Done():
		h.metrics.shed.WithLabelValues("deadline").Inc()
		return h.unjudged(cfg, req, errors.New("it took longer than the API server waits")), shed
	}
}

// review judges what a request asks for.
func (h *Handler) review(ctx context.Context, rs *ruleset, req *admissionv1.AdmissionRequest) (admission.Response, string) {
	cfg := &rs.config.Admission
	change, err := readChange(req)
	if err != nil {
		return h.unjudged(cfg, req, err), failed
	}
	if change.unchanged != "" && !(change.relabelled && rs.config.SelectsLabels()) {
		return pass("skipped", change.unchanged), unchanged
	}
	engine := rs.engine
	if h.seen.Add(1)%sampleEvery == 0 {
		engine = rs.timed
	}
	ix := h.inView(ctx, h.index.Snapshot(), req.Namespace)
	if isDryRun(req) {
		ix = h.dry.over(ix, req.UserInfo.Username, h.index.now())
	}
	if why := forced(ix, req); why != "" {
		h.expect(ctx, req, change)
		return pass("skipped", why), unchanged
	}
	verdict, report, err := judge(ctx, engine, cfg, ix, change)
	if err != nil {
		return h.unjudged(cfg, req, err), failed
	}
	h.metrics.observe(report)
	if len(verdict.Findings) > 0 && cfg.SelectsNamespaces() && ix.Get(object.Key{Kind: object.Namespace, Name: req.Namespace}) == nil {
		verdict.Problems = append(verdict.Problems, fmt.Sprintf("webhook.actions go by the labels of namespace %s, which are not in view", req.Namespace))
	}
	decision := Decide(cfg, verdict)
	if len(decision.Problems) > 0 {
		h.complain(req, decision.Problems[0])
	}
	h.metrics.decided(&decision)
	h.record(req, verdict.Object, &decision)
	response := h.wording.Response(&decision, verdict)
	if response.Allowed {
		h.expect(ctx, req, change)
	}
	switch {
	case !response.Allowed && len(decision.with(lint.Deny)) > 0:
		return response, denied
	case len(decision.Problems) > 0:
		return response, failed
	}
	return response, allowed
}

// expect takes over a change that passes into the index, unless nothing is to be stored, or somebody else has been told something by now.
func (h *Handler) expect(ctx context.Context, req *admissionv1.AdmissionRequest, c *change) {
	switch {
	case ctx.Err() != nil:
	case isDryRun(req):
		h.dry.add(req.UserInfo.Username, c.key(), c.object, h.index.now())
	default:
		h.index.Expect(c.key(), c.object)
	}
}

func isDryRun(req *admissionv1.AdmissionRequest) bool { return req.DryRun != nil && *req.DryRun }

// inView adds the Namespace of a request that is so new that the informers have not seen it: actions go by its labels. Where Namespaces
// are not in view at all, asking for each request would only cost its time.
func (h *Handler) inView(ctx context.Context, ix *mesh.Index, ns string) *mesh.Index {
	if h.namespace == nil || ns == "" || !ix.Complete(object.Namespace) || ix.Get(object.Key{Kind: object.Namespace, Name: ns}) != nil {
		return ix
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	o, err := h.namespace(ctx, ns)
	if err != nil {
		h.log.V(1).Info("the namespace of a request cannot be read", "namespace", ns, "error", err.Error())
		return ix
	}
	return ix.With(o)
}

// forced says why a removal is not to be held up, "" if it may be: Kubernetes' own controllers would try again for ever, and a namespace
// would never end.
func forced(ix *mesh.Index, req *admissionv1.AdmissionRequest) string {
	if req.Operation != admissionv1.Delete {
		return ""
	}
	// Without --use-service-account-credentials all controllers are one user.
	if slices.Contains(req.UserInfo.Groups, "system:serviceaccounts:kube-system") || req.UserInfo.Username == "system:kube-controller-manager" {
		return "a controller of Kubernetes removes it"
	}
	if ns := ix.Get(object.Key{Kind: object.Namespace, Name: req.Namespace}); ns != nil && ns.Root().At("metadata", "deletionTimestamp").Set() {
		return "the namespace is being deleted"
	}
	return ""
}

// pass lets a request through without having judged it; the audit log says why.
func pass(key, why string) admission.Response {
	r := admission.Allowed("")
	r.AuditAnnotations = map[string]string{"decision": "allow", key: plain(why)}
	return r
}

// unjudged answers a request that could not be judged, as webhook.onError says.
func (h *Handler) unjudged(cfg *lint.Admission, req *admissionv1.AdmissionRequest, err error) admission.Response {
	h.complain(req, err.Error())
	v := Verdict{
		Object:   object.Key{Kind: object.Kind(req.Kind.Kind), Namespace: req.Namespace, Name: req.Name},
		Problems: []string{object.Abridge(err.Error())},
	}
	d := Decide(cfg, v)
	return h.wording.Response(&d, v)
}

// complain logs why a request could not be judged, or not wholly.
func (h *Handler) complain(req *admissionv1.AdmissionRequest, why string) {
	h.log.Error(errors.New(plain(object.Abridge(why))), "a request could not be judged",
		"kind", req.Kind.Kind, "namespace", req.Namespace, "name", req.Name, "operation", req.Operation, "uid", req.UID, "dryRun", isDryRun(req))
}

// record writes one line for each finding that denies a request. It never says what the object holds.
func (h *Handler) record(req *admissionv1.AdmissionRequest, key object.Key, d *Decision) {
	level := h.log.V(1)
	if !d.Allowed() {
		level = h.log
	}
	if !level.Enabled() {
		return
	}
	for _, f := range d.Findings {
		if !d.Allowed() && f.Action != lint.Deny {
			continue
		}
		level.Info("finding",
			"rule", f.Rule.ID, "severity", f.Severity.String(), "action", string(f.Action),
			"kind", key.Kind, "namespace", key.Namespace, "name", key.Name, "operation", req.Operation,
			"path", f.Path.String(), "user", req.UserInfo.Username, "uid", req.UID, "dryRun", isDryRun(req))
	}
}

// use takes over a configuration. Requests that are being judged keep the one that they began with.
func (h *Handler) use(rs *ruleset) { h.rules.Store(rs) }

// describe says what is not in view, "" if all is.
func describe(watches []*watch) string {
	var missing []string
	for _, w := range watches {
		if s, why := w.status(); s != Synced && s != Absent {
			missing = append(missing, fmt.Sprintf("%s (%s)", w.Kind, why))
		}
	}
	return strings.Join(missing, ", ")
}
