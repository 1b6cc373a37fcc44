package object

import (
	"errors"
	"fmt"
	"strings"
)

// Document is one YAML or JSON document that is no manifest, such as a configuration file, with its positions.
type Document struct {
	o Object
}

// ParseDocument reads a text of exactly one document; an empty text gives a Document whose root is absent. The Problem says
// why the text cannot be read, nil if it can.
func ParseDocument(name string, data []byte, limits Limits) (*Document, *Problem) {
	limits = limits.WithDefaults()
	text, hasBOM := strings.CutPrefix(string(data), bom)
	f := &File{Name: name, text: text, bom: hasBOM}
	d := &Document{Object{file: f}}
	if len(text) > limits.DocumentBytes {
		return d, &Problem{Kind: Bounds, Message: fmt.Sprintf("is larger than %d MiB; shorten it", limits.DocumentBytes>>20), Location: Location{File: name}}
	}
	var only *piece
	for p := range split(text) {
		switch {
		case p.empty:
		case only != nil:
			return d, &Problem{Kind: Syntax, Message: "holds more than one YAML document; keep one", Location: f.locationAt(p.start)}
		default:
			only = &p
		}
	}
	if only == nil {
		return d, nil
	}
	tree := treeBuilder{limits: limits, text: text}
	root, err := tree.parse(only.start, only.end)
	if err != nil {
		de := &documentError{kind: Syntax, at: uint32(only.start), msg: err.Error()}
		errors.As(err, &de)
		return d, &Problem{Kind: de.kind, Message: Abridge("cannot be read: " + de.msg), Location: de.location(f)}
	}
	d.o.root = root
	return d, nil
}

// Root is the document's value.
func (d *Document) Root() Value { return d.o.root }

// Locate finds the place of a value, as Object.Locate does.
func (d *Document) Locate(p Path) Location { return d.o.Locate(p) }

// LocateValue finds the place of a value of the document in constant time, where Locate walks lists from their beginning.
func (d *Document) LocateValue(v Value) Location {
	if !v.Exists() {
		return Location{File: d.o.FileName()}
	}
	return Location{File: d.o.FileName(), Range: d.o.file.rangeOf(v), Exact: true}
}

// LocateKey finds the place of a key.
func (d *Document) LocateKey(p Path) Location { return d.o.LocateKey(p) }
