package object

import (
	"context"
	"strings"
)

// Tracer finds in a source what stands in a text that was rendered from it.
type Tracer interface {
	// Field is the place of an object's field in the source; at is that in the rendered text, whose Exact says whether the object has
	// the field. key asks for the place of its key. The result is exact only if the source holds the same field with the same value.
	Field(o *Object, p Path, key bool, at Location) Location
	// Place is the place in the source of a line of the rendered text.
	Place(at Location) Location
}

// Rendering is where the text of a file comes from that no person wrote.
type Rendering struct {
	By      string  // the kustomization or chart, as reports call it
	Sources []*File // what the text was made of, as far as it is at hand
	Trace   Tracer
	// Namespace is that of the objects that name none; "" leaves it to whoever applies them.
	Namespace string
}

// LoadRendered reads manifests that were rendered from a file called name. What it says of places, as Locate does, is about that file,
// while offsets, spans and lines of comments are those of the rendered text. The error is only for ctx.
func LoadRendered(ctx context.Context, name, text string, limits Limits, r *Rendering) (*File, error) {
	f, err := Load(ctx, name, strings.NewReader(text), limits)
	if err != nil {
		return f, err
	}
	f.rendering = r
	for _, o := range f.Objects {
		if o.Namespace == "" && o.Kind != Namespace {
			o.Namespace = r.Namespace
		}
	}
	for i := range f.Problems {
		f.Problems[i].Location = r.Trace.Place(f.Problems[i].Location)
	}
	for i := range f.Unread {
		f.Unread[i].Location = r.Trace.Place(f.Unread[i].Location)
	}
	for i := range f.comments {
		f.comments[i].Location = r.Trace.Place(f.comments[i].Location)
	}
	if f.Template != nil {
		f.Template.Location = r.Trace.Place(f.Template.Location)
	}
	return f, nil
}

// Rendering is where the text of the file comes from, nil if it is that of the file itself.
func (f *File) Rendering() *Rendering { return f.rendering }

// Place is the place in the file's source of a line of its text, for a file that was rendered. For any other it is the line itself.
func (f *File) Place(line int) Location {
	at := Location{File: f.Name, Range: Range{Pos{Line: line, Col: 1}, Pos{Line: line, Col: 1}}, Exact: true}
	if f.rendering == nil {
		return at
	}
	return f.rendering.Trace.Place(at)
}

// NewText makes a file that holds a text and no objects, for reports to quote.
func NewText(name, text string) *File {
	rest, found := strings.CutPrefix(text, bom)
	return &File{Name: name, Class: Other, text: rest, bom: found}
}

// InText is what Locate says of the text that the object was read from, which for a rendered one is not the file that it comes from.
func (o *Object) InText(p Path) Location { return o.locate(p) }

// traced turns a place in the text of a rendered object into that in its source.
func (o *Object) traced(p Path, key bool, at Location) Location {
	if o.file == nil || o.file.rendering == nil {
		return at
	}
	return o.file.rendering.Trace.Field(o, p, key, at)
}
