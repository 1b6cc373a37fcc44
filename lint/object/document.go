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

// ParseDocument reads a text of exactly one document; an empty text gives a Document whose root is absent.
func ParseDocument(name string, data []byte, limits Limits) (*Document, *Problem) {
	f := &File{Name: name, text: strings.TrimPrefix(string(data), "\ufeff"), bom: strings.HasPrefix(string(data), "\ufeff")}
	d := &Document{Object{file: f}}
	limits = limits.WithDefaults()
	if len(data) > limits.DocumentBytes {
		return d, &Problem{Bounds, fmt.Sprintf("is larger than %d MiB", limits.DocumentBytes>>20), Location{File: name}}
	}
	var full []piece
	for p := range split(f.text) {
		if !p.empty {
			full = append(full, p)
		}
	}
	switch {
	case len(full) == 0:
		return d, nil
	case len(full) > 1:
		return d, &Problem{Syntax, "holds more than one YAML document", f.locationAt(full[1].start)}
	}
	b := treeBuilder{limits: limits, text: f.text}
	root, err := b.parse(full[0].start, full[0].end)
	if err != nil {
		de := &documentError{kind: Syntax, at: uint32(full[0].start), msg: err.Error()}
		errors.As(err, &de)
		return d, &Problem{de.kind, "cannot be read: " + de.msg, de.location(f)}
	}
	d.o.root = root
	return d, nil
}

// Root is the document's value.
func (d *Document) Root() Value { return d.o.root }

// Locate finds the place of a value, as Object.Locate does.
func (d *Document) Locate(p Path) Location { return d.o.Locate(p) }

// LocateKey finds the place of a key.
func (d *Document) LocateKey(p Path) Location { return d.o.LocateKey(p) }

// File returns the text that the document was read from.
func (d *Document) File() *File { return d.o.file }
