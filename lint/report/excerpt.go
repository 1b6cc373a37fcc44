package report

import (
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/meshvet/meshvet/lint/object"
)

const (
	excerptCells = 100 // a line of a file is shown this wide at most
	tabCells     = 4
)

// cells measures text by the columns that it takes on a terminal. The condition is spelt out because that of the library
// depends on the locale, and reports must not.
var cells = runewidth.Condition{StrictEmojiNeutral: true}

// excerpt is the line that a location points into, ready to be shown.
type excerpt struct {
	line  string // cleaned, tabs expanded, cut around the mark
	pad   int    // columns before the mark
	width int    // columns of the mark, at least 1

	before, mark, after string // the line in three parts
}

// excerpter cuts excerpts out of files. It remembers where the last one was found: findings come in the order of the file, and
// a file may hold all of its objects in one line, which must not be measured from its start for each of them.
type excerpter struct {
	sources map[string]*object.File

	name string
	line int
	text string
	col  int // text[off:] begins with this column
	off  int
}

// at returns the excerpt at a location; ok is false if its file is not at hand.
func (e *excerpter) at(loc object.Location) (x excerpt, ok bool) {
	f := e.sources[loc.File]
	if f == nil || !loc.Range.Start.IsValid() {
		return excerpt{}, false
	}
	start, end := loc.Range.Start, loc.Range.End
	if e.name != loc.File || e.line != start.Line {
		*e = excerpter{sources: e.sources, name: loc.File, line: start.Line, text: f.Line(start.Line), col: 1}
	}
	e.seek(start.Col)
	before, rest := e.text[:e.off], e.text[e.off:]
	marked := strings.TrimRight(rest, " \t")
	if end.Line == start.Line {
		marked = firstRunes(marked, end.Col-start.Col)
	}
	return cut(before, marked, rest[len(marked):]), true
}

// seek moves to a column of the line, or its end.
func (e *excerpter) seek(col int) {
	if col < e.col {
		e.col, e.off = 1, 0
	}
	for e.col < col && e.off < len(e.text) {
		_, size := utf8.DecodeRuneInString(e.text[e.off:])
		e.off += size
		e.col++
	}
}

// firstRunes returns the first n runes of s, but no more than an excerpt could show.
func firstRunes(s string, n int) string {
	n = min(n, excerptCells+1)
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// cut shortens a line around its mark.
func cut(before, marked, after string) excerpt {
	const ellipsis = "…"
	left, mark, right := before, marked, after
	if !fits(before, marked, after) {
		mark = head(marked, excerptCells/2)
		left = tail(before, excerptCells/3)
		right = ""
		if mark == marked {
			right = head(after, excerptCells-budget(left)-budget(mark))
		}
		if len(left) < len(before) {
			left = ellipsis + left
		}
		if len(mark)+len(right) < len(marked)+len(after) {
			right += ellipsis
		}
	}
	// Cleaned as a whole, because a logging command could straddle a seam; it keeps the number of runes.
	leftRunes, markRunes := utf8.RuneCountInString(left), utf8.RuneCountInString(mark)
	line := []rune(cleaned(left+mark+right, '\t'))
	shownLeft := expandTabs(string(line[:leftRunes]), 0)
	pad := cells.StringWidth(shownLeft)
	shownMark := expandTabs(string(line[leftRunes:leftRunes+markRunes]), pad)
	width := cells.StringWidth(shownMark)
	shownRight := expandTabs(string(line[leftRunes+markRunes:]), pad+width)
	return excerpt{
		line:   shownLeft + shownMark + shownRight,
		pad:    pad,
		width:  max(1, width),
		before: shownLeft, mark: shownMark, after: shownRight,
	}
}

// fits says whether a line need not be cut. It does not put a long line together to find out.
func fits(before, marked, after string) bool {
	n := len(before) + len(marked) + len(after)
	return n <= utf8.UTFMax*excerptCells && budget(before)+budget(marked)+budget(after) <= excerptCells
}

// runeBudget is what a rune counts for when a line is cut: its width, and 1 for runes without one, so that the cut is bounded.
func runeBudget(r rune) int {
	switch {
	case r == '\t':
		return tabCells
	case r < utf8.RuneSelf:
		return 1
	}
	return max(1, cells.RuneWidth(r))
}

func budget(s string) int {
	n := 0
	for _, r := range s {
		n += runeBudget(r)
	}
	return n
}

// head returns as much of the beginning of s as a budget allows.
func head(s string, n int) string {
	for i, r := range s {
		if n -= runeBudget(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// tail returns as much of the end of s as a budget allows.
func tail(s string, n int) string {
	i := len(s)
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		if n -= runeBudget(r); n < 0 {
			break
		}
		i -= size
	}
	return s[i:]
}

// expandTabs writes tabs as blanks up to the next stop; col is the column in which s begins.
func expandTabs(s string, col int) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	for i, part := range strings.Split(s, "\t") {
		if i > 0 {
			n := tabCells - col%tabCells
			b.WriteString(strings.Repeat(" ", n))
			col += n
		}
		b.WriteString(part)
		col += cells.StringWidth(part)
	}
	return b.String()
}
