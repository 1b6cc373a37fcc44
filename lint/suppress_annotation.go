package lint

import (
	"fmt"

	"github.com/meshvet/meshvet/lint/object"
)

// The annotations by which the author of an object says which findings on it are accepted, and why.
const (
	// IgnoreAnnotation holds IDs, names or categories of rules, in any case, with commas or blanks between them, and the last day on
	// which it holds, as until=2027-06-30.
	IgnoreAnnotation = "meshvet.dev/ignore"
	// ReasonAnnotation holds the reason, without which nothing is silenced.
	ReasonAnnotation = "meshvet.dev/ignore-reason"
)

var (
	ignorePath = object.Path{"metadata", "annotations", IgnoreAnnotation}
	reasonPath = object.Path{"metadata", "annotations", ReasonAnnotation}
)

// annotated reads the annotations of an object, nil if it has none of ours.
func (e *Engine) annotated(o *object.Object) *claim {
	value, reason := o.Lookup(ignorePath), o.Lookup(reasonPath)
	if !value.Set() && !reason.Set() {
		return nil
	}
	c := &claim{
		Suppression: Suppression{Kind: ByAnnotation, Where: o.Locate(ignorePath), Object: o.Key, place: o.Key.String()},
		subject:     IgnoreAnnotation, at: ignorePath, object: o, file: o.File(), about: []*object.Object{o},
	}
	if !value.Set() {
		c.aboutReason()
		c.void("there is no %s that names rules", IgnoreAnnotation)
		return c
	}
	if value.Type() != object.String {
		c.void("it is %s, and a string is wanted", typeName(value))
		return c
	}
	if !c.read(e, value.Str()) {
		return c
	}
	switch {
	case reason.Set() && reason.Type() != object.String:
		c.aboutReason()
		c.void("it is %s, and a string is wanted", typeName(reason))
	case !says(reason.Str()):
		c.void("%s has to say why", ReasonAnnotation)
	case c.Until == "" && setsEnd(reason.Str()):
		c.aboutReason()
		c.void("until= belongs into %s", IgnoreAnnotation)
	default:
		c.justify(e, reason.Str())
	}
	return c
}

// aboutReason says that what is wrong is wrong with the other annotation.
func (c *claim) aboutReason() {
	c.subject, c.at, c.Where = ReasonAnnotation, reasonPath, c.object.Locate(reasonPath)
}

// note is a fault of an annotation as it is told at admission, where no finding can be about it.
func (f *SuppressionFault) note() string {
	name := f.Subject
	if f.At.Range.Start.IsValid() {
		name += fmt.Sprintf(" (line %d)", f.At.Range.Start.Line)
	}
	return object.Abridge(name + " " + f.Message)
}
