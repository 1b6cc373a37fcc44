package lint

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// GateChange is something that a change does to what decides about it: the configuration, the baseline, or what is suppressed.
type GateChange struct {
	Message string // what has changed; one sentence without a full stop
	Effect  string
	At      object.Location
	Object  object.Key // that a suppression is about; zero if it is about something else
	Path    object.Path
}

// ChangePass is a rule's view of one such change.
type ChangePass struct {
	Change *GateChange
	report func(Finding)
	rule   *activeRule
}

// Report records a finding about the change.
func (p *ChangePass) Report(message string, extras ...Extra) {
	c := p.Change
	f := Finding{Rule: &p.rule.rule.Meta, Severity: p.rule.preset, Message: message, Object: c.Object, Path: c.Path, Location: c.At}
	for _, e := range extras {
		e(&f)
	}
	if p.rule.severity != nil {
		f.Severity = *p.rule.severity
	}
	f.identify(nil)
	f.abridge()
	p.report(f)
}

// JudgeChanges adds to a report what rules find of changes to what decides about it. They are all new, and nothing silences them.
func (e *Engine) JudgeChanges(r *Report, changes []GateChange) {
	for i := range changes {
		for _, a := range e.plain.changes {
			p := ChangePass{Change: &changes[i], rule: a, report: func(f Finding) { r.Findings = append(r.Findings, f) }}
			if err := guarded(func() error { return a.rule.CheckChange(&p) }); err != nil {
				r.Problems = append(r.Problems, object.Problem{
					Kind: RuleBroke, Rule: a.rule.ID, Location: changes[i].At,
					Message: fmt.Sprintf("rule %s (%s) failed on a change: %s", a.rule.ID, a.rule.Name, err),
				})
			}
		}
	}
	r.sort()
}

// SuppressionChanges returns what is suppressed in a report that was not before, or not for as long. before is that of Earlier; revision is
// what it is called. A suppression without effect is none. files and then are those that the run reads, as they are and as they were: what
// was suppressed in another file counts only if its object moved from there.
func SuppressionChanges(now, before *Report, revision string, files, then []*object.File) []GateChange {
	type old struct {
		*Suppression
		taken bool
	}
	was := map[string][]*old{} // by key
	var ofFiles []*old
	for i := range before.Suppressions {
		s := &before.Suppressions[i]
		if s.Void {
			continue
		}
		if s.Kind == ByFile {
			ofFiles = append(ofFiles, &old{Suppression: s})
		}
		for _, key := range s.Keys() {
			was[key] = append(was[key], &old{Suppression: s})
		}
	}
	places, formerly := placesOf(files), placesOf(then)
	came := func(s *Suppression) bool { return !formerly[standing{s.Where.File, s.Object}] }
	gone := func(o *old) bool { return !places[standing{o.Where.File, o.Object}] }
	matches := make([][]*Suppression, len(now.Suppressions)) // for each of Names, nil if there was none
	// Those of the same file come first, as in Compare.
	for _, moved := range [...]bool{false, true} {
		for i := range now.Suppressions {
			s := &now.Suppressions[i]
			if s.Void || moved && !came(s) {
				continue
			}
			if matches[i] == nil {
				matches[i] = make([]*Suppression, len(s.Names))
			}
			if moved && s.Kind == ByFile { // the file has another name
				if at := slices.IndexFunc(ofFiles, func(o *old) bool {
					return !o.taken && gone(o) && slices.Equal(o.Names, s.Names) && !lastsLonger(s, o.Suppression)
				}); at >= 0 {
					ofFiles[at].taken = true
					for n := range matches[i] {
						matches[i][n] = ofFiles[at].Suppression
					}
				}
			}
			for n, key := range s.Keys() {
				if matches[i][n] != nil {
					continue
				}
				at := slices.IndexFunc(was[key], func(o *old) bool {
					return !o.taken && (o.Where.File == s.Where.File || moved && gone(o))
				})
				if at >= 0 {
					was[key][at].taken = true
					matches[i][n] = was[key][at].Suppression
				}
			}
		}
	}
	var out []GateChange
	for i := range now.Suppressions {
		s := &now.Suppressions[i]
		if s.Void {
			continue
		}
		var fresh, longer []string
		for n, name := range s.Names {
			switch {
			case n >= len(matches[i]) || matches[i][n] == nil:
				fresh = append(fresh, name)
			case lastsLonger(s, matches[i][n]):
				longer = append(longer, name)
			}
		}
		add := func(format string, args ...any) {
			out = append(out, GateChange{
				Message: fmt.Sprintf(format, args...), Effect: "the findings that it accepts fail no run",
				At: s.Where, Object: s.Object, Path: s.Path,
			})
		}
		if len(fresh) > 0 {
			add("%s is suppressed here, and was not at %s", Enumerate(fresh), revision)
		}
		if len(longer) > 0 {
			until := "for ever"
			if s.Until != "" {
				until = "until " + s.Until
			}
			add("%s is suppressed here %s, which is longer than at %s", Enumerate(longer), until, revision)
		}
	}
	return out
}

// lastsLonger says whether a suppression holds on days on which another has expired.
func lastsLonger(s, than *Suppression) bool {
	return than.Until != "" && (s.Until == "" || s.Until > than.Until)
}

// maxTold bounds the differences that are told one by one.
const maxTold = 5

// DocumentChanges says what a configuration says that it did not say before, one difference after the other. at is where the first of them
// stands. Comments, order and spelling make no difference; "" if there is none.
func DocumentChanges(before, now *object.Document) (told string, at object.Location) {
	var list []string
	add := func(path object.Path, format string, args ...any) {
		if len(list) == 0 && now.Root().Exists() { // an empty document has no places
			at = now.LocateKey(path)
		}
		list = append(list, object.Abridge(strings.TrimSpace(path.String()+" "+fmt.Sprintf(format, args...))))
	}
	compareFields(nil, before.Root(), now.Root(), add)
	if n := len(list) - maxTold; n > 0 {
		list = append(list[:maxTold], fmt.Sprintf("and %d more differences", n))
	}
	return strings.Join(list, "; "), at
}

// compareFields compares two values, and enters mappings.
func compareFields(path object.Path, before, now object.Value, add func(object.Path, string, ...any)) {
	// A mapping that is not there says as much as an empty one; so does an empty document.
	isMap := func(v, other object.Value) bool {
		return v.Type() == object.Map || !v.Set() && (len(path) == 0 || other.Type() == object.Map && other.Len() > 0)
	}
	if isMap(before, now) && isMap(now, before) {
		for key, v := range now.Fields() {
			compareFields(path.Child(key), before.Get(key), v, add)
		}
		for key, v := range before.Fields() {
			switch {
			case !v.Set() || now.Get(key).Exists():
			case v.Type() == object.Map && v.Len() > 0:
				compareFields(path.Child(key), v, now.Get(key), add)
			default:
				add(path.Child(key), "is not set any more, and was %s", brief(path, v))
			}
		}
		return
	}
	a, b := before.Any(), now.Any()
	switch {
	case reflect.DeepEqual(a, b):
	case len(path) == 0:
		add(path, "is another document")
	case now.Type() == object.List && (before.Type() == object.List || !before.Set() && now.Len() > 0):
		more, less := missingItems(before, now), missingItems(now, before)
		switch {
		case len(more) > 0:
			add(path, "holds %s now", Enumerate(more))
		case len(less) > 0:
			add(path, "does not hold %s any more", Enumerate(less))
		default:
			add(path, "has another order")
		}
	case !before.Set():
		add(path, "is %s now, and was not set", brief(path, now))
	default:
		add(path, "is %s now, and was %s", brief(path, now), brief(path, before))
	}
}

// brief is a value in a message. What YAML makes of off is a severity where that is wanted.
func brief(path object.Path, v object.Value) string {
	switch v.Type() {
	case object.Bool:
		if len(path) > 0 && path[0] == "rules" && !v.Bool() {
			return Off.String()
		}
	case object.Map:
		return "a mapping"
	case object.List:
		return "a list"
	case object.Null:
		return "null"
	}
	return v.Text()
}

// missingItems are the first few items of a list that another one does not hold; mappings and lists are not told apart by their names.
func missingItems(from, list object.Value) []string {
	spelt := func(v object.Value) string { return fmt.Sprintf("%T %v", v.Any(), v.Any()) }
	have := map[string]bool{}
	for _, item := range from.Items() {
		have[spelt(item)] = true
	}
	var out []string
	for _, item := range list.Items() {
		name := brief(nil, item)
		if text, err := json.Marshal(item.Any()); err == nil && item.Type() == object.Map {
			name = object.Abridge(string(text))
		}
		switch {
		case have[spelt(item)] || slices.Contains(out, name):
		case len(out) == maxTold:
			return append(out, "more")
		default:
			out = append(out, name)
		}
	}
	return out
}
