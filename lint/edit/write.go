package edit

import (
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/meshvet/meshvet/lint/object"
)

// style is how a document is written, as far as what is added to it should look alike.
type style struct {
	nl       string // line end
	step     int    // columns by which a mapping stands to the right of its key
	listStep int    // the same of a list, 0 if its dashes stand below the key
	quote    byte   // for strings that need quotes
	json     bool   // strings and keys have double quotes, whatever they are
	pretty   bool   // JSON with each value on a line of its own
	colon    string // in flow style, between key and value
	comma    string // in flow style on one line, between values
}

// keyOrder is the order in which people write the fields that begin a mapping; all others follow by name.
var keyOrder = []string{
	"apiVersion", "kind", "metadata", "spec", "number", "name", "namespace", "protocol", "targetPort", "host", "hosts", "address", "addresses",
	"ports", "mode", "port",
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	rank := func(k string) int {
		if i := slices.Index(keyOrder, k); i >= 0 {
			return i
		}
		return len(keyOrder)
	}
	sort.Slice(keys, func(i, j int) bool {
		if a, b := rank(keys[i]), rank(keys[j]); a != b {
			return a < b
		}
		return keys[i] < keys[j]
	})
	return keys
}

// isBlock says whether a value is written on lines of its own in block style: a mapping or list that is not empty.
func isBlock(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// block writes a mapping or list that is not empty in block style, with its keys or dashes at column col. The first line has no
// indentation, and the last no line end.
func (s *style) block(v any, col int) string {
	var lines []string
	pad := strings.Repeat(" ", col)
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			lines = append(lines, s.field(k, v[k], col))
		}
	case []any:
		for _, item := range v {
			lines = append(lines, s.item(item, col, 2))
		}
	}
	return strings.Join(lines, s.nl+pad)
}

// field writes a key with its value in block style at column col, without indentation of its first line.
func (s *style) field(key string, v any, col int) string {
	head := s.key(key, false) + ":"
	if !isBlock(v) {
		return head + " " + s.inline(v, 0, false)
	}
	at := col + s.step
	if _, isList := v.([]any); isList {
		at = col + s.listStep
	}
	return head + s.nl + strings.Repeat(" ", at) + s.block(v, at)
}

// item writes a list item in block style with its dash at column col, and its value at width columns from that.
func (s *style) item(v any, col, width int) string {
	head := "-" + strings.Repeat(" ", width-1)
	if !isBlock(v) {
		return head + s.inline(v, 0, false)
	}
	return head + s.block(v, col+width)
}

func (s *style) key(k string, flow bool) string {
	if s.json {
		return jsonString(k)
	}
	return s.str(k, flow)
}

// inline writes a value on one line: a scalar, an empty mapping or list, or flow style. In pretty JSON it has several lines, of which
// indent is the column at which the first one begins.
func (s *style) inline(v any, indent int, flow bool) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		if s.json {
			return jsonString(v)
		}
		return s.str(v, flow)
	case map[string]any:
		var parts []string
		for _, k := range sortedKeys(v) {
			parts = append(parts, s.key(k, true)+s.colon+s.inline(v[k], indent+s.step, true))
		}
		return s.brackets("{", parts, "}", indent)
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, s.inline(item, indent+s.step, true))
		}
		return s.brackets("[", parts, "]", indent)
	}
	js, err := json.Marshal(v)
	if err != nil {
		return "null" // of a float that is not finite, which JSON never gave us
	}
	return string(js)
}

func (s *style) brackets(opening string, parts []string, closing string, indent int) string {
	if !s.pretty || len(parts) == 0 {
		return opening + strings.Join(parts, s.comma) + closing
	}
	inner := s.nl + strings.Repeat(" ", indent+s.step)
	return opening + inner + strings.Join(parts, ","+inner) + s.nl + strings.Repeat(" ", indent) + closing
}

// str writes a string, without quotes if it can stand so.
func (s *style) str(v string, flow bool) string {
	if canBePlain(v, flow) {
		return v
	}
	return s.quoted(v, s.quote)
}

// quoted writes a string in the given quotes, or in double ones where others cannot hold it.
func (s *style) quoted(v string, quote byte) string {
	if quote == '\'' && strings.IndexFunc(v, isOdd) < 0 {
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return jsonString(v)
}

// jsonString is v as JSON, which is also YAML in double quotes.
func jsonString(v string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return strconv.Quote(v)
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if isOdd(r) && r <= 0xffff { // JSON has these as they are; readers of YAML do not agree about them
			out.WriteString(`\u` + hex4(r))
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

func hex4(r rune) string {
	h := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", 4-len(h)) + h
}

// isOdd says whether a character should not stand in a manifest as it is.
func isOdd(r rune) bool { return r != ' ' && !unicode.IsPrint(r) || r == '\ufeff' || r == '\ufffd' }

// canBePlain says whether a string can stand without quotes, and any reader takes it for the string that it is.
func canBePlain(v string, flow bool) bool {
	if !object.PlainString(v) || strings.IndexFunc(v, isOdd) >= 0 {
		return false
	}
	switch c := v[0]; {
	case strings.IndexByte("-?:,[]{}#&*!|>'\"%@`= ", c) >= 0, v[len(v)-1] == ' ', v[len(v)-1] == ':':
		return false
	case strings.HasPrefix(v, "..."):
		return false
	}
	if strings.Contains(v, ": ") || strings.Contains(v, " #") || strings.Contains(v, "{{") || strings.Contains(v, "${") {
		return false
	}
	return !flow || !strings.ContainsAny(v, ",[]{}:?")
}
