package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// Patch applies operations to an object as a JSON Patch tool would; adding below a mapping that is missing or null creates it. The
// object that it returns has no file. It is an error if what comes out is no object of a kind that meshvet reads.
func Patch(o *object.Object, ops []lint.Op) (*object.Object, error) {
	raw, err := patched(o.Root(), ops)
	if err != nil {
		return nil, fmt.Errorf("patch %s: %w", o.Key, err)
	}
	m, ok := raw.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("patch %s: what is patched is no mapping", o.Key)
	}
	out, err := object.FromMap(m)
	if err == nil && out == nil {
		err = errors.New("what is patched is no object")
	}
	return out, err
}

type wireOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patched applies operations to the value of an object, or of a part of one.
func patched(root object.Value, ops []lint.Op) (any, error) {
	doc, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("write it as JSON: %w", err)
	}
	var list []wireOp
	run := func() error {
		if len(list) == 0 {
			return nil
		}
		js, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("write the patch: %w", err)
		}
		p, err := jsonpatch.DecodePatch(js)
		if err != nil {
			return fmt.Errorf("read the patch: %w", err)
		}
		if doc, err = p.Apply(doc); err != nil {
			return fmt.Errorf("apply %s: %w", js, err)
		}
		list = list[:0]
		return nil
	}
	for _, op := range ops {
		if op.Kind == lint.Add && len(op.Path) > 1 && !root.At(op.Path.Parent()...).Set() {
			// An earlier operation may have made the parents.
			if err := run(); err != nil {
				return nil, err
			}
			parents, err := missingParents(doc, op.Path)
			if err != nil {
				return nil, err
			}
			list = append(list, parents...)
		}
		list = append(list, wireOp{string(op.Kind), op.Path.Pointer(), op.Value})
	}
	if err := run(); err != nil {
		return nil, err
	}
	raw, err := decodeJSON(doc)
	if err != nil {
		return nil, fmt.Errorf("read what is patched: %w", err)
	}
	return raw, nil
}

// missingParents returns the operations that create the mappings on the way to a path.
func missingParents(doc []byte, path object.Path) ([]wireOp, error) {
	at, err := decodeJSON(doc)
	if err != nil {
		return nil, fmt.Errorf("read what is patched: %w", err)
	}
	var out []wireOp
	for i, e := range path[:len(path)-1] {
		var next any
		var found bool
		switch v := at.(type) {
		case map[string]any:
			key, isKey := e.(string)
			if !isKey {
				return out, nil // an error that the library tells
			}
			next, found = v[key]
		case []any:
			n, isIndex := e.(int)
			if !isIndex || n < 0 || n >= len(v) {
				return out, nil
			}
			next, found = v[n], true
		default:
			return out, nil
		}
		if next == nil {
			op := lint.Add
			if found {
				op = lint.Replace
			}
			out = append(out, wireOp{string(op), path[:i+1].Pointer(), map[string]any{}})
			next = map[string]any{}
		}
		at = next
	}
	return out, nil
}

func decodeJSON(js []byte) (any, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(js))
	dec.UseNumber()
	err := dec.Decode(&v)
	return v, err
}

// canonical gives a value that stands in an operation the form that object.Value.Any has.
func canonical(v any) (any, error) {
	js, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write the value of the operation: %w", err)
	}
	raw, err := decodeJSON(js)
	if err != nil {
		return nil, fmt.Errorf("read the value of the operation: %w", err)
	}
	return plainNumbers(raw)
}

func plainNumbers(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("number %s: %w", v, err)
		}
		if i := int64(f); f >= -1<<53 && f <= 1<<53 && float64(i) == f {
			return i, nil
		}
		return f, nil
	case []any:
		for i := range v {
			var err error
			if v[i], err = plainNumbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			var err error
			if v[k], err = plainNumbers(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// guard reads the text as it would be and compares it with what it should be. If it can, it looks only at what is around the edits,
// since a file may ask for thousands of them.
func (l *lowering) guard(edits []Edit, ops []lint.Op) error {
	if len(edits) == 0 {
		return l.guardNothing(ops)
	}
	if !l.anchors {
		if u, ok := l.unitOf(l.top, edits[0].Start, edits[len(edits)-1].End, ops); ok {
			rebased, fits := u.rebase(ops)
			if a, ok := l.readAlone(u); ok && fits {
				// An operation may write what is there already, anywhere.
				if err := l.guardAlone(a, edits, rebased); err == nil || len(l.before) > wholeBytes {
					return err
				}
			}
		}
	}
	return l.guardDocument(edits, ops)
}

// wholeBytes is the size of a document up to which all of it is read again where a part of it does not do.
const wholeBytes = 128 << 10

// guardNothing holds that operations which need no edits change nothing.
func (l *lowering) guardNothing(ops []lint.Op) error {
	if want, err := l.expected(l.o.Root(), ops); err != nil || !reflect.DeepEqual(want, l.o.Root().Any()) {
		return l.refuse(l.place(ops), "the change comes to nothing in the text; make it by hand")
	}
	return nil
}

// expected is what operations make of a value.
func (l *lowering) expected(root object.Value, ops []lint.Op) (any, error) {
	raw, err := patched(root, ops)
	if err == nil {
		raw, err = plainNumbers(raw)
	}
	if err != nil {
		return nil, l.refuse(l.place(ops), "the operations do not fit the object: %s", err)
	}
	return raw, nil
}

// place is the path that a refusal of all operations points at.
func (l *lowering) place(ops []lint.Op) object.Path {
	if len(ops) == 0 {
		return nil
	}
	return ops[0].Path
}

// guardDocument is the guard over all of the document.
func (l *lowering) guardDocument(edits []Edit, ops []lint.Op) error {
	want, err := l.expected(l.doc.At(l.at...), ops)
	if err != nil {
		return err
	}
	if len(l.at) > 0 {
		whole := l.doc.Any()
		setAt(whole, l.at, want)
		want = whole
	}
	return l.compare(l.doc, l.before, l.start, "", "", edits, want, l.place(ops))
}

// setAt puts a value at a path of another.
func setAt(in any, path object.Path, value any) {
	for i, e := range path {
		last := i == len(path)-1
		switch at := in.(type) {
		case map[string]any:
			if last {
				at[keyOf(e)] = value
			}
			in = at[keyOf(e)]
		case []any:
			n, ok := e.(int)
			if !ok || n >= len(at) {
				return
			}
			if last {
				at[n] = value
			}
			in = at[n]
		}
	}
}

// compare reads a part of the text, which begins at start and holds no scalars but those of in, with the edits made. It compares it with
// the value that it should have, and its comments with those that it had. To be read, the part is put between opening and closing.
func (l *lowering) compare(in object.Value, part string, start int, opening, closing string, edits []Edit, want any, at object.Path) error {
	local := make([]Edit, len(edits))
	for i, e := range edits {
		local[i] = Edit{e.Start - start, e.End - start, e.Text}
	}
	after, err := Apply(part, local)
	if err != nil {
		return l.refuse(at, "the changes meet in the text, or reach into another document; make them by hand")
	}
	now, problem := object.ParseDocument(l.o.FileName(), []byte(opening+after+closing), object.Limits{})
	if problem != nil {
		return l.refuse(at, "the text with the change would not be readable (%s); make it by hand", problem.Message)
	}
	if !reflect.DeepEqual(now.Root().Any(), want) {
		return l.refuse(at, "the text with the change would say something else than is meant; make it by hand")
	}
	if !slices.Equal(commentTexts(part, in, start), commentTexts(opening+after+closing, now.Root(), 0)) {
		return l.refuse(at, "a comment would be lost or changed; make the change by hand")
	}
	return nil
}

// commentTexts lists the comments of a text, sorted. start is where it begins in what the spans of root count.
func commentTexts(text string, root object.Value, start int) []string {
	var spans []span
	for _, s := range scalars(root, start, start+len(text)) {
		spans = append(spans, span{s.start - start, s.end - start})
	}
	var out []string
	for _, r := range remarks(text, 0, len(text), spans) {
		if !r.blank {
			out = append(out, text[r.start:r.end])
		}
	}
	slices.Sort(out)
	return out
}

// finish puts the edits in order, and takes back the line end that the document's last line was given.
func (l *lowering) finish() []Edit {
	edits := join(l.edits)
	end := l.start + len(l.before)
	if n := len(edits); n > 0 && l.end > end && edits[n-1].End > end {
		last, nl := &edits[n-1], l.style.nl
		if last.Start > end { // lines behind the last one
			last.Start, last.Text = end, nl+strings.TrimSuffix(last.Text, nl)
		} else if text, found := strings.CutSuffix(last.Text, nl); found {
			last.Text = text
		} else if last.Text == "" && last.Start > l.start && l.text[last.Start-1] == '\n' { // the last lines are gone
			last.Start--
			if last.Start > l.start && l.text[last.Start-1] == '\r' {
				last.Start--
			}
		}
		last.End = end
		edits = join(edits)
	}
	for i := range edits {
		edits[i] = trim(l.text, edits[i])
	}
	return slices.DeleteFunc(edits, func(e Edit) bool { return e.Start == e.End && e.Text == "" })
}
