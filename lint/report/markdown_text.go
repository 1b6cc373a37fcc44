package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// breaker is a space of no width. It stands after what would begin a mention, a reference or a link, written as a reference too, so that
// nothing invisible is in the source.
const breaker = "&#8203;"

// markdownText makes text of the input fit for a line of Markdown and for a cell of a table. A line must not begin with it.
//
// Markup becomes character references, which are never markup, neither in Markdown nor in HTML. That is not enough where a service looks for
// more in the text that comes out, as GitHub and GitLab do: mentions (@user, @org/team), which notify people; references (#12, GH-12, org/repo#1,
// and GitLab's !1, $1, &1, ~label, %milestone, ^alert#1, [vulnerability:1] and *iteration:1), which link back; bare addresses; and :emoji:. These are
// broken in two.
func markdownText(s string) string { return escapeMarkdown(clean(s), false) }

// escapeMarkdown does the work of markdownText and markdownCode. code says that the text is marked as code, where nothing is an emoji.
func escapeMarkdown(s string, code bool) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	before := ' '
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch {
		case r == '_' && isWord(before) && isWord(after):
			b.WriteByte('_') // within a word it is no markup, and names of Envoy's fields are full of it
		case r == '.' && endsWithFold(s[:i], "www"):
			b.WriteString(breaker + ".")
		case strings.ContainsRune("\\`*_[]<>&|~$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
		if breaksAfter(r, s[:i], s[i+utf8.RuneLen(r):]) || r == ':' && !code && emoji.MatchString(s[i:]) {
			b.WriteString(breaker)
		}
		before = r
	}
	return b.String()
}

// breaksAfter says whether r begins something that a service would make a reference or a link of.
func breaksAfter(r rune, before, after string) bool {
	next, _ := utf8.DecodeRuneInString(after)
	switch r {
	case '@', '#', '!', '$', '&', '~', '%', '^':
		return isWord(next) || strings.ContainsRune(`"'_{`, next)
	case '[', '*':
		return unicode.IsLetter(next)
	case '-':
		return endsWithFold(before, "gh") && unicode.IsDigit(next)
	case ':':
		return strings.HasPrefix(after, "//")
	}
	return false
}

// emoji is the name of an emoji, which services may have as an image. Numbers between colons are ports and lines.
var emoji = regexp.MustCompile(`^:[0-9+-]*[A-Za-z_][A-Za-z0-9_+-]*:`)

// markdownCode is markdownText as code. A span in backticks would be shorter, but what may stand in one differs between tables and text.
func markdownCode(s string) string { return "<code>" + escapeMarkdown(clean(s), true) + "</code>" }

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// endsWithFold says whether s ends with a word of ASCII letters, in capitals or not.
func endsWithFold(s, word string) bool {
	return len(s) >= len(word) && strings.EqualFold(s[len(s)-len(word):], word)
}
