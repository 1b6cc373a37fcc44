package edit

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

func (l *lowering) edit(start, end int, text string) {
	l.edits = append(l.edits, Edit{start, end, text})
}

func (l *lowering) remarks(from, to int) []remark {
	return remarks(l.text, from, to, scalars(l.top.old, from, to))
}

// write turns what is noted at a spot that stays into edits.
func (l *lowering) write(s *spot) error {
	if s.fresh && !s.isNew() {
		return l.rewrite(s)
	}
	if !s.open {
		return nil
	}
	for _, k := range s.kids {
		if !k.gone && !k.isNew() {
			if err := l.write(k); err != nil {
				return err
			}
		}
	}
	changed := slices.ContainsFunc(s.kids, func(k *spot) bool { return k.gone || k.isNew() })
	switch {
	case !changed:
		return nil
	case s.inner.flow:
		return l.writeFlow(s)
	}
	return l.writeBlock(s)
}

// writeBlock removes and adds fields or items of a collection in block style.
func (l *lowering) writeBlock(s *spot) error {
	kept := s.inner.merge || slices.ContainsFunc(s.kids, func(k *spot) bool { return !k.gone })
	if !kept {
		s.fresh, s.value = true, any(map[string]any{})
		if s.old.Type() == object.List {
			s.value = []any{}
		}
		return l.rewrite(s)
	}
	// What is removed at the beginning goes before what is added there, which takes its place.
	slices.SortStableFunc(s.kids[:leading(s.kids)], func(a, b *spot) int {
		switch {
		case a.isNew() == b.isNew():
			return 0
		case a.isNew():
			return 1
		}
		return -1
	})
	for i := 0; i < len(s.kids); {
		j := i
		for j < len(s.kids) && s.kids[j].isNew() == s.kids[i].isNew() && s.kids[j].gone == s.kids[i].gone {
			j++
		}
		run := s.kids[i:j]
		var err error
		switch {
		case run[0].isNew():
			err = l.addBlock(s, i, run)
		case !run[0].gone:
		case strings.Trim(l.text[l.lineStart(run[0].place.from):run[0].place.from], " ") != "":
			var next []*spot
			if j < len(s.kids) && s.kids[j].isNew() {
				next = s.kids[j : j+1]
				j++
			}
			err = l.pullUp(s, run, next)
		default:
			for _, k := range run {
				l.removeLines(l.lineStart(k.place.from), l.behind(k.place.end, s.inner.col), k.place.from, s.inner.col)
			}
		}
		if err != nil {
			return err
		}
		i = j
	}
	return nil
}

// leading is how many fields or items stand before the first one that stays.
func leading(kids []*spot) int {
	if n := slices.IndexFunc(kids, func(k *spot) bool { return !k.isNew() && !k.gone }); n >= 0 {
		return n
	}
	return len(kids)
}

// lines writes new fields or items, each with the indentation of its first line but the first.
func (l *lowering) lines(s *spot, kids []*spot) string {
	var out []string
	for _, k := range kids {
		if s.old.Type() == object.Map {
			out = append(out, l.style.field(k.key, k.value, s.inner.col))
			continue
		}
		out = append(out, l.style.item(k.value, s.inner.col, l.itemWidth(s)))
	}
	return strings.Join(out, l.style.nl+strings.Repeat(" ", s.inner.col))
}

// itemWidth is the number of columns from dashes to what is behind them.
func (l *lowering) itemWidth(s *spot) int {
	for _, k := range s.kids {
		if k.isNew() || k.place.nothing {
			continue
		}
		if gap := l.text[k.place.from+1 : k.place.head]; strings.Trim(gap, " ") == "" {
			if w := len(l.text[k.place.from:]) - len(strings.TrimLeft(l.text[k.place.from+1:], " ")); w > 1 && w < 10 {
				return w
			}
		}
	}
	return 2
}

// addBlock writes new fields or items behind those before them in the text.
func (l *lowering) addBlock(s *spot, i int, run []*spot) error {
	text := l.lines(s, run)
	pad := strings.Repeat(" ", s.inner.col)
	for _, k := range slices.Backward(s.kids[:i]) {
		if k.isNew() {
			continue
		}
		at := l.behind(k.place.end, s.inner.col)
		l.edit(at, at, pad+text+l.style.nl)
		return nil
	}
	for _, k := range s.kids[i:] {
		if k.isNew() {
			continue
		}
		at := l.lineStart(k.place.from)
		if strings.Trim(l.text[at:k.place.from], " ") == "" {
			l.edit(at, at, pad+text+l.style.nl)
		} else {
			l.edit(k.place.from, k.place.from, text+l.style.nl+pad)
		}
		return nil
	}
	// All fields come from merge keys.
	at := l.behind(s.place.end, s.inner.col)
	l.edit(at, at, pad+text+l.style.nl)
	return nil
}

// behind is where a line can be put after a value that ends at end and stands in something at column col: the start of the next
// line, or of the one after the comments further right, which are about the value.
func (l *lowering) behind(end, col int) int {
	at := l.behindScalar(end)
	for next := at; next < l.end; {
		line := l.text[next:l.lineEnd(next)]
		rest := strings.TrimLeft(line, " ")
		next += len(line)
		if strings.HasPrefix(rest, "#") && len(line)-len(rest) > col {
			at = next
		} else if strings.Trim(rest, " \t\r\n") != "" {
			break
		}
	}
	return at
}

// behindScalar is the start of the line after a value. A block scalar with + takes the empty lines after it.
func (l *lowering) behindScalar(end int) int {
	at := l.lineEnd(end)
	spans := scalars(l.top.old, end-1, end)
	if len(spans) == 0 {
		return at
	}
	last := spans[len(spans)-1]
	if c := l.text[last.start]; last.end != end || c != '|' && c != '>' {
		return at
	}
	if !strings.Contains(strings.SplitN(lineRest(l.text[last.start:last.end]), "#", 2)[0], "+") {
		return at
	}
	for at < l.end {
		next := l.lineEnd(at)
		if strings.Trim(l.text[at:next], " \t\r\n") != "" {
			break
		}
		at = next
	}
	return at
}

// removeLines takes lines out of the text, of which what is removed begins at from, and leaves their comments at column col, and
// their empty lines.
func (l *lowering) removeLines(start, end, from, col int) {
	l.edit(start, end, l.left(from, end, col))
}

// left is what stays of text[from:to) when its values are removed: a line for each comment, at column col, and the empty lines.
func (l *lowering) left(from, to, col int) string {
	var b strings.Builder
	for _, r := range l.remarks(from, to) {
		if r.blank {
			b.WriteString(l.text[r.start:r.end])
			continue
		}
		b.WriteString(strings.Repeat(" ", col))
		b.WriteString(l.text[r.start:r.end])
		b.WriteString(l.style.nl)
	}
	return b.String()
}

// pullUp removes the first fields of a mapping that begins behind a dash, or such items: what comes next is put there.
func (l *lowering) pullUp(s *spot, run, next []*spot) error {
	from, end := run[0].place.from, run[len(run)-1].place.end
	line := l.lineStart(from)
	dashes := line + len(l.text[line:from]) - len(strings.TrimLeft(l.text[line:from], " "))
	if len(next) > 0 {
		text := l.lines(s, next)
		l.edit(line, line, l.left(from, end, dashes-line))
		l.edit(from, end, text)
		return nil
	}
	to := skipBlank(l.text, end, l.end)
	if l.column(to) != s.inner.col {
		return l.refuse(run[0].path, "what comes after %s stands in the text in a way that is not understood; change it by hand", run[0].path)
	}
	l.edit(line, line, l.left(from, to, dashes-line))
	l.edit(from, to, "")
	return nil
}

// rewrite writes a new value at a spot in the place of the old one.
func (l *lowering) rewrite(s *spot) error {
	p := &s.place
	if s == l.top {
		return l.refuse(nil, "nothing would be left of the object; remove it by hand")
	}
	if p.bare {
		return l.refuse(s.path, "the key %s has no colon; change it by hand", s.path)
	}
	start := p.start
	if p.tag.end > 0 { // the tag is that of the old value
		if p.head != p.tag.end {
			return l.refuse(s.path, "%s has a tag and an anchor; change it by hand", s.path)
		}
		start = p.tag.start
	}
	if p.flow {
		return l.rewriteFlow(s, start)
	}
	multi := (s.old.Type() == object.Map || s.old.Type() == object.List) && !p.alias && l.text[p.start] != '{' && l.text[p.start] != '['
	if multi {
		return l.rewriteBlock(s, start)
	}
	inField := l.text[p.valueFrom-1] == ':'
	var left string // comments in the old value
	header := ""
	if !p.nothing {
		for _, r := range l.remarks(p.start, p.end) {
			switch {
			case r.blank:
			case l.text[p.start] == '|' || l.text[p.start] == '>':
				header = " " + l.text[r.start:r.end]
			default:
				left += strings.Repeat(" ", l.column(p.from)) + l.text[r.start:r.end] + l.style.nl
			}
		}
	}
	if left != "" {
		at := l.lineEnd(p.end)
		defer l.edit(at, at, left)
	}
	if !isBlock(s.value) || !inField && p.anchor != "" { // an anchor cannot stand on the line of a first key
		text := l.scalar(s)
		if p.nothing {
			text = " " + text
		}
		l.edit(start, p.end, text+header)
		return nil
	}
	if !inField {
		width := p.start - p.from
		if p.nothing || l.lineStart(p.from) != l.lineStart(p.start) {
			width = 2
		}
		text := l.style.block(s.value, l.column(p.from)+width)
		if p.nothing {
			text = " " + text
		}
		first, rest, more := strings.Cut(text, l.style.nl)
		l.edit(start, p.end, first+header)
		if more {
			at := l.lineEnd(p.end)
			l.edit(at, at, rest+l.style.nl)
		}
		return nil
	}
	if start > p.valueFrom && !p.nothing {
		begin := p.valueFrom
		if p.anchor != "" {
			begin = p.head
		}
		if strings.Trim(l.text[begin:start], " \t") == "" {
			start = begin
		}
	}
	col := l.column(p.from) + l.style.step
	if _, isList := s.value.([]any); isList {
		col = l.column(p.from) + l.style.listStep
	}
	end := p.end
	if gap := l.text[end:l.textEnd(end)]; strings.HasPrefix(gap, "\t") && header == "" { // not every reader takes a tab behind a colon
		end += len(gap) - len(strings.TrimLeft(gap, " \t"))
		if end < l.textEnd(end) {
			header = " "
		}
	}
	l.edit(start, end, header)
	at := l.lineEnd(p.end)
	l.edit(at, at, strings.Repeat(" ", col)+l.style.block(s.value, col)+l.style.nl)
	return nil
}

// rewriteBlock writes a new value in the place of a mapping or list in block style.
func (l *lowering) rewriteBlock(s *spot, start int) error {
	p := &s.place
	col := l.column(p.start)
	sameLine := l.lineStart(p.start) == l.lineStart(p.from)
	if p.tag.end > 0 {
		return l.refuse(s.path, "%s has a tag; change it by hand", s.path)
	}
	if sameLine { // behind a dash
		end := l.lineEnd(p.end)
		text := l.style.inline(s.value, 0, false)
		if isBlock(s.value) {
			text = l.style.block(s.value, col)
		}
		l.edit(start, end, text+l.style.nl+l.left(p.start, end, col))
		return nil
	}
	line, end := l.lineStart(p.start), l.lineEnd(p.end)
	if isBlock(s.value) {
		if _, isMap := s.value.(map[string]any); isMap && col <= l.column(p.from) {
			col = l.column(p.from) + l.style.step
		}
		l.edit(line, end, l.left(p.start, end, col)+strings.Repeat(" ", col)+l.style.block(s.value, col)+l.style.nl)
		return nil
	}
	l.edit(p.head, p.head, " "+l.style.inline(s.value, 0, false))
	l.removeLines(line, end, p.start, col)
	return nil
}

// scalar writes a value that takes one line as the old one was written.
func (l *lowering) scalar(s *spot) string {
	v, isString := s.value.(string)
	if !isString || s.place.nothing || s.place.alias || l.style.json {
		return l.style.inline(s.value, 0, s.place.flow)
	}
	if c := l.text[s.place.start]; s.old.Type() == object.String && (c == '"' || c == '\'') {
		return l.style.quoted(v, c)
	}
	return l.style.str(v, s.place.flow)
}
