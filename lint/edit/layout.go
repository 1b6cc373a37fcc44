package edit

import (
	"sort"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// place is where a value stands in the text.
type place struct {
	from       int // where its field or item begins: at the key, the dash, or in a flow list at the value
	valueFrom  int // behind the colon or dash; in a flow list = from
	head       int // behind the last of colon, dash, anchor and tag: where a value can be written
	start, end int // the value itself, or its alias; both = head if nothing is written
	nothing    bool
	bare       bool // the key has no colon
	alias      bool
	anchor     string
	tag        span // empty if there is none
	flow       bool // it stands in a flow collection
}

// inner is how the inside of a mapping or list stands in the text.
type inner struct {
	flow   bool
	bare   bool            // a flow mapping of one pair without brackets, in a list
	merge  bool            // the mapping has merge keys
	merged map[string]bool // what these bring in
	col    int             // in block style, the column of keys or dashes
	first  int             // of a list, the index of the first item that was looked for
}

// locate fills in the place of a spot, of which from and valueFrom are known. What it stands in ends at limit.
func (l *lowering) locate(s *spot, valueFrom, limit int) error {
	p := &s.place
	start, end, _ := s.old.Span()
	p.valueFrom, p.head = valueFrom, valueFrom
	empty := s.old.Type() == object.Null && start == end
	off := skipBlank(l.text, valueFrom, limit)
	behind := valueFrom
	for off < limit && (l.text[off] == '&' || l.text[off] == '!') && (empty || off != start) {
		if empty && strings.IndexByte(l.text[behind:off], '\n') >= 0 {
			break // of the next key
		}
		stop := off + 1
		for stop < limit && !isBlank(l.text[stop]) && (l.text[off] == '!' || isAnchorChar(l.text[stop])) {
			stop++
		}
		if l.text[off] == '&' {
			p.anchor = l.text[off+1 : stop]
		} else {
			p.tag = span{off, stop}
		}
		p.head, behind = stop, stop
		off = skipBlank(l.text, stop, limit)
	}
	if empty && off < limit && strings.IndexByte(l.text[behind:off], '\n') >= 0 {
		off = limit // what follows belongs to somebody else
	}
	switch {
	case off < limit && l.text[off] == '*':
		p.alias, p.start, p.end = true, off, off+1
		for p.end < limit && isAnchorChar(l.text[p.end]) {
			p.end++
		}
	case empty:
		p.nothing, p.start, p.end = true, p.head, p.head
	case start < p.head || end > limit:
		return l.refuse(s.path, "%s stands in the text in a way that is not understood; change it by hand", s.path)
	default:
		p.start, p.end = start, end
	}
	return nil
}

// list finds the fields or items of a mapping or list in the text.
func (l *lowering) list(s *spot) error {
	if s.open || s.isNew() || s.old.Type() != object.Map && s.old.Type() != object.List {
		return nil
	}
	s.open = true
	p, in := &s.place, &s.inner
	first := l.text[p.start]
	isMap := s.old.Type() == object.Map
	in.flow = p.flow || first == '{' && isMap || first == '[' && !isMap
	in.bare = in.flow && isMap && first != '{'
	if in.bare {
		return l.refuse(s.path, "%s is a pair in a list without braces; put it into braces", s.path)
	}
	if isMap {
		return l.listFields(s)
	}
	return l.listItems(s, 0, s.old.Len())
}

func (l *lowering) listFields(s *spot) error {
	p, in := &s.place, &s.inner
	if !in.flow {
		in.col = l.column(p.start)
	}
	type own struct {
		v        object.Value
		from, to int
	}
	var fields []own
	for _, f := range s.old.Fields() {
		ks, ke, ok := f.KeySpan()
		if !ok || ks < p.start || ke > p.end {
			in.note(f.Key())
			continue
		}
		fields = append(fields, own{f, ks, ke})
	}
	sort.Slice(fields, func(i, j int) bool { return fields[i].from < fields[j].from })
	before := p.start
	if in.flow {
		before++
	}
	for i, f := range fields {
		from := f.from
		if !in.flow && l.column(f.from) != in.col {
			from = l.lineStart(f.from) + in.col
			if from > f.from || strings.IndexByte("?&!", l.text[from]) < 0 {
				in.note(f.v.Key()) // of a mapping that a merge key holds itself
				continue
			}
		}
		if strings.Contains(l.text[min(before, f.from):f.from], "<<") {
			in.merge = true
			if in.flow {
				return l.refuse(s.path, "%s has a merge key (<<); change it by hand, or write it out", s.path)
			}
		}
		k := &spot{path: s.path.Child(f.v.Key()), key: f.v.Key(), old: f.v, place: place{from: from, flow: in.flow}}
		limit := p.end
		if i+1 < len(fields) && fields[i+1].from > f.to {
			limit = fields[i+1].from
		}
		colon := skipBlank(l.text, f.to, limit)
		valueFrom := f.to
		if colon < limit && l.text[colon] == ':' {
			valueFrom = colon + 1
		} else {
			k.place.bare = true
		}
		// What a missing value of the last field has behind it is beyond the mapping.
		if err := l.locate(k, valueFrom, max(limit, valueFrom)); err != nil {
			return err
		}
		if err := l.checkLead(s, k); err != nil {
			return err
		}
		before = max(before, k.place.end)
		s.kids = append(s.kids, k)
	}
	if strings.Contains(l.text[min(before, p.end):p.end], "<<") || len(in.merged) > 0 {
		in.merge = true
		if in.flow {
			return l.refuse(s.path, "%s has a merge key (<<); change it by hand, or write it out", s.path)
		}
	}
	return nil
}

func (in *inner) note(merged string) {
	if in.merged == nil {
		in.merged = map[string]bool{}
	}
	in.merged[merged], in.merge = true, true
}

// checkLead refuses a key or dash with something before it that is not known to be moved with it.
func (l *lowering) checkLead(s, k *spot) error {
	p := &k.place
	if s.inner.flow {
		before := s.place.start + 1
		if n := len(s.kids); n > 0 {
			before = s.kids[n-1].place.end
		}
		for off := before; off < p.from; off = skipBlank(l.text, off, p.from) {
			if off == p.from {
				break
			}
			if c := l.text[off]; c != ',' && !isBlank(c) && c != '#' {
				return l.refuse(k.path, "%s has an anchor, a tag or a ? before its key; change it by hand", k.path)
			}
			if l.text[off] != '#' {
				off++
			}
		}
		return nil
	}
	if strings.Trim(l.text[l.lineStart(p.from):p.from], " -") != "" {
		return l.refuse(k.path, "%s has something before its key that is not understood; change it by hand", k.path)
	}
	return nil
}

// listItems finds the items [from, to) of a list in the text. What is before them has to stand where its spans say.
func (l *lowering) listItems(s *spot, from, to int) error {
	s.open = true
	p, in := &s.place, &s.inner
	in.first = from
	in.flow = p.flow || l.text[p.start] == '['
	off := p.start
	if in.flow {
		off++
	} else {
		in.col = l.column(off)
	}
	items := s.old.Len()
	v := s.old.Index(max(from-1, 0))
	if from > 0 {
		_, off, _ = v.Span()
		v = v.Next()
	}
	for i := from; i < min(to, items); i, v = i+1, v.Next() {
		k := &spot{path: s.path.Child(i), old: v, place: place{flow: in.flow}}
		off = skipBlank(l.text, off, p.end)
		if in.flow && i > 0 {
			if off >= p.end || l.text[off] != ',' {
				return l.refuse(k.path, "%s stands in the text in a way that is not understood; change it by hand", k.path)
			}
			off = skipBlank(l.text, off+1, p.end)
		}
		k.place.from = off
		valueFrom := off
		if !in.flow {
			if off > p.end || off >= len(l.text) || l.text[off] != '-' {
				return l.refuse(k.path, "%s stands in the text in a way that is not understood; change it by hand", k.path)
			}
			valueFrom = off + 1
		}
		limit := max(p.end, valueFrom)
		if i == items-1 && !in.flow {
			limit = max(limit, min(l.lineEnd(valueFrom), l.end))
		}
		if err := l.locate(k, valueFrom, limit); err != nil {
			return err
		}
		if err := l.checkLead(s, k); err != nil {
			return err
		}
		off = k.place.end
		s.kids = append(s.kids, k)
	}
	return nil
}

// lineLead is how far the beginning of a line is looked for. No key in block style stands further right.
const lineLead = 4096

// lineStart is where the line of a byte begins.
func (l *lowering) lineStart(off int) int {
	from := max(l.start, off-lineLead)
	return from + strings.LastIndexByte(l.text[from:off], '\n') + 1
}

// lineEnd is where the line after that of a byte begins; the document's last line may have no line end.
func (l *lowering) lineEnd(off int) int {
	if nl := strings.IndexByte(l.text[off:l.end], '\n'); nl >= 0 {
		return off + nl + 1
	}
	return l.end
}

// textEnd is where the line of a byte ends, without its line end.
func (l *lowering) textEnd(off int) int {
	end := l.lineEnd(off)
	return off + len(strings.TrimRight(l.text[off:end], "\r\n"))
}

func (l *lowering) column(off int) int { return off - l.lineStart(off) }

// skipBlank returns the offset of the next byte before limit that is neither white space nor part of a comment.
func skipBlank(text string, off, limit int) int {
	for off < limit {
		switch c := text[off]; {
		case isBlank(c):
			off++
		case c == '#':
			for off < limit && text[off] != '\n' {
				off++
			}
		default:
			return off
		}
	}
	return off
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isAnchorChar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '-'
}

// hasOddBreak says whether YAML sees more lines in a text than an editor does.
func hasOddBreak(text string) bool {
	if cr := strings.Count(text, "\r"); cr > 0 && cr != strings.Count(text, "\r\n") {
		return true
	}
	return strings.Contains(text, "\u0085") || strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029")
}

// styleValues is how many values are looked at to see how a document is written.
const styleValues = 1000

// styleOf looks at a document to see how it is written: first at the object, then at what is around it.
func styleOf(text string, start, end int, o, doc object.Value) style {
	s := style{nl: "\n", quote: '"', colon: ": ", comma: ", ", listStep: -1}
	for _, t := range []string{text[start:end], text} {
		if nl := strings.IndexByte(t, '\n'); nl >= 0 {
			if nl > 0 && t[nl-1] == '\r' {
				s.nl = "\r\n"
			}
			break
		}
	}
	column := func(off int) int { return off - start - strings.LastIndexByte(text[start:off], '\n') - 1 }
	single, double, seen := false, false, 0
	quoted := true // all keys and strings have double quotes, as in JSON
	var walk func(v object.Value)
	walk = func(v object.Value) {
		if seen++; seen > styleValues {
			return
		}
		at, _, _ := v.Span()
		if ks, _, ok := v.KeySpan(); ok && ks >= start && ks < end && text[ks] != '"' {
			quoted = false
		}
		switch v.Type() {
		case object.String:
			if at >= start && at < end {
				quoted = quoted && text[at] == '"'
				switch text[at] {
				case '\'':
					single = true
				case '"':
					double = true
				}
			}
			return
		case object.Map, object.List:
		default:
			return
		}
		ks, ke, ok := v.KeySpan()
		if ok && ks >= start && at > ke && at < end && v.Len() > 0 && text[at] != '{' && text[at] != '[' && text[at] != '*' {
			switch d := column(at) - column(ks); {
			case strings.IndexByte(text[ke:at], '\n') < 0 || d < 0:
			case v.Type() == object.Map && s.step == 0 && d > 0:
				s.step = d
			case v.Type() == object.List && s.listStep < 0:
				s.listStep = d
			}
		}
		for c := v.First(); c.Exists() && seen <= styleValues; c = c.Next() {
			walk(c)
		}
	}
	walk(o.Get("spec"))
	walk(o)
	if s.step == 0 || s.listStep < 0 {
		seen = 0
		walk(doc)
	}
	if single && !double {
		s.quote = '\''
	}
	first, _, _ := doc.Span()
	if first < end && (text[first] == '{' || text[first] == '[') {
		s.json = quoted
		if c := doc.First(); c.Exists() {
			ks, ke, ok := c.KeySpan()
			if at, _, _ := c.Span(); ok && strings.IndexByte(text[first:ks], '\n') >= 0 {
				s.pretty, s.step = s.json, column(ks)-column(first)
			} else if ok && at == ke+1 {
				s.colon = ":"
			}
			if next := c.Next(); next.Exists() && !s.pretty {
				_, stop, _ := c.Span()
				if ks, _, ok := next.KeySpan(); ok && ks == stop+1 {
					s.comma = ","
				}
			}
		}
	}
	if s.step <= 0 {
		s.step = 2
	}
	s.listStep = max(s.listStep, 0)
	return s
}
