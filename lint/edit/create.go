package edit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
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
	at := l.placed(l.doc.At(list...))
	at.path = list
	if !ok || l.anchors {
		return nil, l.refuse(nil, "it stands in a list with anchors; write the new object by hand")
	}
	if err := l.listItems(at, i, i+2); err != nil {
		return nil, err
	}
	at.kids = slices.Insert(at.kids, 1, &spot{fresh: true, value: value})
	if err := l.write(at); err != nil {
		return nil, err
	}
	edits := l.finish()
	a, ok := l.readAlone(unit{in: at, to: len(at.kids)})
	if !ok {
		return nil, l.refuse(nil, "the list that it stands in is not understood; write the new object by hand")
	}
	return edits, l.guardAlone(a, edits, []lint.Op{{Kind: lint.Add, Path: object.Path{1}, Value: value}})
}

// createDocument writes an object behind the document that holds the other one.
func (l *lowering) createDocument(value any) ([]Edit, error) {
	if first, _, _ := l.doc.Span(); l.style.json && l.text[first] == '{' {
		return nil, l.refuse(nil, "the file is JSON, of which not every reader takes a second value; write the new object into another file")
	}
	nl := l.style.nl
	l.style.json, l.style.pretty, l.style.colon, l.style.comma = false, false, ": ", ", "
	body := l.style.block(value, 0)
	text := "---" + nl + body + nl
	head := l.before
	end := l.start + len(head)
	complete := strings.HasSuffix(head, "\n")
	if complete {
		if blank := strings.TrimRight(head, " \t\r\n"); strings.Count(head[len(blank):], "\n") > 1 && end < len(l.o.File().Text()) {
			text += nl // documents have an empty line between them
		}
	} else {
		head += nl
		text = nl + strings.TrimSuffix(text, nl)
	}
	if !complete && !l.reads(head, l.doc.Any()) {
		return nil, l.refuse(nil, "with a line end after its last line the document would say something else; make the change by hand")
	}
	if !l.reads(body, value) {
		return nil, l.refuse(nil, "the new object cannot be written as YAML; write it by hand")
	}
	return []Edit{{end, end, text}}, nil
}

// reads says whether a text is a document with a value.
func (l *lowering) reads(text string, value any) bool {
	doc, problem := object.ParseDocument(l.o.FileName(), []byte(text), object.Limits{})
	return problem == nil && reflect.DeepEqual(doc.Root().Any(), value)
}
