package webhook

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// The bounds of what is judged beside the object under review, of which what has most to do with it comes first. Authors decide how much
// there is, also those of other namespaces: a few hundred rules for "*" with hundreds of subsets each are near to everything.
const (
	mostNeighbours = 200
	mostAround     = 10_000 // values of all neighbours; a usual one has 20 to 50
)

// change is what a request is about.
type change struct {
	operation admissionv1.Operation
	object    *object.Object // as it is to be; nil for DELETE
	old       *object.Object // as it is now; nil for CREATE
	// unchanged says that the spec is what it was, as is what Istio reads beside it, or that the object is on its way out: there is nothing to judge.
	unchanged string
	// relabelled says that the labels are not what they were, by which overrides of rules may hold.
	relabelled bool
}

// subject is the object as it is to be, or as it was before a DELETE.
func (c *change) subject() *object.Object {
	if c.object != nil {
		return c.object
	}
	return c.old
}

// key names the object.
func (c *change) key() object.Key { return c.subject().Key }

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
	if req.Operation == admissionv1.Update {
		meta, _ := now["metadata"].(map[string]any)
		was, _ := before["metadata"].(map[string]any)
		switch {
		case meta["deletionTimestamp"] != nil:
			c.unchanged = "the object is being deleted"
		case equality.Semantic.DeepEqual(now["spec"], before["spec"]) && equality.Semantic.DeepEqual(ofIstio(meta), ofIstio(was)):
			c.unchanged = "the spec is unchanged"
			c.relabelled = !equality.Semantic.DeepEqual(meta["labels"], was["labels"])
		}
	}
	for _, part := range [...]struct {
		raw map[string]any
		to  **object.Object
	}{{now, &c.object}, {before, &c.old}} {
		if part.raw == nil {
			continue
		}
		o, err := live.Object(inNamespace(part.raw, req.Namespace))
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

// ofIstio are the labels and annotations by which Istio makes something else of a spec, such as istio.io/use-waypoint: an object could be
// created with one that keeps rules silent, and then lose it.
func ofIstio(meta map[string]any) map[string]any {
	out := map[string]any{}
	for _, part := range [...]string{"labels", "annotations"} {
		words, _ := meta[part].(map[string]any)
		for k, v := range words {
			if domain, _, _ := strings.Cut(k, "/"); domain == "istio.io" || strings.HasSuffix(domain, ".istio.io") {
				out[part+" "+k] = v
			}
		}
	}
	return out
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
	out := make(map[string]any, len(raw))
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
	key, file := c.key(), c.subject().FileName()
	v := Verdict{Object: key}
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
	}
	around := neighbours(ix, after, c)
	// Half of the time there is has to do for all of them, or it is better spent on the object alone.
	part, cancel := half(ctx)
	defer cancel()
	report, found, had, err := compare(part, engine, cfg, ix, after, c, review, around)
	if err != nil && ctx.Err() == nil && part.Err() != nil {
		const late = "there was no time to judge what the change does to other objects"
		if cfg.DenyCaused {
			v.Problems = append(v.Problems, late)
		} else {
			v.Notes = append(v.Notes, late)
		}
		report, found, had, err = compare(ctx, engine, cfg, ix, after, c, review, nil)
	}
	if err != nil {
		return v, nil, err
	}
	for _, p := range report.Problems {
		if p.Location.File == file {
			v.Problems = append(v.Problems, p.Message)
		}
	}
	for _, s := range report.Skipped {
		switch {
		case s.Object != key:
		case s.Cause == lint.Unheeded:
			v.Notes = append(v.Notes, s.Reason)
		case s.Cause == lint.Malformed:
			v.Problems = append(v.Problems, fmt.Sprintf("rule %s could not judge it: %s", s.Rule, s.Reason))
		}
	}
	// In files MV902 is enough, since no API server takes such an object. This one has taken it, by older definitions.
	if e, too := mesh.ExcessOf(c.subject()); too && c.object != nil {
		v.Problems = append(v.Problems, fmt.Sprintf("%s has %d items, and more than %d are not judged", e.Path, e.Items, e.Most))
	}
	var own []Decided
	for i := range found {
		w := &found[i]
		if w.Object == key && c.object != nil {
			w.Inherited = c.old != nil && had.inherited(*w)
			if f, silenced := decide(cfg, *w); !silenced && !w.Inherited {
				own = append(own, f)
			}
			continue
		}
		// What is said of a removed object is about those that it leaves behind.
		w.Inherited = had.there(*w)
		w.Caused = !w.Inherited
	}
	for _, w := range found {
		if w.Object != key || c.object == nil {
			if f, _ := decide(cfg, w); !w.Caused || mirrored(f, own) {
				continue
			}
		}
		v.Findings = append(v.Findings, w)
	}
	return v, report, nil
}

// neighbours are the objects to judge beside the one that changes: those near to what it becomes, and those near to what it was, by turns, so
// that neither keep the others out.
func neighbours(before, after *mesh.Index, c *change) []*object.Object {
	var near [2][]*object.Object
	if c.object != nil {
		near[0], _ = after.Neighbours(c.object, mostNeighbours)
	}
	if c.old != nil {
		near[1], _ = before.Neighbours(c.old, mostNeighbours)
	}
	var out []*object.Object
	room := mostAround
	seen := map[object.Key]bool{c.key(): true}
	for i := range mostNeighbours {
		for _, list := range near {
			if i >= len(list) || seen[list[i].Key] || len(out) == mostNeighbours {
				continue
			}
			seen[list[i].Key] = true
			if size := list[i].Size(); size <= room {
				out = append(out, list[i])
				room -= size
			}
		}
	}
	return out
}

// half is a context that ends after half of the time that is left.
func half(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}

// compare judges an object and those around it after a change, and before it as far as that may matter.
func compare(
	ctx context.Context, engine *lint.Engine, cfg *lint.Admission, ix, after *mesh.Index, c *change, review lint.Review, around []*object.Object,
) (*lint.Report, []Weighed, *earlierFindings, error) {
	key, had := c.key(), &earlierFindings{change: c}
	report, err := engine.Review(ctx, after, review, around)
	if err != nil {
		return nil, nil, nil, err
	}
	found := gather(report, ix)
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
			return nil, nil, nil, err
		}
		had.add(gather(earlier, ix))
	}
	return report, found, had, nil
}

// earlierFindings are those that there were before a change.
type earlierFindings struct {
	change *change
	at     map[string][]Weighed // by placeOf
}

func (e *earlierFindings) add(found []Weighed) {
	e.at = map[string][]Weighed{}
	for _, w := range found {
		if e.change.object == nil && w.Object == e.change.key() {
			continue // what was wrong with a removed object is not what it leaves behind
		}
		place := e.placeOf(w, e.change.old)
		e.at[place] = append(e.at[place], w)
	}
}

// placeOf tells the rule, the object and the field of a finding, as the field is in the object under review: there it may have moved.
func (e *earlierFindings) placeOf(w Weighed, o *object.Object) string {
	field := w.Path.String()
	if o != nil && w.Object == o.Key {
		field = lint.StablePath(o, w.Path)
	}
	return w.Rule.ID + " " + w.Object.String() + " " + field
}

// inherited says whether the object under review had a finding before: one that points at the same value, weighs no less, and said all
// that is said now. So an edit that makes a fault smaller passes, as does one that changes a count in a message; whoever writes another
// wrong value, or adds to what is wrong, has not inherited it.
func (e *earlierFindings) inherited(w Weighed) bool {
	return e.take(e.placeOf(w, e.change.object), w, func(b Weighed) bool {
		return e.change.left(b.Path, w.Path) && saysNoMore(w.Finding, b.Finding)
	})
}

// take uses up one of the findings at a place that weigh no less than a given one and are like it, if there is one: rather that with its
// fingerprint than another. Those of which there are more than before are new.
func (e *earlierFindings) take(place string, w Weighed, like func(Weighed) bool) bool {
	fits := func(b Weighed) bool { return b.Severity >= w.Severity && like(b) }
	i := slices.IndexFunc(e.at[place], func(b Weighed) bool { return b.Fingerprint() == w.Fingerprint() && fits(b) })
	if i < 0 {
		i = slices.IndexFunc(e.at[place], fits)
	}
	if i < 0 {
		return false
	}
	e.at[place] = slices.Delete(e.at[place], i, i+1)
	return true
}

// number is a count, a port, or an amount with its unit.
var number = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([a-z]{1,2}|%)?$`)

// saysNoMore says whether each word of a finding's message, but for numbers, stood in another one's, or is a host that was meant there.
// Fingerprints leave out all digits, and would take api-1.example.com for api-2.example.com.
func saysNoMore(now, before lint.Finding) bool {
	said := strings.FieldsFunc(before.Message, separates)
	for _, word := range strings.FieldsFunc(now.Message, separates) {
		if !number.MatchString(word) && !slices.Contains(said, word) && !slices.Contains(before.Subject.Hosts, word) {
			return false
		}
	}
	return true
}

func separates(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:()\"", r) }

// there says whether a finding on an object that does not change was there before. Its message tells what all of the mesh comes to, such as
// the ports for which a field does nothing, and differs with each of these: a deletion would be told, or denied, because it makes a fault
// smaller. So a finding of the same rule about the same field is the same one, unless it weighs more or is about the object that changes,
// and was not before.
func (e *earlierFindings) there(w Weighed) bool {
	of := e.change.key()
	return e.take(e.placeOf(w, nil), w, func(b Weighed) bool { return isAbout(b.Finding, of) || !isAbout(w.Finding, of) })
}

// isAbout says whether a finding names another object as part of what is wrong.
func isAbout(f lint.Finding, o object.Key) bool {
	return slices.Contains(f.Subject.Objects, o) || slices.ContainsFunc(f.Related, func(r lint.Related) bool { return r.Object == o })
}

// left says whether an update left alone the value that a finding points at, which may stand at another place by now. A mapping or list
// has other things in it, so that it may change.
func (c *change) left(before, now object.Path) bool {
	was, is := c.old.Lookup(before), c.object.Lookup(now)
	for _, v := range [...]object.Value{was, is} {
		if v.Type() == object.Map || v.Type() == object.List {
			return true
		}
	}
	return was.Type() == is.Type() && was.Text() == is.Text()
}

// mirrored says whether a finding on another object is the other side of one that the object under review has itself: of two rivals,
// say, each has one about the other. What weighs less does not stand for it: else an author whose own namespace only warns, or whose
// own annotation silences, would be told nothing of a fault that another namespace denies.
func mirrored(f Decided, own []Decided) bool {
	return slices.ContainsFunc(own, func(o Decided) bool {
		return o.Rule.ID == f.Rule.ID && weight(o.Action) >= weight(f.Action) && isAbout(o.Finding, f.Object)
	})
}

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
