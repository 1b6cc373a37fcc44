package dump

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// chunkBytes is how much is read at once, and how often the context and the limits are looked at.
const chunkBytes = 64 << 10

// scanner reads JSON from a stream, and knows at any time where it is. What is skipped is checked, but kept nowhere, however
// long it is; what is kept counts against the limits of a resource.
type scanner struct {
	ctx    context.Context
	in     io.Reader
	name   string
	limits Limits

	buf      []byte
	pos, end int   // what is not read yet is buf[pos:end]
	base     int64 // offset of buf[0]
	lines    int   // line breaks before buf[counted]
	counted  int
	failed   error // why there is no more input

	depth int
	tok   []byte            // the string or number read last
	names map[string]string // field names, each allocated once

	where func() string // what is being read, for messages

	// Of the resource that is being read.
	keeping   bool
	start     position
	values    int
	path      int64 // bytes of the path to where the scanner is
	pathBytes int64 // bytes of the paths of all scalars so far
}

type position struct {
	offset int64
	line   int
}

// namesKept bounds the table of field names; dumps have some hundred.
const (
	namesKept     = 4096
	nameBytesKept = 64
)

func newScanner(ctx context.Context, name string, in io.Reader, limits Limits) *scanner {
	return &scanner{
		ctx: ctx, in: in, name: name, limits: limits, buf: make([]byte, chunkBytes), names: map[string]string{},
		where: func() string { return "the JSON" },
	}
}

func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

func (s *scanner) here() position {
	s.lines += bytes.Count(s.buf[s.counted:s.pos], []byte{'\n'})
	s.counted = s.pos
	return position{s.offset(), s.lines + 1}
}

func (s *scanner) errorAt(at position, problem Problem, what, remedy string) error {
	return &Error{Name: s.name, Offset: at.offset, Line: at.line, Problem: problem, What: what, Remedy: remedy}
}

func (s *scanner) syntax(format string, args ...any) error {
	return s.errorAt(s.here(), Syntax, "in "+s.where()+": "+fmt.Sprintf(format, args...), "write the dump again, without changes")
}

// char quotes the character at the place where the scanner is. One of several bytes may not be there as a whole.
func (s *scanner) char() string {
	c := s.buf[s.pos]
	if c >= utf8.RuneSelf {
		return "a character beyond ASCII"
	}
	return fmt.Sprintf("%q", c)
}

func (s *scanner) bounds(at position, what, remedy string) error {
	return s.errorAt(at, Bounds, what, remedy)
}

func (s *scanner) tooLarge() error {
	return s.bounds(s.start, fmt.Sprintf("%s is larger than %s", s.where(), size(s.limits.ResourceBytes)), "leave it out of the dump")
}

// fill reads the next chunk when all of the last is used up. Its error is io.EOF at the end of the text, and comes again.
func (s *scanner) fill() error {
	if s.failed != nil {
		return s.failed
	}
	s.here()
	s.base += int64(s.end)
	s.pos, s.end, s.counted = 0, 0, 0
	if s.failed = s.ctx.Err(); s.failed != nil {
		s.failed = fmt.Errorf("%s: %w", s.name, s.failed)
		return s.failed
	}
	if s.keeping && s.base-s.start.offset > s.limits.ResourceBytes {
		s.failed = s.tooLarge()
		return s.failed
	}
	return s.more()
}

// more appends to what is not read yet.
func (s *scanner) more() error {
	const emptyReads = 100
	for range emptyReads {
		n, err := s.in.Read(s.buf[s.end:])
		if n < 0 || n > len(s.buf)-s.end {
			n, err = 0, errors.New("the reader does not say how much it read")
		}
		s.end += n
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			s.failed = fmt.Errorf("%s: %w", s.name, err)
		case err != nil:
			s.failed = io.EOF
		}
		if s.base+int64(s.end) > s.limits.FileBytes {
			s.failed = s.bounds(s.here(), "is larger than "+size(s.limits.FileBytes),
				"write the kinds that matter into files of their own, with istioctl proxy-config cluster and listener")
			return s.failed
		}
		if n > 0 {
			return nil
		}
		if s.failed != nil {
			return s.failed
		}
	}
	s.failed = fmt.Errorf("%s: %w", s.name, io.ErrNoProgress)
	return s.failed
}

// prime reads what it takes to tell what the text is.
func (s *scanner) prime() error {
	const enough = 512
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	for s.end < enough {
		if err := s.more(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// passMark passes a byte order mark, if there is one, and returns false where only the beginning of one is. Whoever reads on meets
// the errors of reading.
func (s *scanner) passMark() bool {
	const mark = "\ufeff"
	if c, err := s.token(); err != nil || c != mark[0] {
		return true
	}
	for i := range len(mark) {
		if c, ok := s.peek(); !ok || c != mark[i] {
			return false
		}
		s.pos++
	}
	return true
}

// peek returns the next byte without passing it, or false when there is none. Why there is none is known to the next fill.
func (s *scanner) peek() (byte, bool) {
	if s.pos == s.end && s.fill() != nil {
		return 0, false
	}
	return s.buf[s.pos], true
}

// token passes white space and returns the byte after it, which it does not pass. Its error may be io.EOF.
func (s *scanner) token() (byte, error) {
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case ' ', '\t', '\n', '\r':
				s.pos++
			default:
				return c, nil
			}
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// ended makes the end of the text inside a value an error that says so.
func (s *scanner) ended(err error) error {
	if errors.Is(err, io.EOF) {
		return s.errorAt(s.here(), Truncated, "ends in the middle of "+s.where(), "was the output cut off? write the dump again")
	}
	return err
}

// inside is token within a value.
func (s *scanner) inside() (byte, error) {
	c, err := s.token()
	if err != nil {
		return 0, s.ended(err)
	}
	return c, nil
}

// one passes the next byte within a value.
func (s *scanner) one() (byte, error) {
	if s.pos == s.end {
		if err := s.fill(); err != nil {
			return 0, s.ended(err)
		}
	}
	c := s.buf[s.pos]
	s.pos++
	return c, nil
}

func (s *scanner) deeper() error {
	s.depth++
	if s.depth > s.limits.Depth {
		return s.bounds(s.here(), fmt.Sprintf("%s is nested more than %d levels deep", s.where(), s.limits.Depth), "leave it out of the dump")
	}
	return nil
}

// object reads an object. field reads the value of each field; it is given no name if keep is false.
func (s *scanner) object(keep bool, field func(name string) error) error {
	if err := s.open('{', "an object"); err != nil {
		return err
	}
	defer func() { s.depth-- }()
	c, err := s.inside()
	if err != nil {
		return err
	}
	if c == '}' {
		s.pos++
		return nil
	}
	for {
		if c != '"' {
			return s.syntax("a field name in quotes was expected, and not %s", s.char())
		}
		s.pos++
		raw, err := s.str(keep)
		if err != nil {
			return err
		}
		name := s.intern(raw)
		if c, err = s.inside(); err != nil {
			return err
		}
		if c != ':' {
			return s.syntax("a colon was expected, and not %s", s.char())
		}
		s.pos++
		if err := field(name); err != nil {
			return err
		}
		if c, err = s.inside(); err != nil {
			return err
		}
		switch c {
		case '}':
			s.pos++
			return nil
		case ',':
			s.pos++
		default:
			return s.syntax("a comma or the end of an object was expected, and not %s", s.char())
		}
		if c, err = s.inside(); err != nil {
			return err
		}
	}
}

// list reads a list. item reads each of its values, counted from 0.
func (s *scanner) list(item func(i int) error) error {
	if err := s.open('[', "a list"); err != nil {
		return err
	}
	defer func() { s.depth-- }()
	c, err := s.inside()
	if err != nil {
		return err
	}
	if c == ']' {
		s.pos++
		return nil
	}
	for i := 0; ; i++ {
		if err := item(i); err != nil {
			return err
		}
		if c, err = s.inside(); err != nil {
			return err
		}
		switch c {
		case ']':
			s.pos++
			return nil
		case ',':
			s.pos++
		default:
			return s.syntax("a comma or the end of a list was expected, and not %s", s.char())
		}
	}
}

func (s *scanner) open(bracket byte, what string) error {
	c, err := s.inside()
	if err != nil {
		return err
	}
	if c != bracket {
		return s.syntax("%s was expected, and not %s", what, s.char())
	}
	s.pos++
	return s.deeper()
}

// skip passes a value.
func (s *scanner) skip() error {
	c, err := s.inside()
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return s.object(false, s.skipField)
	case '[':
		return s.list(s.skipItem)
	case '"':
		s.pos++
		_, err := s.str(false)
		return err
	}
	return s.word(c, false)
}

func (s *scanner) skipField(string) error { return s.skip() }

func (s *scanner) skipItem(int) error { return s.skip() }

// resource reads an object as encoding/json would, with numbers as json.Number, within the limits of a resource.
func (s *scanner) resource() (map[string]any, error) {
	c, err := s.inside()
	if err != nil {
		return nil, err
	}
	s.start = s.here()
	if c != '{' {
		return nil, s.syntax("an object was expected, and not %s", s.char())
	}
	s.keeping, s.values, s.path, s.pathBytes = true, 0, 0, 0
	defer func() { s.keeping = false }()
	m, err := s.mapping()
	if err != nil {
		return nil, err
	}
	if s.offset()-s.start.offset > s.limits.ResourceBytes {
		return nil, s.tooLarge()
	}
	return m, nil
}

func (s *scanner) mapping() (map[string]any, error) {
	m := map[string]any{}
	return m, s.object(true, func(name string) error {
		if _, twice := m[name]; twice {
			return s.syntax("the field %s is there twice", excerpt(name))
		}
		length := int64(len(name)) + 1
		s.path += length
		v, err := s.value()
		s.path -= length
		m[name] = v
		return err
	})
}

func (s *scanner) value() (any, error) {
	s.values++
	if s.values > s.limits.Values {
		return nil, s.bounds(s.start, fmt.Sprintf("%s holds more than %d values", s.where(), s.limits.Values), "leave it out of the dump")
	}
	c, err := s.inside()
	if err != nil {
		return nil, err
	}
	switch c {
	case '{':
		return s.mapping()
	case '[':
		const index = 4 // bytes of [0] and a little
		s.path += index
		defer func() { s.path -= index }()
		items := []any{}
		err := s.list(func(int) error {
			v, err := s.value()
			items = append(items, v)
			return err
		})
		return items, err
	}
	s.pathBytes += s.path
	if s.pathBytes > s.limits.PathBytes {
		return nil, s.bounds(s.start, fmt.Sprintf("the field names of %s, written out for each value, are larger than %s", s.where(), size(s.limits.PathBytes)),
			"leave it out of the dump")
	}
	if c == '"' {
		s.pos++
		raw, err := s.str(true)
		return string(raw), err
	}
	if err := s.word(c, true); err != nil {
		return nil, err
	}
	switch c {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	case 'n':
		return nil, nil
	}
	return json.Number(s.tok), nil
}

// word reads a number, true, false or null, which begins with c.
func (s *scanner) word(c byte, keep bool) error {
	switch {
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case c == '-' || isDigit(c):
		return s.number(keep)
	}
	return s.syntax("a value was expected, and not %s", s.char())
}

func (s *scanner) literal(text string) error {
	for i := range len(text) {
		c, err := s.one()
		if err != nil {
			return err
		}
		if c != text[i] {
			s.pos--
			return s.syntax("%s was expected, but its letter %d is %s", text, i+1, s.char())
		}
	}
	return nil
}

// number leaves a number in tok.
func (s *scanner) number(keep bool) error {
	s.tok = s.tok[:0]
	take := func() {
		if keep {
			s.tok = append(s.tok, s.buf[s.pos])
		}
		s.pos++
	}
	digits := func() error {
		c, ok := s.peek()
		if !ok {
			return s.ended(s.failed)
		}
		if !isDigit(c) {
			return s.syntax("a digit was expected, and not %s", s.char())
		}
		for ; ok && isDigit(c); c, ok = s.peek() {
			take()
		}
		return nil
	}
	if c, ok := s.peek(); ok && c == '-' {
		take()
	}
	if c, ok := s.peek(); ok && c == '0' {
		take()
	} else if err := digits(); err != nil {
		return err
	}
	if c, ok := s.peek(); ok && c == '.' {
		take()
		if err := digits(); err != nil {
			return err
		}
	}
	if c, ok := s.peek(); ok && (c == 'e' || c == 'E') {
		take()
		if c, ok := s.peek(); ok && (c == '+' || c == '-') {
			take()
		}
		return digits()
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// str reads a string up to its closing quote. What it returns is overwritten by the next read.
func (s *scanner) str(keep bool) ([]byte, error) {
	s.tok = s.tok[:0]
	start := s.offset()
	var high rune // half of a pair of \u escapes
	for {
		i := s.pos
		for i < s.end && s.buf[i] != '"' && s.buf[i] != '\\' && s.buf[i] >= ' ' {
			i++
		}
		part := s.buf[s.pos:i]
		if i < s.end && s.buf[i] == '"' && high == 0 && len(s.tok) == 0 {
			s.pos = i + 1
			if !keep {
				return nil, nil
			}
			return valid(part), nil
		}
		if high != 0 && (len(part) > 0 || i < s.end && s.buf[i] != '\\') {
			s.add(keep, utf8.RuneError)
			high = 0
		}
		if keep {
			s.tok = append(s.tok, part...)
			switch {
			case int64(len(s.tok)) <= s.limits.ResourceBytes:
			case s.keeping:
				return nil, s.tooLarge()
			default:
				at := position{start, s.here().line} // no string goes over lines
				return nil, s.bounds(at, fmt.Sprintf("a text in %s is larger than %s", s.where(), size(s.limits.ResourceBytes)), "leave it out of the dump")
			}
		}
		s.pos = i
		if i == s.end {
			if err := s.fill(); err != nil {
				return nil, s.ended(err)
			}
			continue
		}
		switch c := s.buf[i]; c {
		case '"':
			s.pos++
			return valid(s.tok), nil
		case '\\':
			s.pos++
			r, unicode, err := s.escape()
			if err != nil {
				return nil, err
			}
			pair := rune(utf8.RuneError)
			if high != 0 && unicode {
				pair = utf16.DecodeRune(high, r)
			}
			switch {
			case pair != utf8.RuneError:
				s.add(keep, pair)
				high = 0
				continue
			case high != 0:
				s.add(keep, utf8.RuneError)
				high = 0
			}
			if unicode && utf16.IsSurrogate(r) {
				high = r
				continue
			}
			s.add(keep, r)
		default:
			return nil, s.syntax("a string has the control character %U in it", c)
		}
	}
}

func (s *scanner) add(keep bool, r rune) {
	if keep {
		s.tok = utf8.AppendRune(s.tok, r)
	}
}

// escape reads what follows a backslash; unicode says that it was written as \u.
func (s *scanner) escape() (r rune, unicode bool, err error) {
	c, err := s.one()
	if err != nil {
		return 0, false, err
	}
	switch c {
	case '"', '\\', '/':
		return rune(c), false, nil
	case 'b':
		return '\b', false, nil
	case 'f':
		return '\f', false, nil
	case 'n':
		return '\n', false, nil
	case 'r':
		return '\r', false, nil
	case 't':
		return '\t', false, nil
	case 'u':
		for range 4 {
			c, err := s.one()
			if err != nil {
				return 0, false, err
			}
			digit := bytes.IndexByte([]byte("0123456789abcdef"), c|0x20)
			if digit < 0 || c < '0' {
				s.pos--
				return 0, false, s.syntax("\\u is followed by %s, which is no hexadecimal digit", s.char())
			}
			r = r<<4 | rune(digit)
		}
		return r, true, nil
	}
	s.pos--
	return 0, false, s.syntax("a backslash is followed by %s", s.char())
}

// valid returns a text with each byte that is not UTF-8 replaced, as encoding/json does.
func valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return []byte(string([]rune(string(text))))
}

func (s *scanner) intern(name []byte) string {
	if known, ok := s.names[string(name)]; ok {
		return known
	}
	text := string(name)
	if len(s.names) < namesKept && len(text) <= nameBytesKept {
		s.names[text] = text
	}
	return text
}
