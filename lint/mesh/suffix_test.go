package mesh

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Suffixes are those of the patterns that cover a host.
func TestSuffixes(t *testing.T) {
	for _, h := range []Host{"a.b.c", "a", "", "*", "*.b.c", "*-a.b.c", "*a", "*.", "a..b", ".a", "a.", "10.0.0.1"} {
		var want []string
		for p := range h.labelPatterns {
			want = append(want, string(p[1:]))
		}
		if diff := cmp.Diff(want, slices.Collect(suffixesOf(h))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", h, diff)
		}
	}
}
