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
	out, err := object.FromMap(raw)
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

// patched applies operations to the value of an object.
func patched(root object.Value, ops []lint.Op) (map[string]any, error) {
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
	m, ok := raw.(map[string]any)
	if !ok {
		return nil, errors.New("what is patched is no mapping")
	}
	return m, nil
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
		found := false
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

// guard reads the document as it would be and compares it with what it should be.
func (l *lowering) guard(edits []Edit, ops []lint.Op) error {
	want, err := l.expected(ops)
	if err != nil {
		return err
	}
	return l.compare(edits, want, l.place(ops))
}

// compare reads the document with the edits made, and compares it with the value that it should have.
func (l *lowering) compare(edits []Edit, want any, at object.Path) error {
	for _, e := range edits {
		if e.Start < l.start || e.End > l.start+len(l.before) {
			return l.refuse(nil, "the change would reach into another document; make it by hand")
		}
	}
	local := make([]Edit, len(edits))
	for i, e := range edits {
		local[i] = Edit{e.Start - l.start, e.End - l.start, e.Text}
	}
	after, err := Apply(l.before, local)
	if err != nil {
		return l.refuse(nil, "the changes meet in the text; make them by hand")
	}
	name := l.o.FileName()
	doc, problem := object.ParseDocument(name, []byte(after), object.Limits{})
	if problem != nil {
		return l.refuse(nil, "the text with the change would not be readable (%s); make it by hand", problem.Message)
	}
	if !reflect.DeepEqual(doc.Root().Any(), want) {
		return l.refuse(at, "the text with the change would say something else than is meant; make it by hand")
	}
	if !slices.Equal(commentTexts(l.before, l.doc, l.start), commentTexts(after, doc.Root(), 0)) {
		return l.refuse(at, "a comment would be lost or changed; make the change by hand")
	}
	return nil
}

// place is the path that a refusal of all operations points at.
func (l *lowering) place(ops []lint.Op) object.Path {
	if len(ops) == 0 {
		return nil
	}
	return ops[0].Path
}

// expected is the value that the whole document has to have.
func (l *lowering) expected(ops []lint.Op) (any, error) {
	root := l.value(l.doc, l.at)
	raw, err := patched(root, ops)
	if err != nil {
		return nil, l.refuse(l.place(ops), "the operations do not fit the object: %s", err)
	}
	want, err := plainNumbers(raw)
	if err != nil {
		return nil, l.refuse(nil, "%s", err)
	}
	if len(l.at) == 0 {
		return want, nil
	}
	whole := l.doc.Any()
	at := whole
	for i, e := range l.at {
		last := i == len(l.at)-1
		switch in := at.(type) {
		case map[string]any:
			key, _ := e.(string)
			if last {
				in[key] = want
			}
			at = in[key]
		case []any:
			n, _ := e.(int)
			if last {
				in[n] = want
			}
			at = in[n]
		}
	}
	return whole, nil
}

func (l *lowering) value(v object.Value, p object.Path) object.Value { return v.At(p...) }

// commentTexts lists the comments of a document, sorted. shift is where the text begins in what the spans of root count.
func commentTexts(text string, root object.Value, shift int) []string {
	spans := scalars(root, shift, shift+len(text))
	for i := range spans {
		spans[i].start -= shift
		spans[i].end -= shift
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
	real := l.start + len(l.before)
	if n := len(edits); n > 0 && l.end > real && edits[n-1].End > real {
		last, nl := &edits[n-1], l.style.nl
		if last.Start > real { // lines behind the last one
			last.Start, last.Text = real, nl+strings.TrimSuffix(last.Text, nl)
		} else if text, found := strings.CutSuffix(last.Text, nl); found {
			last.Text = text
		} else if last.Text == "" && last.Start > l.start && l.text[last.Start-1] == '\n' { // the last lines are gone
			last.Start--
			if last.Start > l.start && l.text[last.Start-1] == '\r' {
				last.Start--
			}
		}
		last.End = real
		edits = join(edits)
	}
	for i := range edits {
		edits[i] = trim(l.text, edits[i])
	}
	return slices.DeleteFunc(edits, func(e Edit) bool { return e.Start == e.End && e.Text == "" })
}
