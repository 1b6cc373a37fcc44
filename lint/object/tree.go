package object

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// treeBuilder lays the yaml.Node tree of one document out as a table. It reads values as Kubernetes does, follows aliases and
// merge keys, and works out where each value ends, which yaml.Node does not say. One builder serves all documents of a file,
// so that its buffers are allocated once.
type treeBuilder struct {
	limits  Limits
	text    string // the whole file
	base    uint32 // where the text begins in it that the YAML scanner was given
	lines   lines  // of that text, as the YAML scanner counts them
	lineBuf []uint32
	counted uint32 // offset up to which the line breaks of the file are counted, and how many there are
	breaks  int
	json    bool // the document is JSON that the YAML scanner was not shown as it is; see jsonForYAML

	nodes     []node
	strs      []string
	fields    []field      // of the mappings being laid out, innermost last
	expanding []*yaml.Node // what aliases and merge keys have led into, to catch an anchor that contains itself
	open      []*yaml.Node // values with an anchor that are being laid out, for the same purpose
	root      *yaml.Node
	aliased   int // values added by aliases and merge keys
	written   int // values of the document without them, 0 = not counted yet
	deepest   int // depth of the deepest value laid out since it was last reset

	// copies are the values that were laid out once and may be asked for again, so that a long text behind an anchor is not
	// read anew for every alias. Made on first use: most documents have no anchors.
	copies map[*yaml.Node]copyOf
	ends   map[*yaml.Node]uint32 // ends of what merge keys bring in, for the same reason

	wantTexts bool
	texts     []stretch // where the texts of the document stand, if they are wanted
}

// copyOf is a value that is laid out already: nodes[from:to].
type copyOf struct {
	from, to int32
	height   int    // levels below the value itself
	end      uint32 // where it ends in the text
}

func (b *treeBuilder) at(n *yaml.Node) uint32 { return b.base + b.lines.offset(n.Line, n.Column) }

func (b *treeBuilder) fail(kind ProblemKind, n *yaml.Node, format string, args ...any) error {
	return &documentError{kind, b.at(n), fmt.Sprintf(format, args...)}
}

// value lays out the document of a root. base is where the text begins that the YAML library was given, and ln are its lines.
func (b *treeBuilder) value(root *yaml.Node, base int, ln lines, isJSON bool) (v Value, err error) {
	defer recovered(&err, base)
	b.base, b.lines, b.root, b.json = uint32(base), ln, root, isJSON
	b.nodes, b.strs, b.fields, b.expanding = b.nodes[:0], b.strs[:0], b.fields[:0], b.expanding[:0]
	b.open = b.open[:0]
	b.aliased, b.written, b.copies, b.ends = 0, 0, nil, nil
	if _, _, err := b.emit(root, 0); err != nil {
		return Value{}, err
	}
	if b.wantTexts {
		if b.texts = b.textsBelow(root, b.texts[:0]); isJSON { // YAML was shown something else, and JSON has no comments
			b.texts = append(b.texts[:0], stretch{0, uint32(len(b.text))})
		}
	}
	t := &table{text: b.text, nodes: make([]node, len(b.nodes)), strs: make([]string, len(b.strs))}
	copy(t.nodes, b.nodes)
	copy(t.strs, b.strs)
	return Value{t: t}, nil
}

// recovered turns a panic into an error. The YAML library has been known to panic on hostile input; that too is a fault of the
// document.
func recovered(err *error, at int) {
	if r := recover(); r != nil {
		*err = &documentError{Syntax, uint32(at), fmt.Sprintf("the YAML reader gave up on it (%v); simplify it", r)}
	}
}

// addAliased counts values that an alias or merge key adds.
func (b *treeBuilder) addAliased(from *yaml.Node, count int) error {
	if b.aliased += count; b.aliased <= aliasFloor {
		return nil
	}
	if b.written == 0 {
		b.written = countNodes(b.root)
	}
	if b.aliased > b.limits.AliasFactor*b.written {
		return b.fail(Bounds, from, "its aliases and merge keys multiply it more than %d times; write the values out", b.limits.AliasFactor)
	}
	return nil
}

func countNodes(n *yaml.Node) int {
	total := 1
	for _, c := range n.Content {
		total += countNodes(c)
	}
	return total
}

// enter notes that an alias or merge key leads to n, and fails if it did so before and has not left since.
func (b *treeBuilder) enter(from, n *yaml.Node) error {
	if slices.Contains(b.expanding, n) || slices.Contains(b.open, n) {
		return b.fail(Syntax, from, "an alias or merge key leads back to where it stands; remove it")
	}
	b.expanding = append(b.expanding, n)
	return nil
}

func (b *treeBuilder) leave() { b.expanding = b.expanding[:len(b.expanding)-1] }

// emit appends n and what is below it. It returns the index of the new node and where n ends in the text: for an alias that
// is the end of the alias, not of what it stands for.
func (b *treeBuilder) emit(n *yaml.Node, depth int) (int32, uint32, error) {
	if n.Kind == yaml.AliasNode {
		i, _, err := b.emitAgain(n, n.Alias, depth)
		if err == nil {
			top := &b.nodes[i]
			top.keyStart, top.keyEnd, top.keyIn, top.key = 0, 0, notInText, -1
		}
		return i, b.aliasEnd(n), err
	}
	if n.Anchor != "" {
		return b.emitCopied(n, depth)
	}
	return b.emitNew(n, depth)
}

// emitAgain appends a value that an alias or merge key asks for, by a copy if it is laid out already.
func (b *treeBuilder) emitAgain(from, n *yaml.Node, depth int) (int32, uint32, error) {
	c, found := b.copies[n]
	if !found {
		if err := b.enter(from, n); err != nil {
			return 0, 0, err
		}
		i, end, err := b.emitCopied(n, depth)
		b.leave()
		return i, end, err
	}
	if depth+c.height > b.limits.Depth {
		return 0, 0, b.tooDeep(from)
	}
	if len(b.nodes)+int(c.to-c.from) > b.limits.Nodes {
		return 0, 0, b.tooMany(from)
	}
	if err := b.addAliased(from, int(c.to-c.from)); err != nil {
		return 0, 0, err
	}
	b.deepest = max(b.deepest, depth+c.height)
	i := int32(len(b.nodes))
	b.nodes = append(b.nodes, b.nodes[c.from:c.to]...)
	for k := range b.nodes[i:] {
		if nd := &b.nodes[int(i)+k]; nd.next != 0 {
			nd.next += i - c.from
		}
	}
	b.nodes[i].next = 0
	return i, c.end, nil
}

// emitCopied is emitNew for a value that may be asked for again.
func (b *treeBuilder) emitCopied(n *yaml.Node, depth int) (int32, uint32, error) {
	outer := b.deepest
	b.deepest = depth
	b.open = append(b.open, n)
	i, end, err := b.emitNew(n, depth)
	b.open = b.open[:len(b.open)-1]
	if err != nil {
		return i, end, err
	}
	if b.copies == nil {
		b.copies = map[*yaml.Node]copyOf{}
	}
	b.copies[n] = copyOf{from: i, to: int32(len(b.nodes)), height: b.deepest - depth, end: end}
	b.deepest = max(b.deepest, outer)
	return i, end, nil
}

func (b *treeBuilder) emitNew(n *yaml.Node, depth int) (int32, uint32, error) {
	if depth > b.limits.Depth {
		return 0, 0, b.tooDeep(n)
	}
	if len(b.nodes) >= b.limits.Nodes {
		return 0, 0, b.tooMany(n)
	}
	if len(b.expanding) > 0 {
		if err := b.addAliased(n, 1); err != nil {
			return 0, 0, err
		}
	}
	b.deepest = max(b.deepest, depth)
	i := int32(len(b.nodes))
	b.nodes = append(b.nodes, node{key: -1})
	start, bang := b.skipProperties(n)
	var end uint32
	var err error
	switch n.Kind {
	case yaml.ScalarNode:
		end, err = b.emitScalar(i, n, start, bang)
	case yaml.SequenceNode:
		end, err = b.emitList(i, n, start, depth)
	case yaml.MappingNode:
		end, err = b.emitMap(i, n, start, depth)
	default:
		err = b.fail(Syntax, n, "a YAML node of unknown kind %d", n.Kind)
	}
	b.nodes[i].start, b.nodes[i].end = start, end
	return i, end, err
}

func (b *treeBuilder) tooDeep(n *yaml.Node) error {
	return b.fail(Bounds, n, "nested more than %d levels deep; flatten it", b.limits.Depth)
}

func (b *treeBuilder) tooMany(n *yaml.Node) error {
	return b.fail(Bounds, n, "holds more than %d values; split it", b.limits.Nodes)
}

func (b *treeBuilder) emitScalar(i int32, n *yaml.Node, start uint32, bang bool) (uint32, error) {
	end := b.scalarEnd(n, start)
	s, err := resolve(n, bang)
	if err != nil {
		return end, b.fail(Syntax, n, "%s", err)
	}
	if s.typ == Null && n.Anchor != "" && n.Value == "" && n.Style == 0 {
		// yaml.Node does not tell whether a lone "!" on a later line is the tag of this or of the next key.
		if next := b.skipBlank(end, ""); int(next) < len(b.text) && b.text[next] == '!' {
			return end, b.fail(Syntax, n, "%s", strayTag)
		}
	}
	nd := &b.nodes[i]
	nd.typ, nd.bits = s.typ, s.bits
	if s.typ == String {
		var str int32
		nd.valueIn, str = b.stringIn(b.unhide(s.str, n, start, end), start, end)
		nd.bits = uint64(str)
	}
	return end, nil
}

const strayTag = "an anchor without a value is followed by a tag; put them on one line"

// unhide gives a string of a JSON document its value where the YAML scanner was shown something else.
func (b *treeBuilder) unhide(s string, n *yaml.Node, start, end uint32) string {
	if b.json && n.Style&yaml.DoubleQuotedStyle != 0 {
		var written string
		if json.Unmarshal([]byte(b.text[start:end]), &written) == nil {
			return written
		}
	}
	return s
}

// stringIn says where in the text a string stands; if it does not, it is kept and its index returned.
func (b *treeBuilder) stringIn(s string, start, end uint32) (inText, int32) {
	switch span := b.text[start:end]; {
	case span == s:
		return inSpan, -1
	case len(span) == len(s)+2 && span[1:len(span)-1] == s:
		return insideQuotes, -1
	}
	b.strs = append(b.strs, s)
	return notInText, int32(len(b.strs) - 1)
}

func (b *treeBuilder) emitList(i int32, n *yaml.Node, start uint32, depth int) (uint32, error) {
	end, prev := start, int32(0)
	for _, item := range n.Content {
		c, itemEnd, err := b.emit(item, depth+1)
		if err != nil {
			return end, err
		}
		if prev != 0 {
			b.nodes[prev].next = c
		}
		prev, end = c, max(end, itemEnd)
	}
	b.nodes[i].typ, b.nodes[i].bits = List, uint64(len(n.Content))
	return b.collectionEnd(n, start, end), nil
}

// field is one key of a mapping, before it is laid out.
type field struct {
	name       string
	key, value *yaml.Node
	merged     bool       // comes from a merge key, so its text is elsewhere
	first      *yaml.Node // the key of this name that the mapping itself holds, nil if all came from merge keys
}

func (b *treeBuilder) emitMap(i int32, n *yaml.Node, start uint32, depth int) (uint32, error) {
	base := len(b.fields)
	defer func() { b.fields = b.fields[:base] }()
	end, err := b.listFields(n, depth)
	if err != nil {
		return start, err
	}
	end = max(end, start)
	prev, count := int32(0), len(b.fields)-base
	for k := range count {
		f := b.fields[base+k]
		c, valueEnd, err := b.emitField(f, depth+1)
		if err != nil {
			return start, err
		}
		if prev != 0 {
			b.nodes[prev].next = c
		}
		prev = c
		if !f.merged {
			end = max(end, valueEnd)
		}
	}
	b.nodes[i].typ, b.nodes[i].bits = Map, uint64(count)
	return b.collectionEnd(n, start, end), nil
}

func (b *treeBuilder) emitField(f field, depth int) (i int32, end uint32, err error) {
	if f.merged && f.value.Kind != yaml.AliasNode {
		i, end, err = b.emitAgain(f.key, f.value, depth)
	} else {
		i, end, err = b.emit(f.value, depth)
	}
	if err != nil {
		return i, end, err
	}
	b.setKey(i, f)
	if isNothing(f.value) && b.nodes[i].typ == Null {
		// yaml.Node puts a missing value at the next token, wherever that is.
		end = b.afterKey(b.nodes[i].keyEnd)
		b.nodes[i].start, b.nodes[i].end = end, end
	}
	return i, end, nil
}

// isNothing says whether a node stands for text that is not there, not even a tag or an anchor. (A lone "!" makes a string.)
func isNothing(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Anchor == ""
}

// afterKey returns where the missing value of a key would stand: behind its colon, or behind the key if that has none.
func (b *treeBuilder) afterKey(keyEnd uint32) uint32 {
	off := b.skipBlank(keyEnd, "")
	if int(off) == len(b.text) || b.text[off] != ':' {
		return keyEnd
	}
	if next := b.text[off+1:]; next != "" && !isBlank(next[0]) && breakLen(next) == 0 && strings.IndexByte(",]}", next[0]) < 0 {
		return keyEnd // the key of the next field begins with this colon
	}
	return off + 1
}

func (b *treeBuilder) setKey(c int32, f field) {
	start, _ := b.skipProperties(f.key)
	end := b.keyEnd(f, start)
	nd := &b.nodes[c]
	nd.keyStart, nd.keyEnd = start, end
	nd.keyIn, nd.key = b.stringIn(b.unhide(f.name, f.key, start, end), start, end)
}

// keyEnd finds the end of a key, and remembers it for a merged one, which may come again.
func (b *treeBuilder) keyEnd(f field, start uint32) uint32 {
	if !f.merged {
		return b.scalarEnd(f.key, start)
	}
	return b.rememberEnd(f.key, func() uint32 { return b.scalarEnd(f.key, start) })
}

func (b *treeBuilder) rememberEnd(n *yaml.Node, find func() uint32) uint32 {
	end, found := b.ends[n]
	if !found {
		end = find()
		if b.ends == nil {
			b.ends = map[*yaml.Node]uint32{}
		}
		b.ends[n] = end
	}
	return end
}

// bigMap is the number of fields from which a map of their names is cheaper than a scan.
const bigMap = 16

// listFields appends the fields of a mapping to b.fields, with merge keys resolved as Kubernetes' reader does: in the order
// of the text, what comes later wins, whichever of the two is the merge. It returns where the merge keys end in the text.
func (b *treeBuilder) listFields(n *yaml.Node, depth int) (uint32, error) {
	if depth > b.limits.Depth {
		return 0, b.tooDeep(n)
	}
	base := len(b.fields)
	var index map[string]int // position in b.fields, for big mappings only
	find := func(name string) int {
		if index != nil {
			if j, ok := index[name]; ok {
				return j
			}
			return -1
		}
		for j := base; j < len(b.fields); j++ {
			if b.fields[j].name == name {
				return j
			}
		}
		return -1
	}
	add := func(f field) {
		b.fields = append(b.fields, f)
		switch count := len(b.fields) - base; {
		case index != nil:
			index[f.name] = len(b.fields) - 1
		case count > bigMap:
			index = make(map[string]int, len(n.Content)/2)
			for j := base; j < len(b.fields); j++ {
				index[b.fields[j].name] = j
			}
		}
	}
	end := uint32(0)
	for k := 0; k+1 < len(n.Content); k += 2 {
		key, value := n.Content[k], n.Content[k+1]
		if b.isMerge(key) {
			merged, err := b.mergedFields(key, value, depth)
			if err != nil {
				return 0, err
			}
			for _, f := range merged {
				if j := find(f.name); j >= 0 {
					f.first = b.fields[j].first
					b.fields[j] = f
					continue
				}
				add(f)
			}
			end = max(end, b.rememberEnd(value, func() uint32 { return b.endOf(value) }))
			continue
		}
		name, err := b.keyName(key)
		if err != nil {
			return 0, err
		}
		f := field{name: name, key: key, value: value, first: key}
		j := find(name)
		switch {
		case j < 0:
			add(f)
		case b.fields[j].first != nil:
			return 0, b.fail(Syntax, key, "key %q is already set on line %d; remove one of the two", name, b.fileLine(b.fields[j].first))
		default:
			b.fields[j] = f
		}
	}
	return end, nil
}

// mergedFields lists the fields that a merge key brings in, those that win last.
func (b *treeBuilder) mergedFields(key, value *yaml.Node, depth int) ([]field, error) {
	items := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		items = value.Content
	}
	var out []field
	for i := len(items) - 1; i >= 0; i-- {
		src := items[i]
		if src.Kind == yaml.AliasNode {
			src = src.Alias
		}
		if src.Kind != yaml.MappingNode {
			return nil, b.fail(Syntax, key, "a merge key (<<) takes a mapping or a list of mappings; give it one, or quote the key")
		}
		if err := b.enter(key, src); err != nil {
			return nil, err
		}
		base := len(b.fields)
		_, err := b.listFields(src, depth+1)
		b.leave()
		for j := base; j < len(b.fields) && err == nil; j++ {
			f := b.fields[j]
			f.merged, f.first = true, nil
			out = append(out, f)
		}
		if err == nil {
			err = b.addAliased(key, 1+len(b.fields)-base) // a source without fields costs too
		}
		b.fields = b.fields[:base]
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fileLine returns the line of a node in the file. Documents come in the order of the text, so that a file with many faults is
// counted through once.
func (b *treeBuilder) fileLine(n *yaml.Node) int {
	if b.counted > b.base {
		b.counted, b.breaks = 0, 0
	}
	b.breaks += strings.Count(b.text[b.counted:b.base], "\n")
	b.counted = b.base
	return 1 + b.breaks + strings.Count(b.text[b.base:b.at(n)], "\n")
}

// isMerge recognises a plain << as a merge key, as YAML 1.1 does; to Kubernetes' reader, a lone "!" makes a quoted one plain.
func (b *treeBuilder) isMerge(key *yaml.Node) bool {
	if key.Kind != yaml.ScalarNode || key.Value != "<<" {
		return false
	}
	if key.Style&yaml.TaggedStyle != 0 {
		return key.ShortTag() == "!!merge"
	}
	_, bang := b.skipProperties(key)
	return key.Style == 0 || bang
}

const compositeKey = "a mapping key is itself a mapping or a list, which JSON cannot hold; quote it"

func (b *treeBuilder) keyName(key *yaml.Node) (string, error) {
	n := key
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", b.fail(Syntax, key, "%s", compositeKey)
	}
	if n.Style == 0 && isPlainString(n.Value) {
		return n.Value, nil
	}
	_, bang := b.skipProperties(n)
	name, err := resolveKey(n, bang)
	if err != nil {
		return "", b.fail(Syntax, key, "%s", err)
	}
	return name, nil
}

// skipProperties returns where the value of a node begins: yaml.Node's position is that of its anchor or tag, if it has one.
// bang says that the tag is a lone "!", which makes any scalar a string.
func (b *treeBuilder) skipProperties(n *yaml.Node) (off uint32, bang bool) {
	off = b.at(n)
	nothing := n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0
	tagged := n.Style&yaml.TaggedStyle != 0 // with any tag but "!", which yaml.Node does not note
	anchor, tag := n.Anchor != "", true     // still to come
	for int(off) < len(b.text) {
		end := off
		switch c := b.text[off]; {
		case c == '&' && anchor:
			anchor = false
			for end++; int(end) < len(b.text) && isAnchorChar(b.text[end]); end++ {
			}
		case c == '!' && tag && (tagged || b.ownsTag(n, off)):
			tag, bang = false, !tagged
			for int(end) < len(b.text) && !isBlank(b.text[end]) && breakLen(b.text[end:]) == 0 {
				end++
			}
		default:
			return off, bang
		}
		off = end
		if !nothing || anchor || tagged && tag {
			off = b.skipBlank(end, "")
			continue
		}
		// What follows belongs to somebody else, except a lone "!".
		for int(end) < len(b.text) && (b.text[end] == ' ' || b.text[end] == '\t') {
			end++
		}
		if int(end) < len(b.text) && b.text[end] == '!' && tag {
			off = end
		}
	}
	return off, bang
}

// ownsTag says whether a tag at off is that of n itself: a block mapping begins where its first key does, whose tag it may be.
func (b *treeBuilder) ownsTag(n *yaml.Node, off uint32) bool {
	return len(n.Content) == 0 || b.at(n.Content[0]) != off
}

func isAnchorChar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '-'
}

// skipBlank returns the offset of the next byte that is neither white space, nor one of also, nor part of a comment. It must
// be called between tokens, where every # begins a comment.
func (b *treeBuilder) skipBlank(off uint32, also string) uint32 {
	for int(off) < len(b.text) {
		switch c := b.text[off]; {
		case isBlank(c) || strings.IndexByte(also, c) >= 0:
			off++
		case c == '#':
			for int(off) < len(b.text) && breakLen(b.text[off:]) == 0 {
				off++
			}
		case c >= utf8.RuneSelf && breakLen(b.text[off:]) > 0:
			off += uint32(breakLen(b.text[off:]))
		default:
			return off
		}
	}
	return off
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// endOf returns where a node ends in the text, without laying it out.
func (b *treeBuilder) endOf(n *yaml.Node) uint32 {
	start, _ := b.skipProperties(n)
	if len(n.Content) == 0 && n.Kind != yaml.SequenceNode && n.Kind != yaml.MappingNode {
		return b.scalarEnd(n, start)
	}
	end := start
	for _, c := range n.Content {
		end = max(end, b.endOf(c))
	}
	return b.collectionEnd(n, start, end)
}

func (b *treeBuilder) aliasEnd(n *yaml.Node) uint32 { return b.at(n) + 1 + uint32(len(n.Value)) }

// collectionEnd finds the closing bracket of a flow collection whose last child ends at end. The one pair of `[a: b]` is a
// flow mapping without brackets.
func (b *treeBuilder) collectionEnd(n *yaml.Node, start, end uint32) uint32 {
	if n.Style&yaml.FlowStyle == 0 || int(start) >= len(b.text) {
		return end
	}
	closing := byte('}')
	switch {
	case n.Kind == yaml.SequenceNode:
		closing = ']'
	case b.text[start] != '{':
		return end
	}
	end = b.skipBlank(max(end, start+1), ",:?")
	if int(end) < len(b.text) && b.text[end] == closing {
		end++
	}
	return end
}

// scalarEnd finds the end of a scalar or alias in the text by its style.
func (b *treeBuilder) scalarEnd(n *yaml.Node, start uint32) uint32 {
	if n.Kind == yaml.AliasNode {
		return b.aliasEnd(n)
	}
	rest := b.text[start:]
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return start + uint32(i) + 1
			}
		}
		return start
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			if rest[i] != '\'' {
				continue
			}
			if i+1 < len(rest) && rest[i+1] == '\'' {
				i++
				continue
			}
			return start + uint32(i) + 1
		}
		return start
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return start + blockEnd(rest, n.Value)
	case strings.HasPrefix(rest, n.Value):
		return start + uint32(len(n.Value))
	}
	return start + foldedEnd(rest, n.Value)
}

// blockEnd finds the end of a literal or folded block scalar: of its header, or of the last line that is not blank. The value
// says which line that is, so that the rules of indentation need not be known here.
func blockEnd(text, value string) uint32 {
	header := strings.IndexFunc(text, isBreakRune)
	if header < 0 {
		header = len(text)
	}
	n := foldedEnd(text[header:], value)
	if n == 0 {
		return uint32(header)
	}
	end := header + int(n)
	if rest := strings.IndexFunc(text[end:], isBreakRune); rest >= 0 {
		return uint32(end + rest)
	}
	return uint32(len(text))
}

// foldedEnd matches a scalar that runs over several lines with its value, in which line breaks and the indentation around
// them are folded: what is not white space is in both. It returns the end of the last match.
func foldedEnd(text, value string) uint32 {
	i, end := 0, 0
	for _, r := range value {
		if isFolded(r) {
			continue
		}
		for i < len(text) {
			got, size := utf8.DecodeRuneInString(text[i:])
			i += size
			if !isFolded(got) {
				if got != r {
					return uint32(end)
				}
				end = i
				break
			}
		}
	}
	return uint32(end)
}

func isFolded(r rune) bool {
	return r == ' ' || r == '\t' || isBreakRune(r)
}
