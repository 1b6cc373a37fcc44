package edit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// unit is a row of fields or items of one mapping or list that can be read without what is around them: of a collection in block style,
// their lines; of one in flow style, what is between its brackets. Nothing in it leads out of it, if the document has no aliases.
type unit struct {
	in       *spot
	from, to int // of its fields or items, in the order of the text
}

// unitOf returns the smallest unit below a spot that holds the bytes [lo, hi) and what is beside them, and all that operations are about.
func (l *lowering) unitOf(s *spot, lo, hi int, ops []lint.Op) (unit, bool) {
	if !s.open || s.inner.merge {
		return unit{}, false
	}
	kids := s.written()
	if len(kids) == 0 {
		return unit{}, false
	}
	from, to := 0, len(kids)
	for from+1 < to && kids[from+1].place.from <= lo {
		from++
	}
	for to-1 > from && kids[to-1].place.from > hi {
		to--
	}
	if within := kids[from].path; !slices.ContainsFunc(ops, func(op lint.Op) bool { return len(op.Path) <= len(within) || !op.Path.HasPrefix(within) }) {
		if u, ok := l.unitOf(kids[from], lo, hi, ops); ok {
			return u, true
		}
	}
	u := unit{s, max(from-1, 0), min(to+1, len(kids))}
	start, end, ok := l.bounds(u)
	return u, ok && lo >= start && hi <= end
}

// written are the fields or items of a spot that stand in the text, in its order.
func (s *spot) written() []*spot {
	return slices.DeleteFunc(slices.Clone(s.kids), (*spot).isNew)
}

// bounds are the bytes of a unit. ok is false if it begins or ends within a line of something else.
func (l *lowering) bounds(u unit) (start, end int, ok bool) {
	kids := u.in.written()
	first, last := &kids[u.from].place, &kids[min(u.to, len(kids))-1].place
	if u.in.inner.flow {
		return first.from, last.end, true
	}
	start = l.lineStart(first.from)
	if strings.Trim(l.text[start:first.from], " ") != "" {
		if u.in != l.top { // of an object that stands in a list, the line of the dash belongs to it
			return 0, 0, false
		}
		start = first.from
	}
	if u.to < len(kids) {
		end = l.lineStart(kids[u.to].place.from)
	} else {
		end = l.behind(last.end, u.in.inner.col)
	}
	return start, end, true
}

// rebase gives operations the paths that they have in a unit. ok is false if one reaches out of it.
func (u unit) rebase(ops []lint.Op) ([]lint.Op, bool) {
	shift := 0
	isList := u.in.old.Type() == object.List
	if isList {
		shift = u.in.inner.first + u.from
	}
	var out []lint.Op
	for _, op := range ops {
		if len(op.Path) <= len(u.in.path) || !op.Path.HasPrefix(u.in.path) {
			return nil, false
		}
		rest := op.Path[len(u.in.path):].Child()
		if isList {
			switch n, ok := rest[0].(int); {
			case ok && n >= shift:
				rest[0] = n - shift
			case rest[0] == "-" && u.to >= len(u.in.written()):
			default:
				return nil, false
			}
		}
		op.Path = rest
		out = append(out, op)
	}
	return out, true
}

// alone is a unit as it is read without what is around it.
type alone struct {
	unit
	part             string // of the text
	start            int
	opening, closing string // what is put around it
	value            object.Value
}

// readAlone reads a unit alone. ok is false if that gives something else than it is in the document.
func (l *lowering) readAlone(u unit) (a alone, ok bool) {
	start, end, ok := l.bounds(u)
	if !ok {
		return a, false
	}
	a = alone{unit: u, start: start, part: l.text[start:min(end, l.start+len(l.before))]}
	isList := u.in.old.Type() == object.List
	switch {
	case !u.in.inner.flow && l.lineStart(start) != start:
		a.opening = strings.Repeat(" ", u.in.inner.col)
	case !u.in.inner.flow:
	case isList:
		a.opening, a.closing = "[", "]"
	default:
		a.opening, a.closing = "{", "}"
	}
	doc, problem := object.ParseDocument(l.o.FileName(), []byte(a.opening+a.part+a.closing), object.Limits{})
	if problem != nil {
		return a, false
	}
	a.value = doc.Root()
	kids := u.in.written()[u.from:min(u.to, len(u.in.written()))]
	if a.value.Type() != u.in.old.Type() || a.value.Len() != len(kids) {
		return a, false
	}
	for i, k := range kids {
		v := a.value.Get(k.key)
		if isList {
			v = a.value.Index(i)
		}
		if !v.Exists() || !reflect.DeepEqual(v.Any(), k.old.Any()) {
			return a, false
		}
	}
	return a, true
}

// guardAlone is the guard over a unit, with operations whose paths are those in it.
func (l *lowering) guardAlone(a alone, edits []Edit, ops []lint.Op) error {
	want, err := l.expected(a.value, ops)
	if err != nil {
		return err
	}
	return l.compare(a.in.old, a.part, a.start, a.opening, a.closing, edits, want, a.in.path)
}
