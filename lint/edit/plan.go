package edit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// maxPlans is how often the edits of one file are put together in a round, each time with fewer fixes.
const maxPlans = 8

// maxBatch is how many fixes of one object are applied in a round.
const maxBatch = 256

// maxWork bounds what Fix reads again to see what its edits make of documents, in bytes; a second is worth some MiB.
const maxWork = 128 << 20

// plan is what a round would change.
type plan struct {
	accepted []*proposal
	files    []*object.File // all, as they would be
	objects  map[subject]*object.Object
	writes   map[subject][]object.Path // fields that fixes write
	before   map[subject]subject       // what objects were called that fixes rename
}

// batch are the fixes of one object that are applied together, or those that create objects after it.
type batch struct {
	object   *object.Object
	accepted []*proposal
	ops      []lint.Op
	fresh    []map[string]any
	edits    []Edit
}

// plan puts together what can be applied at once to the files as they are now. What cannot be applied at all is refused.
func (fx *fixer) plan(ctx context.Context) (*plan, error) {
	p := &plan{files: slices.Clone(fx.files), writes: map[subject][]object.Path{}, before: map[subject]subject{}}
	proposals := fx.proposals()
	made := fx.newCreations(proposals)
	perFile := map[*object.File][]*proposal{}
	for _, x := range proposals {
		if fx.single {
			perFile = map[*object.File][]*proposal{}
		}
		perFile[x.file] = append(perFile[x.file], x)
		if fx.single {
			if err := fx.planFiles(ctx, p, perFile, made); err != nil || len(p.accepted) > 0 {
				return p, err
			}
		}
	}
	if !fx.single {
		if err := fx.planFiles(ctx, p, perFile, made); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (fx *fixer) planFiles(ctx context.Context, p *plan, perFile map[*object.File][]*proposal, made *creations) error {
	for i, f := range fx.files {
		if len(perFile[f]) == 0 {
			continue
		}
		next, batches, err := fx.planFile(ctx, f, perFile[f], made)
		if err != nil {
			return err
		}
		if next == nil {
			continue
		}
		p.files[i] = next.file
		for now, was := range next.origin {
			if was != nil && was.Key != now.Key {
				p.before[subject{f.Name, now.Key}] = subject{f.Name, was.Key}
			}
		}
		for _, b := range batches {
			p.accepted = append(p.accepted, b.accepted...)
			for _, op := range b.ops {
				at := subject{f.Name, b.object.Key}
				p.writes[at] = append(p.writes[at], op.Path)
			}
			for _, raw := range b.fresh {
				made.keep(f.Name, keyOfNew(raw))
			}
		}
	}
	p.objects = objectsOf(p.files)
	return nil
}

// planFile edits a file. It returns nil if nothing can be applied now.
func (fx *fixer) planFile(ctx context.Context, f *object.File, list []*proposal, made *creations) (*edited, []*batch, error) {
	for range maxPlans {
		batches := fx.batches(f, list, made)
		if len(batches) == 0 {
			return nil, nil, nil
		}
		next, err := reload(ctx, f, batches)
		if err == nil {
			return next, batches, nil
		}
		if ctx.Err() != nil {
			return nil, nil, err
		}
		// Each object by itself is as it should be, so this takes edits that meet in a way that is not foreseen. What is left is tried next time.
		if only := batches[0].accepted; len(batches) == 1 && len(only) == 1 {
			fx.refuse(only[0], err.Error(), only[0].finding.Location)
			list = slices.DeleteFunc(slices.Clone(list), func(p *proposal) bool { return p == only[0] })
		} else {
			list = only[:1]
		}
	}
	return nil, nil, nil
}

// batches lowers the fixes of a file to edits that do not meet. What meets an earlier one is left for the next round.
func (fx *fixer) batches(f *object.File, list []*proposal, made *creations) []*batch {
	var out []*batch
	take := func(b *batch) {
		if b != nil && !slices.ContainsFunc(out, func(other *batch) bool { return meet(b.edits, other.edits) }) {
			out = append(out, b)
		}
	}
	var order []*object.Object
	changes, creates := map[*object.Object][]*proposal{}, map[*object.Object][]*proposal{}
	for _, p := range list {
		if changes[p.object] == nil && creates[p.object] == nil {
			order = append(order, p.object)
		}
		if p.fix.Create != nil {
			creates[p.object] = append(creates[p.object], p)
		} else {
			changes[p.object] = append(changes[p.object], p)
		}
	}
	for _, o := range order {
		take(fx.lower(o, changes[o]))
		if !fx.alone[subject{f.Name, o.Key}] || len(out) == 0 || out[len(out)-1].object != o {
			take(fx.create(o, creates[o], made))
		}
	}
	return out
}

// lower turns fixes of one object into edits, nil if none of them can be applied. Those that cannot are found by halving.
func (fx *fixer) lower(o *object.Object, list []*proposal) *batch {
	b := combine(o, list, fx.alone[subject{o.FileName(), o.Key}])
	if len(b.accepted) == 0 {
		return nil
	}
	if !fx.affords(o) {
		return nil
	}
	var err error
	if b.edits, err = Lower(o, b.ops); err == nil {
		return b
	}
	if b.distinct() == 1 {
		for _, p := range b.accepted {
			fx.refuseFor(p, err)
		}
		return fx.lower(o, slices.DeleteFunc(slices.Clone(list), func(p *proposal) bool { return slices.Contains(b.accepted, p) }))
	}
	half := len(b.accepted) / 2
	first, second := fx.lower(o, b.accepted[:half]), fx.lower(o, b.accepted[half:])
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	both := combine(o, slices.Concat(first.accepted, second.accepted), false)
	if !fx.affords(o) {
		return first
	}
	if both.edits, err = Lower(o, both.ops); err != nil {
		return first
	}
	return both
}

// affords says whether a document may be read once more, and counts that.
func (fx *fixer) affords(o *object.Object) bool {
	_, start, end, ok := o.Document()
	if fx.work += end - start; ok && fx.work > maxWork {
		fx.result.Unfinished = true
		return false
	}
	return true
}

// refuseFor refuses a proposal that could not be lowered.
func (fx *fixer) refuseFor(p *proposal, err error) {
	var r *Refusal
	if errors.As(err, &r) {
		fx.refuse(p, r.Reason, r.At)
		return
	}
	fx.refuse(p, err.Error(), p.finding.Location)
}

// combine puts the operations of fixes one after the other. A fix that touches what an earlier one touches is left out; one with the same
// operations is applied along with it.
func combine(o *object.Object, list []*proposal, alone bool) *batch {
	b := &batch{object: o}
	for _, p := range list[:min(len(list), maxBatch)] {
		if slices.ContainsFunc(b.accepted, func(a *proposal) bool { return reflect.DeepEqual(a.fix.Ops, p.fix.Ops) }) {
			b.accepted = append(b.accepted, p)
			continue
		}
		if alone && len(b.accepted) > 0 {
			continue
		}
		if ops, ok := rebase(p.fix.Ops, b.ops); ok {
			b.accepted = append(b.accepted, p)
			b.ops = append(b.ops, ops...)
		}
	}
	return b
}

// distinct counts the fixes of a batch that differ.
func (b *batch) distinct() int {
	n := 0
	for i, p := range b.accepted {
		if !slices.ContainsFunc(b.accepted[:i], func(a *proposal) bool { return reflect.DeepEqual(a.fix.Ops, p.fix.Ops) }) {
			n++
		}
	}
	return n
}

// rebase returns operations as they are once others have been applied: indices behind an item that was removed or added move. ok is false if
// the two touch.
func rebase(ops, done []lint.Op) (moved []lint.Op, ok bool) {
	for _, op := range ops {
		for _, d := range done {
			list, at, moves := shifts(d)
			if own, _, alsoMoves := shifts(op); moves && alsoMoves && own.Equal(list) && len(ops) > 1 {
				return nil, false // the indices of a fix with several steps are those after its own earlier steps
			}
			if !moves || len(op.Path) <= len(list) || !op.Path.HasPrefix(list) {
				if op.Path.HasPrefix(d.Path) || d.Path.HasPrefix(op.Path) {
					return nil, false
				}
				continue
			}
			i, isIndex := op.Path[len(list)].(int)
			switch {
			case !isIndex, d.Kind == lint.Remove && i == at:
				return nil, false
			case d.Kind == lint.Remove && i > at:
				i--
			case d.Kind == lint.Add && i >= at:
				i++
			}
			path := op.Path.Child()
			path[len(list)] = i
			op.Path = path
		}
		moved = append(moved, op)
	}
	return moved, true
}

// shifts says whether an operation moves the items of a list from an index on.
func shifts(op lint.Op) (list object.Path, at int, moves bool) {
	if op.Kind == lint.Replace || len(op.Path) == 0 {
		return nil, 0, false
	}
	at, moves = op.Path[len(op.Path)-1].(int)
	return op.Path.Parent(), at, moves
}

// causeOf is what a finding of the planned state is about, by the names of now.
func (p *plan) causeOf(f *lint.Finding) cause {
	return causeOf(f, p.objects[subject{f.Location.File, f.Object}])
}

// wrote says whether a fix writes a field, or one above it.
func (p *plan) wrote(at subject, path object.Path) bool {
	return slices.ContainsFunc(p.writes[at], path.HasPrefix)
}

// trafficPolicy is where what is copied lies.
var trafficPolicy = object.Path{"spec", "trafficPolicy"}

// copied says whether a finding is about a place that a fix has copied values from: the finding that it cures names these as related.
func (p *plan) copied(g *lint.Finding) bool {
	return slices.ContainsFunc(p.accepted, func(a *proposal) bool {
		writes := slices.ContainsFunc(a.fix.Ops, func(op lint.Op) bool { return op.Kind != lint.Remove })
		return writes && slices.ContainsFunc(a.finding.Related, func(r lint.Related) bool {
			return r.Location.File == g.Location.File && r.Object == g.Object &&
				(g.Path.HasPrefix(r.Path) || len(g.Path) > len(trafficPolicy) && r.Path.HasPrefix(g.Path))
		})
	})
}

// suspects are the fixes that may have brought about what a rule finds: those of its object, else of the objects that it names, else of its
// file, else all.
func (p *plan) suspects(t trouble) []*proposal {
	g := &t.finding
	pick := func(which func(*proposal) bool) []*proposal {
		return slices.DeleteFunc(slices.Clone(p.accepted), func(a *proposal) bool { return !which(a) })
	}
	on := func(a *proposal, key object.Key) bool {
		return a.cause.key == key || a.fix.Create != nil && keyOfNew(a.fix.Create.Object) == key
	}
	for _, which := range []func(*proposal) bool{
		func(a *proposal) bool { return a.cause.file == g.Location.File && on(a, g.Object) },
		func(a *proposal) bool {
			return slices.ContainsFunc(g.Related, func(r lint.Related) bool { return a.cause.file == r.Location.File && on(a, r.Object) })
		},
		func(a *proposal) bool { return a.cause.file == g.Location.File },
	} {
		if some := pick(which); len(some) > 0 {
			return some
		}
	}
	return p.accepted
}

// meet says whether edits have a subject in common. Two insertions at one subject do: which comes first is not for chance to decide.
func meet(a, b []Edit) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Start <= y.End && y.Start <= x.End && (x.Start < y.End && y.Start < x.End || x.Start == x.End || y.Start == y.End) {
				return true
			}
		}
	}
	return false
}

// create turns fixes into edits that write new objects after the one that they are found on, nil if there is nothing to write.
func (fx *fixer) create(o *object.Object, list []*proposal, made *creations) *batch {
	b := &batch{object: o}
	seen := map[object.Key]bool{}
	for _, p := range list {
		raw := p.fix.Create.Object
		key := keyOfNew(raw)
		switch other, taken := made.taken(p.file.Name, key); {
		case taken:
			fx.refuse(p, fmt.Sprintf("there already is a %s", key), other)
			continue
		case made.pending(p.file.Name, key): // in another file: once that is written, the finding is gone, or the name is taken
			continue
		case seen[key]:
			if slices.ContainsFunc(b.fresh, func(other map[string]any) bool { return reflect.DeepEqual(other, raw) }) {
				b.accepted = append(b.accepted, p)
			}
			continue
		case fx.alone[p.cause.subject] && len(b.accepted) > 0:
			continue
		}
		if len(b.accepted) == maxBatch || !fx.affords(o) {
			break
		}
		edits, err := Create(o, raw)
		if err != nil {
			fx.refuseFor(p, err)
			continue
		}
		if joined, ok := joinInsertions(b.edits, edits); ok {
			seen[key] = true
			b.edits = joined
			b.accepted = append(b.accepted, p)
			b.fresh = append(b.fresh, raw)
		}
	}
	if len(b.accepted) == 0 {
		return nil
	}
	return b
}

// joinInsertions puts edits behind others. Insertions at one subject become one; anything else must not meet.
func joinInsertions(done, more []Edit) ([]Edit, bool) {
	if !meet(done, more) {
		return slices.Concat(done, more), true
	}
	if len(done) != 1 || len(more) != 1 || done[0].Start != done[0].End || more[0] != (Edit{done[0].Start, done[0].Start, more[0].Text}) {
		return nil, false
	}
	return []Edit{{done[0].Start, done[0].End, done[0].Text + more[0].Text}}, true
}

// keyOfNew names an object that is yet to be written.
func keyOfNew(raw map[string]any) object.Key {
	kind, _ := raw["kind"].(string)
	meta, _ := raw["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	name, _ := meta["name"].(string)
	return object.Key{Kind: object.Kind(kind), Namespace: namespace, Name: name}
}

// creations knows which objects there are in the meshes of a report, and which a plan adds. Equal names in different meshes are no
// matter.
type creations struct {
	scopes map[string][]int // in which a file is
	there  []map[object.Key]object.Location
	added  map[int]map[object.Key]bool
}

// newCreations looks for the objects of a report's meshes, if any fix creates one.
func (fx *fixer) newCreations(proposals []*proposal) *creations {
	c := &creations{scopes: map[string][]int{}, added: map[int]map[object.Key]bool{}}
	if !slices.ContainsFunc(proposals, func(p *proposal) bool { return p.fix.Create != nil }) {
		return c
	}
	for i, s := range fx.report.Scopes {
		there := map[object.Key]object.Location{}
		for _, name := range s.Files {
			c.scopes[name] = append(c.scopes[name], i)
			if f := fx.report.Sources[name]; f != nil {
				for _, o := range f.Objects {
					if _, known := there[o.Key]; !known {
						there[o.Key] = o.Locate(nil)
					}
				}
			}
		}
		c.there = append(c.there, there)
	}
	return c
}

func (c *creations) taken(file string, key object.Key) (object.Location, bool) {
	for _, i := range c.scopes[file] {
		if at, there := c.there[i][key]; there {
			return at, true
		}
	}
	return object.Location{}, false
}

func (c *creations) pending(file string, key object.Key) bool {
	return slices.ContainsFunc(c.scopes[file], func(i int) bool { return c.added[i][key] })
}

func (c *creations) keep(file string, key object.Key) {
	for _, i := range c.scopes[file] {
		if c.added[i] == nil {
			c.added[i] = map[object.Key]bool{}
		}
		c.added[i][key] = true
	}
}

// edited is a file with edits made.
type edited struct {
	file   *object.File
	origin map[*object.Object]*object.Object // what an object was before; nil for a new one
}

// reload reads a file as it is with the edits of batches, and checks that each object is what it should be. The error is a sentence about the
// edits.
func reload(ctx context.Context, f *object.File, batches []*batch) (*edited, error) {
	var edits []Edit
	for _, b := range batches {
		edits = append(edits, b.edits...)
	}
	text, err := Apply(f.Text(), edits)
	if err != nil {
		return nil, err
	}
	if f.HasBOM() {
		text = mark + text
	}
	next, err := object.Load(ctx, f.Name, strings.NewReader(text), object.Limits{})
	if err != nil {
		return nil, err
	}
	want, origin, err := expected(f, batches)
	if err != nil {
		return nil, err
	}
	if len(next.Objects) != len(want) || len(next.Problems) > 0 || next.Class != f.Class || next.Documents < f.Documents {
		return nil, errors.New("the file would then hold something else than the fix says")
	}
	out := &edited{next, map[*object.Object]*object.Object{}}
	for i, o := range next.Objects {
		if !reflect.DeepEqual(o.Root().Any(), want[i].Root().Any()) {
			return nil, fmt.Errorf("%s would then be something else than the fix says", o.Key)
		}
		out.origin[o] = origin[i]
	}
	return out, nil
}

// expected are the objects that a file has to hold once it is edited, in order, and what they are made of.
func expected(f *object.File, batches []*batch) (out, origin []*object.Object, err error) {
	ops, fresh := map[*object.Object][]lint.Op{}, map[*object.Object][]map[string]any{}
	for _, b := range batches {
		ops[b.object] = append(ops[b.object], b.ops...)
		fresh[b.object] = append(fresh[b.object], b.fresh...)
	}
	for _, o := range f.Objects {
		then := o
		if len(ops[o]) > 0 {
			if then, err = Patch(o, ops[o]); err != nil {
				return nil, nil, err
			}
		}
		out, origin = append(out, then), append(origin, o)
		for _, raw := range fresh[o] {
			plain, err := canonical(raw)
			if err != nil {
				return nil, nil, err
			}
			m, _ := plain.(map[string]any)
			made, err := object.FromMap(m)
			if err != nil || made == nil {
				return nil, nil, errors.New("what the fix creates is no object that can be read")
			}
			out, origin = append(out, made), append(origin, nil)
		}
	}
	return out, origin, nil
}
