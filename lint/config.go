package lint

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agnivade/levenshtein"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/schema"
)

// Config is what a .meshvet.yaml and the flags that outrank it say.
type Config struct {
	Source  string   // the file, "" for the defaults
	Files   []string // that file and those that it extends, as often as they are read
	Version int
	// Folder is what paths and globs are relative to: absolute, with forward slashes. "" = whoever reads the configuration knows.
	Folder string
	// Extends are the presets whose rules are on: nil = recommended, empty = none, so that only rules with a severity of their own are.
	Extends []string
	Rules   map[string]RuleConfig // by ID or name, as written; case does not count
	// Overrides change Rules for some objects; a later one outranks an earlier one.
	Overrides []Override
	// Inherited are the layers of rules that the files which the configuration extends contribute, the weakest first.
	Inherited []Layer
	Exclude   []string // globs of files that are not read
	Context   []string // paths that are read as context only; nil = the repository
	// ContextAt says where each of Context is written.
	ContextAt []object.Location
	Complete  []object.Kind // kinds of which the inputs hold every object that exists
	Scopes    []ScopeConfig
	Mesh      mesh.Settings
	Admission Admission
	// Suppressions restricts what annotations and comments silence.
	Suppressions SuppressionConfig
	// Baseline is a file with findings that are known, relative to Folder; "" = none. The webhook does not read it.
	Baseline   string
	BaselineAt object.Location // where it is named

	// PathOf turns the name of a file into its path below the folder that the paths of Overrides are relative to, "" if it is not below
	// it. nil = names are such paths.
	PathOf func(name string) string

	// Enable and Disable come from flags: IDs, names or categories of rules, in any case. Both outrank Rules, and Enable outranks
	// Disable, unless only Enable was said by something else than a flag.
	Enable, Disable []string
	// Profile asks for the time that each rule takes, which makes a run slower.
	Profile bool
	// Partial says that the files are some that somebody picked, and that nothing was looked for beside them: what does not show may be due
	// to what is not there.
	Partial bool
	// Cluster is the name of the cluster whose objects are among the files ("" = they are in files only). All is one mesh then,
	// whatever Scopes says. Unlisted says of kinds which it did not list wholly why that is.
	Cluster  string
	Unlisted map[object.Kind]string
	// Judged is increased by each object that has been judged; nil = nobody counts.
	Judged *atomic.Int64
	// Clock tells the time at which a suppression is held against its last day; nil = time.Now.
	Clock func() time.Time
	// EnableFrom and DisableFrom are the variables that said so; "" = the flag.
	EnableFrom, DisableFrom string

	excludeIn, contextIn, scopesIn, baselineIn string // the folders that these are relative to, until all files are read
}

// RuleConfig is what the configuration says about one rule.
type RuleConfig struct {
	Severity *Severity // Off switches the rule off
	Options  map[string]any

	at         object.Location // of the rule's name
	severityAt object.Location
	options    map[string]object.Location
}

// ReadConfig reads a configuration file by itself: it can extend presets, not files. Unknown keys and wrong values are problems with
// their place, all of them at once; names of rules and options are checked by New, which knows the rules.
func ReadConfig(name string, data []byte) (*Config, []object.Problem) {
	l := loading{name: func(string) string { return name }, cfg: &Config{Version: 1, Source: name}}
	if !l.file("", "", data, nil) {
		return nil, l.problems
	}
	return l.cfg, l.problems
}

// keys reads the configuration's keys into it. What is written replaces what the configuration holds there.
func (r *configReader) keys(cfg *Config) map[string]func(object.Path, object.Value) {
	return map[string]func(object.Path, object.Value){
		"version": func(at object.Path, v object.Value) {
			switch {
			case v.Type() == object.String && v.Str() == "1":
				r.fail(at, `version is the text "1"; write the number 1, without quotes`)
			case v.Type() != object.Int || v.Int() != 1:
				r.fail(at, "version %s is not supported; this meshvet knows version 1", v.Text())
			}
		},
		"extends":   func(object.Path, object.Value) {}, // read before the others
		"rules":     func(at object.Path, v object.Value) { cfg.Rules = r.rules(at, v) },
		"overrides": func(at object.Path, v object.Value) { cfg.Overrides = r.overrides(at, v) },
		"exclude": func(at object.Path, v object.Value) {
			cfg.Exclude, cfg.excludeIn = r.globs(at, v, true), r.folder
		},
		"context": func(at object.Path, v object.Value) { r.context(at, v, cfg) },
		"scopes": func(at object.Path, v object.Value) {
			cfg.Scopes, cfg.scopesIn = r.scopes(at, v), r.folder
		},
		"istio": func(at object.Path, v object.Value) { r.istio(at, v, &cfg.Mesh) },
		"baseline": func(at object.Path, v object.Value) {
			cfg.Baseline, cfg.BaselineAt, cfg.baselineIn = r.string(at, v), r.doc.Locate(at), r.folder
			if v.Type() == object.String && (strings.TrimSpace(cfg.Baseline) == "" || strings.HasPrefix(cfg.Baseline, "/")) {
				r.fail(at, "baseline %q is no path relative to this file", cfg.Baseline)
			}
		},
		"suppressions": func(at object.Path, v object.Value) { r.suppressions(at, v, &cfg.Suppressions) },
		"webhook":      func(at object.Path, v object.Value) { r.admission(at, v, &cfg.Admission) },
	}
}

// configReader walks a configuration and collects what is wrong with it.
type configReader struct {
	doc      *object.Document
	folder   string                     // absolute; paths in the file are relative to it
	trace    map[string]object.Location // where each key is written, nil if nobody asks
	problems []object.Problem
}

func (r *configReader) fail(at object.Path, format string, args ...any) {
	r.problem(r.doc.Locate(at), format, args...)
}

func (r *configReader) problem(at object.Location, format string, args ...any) {
	r.problems = append(r.problems, object.Problem{Kind: BadConfig, Message: object.Abridge(fmt.Sprintf(format, args...)), Location: at})
}

// BadConfig is the kind of problem that is a mistake in the configuration.
const BadConfig object.ProblemKind = "config"

// read hands each field of a mapping to its reader. A null field counts as absent, as in Kubernetes.
func (r *configReader) read(at object.Path, v object.Value, fields map[string]func(object.Path, object.Value)) {
	if !v.Set() {
		return
	}
	if v.Type() != object.Map {
		r.fail(at, "%s is %s; a mapping is wanted", where(at), typeName(v))
		return
	}
	for key, f := range v.Fields() {
		path := at.Child(key)
		read, known := fields[key]
		switch {
		case !known:
			names := make([]string, 0, len(fields))
			for n := range fields {
				names = append(names, n)
			}
			r.problem(r.doc.LocateKey(path), "unknown key %q in %s%s", key, where(at), didYouMean(key, names))
		case f.Set():
			r.traceKey(path)
			read(path, f)
		}
	}
}

// traceKey notes where a key is written.
func (r *configReader) traceKey(path object.Path) {
	if r.trace != nil {
		r.trace[path.String()] = r.doc.LocateKey(path)
	}
}

// typeName is the type of a value with its article.
func typeName(v object.Value) string {
	if v.Type() == object.Int {
		return "an integer"
	}
	return fmt.Sprintf("a %s", v.Type())
}

func where(at object.Path) string {
	if len(at) == 0 {
		return "the configuration"
	}
	return at.String()
}

// didYouMean ends a sentence about a word that is not among names.
func didYouMean(word string, names []string) string {
	slices.Sort(names)
	if near := Nearest(word, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(names) > 20 {
		return ""
	}
	return "; known are " + strings.Join(names, ", ")
}

// Nearest returns the name that a misspelt word most likely means, "" if none is near.
func Nearest(word string, names []string) string {
	best, distance := "", len(word)/3+2
	for _, n := range names {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(n)); d < distance {
			best, distance = n, d
		}
	}
	return best
}

// Slip returns the name of which a word is a slip of the pen: with one letter wrong, missing or too many, or two that changed
// places; "" if of none. Among a few names that are listed anyway, a bolder guess than that misleads: gitlab is not github.
func Slip(word string, names []string) string {
	word = strings.ToLower(word)
	for _, n := range names {
		lower := strings.ToLower(n)
		if len(word) < len(n)-1 || len(word) > len(n)+1 || len(word) < 2 {
			continue
		}
		d := levenshtein.ComputeDistance(word, lower)
		if d <= 1 || d == 2 && sameLetters(word, lower) {
			return n
		}
	}
	return ""
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func (r *configReader) string(at object.Path, v object.Value) string {
	if v.Type() != object.String {
		r.fail(at, "%s is %s, %s; a string is wanted", at, v.Text(), typeName(v))
	}
	return v.Str()
}

func (r *configReader) oneOf(at object.Path, v object.Value, words ...string) string {
	s := r.string(at, v)
	if v.Type() == object.String && !slices.Contains(words, s) {
		r.fail(at, "%s %q is not one of %s", at, s, strings.Join(words, ", "))
	}
	return s
}

func (r *configReader) boolean(at object.Path, v object.Value) *bool {
	if v.Type() != object.Bool {
		r.fail(at, "%s is %s, %s; true or false is wanted", at, v.Text(), typeName(v))
		return nil
	}
	b := v.Bool()
	return &b
}

func (r *configReader) strings(at object.Path, v object.Value) []string {
	if v.Type() != object.List {
		r.fail(at, "%s is %s; a list is wanted", at, typeName(v))
		return nil
	}
	out := make([]string, 0, v.Len())
	for i, item := range v.Items() {
		out = append(out, r.string(at.Child(i), item))
	}
	return out
}

// globs reads patterns for files. inside says that they are matched against what is below the configuration's folder only.
func (r *configReader) globs(at object.Path, v object.Value, inside bool) []string {
	out := r.strings(at, v)
	for i, g := range out {
		if fault := globFault(g, inside); fault != "" {
			r.fail(at.Child(i), "%q %s", g, fault)
		}
	}
	return out
}

func (r *configReader) rules(at object.Path, v object.Value) map[string]RuleConfig {
	out := map[string]RuleConfig{}
	if v.Type() != object.Map {
		r.fail(at, "%s is %s; a mapping from rule to setting is wanted", at, typeName(v))
		return out
	}
	for name, setting := range v.Fields() {
		path := at.Child(name)
		rc := RuleConfig{at: r.doc.LocateKey(path), options: map[string]object.Location{}}
		if setting.Type() == object.String || setting.Type() == object.Bool { // DR202: error
			rc.Severity, rc.severityAt = r.severity(path, setting), rc.at
			out[name] = rc
			continue
		}
		r.read(path, setting, map[string]func(object.Path, object.Value){
			"severity": func(at object.Path, v object.Value) {
				rc.Severity, rc.severityAt = r.severity(at, v), r.doc.LocateKey(at)
			},
			"options": func(at object.Path, v object.Value) {
				if v.Type() != object.Map {
					r.fail(at, "%s is %s; a mapping is wanted", where(at), typeName(v))
				}
				rc.Options = map[string]any{}
				for key, value := range v.Fields() {
					rc.Options[key] = value.Any()
					rc.options[key] = r.doc.Locate(at.Child(key))
				}
			},
		})
		out[name] = rc
	}
	return out
}

// severity reads a severity; YAML turns an unquoted off into the boolean false.
func (r *configReader) severity(at object.Path, v object.Value) *Severity {
	if v.Type() == object.Bool && !v.Bool() {
		off := Off
		return &off
	}
	s, err := ParseSeverity(v.Text())
	if err != nil {
		r.fail(at, "%s", err)
		return nil
	}
	return &s
}

func (r *configReader) context(at object.Path, v object.Value, cfg *Config) {
	if v.Type() == object.List {
		r.contextPaths(at, v, cfg)
		return
	}
	r.read(at, v, map[string]func(object.Path, object.Value){
		"paths": func(at object.Path, v object.Value) { r.contextPaths(at, v, cfg) },
		"complete": func(at object.Path, v object.Value) {
			cfg.Complete = []object.Kind{} // said, if only that nothing is complete
			if v.Type() == object.Bool {
				if v.Bool() {
					cfg.Complete = AllKinds()
				}
				return
			}
			for i, k := range r.strings(at, v) {
				kind, err := ParseKind(k)
				if err != nil {
					r.fail(at.Child(i), "%s", err)
					continue
				}
				cfg.Complete = append(cfg.Complete, kind)
			}
		},
	})
}

func (r *configReader) contextPaths(at object.Path, v object.Value, cfg *Config) {
	if r.trace != nil {
		r.trace["context.paths"] = r.doc.LocateKey(at)
	}
	cfg.Context, cfg.contextIn, cfg.ContextAt = r.globs(at, v, false), r.folder, nil
	for i := range cfg.Context {
		cfg.ContextAt = append(cfg.ContextAt, r.doc.Locate(at.Child(i)))
	}
}

// AllKinds returns every kind whose completeness can be declared.
func AllKinds() []object.Kind {
	return []object.Kind{
		object.ServiceEntry, object.DestinationRule, object.VirtualService, object.Gateway, object.Sidecar, object.WorkloadEntry,
		object.Service, object.Namespace, object.EnvoyFilter, object.HTTPRoute, object.BackendTLSPolicy,
	}
}

// ParseKind reads the name of a kind whose completeness can be declared.
func ParseKind(name string) (object.Kind, error) {
	var names []string
	for _, k := range AllKinds() {
		if strings.EqualFold(string(k), name) {
			return k, nil
		}
		names = append(names, string(k))
	}
	return "", fmt.Errorf("%q is no kind that meshvet reads%s", name, didYouMean(name, names))
}

func (r *configReader) scopes(at object.Path, v object.Value) []ScopeConfig {
	if v.Type() != object.List {
		r.fail(at, "%s is %s; a list is wanted", at, typeName(v))
		return nil
	}
	var out []ScopeConfig
	first := map[string]int{}
	for i, item := range v.Items() {
		path := at.Child(i)
		s := ScopeConfig{At: r.doc.Locate(path)}
		r.read(path, item, map[string]func(object.Path, object.Value){
			"name":  func(at object.Path, v object.Value) { s.Name = r.string(at, v) },
			"paths": func(at object.Path, v object.Value) { s.Paths = r.globs(at, v, true) },
		})
		if s.Name == "" || len(s.Paths) == 0 {
			r.fail(path, "a scope takes a name and paths")
		} else if other, taken := first[s.Name]; taken {
			r.fail(path.Child("name"), "scope %q is defined twice, first as %s; put the paths of one mesh into one scope", s.Name, at.Child(other))
		} else {
			first[s.Name] = i
		}
		out = append(out, s)
	}
	return out
}

func (r *configReader) istio(at object.Path, v object.Value, s *mesh.Settings) {
	r.read(at, v, map[string]func(object.Path, object.Value){
		"version": func(at object.Path, v object.Value) {
			s.IstioVersion = v.Text() // 1.31 unquoted is a number to YAML
			if _, minor, _ := strings.Cut(s.IstioVersion, "."); v.Type() == object.Float && len(minor) == 1 {
				r.fail(at, "quote the version: YAML reads 1.%s0 as the number 1.%s", minor, minor)
			} else if err := schema.CheckVersion(s.IstioVersion); err != nil {
				r.fail(at, "%s", err)
			}
		},
		"meshConfig": func(at object.Path, v object.Value) {
			if v.Type() != object.Map {
				r.fail(at, "%s is %s; a mapping is wanted", at, typeName(v))
				return
			}
			r.meshConfig(at, v)
			s.MeshConfig, s.MeshConfigSource = v, r.doc.Locate(at).String()
		},
		"dataplane":         func(at object.Path, v object.Value) { s.Dataplane = r.oneOf(at, v, "sidecar", "ambient", "mixed") },
		"dnsCapture":        func(at object.Path, v object.Value) { s.DNSCapture = r.boolean(at, v) },
		"autoAllocate":      func(at object.Path, v object.Value) { s.AutoAllocate = r.boolean(at, v) },
		"gatewayNamespaces": func(at object.Path, v object.Value) { s.GatewayNamespaces = r.strings(at, v) },
		"clusterDomain":     func(at object.Path, v object.Value) { s.ClusterDomain = r.string(at, v) },
		"rootNamespace":     func(at object.Path, v object.Value) { s.RootNamespace = r.string(at, v) },
	})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// isCalled says whether a word is the ID or the name of the rule, in any case.
func (m *Meta) isCalled(word string) bool {
	return strings.EqualFold(m.ID, word) || strings.EqualFold(m.Name, word)
}

func findRule(rules []Rule, name string) *Rule {
	for i := range rules {
		if rules[i].isCalled(name) {
			return &rules[i]
		}
	}
	return nil
}

func suggestRule(name string, rules []Rule) string {
	var names []string
	for i := range rules {
		names = append(names, rules[i].ID, rules[i].Name)
	}
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; `meshvet rules` lists them"
}

// rulesOf names the first rules of a category, and says where the others are; "" if there is no such category.
func rulesOf(category string, rules []Rule) string {
	var ids []string
	for i := range rules {
		if strings.EqualFold(string(rules[i].Category), category) {
			ids = append(ids, rules[i].ID)
		}
	}
	if most := 3; len(ids) > most {
		return fmt.Sprintf("%s and %d more; `meshvet rules` lists them", strings.Join(ids[:most], ", "), len(ids)-most)
	}
	return strings.Join(ids, ", ")
}

// optionValue checks the value of an option against the type of its default.
func (m *Meta) optionValue(name string, value any) (any, error) {
	var names []string
	for _, o := range m.Options {
		if o.Name != name {
			names = append(names, o.Name)
			continue
		}
		switch o.Default.(type) {
		case int64:
			if f, ok := value.(float64); ok && f == float64(int64(f)) {
				value = int64(f)
			}
		case float64:
			if i, ok := value.(int64); ok {
				value = float64(i)
			}
		case []string:
			list, ok := value.([]any)
			if !ok {
				break
			}
			out := make([]string, 0, len(list))
			for _, item := range list {
				out = append(out, fmt.Sprint(item))
			}
			value = out
		}
		if fmt.Sprintf("%T", value) != fmt.Sprintf("%T", o.Default) {
			return nil, fmt.Errorf("option %q of %s is %v; its default is %v", name, m.ID, value, o.Default)
		}
		return value, nil
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no options", m.ID)
	}
	return nil, fmt.Errorf("%s has no option %q%s", m.ID, name, didYouMean(name, names))
}

// CheckIstioVersion says what is wrong with a version of Istio; nil if meshvet knows it.
func CheckIstioVersion(version string) error { return schema.CheckVersion(version) }
