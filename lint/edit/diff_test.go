package edit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// applied makes the change of a diff with one of the tools that take them, and returns the outcome.
func applied(t *testing.T, tool []string, name, before, diff string) string {
	t.Helper()
	if _, err := exec.LookPath(tool[0]); err != nil {
		t.Skipf("%s is not installed", tool[0])
	}
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tool[0], tool[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s\n%s", tool, err, out, diff)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(after)
}

var tools = [][]string{{"patch", "-p1", "--no-backup-if-mismatch"}, {"git", "apply", "--whitespace=nowarn", "-"}}

func TestDiffApplies(t *testing.T) {
	long := func(change ...int) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, "line %d\n", i/2)
			for _, c := range change {
				if c == i {
					b.WriteString("more\n")
				}
			}
		}
		return b.String()
	}
	for what, c := range map[string]struct{ name, before, after string }{
		"a line":                  {"a.yaml", "a\nb\nc\n", "a\nx\nc\n"},
		"all of it":               {"a.yaml", "a\n", "b\n"},
		"first and last":          {"a.yaml", long(), "x\n" + long() + "y\n"},
		"near ones":               {"a.yaml", long(), long(10, 16)},
		"far ones":                {"a.yaml", long(), long(10, 18, 50)},
		"no last line end":        {"a.yaml", "a\nb", "a\nc"},
		"a last line end comes":   {"a.yaml", "a\nb", "a\nb\n"},
		"a last line end goes":    {"a.yaml", "a\nb\n", "a\nb"},
		"behind no last line end": {"a.yaml", "a\nb", "a\nb\nc"},
		"CRLF":                    {"a.yaml", "a\r\nb\r\nc\r\n", "a\r\nb\r\nx\r\nc\r\n"},
		"from nothing":            {"a.yaml", "", "a\n"},
		"to a line":               {"a.yaml", "a\nb\nc\n", "b\n"},
		"lines like a head":       {"a.yaml", "-- x\n++ y\na\n", "++ y\na\n-- z\n"},
		"lines like a hunk":       {"a.yaml", "@@ -1 +1 @@\na\n", "a\n@@ -1 +1 @@\n"},
		"folder":                  {"a/b/c.yaml", "a\n", "b\n"},
		"blank in the name":       {"a b/c d.yaml", "a\n", "b\n"},
		"quotes in the name":      {`a"b\c.yaml`, "a\n", "b\n"},
		"line end in the name":    {"a\n--- b\t.yaml", "a\n", "b\n"},
		"name not in ASCII":       {"h\u00e9/\u65e5.yaml", "a\n", "b\n"},
		"name not in UTF-8":       {"h\xff.yaml", "a\n", "b\n"},
	} {
		for _, tool := range tools {
			t.Run(what+"/"+tool[0], func(t *testing.T) {
				diff := Diff(c.name, c.before, c.after)
				if got := applied(t, tool, c.name, c.before, diff); got != c.after {
					t.Errorf("got %q, want %q, from\n%s", got, c.after, diff)
				}
			})
		}
	}
	if d := Diff("a", "b\n", "b\n"); d != "" {
		t.Errorf("the diff of the same is %q", d)
	}
}

func TestRandomDiffsApply(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var before, after []string
		for range rng.IntN(200) {
			line := fmt.Sprintf("%d\n", rng.IntN(30))
			if rng.IntN(10) > 0 {
				before = append(before, line)
			}
			if rng.IntN(10) > 0 {
				after = append(after, line)
			}
		}
		b, a := strings.Join(before, ""), strings.Join(after, "")
		if rng.IntN(2) == 0 {
			b = strings.TrimSuffix(b, "\n")
		}
		if rng.IntN(2) == 0 {
			a = strings.TrimSuffix(a, "\n")
		}
		diff := Diff("a", b, a)
		if diff == "" {
			continue
		}
		for _, tool := range tools {
			if a == "" && tool[0] == "patch" {
				continue // removes the file
			}
			if got := applied(t, tool, "a", b, diff); got != a {
				t.Errorf("%v gives %q, want %q, from\n%s", tool, got, a, diff)
			}
		}
	}
}

func TestDiffText(t *testing.T) {
	got := Diff("dir/a b.yaml", "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nx\ne\nf")
	want := "--- a/dir/a b.yaml\t\n+++ b/dir/a b.yaml\t\n@@ -1,6 +1,6 @@\n a\n b\n c\n-d\n+x\n e\n-f\n+f\n\\ No newline at end of file\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestDiffIsLinear diffs a file of 50,000 documents of which each has a change.
func TestDiffIsLinear(t *testing.T) {
	var before, after strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&before, "---\nname: %d\nspec:\n  host: a\n  mode: b\n", i)
		fmt.Fprintf(&after, "---\nname: %d\nspec:\n  host: a\n", i)
	}
	if d := Diff("a", before.String(), after.String()); strings.Count(d, "\n-") != 50_000 {
		t.Errorf("%d lines are removed, want 50000", strings.Count(d, "\n-"))
	}
}
