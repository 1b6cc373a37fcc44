package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meshvet/meshvet/lint/object"
)

// Baseline is a list of findings that are known, and that a report need not repeat.
type Baseline struct {
	Name    string          // of its file
	Entries []BaselineEntry // in the order of compareEntries
}

// BaselineEntry is one finding of a baseline, or several that read alike. It holds for findings with the same rule, object, path and
// message, wherever they are; File only says which of several it is.
type BaselineEntry struct {
	Rule    string // an ID
	Object  string // as object.Key writes it
	Path    string // list items are named by what identifies them, see StablePath; "" for the object as a whole
	Message string // with N for each number, which may change while the cause stays
	File    string // where it was found, from the folder of the baseline
	Count   int    // how many findings it holds, at least 1
	// Pinned says that other files had the same object when it was written. Then it holds in its file only: were it taken for one that
	// moved once its file is gone, it would hide what is new in another mesh.
	Pinned bool
	Line   int // where it begins in the baseline; 0 if it is in no file
}

// BaselineUse is what became of a baseline in a run.
type BaselineUse struct {
	Name     string
	Findings int // findings that it holds
	Stale    []StaleEntry
	// Rewrite is what follows --write-baseline so that it is brought up to date; "" if the run knows nothing that would.
	Rewrite string
}

// StaleEntry is an entry of a baseline that nothing is left of, or that holds more findings than there are.
type StaleEntry struct {
	BaselineEntry
	Gone   int    // how many of its findings
	Reason string // what became of them; ends a sentence that begins with the entry
}

// BaselineView is what a run knows beside its report. Its functions take names of files as entries have them.
type BaselineView struct {
	Files, Around []*object.File // as in Input
	// Covers says whether the baseline holds for a file, by its name in the report. nil = for every file.
	Covers func(name string) bool
	// Whole says whether all files around one that an entry names were looked for, so that an object that is not in view is gone.
	// nil = for no file.
	Whole func(file string) bool
	// FromBaseline turns the name of a file in the report into that in entries. nil = they are the same.
	FromBaseline func(name string) string
	// Exists says whether there is a file that an entry names. nil = none but those in view.
	Exists func(file string) bool
	// Known says whether there is a rule with an ID, selected or not. nil = every ID is one.
	Known func(id string) bool
}

// known is what a finding and the entry of a baseline have in common.
type known struct{ rule, object, path, message string }

func (e *BaselineEntry) known() known { return known{e.Rule, e.Object, e.Path, numberless(e.Message)} }

func (f *Finding) known() known {
	return known{f.Rule.ID, object.Abridge(f.Object.String()), f.stablePath(), numberless(f.placeless())}
}

// stablePath is the finding's path as entries of a baseline have it.
func (f *Finding) stablePath() string { return object.Abridge(strings.TrimPrefix(f.place, ".")) }

// mayBeKnown says whether a baseline may hold a finding. One that is about a file tells of a problem, which fails the run whatever a
// baseline says.
func (f *Finding) mayBeKnown() bool { return f.Object.Kind != "" }

// numberless writes N for each number in a message. A digit that follows a letter is part of a name.
func numberless(msg string) string {
	var b strings.Builder
	inName := false
	for i := 0; i < len(msg); {
		r, size := utf8.DecodeRuneInString(msg[i:])
		if !isDigit(msg[i]) || inName {
			b.WriteString(msg[i : i+size])
			inName = unicode.IsLetter(r) || r == '_' || inName && isDigit(msg[i])
			i += size
			continue
		}
		for i < len(msg) && (isDigit(msg[i]) || msg[i] == '.' && i+1 < len(msg) && isDigit(msg[i+1])) {
			i++
		}
		b.WriteByte('N')
	}
	return b.String()
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func compareEntries(a, b BaselineEntry) int {
	return cmp.Or(
		strings.Compare(a.Object, b.Object), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Path, b.Path),
		strings.Compare(a.Message, b.Message), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

// Apply takes the findings that the baseline holds out of the findings of a report, and says there what became of its entries. A
// finding that its author silenced stays the author's. Several baselines may be applied to a report, each to its files.
func (b *Baseline) Apply(r *Report, view BaselineView) {
	m := b.match(r, &view)
	use := BaselineUse{Name: b.Name, Stale: m.stale}
	var shown []Finding
	for i := range r.Findings {
		f := r.Findings[i]
		e := m.entryOf[i]
		if e < 0 {
			shown = append(shown, f)
			continue
		}
		use.Findings++
		r.Suppressed = append(r.Suppressed, SuppressedFinding{f, Suppression{
			Kind: ByBaseline, Reason: "in the baseline", Where: b.locate(&b.Entries[e]),
		}})
	}
	r.Findings, r.Baselines = shown, append(r.Baselines, use)
	r.sort()
}

func (b *Baseline) locate(e *BaselineEntry) object.Location {
	at := object.Location{File: b.Name, Exact: true}
	if e.Line > 0 {
		at.Range = object.Range{Start: object.Pos{Line: e.Line, Col: 1}, End: object.Pos{Line: e.Line, Col: 1}}
	}
	return at
}

// BaselineChange counts what an update did to a baseline, in findings.
type BaselineChange struct {
	Added, Removed int
	Unjudged       int // left in, since the run says nothing of them
}

// Update returns the baseline of a report: its findings, and those entries of b that the report says nothing of, since the object or
// the rule was not judged. b may be nil.
func (b *Baseline) Update(r *Report, view BaselineView) (*Baseline, BaselineChange) {
	if b == nil {
		b = &Baseline{}
	}
	m := b.match(r, &view)
	out := &Baseline{Name: b.Name}
	var change BaselineChange
	for i := range b.Entries {
		e := b.Entries[i]
		if e.Count = m.unjudged[i]; e.Count > 0 {
			change.Unjudged += e.Count
			e.Pinned = e.Pinned || m.seen.places[e.Object] > 1
			out.Entries = append(out.Entries, e)
		}
	}
	for _, s := range m.stale {
		change.Removed += s.Gone
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if !f.mayBeKnown() || !view.covers(f.Location.File) {
			continue
		}
		if m.entryOf[i] < 0 {
			change.Added++
		}
		k := f.known()
		out.Entries = append(out.Entries, BaselineEntry{
			Rule: k.rule, Object: k.object, Path: k.path, Message: k.message, File: view.name(f.Location.File), Count: 1,
			Pinned: m.seen.places[k.object] > 1,
		})
	}
	out.settle()
	return out, change
}

// settle puts the entries into their order, and those that are the same into one.
func (b *Baseline) settle() {
	for i := range b.Entries {
		b.Entries[i].Line, b.Entries[i].Message = 0, numberless(b.Entries[i].Message)
	}
	slices.SortFunc(b.Entries, compareEntries)
	out := b.Entries[:0]
	for _, e := range b.Entries {
		if n := len(out); n > 0 && out[n-1].known() == e.known() && out[n-1].File == e.File {
			out[n-1].Count += e.Count
			out[n-1].Pinned = out[n-1].Pinned || e.Pinned
		} else {
			out = append(out, e)
		}
	}
	b.Entries = out
}

func (v *BaselineView) name(file string) string {
	if v.FromBaseline != nil {
		file = v.FromBaseline(file)
	}
	return object.Abridge(file)
}

func (v *BaselineView) covers(name string) bool { return v.Covers == nil || v.Covers(name) }

func (v *BaselineView) exists(file string) bool {
	return v.Exists != nil && file != "" && v.Exists(file)
}

// matching is what findings and the entries of a baseline are to each other.
type matching struct {
	entryOf  []int // the entry of each finding, -1 = none
	unjudged []int // how many findings of each entry the run says nothing of
	stale    []StaleEntry
	seen     *sightings
}

func (b *Baseline) match(r *Report, view *BaselineView) *matching {
	m := &matching{entryOf: make([]int, len(r.Findings)), unjudged: make([]int, len(b.Entries))}
	left := make([]int, len(b.Entries)) // findings that each entry may still hold
	entries := map[known][]int{}
	for i := range b.Entries {
		e := &b.Entries[i]
		left[i] = e.Count
		entries[e.known()] = append(entries[e.known()], i)
	}
	seen := newSightings(r, view)
	m.seen = seen
	// Of findings that read alike, each first takes the entry of its own file. Only an entry whose object is not in its file any more
	// may have moved: in two meshes the same object may be at fault twice, and the one that is repaired must not hide the other.
	for _, moved := range [...]bool{false, true} {
		for i := range r.Findings {
			f := &r.Findings[i]
			if !moved {
				m.entryOf[i] = -1
			}
			if m.entryOf[i] >= 0 || !f.mayBeKnown() || !view.covers(f.Location.File) {
				continue
			}
			for _, n := range entries[f.known()] {
				e := &b.Entries[n]
				if left[n] > 0 && (e.File == view.name(f.Location.File) || moved && !e.Pinned && seen.left(e)) {
					m.entryOf[i] = n
					left[n]--
					break
				}
			}
		}
	}
	for i := range b.Entries {
		if left[i] == 0 {
			continue
		}
		e := &b.Entries[i]
		if reason := seen.gone(e); reason != "" {
			m.stale = append(m.stale, StaleEntry{BaselineEntry: *e, Gone: left[i], Reason: reason})
		} else {
			m.unjudged[i] = left[i]
		}
	}
	return m
}

// sightings is what a run has seen of the things that entries of a baseline name.
type sightings struct {
	view       *BaselineView
	selected   map[string]bool      // rules
	passedOver map[[2]string]bool   // rule and object; "" for all of either
	files      map[string]*sighting // by their names in entries
	judged     map[string]bool      // objects
	around     map[string]bool      // objects that are context only
	elsewhere  map[string]bool      // objects in files that the baseline does not hold for
	places     map[string]int       // in how many files an object is
	superseded map[known]bool
	silenced   map[known]object.Location
}

// sighting is what is known of one file.
type sighting struct {
	judged  bool // and not context only
	whole   bool // all that it holds could be read
	covered bool // the baseline holds for it
	objects map[string]bool
}

func newSightings(r *Report, view *BaselineView) *sightings {
	s := &sightings{
		view: view, selected: map[string]bool{}, passedOver: map[[2]string]bool{}, files: map[string]*sighting{},
		judged: map[string]bool{}, around: map[string]bool{}, elsewhere: map[string]bool{}, places: map[string]int{},
		superseded: map[known]bool{}, silenced: map[known]object.Location{},
	}
	for _, m := range r.Rules {
		s.selected[m.ID] = true
	}
	for _, k := range r.Skipped {
		name := ""
		if k.Object.Kind != "" {
			name = object.Abridge(k.Object.String())
		}
		if k.Cause != Unheeded && (k.Rule != "" || name != "") {
			s.passedOver[[2]string{k.Rule, name}] = true
		}
	}
	for k := range r.off {
		s.passedOver[[2]string{k.rule, object.Abridge(k.object.String())}] = true
	}
	for _, set := range [...][]*object.File{view.Files, view.Around} {
		for _, f := range set {
			at := &sighting{
				whole: f.Template == nil && len(f.Problems) == 0 && len(f.Unread) == 0, covered: view.covers(f.Name), objects: map[string]bool{},
			}
			s.files[view.name(f.Name)] = at
			for _, o := range f.Objects {
				name := object.Abridge(o.Key.String())
				if at.objects[name] = true; !at.covered {
					s.elsewhere[name] = true
				}
			}
		}
	}
	for _, f := range view.Files {
		at := s.files[view.name(f.Name)]
		if at.judged = true; !at.covered {
			continue
		}
		for _, o := range f.Objects {
			s.judged[object.Abridge(o.Key.String())] = true
		}
	}
	for _, f := range view.Around {
		if !s.files[view.name(f.Name)].covered {
			continue
		}
		for _, o := range f.Objects {
			s.around[object.Abridge(o.Key.String())] = true
		}
	}
	for _, f := range s.files {
		for name := range f.objects {
			s.places[name]++
		}
	}
	for i := range r.superseded {
		if f := &r.superseded[i]; view.covers(f.Location.File) {
			s.superseded[f.known()] = true
		}
	}
	for i := range r.Suppressed {
		if x := &r.Suppressed[i]; x.Suppression.Kind != ByBaseline && view.covers(x.Location.File) {
			s.silenced[x.known()] = x.Suppression.Where
		}
	}
	return s
}

// left says whether the object of an entry is known not to be in the entry's file any more.
func (s *sightings) left(e *BaselineEntry) bool {
	if f := s.files[e.File]; f != nil {
		return f.whole && !f.objects[e.Object]
	}
	return !s.view.exists(e.File)
}

// gone says why a finding of an entry, which is not among those of the run, will not come back as long as nobody brings it back; "" if
// the run does not show that.
func (s *sightings) gone(e *BaselineEntry) string {
	k := e.known()
	if !s.selected[e.Rule] {
		if s.view.Known != nil && !s.view.Known(e.Rule) {
			return "there is no such rule"
		}
		return ""
	}
	for _, key := range [...][2]string{{e.Rule, ""}, {e.Rule, e.Object}, {"", e.Object}} {
		if s.passedOver[key] {
			return ""
		}
	}
	if s.superseded[k] {
		return ""
	}
	const repaired = "it is not found any more"
	reason := repaired
	if at, ok := s.silenced[k]; ok {
		reason = fmt.Sprintf("it is suppressed at %s", at)
	}
	switch f := s.files[e.File]; {
	case !s.left(e): // then it is in that file, or nobody knows
		switch {
		case f == nil || !f.whole:
		case !f.covered:
			return "the baseline does not hold for its file, which is under another configuration"
		case f.judged:
			return reason
		}
	case e.Pinned && (s.judged[e.Object] || s.around[e.Object]):
		return "the object is only in other files, which had it before"
	case s.judged[e.Object]:
		return reason
	case s.around[e.Object]: // it moved to where this run does not judge
	case s.view.Whole != nil && s.view.Whole(e.File):
		if s.elsewhere[e.Object] {
			return "the object is only in files under other configurations, for which the baseline does not hold"
		}
		return "the object is gone"
	}
	return ""
}
