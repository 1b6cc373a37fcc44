package main

import (
	"errors"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/edit"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/report"
)

// fixEdits works out the replacements that fixes of a report consist of, each fix once. Only formats for programs ask for them: reading an
// object again for each fix costs more than judging it.
func fixEdits(rep *lint.Report) func(*lint.Finding, *lint.Fix) ([]report.Edit, error) {
	type outcome struct {
		edits []report.Edit
		err   error
	}
	known := map[*lint.Fix]outcome{}
	work := 0
	return func(f *lint.Finding, x *lint.Fix) ([]report.Edit, error) {
		out, done := known[x]
		if !done {
			out.edits, out.err = editsOf(rep, f, x, &work)
			known[x] = out
		}
		return out.edits, out.err
	}
}

// byteOrderMark is how many bytes a byte-order mark takes.
const byteOrderMark = 3

// maxReportWork bounds what is read again for the fixes of a report, in bytes of the objects' text; a second is worth a MiB or some.
const maxReportWork = 4 << 20

func editsOf(rep *lint.Report, f *lint.Finding, x *lint.Fix, work *int) ([]report.Edit, error) {
	if f.Rendered != nil {
		return nil, errors.New("the object is rendered by " + f.Rendered.By[0] + "; edit what it is made from")
	}
	file := rep.Sources[f.Location.File]
	if file == nil {
		return nil, errors.New("the object is in no file; edit what it is made from")
	}
	o, reason := edit.Target(file, f)
	if reason != "" {
		return nil, errors.New(reason)
	}
	start, end, _ := o.Span(nil)
	if *work += end - start; *work > maxReportWork {
		return nil, errors.New("it is not worked out here, since the report has so many fixes; meshvet fix does that")
	}
	lower := func() ([]edit.Edit, error) { return edit.Lower(o, x.Ops) }
	if x.Create != nil {
		lower = func() ([]edit.Edit, error) { return edit.Create(o, x.Create.Object) }
	}
	edits, err := lower()
	if err != nil {
		var refusal *edit.Refusal
		if errors.As(err, &refusal) {
			err = errors.New(refusal.Reason)
		}
		return nil, err
	}
	var out []report.Edit
	for _, e := range edits {
		at := report.Edit{File: file.Name, Start: e.Start, End: e.End, Text: e.Text, Range: object.Range{Start: file.Pos(e.Start), End: file.Pos(e.End)}}
		if file.HasBOM() {
			at.Start, at.End = at.Start+byteOrderMark, at.End+byteOrderMark
		}
		out = append(out, at)
	}
	return out, nil
}
