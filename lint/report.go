package lint

import (
	"maps"
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// Report is the outcome of a run.
type Report struct {
	Findings []Finding
	// Suppressed are the findings that somebody accepted: the author of the object, or a baseline. They are not among Findings.
	Suppressed []SuppressedFinding
	// Suppressions are all that the files and objects that were judged say to that end, with and without effect, by place.
	Suppressions []Suppression
	Problems     []object.Problem // what makes the run itself fail
	Skipped      []Skip
	Scopes       []Scope
	Context      Context
	Stats        Stats
	Since        *Since   // what the findings were compared with; nil = with nothing, so that they are all there are
	Rules        []*Meta  // the rules that were selected, by ID
	Profile      *Profile // nil unless the configuration asks for it
	// Baselines say what became of the entries of each baseline that was applied.
	Baselines []BaselineUse
	// Sources holds the files that findings, related places and problems point into, by name.
	Sources map[string]*object.File

	superseded []Finding // what findings leave out, since another one names its cause
	// renderings are those that hold a suppression, by its place.
	renderings map[object.Location]map[string]bool
	off        map[ruleOn]bool // what overrides switch off, and the configurations of some groups only
}

// Superseded returns the findings that were left out, since another one names their cause. No format shows them; whoever compares two runs
// has to know that they were there.
func (r *Report) Superseded() []Finding { return r.superseded }

// Skip is a rule that did not judge an object, or a file that was not judged, with the reason; or what is said in an object's annotations
// to no effect.
type Skip struct {
	Rule   string // "" if it is about no rule in particular
	File   string
	Object object.Key
	Reason string
	Cause  SkipCause
	// Around says that it is about a file that is context only, of which nothing is judged anyway.
	Around bool
}

// SkipCause is the sort of reason for which something was left out.
type SkipCause string

// The causes.
const (
	Incomplete   SkipCause = "incomplete"   // it concludes from absence, and the mesh is not completely known
	Surroundings SkipCause = "surroundings" // something about the object's hosts that meshvet does not model, such as the ambient data plane
	NotModelled  SkipCause = "not-modelled" // an object in view changes what Istio compiles in a way that meshvet does not follow
	Malformed    SkipCause = "malformed"    // the manifest is none that an API server takes
	Undecided    SkipCause = "undecided"    // the rule itself says so
	Unheeded     SkipCause = "unheeded"     // an annotation that is to silence findings has no effect; at admission only, in files it is a finding
	Generated    SkipCause = "generated"    // istiod wrote the object, no person did
	Outsized     SkipCause = "outsized"     // the object is larger than is judged
	Templated    SkipCause = "template"     // the file has to be rendered first
	Fragment     SkipCause = "fragment"     // the file is a patch, which makes no object by itself
	Unread       SkipCause = "unread"       // the file, or a document of it, cannot be read
	Unmatched    SkipCause = "unmatched"    // the configuration names files that are not there, or leaves out some that are
)

// Context is what a run read beside the files that it judged.
type Context struct {
	From  ContextSource
	Files []string // their names; what could not be read is among them
}

// ContextSource says where a run was to look for context. Paths that are named by a flag come on top of it.
type ContextSource string

// The sources.
const (
	NoContext         ContextSource = "none"          // there is no repository, or the configuration wants none
	FromRepository    ContextSource = "repository"    // every manifest of the repository
	FromConfiguration ContextSource = "configuration" // what the configuration names
	FromCluster       ContextSource = "cluster"       // what a cluster let be read
	NotNeeded         ContextSource = "not-needed"    // nothing was to be judged, so nothing was looked for
)

// Scope is one mesh: the files whose objects see one another.
type Scope struct {
	Name  string
	Files []string
}

// Stats counts what a run saw. It holds no times, so that equal inputs give equal reports.
type Stats struct {
	Files     map[object.Class]int
	Documents int
	Objects   int // objects read, context included
	Judged    int // objects that findings could be about
}

// Worst returns the highest severity among the findings, Off if there are none.
func (r *Report) Worst() Severity {
	worst := Off
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Count returns the number of findings of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// ruleOn is a rule, by its ID, on an object.
type ruleOn struct {
	rule   string
	object object.Key
}

// merge adds the outcome of another scope.
func (r *Report) merge(other *Report) {
	r.Findings = append(r.Findings, other.Findings...)
	r.Suppressed = append(r.Suppressed, other.Suppressed...)
	r.Suppressions = append(r.Suppressions, other.Suppressions...)
	r.superseded = append(r.superseded, other.superseded...)
	if r.renderings == nil {
		r.renderings = other.renderings
	} else {
		for at, by := range other.renderings {
			if r.renderings[at] == nil {
				r.renderings[at] = map[string]bool{}
			}
			maps.Copy(r.renderings[at], by)
		}
	}
	if r.off == nil {
		r.off = other.off
	} else {
		maps.Copy(r.off, other.off)
	}
	r.Problems = append(r.Problems, other.Problems...)
	r.Skipped = append(r.Skipped, other.Skipped...)
	r.Stats.Judged += other.Stats.Judged
	r.Profile = r.Profile.merge(other.Profile)
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, CompareFindings)
	slices.SortStableFunc(r.Suppressed, func(a, b SuppressedFinding) int { return CompareFindings(a.Finding, b.Finding) })
	slices.SortStableFunc(r.Suppressions, func(a, b Suppression) int { return compareLocations(a.Where, b.Where) })
	slices.SortStableFunc(r.Problems, func(a, b object.Problem) int { return compareLocations(a.Location, b.Location) })
	slices.SortStableFunc(r.Skipped, compareSkips)
	r.Skipped = slices.Compact(r.Skipped)
}

func compareLocations(a, b object.Location) int {
	return CompareFindings(Finding{Rule: &Meta{}, Location: a}, Finding{Rule: &Meta{}, Location: b})
}

func compareSkips(a, b Skip) int {
	for _, pair := range [...][2]string{{a.File, b.File}, {a.Object.String(), b.Object.String()}, {a.Rule, b.Rule}, {a.Reason, b.Reason}} {
		if pair[0] != pair[1] {
			if pair[0] < pair[1] {
				return -1
			}
			return 1
		}
	}
	return 0
}
