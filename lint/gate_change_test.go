package lint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

func TestDocumentChanges(t *testing.T) {
	for _, c := range []struct {
		name, before, now string
		told              string
		line              int
	}{
		{"nothing", "a: 1\nb: [x, {y: 1}]\n", "# more\nb:\n- x\n- y: 1\na: 1\n", "", 0},
		{"value", "rules: {A: error, B: off}\n", "rules:\n  B: off\n  A: off\n", "rules.A is off now, and was error", 3},
		{"another way to say it", "rules: {A: error}\n", "rules: {A: {severity: error}}\n", "rules.A is a mapping now, and was error", 1},
		{"deeper", "rules: {A: {severity: error}}\n", "rules: {A: {severity: info, options: {x: 2}}}\n", "rules.A.severity is info now, and was error; rules.A.options.x is 2 now, and was not set", 1},
		{"new key", "a: 1\n", "a: 1\nb: two\n", "b is two now, and was not set", 2},
		{"gone key", "a: 1\nb: {c: 2}\n", "a: 1\n", "b.c is not set any more, and was 2", 1},
		{"new mapping", "a: 1\n", "a: 1\nrules:\n  A: off\n  B: {severity: off}\n", "rules.A is off now, and was not set; rules.B.severity is off now, and was not set", 3},
		{"item", "a: 1\n", "a: 1\noverrides:\n- {paths: [x], rules: {A: off}}\n", `overrides holds {"paths":["x"],"rules":{"A":false}} now`, 2},
		{"list", "exclude: [a, b]\n", "exclude: [b, c, d]\n", "exclude holds c and d now", 1},
		{"shorter list", "exclude: [a, b]\n", "exclude: [b]\n", "exclude does not hold a any more", 1},
		{"order", "extends: [a, b]\n", "extends: [b, a]\n", "extends has another order", 1},
		{"new list", "a: 1\n", "a: 1\nexclude: [x]\n", "exclude holds x now", 2},
		{"type", "a: 1\n", "a: '1'\n", "a is 1 now, and was 1", 1},
		{"no mapping", "a: 1\n", "[x]\n", "is another document", 1},
		{"empty", "", "a: 1\n", "a is 1 now, and was not set", 1},
		{"emptied", "a: 1\n", "", "a is not set any more, and was 1", 0},
		{"many", "", "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\n",
			"a is 1 now, and was not set; b is 1 now, and was not set; c is 1 now, and was not set; d is 1 now, and was not set; e is 1 now, and was not set; and 2 more differences", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			told, at := lint.DocumentChanges(document(t, c.before), document(t, c.now))
			if told != c.told || c.line > 0 && at.Range.Start.Line != c.line {
				t.Errorf("%q at line %d\nwant %q at line %d", told, at.Range.Start.Line, c.told, c.line)
			}
		})
	}
}

func document(t *testing.T, text string) *object.Document {
	t.Helper()
	doc, problem := object.ParseDocument(".meshvet.yaml", []byte(text), object.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	return doc
}

// Whoever may write a configuration may make it long.
func TestLongDocumentChanges(t *testing.T) {
	var a, b strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&a, "- a%d\n", i)
		fmt.Fprintf(&b, "- b%d\n", i)
	}
	before, now := document(t, "exclude:\n"+a.String()), document(t, "exclude:\n"+b.String())
	start := time.Now()
	told, _ := lint.DocumentChanges(before, now)
	if want := "exclude holds b0, b1, b2, b3, b4 and more now"; told != want || time.Since(start) > 10*time.Second {
		t.Errorf("%q after %s", told, time.Since(start))
	}
}
