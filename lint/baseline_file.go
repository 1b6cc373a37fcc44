package lint

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/meshvet/meshvet/lint/object"
)

// MaxBaselineBytes bounds the file of a baseline. It holds some 60,000 findings, more than anybody will repair.
const MaxBaselineBytes = 16 << 20

// maxBaselineCount bounds the findings that one entry holds, and maxMistakes those that are told of a file, which may be something
// else altogether.
const (
	maxBaselineCount = 1_000_000
	maxMistakes      = 20
)

// BadBaseline is the kind of problem that is a mistake in the file of a baseline.
const BadBaseline object.ProblemKind = "baseline"

// ReadBaseline reads the file of a baseline. What is wrong with it is a *ConfigError, which has the place of each mistake.
func ReadBaseline(name string, data []byte) (*Baseline, error) {
	if at := conflictLine(data); at > 0 {
		line := object.Pos{Line: at, Col: 1}
		return nil, &ConfigError{[]object.Problem{{
			Kind:     BadBaseline,
			Message:  "holds a merge conflict; keep the entries of both sides that still hold, or take one side and write the baseline again",
			Location: object.Location{File: name, Range: object.Range{Start: line, End: line}},
		}}}
	}
	doc, p := object.ParseDocument(name, data, object.Limits{DocumentBytes: MaxBaselineBytes})
	if p != nil {
		return nil, &ConfigError{[]object.Problem{*p}}
	}
	r := configReader{doc: doc}
	b := &Baseline{Name: name}
	root := doc.Root()
	if root.Type() != object.Map || !root.Get("version").Set() {
		r.problem(r.doc.LocateValue(root), "is no baseline: it lacks version: 1; `meshvet lint --write-baseline FILE` writes one")
	} else if v := root.Get("version"); v.Type() != object.Int || v.Int() != 1 {
		r.problem(r.doc.LocateValue(v), "version %s of a baseline is not supported; this meshvet knows version 1", v.Text())
	} else {
		for key, v := range root.Fields() {
			switch at := (object.Path{key}); {
			case key == "version":
			case key != "findings":
				r.problem(r.doc.LocateKey(at), "unknown key %q in a baseline; known are findings, version", key)
			case v.Set():
				b.Entries = r.entries(at, v)
			}
		}
	}
	if len(r.problems) > 0 {
		for i := range r.problems {
			r.problems[i].Kind = BadBaseline
		}
		return nil, &ConfigError{r.problems}
	}
	return b, nil
}

// conflictLine is the line on which a merge left a conflict, 0 if there is none.
func conflictLine(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) {
			return n
		}
	}
	return 0
}

func (r *configReader) entries(at object.Path, v object.Value) []BaselineEntry {
	if v.Type() != object.List {
		r.fail(at, "%s is %s; a list is wanted", at, typeName(v))
		return nil
	}
	out := make([]BaselineEntry, 0, v.Len())
	type place struct {
		known
		file string
	}
	first := map[place]int{}
	for i, item := range v.Items() {
		if len(r.problems) >= maxMistakes {
			r.problem(r.doc.LocateValue(item), "is not looked at: there are %d mistakes already", len(r.problems))
			return nil
		}
		e, ok := r.entry(at.Child(i), item)
		if !ok {
			continue
		}
		k := place{e.known(), e.File}
		if line, twice := first[k]; twice {
			r.problem(r.doc.LocateValue(item), "repeats the entry on line %d; remove one of them, or write count: %d", line, e.Count+1)
			continue
		}
		first[k] = e.Line
		out = append(out, e)
	}
	return out
}

func (r *configReader) entry(at object.Path, item object.Value) (BaselineEntry, bool) {
	where := r.doc.LocateValue(item)
	e := BaselineEntry{Count: 1, Line: where.Range.Start.Line}
	mistakes := len(r.problems)
	if item.Type() != object.Map {
		r.problem(where, "an entry is %s; a mapping with rule, object and message is wanted", typeName(item))
		return e, false
	}
	text := func(to *string) func(object.Path, object.Value) {
		return func(at object.Path, v object.Value) {
			if v.Type() != object.String {
				r.problem(r.doc.LocateValue(v), "%s is %s, %s; quote it", at, v.Text(), typeName(v))
			}
			*to = object.Abridge(v.Str())
		}
	}
	r.read(at, item, map[string]func(object.Path, object.Value){
		"rule":    text(&e.Rule),
		"object":  text(&e.Object),
		"path":    text(&e.Path),
		"message": text(&e.Message),
		"file":    text(&e.File),
		"count": func(_ object.Path, v object.Value) {
			if v.Type() != object.Int || v.Int() < 1 || v.Int() > maxBaselineCount {
				r.problem(r.doc.LocateValue(v), "count is %s; it is a number from 1 to %d", v.Text(), maxBaselineCount)
				return
			}
			e.Count = int(v.Int())
		},
		"pinned": func(at object.Path, v object.Value) {
			if v.Type() != object.Bool {
				r.problem(r.doc.LocateValue(v), "%s is %s; true or false is wanted", at, v.Text())
				return
			}
			if e.Pinned = v.Bool(); e.Pinned && e.File == "" && !item.Get("file").Set() {
				r.problem(r.doc.LocateValue(v), "%s is true, but the entry has no file to which it is pinned", at)
			}
		},
	})
	for _, f := range [...]struct{ name, value string }{{"rule", e.Rule}, {"object", e.Object}, {"message", e.Message}} {
		if f.value == "" && len(r.problems) == mistakes {
			r.problem(where, "an entry lacks %s", f.name)
		}
	}
	return e, len(r.problems) == mistakes
}

// Text is the baseline as a file. The same findings give the same text, on whichever branch they are found: there are no times, no lines
// and no numbers of anything in it, and each entry has its place by what it says. The error says that it would be too large to be read.
func (b *Baseline) Text() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, `# Findings of meshvet that were there when this file was written. They fail no run; what is not listed here does.
# After repairs, this removes what is repaired: meshvet lint --write-baseline %s
version: 1
`, commentText(path.Base(b.Name)))
	if len(b.Entries) == 0 {
		out.WriteString("findings: []\n")
	} else {
		out.WriteString("findings:\n")
	}
	for i := range b.Entries {
		e := &b.Entries[i]
		lead := "-"
		for _, f := range [...]struct{ name, value string }{
			{"rule", e.Rule}, {"object", e.Object}, {"path", e.Path}, {"message", e.Message}, {"file", e.File},
		} {
			if f.value != "" {
				fmt.Fprintf(&out, "%s %s: %s\n", lead, f.name, yamlText(f.value))
				lead = " "
			}
		}
		if e.Count > 1 {
			fmt.Fprintf(&out, "  count: %d\n", e.Count)
		}
		if e.Pinned {
			out.WriteString("  pinned: true\n")
		}
	}
	if out.Len() > MaxBaselineBytes {
		return nil, fmt.Errorf("%s would be larger than %d MiB: there are %d findings; exclude files, or switch rules off",
			b.Name, MaxBaselineBytes>>20, b.Len())
	}
	return out.Bytes(), nil
}

// commentText keeps a text within its comment.
func commentText(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// yamlText writes a string on one line: as it is where YAML reads that as the same string, else between double quotes.
func yamlText(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ' ' || unicode.IsPrint(r) && r != '\ufeff':
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isPlain says whether a string needs no quotes: it begins with a letter, and has nothing in it that means something to YAML.
func isPlain(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if i == 0 && !letter || c < ' ' || c > '~' {
			return false
		}
	}
	return s != "" && !strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, " ")
}

// Len is the number of findings that the baseline holds.
func (b *Baseline) Len() int {
	n := 0
	for i := range b.Entries {
		n += b.Entries[i].Count
	}
	return n
}
