package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// ours makes a text one that is read.
const ours = "kind: ServiceEntry\napiVersion: networking.istio.io/v1\n"

func TestComments(t *testing.T) {
	const c = "# meshvet:ignore X -- y"
	for _, test := range []struct {
		name, text string
		want       []string // line of the comment, first and last line that it is about
	}{
		{"at the end of a line", ours + "a: 1 " + c + "\n", []string{"3: 3-3"}},
		{"without a blank", ours + "a: 1" + c + "\n", nil},
		{"behind a tab", ours + "a: 1\t" + c + "\n", []string{"3: 3-3"}},
		{"without an end of line", ours + "a: 1 " + c, []string{"3: 3-3"}},
		{"without blanks in it", ours + "a: 1 #meshvet:ignore", []string{"3: 3-3"}},
		{"above", ours + c + "\na: 1\n", []string{"3: 4-4"}},
		{"indented otherwise", ours + "      " + c + "\na:\n" + c + "\n  b: 1\n", []string{"3: 4-6", "5: 6-6"}},
		{"above other comments and blank lines", ours + c + "\n# more\n\n  # and more\na: 1\n", []string{"3: 7-7"}},
		{"several in a row", ours + c + "\n" + c + "\na: 1 " + c + "\n", []string{"3: 5-5", "4: 5-5", "5: 5-5"}},
		{"above a block", ours + c + "\na:\n  b: 1\n  c:\n  - d\n  # end\ne: 1\n", []string{"3: 4-7"}},
		{"beside a key with a block", ours + "a: " + c + "\n  b: 1\n  c: 2\nd: 1\n", []string{"3: 3-5"}},
		{"above the first field of a block", ours + "a:\n  " + c + "\n  b: 1\n  c: 2\nd: 1\n", []string{"4: 5-5"}},
		{"above a list item", ours + "a:\n" + c + "\n- b: 1\n  c: 2\n- d\n", []string{"4: 5-6"}},
		{"beside a list item", ours + "a:\n- b: 1 " + c + "\n  c: 2\n- d\n", []string{"4: 4-5"}},
		{"above a dash on a line of its own", ours + "a:\n" + c + "\n-\n  b: 1\n  c: 2\n- d\n", []string{"4: 6-7"}},
		{"beside a dash on a line of its own", ours + "a:\n- " + c + "\n  b: 1\n  c: 2\n- d\n", []string{"4: 5-6"}},
		{"above an anchor", ours + "a:\n" + c + "\n- &x\n  b: 1\n  c: 2\nd: *x\n", []string{"4: 6-7"}},
		{"above what an alias repeats", ours + c + "\na: &x\n  b: 1\nd: {e: *x,\n" + c + "\n f: g}\n", []string{"3: 4-5", "7: 8-8"}},
		{"in a flow mapping", ours + "a: {b: 1, " + c + "\n  c: 2, d: [\n  1]} " + c + "\n", []string{"3: 3-5", "5: 5-5"}},
		{"above the document", c + "\n" + ours + "a:\n  b: 1\n", []string{"1: 2-5"}},
		{"above the mark of a document", c + "\n---\n" + ours, []string{"1: 3-4"}},
		{"beside the mark of a document", "--- " + c + "\n" + ours, []string{"1: 2-3"}},
		{"above the mark of the next document", ours + c + "\n---\n# x\n" + ours, []string{"3: 6-7"}},
		{"at the end of a document of others", "a:\n  b: '\n  " + c + "'\n" + c + "\n---\n" + ours, []string{"4: 6-7"}},
		{"between ends of documents", ours + "...\n" + c + "\n%YAML 1.1\n---\n" + ours, []string{"4: 7-8"}},
		{"at the end", ours + c + "\n\n# x\n", []string{"3: 0-0"}},
		{"in a literal text", ours + "a: |\n  x\n  " + c + "\n  " + c + "\nb: 1\n", nil},
		{"in a literal text that keeps its end", ours + "a: |+\n  x\n\n  " + c + "\n\n" + c + "\nb: 1\n", []string{"8: 9-9"}},
		{"in a folded text", ours + "a: >2-\n  x\n     " + c + "\n  y " + c + "\n" + c + "\n", []string{"7: 0-0"}},
		{"behind the header of a text", ours + "a: | " + c + "\n  " + c + "\nb: 1\n", []string{"3: 3-4"}},
		{"behind the header of an empty text", ours + "a: | " + c + "\nb: 1\n", []string{"3: 3-3"}},
		{"in quotes", ours + "a: 'x " + c + "'\nb: \"x " + c + "\"\n", nil},
		{"behind quotes", ours + "a: 'x " + c + "' " + c + "\nb: \"\\\" " + c + "\" " + c + "\n", []string{"3: 3-3", "4: 4-4"}},
		{"in quotes over several lines", ours + "a: 'x\n  " + c + "\n\n  ''" + c + "' " + c + "\n", []string{"6: 6-6"}},
		{"in a quoted key", ours + "\"a " + c + "\": 1\n", nil},
		{"in a plain text", ours + "a: x" + c + "\nb: x:" + c + "\n", nil},
		{"behind a plain text of several lines", ours + "a: x\n  y " + c + "\nb: 1\n", []string{"4: 4-4"}},
		{"inside another comment", ours + "a: 1 # x " + c + "\n# " + c + "\n##meshvet:ignore\n", nil},
		{"in a value that a merge overrides", ours + "z: &z {a: 1}\ny:\n  a: 'x " + c + "'\n  <<: *z\n", nil},
		{"CRLF", strings.ReplaceAll(ours+c+"\na:\n  b: |\n    "+c+"\n  c: 1 "+c+"\nd: 1\n", "\n", "\r\n"), []string{"3: 4-7", "7: 7-7"}},
		{"a byte-order mark", "\ufeff" + c + "\n" + ours, []string{"1: 2-3"}},
		{"line ends of YAML alone", ours + "a: 1 " + c + "\u2028b: 1 " + c + "\rc: 2\n", []string{"3: 3-3", "3: 3-3"}},
		{"JSON", `{"kind": "ServiceEntry", "apiVersion": "networking.istio.io/v1", "a": "\/` + c + "\"\n}", nil},
		{"a document that is not read", c + "\n" + ours + "a: [\n---\n" + c + "\n" + ours, []string{"6: 7-8"}},
		{"several documents that are read at once", ours + c + "\n---\n" + ours + "b: 'x " + c + "'\n---\n" + ours + "b: 1 " + c, []string{"3: 5-7", "11: 11-11"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := mustLoad(t, test.text)
			var got []string
			kept, more := f.Comments()
			for _, c := range kept {
				got = append(got, fmt.Sprintf("%d: %d-%d", c.Location.Range.Start.Line, c.First, c.Last))
			}
			if diff := cmp.Diff(test.want, got); diff != "" || more {
				t.Errorf("%s\nof\n%s", diff, test.text)
			}
		})
	}
}

func mustLoad(t testing.TB, text string) *File {
	t.Helper()
	f, err := Load(context.Background(), "a.yaml", strings.NewReader(text), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCommentText(t *testing.T) {
	f := mustLoad(t, "# Files of the shop\n#meshvet:ignore-file  A\t\r\n---\r\n#\tmeshvet:ignored\n"+ours+"é: 1 # meshvet:ignore \n# meshvet: ignore\n")
	kept, _ := f.Comments()
	want := []string{"meshvet:ignore-file  A true 2:1-2:24", "meshvet:ignored true 4:1-4:18", "meshvet:ignore false 7:6-7:22"}
	var got []string
	for _, c := range kept {
		r := c.Location.Range
		got = append(got, fmt.Sprintf("%s %t %d:%d-%d:%d", c.Text, c.Leading, r.Start.Line, r.Start.Col, r.End.Line, r.End.Col))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if f := mustLoad(t, "# meshvet:ignore\nkind: ConfigMap\n"); f.comments != nil {
		t.Error("a file that holds nothing of ours keeps comments")
	}
}

func TestFieldOn(t *testing.T) {
	o := mustLoad(t, "---\n"+ours+"spec:\n  ports:\n  - number: 1\n    name: a\n  -\n    number: 2\n  c: {d: 1,\n    e: [f,\n    g]}\n").Objects[0]
	for line, want := range []string{"-", "-", "", "apiVersion", "spec", "spec.ports", "spec.ports[0]", "spec.ports[0].name", "-", "spec.ports[1]", "spec.c", "spec.c.e", "spec.c.e[1]", "-"} {
		at, ok := o.FieldOn(line)
		got := at.String()
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("line %d: %s, want %s", line, got, want)
		}
	}
	if first, last := o.Lines(); first != 2 || last != 12 {
		t.Errorf("lines %d to %d", first, last)
	}
}

// What is written a million times costs little, and no more than some of it is kept.
func TestHostileComments(t *testing.T) {
	const comment = "# meshvet:ignore SE101 -- x\n"
	for name, text := range map[string]string{
		"above":       strings.Repeat(comment, 32<<20/len(comment)-100) + "---\n" + ours,
		"of one line": "# meshvet:ignore SE101 -- " + strings.Repeat("x", 30<<20) + "\n---\n" + ours,
		"in a text":   ours + "a: |\n" + strings.Repeat("  "+comment, 80_000),
		"beside":      ours + "a:\n" + strings.Repeat("- {b: c} "+comment, 20_000),
		"in between":  strings.Repeat(ours+comment+"---\n", 30_000),
		"blank":       ours + strings.Repeat(comment, 20_000) + strings.Repeat(" \n", 1_000_000),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			f := mustLoad(t, text)
			kept, more := f.Comments()
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			if len(kept) > maxComments || more != (len(kept) == maxComments) || (len(kept) == 0) != (name == "in a text") {
				t.Errorf("%d are kept, more %t", len(kept), more)
			}
		})
	}
}

var commentLike = regexp.MustCompile(`#[ \t]*meshvet:ignore`)

// checkComments holds that changing what is taken for a comment changes no value, and that changing what is not does.
func checkComments(text string) error {
	f, err := Load(context.Background(), "a.yaml", strings.NewReader(text), fuzzLimits)
	if err != nil || f.text == "" || len(f.Problems) > 0 || f.Template != nil || len(f.Unread) > 0 {
		return err
	}
	before, ok := decoded(f.text)
	if !ok {
		return nil
	}
	for p := range split(f.text) {
		b := treeBuilder{limits: fuzzLimits, text: f.text}
		if _, err := b.parse(p.start, p.end); err != nil {
			return nil // what cannot be read has no comments
		}
	}
	kept, more := f.Comments()
	found := map[int]bool{}
	for _, c := range kept {
		start := c.Location.Range.Start
		off := int(f.lines.offset(start.Line, start.Col))
		found[off] = true
		if c.First > c.Last || c.First > 0 && (c.Last > len(f.lines.starts) || c.First < start.Line) {
			return fmt.Errorf("the comment on line %d is about lines %d to %d", start.Line, c.First, c.Last)
		}
	}
	for _, m := range commentLike.FindAllStringIndex(f.text, -1) {
		changed, ok := decoded(f.text[:m[1]-1] + "X" + f.text[m[1]:])
		if !ok {
			continue
		}
		line := f.text[:m[0]]
		line = line[strings.LastIndexFunc(line, isBreakRune)+1:]
		switch same := changed == before; {
		case found[m[0]] && !same:
			return fmt.Errorf("what is taken for a comment at byte %d is part of a value", m[0])
		case !found[m[0]] && same && !more && !strings.Contains(line, "#") && !strings.HasPrefix(line, "...") && f.opensComment(uint32(m[0])):
			return fmt.Errorf("the comment at byte %d is not found", m[0])
		}
	}
	return nil
}

// decoded writes the values of all documents of a text as the YAML library reads them.
func decoded(text string) (string, bool) {
	var b strings.Builder
	for p := range split(text) {
		dec := yaml.NewDecoder(strings.NewReader(text[p.start:p.end]))
		for {
			var n yaml.Node
			err := dec.Decode(&n)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return "", false
			}
			writeNode(&b, &n)
		}
	}
	return b.String(), true
}

func writeNode(b *strings.Builder, n *yaml.Node) {
	fmt.Fprintf(b, "(%d %q %q %q", n.Kind, n.Tag, n.Anchor, n.Value)
	for _, c := range n.Content {
		writeNode(b, c)
	}
	b.WriteString(")")
}

// Comments are put between and behind the lines of documents that use the corners of YAML.
func TestCommentsAmongOddities(t *testing.T) {
	const c = "# meshvet:ignore X"
	checked := 0
	for _, doc := range oddDocuments {
		lines := strings.SplitAfter(doc, "\n")
		for i := range lines {
			head, tail := strings.Join(lines[:i], ""), strings.Join(lines[i:], "")
			end, eol := strings.TrimRight(head, "\r\n"), head[len(strings.TrimRight(head, "\r\n")):]
			for _, text := range []string{
				head + c + "\n" + tail, head + "  " + c + "\n" + tail, head + "\t" + c + "\r\n" + tail, end + " " + c + eol + tail, end + c + eol + tail,
			} {
				checked++
				if err := checkComments(text + "\n---\n" + ours); err != nil {
					t.Errorf("%s:\n%s", err, text)
				}
			}
		}
	}
	if checked < 500 {
		t.Errorf("%d texts", checked)
	}
}

// FuzzComments holds comments to what the YAML library takes for one.
func FuzzComments(f *testing.F) {
	for _, d := range oddDocuments {
		f.Add(ours + "a: 1 # meshvet:ignore X\n---\n" + d)
		f.Add(ours + "---\n# meshvet:ignore X\n" + d + "# meshvet:ignore X\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := checkComments(text); err != nil {
			t.Error(err)
		}
	})
}
