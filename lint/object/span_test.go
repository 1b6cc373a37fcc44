package object

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// spanChecker holds the spans of one document to the text: they lie inside their parents and beside their siblings, and what
// they cover, read again, gives the same value.
type spanChecker struct {
	text       string
	start, end int  // of the document
	aliases    bool // the document has aliases or merge keys, whose values stand elsewhere
	json       bool // the document is JSON that YAML does not read as it is

	editor, yaml lines // of the whole text, and of the document
}

func checkSpans(text string, start, end int) error {
	b := treeBuilder{limits: Limits{}.WithDefaults(), text: text}
	root, _ := b.parse(start, end) // a document that cannot be read has no spans to check
	if !root.Exists() {
		return nil
	}
	c := spanChecker{text, start, end, b.aliased > 0, b.json, editorLines(text), yamlLines(text[start:end], nil)}
	return c.value(root)
}

func (c *spanChecker) value(v Value) error {
	n := v.node()
	if int(n.start) < c.start || n.end < n.start || int(n.end) > c.end {
		return fmt.Errorf("span %d-%d is not inside the document %d-%d", n.start, n.end, c.start, c.end)
	}
	if err := c.positions(n.start, n.end); err != nil {
		return err
	}
	span := c.text[n.start:n.end]
	switch v.Type() {
	case Map, List:
		if err := c.children(v); err != nil {
			return err
		}
		if err := c.collectionAgain(v, span); err != nil {
			return err
		}
	default:
		if !c.readsAgain(span, n.start, v.Any(), "- %s", "[%s]", "%s") {
			return fmt.Errorf("span %q does not read as %#v", span, v.Any())
		}
	}
	return nil
}

func (c *spanChecker) children(v Value) error {
	parent := v.node()
	last := parent.start
	for child := v.First(); child.Exists(); child = child.Next() {
		n := child.node()
		if n.keyEnd > n.keyStart {
			key := c.text[n.keyStart:n.keyEnd]
			if !strings.HasPrefix(key, "*") &&
				!c.readsAgain(key, n.keyStart, map[string]any{child.Key(): int64(1)}, "%s: 1", "{%s: 1}", "? %s\n: 1") &&
				!c.readsAgain(key, n.keyStart, child.Key(), "[%s]") {
				return fmt.Errorf("key span %q does not read as %q", key, child.Key())
			}
		}
		if !c.aliases {
			first := n.start
			if v.Type() == Map {
				first = n.keyStart
			}
			if first < last || n.end > parent.end || v.Type() == Map && n.start < n.keyEnd {
				return fmt.Errorf("%q at %d-%d (key %d-%d) does not follow %d inside %d-%d", c.text[n.start:n.end], n.start, n.end, n.keyStart, n.keyEnd, last, parent.start, parent.end)
			}
			last = n.end
		}
		if err := c.value(child); err != nil {
			return err
		}
	}
	return nil
}

// readsAgain says whether a scalar's text, in one of several surroundings, reads as what it was read as.
func (c *spanChecker) readsAgain(span string, start uint32, want any, surroundings ...string) bool {
	if c.json || strings.HasPrefix(span, "|") || strings.HasPrefix(span, ">") || c.isTagged(start) {
		return true // depends on what is not in the span
	}
	if span == "" && want == "" {
		return true // only a tag, which is not in the span, makes a string of nothing
	}
	for _, s := range surroundings {
		text := strings.ReplaceAll(s, "%s", span)
		b := treeBuilder{limits: Limits{}.WithDefaults(), text: text}
		got, err := b.parse(0, len(text))
		if err != nil {
			continue
		}
		if got.Type() == List {
			got = got.Index(0)
		}
		if cmp.Equal(want, got.Any()) {
			return true
		}
	}
	return false
}

var comment = regexp.MustCompile(`(^|[ \t\r\n\x{85}\x{2028}\x{2029}])#[^\r\n\x{85}\x{2028}\x{2029}]*`)

// isTagged says whether a tag stands before a value: it is not in the span, and changes the meaning.
func (c *spanChecker) isTagged(start uint32) bool {
	words := strings.FieldsFunc(comment.ReplaceAllString(c.text[c.start:start], " "), isFolded)
	for i := len(words) - 1; i >= 0 && i >= len(words)-2; i-- {
		if strings.Contains(words[i], "!") {
			return true
		}
		if !strings.HasPrefix(strings.TrimLeft(words[i], ",[{"), "&") {
			return false
		}
	}
	return false
}

// collectionAgain reads the text of a mapping or list as a document of its own, indented as it was.
func (c *spanChecker) collectionAgain(v Value, span string) error {
	n := v.node()
	if c.aliases || c.json || strings.Contains(c.text, "%TAG") {
		return nil
	}
	col := c.yaml.pos(n.start - uint32(c.start)).Col
	if strings.HasSuffix(c.text[c.start:n.start], bom) {
		col = 1
	}
	indent := strings.Repeat(" ", col-1)
	// Blank lines after a block scalar may be part of its value, but not of its span.
	after := c.text[n.end:c.end]
	after = after[:len(after)-len(strings.TrimLeftFunc(after, isFolded))]
	if len(after) < c.end-int(n.end) {
		after = after[:strings.LastIndexFunc(after, isBreakRune)+1]
	}
	text := indent + span + after
	pair := "[" + span + "]" // the only pair of [a: b]
	var errs []error
	for _, text := range []string{text, pair} {
		b := treeBuilder{limits: Limits{}.WithDefaults(), text: text}
		got, err := b.parse(0, len(text))
		if err == nil && text == pair {
			got = got.Index(0)
		}
		if err == nil && cmp.Equal(v.Any(), got.Any()) {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("span %q does not read as %v (%v)", span, v.Any(), errs)
}

// positions holds line and column to the offsets that they were made of.
func (c *spanChecker) positions(offsets ...uint32) error {
	for _, off := range offsets {
		p := c.editor.pos(off)
		if back := c.editor.offset(p.Line, p.Col); back != off {
			return fmt.Errorf("offset %d is %v, which is offset %d", off, p, back)
		}
	}
	return nil
}

func TestCorpusSpans(t *testing.T) {
	eachCorpusDocument(t, func(name, text string, start, end int) {
		if err := checkSpans(text, start, end); err != nil {
			t.Errorf("%s, document at byte %d: %s", name, start, err)
		}
	})
}
