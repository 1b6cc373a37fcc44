package lint

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/meshvet/meshvet/lint/object"
)

// Action is what becomes of a request because of a finding.
type Action string

// The actions.
const (
	Deny  Action = "deny"  // the request is refused
	Warn  Action = "warn"  // the user is told
	Audit Action = "audit" // only the audit log is told
)

// Admission is what the configuration says about requests of a Kubernetes API server. The zero value holds the defaults: every finding
// warns, nothing is denied, nobody is exempt.
type Admission struct {
	Actions []ActionFor // the first that matches a finding decides
	// DenyOnError refuses what could not be judged; otherwise it passes with a warning.
	DenyOnError bool
	MaxInFlight int // requests that are judged at the same time; 0 = DefaultInFlight
	Exempt      Exempt
	// Suppressible are the rules whose findings an object's own annotation silences even where the action is Deny: IDs, names or
	// categories, in any case.
	Suppressible []string
	// DenyCaused treats what a change causes on other objects like what it causes on its own; otherwise that only warns.
	DenyCaused bool

	suppressible []object.Location
}

// The bounds of what is said under webhook.
const (
	DefaultInFlight = 16   // of Admission.MaxInFlight
	MostInFlight    = 1024 // that Admission.MaxInFlight can be
	MostEntries     = 1000 // of each list under webhook: all of them are gone through for every request
)

// ActionFor is the action for some findings.
type ActionFor struct {
	Rules      []string        // IDs, names or categories, in any case; nil = all
	Severities []Severity      // nil = all
	Namespaces labels.Selector // of the labels of the object's namespace; nil = all
	Action     Action

	rules []object.Location
}

// Exempt is whose requests are not judged. Each entry is a name, or the beginning of names and a star.
type Exempt struct{ Users, Groups, Namespaces []string }

// ActionOf returns what becomes of a request because of a finding of a rule, of some severity, on an object in a namespace with these
// labels. If nothing is said, it is Warn.
func (a *Admission) ActionOf(m *Meta, s Severity, namespaceLabels map[string]string) Action {
	for i := range a.Actions {
		f := &a.Actions[i]
		switch {
		case f.Rules != nil && !m.isAmong(f.Rules):
		case f.Severities != nil && !slices.Contains(f.Severities, s):
		case f.Namespaces != nil && !f.Namespaces.Matches(labels.Set(namespaceLabels)):
		default:
			return f.Action
		}
	}
	return Warn
}

// SelectsNamespaces says whether what becomes of a finding depends on the labels of its namespace.
func (a *Admission) SelectsNamespaces() bool {
	return slices.ContainsFunc(a.Actions, func(f ActionFor) bool { return f.Namespaces != nil })
}

// MaySuppress says whether an annotation on the object may lift a denial because of a finding of the rule.
func (a *Admission) MaySuppress(m *Meta) bool { return !m.Unsuppressible && m.isAmong(a.Suppressible) }

// Covers says why a request is exempt, naming the entry of the configuration; "" if it is not. The namespace is "" for a request that
// has none.
func (e *Exempt) Covers(user string, groups []string, namespace string) string {
	for _, entry := range e.Users {
		if covers(entry, user) {
			return fmt.Sprintf("webhook.exempt.users has %q", entry)
		}
	}
	for _, entry := range e.Groups {
		if slices.ContainsFunc(groups, func(g string) bool { return covers(entry, g) }) {
			return fmt.Sprintf("webhook.exempt.groups has %q", entry)
		}
	}
	for _, entry := range e.Namespaces {
		if namespace != "" && covers(entry, namespace) {
			return fmt.Sprintf("webhook.exempt.namespaces has %q", entry)
		}
	}
	return ""
}

func covers(entry, name string) bool {
	if prefix, open := strings.CutSuffix(entry, "*"); open {
		return strings.HasPrefix(name, prefix)
	}
	return entry == name
}

// isAmong says whether one of some words is the rule's ID, name or category, in any case.
func (m *Meta) isAmong(words []string) bool {
	return slices.ContainsFunc(words, m.isMeantBy)
}

// isMeantBy says whether a word is the rule's ID, name or category, in any case.
func (m *Meta) isMeantBy(word string) bool {
	return m.isCalled(word) || strings.EqualFold(string(m.Category), word)
}

// admission reads what the configuration says under webhook.
func (r *configReader) admission(at object.Path, v object.Value, a *Admission) {
	r.read(at, v, map[string]func(object.Path, object.Value){
		"actions": func(at object.Path, v object.Value) { a.Actions = r.actions(at, v) },
		"onError": func(at object.Path, v object.Value) { a.DenyOnError = r.oneOf(at, v, "allow", "deny") == "deny" },
		"maxInFlight": func(at object.Path, v object.Value) {
			if v.Type() != object.Int || v.Int() < 1 || v.Int() > MostInFlight {
				r.fail(at, "%s is %s; a number from 1 to %d is wanted", at, v.Text(), MostInFlight)
				return
			}
			a.MaxInFlight = int(v.Int())
		},
		"exempt": func(at object.Path, v object.Value) {
			r.read(at, v, map[string]func(object.Path, object.Value){
				"users":      func(at object.Path, v object.Value) { a.Exempt.Users = r.prefixes(at, v) },
				"groups":     func(at object.Path, v object.Value) { a.Exempt.Groups = r.prefixes(at, v) },
				"namespaces": func(at object.Path, v object.Value) { a.Exempt.Namespaces = r.prefixes(at, v) },
			})
		},
		"suppressible": func(at object.Path, v object.Value) {
			if r.list(at, v) {
				a.Suppressible = r.strings(at, v)
				a.suppressible = r.itemsAt(at, len(a.Suppressible))
			}
		},
		"denyCaused": func(at object.Path, v object.Value) {
			if b := r.boolean(at, v); b != nil {
				a.DenyCaused = *b
			}
		},
	})
}

func (r *configReader) actions(at object.Path, v object.Value) []ActionFor {
	if !r.list(at, v) {
		return nil
	}
	var out []ActionFor
	for i, item := range v.Items() {
		path := at.Child(i)
		known := len(r.problems)
		var a ActionFor
		r.read(path, item, map[string]func(object.Path, object.Value){
			"rules": func(at object.Path, v object.Value) {
				a.Rules = r.some(at, v)
				a.rules = r.itemsAt(at, len(a.Rules))
			},
			"severities": func(at object.Path, v object.Value) {
				for i, name := range r.some(at, v) {
					s, err := ParseSeverity(name)
					if err != nil || s == Off {
						r.fail(at.Child(i), "severity %q is not one of info, warning, error", name)
					}
					a.Severities = append(a.Severities, s)
				}
			},
			"namespaceSelector": func(at object.Path, v object.Value) { a.Namespaces = r.selector(at, v) },
			"action": func(at object.Path, v object.Value) {
				a.Action = Action(r.oneOf(at, v, string(Deny), string(Warn), string(Audit)))
			},
		})
		if len(r.problems) == known && !item.Get("action").Set() {
			r.fail(path, "an entry of actions takes an action: deny, warn or audit")
		}
		out = append(out, a)
	}
	return out
}

// list says whether a value is a list, and no longer than is sensible.
func (r *configReader) list(at object.Path, v object.Value) bool {
	switch {
	case v.Type() != object.List:
		r.fail(at, "%s is %s; a list is wanted", at, typeName(v))
		return false
	case v.Len() > MostEntries:
		r.fail(at, "%s has %d entries, and %d are the most", at, v.Len(), MostEntries)
		return false
	}
	return true
}

// some reads a list of names that is left out, not left empty, if all are meant.
func (r *configReader) some(at object.Path, v object.Value) []string {
	if !r.list(at, v) {
		return nil
	}
	if v.Len() == 0 {
		r.fail(at, "%s is empty, so the entry is for nothing; leave %s out if all are meant", at, at[len(at)-1])
	}
	return r.strings(at, v)
}

// itemsAt says where each item of a list is written.
func (r *configReader) itemsAt(at object.Path, n int) []object.Location {
	out := make([]object.Location, n)
	for i := range out {
		out[i] = r.doc.Locate(at.Child(i))
	}
	return out
}

// prefixes reads names that may end in a star.
func (r *configReader) prefixes(at object.Path, v object.Value) []string {
	if !r.list(at, v) {
		return nil
	}
	for i, item := range v.Items() {
		switch star := strings.IndexByte(item.Str(), '*'); {
		case item.Type() == object.String && item.Str() == "":
			r.fail(at.Child(i), "%s is empty; a name is wanted", at.Child(i))
		case star >= 0 && star < len(item.Str())-1:
			r.fail(at.Child(i), "%q has a star that is not at its end; only there it stands for any rest", item.Str())
		}
	}
	return r.strings(at, v)
}

// selector reads a label selector as Kubernetes has it. An empty one selects everything.
func (r *configReader) selector(at object.Path, v object.Value) labels.Selector {
	selector := labels.NewSelector()
	r.read(at, v, map[string]func(object.Path, object.Value){
		"matchLabels": func(at object.Path, v object.Value) { selector = r.matchLabels(selector, at, v) },
		"matchExpressions": func(at object.Path, v object.Value) {
			if !r.list(at, v) {
				return
			}
			for i, item := range v.Items() {
				path := at.Child(i)
				known := len(r.problems)
				var key, operator string
				var values []string
				r.read(path, item, map[string]func(object.Path, object.Value){
					"key": func(at object.Path, v object.Value) { key = r.string(at, v) },
					"operator": func(at object.Path, v object.Value) {
						operator = r.oneOf(at, v, "In", "NotIn", "Exists", "DoesNotExist")
					},
					"values": func(at object.Path, v object.Value) { values = r.strings(at, v) },
				})
				if len(r.problems) > known {
					continue
				}
				if !item.Get("key").Set() || !item.Get("operator").Set() {
					r.fail(path, "%s takes a key and an operator", path)
					continue
				}
				selector = r.require(selector, path, key, operatorOf(operator), values)
			}
		},
	})
	return selector
}

// matchLabels adds to a selector that labels have these values.
func (r *configReader) matchLabels(selector labels.Selector, at object.Path, v object.Value) labels.Selector {
	if v.Type() != object.Map {
		r.fail(at, "%s is %s; a mapping from label to value is wanted", at, typeName(v))
		return selector
	}
	for key, value := range v.Fields() {
		selector = r.require(selector, at.Child(key), key, selection.Equals, []string{r.string(at.Child(key), value)})
	}
	return selector
}

// require adds one requirement to a selector.
func (r *configReader) require(selector labels.Selector, at object.Path, key string, op selection.Operator, values []string) labels.Selector {
	requirement, err := labels.NewRequirement(key, op, values)
	if err != nil {
		r.fail(at, "%s: %s", at, err)
		return selector
	}
	return selector.Add(*requirement)
}

// operatorOf is an operator of matchExpressions as apimachinery's selectors spell it.
func operatorOf(name string) selection.Operator {
	switch name {
	case "In":
		return selection.In
	case "NotIn":
		return selection.NotIn
	case "Exists":
		return selection.Exists
	default:
		return selection.DoesNotExist
	}
}

// OperatorName is an operator of a selector as matchExpressions spell it.
func OperatorName(op selection.Operator) string {
	switch op {
	case selection.In, selection.Equals, selection.DoubleEquals:
		return "In"
	case selection.NotIn, selection.NotEquals:
		return "NotIn"
	case selection.Exists:
		return "Exists"
	default:
		return "DoesNotExist"
	}
}

// check reports the words that mean none of the rules.
func (a *Admission) check(rules []Rule) []object.Problem {
	var problems []object.Problem
	fail := func(at []object.Location, i int, format string, args ...any) {
		p := object.Problem{Kind: BadConfig, Message: object.Abridge(fmt.Sprintf(format, args...))}
		if i < len(at) { // what was not read from a file stands nowhere
			p.Location = at[i]
		}
		problems = append(problems, p)
	}
	known := func(words []string, at []object.Location) {
		for i, word := range words {
			if !slices.ContainsFunc(rules, func(r Rule) bool { return r.isMeantBy(word) }) {
				fail(at, i, "unknown rule or category %q%s", word, suggestRule(word, rules))
			}
		}
	}
	for i := range a.Actions {
		known(a.Actions[i].Rules, a.Actions[i].rules)
	}
	known(a.Suppressible, a.suppressible)
	for i, word := range a.Suppressible {
		if r := findRule(rules, word); r != nil && r.Unsuppressible {
			fail(a.suppressible, i, "%s (%s) can never be suppressed", r.ID, r.Name)
		}
	}
	return problems
}
