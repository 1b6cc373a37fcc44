package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meshvet/meshvet/lint/object"
)

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("a", 300)
	for _, c := range []struct {
		name       string
		text       string // the mark is what stands between « and »
		line, mark string // as shown; the mark is what stands above the caret and tildes
	}{
		{"plain", "  resolution: «NONE»", "  resolution: NONE", "NONE"},
		{"start of line", "«kind»: x", "kind: x", "kind"},
		{"end of line", "kind:«»", "kind:", ""},
		{"wide before", `  owner: "決済" # «x» y`, `  owner: "決済" # x y`, "x"},
		{"wide inside", "a: «決済» b", "a: 決済 b", "決済"},
		{"combining", "a: e\u0301 «x»", "a: e\u0301 x", "x"},
		{"tab before", "\ta:\t«x»\tb", "    a:  x   b", "x"},
		{"tab inside", "a: «x\ty» z", "a: x    y z", "x    y"},
		{"controls", "a: \x1b[31m«x\u202ey» z", "a: �[31mx�y z", "x�y"},
		{"command across the seam", "a: #«#[error]»x", "a: #�[error]x", "�[error]"},
		{"invalid UTF-8", "a: \xff\xfe «x» z", "a: �� x z", "x"},
		{"just fits", strings.Repeat("a", 94) + " «x» bcd", strings.Repeat("a", 94) + " x bcd", "x"},
		{"cut on the right", "«x»" + long, "x" + strings.Repeat("a", 99) + "…", "x"},
		{"cut on the left", long + "«x»", "…" + strings.Repeat("a", 33) + "x", "x"},
		{"cut on both sides", long + "«x»" + long, "…" + strings.Repeat("a", 33) + "x" + strings.Repeat("a", 66) + "…", "x"},
		{"cut mark", "b: «" + long + "» c", "b: " + strings.Repeat("a", 50) + "…", strings.Repeat("a", 50)},
		{"cut wide", strings.Repeat("決", 60) + "«x»", "…" + strings.Repeat("決", 16) + "x", "x"},
		{"zero width", strings.Repeat("\u0301", 500) + "«x»", "…" + strings.Repeat("\u0301", 33) + "x", "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, rest, _ := strings.Cut(c.text, "«")
			marked, after, _ := strings.Cut(rest, "»")
			x := cut(before, marked, after)
			if x.line != c.line {
				t.Errorf("line %q, want %q", x.line, c.line)
			}
			if x.width != max(1, cells.StringWidth(c.mark)) {
				t.Errorf("the mark is %d wide, want that of %q", x.width, c.mark)
			}
			at := strings.LastIndex(x.line, c.mark)
			if c.mark == "" {
				at = len(x.line)
			}
			if c.name == "wide before" || c.name == "tab before" {
				at = strings.Index(x.line, "x")
			}
			if want := cells.StringWidth(x.line[:at]); c.mark != "a" && x.pad != want {
				t.Errorf("the mark is at column %d, want %d: %q", x.pad, want, x.line)
			}
		})
	}
}

func TestExcerpterAt(t *testing.T) {
	text := "apiVersion: networking.istio.io/v1\r\nkind: ServiceEntry\r\nmetadata:\r\n  name: a\r\nspec:\r\n  hosts: [é.example, b.example]\r\n"
	sources := map[string]*object.File{"a.yaml": load(t, "a.yaml", text)}
	for _, c := range []struct {
		name             string
		file             string
		line, col        int
		endLine, endCol  int
		want, underlined string
		none             bool
	}{
		{name: "value", file: "a.yaml", line: 6, col: 11, endLine: 6, endCol: 20, want: "  hosts: [é.example, b.example]", underlined: "é.example"},
		{name: "to the line's end", file: "a.yaml", line: 5, col: 1, endLine: 6, endCol: 3, want: "spec:", underlined: "spec:"},
		{name: "beyond the line", file: "a.yaml", line: 5, col: 40, endLine: 5, endCol: 44, want: "spec:", underlined: ""},
		{name: "no such line", file: "a.yaml", line: 60, col: 1, endLine: 60, endCol: 2, want: "", underlined: ""},
		{name: "end before start", file: "a.yaml", line: 5, col: 3, endLine: 4, endCol: 1, want: "spec:", underlined: "ec:"},
		{name: "negative column", file: "a.yaml", line: 5, col: -3, endLine: 5, endCol: -9, want: "spec:", underlined: ""},
		{name: "no position", file: "a.yaml", none: true},
		{name: "no file", file: "b.yaml", line: 1, col: 1, none: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := excerpter{sources: sources}
			x, ok := e.at(object.Location{File: c.file, Range: object.Range{
				Start: object.Pos{Line: c.line, Col: c.col}, End: object.Pos{Line: c.endLine, Col: c.endCol},
			}})
			if ok == c.none {
				t.Fatalf("ok = %t", ok)
			}
			if c.none {
				return
			}
			if x.line != c.want {
				t.Errorf("line %q, want %q", x.line, c.want)
			}
			if want := max(1, cells.StringWidth(c.underlined)); x.width != want {
				t.Errorf("width %d, want %d", x.width, want)
			}
			if i := strings.Index(x.line, c.underlined); c.underlined != "" && x.pad != utf8.RuneCountInString(x.line[:i]) {
				t.Errorf("the mark is at column %d, want that of %q", x.pad, c.underlined)
			}
		})
	}
}

// The position that is kept between excerpts must not show: any order gives what each alone gives.
func TestExcerpterInAnyOrder(t *testing.T) {
	const name = "line.json"
	sources := map[string]*object.File{name: load(t, name, fixtureFiles["egress/line.json"])}
	at := func(col int) object.Location {
		return object.Location{File: name, Range: object.Range{Start: object.Pos{Line: 1, Col: col}, End: object.Pos{Line: 1, Col: col + 4}}}
	}
	shared := excerpter{sources: sources}
	for _, col := range []int{1, 200, 300, 300, 10, 350, 2} {
		alone := excerpter{sources: sources}
		want, _ := alone.at(at(col))
		if got, _ := shared.at(at(col)); got != want {
			t.Errorf("column %d: %+v, want %+v", col, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		name, in string
		width    int
		want     []string
	}{
		{"nothing", " ", 10, nil},
		{"short", "a b", 10, []string{"a b"}},
		{"words", "one two three four", 9, []string{"one two", "three", "four"}},
		{"long word", "a verylongword b", 5, []string{"a", "verylongword", "b"}},
		{"wide", "決済 連携 基盤", 9, []string{"決済 連携", "基盤"}},
		{"commands", "one two ::error::x ::y z", 8, []string{"one two ::error::x ::y", "z"}},
	} {
		got := wrap(c.in, c.width)
		if strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
