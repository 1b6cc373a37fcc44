package report

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// replacement stands for what is not let through to a terminal or log.
const replacement = '\uFFFD'

// acts says whether a rune does something to a terminal or to the order of text rather than show: control characters of both
// sets, line and paragraph separators, and format characters, of which the bidirectional ones can make a line read as another.
// Zero-width joiners are let through, because Persian, Hindi and emoji are not written without them.
func acts(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0xad || r == '\u200c' || r == '\u200d':
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// clean makes text of the input fit for one line of a terminal or log: white space of any kind but the blank becomes a blank,
// and what acts becomes U+FFFD, and so does the second # of a logging command (##[error], ##vso[…], ##teamcity[…]), which CI
// systems obey wherever in a line it stands. The result has as many runes as s.
func clean(s string) string { return cleaned(s, ' ') }

// cleaned is clean with a choice of what becomes of tabs.
func cleaned(s string, tab rune) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + utf8.UTFMax)
	for i, r := range s {
		switch {
		case r == '\t':
			r = tab
		case r == '\n' || r == '\r':
			r = ' '
		case acts(r), r == '#' && i > 0 && s[i-1] == '#' && opensCommand(s[i+1:]):
			r = replacement
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '#' {
			return false
		}
	}
	return true
}

// opensCommand says whether a logging command is what follows its ##.
func opensCommand(s string) bool {
	name := strings.TrimLeftFunc(s, unicode.IsLetter)
	return strings.HasPrefix(name, "[")
}

// cleanName is clean for file names, which begin lines and are followed by a colon. A runner of GitHub Actions obeys a line
// whose first characters, white space aside, are two colons, so a file whose name would make such a line is called by the same
// name with a folder.
func cleanName(name string) string {
	name = clean(name)
	if beginsCommand(name + ":") {
		return "./" + name
	}
	return name
}

func beginsCommand(s string) bool {
	return strings.HasPrefix(strings.TrimLeftFunc(s, unicode.IsSpace), "::")
}

// escapeJSON writes the runes of encoded JSON that act as \u escapes, and the second # of what could be a logging command: the
// same document, fit to be shown.
func escapeJSON(doc []byte) []byte {
	const hex = "0123456789abcdef"
	escape := func(out []byte, unit rune) []byte {
		return append(out, '\\', 'u', hex[unit>>12&15], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
	}
	var out []byte
	kept := 0 // doc[:kept] is in out
	for i := 0; i < len(doc); {
		r, size := rune(doc[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(doc[i:])
		}
		// Below 0x7f, what acts is either escaped by the encoder or its own layout.
		if r >= 0x7f && acts(r) || r == '#' && i > 0 && doc[i-1] == '#' {
			out = append(out, doc[kept:i]...)
			if hi, lo := utf16.EncodeRune(r); hi != replacement {
				out = escape(escape(out, hi), lo)
			} else {
				out = escape(out, r)
			}
			kept = i + size
		}
		i += size
	}
	if kept == 0 {
		return doc
	}
	return append(out, doc[kept:]...)
}
