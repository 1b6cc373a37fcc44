package object

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAbridge(t *testing.T) {
	if s := strings.Repeat("x", maxMessage); Abridge(s) != s {
		t.Error("a text of the greatest length is cut")
	}
	for _, unit := range []string{"x", "é", "日", "😀", "\xff", "\x80"} {
		text := "begin " + strings.Repeat(unit, 50_000) + " end"
		got := Abridge(text)
		if len(got) > maxMessage || len(got) < maxMessage/2 || !strings.HasPrefix(got, "begin ") || !strings.HasSuffix(got, " end") || !strings.Contains(got, unit+" […] ") {
			t.Errorf("%q: %d bytes: %q", unit, len(got), got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q is cut in the middle of a character", unit)
		}
	}
}
