package edit

import (
	"sort"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// span is a stretch of the text: [start, end).
type span struct{ start, end int }

// scalars lists the spans of keys and scalars below a value that stand in [from, to) or reach into it, in the order of the text. What
// aliases and merge keys bring in from elsewhere is not among them.
func scalars(v object.Value, from, to int) []span {
	var out []span
	add := func(s, e int, ok bool) {
		if ok && s < to && e > from && e > s {
			out = append(out, span{s, e})
		}
	}
	var walk func(object.Value)
	walk = func(v object.Value) {
		add(v.KeySpan())
		s, e, _ := v.Span()
		switch v.Type() {
		case object.Map, object.List:
			if s >= to || e < from {
				return
			}
			for c := v.First(); c.Exists(); c = c.Next() {
				walk(c)
			}
		default:
			add(s, e, true)
		}
	}
	walk(v)
	sort.Slice(out, func(i, j int) bool { return out[i].start < out[j].start })
	n := 0
	for _, s := range out { // an anchored scalar comes once for each of its aliases
		if n == 0 || s.start >= out[n-1].end {
			out[n] = s
			n++
		}
	}
	return out[:n]
}

// remark is a comment, or an empty line, in the order of the text.
type remark struct {
	start, end int  // of a comment: from # to the end of the line; of an empty line: all of it
	blank      bool // an empty line
	own        bool // a comment with nothing before it on its line
}

// remarks lists comments and empty lines in text[from:to), of which opaque are the scalars and keys. Between those, every # where a
// token can begin starts a comment.
func remarks(text string, from, to int, opaque []span) []remark {
	var out []remark
	lineStart, tokens := from, from > 0 && text[from-1] != '\n' // tokens: there is something on this line
	if tokens {
		near := max(0, from-lineLead)
		lineStart = near + strings.LastIndexByte(text[near:from], '\n') + 1
		tokens = strings.Trim(text[lineStart:from], " \t") != ""
	}
	k := 0
	free := true // a token can begin here
	comment := func(at int) int {
		end := at + len(lineRest(text[at:to]))
		out = append(out, remark{start: at, end: end, own: !tokens})
		return end
	}
	for off := from; off < to; {
		for k < len(opaque) && opaque[k].end <= off {
			k++
		}
		if k < len(opaque) && opaque[k].start <= off {
			s := opaque[k]
			k++
			tokens, free = true, true
			if c := text[s.start]; (c == '|' || c == '>') && s.start == off {
				header := lineRest(text[off:min(s.end, to)])
				if i := strings.IndexByte(header, '#'); i >= 0 {
					comment(off + i)
				}
			}
			off = max(off, min(s.end, to))
			continue
		}
		c := text[off]
		switch {
		case c == '\n':
			if !tokens && strings.Trim(text[lineStart:off], " \t\r") == "" && lineStart >= from {
				out = append(out, remark{start: lineStart, end: off + 1, blank: true})
			}
			off++
			lineStart, tokens, free = off, false, true
			continue
		case c == ' ' || c == '\t' || c == '\r':
			free = true
			off++
			continue
		case c == '#' && free:
			off = comment(off)
			tokens = true // no empty line
			continue
		case (c == '"' || c == '\'') && free:
			off = quotedEnd(text, off, to) // a value that another one replaces, by a merge key
			tokens, free = true, true
			continue
		}
		tokens = true
		free = strings.IndexByte(",[]{}", c) >= 0
		off++
	}
	return out
}

// lineRest returns what a text holds up to its first line end, without white space at the end.
func lineRest(s string) string {
	if nl := strings.IndexByte(s, '\n'); nl >= 0 {
		s = s[:nl]
	}
	return strings.TrimRight(s, " \t\r")
}

func quotedEnd(text string, off, to int) int {
	quote := text[off]
	for i := off + 1; i < to; i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < to && text[i+1] == '\'':
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return to
}
