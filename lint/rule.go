package lint

import (
	"fmt"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Severity says how bad a finding is. Off is only for configuration.
type Severity int

// The severities, lowest first.
const (
	Off     Severity = iota
	Info             // a recommendation
	Warning          // the configuration silently does something other than what it says
	Error            // Istio or Envoy refuses it, breaks, or drops security
)

var severityNames = [...]string{"off", "info", "warning", "error"}

func (s Severity) String() string {
	if s < 0 || int(s) >= len(severityNames) {
		return fmt.Sprintf("Severity(%d)", int(s))
	}
	return severityNames[s]
}

// ParseSeverity reads a severity by its name.
func ParseSeverity(name string) (Severity, error) {
	for s, n := range severityNames {
		if n == name {
			return Severity(s), nil
		}
	}
	return Off, fmt.Errorf("severity %q is not one of %s", name, strings.Join(severityNames[:], ", "))
}

// Category groups rules by what they are about.
type Category string

// The categories.
const (
	CategoryServiceEntry Category = "service-entry" // resolution, ports, endpoints
	CategoryPool         Category = "traffic-policy"
	CategoryTLS          Category = "tls"
	CategoryAcross       Category = "across-objects"
	CategoryInput        Category = "input"
)

// Rule is one check. Go rules and Rego policies are both values of this type.
type Rule struct {
	Meta
	// Check judges one object of a kind in Kinds. An error means that the rule broke, not that the object is wrong.
	Check func(*Pass) error
	// CheckGone judges what the removal of an object leaves behind, of what no other finding can be about, since it is not judged. The
	// pass's object is the removed one, and its mesh is without it. Optional.
	CheckGone func(*Pass) error
	// CheckFile judges what kept the documents of a file from being loaded.
	CheckFile func(*FilePass) error
	// CheckSuppression judges an annotation or a comment that silences findings, or is meant to, after all other rules have run.
	CheckSuppression func(*SuppressionPass) error
	// CheckChange judges what a change does to what decides about it. It is asked where a run is compared with a revision.
	//
	// A rule has one of Check, CheckFile, CheckSuppression and CheckChange.
	CheckChange func(*ChangePass) error
}

// Meta is all that anybody is told about a rule: the pages in docs/rules, `meshvet explain`, SARIF and the lists are views of it.
type Meta struct {
	ID    string // "DR202"; never reused
	Name  string // "port-level-resets"; names the problem
	Title string // one line, no full stop

	// Summary is what the rule flags, in one or two sentences; Why what goes wrong at run time; Remedy what to write instead.
	Summary, Why, Remedy string

	Category Category
	Severity Severity
	// StrictSeverity is the severity under the preset strict; Off = the same.
	StrictSeverity Severity
	Security       bool     // the finding is about encryption or verification
	Presets        []string // the presets that switch the rule on

	Kinds []object.Kind // kinds of object that the rule judges
	// Needs are the kinds whose absence is evidence to the rule: it runs only where the mesh index is complete for them.
	Needs []object.Kind
	// When, Levels and Facts say, without running the rule, that it has nothing to say about an object: none of the gates lets it
	// through, none of its traffic policies does, or one of the facts does not hold.
	When   []Gate
	Levels []LevelGate
	Facts  []Fact
	View   View

	// SidecarOnly rules say what is true of sidecars and gateways only, or propose what would do harm elsewhere. They are silent
	// about hosts that ztunnel or a waypoint may serve.
	SidecarOnly bool

	Supersedes []Supersede
	// Yields says that a finding of any other rule about the same field supersedes this rule's, unless it weighs less: then it is left out
	// itself.
	Yields     bool
	Options    []Option
	Fix        Safety // the safest kind of fix that the rule offers
	Proof      Proof
	Observe    Observe
	References []string // https URLs

	Since  string // Istio version from which the rule's text holds, "" = all that are supported
	Lang   string // "go" or "rego"
	Source string // file that holds the rule, from the repository's root

	// Unsuppressible rules cannot be ignored by a comment or an annotation.
	Unsuppressible bool
}

// View says where a rule can judge at all.
type View string

// The views.
const (
	ViewAll   View = ""      // files and admission
	ViewFiles View = "files" // not at admission, where the fault cannot exist any more
)

// Supersede drops the findings of another rule, so that one cause gives one finding.
type Supersede struct {
	Rule  string
	Scope SupersedeScope
}

// reachesOthers says whether a finding on one object may supersede that of another.
func (s *Supersede) reachesOthers() bool { return s.Scope == ScopePort || s.Scope == ScopeObject }

// SupersedeScope is how near two findings must be for one to supersede the other.
type SupersedeScope string

// The scopes. Port and object also reach the findings on the ServiceEntry of the host in question.
const (
	ScopePath   SupersedeScope = "path"   // the same field or one below it
	ScopeBlock  SupersedeScope = "block"  // the same block of a traffic policy, such as one connectionPool
	ScopePort   SupersedeScope = "port"   // the same port of the same host
	ScopeObject SupersedeScope = "object" // the same object or host
)

// Option is a setting of a rule. Default also fixes the type: string, int64, float64, bool or []string.
type Option struct {
	Name    string
	Default any
	Strict  any // the default under the preset strict; nil = the same
	Doc     string
}

// The presets, of which extends in the configuration names some.
const (
	Recommended = "recommended" // what holds if the configuration names none
	Strict      = "strict"      // every rule, also those about habits and not about faults
)

// SeverityUnder returns the severity of the rule's findings under a preset.
func (m *Meta) SeverityUnder(preset string) Severity {
	if preset == Strict && m.StrictSeverity != Off {
		return m.StrictSeverity
	}
	return m.Severity
}

// DefaultUnder returns the default of the option under a preset.
func (o Option) DefaultUnder(preset string) any {
	if preset == Strict && o.Strict != nil {
		return o.Strict
	}
	return o.Default
}

// PresetNames returns the names of the presets.
func PresetNames() []string { return []string{Recommended, Strict} }

// Proof says how the claim of a rule is shown to be true of what Istio compiles.
type Proof struct {
	// Kind is what the oracle must show: "changes", "ignored", "inert", "rejects" or "panics"; "envoy" if Istio compiles the
	// field and that it is harmful is Envoy's documented meaning or a measurement; "input" for faults before Istio.
	Kind string
	Text string // one sentence: which Envoy fields, or which source
}

// Observe says how a person sees the fault at run time.
type Observe struct {
	Stats      []string // Envoy statistics: of a cluster, what comes after cluster.NAME., others in full; metrics of istiod (pilot_…)
	Flags      []string // response flags of the access log
	ConfigDump string   // what to look for in istioctl proxy-config or /config_dump
}

// FilePass is a rule's view of one file.
type FilePass struct {
	File   *object.File
	report func(Finding)
	rule   *activeRule
}

// Report records a finding at a place of the file.
func (p *FilePass) Report(at object.Location, message, effect string) {
	p.report(Finding{Rule: &p.rule.rule.Meta, Severity: p.rule.preset, Message: message, Effect: effect, Location: at})
}
