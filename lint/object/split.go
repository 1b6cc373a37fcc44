package object

import (
	"iter"
	"strings"
)

// piece is one document of a stream: text[start:end], its `---` line and its directives included.
type piece struct {
	start, end int
	empty      bool // nothing but the marker, white space, directives and comments
}

// split cuts a stream at its document markers without parsing it. YAML forbids `---` and `...` at the start of a line inside
// any document, block scalars and quoted strings included, so this cannot cut a document in two; and each piece can then be
// parsed alone, so that one broken document does not hide the others.
func split(text string) iter.Seq[piece] {
	const (
		fresh      = iota // between documents
		directives        // seen %YAML or %TAG, which belong to the document that the next marker begins
		opened            // seen a marker
		filled            // seen content
	)
	return func(yield func(piece) bool) {
		start, state := 0, fresh
		cut := func(end int) bool { return start == end || yield(piece{start, end, state != filled}) }
		for off := 0; off < len(text); {
			next := len(text)
			if nl := strings.IndexByte(text[off:], '\n'); nl >= 0 {
				next = off + nl + 1
			}
			switch line := text[off:next]; {
			case isMarker(line, "---"):
				if state != directives {
					if !cut(off) {
						return
					}
					start = off
				}
				state = opened
				if hasContent(line[3:]) {
					state = filled
				}
			case isMarker(line, "..."):
				if !cut(off) {
					return
				}
				start, state = next, fresh
				if hasContent(line[3:]) {
					start, state = off+3, filled
				}
			case state == filled:
			case line[0] == '%':
				if state == opened {
					if !cut(off) {
						return
					}
					start = off
				}
				state = directives
			case hasContent(line):
				state = filled
			}
			off = next
		}
		cut(len(text))
	}
}

func isMarker(line, marker string) bool {
	return strings.HasPrefix(line, marker) && (len(line) == len(marker) || isBlank(line[len(marker)]))
}

// hasContent says whether a line holds more than white space and a comment. A comment that hides a line break of a kind that
// only YAML knows may have content after it.
func hasContent(line string) bool {
	t := strings.Trim(line, " \t\r\n")
	return t != "" && (t[0] != '#' || hasOddBreak(t))
}
