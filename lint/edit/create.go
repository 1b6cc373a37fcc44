package edit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Create returns the edits that write a new object behind another one: as a document of its own behind the one that holds it, or, if
// that is a list, as the item behind it. The error is a *Refusal if the file can take no more objects.
func Create(after *object.Object, fresh map[string]any) ([]Edit, error) {
	value, err := canonical(fresh)
	if err != nil {
		return nil, &Refusal{Reason: err.Error(), At: after.Locate(nil)}
	}
	l, err := newLowering(after)
	if err != nil {
		return nil, err
	}
	if len(l.at) > 0 && l.doc.At(l.at[:len(l.at)-2]...).Get("kind").Str() == "List" {
		return l.createItem(value)
	}
	return l.createDocument(value) // also behind lists that hold objects of one kind
}

// createItem writes an object into the list that holds the other one.
func (l *lowering) createItem(value any) ([]Edit, error) {
	list, n := l.at[:len(l.at)-1], l.at[len(l.at)-1]
	i, ok := n.(int)
	if !ok {
		return nil, l.refuse(nil, "it stands in a list that is not understood; write the new object by hand")
	}
	at := l.root
	for _, e := range list {
		var err error
		if at, err = l.child(at, e); err != nil {
			return nil, err
		}
	}
	if err := l.list(at); err != nil {
		return nil, err
	}
	at.kids = slices.Insert(at.kids, i+1, &spot{fresh: true, value: value})
	if err := l.write(l.root); err != nil {
		return nil, err
	}
	edits := l.finish()
	whole := l.doc.Any()
	items := whole
	var set func(any)
	for _, e := range list {
		switch in := items.(type) {
		case map[string]any:
			key := keyOf(e)
			items, set = in[key], func(v any) { in[key] = v }
		case []any:
			if k, ok := e.(int); ok {
				items, set = in[k], func(v any) { in[k] = v }
			}
		}
	}
	if old, ok := items.([]any); ok && set != nil {
		set(slices.Insert(slices.Clone(old), i+1, value))
	}
	return edits, l.compare(edits, whole, nil)
}

// createDocument writes an object behind the document that holds the other one.
func (l *lowering) createDocument(value any) ([]Edit, error) {
	if first, _, _ := l.doc.Span(); l.text[first] == '{' && l.style.json {
		return nil, l.refuse(nil, "the file is JSON, of which not every reader takes a second value; write the new object into another file")
	}
	nl := l.style.nl
	l.style.json, l.style.pretty, l.style.colon, l.style.comma = false, false, ": ", ", "
	body := l.style.block(value, 0)
	text := "---" + nl + body + nl
	head := l.before
	end := l.start + len(head)
	if strings.HasSuffix(head, "\n") {
		if blank := strings.TrimRight(head, " \t\r\n"); strings.Count(head[len(blank):], "\n") > 1 && end < len(l.o.File().Text()) {
			text += nl // documents have an empty line between them
		}
	} else {
		head += nl
		text = nl + strings.TrimSuffix(text, nl)
	}
	name := l.o.FileName()
	same, problem := object.ParseDocument(name, []byte(head), object.Limits{})
	if problem != nil || !reflect.DeepEqual(same.Root().Any(), l.doc.Any()) {
		return nil, l.refuse(nil, "with a line end after its last line the document would say something else; make the change by hand")
	}
	made, problem := object.ParseDocument(name, []byte(body), object.Limits{})
	if problem != nil || !reflect.DeepEqual(made.Root().Any(), value) {
		return nil, l.refuse(nil, "the new object cannot be written as YAML; write it by hand")
	}
	return []Edit{{end, end, text}}, nil
}
