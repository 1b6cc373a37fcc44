package object

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestHostile holds that input made to be costly is refused with a clear problem, or read, in bounded time. Every text names a
// kind that is judged, and is as large as a document may be where size is what matters.
func TestHostile(t *testing.T) {
	const size = 3<<20 - 1000
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	long := strings.Repeat("x ", size/4)
	aliases := "kind: ServiceEntry\na: &a [x]\n"
	for c := 'b'; c <= 'z'; c++ {
		aliases += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 8), c-1)
	}
	merges, emptyMerges := "kind: ServiceEntry\na: &a {x: y}\n", "kind: ServiceEntry\na: &a {}\n"
	for c := 'b'; c <= 'z'; c++ {
		line := fmt.Sprintf("%c: &%c {<<: [%s*%c]}\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 8), c-1)
		merges, emptyMerges = merges+line, emptyMerges+line
	}
	var staircase strings.Builder
	for i := range 2000 {
		staircase.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	tests := []struct {
		name, text string
		want       string // part of the summary
	}{
		{"aliases multiply", aliases, "bounds at 6:28: document 1 cannot be read: its aliases and merge keys multiply it more than 10 times; write the values out"},
		{"merge keys multiply", merges, "its aliases and merge keys multiply it more than 10 times; write the values out"},
		{"merge keys of nothing multiply", emptyMerges, "its aliases and merge keys multiply it more than 10 times; write the values out"},
		{"anchor that contains itself", "kind: ServiceEntry\na: &a [b, *a]\n", "syntax at 2:11: document 1 cannot be read: an alias or merge key leads back to where it stands; remove it"},
		{"mapping that merges itself", "kind: ServiceEntry\na: &a {<<: *a}\n", "syntax at 2:8: document 1 cannot be read: an alias or merge key leads back to where it stands; remove it"},
		{"mapping that merges what it stands in", "kind: ServiceEntry\na: &a\n  b: {<<: *a, b: 1}\n", "syntax at 3:7: document 1 cannot be read: an alias or merge key leads back to where it stands; remove it"},
		{"mappings that merge each other", "kind: ServiceEntry\na: &a {b: &b {<<: *a}}\n", "leads back to where it stands"},
		{"long text behind an alias", "kind: ServiceEntry\na: &a '" + long + "'\nb: [" + strings.Repeat("*a, ", 9000) + "]\n", "linted"},
		{"long text merged", "kind: ServiceEntry\na: &a {b: '" + long + "'}\nl: [" + strings.Repeat("{<<: *a}, ", 2000) + "]\n", "linted"},
		{"long key merged", "kind: ServiceEntry\na: &a {? '" + long + "' : b}\nl: [" + strings.Repeat("{<<: *a}, ", 2000) + "]\n", "linted"},
		{"long merge of what is overridden", "kind: ServiceEntry\na: &a {<<: {b: [" + strings.Repeat("x, ", 300000) + "]}, b: c}\nl: [" + strings.Repeat("{<<: *a}, ", 2000) + "]\n", "linted"},
		{"aliases on one long line", "kind: ServiceEntry\na: {b: &b [c], d: [\u00e9, " + strings.Repeat("*b, ", 9000) + long + "]}\n", "linted"},
		{"brackets", "kind: ServiceEntry\na: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "bounds at 2:104: document 1 cannot be read: nested more than 100 levels deep; flatten it"},
		{"brackets beyond the library's own bound", "kind: ServiceEntry\na: " + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), "bounds at 1:1: document 1 cannot be read: nested more than 100 levels deep; flatten it"},
		{"open brackets", "kind: ServiceEntry\na: " + fill("["), "holds more than 1000000 values; split it"},
		{"open braces", "kind: ServiceEntry\na: " + fill("{"), "holds more than 1000000 values; split it"},
		{"dashes", "kind: ServiceEntry\na:\n" + strings.Repeat("- ", 900_000), "nested more than 100 levels deep; flatten it"},
		{"staircase", staircase.String() + "kind: ServiceEntry\n", "nested more than 100 levels deep; flatten it"},
		{"comments", "kind: ServiceEntry\n" + fill("# x\n"), "linted"},
		{"comments between levels", "kind: ServiceEntry\na:\n" + strings.Repeat("- ", 5000) + "b\n" + strings.Repeat(" #\n#\n", 400_000), "bounds at 1:1: document 1 cannot be read: holds too many comments (800000) for how deep it is nested; remove comments, or split it"},
		{"commented list items", "kind: ServiceEntry\na:\n" + fill("- #\n"), "holds more than 1000000 values; split it"},
		{"list items", "kind: ServiceEntry\na:\n" + fill("-\n"), "holds more than 1000000 values; split it"},
		{"explicit keys", "kind: ServiceEntry\n" + fill("? \n"), "holds more than 1000000 values; split it"},
		{"flow items", "kind: ServiceEntry\na: [" + fill("b,") + "]", "holds more than 1000000 values; split it"},
		{"flow keys", "kind: ServiceEntry\na: {" + fill("b,") + "}", "holds more than 1000000 values; split it"},
		{"many keys", "kind: ServiceEntry\n" + numbered("k%d: v\n"), "linted"},
		{"same keys", "kind: ServiceEntry\n" + fill("k: v\n"), `key "k" is already set on line 2`},
		{"many anchors", "kind: ServiceEntry\na:\n" + numbered("- &k%d v\n"), "linted"},
		{"numbers", "kind: ServiceEntry\na:\n" + fill("- 0x1f\n"), "linted"},
		{"one long word", "kind: ServiceEntry\na: " + fill("x"), "linted"},
		{"one long line", "kind: ServiceEntry\na: " + fill("x "), "linted"},
		{"one long quoted line", "kind: ServiceEntry\na: \"" + fill("\\n ") + "\"", "linted"},
		{"one line of many values", "{kind: ServiceEntry, a: [\u00e9, " + fill("'abcd',") + "]}", "linted"},
		{"many lines of one value", "kind: ServiceEntry\na: b\n" + fill(" b\n"), "linted"},
		{"blank lines", "kind: ServiceEntry\na: b\n" + fill("\n") + " c\n", "linted"},
		{"block scalar", "kind: ServiceEntry\na: |\n" + fill(" b\n"), "linted"},
		{"percent signs", fill("%\n") + "---\nkind: ServiceEntry\n", "a line that begins with % is a directive; remove it, or quote the value"},
		{"backslashes", "kind: ServiceEntry\na: '" + fill(`\a`) + "'", "linted"},
		{"exclamation marks", "kind: Pod # Service\na: '" + fill("!a") + "'", "other"},
		{"long group", "kind: ServiceEntry\napiVersion: " + fill("x") + "/v1\n", "other"},
		{"documents", strings.Repeat("---\na: b\n", 50_000) + "---\nkind: ServiceEntry\n", "bounds at 100001:1: has more than 50000 documents; split it"},
		{"empty documents", strings.Repeat("---\n", 8<<20-100) + "kind: ServiceEntry\n", "bounds at 50001:1: has more than 50000 documents; split it"},
		{"broken documents", strings.Repeat("---\nkind: ServiceEntry\na: 'b\n", 2000), "document 2000 cannot be read: a quoted string is not closed"},
		{"documents with duplicate keys", strings.Repeat("---\nkind: ServiceEntry\na: b\na: c\n#"+strings.Repeat(" ", 500)+"\n", 49_000), "document 49000 cannot be read: key \"a\" is already set on line 244998"},
		{"JSON objects", strings.Repeat(`{"kind":"ServiceEntry"}`, 50_001), "bounds at 1:1150001: has more than 50000 documents; split it"},
		{"list items of a List", "kind: List\nitems:\n" + strings.Repeat("- kind: ServiceEntry\n", 20_001), "bounds at 3:1: document 1 cannot be read: its List holds more than 20000 items; split it"},
	}
	// The bound is generous to a busy machine; what is quadratic takes a minute and more.
	const bound = 60 * time.Second
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.text
			if strings.HasPrefix(tt.want, "linted") && !strings.Contains(text, "apiVersion") {
				text = strings.Replace(text, "kind: ServiceEntry", "kind: ServiceEntry, apiVersion: networking.istio.io/v1", 1)
				if !strings.HasPrefix(text, "{") {
					text = strings.Replace(text, ", apiVersion", "\napiVersion", 1)
				}
			}
			start := time.Now()
			f, err := Load(t.Context(), "test.yaml", strings.NewReader(text), Limits{ObjectItems: 1 << 20}) // what rules could not cope with is no burden here
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			t.Logf("%d KiB in %v", len(text)>>10, took.Round(time.Millisecond))
			if got := summary(f); !strings.Contains(got, tt.want) {
				t.Errorf("got %.300q, want %q", got, tt.want)
			}
			if took > bound {
				t.Errorf("took %v, bound %v", took, bound)
			}
		})
	}
}

// zeros is an endless text without manifests.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left, 1000)
	for i := range n {
		p[i] = '0'
	}
	z.left -= n
	return n, nil
}

// TestOversizeMemory holds that a file of 200 MiB, which is a quarter of a second, costs no more memory than one of the largest
// that is read.
func TestOversizeMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := Load(context.Background(), "big.yaml", io.MultiReader(&zeros{200 << 20}, strings.NewReader("\nkind: ServiceEntry\n")), Limits{FileBytes: 1 << 20})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if want := "broken, 0 documents\nbounds at 0:0: is larger than 1 MiB; split it\n"; summary(f) != want {
		t.Errorf("got %q, want %q", summary(f), want)
	}
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 16 {
		t.Errorf("allocated %d MiB for a file that is not kept", used)
	}
}
