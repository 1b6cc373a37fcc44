package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"text/template/parse"
	"time"
	"unicode"
	"unicode/utf8"

	"helm.sh/helm/v4/pkg/chart/common"

	"github.com/meshvet/meshvet/lint/render"
)

// Which line of which template wrote a line of a rendered document is found out by rendering the chart once more, with a mark before
// each piece of text that stands between the actions of a template. Marks are letters of Unicode's private area, and say which piece
// follows. A template whose output is the same as before once the marks are taken out of it has its lines known for certain: each
// piece of text stands where its mark says. Where the output differs, since a template looks at what another one made, or since it
// makes something at random, nothing is said of it.
//
// Texts of named templates are marked, too, which others include and may look at. If that changes the output, it is tried once more
// without these marks.

const (
	markRune  = '\ue0f0' // begins a mark
	digitBase = '\ue100' // the first of its digits
	digits    = 64
	markRunes = 1 + 3 // 262,144 pieces
	maxPieces = digits * digits * digits

	// A chart beyond these is rendered, and not traced. Marked output is larger than other, and the memory for it is bounded.
	maxTraced  = 16 << 20 // bytes of output
	maxSources = 16 << 20 // bytes of templates
)

// piece is a text that stands in a template between two actions, or at its beginning or end.
type piece struct {
	template *template
	text     string // from the mark on
	line     int    // of the template, where text begins
	top      bool   // of the template itself, not of a named one that is defined in it
	// after is the line of the action that wrote what follows the text until the next mark, 0 if it is not known.
	after int
}

// canMark reports whether there is room and time for rendering a chart twice more.
func (r *rendering) canMark(rendered map[string]string, took time.Duration) bool {
	output, sources := 0, 0
	for _, text := range rendered {
		output += len(text)
		if hasMarks(text) {
			return false
		}
	}
	for _, t := range r.files {
		sources += len(t.file.Data)
		if hasMarks(string(t.file.Data)) {
			return false
		}
	}
	return output <= maxTraced && sources <= maxSources && (r.limits.Timeout == 0 || took < r.limits.Timeout/8)
}

// hasMarks reports whether a text has a letter that marks are made of.
func hasMarks(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r == markRune || r >= digitBase && r < digitBase+digits })
}

// trace renders the chart with marks, and answers with the origins of what the marked templates rendered, as far as they are known.
func (r *rendering) trace(ctx context.Context, values common.Values, rendered map[string]string, marked map[string]bool) map[string]*origins {
	known := map[string]*origins{}
	for _, named := range []bool{true, false} {
		left := map[string]bool{}
		for name := range marked {
			if known[name] == nil {
				left[name] = true
			}
		}
		if len(left) == 0 {
			break
		}
		again, pieces, err := r.renderMarked(ctx, copyValues(values), left, named)
		if err != nil {
			continue // a template took offence at a mark
		}
		for name := range left {
			if o := readMarks(again[name], rendered[name], pieces, r.files[name]); o != nil {
				known[name] = o
			}
		}
	}
	return known
}

// renderMarked renders the chart with marks in the templates that top holds, and, if named, in the named templates of all files.
func (r *rendering) renderMarked(ctx context.Context, values common.Values, top map[string]bool, named bool) (map[string]string, []*piece, error) {
	var pieces []*piece
	before := map[*common.File][]byte{}
	defer func() {
		for f, text := range before {
			f.Data = text
		}
	}()
	for name, t := range r.files {
		if _, done := before[t.file]; done || !top[name] && !named {
			continue // a chart that has an alias has its templates several times
		}
		text, found := markText(t, name, top[name], named, len(pieces))
		if len(found) == 0 || len(pieces)+len(found) > maxPieces {
			continue
		}
		pieces = append(pieces, found...)
		before[t.file] = t.file.Data
		t.file.Data = []byte(text)
	}
	again, err := r.execute(ctx, values)
	return again, pieces, err
}

// markText puts marks into a template: into its own text if top, and into that of templates that it defines if named. The first mark
// has the number n.
func markText(t *template, name string, top, named bool, n int) (string, []*piece) {
	text := string(t.file.Data)
	trees := map[string]*parse.Tree{}
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		return text, nil
	}
	type mark struct {
		at    int
		piece *piece
	}
	var marks []mark
	for of, tree := range trees {
		if of == name && !top || of != name && !named || tree.Root == nil {
			continue
		}
		if of != name && !ofManifest(tree.Root) {
			continue
		}
		ok := true
		walkTexts(tree.Root, nil, func(node *parse.TextNode, within []place) {
			at, written := int(node.Pos), string(node.Text)
			if at < 0 || at > len(text) || !strings.HasPrefix(text[at:], written) {
				ok = false
				return
			}
			if !hasMark(node, of == name) {
				return
			}
			if of != name {
				blank := len(written) - len(strings.TrimLeftFunc(written, unicode.IsSpace))
				at, written = at+blank, written[blank:]
			}
			marks = append(marks, mark{at, &piece{
				template: t, text: written, line: 1 + strings.Count(text[:at], "\n"), top: of == name, after: writerAfter(within, of == name),
			}})
		})
		if !ok {
			return text, nil
		}
	}
	slices.SortFunc(marks, func(a, b mark) int { return a.at - b.at })
	var out strings.Builder
	var pieces []*piece
	done := 0
	for _, m := range marks {
		out.WriteString(text[done:m.at])
		writeMark(&out, n+len(pieces))
		pieces = append(pieces, m.piece)
		done = m.at
	}
	out.WriteString(text[done:])
	return out.String(), pieces
}

// ofManifest reports whether a named template writes parts of manifests. Those that make names and answers to questions are better not
// marked.
func ofManifest(list *parse.ListNode) bool {
	found := false
	walkTexts(list, nil, func(node *parse.TextNode, _ []place) {
		found = found || strings.Contains(string(node.Text), "\n") && strings.Contains(string(node.Text), ":")
	})
	return found
}

// writeMark writes the mark of number n.
func writeMark(out *strings.Builder, n int) {
	out.WriteRune(markRune)
	for _, d := range []int{n / digits / digits, n / digits % digits, n % digits} {
		out.WriteRune(digitBase + rune(d))
	}
}

// readMark reads the mark with which a text begins, and answers with its number and length in bytes, 0 if there is none.
func readMark(text string) (n, length int) {
	if !strings.HasPrefix(text, string(markRune)) {
		return 0, 0
	}
	for i := range markRunes {
		c, w := utf8.DecodeRuneInString(text[length:])
		length += w
		if i == 0 {
			continue
		}
		if c < digitBase || c >= digitBase+digits {
			return 0, 0
		}
		n = n*digits + int(c-digitBase)
	}
	return n, length
}

// place is a node of a template, by the list that it is in.
type place struct {
	list *parse.ListNode
	at   int
	loop bool // the list is what a range repeats
}

// walkTexts visits the texts of a list and of the lists within it. The last place it is told is that of the text.
func walkTexts(list *parse.ListNode, within []place, visit func(*parse.TextNode, []place)) {
	if list == nil {
		return
	}
	for i, node := range list.Nodes {
		here := append(slices.Clone(within), place{list: list, at: i})
		branch := func(b *parse.BranchNode, loop bool) {
			here[len(here)-1].loop = loop
			walkTexts(b.List, here, visit)
			here[len(here)-1].loop = false
			walkTexts(b.ElseList, here, visit)
		}
		switch node := node.(type) {
		case *parse.TextNode:
			visit(node, here)
		case *parse.IfNode:
			branch(&node.BranchNode, false)
		case *parse.WithNode:
			branch(&node.BranchNode, false)
		case *parse.RangeNode:
			branch(&node.BranchNode, true)
		}
	}
}

// writerAfter is the line of the one action that can have written what follows a text until the next text, 0 if there is none or if it
// may be one of several. At the end of a named template that is what included it.
func writerAfter(within []place, top bool) int {
	writer := 0
	wrote := func(line int) bool {
		if writer != 0 && writer != line {
			return false
		}
		writer = line
		return true
	}
	for depth := len(within) - 1; depth >= 0; depth-- {
		p := within[depth]
		for _, node := range p.list.Nodes[p.at+1:] {
			switch node := node.(type) {
			case *parse.TextNode:
				if hasMark(node, top) {
					return writer
				}
			case *parse.ActionNode:
				if len(node.Pipe.Decl) == 0 && !wrote(node.Line) {
					return 0
				}
			case *parse.TemplateNode:
				if !wrote(node.Line) {
					return 0
				}
			case *parse.IfNode:
				if !beginsWithText(node.List, top) || !beginsWithText(node.ElseList, top) {
					return 0
				}
			case *parse.WithNode:
				if !beginsWithText(node.List, top) || !beginsWithText(node.ElseList, top) {
					return 0
				}
			case *parse.RangeNode:
				if !beginsWithText(node.List, top) || !beginsWithText(node.ElseList, top) {
					return 0
				}
			}
		}
		// What follows the list is what follows the node that it is in, and, if that is a range, what the list begins with.
		if depth > 0 && within[depth-1].loop && !beginsWithText(p.list, top) {
			return 0
		}
	}
	if !top {
		return 0
	}
	return writer
}

// hasMark reports whether a text gets a mark. Blank ones of named templates get none: what includes these may cut them off.
func hasMark(node *parse.TextNode, top bool) bool { return top || len(bytes.TrimSpace(node.Text)) > 0 }

// beginsWithText reports whether the first that a list writes is a text with a mark, or that it writes nothing.
func beginsWithText(list *parse.ListNode, top bool) bool {
	if list == nil {
		return true
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
			if hasMark(node, top) {
				return true
			}
		case *parse.ActionNode:
			if len(node.Pipe.Decl) == 0 {
				return false
			}
		case *parse.CommentNode:
		default:
			return false
		}
	}
	return true
}

// origins are where the lines of what a template rendered come from.
type origins struct {
	lines []origin // by line of the output
}

// origin is where a line comes from.
type origin struct {
	template *template // the file whose text it is; nil if that is not known
	line     int
	piece    *piece // that told it
	own      int    // the line of the template itself that wrote it or had it written, 0 if it is not known
	begun    bool   // something of it has come
}

// readMarks takes the marks out of a text, and answers with what they say. If the rest is not what was rendered without them, they say
// nothing.
func readMarks(marked, rendered string, pieces []*piece, of *template) *origins {
	o := &origins{lines: make([]origin, 1, 1+strings.Count(rendered, "\n"))}
	var (
		last *piece // that the last mark was for
		rest string // what has not yet come of it
		line int    // of the template, at rest
		lost bool   // something else came than the piece has
		own  *piece // that the last mark of the template itself was for
	)
	var plain strings.Builder
	plain.Grow(len(rendered))
	for i := 0; i < len(marked); {
		if n, length := readMark(marked[i:]); length > 0 {
			if n >= len(pieces) {
				return nil
			}
			last, lost = pieces[n], false
			rest, line = last.text, last.line
			if last.top && last.template.file == of.file {
				own = last
			}
			i += length
			continue
		}
		c, width := utf8.DecodeRuneInString(marked[i:])
		blank := unicode.IsSpace(c)
		if !blank {
			rest, line = skipSpace(rest, line)
		}
		from := 0 // the line that wrote c
		switch {
		case last == nil || lost:
		case rest != "" && strings.HasPrefix(rest, marked[i:i+width]):
			from = line
			rest = rest[width:]
			if c == '\n' {
				line++
			}
		case blank: // an indentation that was added
		case rest == "":
			from = last.after
		default:
			// A function has changed the text. What there is of this line of it may stand for something else by now.
			lost = true
			for n := len(o.lines) - 1; n >= 0 && (o.lines[n].line == 0 || o.lines[n].piece == last && o.lines[n].line == line); n-- {
				o.lines[n] = origin{own: o.lines[n].own, begun: o.lines[n].begun}
			}
		}
		if here := &o.lines[len(o.lines)-1]; !blank && !here.begun {
			here.begun = true // what a line begins with decides: in YAML that is the key of what stands on it
			if from > 0 {
				here.template, here.line, here.piece = last.template, from, last
			}
			switch {
			case own == nil:
			case last == own:
				here.own = from
			default:
				here.own = own.after
			}
		}
		if c == '\n' {
			o.lines = append(o.lines, origin{})
		}
		plain.WriteString(marked[i : i+width])
		i += width
	}
	if plain.String() != rendered {
		return nil
	}
	return o
}

// skipSpace leaves out the white space with which a text begins.
func skipSpace(text string, line int) (string, int) {
	rest := strings.TrimLeftFunc(text, unicode.IsSpace)
	return rest, line + strings.Count(text[:len(text)-len(rest)], "\n")
}

// line is where a line of the output comes from, counted from 1. The line that it answers with is 0 if that is not known.
func (o *origins) line(n int) (source string, line int) {
	if n < 1 || n > len(o.lines) || o.lines[n-1].line == 0 {
		return "", 0
	}
	return o.lines[n-1].template.source, o.lines[n-1].line
}

// describe says in a document where its lines come from.
func (o *origins) describe(d *render.Document, m *manifest) {
	for i := range strings.Count(m.text, "\n") + 1 {
		n := m.first + i
		if n > len(o.lines) {
			break
		}
		if d.Line == 0 {
			d.Line = o.lines[n-1].own
		}
		source, line := o.line(n)
		if line == 0 {
			continue
		}
		if source == d.Source {
			source = ""
		}
		if last := len(d.Lines) - 1; last >= 0 && d.Lines[last].From+d.Lines[last].Count == i+1 && d.Lines[last].Source == source {
			l := &d.Lines[last]
			step := line - l.Line - (l.Count-1)*l.Step
			if step == 0 || step == 1 {
				if l.Count == 1 {
					l.Step = step
				}
				if l.Step == step {
					l.Count++
					continue
				}
			}
		}
		d.Lines = append(d.Lines, render.Lines{From: i + 1, Count: 1, Source: source, Line: line})
	}
}
