package edit

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// rewriteFlow writes a new value in the place of one in a flow collection.
func (l *lowering) rewriteFlow(s *spot, start int) error {
	p := &s.place
	text := l.scalar(s)
	if isBlock(s.value) {
		text = l.style.inline(s.value, l.indent(p.from), true)
	}
	if p.nothing {
		if l.text[start] == ' ' && strings.IndexByte(",}]", l.text[start+1]) >= 0 {
			start++
			l.edit(start, start, text)
			return nil
		}
		text = " " + text
	}
	l.edit(start, p.end, text+l.leftInFlow(p.start, p.end, p.from, false))
	return nil
}

// indent is the indentation of the line of a byte.
func (l *lowering) indent(off int) int {
	line := l.text[l.lineStart(off):off]
	return len(line) - len(strings.TrimLeft(line, " "))
}

// leftInFlow is what stays of text[from:to) in a flow collection: its comments, each with the line end that it needs. spaced says that
// white space stands before them.
func (l *lowering) leftInFlow(from, to, line int, spaced bool) string {
	var b strings.Builder
	for _, r := range l.remarks(from, to) {
		if r.blank {
			continue
		}
		if b.Len() > 0 || !spaced {
			b.WriteByte(' ')
		}
		b.WriteString(l.text[r.start:r.end] + l.style.nl + strings.Repeat(" ", l.indent(line)))
	}
	return b.String()
}

// writeFlow removes and adds fields or items of a collection in flow style.
func (l *lowering) writeFlow(s *spot) error {
	var old, stay []*spot
	for _, k := range s.kids {
		if k.isNew() {
			continue
		}
		old = append(old, k)
		if !k.gone {
			stay = append(stay, k)
		}
	}
	if len(stay) == 0 {
		return l.refill(s, old)
	}
	for i := 0; i < len(old); i++ {
		if !old[i].gone {
			continue
		}
		j := i
		for j < len(old) && old[j].gone {
			j++
		}
		l.removeFlow(old, i, j)
		i = j
	}
	return l.addFlow(s, stay)
}

// removeFlow removes old[i:j], not all of old.
func (l *lowering) removeFlow(old []*spot, i, j int) {
	from := old[i].place.from
	if j < len(old) {
		to := old[j].place.from
		l.edit(from, to, l.leftInFlow(from, to, from, isBlank(l.text[from-1])))
		return
	}
	before, end := old[i-1].place.end, old[j-1].place.end
	if len(l.remarks(before, end)) == 0 {
		l.edit(before, end, "")
		return
	}
	comma := skipBlank(l.text, before, end)
	l.edit(comma, comma+1, "")
	l.edit(from, end, l.leftInFlow(from, end, from, isBlank(l.text[from-1])))
}

// refill writes what is in a collection of which nothing stays.
func (l *lowering) refill(s *spot, old []*spot) error {
	if len(old) == 0 && !s.place.flow && !l.style.json { // {} becomes a mapping in block style
		s.value, s.fresh = s.current(), true
		return l.rewrite(s)
	}
	parts := l.flowParts(s, l.indent(s.place.start)+l.style.step)
	open, closing := s.place.start+1, s.place.end-1
	if len(old) > 0 && len(parts) > 0 {
		from, to := old[0].place.from, old[len(old)-1].place.end
		sep := l.separator(old)
		l.edit(from, to, strings.Join(parts, sep)+l.leftInFlow(from, to, from, false))
		return nil
	}
	left := l.leftInFlow(open, closing, s.place.start, false)
	if text := l.style.brackets("", parts, "", l.indent(s.place.start)); len(parts) > 0 {
		left = text + left
	}
	l.edit(open, closing, left)
	return nil
}

// flowParts writes the new fields or items of a collection in flow style, each of them.
func (l *lowering) flowParts(s *spot, indent int) []string {
	var parts []string
	for _, k := range s.kids {
		if k.isNew() {
			parts = append(parts, l.flowPart(s, k, indent))
		}
	}
	return parts
}

func (l *lowering) flowPart(s, k *spot, indent int) string {
	text := l.style.inline(k.value, indent, true)
	if s.old.Type() == object.Map {
		text = l.style.key(k.key, true) + l.style.colon + text
	}
	return text
}

// separator is what stands between two fields or items of a collection.
func (l *lowering) separator(old []*spot) string {
	for i := 1; i < len(old); i++ {
		gap := l.text[old[i-1].place.end:old[i].place.from]
		if strings.Trim(gap, " \t\r\n") == "," {
			return gap
		}
	}
	if k := old[len(old)-1]; strings.TrimLeft(l.text[l.lineStart(k.place.from):k.place.from], " \t") == "" {
		return "," + l.style.nl + l.text[l.lineStart(k.place.from):k.place.from]
	}
	return l.style.comma
}

// addFlow writes new fields or items beside those that stay.
func (l *lowering) addFlow(s *spot, stay []*spot) error {
	sep := l.separator(stay)
	indent := l.indent(stay[0].place.from)
	for i := 0; i < len(s.kids); i++ {
		if !s.kids[i].isNew() {
			continue
		}
		var parts []string
		j := i
		for ; j < len(s.kids) && (s.kids[j].isNew() || s.kids[j].gone); j++ {
			if s.kids[j].isNew() {
				parts = append(parts, l.flowPart(s, s.kids[j], indent))
			}
		}
		var before *spot
		for _, k := range slices.Backward(s.kids[:i]) {
			if !k.isNew() && !k.gone {
				before = k
				break
			}
		}
		text := strings.Join(parts, sep)
		if before == nil {
			at := stay[0].place.from
			l.edit(at, at, text+sep)
			i = j
			continue
		}
		end := before.place.end
		rest := lineRest(l.text[end:l.end])
		gap := len(rest) - len(strings.TrimLeft(rest, " \t"))
		if strings.Contains(sep, "\n") && before == stay[len(stay)-1] && strings.HasPrefix(rest[gap:], "#") {
			// The comment stays beside the value that it is about.
			l.edit(end, end, ",")
			at := end + len(rest)
			l.edit(at, at, l.style.nl+strings.Repeat(" ", l.indent(before.place.from))+text)
		} else {
			l.edit(end, end, sep+text)
		}
		i = j
	}
	return nil
}
