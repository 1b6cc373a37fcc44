package render

import (
	"reflect"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/meshvet/meshvet/lint/object"
)

// tracer finds what a rendered file holds in the file that it was rendered from. Where that is YAML, fields are found by their paths in
// the same object; in a template, by what the renderer says of lines, else by their text.
type tracer struct {
	name   string                  // of the source
	source *object.File            // nil if it is not at hand
	text   *object.File            // what was rendered
	docs   []begin                 // in the order of the text
	others map[string]*object.File // files by the paths in Lines
	pairs  map[*object.Object]*object.Object

	rendered, lines []string         // of text and source, without blanks around them: renderers indent as they like
	places          map[string][]int // of lines of the source, from 0
}

// begin is the line of the text with which a rendered document begins, from 1.
type begin struct {
	line int
	*Document
}

func newTracer(name, text string, docs []begin, source *object.File, others map[string]*object.File) *tracer {
	t := &tracer{
		name: name, source: source, others: others, text: object.NewText(name, text), docs: docs,
		pairs: map[*object.Object]*object.Object{}, places: map[string][]int{}, rendered: trimmedLines(text),
	}
	if source == nil {
		return t
	}
	t.lines = trimmedLines(source.Text())
	for i, l := range t.lines {
		if l != "" {
			t.places[l] = append(t.places[l], i)
		}
	}
	return t
}

func trimmedLines(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		out = append(out, strings.TrimSpace(l))
	}
	return out
}

// pair finds for each object the one in the source that it was made of. It has to be called before the tracer is used.
func (t *tracer) pair(objects []*object.Object) {
	if t.source == nil {
		return
	}
	for _, o := range objects {
		if from := origin(o, t.source.Objects); from != nil {
			t.pairs[o] = from
		}
	}
}

// origin is the object that another was made of: the only one of its kind, or of several the one with its name and namespace, with its
// name, with a name that is part of its own, or with its hosts, in this order. nil if that does not tell.
func origin(o *object.Object, among []*object.Object) *object.Object {
	var left []*object.Object
	for _, s := range among {
		if s.Kind == o.Kind {
			left = append(left, s)
		}
	}
	for _, alike := range []func(s *object.Object) bool{
		func(s *object.Object) bool { return s.Name == o.Name },
		func(s *object.Object) bool { return s.Namespace == o.Namespace },
		func(s *object.Object) bool { return s.Name != "" && strings.Contains(o.Name, s.Name) },
		func(s *object.Object) bool { return sameHosts(s, o) },
	} {
		var kept []*object.Object
		for _, s := range left {
			if alike(s) {
				kept = append(kept, s)
			}
		}
		if len(kept) > 0 {
			left = kept
		}
	}
	if len(left) != 1 {
		return nil
	}
	return left[0]
}

// sameHosts says whether two objects are for the same host.
func sameHosts(a, b *object.Object) bool {
	same := func(field string) bool {
		return reflect.DeepEqual(a.Spec().Get(field).Any(), b.Spec().Get(field).Any())
	}
	return same("host") && same("hosts")
}

// Field implements object.Tracer.
func (t *tracer) Field(o *object.Object, p object.Path, key bool, at object.Location) object.Location {
	from := t.pairs[o]
	if from == nil {
		return t.Place(at)
	}
	locate := from.Locate
	if key {
		locate = from.LocateKey
	}
	loc := locate(p)
	loc.File = t.name
	loc.Exact = loc.Exact && at.Exact && (len(p) == 0 || reflect.DeepEqual(from.Lookup(p).Any(), o.Lookup(p).Any()))
	return loc
}

// Place implements object.Tracer.
func (t *tracer) Place(at object.Location) object.Location {
	line := at.Range.Start.Line
	if line < 1 || line > len(t.rendered) {
		return object.Location{File: t.name}
	}
	if d := t.documentAt(line); d != nil {
		if source, n := d.Origin(line - d.line + 1); n > 0 && t.others[source] != nil {
			return t.onLine(at, t.others[source], n)
		}
	}
	if t.source == nil {
		return object.Location{File: t.name}
	}
	first, last := t.sourceOf(line)
	text := t.rendered[line-1]
	if n, found := t.find(line-1, t.places[text], first, last); found {
		return t.onLine(at, t.source, n+1)
	}
	if n, found := t.findKey(text, first, last); found {
		return t.onLine(at, t.source, n+1)
	}
	begin := object.Pos{Line: max(first, 1), Col: 1}
	return object.Location{File: t.name, Range: object.Range{Start: begin, End: begin}}
}

// onLine is the place on a line of a source of what stands on one of the text: the same columns, if they read alike.
func (t *tracer) onLine(at object.Location, source *object.File, n int) object.Location {
	line, end := at.Range.Start.Line, at.Range.End
	own := wholeLine(source, n)
	out := object.Location{File: source.Name, Range: own}
	if t.rendered[line-1] != strings.TrimSpace(source.Line(n)) {
		return out
	}
	shift := indent(source.Line(n)) - indent(t.text.Line(line))
	out.Exact = at.Exact
	out.Range.Start.Col = max(1, at.Range.Start.Col+shift)
	if end.Line == line {
		out.Range.End.Col = min(own.End.Col, max(out.Range.Start.Col, end.Col+shift))
	}
	return out
}

// wholeLine is a line of a file without the blanks around it.
func wholeLine(f *object.File, n int) object.Range {
	line := f.Line(n)
	return object.Range{
		Start: object.Pos{Line: n, Col: indent(line) + 1},
		End:   object.Pos{Line: n, Col: utf8.RuneCountInString(strings.TrimRight(line, " \t")) + 1},
	}
}

// indent counts the blanks before a line.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// sourceOf are the lines of the source that a rendered line may come from, from 1: those of its document, or all of them if it is not
// known where that begins, with a first of 0.
func (t *tracer) sourceOf(line int) (first, last int) {
	last = len(t.lines)
	for i, d := range t.docs {
		if d.line > line {
			break
		}
		first, last = d.Line, len(t.lines)
		if i+1 < len(t.docs) && t.docs[i+1].Line > first {
			last = t.docs[i+1].Line - 1
		}
	}
	return first, last
}

// documentAt is the document that a line of the text is in.
func (t *tracer) documentAt(line int) *begin {
	i := sort.Search(len(t.docs), func(i int) bool { return t.docs[i].line > line }) - 1
	if i < 0 {
		return nil
	}
	return &t.docs[i]
}

// find chooses among the lines of the source that read like a rendered one, all from 0: the only one, or that whose neighbours read alike.
func (t *tracer) find(line int, among []int, first, last int) (int, bool) {
	best, most, several := 0, -1, false
	for _, n := range among {
		if n+1 < first || n+1 > last {
			continue
		}
		switch score := t.alike(line, n, -1) + t.alike(line, n, 1); {
		case score > most:
			best, most, several = n, score, false
		case score == most:
			several = true
		}
	}
	return best, most >= 0 && !several
}

// neighbours is how many lines above, and below, are compared to tell equal lines apart.
const neighbours = 6

// alike counts the lines next to a rendered one that read like those next to one of the source.
func (t *tracer) alike(line, n, step int) int {
	for count := range neighbours {
		line, n = line+step, n+step
		if line < 0 || n < 0 || line >= len(t.rendered) || n >= len(t.lines) || t.rendered[line] != t.lines[n] {
			return count
		}
	}
	return neighbours
}

// findKey finds the one line of the source that begins with the key of a rendered line.
func (t *tracer) findKey(text string, first, last int) (int, bool) {
	key, _, found := strings.Cut(text, ":")
	if !found || key == "" {
		return 0, false
	}
	at := -1
	for n := max(first-1, 0); n < min(last, len(t.lines)); n++ {
		if strings.HasPrefix(t.lines[n], key+":") {
			if at >= 0 {
				return 0, false
			}
			at = n
		}
	}
	return at, at >= 0
}
