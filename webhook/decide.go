package webhook

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// Verdict is what the engine says of a request: all that a decision depends on, beside the configuration.
type Verdict struct {
	Object   object.Key
	Findings []Weighed
	// Problems are what kept the object from being judged wholly.
	Problems []string
	// Notes are what the author of the object should know beside that, such as that an annotation has no effect.
	Notes []string
}

// Weighed is a finding with what decides how it counts.
type Weighed struct {
	lint.Finding
	// Namespace holds the labels of the namespace of the finding's object.
	Namespace map[string]string
	// Inherited says that the object had the finding before the request.
	Inherited bool
	// Caused says that the finding is on another object, and was not there before the request.
	Caused bool
	// Suppressed says that the object's own annotation silences the finding.
	Suppressed bool
}

// Decision is the answer to a request, before it is worded.
type Decision struct {
	Findings []Decided // all but the silenced ones, the heaviest first
	// Suppressed are the rules of the findings that the object's annotation silenced.
	Suppressed []string
	Problems   []string
	Notes      []string
	// OnError is what becomes of the request because of Problems.
	OnError lint.Action
}

// Decided is a finding with what becomes of the request because of it.
type Decided struct {
	Weighed
	Action lint.Action
	// Note says why the action is not the one that one might expect, "" if there is nothing to say.
	Note string
}

// The notes.
const (
	noteOverruled = "the suppression does not count where the finding is denied"
	noteInherited = "not new, so not denied"
	noteCaused    = "caused by this change"
)

// Decide weighs findings as the configuration says. It depends on nothing else.
func Decide(cfg *lint.Admission, v Verdict) Decision {
	d := Decision{Problems: v.Problems, Notes: v.Notes, OnError: lint.Warn}
	if cfg.DenyOnError {
		d.OnError = lint.Deny
	}
	for _, w := range v.Findings {
		f, silenced := decide(cfg, w)
		switch {
		case !silenced:
			d.Findings = append(d.Findings, f)
		case !w.Caused: // by the object's own annotation
			d.Suppressed = append(d.Suppressed, w.Rule.ID)
		}
	}
	slices.SortStableFunc(d.Findings, func(a, b Decided) int {
		return cmp.Or(
			cmp.Compare(b.Severity, a.Severity),
			-compareBool(a.Action == lint.Deny, b.Action == lint.Deny),
			compareBool(a.Caused, b.Caused),
			strings.Compare(a.Rule.ID, b.Rule.ID),
			strings.Compare(a.Object.String(), b.Object.String()),
			strings.Compare(a.Path.String(), b.Path.String()),
		)
	})
	return d
}

// decide weighs one finding; silenced says that nothing becomes of it, since an annotation on its object accepts it.
func decide(cfg *lint.Admission, w Weighed) (f Decided, silenced bool) {
	f = Decided{Weighed: w, Action: cfg.ActionOf(w.Rule, w.Severity, w.Namespace)}
	switch {
	case w.Caused:
		f.Note = noteCaused
		if f.Action == lint.Deny && !cfg.DenyCaused {
			f.Action = lint.Warn
		}
	case w.Inherited && f.Action == lint.Deny:
		// The ratchet: whoever edits an object with an old fault may leave it, and may not add another.
		f.Action, f.Note = lint.Warn, noteInherited
	}
	if w.Suppressed {
		if f.Action != lint.Deny || cfg.MaySuppress(w.Rule) {
			return f, true
		}
		f.Note = cmp.Or(f.Note, noteOverruled)
	}
	return f, false
}

// weight orders actions by how much becomes of a request.
func weight(a lint.Action) int {
	return slices.Index([]lint.Action{lint.Audit, lint.Warn, lint.Deny}, a)
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Allowed says whether the request passes.
func (d *Decision) Allowed() bool {
	if len(d.Problems) > 0 && d.OnError == lint.Deny {
		return false
	}
	return !slices.ContainsFunc(d.Findings, func(f Decided) bool { return f.Action == lint.Deny })
}

// with returns the findings of an action.
func (d *Decision) with(a lint.Action) []Decided {
	var out []Decided
	for _, f := range d.Findings {
		if f.Action == a {
			out = append(out, f)
		}
	}
	return out
}
