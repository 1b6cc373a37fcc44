package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// documentError is why a document cannot be loaded, with the place.
type documentError struct {
	kind ProblemKind
	at   uint32 // byte offset in the file
	msg  string // what is wrong and what to do about it
}

func (e *documentError) Error() string { return e.msg }

func (e *documentError) location(f *File) Location {
	return f.locationAt(int(min(e.at, uint32(len(f.text)))))
}

const bom = "\ufeff"

var afterMarker = regexp.MustCompile(`^---[ \t]*\r?\n` + bom)

// parse reads the document text[start:end] of the builder's file. The root is absent if the document turns out to be empty.
func (b *treeBuilder) parse(start, end int) (root Value, err error) {
	defer recovered(&err, start)
	b.texts = b.texts[:0]
	text := b.text[start:end]
	// Files that were glued together keep their byte-order marks; where a document begins, one means nothing.
	switch m := afterMarker.FindString(text); {
	case m != "":
		start, text = start+len(m), text[len(m):]
	case strings.HasPrefix(text, bom):
		start, text = start+len(bom), text[len(bom):]
	}
	ln := yamlLines(text, b.lineBuf)
	b.lineBuf = ln.starts
	doc, dec, err := b.decode(text, start)
	shown := ""
	if err != nil && !errors.Is(err, io.EOF) {
		if shown = jsonForYAML(text); shown != "" {
			ln = yamlLines(shown, b.lineBuf)
			doc, dec, err = b.decode(shown, start)
		}
	}
	var de *documentError
	switch {
	case errors.Is(err, io.EOF):
		return Value{}, nil
	case errors.As(err, &de):
		return Value{}, err
	case err != nil:
		return Value{}, syntaxError(err, text, ln, start, b.limits)
	case len(doc.Content) == 0:
		return Value{}, nil
	}
	if mayHaveMore(doc.Content[0], text, ln) {
		var more yaml.Node
		switch err := dec.Decode(&more); {
		case err == nil:
			at := uint32(start) + ln.offset(more.Line, more.Column)
			return Value{}, &documentError{Syntax, at, hiddenDocument}
		case !errors.Is(err, io.EOF):
			return Value{}, syntaxError(err, text, ln, start, b.limits)
		}
	}
	return b.value(doc.Content[0], start, ln, shown != "")
}

// decode shows the YAML library a text that begins at start. The decoder goes on after the document.
func (b *treeBuilder) decode(text string, start int) (*yaml.Node, *yaml.Decoder, error) {
	if err := checkText(text, start, b.limits); err != nil {
		return nil, nil, err
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	doc := new(yaml.Node)
	return doc, dec, dec.Decode(doc)
}

// mayHaveMore says whether text may follow the root of a document. Nothing can follow a block collection that begins in the
// first column, unless behind a line end that the splitter does not know.
func mayHaveMore(root *yaml.Node, text string, ln lines) bool {
	if ln.odd || root.Column != 1 || root.Style&yaml.FlowStyle != 0 || root.Kind == yaml.ScalarNode {
		return true
	}
	off := int(ln.offset(root.Line, 1))
	return off >= len(text) || text[off] == '&' || text[off] == '!'
}

// checkText refuses what the YAML library would misread, or read at a cost out of proportion.
func checkText(text string, start int, limits Limits) error {
	fail := func(kind ProblemKind, off int, format string, args ...any) error {
		return &documentError{kind, uint32(start + off), fmt.Sprintf(format, args...)}
	}
	if !utf8.ValidString(text) {
		off := invalidUTF8(text)
		return fail(Syntax, off, "byte 0x%02X is not UTF-8; save the file as UTF-8", text[off])
	}
	if off := strings.Index(text, bom); off >= 0 {
		return fail(Syntax, off, "a byte-order mark (U+FEFF) stands inside the document, where YAML readers stumble over it; remove it")
	}
	if len(text) > limits.Nodes && weight(text) > 2*limits.Nodes {
		return fail(Bounds, 0, "holds more than %d values; split it", limits.Nodes)
	}
	// The library looks through all pending comments anew for each level that ends.
	if comments := strings.Count(text, "#"); comments > 1000 && comments*longestIndent(text) > commentWork {
		return fail(Bounds, 0, "holds too many comments (%d) for how deep it is nested; remove comments, or split it", comments)
	}
	return nil
}

// commentWork bounds comments times depth: a third of a second of the library's time.
const commentWork = 50_000_000

func invalidUTF8(text string) int {
	for off := 0; off < len(text); {
		r, size := utf8.DecodeRuneInString(text[off:])
		if r == utf8.RuneError && size == 1 {
			return off
		}
		off += size
	}
	return len(text) - 1
}

// weight estimates the values and comments of a text from the characters without which there can be none. It is at least
// their number, and at most twice that for text that holds few such characters in strings.
func weight(text string) int {
	w := 1
	for i := range len(text) {
		switch text[i] {
		case ',', '{', '#':
			w += 2
		case '[':
			w++
		case '-', ':', '?':
			if i+1 == len(text) || isBlank(text[i+1]) {
				w += 2
			}
		}
	}
	return w
}

// longestIndent is at least the depth to which block collections are nested: each begins further right than the one it is in,
// behind nothing but white space and indicators.
func longestIndent(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '-', '?', ':':
			run++
			longest = max(longest, run)
		default:
			run = 0
		}
	}
	return longest
}

// What follows the root of a document, kubectl drops in silence.
const (
	beyondRoot     = "this is no part of the document above it; check the indentation, or put --- before it"
	hiddenDocument = "another document begins here, where most tools see none; end lines in LF or CRLF only, and put --- at the start of a line"
)

// wordings put the library's messages into words that say what to do.
var wordings = []struct {
	library string
	parser  bool // the line that the library names is that of the collection's start
	plain   string
}{
	{"did not find expected key", true, "a key is expected here; check the indentation of this line and of those above it"},
	{"did not find expected '-' indicator", true, "a list item is expected here; check the indentation of this line and of those above it"},
	{"did not find expected ',' or ']'", true, "a list that [ opens is not closed; add the comma or the ] that is missing before this"},
	{"did not find expected ',' or '}'", true, "a mapping that { opens is not closed; add the comma or the } that is missing before this"},
	{"did not find expected node content", true, "a value is expected here; write it, or quote it"},
	{"did not find expected <document start>", true, beyondRoot},
	{"found duplicate %YAML directive", true, "a second %YAML directive; remove it"},
	{"found incompatible YAML document", true, "only YAML 1.1 and 1.2 can be read; correct the %YAML directive"},
	{"found undefined tag handle", true, "the tag's handle is not declared; add a %TAG directive, or remove the tag"},
	{"mapping values are not allowed in this context", false, `a key cannot begin here; check the indentation, and quote values that hold ": "`},
	{"block sequence entries are not allowed in this context", false, "a list cannot begin here; put it on the lines below its key"},
	{"could not find expected ':'", false, `a key without ":"; add it, or check the indentation`},
	{"found character that cannot start any token", false, "a value cannot begin with a tab, %, @ or `; indent with spaces, and quote such values"},
	{"found a tab character", false, "a tab stands where YAML wants spaces; indent with spaces"},
	{"found unexpected end of stream", false, "a quoted string is not closed; add the closing quote"},
	{"found unexpected document indicator", false, "a quoted string is not closed; add the closing quote"},
	{"found unknown escape character", false, "a double-quoted string holds an escape that YAML does not know; write \\\\ for a backslash, or use single quotes"},
	{"did not find expected hexdecimal number", false, "an escape such as \\x41 or \\u0041 lacks digits; write \\\\ for a backslash, or use single quotes"},
	{"found invalid Unicode character escape code", false, "an escape names no character; correct it"},
	{"did not find expected alphabetic or numeric character", false, "* and & begin the name of an anchor; quote the value if it is none"},
	{"could not find expected directive name", false, "a line that begins with % is a directive; remove it, or quote the value"},
	{"found unknown directive name", false, "YAML knows only the directives %YAML and %TAG; remove this one, or quote the value"},
	{"did not find expected comment or line break", false, "text follows where only a comment can; quote the value if it begins with |, > or %"},
}

var yamlErrorLine = regexp.MustCompile(`^line (\d+): `)

var unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)

// syntaxError puts an error of the YAML library into words, with its place in the file. start is where the document's text
// begins there.
func syntaxError(err error, text string, ln lines, start int, limits Limits) error {
	line, msg := errorLine(err)
	at := func(off int) uint32 { return uint32(start + off) }
	if strings.HasPrefix(msg, "exceeded max depth") {
		return &documentError{Bounds, at(0), fmt.Sprintf("nested more than %d levels deep; flatten it", limits.Depth)}
	}
	if m := unknownAnchor.FindStringSubmatch(msg); m != nil {
		off := max(strings.Index(text, "*"+m[1]), 0)
		return &documentError{Syntax, at(off), fmt.Sprintf("*%s is an alias, but no anchor &%s stands before it in the document; add the anchor, or quote the value", m[1], m[1])}
	}
	if msg == "control characters are not allowed" {
		off := max(strings.IndexFunc(text, isControl), 0)
		r, _ := utf8.DecodeRuneInString(text[off:])
		return &documentError{Syntax, at(off), fmt.Sprintf("the control character U+%04X cannot stand in YAML; remove it", r)}
	}
	plain := msg + "; correct it"
	for _, w := range wordings {
		if !strings.HasPrefix(msg, w.library) {
			continue
		}
		plain = w.plain
		if w.parser {
			// The library names the line before; and of a collection, the first. The reader that kubectl uses knows where the
			// fault is.
			if _, kubectl := sigsyaml.YAMLToJSON([]byte(text)); kubectl != nil {
				if n, same := errorLine(kubectl); same == msg {
					line = n
				}
			}
			line++
		}
		break
	}
	off := int(ln.offset(max(line, 1), 1))
	off += len(text[off:]) - len(strings.TrimLeft(text[off:], " \t"))
	return &documentError{Syntax, at(min(off, len(text))), plain}
}

// errorLine takes a line number from the front of an error of the YAML library, 0 if it has none.
func errorLine(err error) (line int, msg string) {
	msg = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlErrorLine.FindStringSubmatch(msg); m != nil {
		if n, convErr := strconv.Atoi(m[1]); convErr == nil {
			return n, strings.TrimPrefix(msg, m[0])
		}
	}
	return 0, msg
}

// isControl says whether YAML refuses a character.
func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0 && r != '\u0085' || r == 0xfffe || r == 0xffff
}

// jsonForYAML rewrites a JSON document into one that YAML can read, with every value where it was: YAML knows neither the
// escape \/ nor those for the halves of a character beyond the first plane, refuses some characters in strings, and wants a
// colon on the line of its key. It returns "" for anything but JSON. Strings must be read from the original.
func jsonForYAML(text string) string {
	body := strings.TrimPrefix(text, "---")
	if t := strings.TrimLeft(body, " \t\r\n"); t == "" || t[0] != '{' && t[0] != '[' || !utf8.ValidString(text) || !json.Valid([]byte(body)) {
		return ""
	}
	out := []byte(text)
	stringEnd := 0 // behind the string that a colon may belong to
	for i := len(text) - len(body); i < len(out); i++ {
		switch out[i] {
		case '"':
			i = readableString(out, i+1)
			stringEnd = i + 1
		case ':':
			out[i], out[stringEnd] = out[stringEnd], ':'
		}
	}
	return string(out)
}

// readableString makes the string whose text begins at i readable to YAML, and returns the offset of its closing quote.
func readableString(out []byte, i int) int {
	for ; out[i] != '"'; i++ {
		switch c := out[i]; {
		case c == '\\':
			switch i++; out[i] {
			case '/':
				out[i] = '\\'
			case 'u':
				if hex := strings.ToLower(string(out[i+1 : i+3])); hex >= "d8" && hex <= "df" {
					copy(out[i+1:], "fffd")
				}
			}
		case c >= 0x7f:
			r, size := utf8.DecodeRune(out[i:])
			if isControl(r) || isBreakRune(r) || r == '\ufeff' {
				copy(out[i:], [...]string{1: "?", 2: "\u00e9", 3: "\ufffd"}[size])
			}
			i += size - 1
		}
	}
	return i
}

// jsonValues cuts a text of several JSON objects without markers between them, as jq writes and kubectl reads. It returns nil
// for anything else.
func jsonValues(text string, offset int) []piece {
	if t := strings.TrimLeft(text, " \t\r\n"); !strings.HasPrefix(t, "{") {
		return nil
	}
	var out []piece
	dec := json.NewDecoder(strings.NewReader(text))
	for {
		var raw json.RawMessage
		switch err := dec.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			return nil
		}
		to := int(dec.InputOffset())
		out = append(out, piece{start: offset + to - len(raw), end: offset + to})
	}
}
