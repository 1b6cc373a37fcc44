package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/meshvet/meshvet/lint/object"
)

// maxWords bounds, in bytes, the words that name rules. All rules by their names take less.
const maxWords = 4096

// SuppressionKind says how a suppression is written, and so what it is about.
type SuppressionKind string

// The kinds of suppressions.
const (
	ByAnnotation SuppressionKind = "annotation" // of an object: all of it
	ByComment    SuppressionKind = "comment"    // in a file: a line, and what begins on it
	ByFile       SuppressionKind = "file"       // a comment before all else in a file: all of the file
	ByBaseline   SuppressionKind = "baseline"   // an entry of a baseline, which is none of the manifest's
)

// Suppression is what silences findings: what the author of a manifest writes to accept them, or an entry of a baseline, of which only
// Kind, Reason and Where are known.
type Suppression struct {
	Kind SuppressionKind
	// Names are the IDs of the rules and the categories that it names, sorted, each once. Words that mean neither are left out.
	Names  []string
	Reason string          // abridged; "" if there is none
	Until  string          // the last day on which it holds, as 2006-01-02 in UTC; "" = for ever
	Where  object.Location // of the comment, or of the words that name the rules
	// Object is what it is about, or a part of it at Path; zero if that is a file or several objects.
	Object object.Key
	Path   object.Path
	// Void says that it silences nothing, whatever is found: it has expired, has no reason, cannot be understood or is about nothing
	// that is judged.
	Void bool
	// Used says that a rule that it names found something that it is about.
	Used bool

	place string // what it is about, by what identifies it
}

// Keys identify what a suppression accepts, one for each of Names: the rule or category, and the object and field, or the file. They do
// not change with the lines of the file. Equal keys may come more than once in a run.
func (s *Suppression) Keys() []string {
	out := make([]string, len(s.Names))
	for i, n := range s.Names {
		out[i] = fmt.Sprintf("%s %s %s", s.Kind, n, s.place)
	}
	return out
}

// SuppressedFinding is a finding that somebody accepted.
type SuppressedFinding struct {
	Finding
	Suppression Suppression
}

// SuppressionFault is why a suppression has no effect, or less than it says.
type SuppressionFault struct {
	// Message goes on where the name of the suppression ends: what is wrong, and what to do.
	Message string
	// Subject is that name: an annotation, or the comment. At and Path are where it stands.
	Subject string
	At      object.Location
	Path    object.Path
	// Expired says that its last day is over, which is all that is wrong with it.
	Expired bool
}

// term is what a word in a suppression means.
type term struct {
	name  string  // the ID of a rule, or a category
	rules []*Meta // whose findings it silences
	fault string  // what to say if those are none
}

// newTerms returns what rules and categories are called, in lower case. forbidden says where the configuration forbids it to suppress a
// rule.
func newTerms(rules []Rule, forbidden map[*Meta]string) map[string]*term {
	terms := map[string]*term{}
	for i := range rules {
		m := &rules[i].Meta
		category := strings.ToLower(string(m.Category))
		all := terms[category]
		if all == nil && category != "" {
			all = &term{name: category}
			terms[category] = all
		}
		t := &term{name: m.ID}
		switch at, never := forbidden[m]; {
		case m.Unsuppressible:
			t.fault = fmt.Sprintf("names %s (%s), which can never be suppressed", m.ID, m.Name)
		case never:
			t.fault = fmt.Sprintf("names %s (%s), but the configuration does not allow %s to be suppressed (%s)", m.ID, m.Name, m.ID, at)
			if all != nil {
				all.fault = fmt.Sprintf("names %s, but the configuration does not allow these rules to be suppressed (%s)", category, at)
			}
		default:
			t.rules = []*Meta{m}
			if all != nil {
				all.rules = append(all.rules, m)
			}
		}
		terms[strings.ToLower(m.ID)], terms[strings.ToLower(m.Name)] = t, t
	}
	return terms
}

// claim is a suppression that is held against findings.
type claim struct {
	Suppression
	subject string      // what it is called
	at      object.Path // where the subject stands in the object, nil for comments
	object  *object.Object
	file    *object.File
	about   []*object.Object // all that are judged, in whole or in part; nil for a whole file
	first   int              // lines that a comment is about
	last    int

	words  []string // as written, each thing once, without the last day
	terms  []*term  // that have an effect
	used   []bool   // those of them by which something was silenced
	faults []SuppressionFault
}

// fail says what is wrong with the suppression.
func (c *claim) fail(format string, args ...any) {
	c.faults = append(c.faults, SuppressionFault{
		Message: object.Abridge(fmt.Sprintf(format, args...)), Subject: c.subject, At: c.Where, Path: c.at,
	})
}

// void says why the suppression has no effect at all. What is wrong with its words does not matter any more.
func (c *claim) void(format string, args ...any) {
	c.Void, c.terms, c.used, c.faults = true, nil, nil, nil
	c.fail("silences nothing: "+format, args...)
}

// covers says whether the suppression is about a finding and names its rule, and notes that it is used.
func (c *claim) covers(f *Finding) bool {
	if c.Kind == ByComment {
		at := f.Location
		if c.file.Rendering() != nil && f.object != nil {
			at = f.object.InText(f.Path)
		}
		if line := at.Range.Start.Line; line < c.first || line > c.last || at.File != c.file.Name {
			return false
		}
	}
	covered := false
	for i, t := range c.terms {
		if slices.Contains(t.rules, f.Rule) {
			covered, c.used[i], c.Used = true, true, true
		}
	}
	return covered
}

// nearer orders suppressions of one finding: the narrowest first, which is the one that a report names.
func (c *claim) nearer(other *claim) bool {
	rank := func(c *claim) int { return slices.Index([]SuppressionKind{ByComment, ByAnnotation, ByFile}, c.Kind) }
	return cmp.Or(cmp.Compare(rank(c), rank(other)), cmp.Compare(c.last-c.first, other.last-other.first)) < 0
}

// read takes in the words of a suppression: names of rules and categories, and a last day. It returns false if that leaves it without
// effect, which has been told then.
func (c *claim) read(e *Engine, words string) bool {
	if len(words) > maxWords {
		c.void("it is longer than %d bytes", maxWords)
		return false
	}
	seen, unknown := map[*term]bool{}, map[string]bool{}
	var strange []string
	for _, word := range strings.FieldsFunc(words, separates) {
		lower := strings.ToLower(word)
		if day, isDay := strings.CutPrefix(lower, "until="); isDay {
			if c.Until != "" {
				c.void("%q is a second last day; keep one", shortened(word))
				return false
			}
			if _, err := time.Parse(time.DateOnly, day); err == nil {
				c.Until = day
				continue
			}
		}
		if isUntil(lower) { // whoever writes a last day does not want to be silent for ever
			c.void("%q is no last day; write one as in until=2027-06-30", shortened(word))
			return false
		}
		t := e.terms[lower]
		if t != nil && seen[t] || t == nil && unknown[lower] {
			continue
		}
		c.words = append(c.words, word)
		if t == nil {
			unknown[lower] = true
			strange = append(strange, word)
			continue
		}
		seen[t] = true
		c.Names = append(c.Names, t.name)
		if len(t.rules) > 0 {
			c.terms, c.used = append(c.terms, t), append(c.used, false)
		} else if t.fault != "" {
			c.fail("%s", t.fault)
		}
	}
	slices.Sort(c.Names)
	if len(strange) > 0 {
		c.fail("names %s", e.tellUnknown(strange))
	}
	if len(c.words) == 0 {
		c.void("it names no rule")
		return false
	}
	return true
}

// justify takes in the reason of a suppression that has one, and says whether it holds today.
func (c *claim) justify(e *Engine, reason string) {
	c.Reason = object.Abridge(strings.TrimSpace(reason))
	switch {
	case c.Until != "" && c.Until < e.today():
		c.void("it has expired, its last day was %s; cure what it names, or give it a later day", c.Until)
		c.faults[0].Expired = true
	case len(c.terms) == 0:
		c.Void = true // by what was said of each word
	}
}

// today is the current day in UTC.
func (e *Engine) today() string {
	now := e.config.Clock
	if now == nil {
		now = time.Now
	}
	return now().UTC().Format(time.DateOnly)
}

// says whether a text has something in it that can be read.
func says(reason string) bool {
	return strings.ContainsFunc(reason, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

func separates(r rune) bool { return r == ',' || unicode.IsSpace(r) }

// setsEnd says whether a text holds a last day.
func setsEnd(text string) bool { return strings.Contains(strings.ToLower(text), "until=") }

// isUntil says whether a word among names of rules is a last day that is spelt otherwise, or the beginning of one.
func isUntil(lower string) bool {
	return lower == "until" || strings.HasPrefix(lower, "until:") || strings.Contains(lower, "until=")
}

// longestWord is how much is quoted of a word.
const longestWord = 64

func shortened(word string) string {
	if len(word) > longestWord {
		return strings.ToValidUTF8(word[:longestWord], "") + "…"
	}
	return word
}

// tellUnknown quotes words that mean no rule. Of many, the first ones say enough.
func (e *Engine) tellUnknown(words []string) string {
	const most = 3
	var quoted []string
	for _, w := range words[:min(len(words), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", shortened(w)))
	}
	out := strings.Join(quoted, ", ")
	if n := len(words) - most; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	if len(words) > 1 {
		return out + ", which are no rules or categories"
	}
	out += ", which is no rule or category"
	if len(words[0]) <= longestWord { // a slip is no longer, and looking for one costs by length
		out += suggestRule(words[0], e.all)
	}
	return out
}

// splitSuppressed takes what is silenced out of the findings.
func splitSuppressed(findings []Finding) (shown []Finding, suppressed []SuppressedFinding) {
	for _, f := range findings {
		if f.suppressed != nil {
			suppressed = append(suppressed, SuppressedFinding{f, f.suppressed.Suppression})
		} else {
			shown = append(shown, f)
		}
	}
	return shown, suppressed
}
