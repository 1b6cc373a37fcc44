package edit

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

var randomEdits = flag.Int("edits", 1500, "how many random changes TestRandomEdits makes")

// author writes manifests in a style that changes from value to value.
type author struct {
	*rand.Rand
	b        strings.Builder
	nl       string
	step     int
	comments int
	plain    bool // no anchors, tags, ? and other things at which changes are refused
	anchors  []string
	base     bool // the document has an anchor &base, on a mapping
}

func (a *author) chance(percent int) bool { return a.IntN(100) < percent }

// object makes a DestinationRule with fields of all types.
func (a *author) object(n int) map[string]any {
	spec := map[string]any{"host": "a.example.com"}
	for _, k := range []string{"trafficPolicy", "subsets", "exportTo", "other", "workloadSelector"} {
		if a.chance(60) {
			spec[k] = a.value(0)
		}
	}
	return map[string]any{
		"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule",
		"metadata": map[string]any{"name": fmt.Sprintf("n%d", n), "namespace": "x"}, "spec": spec,
	}
}

var words = []string{
	"a", "ISTIO_MUTUAL", "10s", "www.example.com", "*", "*.example.com", "yes", "on", "1_000", "0777", "1e3", "2020-01-01", "null", "~", "", " ", "a b",
	"a: b", "a #b", "-", "- a", "#", "it's", `say "x"`, "h\u00e9", "\u65e5\u672c", "\U0001F600", "[a", "{", "a,b", "::1", "fe80::", "10.0.0.1", "1.5", "%x", "@y", "`z", "&a", "*a",
	"!t", "|", ">", "two\nlines\n", "two\nlines", "  lead\nx", "tab\tin", "\\", "a\\nb", "?", "? a", ":", "=", "<<", "y", "12:30:45", "---", "...", "{{ x }}", "a text of so many words",
}

func (a *author) word() string { return words[a.IntN(len(words))] }

func (a *author) scalar() any {
	switch a.IntN(6) {
	case 0:
		return int64(a.IntN(70000) - 10)
	case 1:
		return a.IntN(2) == 0
	case 2:
		if a.chance(30) {
			return nil
		}
		return 1.5
	}
	return a.word()
}

func (a *author) value(depth int) any {
	switch n := a.IntN(10); {
	case depth > 3 || n < 4:
		return a.scalar()
	case n < 7:
		m := map[string]any{}
		for range a.IntN(4) {
			m[a.key()] = a.value(depth + 1)
		}
		return m
	}
	l := []any{}
	for range a.IntN(4) {
		l = append(l, a.value(depth+1))
	}
	return l
}

func (a *author) key() string {
	if w := a.word(); w != "" && a.chance(15) {
		return w
	}
	return string(rune('a' + a.IntN(8)))
}

// note is a comment, sometimes.
func (a *author) note() string {
	if !a.chance(25) {
		return ""
	}
	a.comments++
	return fmt.Sprintf("# note %d it's \"here\" {[: %s", a.comments, []string{"", "- a", "a: b"}[a.IntN(3)])
}

func (a *author) lineEnd() {
	if n := a.note(); n != "" {
		gap := []string{" ", "   ", "\t"}[a.IntN(3)]
		if last := a.b.String()[a.b.Len()-1]; last == '-' || last == ':' {
			gap = " "
		}
		a.b.WriteString(gap + strings.TrimRight(n, " "))
	} else if a.chance(5) {
		a.b.WriteString("  ")
	}
	a.b.WriteString(a.nl)
	a.between(-1)
}

// between writes lines that mean nothing.
func (a *author) between(col int) {
	for a.chance(10) {
		if n := a.note(); n != "" && col != -1 {
			a.b.WriteString(strings.Repeat(" ", col) + strings.TrimRight(n, " ") + a.nl)
		} else if a.chance(50) {
			a.b.WriteString(a.nl)
		}
	}
}

// block writes a value behind a colon or dash, at column col of what it is in.
func (a *author) block(v any, col int, inList bool) {
	properties := func() {
		if a.plain || !a.chance(5) {
			return
		}
		name := "x" + strconv.Itoa(len(a.anchors))
		a.anchors = append(a.anchors, name)
		a.b.WriteString(" &" + name)
	}
	switch w := v.(type) {
	case map[string]any:
		if len(w) == 0 || a.chance(25) {
			break
		}
		at := col + a.step
		if inList && a.chance(85) {
			gap := 1
			if a.chance(10) {
				gap = 3
			}
			a.b.WriteString(strings.Repeat(" ", gap))
			a.fields(w, col+1+gap, true)
			return
		}
		properties()
		a.lineEnd()
		a.fields(w, at, false)
		return
	case []any:
		if len(w) == 0 || a.chance(25) {
			break
		}
		at := col + a.IntN(2)*a.step
		if inList {
			if a.chance(85) {
				a.b.WriteString(" ")
				a.items(w, col+2, true)
				return
			}
			at = col + a.step
		}
		properties()
		a.lineEnd()
		a.items(w, at, false)
		return
	case nil:
		if a.base && a.chance(50) {
			a.b.WriteString(" *base")
			a.lineEnd()
			return
		}
		if a.chance(50) {
			a.lineEnd()
			return
		}
	case string:
		if strings.Contains(w, "\n") && !strings.HasPrefix(w, " ") && a.chance(70) {
			a.b.WriteString(" |" + map[bool]string{true: "", false: "-"}[strings.HasSuffix(w, "\n")])
			if n := a.note(); n != "" {
				a.b.WriteString(" " + strings.TrimRight(n, " "))
			}
			for _, line := range strings.Split(strings.TrimSuffix(w, "\n"), "\n") {
				a.b.WriteString(a.nl + strings.Repeat(" ", col+a.step) + line)
			}
			a.b.WriteString(a.nl)
			return
		}
		if strings.Count(w, " ") > 3 && a.chance(50) {
			a.b.WriteString(" " + strings.Replace(w, " ", a.nl+strings.Repeat(" ", col+a.step), 2))
			a.lineEnd()
			return
		}
	}
	properties()
	a.b.WriteString(strings.Repeat(" ", 1+a.IntN(2)*a.IntN(3)))
	a.flow(v, col+a.step, false)
	a.lineEnd()
}

func (a *author) keys(m map[string]any) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	a.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

func (a *author) fields(m map[string]any, col int, inline bool) {
	for i, k := range a.keys(m) {
		if i > 0 || !inline {
			a.between(col)
			a.b.WriteString(strings.Repeat(" ", col))
		}
		if a.base && col > a.step && i == 0 && a.chance(10) {
			a.b.WriteString("<<: *base")
			a.lineEnd()
			a.b.WriteString(strings.Repeat(" ", col))
		}
		if !a.plain && a.chance(2) && !(inline && i == 0) {
			a.b.WriteString("? " + a.quote(k, false) + a.nl + strings.Repeat(" ", col) + ":")
		} else {
			a.b.WriteString(a.quote(k, false) + ":")
		}
		a.block(m[k], col, false)
	}
}

func (a *author) items(l []any, col int, inline bool) {
	for i, v := range l {
		if i > 0 || !inline {
			a.between(col)
			a.b.WriteString(strings.Repeat(" ", col))
		}
		if a.base && v == true && a.chance(50) {
			v = nil
		}
		a.b.WriteString("-")
		a.block(v, col, true)
	}
}

// flow writes a value in flow style.
func (a *author) flow(v any, col int, inFlow bool) {
	gap := func() {
		if a.chance(15) {
			if n := a.note(); n != "" && a.chance(50) {
				a.b.WriteString(" " + strings.TrimRight(n, " "))
			} else if n != "" {
				a.comments--
			}
			a.b.WriteString(a.nl + strings.Repeat(" ", col))
		} else if a.chance(30) {
			a.b.WriteString(" ")
		}
	}
	switch w := v.(type) {
	case map[string]any:
		a.b.WriteString("{")
		gap()
		for i, k := range a.keys(w) {
			if i > 0 {
				a.b.WriteString(",")
				gap()
			}
			a.b.WriteString(a.quote(k, true) + ": ")
			a.flow(w[k], col, true)
			gap()
		}
		if len(w) > 0 && a.chance(20) {
			a.b.WriteString(",")
			gap()
		}
		a.b.WriteString("}")
	case []any:
		a.b.WriteString("[")
		gap()
		for i, v := range w {
			if i > 0 {
				a.b.WriteString(",")
				gap()
			}
			a.flow(v, col, true)
			gap()
		}
		if len(w) > 0 && a.chance(20) {
			a.b.WriteString(",")
			gap()
		}
		a.b.WriteString("]")
	case string:
		a.b.WriteString(a.quote(w, inFlow))
	default:
		s := style{}
		a.b.WriteString(s.inline(v, 0, true))
	}
}

func (a *author) quote(s string, flow bool) string {
	st := style{quote: "'\""[a.IntN(2)]}
	if a.chance(20) {
		return st.quoted(s, st.quote)
	}
	return st.str(s, flow)
}

// file writes documents.
func (a *author) file() string {
	a.nl = "\n"
	if a.chance(20) {
		a.nl = "\r\n"
	}
	a.step = []int{2, 2, 2, 4, 1}[a.IntN(5)]
	a.plain = a.chance(70)
	if a.chance(20) {
		a.between(0)
		a.b.WriteString("---" + a.nl)
	}
	for i := range 1 + a.IntN(2) {
		if i > 0 {
			a.b.WriteString("---" + a.nl)
		}
		a.anchors, a.base = nil, !a.plain && a.chance(50)
		a.between(0)
		if a.base {
			a.base = false
			a.b.WriteString("x: &base")
			a.lineEnd()
			a.fields(map[string]any{"a": "a", "q": int64(1), "r": []any{"b"}}, a.step, false)
			a.base = true
		}
		switch {
		case a.chance(20):
			a.fields(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{a.object(2 * i), a.object(2*i + 1)}}, 0, false)
		case a.chance(10) && !a.base:
			a.flow(a.object(2*i), 0, false)
			a.lineEnd()
		default:
			a.fields(a.object(2*i), 0, false)
		}
		if a.chance(30) {
			a.between(0)
		}
	}
	text := a.b.String()
	if a.chance(20) {
		text = strings.TrimRight(text, "\r\n")
	}
	return text
}

// ops makes one to three operations that mostly fit an object.
func (a *author) ops(o *object.Object) []lint.Op {
	var paths []object.Path
	var walk func(v object.Value, p object.Path)
	walk = func(v object.Value, p object.Path) {
		paths = append(paths, p)
		for i, item := range v.Items() {
			walk(item, p.Child(i))
		}
		for k, f := range v.Fields() {
			walk(f, p.Child(k))
		}
	}
	walk(o.Spec(), object.Path{"spec"})
	var out []lint.Op
	for range 1 + a.IntN(3)*a.IntN(2) {
		p := paths[a.IntN(len(paths))]
		v := o.Lookup(p)
		switch a.IntN(4) {
		case 0:
			if len(p) > 1 {
				out = append(out, lint.Op{Kind: lint.Remove, Path: p})
			}
		case 1:
			if len(p) > 1 {
				out = append(out, lint.Op{Kind: lint.Replace, Path: p, Value: a.value(a.IntN(5))})
			}
		default:
			switch v.Type() {
			case object.List:
				out = append(out, lint.Op{Kind: lint.Add, Path: p.Child(a.IntN(v.Len() + 1)), Value: a.value(a.IntN(5))})
			case object.Map, object.Null:
				q := p.Child(a.key())
				if a.chance(30) {
					q = q.Child(a.key())
				}
				out = append(out, lint.Op{Kind: lint.Add, Path: q, Value: a.value(a.IntN(5))})
			}
		}
	}
	return out
}

var noteForm = regexp.MustCompile(`# note \d+ it's "here" \{\[:[^\r\n]*`)

func notes(text string) []string {
	found := noteForm.FindAllString(text, -1)
	for i := range found {
		found[i] = strings.TrimRight(found[i], " \t")
	}
	slices.Sort(found)
	return found
}

// TestRandomEdits changes manifests of all styles at random.
func TestRandomEdits(t *testing.T) {
	made := 0
	reasons := map[string]int{}
	for seed := range *randomEdits {
		a := &author{Rand: rand.New(rand.NewPCG(uint64(seed), 7))}
		text := a.file()
		f := load(t, text)
		if len(f.Objects) == 0 || len(f.Problems) > 0 {
			if !strings.Contains(text, "{{") {
				t.Fatalf("seed %d: the text is not read as meant: %v\n%s", seed, f.Problems, text)
			}
			continue
		}
		i := a.IntN(len(f.Objects))
		ops := a.ops(f.Objects[i])
		if len(ops) == 0 {
			continue
		}
		if _, err := patched(f.Objects[i].Root(), ops); err != nil {
			if _, err := Lower(f.Objects[i], ops); err == nil {
				t.Errorf("seed %d: %v does not fit the object, but is made", seed, ops)
			}
			continue
		}
		after, ok := lower(t, f, i, ops)
		if !ok {
			reason := after[strings.Index(after, ": ")+2:]
			reasons[reason]++
			if !strings.HasPrefix(reason, "there is no ") && a.plain {
				t.Logf("seed %d: %v refused: %s\n%s", seed, ops, after, text)
			}
			continue
		}
		made++
		if a, b := notes(text), notes(after); !slices.Equal(a, b) {
			t.Errorf("seed %d: %v changes comments from\n%s\nto\n%s", seed, ops, strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d made; refused: %v", made, reasons)
	refused := 0
	for reason, n := range reasons {
		// JSON pointers do not tell an index from a key of digits, but Lower does.
		if !strings.HasPrefix(reason, "there is no ") && !strings.Contains(reason, " is an alias") && !strings.Contains(reason, " comes from a merge key") {
			refused += n
		}
	}
	if made < *randomEdits/2 || refused*1000 > made {
		t.Errorf("%d changes are made and %d refused", made, refused)
	}
}
