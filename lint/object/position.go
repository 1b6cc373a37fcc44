package object

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// Pos is a place in a file. Line and Col start at 1; Col counts Unicode code points, as editors show them.
// The zero Pos means "no position": the object did not come from a file.
type Pos struct{ Line, Col int }

// IsValid says whether the position points into a file.
func (p Pos) IsValid() bool { return p.Line > 0 }

// Less orders positions by line, then column.
func (p Pos) Less(q Pos) bool { return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col }

// Range is a stretch of a file. End is exclusive.
type Range struct{ Start, End Pos }

// Location is a Range in a named file. Exact is false when the field itself is missing and the range is that of its nearest
// existing ancestor.
type Location struct {
	File  string
	Range Range
	Exact bool
}

func (l Location) String() string {
	if !l.Range.Start.IsValid() {
		return l.File
	}
	return fmt.Sprintf("%s:%d:%d", l.File, l.Range.Start.Line, l.Range.Start.Col)
}

// lines maps byte offsets of a text to lines and columns, and back.
type lines struct {
	text   string
	starts []uint32 // offset of line i+1
	ascii  bool     // every column is one byte
	odd    bool     // some lines end in a break that only YAML takes for one
	// marks[i] are the offsets of every markEvery-th column of line i+1, for long lines whose columns are not bytes:
	// without them, finding every value of a minified file would walk its only line once for each.
	marks map[int][]uint32
}

const markEvery = 256

// editorLines cuts text where editors do: after "\n", so that "\r\n" is one line end.
func editorLines(text string) lines {
	return newLines(text, make([]uint32, 0, strings.Count(text, "\n")+1), false)
}

// yamlLines cuts text where the YAML scanner does: it also takes a lone "\r", NEL, LS and PS for line ends. The line starts
// are written to buf.
func yamlLines(text string, buf []uint32) lines { return newLines(text, buf[:0], true) }

func newLines(text string, buf []uint32, yamlBreaks bool) lines {
	l := lines{text: text, starts: append(buf, 0), ascii: isASCII(text)}
	if yamlBreaks {
		l.odd = hasOddBreak(text)
	}
	for off := 0; off < len(text); {
		n := strings.IndexByte(text[off:], '\n')
		if l.odd {
			n = strings.IndexFunc(text[off:], isBreakRune)
		}
		if n < 0 {
			break
		}
		off += n + breakLen(text[off+n:])
		l.starts = append(l.starts, uint32(off))
	}
	if !l.ascii {
		l.markLongLines()
	}
	return l
}

func (l *lines) markLongLines() {
	for i, start := range l.starts {
		end := len(l.text)
		if i+1 < len(l.starts) {
			end = int(l.starts[i+1])
		}
		if end-int(start) <= 2*markEvery || isASCII(l.text[start:end]) {
			continue
		}
		var marks []uint32
		col := 0
		for off := range l.text[start:end] {
			if col%markEvery == 0 {
				marks = append(marks, start+uint32(off))
			}
			col++
		}
		if l.marks == nil {
			l.marks = map[int][]uint32{}
		}
		l.marks[i] = marks
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isBreakRune says whether YAML 1.1 ends a line at r: LF, CR, NEL, LS and PS.
func isBreakRune(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// breakLen returns the bytes of the line break that s begins with, 0 if there is none.
func breakLen(s string) int {
	switch {
	case strings.HasPrefix(s, "\r\n"), strings.HasPrefix(s, "\u0085"):
		return 2
	case strings.HasPrefix(s, "\n"), strings.HasPrefix(s, "\r"):
		return 1
	case strings.HasPrefix(s, "\u2028"), strings.HasPrefix(s, "\u2029"):
		return 3
	}
	return 0
}

// hasOddBreak says whether YAML sees more lines in the text than an editor does.
func hasOddBreak(text string) bool {
	if cr := strings.Count(text, "\r"); cr > 0 && cr != strings.Count(text, "\r\n") {
		return true
	}
	return strings.Contains(text, "\u0085") || strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029")
}

// offset turns a 1-based line and code-point column into a byte offset, clamped to the text.
func (l *lines) offset(line, col int) uint32 {
	if line < 1 || col < 1 {
		return 0
	}
	if line > len(l.starts) {
		return uint32(len(l.text))
	}
	off := int(l.starts[line-1])
	if l.ascii {
		return uint32(min(off+col-1, len(l.text)))
	}
	if marks := l.marks[line-1]; len(marks) > 0 {
		m := min((col-1)/markEvery, len(marks)-1)
		off = int(marks[m])
		col -= m * markEvery
	}
	for ; col > 1 && off < len(l.text); col-- {
		if l.text[off] < utf8.RuneSelf {
			off++
			continue
		}
		_, size := utf8.DecodeRuneInString(l.text[off:])
		off += size
	}
	return uint32(off)
}

// pos turns a byte offset into a position.
func (l *lines) pos(off uint32) Pos {
	if len(l.starts) == 0 {
		return Pos{}
	}
	off = min(off, uint32(len(l.text)))
	line := sort.Search(len(l.starts), func(i int) bool { return l.starts[i] > off }) - 1
	start := l.starts[line]
	if l.ascii {
		return Pos{Line: line + 1, Col: int(off-start) + 1}
	}
	col := 1
	if marks := l.marks[line]; len(marks) > 0 {
		m := sort.Search(len(marks), func(i int) bool { return marks[i] > off }) - 1
		start, col = marks[m], m*markEvery+1
	}
	return Pos{Line: line + 1, Col: col + utf8.RuneCountInString(l.text[start:off])}
}
