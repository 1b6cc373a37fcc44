package object

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// IgnoreMark begins the comments that are kept: those by which the author of a manifest accepts findings. A file without it costs
// nothing.
const IgnoreMark = "meshvet:ignore"

// maxComments bounds the comments that are kept of one file.
const maxComments = 2_000

// Comment is a comment of a YAML document that begins with IgnoreMark. What looks like one inside a value is none.
type Comment struct {
	Text     string // behind the # and blanks, to the end of the line
	Location Location
	// First and Last are the lines that the comment is about, 0 if nothing follows it. They begin with the comment's own line if
	// something stands before it there, else with the next line on which something stands that is neither a comment nor the beginning of
	// a document, and go to the end of what begins on that line: a key with its value, a list item, or a document.
	First, Last int
	// Leading says that the file has no content before the comment.
	Leading bool
}

// Comments returns the comments that begin with IgnoreMark, in the order of the text, of documents that can be read. No more than
// 2,000 are kept; more says that there are others.
func (f *File) Comments() (kept []Comment, more bool) { return f.comments, f.moreComments }

// stretch is a part of a file's text.
type stretch struct{ start, end uint32 }

// textsBelow lists where the keys and values below n stand that are texts, in the order of the document: outside of them every #
// begins a comment.
func (b *treeBuilder) textsBelow(n *yaml.Node, into []stretch) []stretch {
	if n.Kind == yaml.ScalarNode {
		start, _ := b.skipProperties(n)
		end := b.scalarEnd(n, start)
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 { // a comment may follow the header
			if header := strings.IndexFunc(b.text[start:end], isBreakRune); header >= 0 {
				start += uint32(header)
			} else {
				start = end
			}
		}
		if start < end {
			into = append(into, stretch{start, end})
		}
	}
	for _, c := range n.Content {
		into = b.textsBelow(c, into)
	}
	return into
}

// commentReader finds the comments of a file that are kept.
type commentReader struct {
	f *File
	// from and content are an offset between two tokens, and that of the next content behind it.
	from, content uint32
	known         bool   // from and content are
	leading       uint32 // where the first content of the file stands
	open          int    // the comments from this one on are about lines that are not passed yet
}

func newCommentReader(f *File) *commentReader {
	r := &commentReader{f: f}
	r.leading = r.skip(0)
	return r
}

// read adds the comments of text[p.start:p.end]. texts are those of the document, root its value; none and absent if it is empty.
func (r *commentReader) read(p piece, texts []stretch, root Value) {
	if strings.Contains(r.f.text[p.start:p.end], IgnoreMark) {
		r.find(p, texts)
	}
	if open := r.f.comments[r.open:]; len(open) > 0 {
		r.open += r.f.extendComments(open, uint32(p.end), root)
	}
}

func (r *commentReader) find(p piece, texts []stretch) {
	f := r.f
	for off, next := uint32(p.start), 0; off < uint32(p.end); {
		n := strings.IndexByte(f.text[off:p.end], '#')
		if n < 0 {
			break
		}
		at := off + uint32(n)
		for next < len(texts) && texts[next].end <= at {
			next++
		}
		if next < len(texts) && texts[next].start <= at {
			off = texts[next].end
			continue
		}
		off = at + 1
		if !f.opensComment(at) {
			continue
		}
		off = f.lineEnd(at)
		whole := strings.TrimRight(f.text[at:off], " \t\r")
		body := strings.TrimLeft(whole[1:], " \t")
		if !strings.HasPrefix(body, IgnoreMark) {
			continue
		}
		if len(f.comments) == maxComments {
			f.moreComments = true
			break
		}
		c := Comment{
			Text:     body,
			Location: Location{File: f.Name, Range: f.spanRange(at, at+uint32(len(whole))), Exact: true},
			Leading:  at < r.leading,
		}
		line := f.lines.starts[c.Location.Range.Start.Line-1]
		beside := next > 0 && texts[next-1].end > line || r.contentFrom(line) < at
		if !beside {
			line = r.contentFrom(off)
		}
		if int(line) < len(f.text) {
			c.First = f.pos(line).Line
			c.Last = c.First
		}
		f.comments = append(f.comments, c)
	}
}

// opensComment says whether a # that is no part of a text begins a comment.
func (f *File) opensComment(at uint32) bool {
	before := f.text[:at]
	if before == "" || isBlank(before[len(before)-1]) || strings.HasSuffix(before, bom) {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	return isBreakRune(last)
}

// lineEnd returns where the line ends that holds an offset, by YAML's own line breaks.
func (f *File) lineEnd(off uint32) uint32 {
	n := strings.IndexFunc(f.text[off:], isBreakRune)
	if n < 0 {
		return uint32(len(f.text))
	}
	return off + uint32(n)
}

// contentFrom returns where the next content behind an offset between two tokens stands, the end of the file if there is none.
// Comments in a row are skipped once for all of them.
func (r *commentReader) contentFrom(off uint32) uint32 {
	if !r.known || off < r.from || off > r.content {
		r.from, r.content, r.known = off, r.skip(off), true
	}
	return r.content
}

// skip passes over all that is no content: white space, comments, the marks and directives of documents, and what may stand on a line
// before the thing that it belongs to, which are the dashes of list items, anchors and tags.
func (r *commentReader) skip(off uint32) uint32 {
	f := r.f
	for int(off) < len(f.text) {
		rest := f.text[off:]
		opens := off == 0 || f.text[off-1] == '\n'
		switch c := rest[0]; {
		case isBlank(c):
			off++
		case c == '#', opens && c == '%':
			off = f.lineEnd(off)
		case opens && (isMarker(rest, "---") || isMarker(rest, "...")):
			off += 3
		case (c == '-' || c == '?') && (len(rest) == 1 || isBlank(rest[1])):
			off++
		case c == '&' || c == '!':
			n := strings.IndexAny(rest, " \t\r\n")
			if n < 0 {
				n = len(rest)
			}
			off += uint32(n)
		case strings.HasPrefix(rest, bom):
			off += uint32(len(bom))
		case c >= utf8.RuneSelf && breakLen(rest) > 0:
			off += uint32(breakLen(rest))
		default:
			return off
		}
	}
	return off
}

// extendComments lets comments reach to the end of what begins on their first line, in a document that ends at an offset. It returns how
// many of them are about lines before that.
func (f *File) extendComments(comments []Comment, end uint32, root Value) int {
	type target struct{ start, end, last uint32 } // of the line; where what begins on it ends
	var targets []target
	passed := 0
	for _, c := range comments {
		t := target{start: uint32(len(f.text)), end: uint32(len(f.text))}
		if c.First > 0 {
			t.start = f.lines.starts[c.First-1]
		}
		if t.start >= end {
			break
		}
		if passed++; len(targets) > 0 && targets[len(targets)-1].start == t.start {
			continue
		}
		if c.First < len(f.lines.starts) {
			t.end = f.lines.starts[c.First]
		}
		targets = append(targets, t)
	}
	if len(targets) == 0 || !root.Exists() {
		return passed
	}
	for i, last := root.i, root.end(); i < last; i++ {
		n := &root.t.nodes[i]
		begin := n.start
		if n.keyEnd > n.keyStart {
			begin = n.keyStart
		}
		k := sort.Search(len(targets), func(k int) bool { return targets[k].end > begin })
		if k < len(targets) && targets[k].start <= begin {
			targets[k].last = max(targets[k].last, n.end, n.keyEnd)
		}
	}
	for i, k := 0, 0; i < passed; i++ {
		c := &comments[i]
		for targets[k].start != f.lines.starts[c.First-1] {
			k++
		}
		if targets[k].last > targets[k].start {
			c.Last = max(c.Last, f.pos(targets[k].last-1).Line)
		}
	}
	return passed
}

// FieldOn returns the path of the outermost field or list item of the object that begins on a line of its file: the empty path if that
// is the object itself. ok is false if none does.
func (o *Object) FieldOn(line int) (at Path, ok bool) {
	if o.file == nil || line < 1 {
		return nil, false
	}
	at, ok = o.file.fieldOn(o.root, line)
	slices.Reverse(at)
	return at, ok
}

// fieldOn gives the path from its end.
func (f *File) fieldOn(v Value, line int) (Path, bool) {
	n := v.node()
	begin := n.start
	if n.keyEnd > n.keyStart {
		begin = n.keyStart
	}
	switch first := f.pos(begin).Line; {
	case first == line:
		return nil, true
	case first > line, f.pos(n.end).Line < line:
		return nil, false
	}
	i := 0
	for c := v.First(); c.Exists(); c = c.Next() {
		if at, ok := f.fieldOn(c, line); ok {
			if v.Type() == List {
				return append(at, i), true
			}
			return append(at, c.Key()), true
		}
		i++
	}
	return nil, false
}

// Lines are the first and the last line of the file on which the object stands, 0 without a file.
func (o *Object) Lines() (first, last int) {
	if o.file == nil {
		return 0, 0
	}
	return o.file.pos(o.root.node().start).Line, o.LastLine()
}
