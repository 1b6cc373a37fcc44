package edit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// Lower returns the edits that make the operations in the text of an object's file, in the order of the text. Operations are applied
// one after the other, as in RFC 6902, except that adding below a mapping that is missing or null creates it. The error is a *Refusal
// if the text cannot be changed so, or not without doing harm to something else in it.
//
// Comments and empty lines stay, whatever is removed: those above a removed field and those within it as they are, and one at the end
// of a removed line on a line of its own. Only empty lines within brackets go with what is around them.
func Lower(o *object.Object, ops []lint.Op) ([]Edit, error) {
	l, err := newLowering(o)
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		if err := l.apply(op); err != nil {
			return nil, err
		}
	}
	if err := l.write(l.top); err != nil {
		return nil, err
	}
	edits := l.finish()
	if err := l.guard(edits, ops); err != nil {
		return nil, err
	}
	return edits, nil
}

// lowering is what is to be done to one object.
type lowering struct {
	o          *object.Object
	text       string       // of the file up to the end of the document, of which the last line has a line end
	before     string       // the document, as it is
	start, end int          // of the document in text
	doc        object.Value // its value
	at         object.Path  // of the object in the document
	style      style
	top        *spot // the object
	anchors    bool  // the document may have aliases
	edits      []Edit
}

func (l *lowering) refuse(p object.Path, format string, args ...any) error {
	return &Refusal{Reason: fmt.Sprintf(format, args...), At: l.o.Locate(p)}
}

// spot is a place for a value in an object: one that stands in the text, with what becomes of it, or a new one.
type spot struct {
	path  object.Path // as in the text; of a new one, that of what it is in
	key   string      // of a field
	old   object.Value
	place place
	gone  bool // to be removed
	fresh bool // value is to be written here, instead of the old one if there is one
	value any
	open  bool // kids are listed
	kids  []*spot
	inner inner
}

func (s *spot) isNew() bool { return !s.old.Exists() }

func newLowering(o *object.Object) (*lowering, error) {
	root, start, end, ok := o.Document()
	if !ok {
		return nil, &Refusal{Reason: "it was not read from a file; make the change where the object comes from", At: o.Locate(nil)}
	}
	l := &lowering{o: o, text: o.File().Text(), start: start, end: end, doc: root}
	path, found := find(root, o.Root(), nil)
	if !found {
		return nil, l.refuse(nil, "the object is the value of an alias; change it by hand where the anchor is")
	}
	l.at = path
	l.before = l.text[start:end]
	l.style = styleOf(l.text, start, end, o.Root(), root)
	first, _, _ := root.Span()
	if l.text = l.text[:end]; !strings.HasSuffix(l.text, "\n") && l.text[first] != '{' { // no line is put behind braces
		l.text += l.style.nl
		l.end = len(l.text)
	}
	l.anchors = strings.IndexByte(l.before, '&') >= 0 && strings.IndexByte(l.before, '*') >= 0
	l.top = l.placed(root.At(path...))
	if hasOddBreak(l.text[l.top.place.start:l.top.place.end]) {
		return nil, l.refuse(nil, "the object has line ends that only YAML takes for some (a lone CR, NEL, LS or PS); end its lines in LF or CRLF")
	}
	if l.anchors {
		return l, l.checkAnchors()
	}
	return l, nil
}

// placed is a spot for a value that stands where its span says.
func (l *lowering) placed(v object.Value) *spot {
	start, end, _ := v.Span()
	return &spot{old: v, place: place{from: start, valueFrom: start, head: start, start: start, end: end}}
}

// checkAnchors refuses to edit an object that stands somewhere else too, or in a document so large that it cannot be read again for each
// change: what an anchor is for may be anywhere in it.
func (l *lowering) checkAnchors() error {
	if len(l.before) > wholeBytes {
		return l.refuse(nil, "the document has anchors and is larger than %d KiB; make the change by hand, or split it", wholeBytes>>10)
	}
	at := l.placed(l.doc)
	for i, e := range l.at {
		next, err := l.child(at, e)
		switch {
		case err != nil:
			return err
		case next == nil || next.place.alias:
			return l.refuse(l.at[:i], "the object is the value of an alias; change it by hand where the anchor is")
		case next.place.anchor != "" && l.aliased(next.place.anchor):
			return l.refuse(nil, "the object has the anchor &%s, and *%s stands for it elsewhere; change it by hand", next.place.anchor, next.place.anchor)
		}
		at = next
	}
	if len(l.at) == 0 && strings.Contains(l.text[l.start:at.place.start], "&") {
		return l.refuse(nil, "the document has an anchor at its root; change it by hand")
	}
	return nil
}

// find returns the path of an object in its document.
func find(v, o object.Value, path object.Path) (found object.Path, ok bool) {
	want, _, _ := o.Span()
	if start, _, _ := v.Span(); start == want {
		return path, true
	}
	for i, item := range v.Get("items").Items() {
		if s, e, _ := item.Span(); want >= s && want < e {
			if p, ok := find(item, o, path.Child("items", i)); ok {
				return p, true
			}
		}
	}
	return nil, false
}

// child returns the spot at a key or index of another, nil if there is none.
func (l *lowering) child(s *spot, e any) (*spot, error) {
	if err := l.list(s); err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case string:
		for _, k := range s.kids {
			if !k.gone && k.key == e {
				return k, nil
			}
		}
	case int:
		n := 0
		for _, k := range s.kids {
			if k.gone {
				continue
			}
			if n == e {
				return k, nil
			}
			n++
		}
	}
	return nil, nil
}

// apply notes one operation.
func (l *lowering) apply(op lint.Op) error {
	if len(op.Path) == 0 {
		return l.refuse(nil, "the operation is about the whole object; change it by hand")
	}
	if slices.Contains(op.Path, any("")) {
		return l.refuse(op.Path, "a key without letters is not understood by every tool; change %s by hand", op.Path)
	}
	value, err := canonical(op.Value)
	if err != nil {
		return l.refuse(op.Path, "%s", err)
	}
	at := l.top
	for i, e := range op.Path[:len(op.Path)-1] {
		if at.fresh {
			return l.applyFresh(at, op, op.Path[i:], value)
		}
		next, err := l.step(at, op, e, op.Path[:i+1])
		if err != nil {
			return err
		}
		if next == nil || next.isNull() {
			if op.Kind != lint.Add {
				return l.refuse(op.Path, "there is no %s", op.Path[:i+1])
			}
			return l.set(at, next, e, wrap(op.Path[i+1:], value), op)
		}
		at = next
	}
	last := op.Path[len(op.Path)-1]
	if at.fresh {
		return l.applyFresh(at, op, op.Path[len(op.Path)-1:], value)
	}
	if at.old.Type() == object.List && op.Kind == lint.Add {
		return l.insert(at, last, value, op)
	}
	next, err := l.step(at, op, last, op.Path)
	switch {
	case err != nil:
		return err
	case op.Kind == lint.Add:
		return l.set(at, next, last, value, op)
	case next == nil:
		return l.refuse(op.Path, "there is no %s", op.Path)
	case op.Kind == lint.Replace:
		return l.set(at, next, last, value, op)
	case op.Kind == lint.Remove:
		return l.remove(at, next)
	}
	return l.refuse(op.Path, "an operation %q is not known", op.Kind)
}

// isNull says whether the value will be null.
func (s *spot) isNull() bool {
	if s.fresh {
		return s.value == nil
	}
	return s.old.Type() == object.Null
}

// wrap makes the mappings of a path around a value.
func wrap(path object.Path, value any) any {
	for _, e := range slices.Backward(path) {
		key, ok := e.(string)
		if !ok {
			key = fmt.Sprint(e)
		}
		value = map[string]any{key: value}
	}
	return value
}

// step goes down one key or index, to nil if there is nothing. It refuses to go where a change would be one of other places too.
func (l *lowering) step(at *spot, op lint.Op, e any, path object.Path) (*spot, error) {
	switch {
	case at.old.Type() == object.Map && isKey(e):
	case at.old.Type() == object.List && isIndex(e):
	default:
		return nil, l.refuse(path, "there is no %s: what it would be in is a %s", path, at.old.Type())
	}
	next, err := l.child(at, e)
	if err != nil || next == nil {
		if err == nil && at.inner.merged[keyOf(e)] {
			err = l.refuse(path, "%s comes from a merge key (<<); change it by hand where the anchor is, or write it out", path)
		}
		return nil, err
	}
	final := len(path) == len(op.Path)
	if next.place.alias && (!final || op.Kind != lint.Remove) {
		return nil, l.refuse(path, "the value of %s is an alias; change it by hand where the anchor is, or write it out", path)
	}
	if a := next.place.anchor; a != "" && l.aliased(a) {
		return nil, l.refuse(path, "%s has the anchor &%s, and *%s stands for it elsewhere; change it by hand", path, a, a)
	}
	return next, nil
}

func isKey(e any) bool   { _, ok := e.(string); return ok }
func isIndex(e any) bool { _, ok := e.(int); return ok }

func keyOf(e any) string {
	k, _ := e.(string)
	return k
}

// aliased says whether an alias for an anchor may stand in the document.
func (l *lowering) aliased(anchor string) bool {
	text := l.text[l.start:l.end]
	for {
		i := strings.Index(text, "*"+anchor)
		if i < 0 {
			return false
		}
		if text = text[i+1+len(anchor):]; text == "" || !isAnchorChar(text[0]) {
			return true
		}
	}
}

// set writes a value at a spot, or adds a field that is not there.
func (l *lowering) set(at, s *spot, e any, value any, op lint.Op) error {
	if s != nil {
		return l.reconcile(s, value)
	}
	key, ok := e.(string)
	if !ok || at.old.Type() != object.Map {
		return l.refuse(op.Path, "there is no %s", op.Path)
	}
	for _, k := range at.kids {
		if k.gone && k.key == key && !k.isNew() && !k.place.alias { // taken out before, and now back
			k.gone = false
			return l.reconcile(k, value)
		}
	}
	at.kids = append(at.kids, &spot{path: at.path, key: key, fresh: true, value: value})
	return nil
}

// insert adds an item to a list.
func (l *lowering) insert(at *spot, e any, value any, op lint.Op) error {
	if err := l.list(at); err != nil {
		return err
	}
	live := 0
	for _, k := range at.kids {
		if !k.gone {
			live++
		}
	}
	n, ok := e.(int)
	if e == "-" {
		n, ok = live, true
	}
	if !ok || n < 0 || n > live {
		return l.refuse(op.Path, "there is no place %s in a list of %d", op.Path, live)
	}
	i := 0
	for ; i < len(at.kids) && (n > 0 || at.kids[i].gone); i++ {
		if !at.kids[i].gone {
			n--
		}
	}
	at.kids = slices.Insert(at.kids, i, &spot{path: at.path, fresh: true, value: value})
	return nil
}

func (l *lowering) remove(at, s *spot) error {
	if s.isNew() {
		at.kids = slices.DeleteFunc(at.kids, func(k *spot) bool { return k == s })
		return nil
	}
	s.gone = true
	return nil
}

// applyFresh applies an operation within a value that is not in the text yet.
func (l *lowering) applyFresh(s *spot, op lint.Op, rest object.Path, value any) error {
	var err error
	if s.value, err = patchValue(s.value, op.Kind, rest, value); err != nil {
		return l.refuse(op.Path, "there is no %s", op.Path)
	}
	return nil
}

var errNoField = errors.New("no such field")

// patchValue applies one operation to a value, which it may change.
func patchValue(v any, kind lint.OpKind, path object.Path, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	switch in := v.(type) {
	case nil:
		if kind == lint.Add {
			return wrap(path, value), nil
		}
	case map[string]any:
		key, ok := path[0].(string)
		next, found := in[key]
		switch {
		case !ok, !found && kind != lint.Add:
			return nil, errNoField
		case kind == lint.Remove && len(path) == 1:
			delete(in, key)
			return in, nil
		}
		next, err := patchValue(next, kind, path[1:], value)
		in[key] = next
		return in, err
	case []any:
		n, ok := path[0].(int)
		if path[0] == "-" && kind == lint.Add && len(path) == 1 {
			n, ok = len(in), true
		}
		switch {
		case !ok || n < 0 || n > len(in) || n == len(in) && (kind != lint.Add || len(path) > 1):
			return nil, errNoField
		case len(path) == 1 && kind == lint.Add:
			return slices.Insert(in, n, value), nil
		case len(path) == 1 && kind == lint.Remove:
			return slices.Delete(in, n, n+1), nil
		}
		next, err := patchValue(in[n], kind, path[1:], value)
		in[n] = next
		return in, err
	}
	return nil, errNoField
}

// current is the value that a spot will have.
func (s *spot) current() any {
	switch {
	case s.fresh:
		return s.value
	case !s.open:
		return s.old.Any()
	case s.old.Type() == object.Map:
		out := map[string]any{}
		for k, f := range s.old.Fields() {
			if s.inner.merged[k] {
				out[k] = f.Any()
			}
		}
		for _, k := range s.kids {
			if !k.gone {
				out[k.key] = k.current()
			}
		}
		return out
	}
	out := []any{}
	for _, k := range s.kids {
		if !k.gone {
			out = append(out, k.current())
		}
	}
	return out
}

// reconcile gives a spot a value, and leaves in the text what of the old one is also in the new.
func (l *lowering) reconcile(s *spot, value any) error {
	if s.fresh {
		s.value = value
		return nil
	}
	if reflect.DeepEqual(s.current(), value) {
		return nil
	}
	if s.place.alias {
		return l.refuse(s.path, "the value of %s is an alias; change it by hand where the anchor is, or write it out", s.path)
	}
	switch v := value.(type) {
	case map[string]any:
		if s.old.Type() == object.Map && s.old.Len() > 0 && len(v) > 0 {
			return l.reconcileMap(s, v)
		}
	case []any:
		if s.old.Type() == object.List && s.old.Len() > 0 && len(v) > 0 {
			return l.reconcileList(s, v)
		}
	}
	s.fresh, s.value = true, value
	return nil
}

func (l *lowering) reconcileMap(s *spot, value map[string]any) error {
	if err := l.list(s); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, k := range slices.Clone(s.kids) {
		v, wanted := value[k.key]
		switch {
		case k.gone:
		case !wanted:
			if err := l.remove(s, k); err != nil {
				return err
			}
		default:
			seen[k.key] = true
			if err := l.reconcile(k, v); err != nil {
				return err
			}
		}
	}
	for _, key := range sortedKeys(value) {
		if seen[key] || s.inner.merged[key] && reflect.DeepEqual(s.old.Get(key).Any(), value[key]) {
			continue
		}
		if err := l.set(s, nil, key, value[key], lint.Op{}); err != nil {
			return err
		}
	}
	for key := range s.inner.merged {
		if _, wanted := value[key]; !wanted {
			return l.refuse(s.path, "%s of %s comes from a merge key (<<); change it by hand", key, s.path)
		}
	}
	return nil
}

// reconcileList keeps the items that are the same at the beginning and at the end.
func (l *lowering) reconcileList(s *spot, value []any) error {
	if err := l.list(s); err != nil {
		return err
	}
	live := slices.DeleteFunc(slices.Clone(s.kids), func(k *spot) bool { return k.gone })
	same := func(k *spot, v any) bool { return reflect.DeepEqual(k.current(), v) }
	var last *spot // behind which what is left is inserted
	for len(live) > 0 && len(value) > 0 && same(live[0], value[0]) {
		last, live, value = live[0], live[1:], value[1:]
	}
	for len(live) > 0 && len(value) > 0 && same(live[len(live)-1], value[len(value)-1]) {
		live, value = live[:len(live)-1], value[:len(value)-1]
	}
	for len(live) > 0 && len(value) > 0 {
		if err := l.reconcile(live[0], value[0]); err != nil {
			return err
		}
		last, live, value = live[0], live[1:], value[1:]
	}
	for _, k := range live {
		if err := l.remove(s, k); err != nil {
			return err
		}
	}
	at := slices.Index(s.kids, last) + 1
	for i, v := range value {
		s.kids = slices.Insert(s.kids, at+i, &spot{path: s.path, fresh: true, value: v})
	}
	return nil
}
