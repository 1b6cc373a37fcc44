package webhook

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// mostNeighbours bounds the objects that are judged beside the one under review, those that have most to do with it first.
const mostNeighbours = 200

// change is what a request is about.
type change struct {
	operation admissionv1.Operation
	object    *object.Object // as it is to be; nil for DELETE
	old       *object.Object // as it is now; nil for CREATE
	// unchanged says that the spec is what it was, or that the object is on its way out: there is nothing to judge.
	unchanged string
}

// key names the object.
func (c *change) key() object.Key {
	if c.object != nil {
		return c.object.Key
	}
	return c.old.Key
}

// readChange reads the objects of a request.
func readChange(req *admissionv1.AdmissionRequest) (*change, error) {
	c := &change{operation: req.Operation}
	now, err := decode(req.Object)
	if err != nil {
		return nil, fmt.Errorf("read request.object: %w", err)
	}
	before, err := decode(req.OldObject)
	if err != nil {
		return nil, fmt.Errorf("read request.oldObject: %w", err)
	}
	switch {
	case req.Operation == admissionv1.Delete && before == nil:
		return nil, fmt.Errorf("a %s without request.oldObject", req.Operation)
	case req.Operation != admissionv1.Delete && now == nil:
		return nil, fmt.Errorf("a %s without request.object", req.Operation)
	case req.Operation == admissionv1.Update && before == nil:
		return nil, fmt.Errorf("a %s without request.oldObject", req.Operation)
	case req.Operation == admissionv1.Delete:
		now = nil
	}
	if meta, ok := now["metadata"].(map[string]any); ok && meta["deletionTimestamp"] != nil {
		c.unchanged = "the object is being deleted"
	} else if req.Operation == admissionv1.Update && equality.Semantic.DeepEqual(now["spec"], before["spec"]) {
		c.unchanged = "the spec is unchanged"
	}
	for _, part := range [...]struct {
		raw map[string]any
		to  **object.Object
	}{{now, &c.object}, {before, &c.old}} {
		if part.raw == nil {
			continue
		}
		o, err := read(inNamespace(part.raw, req.Namespace))
		if err != nil {
			return nil, err
		}
		if !o.Kind.Judged() || o.Stray {
			return nil, fmt.Errorf("a %s of %s is not judged", o.Kind, o.APIVersion)
		}
		*part.to = o
	}
	return c, nil
}

// decode reads an object as client-go does: whole numbers are int64.
func decode(raw runtime.RawExtension) (map[string]any, error) {
	if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
		return nil, nil
	}
	var out map[string]any
	if err := utiljson.Unmarshal(raw.Raw, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// inNamespace gives an object the namespace of the request, in which the API server will put it.
func inNamespace(raw map[string]any, ns string) map[string]any {
	meta, _ := raw["metadata"].(map[string]any)
	if ns == "" || meta["namespace"] == ns {
		return raw
	}
	out := pick(raw)
	for k, v := range raw {
		out[k] = v
	}
	in := map[string]any{"namespace": ns}
	for k, v := range meta {
		if k != "namespace" {
			in[k] = v
		}
	}
	out["metadata"] = in
	return out
}

// judge says what is wrong with the mesh after a change, of what has to do with the change.
//
// Findings on the object depend on the objects around it: a finding of a neighbour may supersede one of the object's own, as it does in
// a run over files. Those on neighbours that were not there before are what the change causes.
func judge(ctx context.Context, engine *lint.Engine, cfg *lint.Admission, ix *mesh.Index, c *change) (Verdict, *lint.Report, error) {
	key := c.key()
	v := Verdict{Object: key}
	var around []*object.Object
	seen := map[object.Key]bool{key: true}
	beside := func(x *mesh.Index, o *object.Object) {
		if o == nil || len(around) >= mostNeighbours {
			return
		}
		list, _ := x.Neighbours(o, mostNeighbours-len(around))
		for _, n := range list {
			if !seen[n.Key] {
				seen[n.Key] = true
				around = append(around, n)
			}
		}
	}
	review := lint.Review{Object: c.object}
	if c.object == nil {
		review.Gone = c.old
	}
	var after *mesh.Index
	if c.object == nil {
		after = ix.Without(key)
	} else {
		review.Old, review.Operation = c.old, string(c.operation)
		after = ix.With(c.object)
		beside(after, c.object)
	}
	beside(ix, c.old)
	report, err := engine.Review(ctx, after, review, around)
	if err != nil {
		return v, nil, err
	}
	for _, p := range report.Problems {
		if p.Location.File == fileOf(key) {
			v.Problems = append(v.Problems, p.Message)
		}
	}
	for _, s := range report.Skipped {
		if s.Cause == lint.Unheeded && s.Object == key {
			v.Notes = append(v.Notes, s.Reason)
		}
	}
	found := gather(report, ix)
	had := map[string]bool{}
	if slices.ContainsFunc(found, func(w Weighed) bool {
		return w.Object != key || c.old != nil && cfg.ActionOf(w.Rule, w.Severity, w.Namespace) == lint.Deny
	}) {
		// What the informers have seen may lag behind what the API server compares with.
		before := ix.Without(key)
		if c.old != nil {
			before = ix.With(c.old)
		}
		earlier, err := engine.Review(ctx, before, lint.Review{Object: c.old}, around)
		if err != nil {
			return v, nil, err
		}
		for _, w := range gather(earlier, ix) {
			had[w.Fingerprint()] = true
		}
	}
	own := slices.DeleteFunc(slices.Clone(found), func(w Weighed) bool { return w.Object != key })
	for _, w := range found {
		w.Inherited = had[w.Fingerprint()]
		// What is said of a removed object is about those that it leaves behind.
		if w.Object != key || c.object == nil {
			if w.Caused = !w.Inherited; !w.Caused || w.Suppressed || c.object != nil && mirrored(w, own) {
				continue
			}
		}
		v.Findings = append(v.Findings, w)
	}
	return v, report, nil
}

// mirrored says whether a finding on another object is the other side of one that the object under review has itself: of two rivals,
// say, each has one about the other.
func mirrored(w Weighed, own []Weighed) bool {
	return slices.ContainsFunc(own, func(o Weighed) bool {
		return o.Rule.ID == w.Rule.ID && (slices.Contains(o.Subject.Objects, w.Object) ||
			slices.ContainsFunc(o.Related, func(r lint.Related) bool { return r.Object == w.Object }))
	})
}

// fileOf is what locations in an object from the cluster have for a file.
func fileOf(k object.Key) string { return "cluster:" + k.Namespace + "/" + k.Name }

// gather lists the findings of a report, the silenced ones too.
func gather(r *lint.Report, ix *mesh.Index) []Weighed {
	var out []Weighed
	for _, f := range r.Findings {
		out = append(out, Weighed{Finding: f, Namespace: labelsOf(ix, f.Object.Namespace)})
	}
	for _, f := range r.Suppressed {
		out = append(out, Weighed{Finding: f.Finding, Namespace: labelsOf(ix, f.Object.Namespace), Suppressed: true})
	}
	return out
}

// labelsOf returns the labels of a namespace. One that is not in view has the label that the API server gives to all.
func labelsOf(ix *mesh.Index, ns string) map[string]string {
	out := map[string]string{"kubernetes.io/metadata.name": ns}
	if o := ix.Get(object.Key{Kind: object.Namespace, Name: ns}); o != nil {
		for k, v := range o.Root().At("metadata", "labels").Fields() {
			out[k] = v.Str()
		}
	}
	return out
}
