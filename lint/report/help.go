package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// What of a fix is written out beside its title: as many values, in as many characters. More is only counted.
const (
	maxValues = 8
	maxRunes  = 240
)

// help says what to do about a finding: its first fix, with what that writes, or else what the rule says in general.
func help(f *lint.Finding) string {
	if len(f.Fixes) == 0 {
		more := "meshvet explain " + f.Rule.ID
		if f.Rule.Remedy == "" {
			return "see " + more
		}
		return sentence(f.Rule.Remedy) + " More: " + more
	}
	fix := &f.Fixes[0]
	kind := kindOfFix(fix.Safety)
	text, n := settings(fix)
	switch {
	case n == 0 || said(fix, f.Path):
		text = fix.Title
	case text == "":
		text = fix.Title
		kind += fmt.Sprintf(" of %s, which --format json lists", count(n, "value"))
	default:
		text = joined(fix.Title, text)
	}
	about := []string{kind}
	if fix.Create != nil {
		about = append(about, "--format json has the manifest")
	}
	if n := len(f.Fixes); n > 1 {
		about = append(about, fmt.Sprintf("the first of %d", n))
	}
	about = append(about, "see meshvet explain "+f.Rule.ID)
	return fmt.Sprintf("%s (%s)", text, strings.Join(about, "; "))
}

// briefHelp is help for where there is no room for more than a sentence.
func briefHelp(f *lint.Finding) string {
	if len(f.Fixes) == 0 {
		return f.Rule.Remedy
	}
	return f.Fixes[0].Title
}

// inOneLine is a finding for where there is one line and no other field: what is wrong, what it leads to, and what to do.
func (v *view) inOneLine(f *lint.Finding) string {
	var b strings.Builder
	if inCluster(f.Location) { // there is no file that would say what it is about
		b.WriteString(f.Object.String() + ": ")
	}
	b.WriteString(sentence(f.Message))
	for _, part := range []struct{ label, text string }{{"Effect", f.Effect}, {"Cause", v.causedNote(f)}, {"Help", briefHelp(f)}} {
		if part.text != "" {
			b.WriteString(" " + part.label + ": " + sentence(part.text))
		}
	}
	return clean(b.String())
}

func kindOfFix(s lint.Safety) string {
	switch s {
	case lint.Safe:
		return "safe fix"
	case lint.Unsafe:
		return "unsafe fix"
	}
	return "suggestion"
}

// joined puts settings behind a title, which may end with the name that they begin with.
func joined(title, settings string) string {
	if name, _, _ := strings.Cut(settings, ": "); strings.HasSuffix(title, " "+name) || strings.HasSuffix(title, "."+name) {
		return strings.TrimSuffix(title, name) + settings
	}
	return title + ": " + settings
}

// said is whether the title of a fix names each value that it sets, and the field, unless the finding points at that.
func said(fix *lint.Fix, at object.Path) bool {
	for _, op := range fix.Ops {
		switch op.Value.(type) {
		case map[string]any, []any:
			return false
		}
		if op.Kind == lint.Remove {
			continue
		}
		if !strings.Contains(fix.Title, fmt.Sprint(op.Value)) || !slices.Equal(op.Path, at) && !strings.Contains(fix.Title, lastName(op.Path)) {
			return false
		}
	}
	return true
}

// settings writes out in YAML what a fix sets, and counts its values. The text is empty if it were too long.
func settings(fix *lint.Fix) (text string, n int) {
	for _, op := range fix.Ops {
		if op.Kind != lint.Remove {
			n += leaves(op.Value)
		}
	}
	if n > maxValues {
		return "", n
	}
	var parts []string
	for _, op := range fix.Ops {
		if op.Kind != lint.Remove {
			parts = append(parts, lastName(op.Path)+": "+flow(op.Value))
		}
	}
	if text = strings.Join(parts, "; "); utf8.RuneCountInString(text) > maxRunes {
		return "", n
	}
	return text, n
}

// lastName is the last name in a path, with the indices that follow it.
func lastName(p object.Path) string {
	for i := len(p) - 1; i >= 0; i-- {
		if name, isName := p[i].(string); isName {
			return flow(name) + p[i+1:].String()
		}
	}
	return p.String()
}

// leaves counts the values in a value.
func leaves(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for _, v := range v {
			n += leaves(v)
		}
	case []any:
		for _, v := range v {
			n += leaves(v)
		}
	default:
		return 1
	}
	return n
}

// plainScalar is a string that YAML takes for itself: a word that is none of its booleans, or a duration.
var (
	plainScalar = regexp.MustCompile(`^([A-Za-z_/][A-Za-z0-9_./-]*|[0-9.]+(ms|[smh]))$`)
	otherScalar = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null)$`)
)

// flow writes a value as YAML on one line.
func flow(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, flow(key)+": "+flow(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, 0, len(v))
		for _, item := range v {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		if plainScalar.MatchString(v) && !otherScalar.MatchString(v) {
			return v
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b) // JSON is YAML too
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
