// Package edit turns fixes, which are JSON Patch operations on an object, into edits of the text that the object stands in. Comments,
// blank lines, order, quotes, indentation, line ends and all else outside the edited places stay as they are, to the byte.
//
// No edit is given out unseen: the document is read again with the edits made, and has to hold what a JSON Patch tool would have made
// of its value, and the comments that it held before (guard.go).
package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Edit is a replacement of some bytes of a file. Offsets count bytes of object.File.Text, which has no byte-order mark; End is
// exclusive, and where it equals Start, Text is inserted.
type Edit struct {
	Start, End int
	Text       string
}

// Refusal is the error that says why a change cannot be made in the text without doing harm to it. The file stays as it is.
type Refusal struct { //nolint:errname // a refusal is an outcome that is reported, and not a failure
	Reason string // what stands in the way and what to do, without the place
	At     object.Location
}

func (r *Refusal) Error() string { return r.At.String() + ": " + r.Reason }

// Apply makes edits in a text. Their order does not matter. It is an error if they overlap or reach out of the text; where several
// insert at one place, they come in the order given.
func Apply(text string, edits []Edit) (string, error) {
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b Edit) int { return a.Start - b.Start })
	var out strings.Builder
	done := 0
	for _, e := range sorted {
		if e.Start < done || e.End < e.Start || e.End > len(text) {
			return "", fmt.Errorf("edit of bytes %d to %d overlaps another one, or is not in the text of %d bytes", e.Start, e.End, len(text))
		}
		out.WriteString(text[done:e.Start])
		out.WriteString(e.Text)
		done = e.End
	}
	out.WriteString(text[done:])
	return out.String(), nil
}

// join sorts edits and makes one of those that touch. What is inserted comes before what begins at the same place.
func join(edits []Edit) []Edit {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return min(a.End-a.Start, 1) - min(b.End-b.Start, 1)
	})
	var out []Edit
	for _, e := range edits {
		if n := len(out); n > 0 && out[n-1].End == e.Start {
			last := &out[n-1]
			last.End, last.Text = e.End, last.Text+e.Text
			continue
		}
		out = append(out, e)
	}
	return out
}

// trim takes out of an edit what stays the same at its ends. It does not cut characters, or the two bytes of a line end, in two.
func trim(text string, e Edit) Edit {
	if e.End > len(text) || e.Start > e.End {
		return e
	}
	old := text[e.Start:e.End]
	n := 0
	for n < len(old) && n < len(e.Text) && old[n] == e.Text[n] {
		n++
	}
	for n > 0 && (cuts(old, n) || cuts(e.Text, n)) {
		n--
	}
	e.Start, e.Text, old = e.Start+n, e.Text[n:], old[n:]
	n = 0
	for n < len(old) && n < len(e.Text) && old[len(old)-1-n] == e.Text[len(e.Text)-1-n] {
		n++
	}
	for n > 0 && (cuts(old, len(old)-n) || cuts(e.Text, len(e.Text)-n)) {
		n--
	}
	e.End, e.Text = e.End-n, e.Text[:len(e.Text)-n]
	return e
}

// cuts says whether an offset is in the midst of a character or of a CRLF.
func cuts(s string, at int) bool {
	if at <= 0 || at >= len(s) {
		return false
	}
	return s[at]&0xc0 == 0x80 || s[at-1] == '\r' && s[at] == '\n'
}
