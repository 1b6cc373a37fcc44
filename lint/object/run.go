package object

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// run is a row of documents that are read with one YAML reader: setting one up costs as much as reading a small document.
type run struct {
	pieces []piece
	roots  []*yaml.Node // nil for a document that must be read alone
	lines  lines        // of the text of all of them
}

// runBytes is the size at which a run is long enough.
const runBytes = 32 << 10

func (r *run) start() int { return r.pieces[0].start }

func (r *run) end() int { return r.pieces[len(r.pieces)-1].end }

// takes says whether p can be read together with the pieces of the run.
func (r *run) takes(p piece) bool {
	return len(r.pieces) == 0 || p.start == r.end() && p.end-r.start() <= runBytes
}

// decode shows the pieces to one YAML reader. A document is read alone if there is any doubt that it would be the same: the
// reader hands anchors on to the next document, and never recovers from an error.
func (r *run) decode(text string, limits Limits) {
	r.roots = append(r.roots[:0], make([]*yaml.Node, len(r.pieces))...)
	if len(r.pieces) == 1 {
		return
	}
	all := text[r.start():r.end()]
	if strings.Contains(all, "&") || strings.HasPrefix(all, "%") || strings.Contains(all, "\n%") || checkText(all, 0, limits) != nil {
		return
	}
	r.lines = yamlLines(all, r.lines.starts)
	if r.lines.odd {
		return
	}
	defer func() { _ = recover() }() // what makes the library panic is read alone, and reported then
	dec := yaml.NewDecoder(strings.NewReader(all))
	for i, p := range r.pieces {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			return
		}
		if len(doc.Content) == 0 || mayHaveMore(doc.Content[0], all, r.lines) {
			continue
		}
		root := doc.Content[0]
		if at := r.start() + int(r.lines.offset(root.Line, root.Column)); at >= p.start && at < p.end {
			r.roots[i] = root
		}
	}
}
