package object

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// places writes where Locate, LocateKey and Span find a path: the text of each, and the range of the first.
func places(o *Object, path string) string {
	p := ParsePath(path)
	l, k := o.Locate(p), o.LocateKey(p)
	out := fmt.Sprintf("%s %q", rangeText(l), o.file.textOf(l.Range))
	if k != l {
		out += fmt.Sprintf(" key %s %q", rangeText(k), o.file.textOf(k.Range))
	}
	if start, end, ok := o.Span(p); ok {
		if span := o.file.text[start:end]; span != o.file.textOf(l.Range) {
			out += fmt.Sprintf(" span %q", span)
		}
	}
	return out
}

func rangeText(l Location) string {
	s := fmt.Sprintf("%d:%d-%d:%d", l.Range.Start.Line, l.Range.Start.Col, l.Range.End.Line, l.Range.End.Col)
	if !l.Exact {
		s += " inexact"
	}
	return s
}

func (f *File) textOf(r Range) string {
	return f.text[f.lines.offset(r.Start.Line, r.Start.Col):f.lines.offset(r.End.Line, r.End.Col)]
}

// TestLocate gives for each document what its fields are found at. The first three lines of each document are its head.
func TestLocate(t *testing.T) {
	const head = "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nspec:\n"
	tests := []struct {
		name, text string
		want       map[string]string
	}{
		{"plain", "  a: b # comment\n  c:   d e  \n  f: 10s\n", map[string]string{
			"spec.a": `4:6-4:7 "b" key 4:3-4:4 "a"`,
			"spec.c": `5:8-5:11 "d e" key 5:3-5:4 "c"`,
			"spec.f": `6:6-6:9 "10s" key 6:3-6:4 "f"`,
			"spec":   `3:1-3:5 "spec" span "a: b # comment\n  c:   d e  \n  f: 10s"`,
			"":       `2:7-2:19 "ServiceEntry" span "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nspec:\n  a: b # comment\n  c:   d e  \n  f: 10s"`,
		}},
		{"quoted", "  'a': \"b\\\" \\u0041\" # x\n  \"c\": 'd''e'\n", map[string]string{
			"spec.a": `4:8-4:20 "\"b\\\" \\u0041\"" key 4:3-4:6 "'a'"`,
			"spec.c": `5:8-5:14 "'d''e'" key 5:3-5:6 "\"c\""`,
		}},
		{"missing", "  a:\n    b: c\n  l: [x]\n", map[string]string{
			"spec.a.x":          `4:3-4:4 inexact "a"`,
			"spec.a.x[0].y":     `4:3-4:4 inexact "a"`,
			"spec.a.b.x":        `5:8-5:9 inexact "c"`,
			"spec.l[1]":         `6:3-6:4 inexact "l"`,
			"spec.l.x":          `6:3-6:4 inexact "l"`,
			"metadata.name":     `2:7-2:19 inexact "ServiceEntry"`,
			"spec.nothing.here": `3:1-3:5 inexact "spec"`,
		}},
		{"null", "  a:\n  b: ~\n  c: # comment\n  d: null\n  l:\n  -\n  - x\n", map[string]string{
			"spec.a":    `4:3-4:4 "a" span ""`,
			"spec.b":    `5:3-5:4 "b" span "~"`,
			"spec.c":    `6:3-6:4 "c" span ""`,
			"spec.d":    `7:3-7:4 "d" span "null"`,
			"spec.l[0]": `9:4-9:4 ""`,
			"spec.l[1]": `10:5-10:6 "x"`,
		}},
		{"lists of mappings", "  l:\n  - a: b # first\n    c: d\n  -\n    e:   f\n  - - g\n    - h\n", map[string]string{
			"spec.l":       `4:3-4:4 "l" span "- a: b # first\n    c: d\n  -\n    e:   f\n  - - g\n    - h"`,
			"spec.l[0]":    `5:5-5:17 "a: b # first" span "a: b # first\n    c: d"`,
			"spec.l[0].c":  `6:8-6:9 "d" key 6:5-6:6 "c"`,
			"spec.l[1]":    `8:5-8:11 "e:   f"`,
			"spec.l[2]":    `9:5-9:8 "- g" span "- g\n    - h"`,
			"spec.l[2][1]": `10:7-10:8 "h"`,
		}},
		{"flow", "  a: [b, 'c', {d: e, f: , g}, [ ], {}, h: i, 2001:db8::, [j,\n    k, # comment ]\n    ] ]\n  m: {n: o,\n    p: q , }\n", map[string]string{
			"spec.a":       `4:3-4:4 "a" span "[b, 'c', {d: e, f: , g}, [ ], {}, h: i, 2001:db8::, [j,\n    k, # comment ]\n    ] ]"`,
			"spec.a[0]":    `4:7-4:8 "b"`,
			"spec.a[1]":    `4:10-4:13 "'c'"`,
			"spec.a[2]":    `4:15-4:29 "{d: e, f: , g}"`,
			"spec.a[2].d":  `4:19-4:20 "e" key 4:16-4:17 "d"`,
			"spec.a[2].f":  `4:22-4:23 "f" span ""`,
			"spec.a[2].g":  `4:27-4:28 "g" span ""`,
			"spec.a[3]":    `4:31-4:34 "[ ]"`,
			"spec.a[4]":    `4:36-4:38 "{}"`,
			"spec.a[5]":    `4:40-4:44 "h: i"`,
			"spec.a[5].h":  `4:43-4:44 "i" key 4:40-4:41 "h"`,
			"spec.a[6]":    `4:46-4:56 "2001:db8::"`,
			"spec.a[7]":    `4:58-4:61 "[j," span "[j,\n    k, # comment ]\n    ]"`,
			"spec.a[7][1]": `5:5-5:6 "k"`,
			"spec.m":       `7:3-7:4 "m" span "{n: o,\n    p: q , }"`,
			"spec.m.p":     `8:8-8:9 "q" key 8:5-8:6 "p"`,
		}},
		{"block scalars", "  a: | # comment\n    one\n      two\n\n    three\n\n  b: >-\n    x\n  c: |2\n       y\n  d: |\n  e: z\n", map[string]string{
			"spec.a": `4:6-4:17 "| # comment" key 4:3-4:4 "a" span "| # comment\n    one\n      two\n\n    three"`,
			"spec.b": `10:6-10:8 ">-" key 10:3-10:4 "b" span ">-\n    x"`,
			"spec.c": `12:6-12:8 "|2" key 12:3-12:4 "c" span "|2\n       y"`,
			"spec.d": `14:6-14:7 "|" key 14:3-14:4 "d"`,
			"spec.e": `15:6-15:7 "z" key 15:3-15:4 "e"`,
		}},
		{"block scalar below an anchor that stands further right", "  aaaaaaaa: &x\n    b: |\n     one\n     two\n  c: d\n", map[string]string{
			"spec.aaaaaaaa":   `4:3-4:11 "aaaaaaaa" span "b: |\n     one\n     two"`,
			"spec.aaaaaaaa.b": `5:8-5:9 "|" key 5:5-5:6 "b" span "|\n     one\n     two"`,
		}},
		{"scalars over several lines", "  a: one\n    two\n\n    three # end\n  b: \"one\n    two\"\n  c: 'one\n\n    two'\n", map[string]string{
			"spec.a": `4:6-4:9 "one" key 4:3-4:4 "a" span "one\n    two\n\n    three"`,
			"spec.b": `8:6-8:10 "\"one" key 8:3-8:4 "b" span "\"one\n    two\""`,
			"spec.c": `10:6-10:10 "'one" key 10:3-10:4 "c" span "'one\n\n    two'"`,
		}},
		{"beyond ASCII", "  \u00e9\u65e5: [\u65e5\u672c, \"\U0001F600\", x] # \u00e9\n  a: b\n", map[string]string{
			"spec.\u00e9\u65e5":    "4:3-4:5 \"\u00e9\u65e5\" span \"[\u65e5\u672c, \\\"\U0001F600\\\", x]\"",
			"spec.\u00e9\u65e5[0]": "4:8-4:10 \"\u65e5\u672c\"",
			"spec.\u00e9\u65e5[1]": "4:12-4:15 \"\\\"\U0001F600\\\"\"",
			"spec.\u00e9\u65e5[2]": `4:17-4:18 "x"`,
			"spec.a":               `5:6-5:7 "b" key 5:3-5:4 "a"`,
		}},
		{"tabs", "  a:\tb\t# x\n  c:\t[\td,\te\t]\n", map[string]string{
			"spec.a":    `4:6-4:7 "b" key 4:3-4:4 "a"`,
			"spec.c":    `5:3-5:4 "c" span "[\td,\te\t]"`,
			"spec.c[1]": `5:11-5:12 "e"`,
		}},
		{"anchors and aliases", "  a: &x b\n  c: *x\n  d: &y # comment\n    e: f\n  g: [*y, *x]\n  *x : h\n", map[string]string{
			"spec.a":      `4:9-4:10 "b" key 4:3-4:4 "a"`,
			"spec.c":      `4:9-4:10 "b" key 5:3-5:4 "c"`,
			"spec.d":      `6:3-6:4 "d" span "e: f"`,
			"spec.g":      `8:3-8:4 "g" span "[*y, *x]"`,
			"spec.g[0]":   `7:5-7:9 "e: f"`,
			"spec.g[0].e": `7:8-7:9 "f" key 7:5-7:6 "e"`,
			"spec.g[1]":   `4:9-4:10 "b"`,
			"spec.b":      `9:8-9:9 "h" key 9:3-9:5 "*x"`,
		}},
		{"merge keys", "  a: &x {k: 1, l: 2}\n  b:\n    <<: *x\n    l: 3\n  c: {<<: [*x, {m: 4}], n: 5}\n  d: {<<: {o: 6}}\n", map[string]string{
			"spec.b":   `5:3-5:4 "b" span "<<: *x\n    l: 3"`,
			"spec.b.k": `4:13-4:14 "1" key 4:10-4:11 "k"`,
			"spec.b.l": `7:8-7:9 "3" key 7:5-7:6 "l"`,
			"spec.c":   `8:3-8:4 "c" span "{<<: [*x, {m: 4}], n: 5}"`,
			"spec.c.l": `4:19-4:20 "2" key 4:16-4:17 "l"`,
			"spec.c.m": `8:20-8:21 "4" key 8:17-8:18 "m"`,
			"spec.d":   `9:3-9:4 "d" span "{<<: {o: 6}}"`,
			"spec.d.o": `9:15-9:16 "6" key 9:12-9:13 "o"`,
		}},
		{"tags", "  a: !!str b\n  !!str c: !x\n    d: e\n  f: ! g\n  h: !!null\n  i: !!seq\n  - j\n", map[string]string{
			"spec.a":    `4:12-4:13 "b" key 4:3-4:4 "a"`,
			"spec.c":    `5:9-5:10 "c" span "d: e"`,
			"spec.f":    `7:8-7:9 "g" key 7:3-7:4 "f"`,
			"spec.h":    `8:3-8:4 "h" span ""`,
			"spec.i":    `9:3-9:4 "i" span "- j"`,
			"spec.i[0]": `10:5-10:6 "j"`,
		}},
		{"explicit keys", "  ? a\n  : b\n  ? c\n  ? |-\n    d\n  : e\n", map[string]string{
			"spec.a": `5:5-5:6 "b" key 4:5-4:6 "a"`,
			"spec.c": `6:5-6:6 "c" span ""`,
			"spec.d": `9:5-9:6 "e" key 7:5-8:6 "|-\n    d"`,
		}},
		{"CRLF", "  a: b\r\n  l:\r\n  - c: d\r\n    e: f\r\n  g: |\r\n    one\r\n    two\r\n", map[string]string{
			"spec.a":    `4:6-4:7 "b" key 4:3-4:4 "a"`,
			"spec.l[0]": `6:5-6:9 "c: d" span "c: d\r\n    e: f"`,
			"spec.g":    `8:6-8:7 "|" key 8:3-8:4 "g" span "|\r\n    one\r\n    two"`,
		}},
		{"line ends that only YAML knows", "  a: b\u2028  c: d\u0085  e: f\r  g: h\n  i: j\n", map[string]string{
			"spec.c": "4:13-4:14 \"d\" key 4:10-4:11 \"c\"",
			"spec.g": "4:27-4:28 \"h\" key 4:24-4:25 \"g\"",
			"spec.i": `5:6-5:7 "j" key 5:3-5:4 "i"`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := load(t, head+tt.text)
			if len(f.Objects) != 1 {
				t.Fatal(summary(f))
			}
			got := map[string]string{}
			for path := range tt.want {
				got[path] = places(f.Objects[0], path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLocateInStream holds that positions count from the start of the file, not of the document, and follow list items.
func TestLocateInStream(t *testing.T) {
	f := load(t, bom+"# \u65e5\n"+manifest("ServiceEntry", "a")+"--- # x\n"+
		"apiVersion: v1\nkind: List\nitems:\n- "+indent(manifest("DestinationRule", "b"))+"--- {apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: c}}\n")
	want := []string{
		`5:9-5:10 "a" key 5:3-5:7 "name" last line 6`,
		`14:11-14:12 "b" key 14:5-14:9 "name" last line 15`,
		`16:79-16:80 "c" key 16:73-16:77 "name" last line 16`,
	}
	var got []string
	for _, o := range f.Objects {
		got = append(got, fmt.Sprintf("%s last line %d", places(o, "metadata.name"), o.LastLine()))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLocateSurrogates holds that the way around JSON's escapes moves no column.
func TestLocateSurrogates(t *testing.T) {
	f := load(t, `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "spec": {"\ud83d\ude00": "\ud83d\ude00 \ud83d", "a": "b"}}`)
	o := f.Objects[0]
	if got, want := o.Spec().Any(), any(map[string]any{"\U0001F600": "\U0001F600 \ufffd", "a": "b"}); !cmp.Equal(got, want) {
		t.Errorf("spec is %v, want %v", got, want)
	}
	if got, want := places(o, "spec.a"), `1:119-1:122 "\"b\"" key 1:114-1:117 "\"a\""`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLocationString(t *testing.T) {
	for want, l := range map[string]Location{
		"a.yaml:3:7": {File: "a.yaml", Range: Range{Pos{3, 7}, Pos{3, 9}}},
		"a.yaml":     {File: "a.yaml"},
	} {
		if got := l.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if !(Pos{1, 9}).Less(Pos{2, 1}) || !(Pos{1, 1}).Less(Pos{1, 2}) || (Pos{1, 2}).Less(Pos{1, 2}) || (Pos{2, 1}).Less(Pos{1, 9}) {
		t.Error("Less does not order by line, then column")
	}
}

// TestLines holds offset and pos to each other and to a count by hand, on lines short and long.
func TestLines(t *testing.T) {
	long := strings.Repeat("\u00e9x", 5*markEvery)
	for name, text := range map[string]string{
		"empty": "", "one line": "abc", "lines": "a\nbc\n\nd", "CRLF": "a\r\nb\r\n", "beyond ASCII": "\u65e5\n\u00e9\u00e9\nx",
		"long": long + "\n" + long + "\n\u00e9\n" + strings.Repeat("x", 5*markEvery), "long and bare": long,
	} {
		t.Run(name, func(t *testing.T) {
			l := editorLines(text)
			line, col := 1, 1
			for off, r := range text + "\n" {
				want := Pos{line, col}
				if got := l.pos(uint32(off)); got != want {
					t.Fatalf("offset %d is at %v, want %v", off, got, want)
				}
				if got := l.offset(line, col); got != uint32(off) {
					t.Fatalf("%v is at offset %d, want %d", want, got, off)
				}
				if col++; r == '\n' {
					line, col = line+1, 1
				}
			}
			if got := l.offset(line+9, 1); got != uint32(len(text)) {
				t.Errorf("a line beyond the text is at %d, want %d", got, len(text))
			}
			if got := l.pos(uint32(len(text) + 9)); got != l.pos(uint32(len(text))) {
				t.Errorf("an offset beyond the text is at %v", got)
			}
		})
	}
}

func TestYAMLLines(t *testing.T) {
	l := yamlLines("a\nb\r\nc\rd\u0085e\u2028f\u2029g", nil)
	if diff := cmp.Diff([]uint32{0, 2, 5, 7, 10, 14, 18}, l.starts); diff != "" || !l.odd {
		t.Errorf("odd %t, starts (-want +got):\n%s", l.odd, diff)
	}
}
