package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/meshvet/meshvet/lint/object"
)

// The annotations by which the author of an object says which findings on it are accepted, and why.
const (
	// IgnoreAnnotation holds IDs, names or categories of rules, in any case, with commas or blanks between them.
	IgnoreAnnotation = "meshvet.dev/ignore"
	// ReasonAnnotation holds the reason, without which nothing is silenced.
	ReasonAnnotation = "meshvet.dev/ignore-reason"
)

// maxIgnoreBytes bounds IgnoreAnnotation. All rules by their names take less.
const maxIgnoreBytes = 4096

// SuppressedFinding is a finding that somebody accepted.
type SuppressedFinding struct {
	Finding
	Suppression Suppression
}

// Suppression is what silences findings.
type Suppression struct {
	Kind   SuppressionKind
	Reason string
	Where  object.Location // of the words that name the rules, or of the entry of a baseline
}

// SuppressionKind says where a suppression is written.
type SuppressionKind string

// ByBaseline is the kind of suppression that is an entry of a baseline.
const ByBaseline SuppressionKind = "baseline"

// vocabulary is what rules are called, in lower case. An ID or a name leads to its rule, a category to nil.
type vocabulary map[string]*Meta

func newVocabulary(rules []Rule) vocabulary {
	v := vocabulary{}
	for i := range rules {
		if c := rules[i].Category; c != "" {
			v[strings.ToLower(string(c))] = nil
		}
	}
	for i := range rules {
		m := &rules[i].Meta
		v[strings.ToLower(m.ID)], v[strings.ToLower(m.Name)] = m, m
	}
	return v
}

// ignored is what the annotations of an object silence. A nil one silences nothing.
type ignored struct {
	words       map[string]bool // in lower case
	suppression *Suppression
}

func (i *ignored) covers(m *Meta) bool {
	if i == nil || m.Unsuppressible {
		return false
	}
	for _, word := range [...]string{m.ID, m.Name, string(m.Category)} {
		if i.words[strings.ToLower(word)] {
			return true
		}
	}
	return false
}

// silence marks the findings of a visit that the author of its object accepts, and says what of the annotations has no effect.
func (v *visit) silence(o *object.Object) {
	accepted, faults := v.engine.ignoredOn(o)
	for _, fault := range faults {
		v.skips = append(v.skips, Skip{File: o.FileName(), Object: o.Key, Reason: object.Abridge(fault), Cause: Unheeded})
	}
	for i := range v.findings {
		if accepted.covers(v.findings[i].Rule) {
			v.findings[i].suppressed = accepted.suppression
		}
	}
}

// ignoredOn reads the annotations of an object. What is wrong with them is returned as sentences without a full stop.
func (e *Engine) ignoredOn(o *object.Object) (*ignored, []string) {
	at := object.Path{"metadata", "annotations", IgnoreAnnotation}
	reasonAt := object.Path{"metadata", "annotations", ReasonAnnotation}
	value, reason := o.Lookup(at), o.Lookup(reasonAt)
	nothing := func(at object.Path, format string, args ...any) (*ignored, []string) {
		return nil, []string{named(o, at) + " " + fmt.Sprintf(format, args...)}
	}
	switch {
	case !value.Set() && !reason.Set():
		return nil, nil
	case !value.Set():
		return nothing(reasonAt, "silences nothing: there is no %s that names rules", IgnoreAnnotation)
	case value.Type() != object.String:
		return nothing(at, "silences nothing: it is %s, and a string is wanted", typeName(value))
	case len(value.Str()) > maxIgnoreBytes:
		return nothing(at, "silences nothing: it is longer than %d bytes", maxIgnoreBytes)
	case reason.Set() && reason.Type() != object.String:
		return nothing(reasonAt, "is no reason, so nothing is silenced: it is %s, and a string is wanted", typeName(reason))
	case !says(reason.Str()):
		return nothing(at, "silences nothing: %s has to say why", ReasonAnnotation)
	}
	words := strings.FieldsFunc(value.Str(), separates)
	if len(words) == 0 {
		return nothing(at, "silences nothing: it names no rule")
	}
	// Whoever writes a last day does not want to be silent for ever.
	if setsEnd(value.Str()) || slices.ContainsFunc(words, isUntil) {
		return nothing(at, "silences nothing: until= is not supported yet")
	}
	if setsEnd(reason.Str()) {
		return nothing(reasonAt, "holds until=, which is not supported yet, so nothing is silenced")
	}

	out := &ignored{words: map[string]bool{}, suppression: &Suppression{
		Reason: object.Abridge(strings.TrimSpace(reason.Str())), Where: o.Locate(at),
	}}
	var faults, unknown []string
	for _, word := range words {
		key := strings.ToLower(word)
		m, known := e.vocabulary[key]
		switch {
		case out.words[key]:
			continue
		case !known:
			unknown = append(unknown, word)
		case m != nil && m.Unsuppressible:
			faults = append(faults, fmt.Sprintf("%s names %s (%s), which can never be suppressed", named(o, at), m.ID, m.Name))
		}
		out.words[key] = true
	}
	if len(unknown) > 0 {
		faults = append(faults, named(o, at)+" names "+e.tellUnknown(unknown))
	}
	return out, faults
}

// named is an annotation with its line, if it has one.
func named(o *object.Object, at object.Path) string {
	name := fmt.Sprint(at[len(at)-1])
	if l := o.LocateKey(at); l.Range.Start.IsValid() {
		name += fmt.Sprintf(" (line %d)", l.Range.Start.Line)
	}
	return name
}

// says whether a text has something in it that can be read.
func says(reason string) bool {
	return strings.ContainsFunc(reason, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

func separates(r rune) bool { return r == ',' || unicode.IsSpace(r) }

// setsEnd says whether a text holds a last day.
func setsEnd(text string) bool { return strings.Contains(strings.ToLower(text), "until=") }

// isUntil says whether a word among names of rules is the beginning of a last day that is spelt otherwise.
func isUntil(word string) bool {
	word = strings.ToLower(word)
	return word == "until" || strings.HasPrefix(word, "until:")
}

// tellUnknown quotes words that mean no rule. Of many, the first ones say enough.
func (e *Engine) tellUnknown(words []string) string {
	const most, longest = 3, 64
	var quoted []string
	for _, w := range words[:min(len(words), most)] {
		if len(w) > longest {
			w = strings.ToValidUTF8(w[:longest], "") + "…"
		}
		quoted = append(quoted, fmt.Sprintf("%q", w))
	}
	out := strings.Join(quoted, ", ")
	if n := len(words) - most; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	if len(words) > 1 {
		return out + ", which are no rules or categories"
	}
	out += ", which is no rule or category"
	if len(words[0]) <= longest { // a slip is no longer, and looking for one costs by length
		out += suggestRule(words[0], e.all)
	}
	return out
}

// splitSuppressed takes what is silenced out of the findings.
func splitSuppressed(findings []Finding) (shown []Finding, suppressed []SuppressedFinding) {
	for _, f := range findings {
		if f.suppressed != nil {
			suppressed = append(suppressed, SuppressedFinding{f, *f.suppressed})
		} else {
			shown = append(shown, f)
		}
	}
	return shown, suppressed
}
