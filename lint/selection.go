package lint

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// selected is what becomes of one rule under a configuration.
type selected struct {
	enabled  bool
	severity *Severity // set for the rule
	preset   Severity  // what the presets say
	options  map[string]any

	from      Origin // of enabled and severity
	optionsOf map[string]Origin
}

// settler works out, from all layers of a configuration, what becomes of each rule.
type settler struct {
	config   *Config
	rules    []Rule
	problems []object.Problem
}

func (s *settler) fail(at object.Location, format string, args ...any) {
	s.problems = append(s.problems, object.Problem{Kind: BadConfig, Message: object.Abridge(fmt.Sprintf(format, args...)), Location: at})
}

// check reports every mistake in what the configuration says about rules, also about those of some objects only.
func (s *settler) check() {
	out := s.presets()
	for _, l := range s.config.layers() {
		s.settle(l.Rules, out)
		for i := range l.Overrides {
			s.settle(l.Overrides[i].Rules, s.presets())
		}
	}
	s.flags(out)
}

// resolve decides which rules run on the objects for which some overrides hold, with which severity and options. It takes a
// configuration that was checked.
func (s *settler) resolve(holds func(*Override) bool) map[string]selected {
	out := s.presets()
	for _, l := range s.config.layers() {
		s.settle(l.Rules, out)
		for i := range l.Overrides {
			if o := &l.Overrides[i]; holds(o) {
				s.settle(o.Rules, out)
			}
		}
	}
	s.flags(out)
	return out
}

// anywhere says which rules are on for some object, going by the configuration.
func (s *settler) anywhere() map[string]selected {
	out := s.presets()
	on := map[string]selected{}
	for _, l := range s.config.layers() {
		s.settle(l.Rules, out)
		for i := range l.Overrides {
			for name, rc := range l.Overrides[i].Rules {
				if r := findRule(s.rules, name); r != nil && rc.Severity != nil && *rc.Severity != Off {
					on[r.ID] = selected{enabled: true}
				}
			}
		}
	}
	for id := range on {
		setting := out[id]
		setting.enabled = true
		out[id] = setting
	}
	s.flags(out)
	return out
}

// presets is what the presets say of each rule.
func (s *settler) presets() map[string]selected {
	presets := s.config.Extends
	if presets == nil {
		presets = []string{Recommended}
	}
	strictest := Recommended
	if slices.Contains(presets, Strict) {
		strictest = Strict
	}
	out := make(map[string]selected, len(s.rules))
	for i := range s.rules {
		r := &s.rules[i]
		setting := selected{
			enabled: slices.ContainsFunc(presets, func(p string) bool { return slices.Contains(r.Presets, p) }),
			preset:  r.SeverityUnder(strictest), options: map[string]any{}, from: Origin{Preset: Recommended},
		}
		if strictest == Strict && (!slices.Contains(r.Presets, Recommended) || setting.preset != r.Severity) {
			setting.from.Preset = Strict
		}
		for _, o := range r.Options {
			setting.options[o.Name] = o.DefaultUnder(strictest)
		}
		out[r.ID] = setting
	}
	return out
}

// settle applies what one mapping of rules says.
func (s *settler) settle(config map[string]RuleConfig, out map[string]selected) {
	named := map[string]string{}
	for _, name := range sortedKeys(config) {
		rc := config[name]
		r := findRule(s.rules, name)
		if r == nil {
			if of := rulesOf(name, s.rules); of != "" {
				s.fail(rc.at, "%q is a category of rules; here they are named one by one: %s", name, of)
			} else {
				s.fail(rc.at, "unknown rule %q%s", name, suggestRule(name, s.rules))
			}
			continue
		}
		if other, twice := named[r.ID]; twice {
			s.fail(rc.at, "rule %s is configured twice: as %q and as %q", r.ID, other, name)
			continue
		}
		named[r.ID] = name
		setting := out[r.ID]
		if rc.Severity != nil {
			setting.enabled = *rc.Severity != Off
			setting.severity = rc.Severity
			setting.from = Origin{At: rc.severityAt}
		}
		for _, key := range sortedKeys(rc.Options) {
			value, err := r.optionValue(key, rc.Options[key])
			if err != nil {
				s.fail(rc.options[key], "%s", err)
				continue
			}
			setting.options[key] = value
			if setting.optionsOf == nil {
				setting.optionsOf = map[string]Origin{}
			}
			setting.optionsOf[key] = Origin{At: rc.options[key]}
		}
		out[r.ID] = setting
	}
}

// flags applies the flags, which outrank all layers.
func (s *settler) flags(out map[string]selected) {
	set := func(names []string, from, flag string, enabled bool) {
		for _, name := range names {
			hit := false
			for i := range s.rules {
				r := &s.rules[i]
				if !r.isMeantBy(name) {
					continue
				}
				hit = true
				setting := out[r.ID]
				setting.enabled = enabled
				setting.from = Origin{Flag: cmp.Or(from, flag)}
				if enabled && setting.severity != nil && *setting.severity == Off {
					setting.severity = nil
				}
				out[r.ID] = setting
			}
			if !hit {
				s.fail(object.Location{File: cmp.Or(from, flag)}, "unknown rule or category %q%s", name, suggestRule(name, s.rules))
			}
		}
	}
	c := s.config
	disable := func() { set(c.Disable, c.DisableFrom, "--disable", false) }
	enable := func() { set(c.Enable, c.EnableFrom, "--enable", true) }
	if c.EnableFrom != "" && c.DisableFrom == "" { // a flag outranks a variable
		enable()
		disable()
	} else {
		disable()
		enable()
	}
}

// Origin is where a value of the configuration comes from: a place in a file, a flag or the variable that stands for it, or a preset.
type Origin struct {
	At     object.Location // File is "" if it is no place
	Flag   string
	Preset string
}

// RuleSetting is what a configuration says about one rule.
type RuleSetting struct {
	Rule     *Meta
	Severity Severity // Off if the rule is not on
	// Fixed says that findings have this severity, whatever the rule thinks of them.
	Fixed   bool
	From    Origin
	Options []OptionSetting
}

// OptionSetting is the value of an option of a rule.
type OptionSetting struct {
	Name  string
	Value any
	From  Origin // empty for the rule's own default
}

// RuleSettings returns what becomes of each rule on objects for which some overrides hold. The error is that of New.
func (c *Config) RuleSettings(rules []Rule, holds func(*Override) bool) ([]RuleSetting, error) {
	s := settler{config: c, rules: rules}
	if s.check(); len(s.problems) > 0 {
		return nil, &ConfigError{s.problems}
	}
	settings := s.resolve(holds)
	presets := s.presets()
	var out []RuleSetting
	for i := range rules {
		m := &rules[i].Meta
		setting := settings[m.ID]
		r := RuleSetting{Rule: m, From: setting.from}
		if setting.enabled {
			r.Severity, r.Fixed = setting.preset, setting.severity != nil
			if setting.severity != nil {
				r.Severity = *setting.severity
			}
		}
		for _, o := range m.Options {
			from := setting.optionsOf[o.Name]
			if from == (Origin{}) && !reflect.DeepEqual(presets[m.ID].options[o.Name], o.Default) {
				from.Preset = Strict
			}
			r.Options = append(r.Options, OptionSetting{Name: o.Name, Value: setting.options[o.Name], From: from})
		}
		out = append(out, r)
	}
	return out, nil
}

// HoldsForPath says whether an override holds for all that stands in a file, by its path below the folder of the configuration; may,
// whether it holds for some of it.
func (o *Override) HoldsForPath(path string) (all, may bool) {
	c := newCondition(o)
	in := len(o.Paths) == 0 || path != "" && c.files.holds(path)
	return in && c.onlyPaths(), in
}

// ruleSet is the rules that run on an object, with what the configuration says about each there.
type ruleSet struct {
	byKind  map[object.Kind][]*activeRule
	files   []*activeRule
	remarks []*activeRule // rules that judge suppressions
	changes []*activeRule // rules that judge changes to what decides
	byID    map[string]*activeRule
}

// newRuleSet makes a set of rules, which are ordered by ID.
func newRuleSet(rules []*activeRule) *ruleSet {
	s := &ruleSet{byKind: map[object.Kind][]*activeRule{}, byID: map[string]*activeRule{}}
	for _, a := range rules {
		s.byID[a.rule.ID] = a
		if a.rule.CheckFile != nil {
			s.files = append(s.files, a)
		}
		if a.rule.CheckSuppression != nil {
			s.remarks = append(s.remarks, a)
		}
		if a.rule.CheckChange != nil {
			s.changes = append(s.changes, a)
		}
		if a.rule.Check != nil {
			for _, k := range a.rule.Kinds {
				s.byKind[k] = append(s.byKind[k], a)
			}
		}
	}
	return s
}

// activate makes a rule ready to run with a setting.
func activate(r *Rule, setting selected) (*activeRule, error) {
	gates, err := compileGates(r.When, setting.options)
	if err != nil {
		return nil, fmt.Errorf("rule %s: %w", r.ID, err)
	}
	levels, err := compileLevelGates(r.Levels)
	if err != nil {
		return nil, fmt.Errorf("rule %s: %w", r.ID, err)
	}
	return &activeRule{rule: r, gates: gates, levels: levels, preset: setting.preset, severity: setting.severity, options: setting.options}, nil
}

// selectRules makes the engine's selections: that of objects for which no override holds, and the rules that are on for any object.
func (e *Engine) selectRules() error {
	s := settler{config: e.config, rules: e.all}
	s.check()
	s.problems = append(s.problems, e.config.Admission.check(e.all)...)
	forbidden, problems := e.config.forbidden(e.all)
	s.problems = append(s.problems, problems...)
	e.terms = newTerms(e.all, forbidden)
	if len(s.problems) > 0 {
		return &ConfigError{s.problems}
	}
	plain := s.resolve(func(*Override) bool { return false })
	anywhere := plain
	for _, l := range e.config.layers() {
		for i := range l.Overrides {
			e.conditions = append(e.conditions, newCondition(&l.Overrides[i]))
		}
	}
	if len(e.conditions) > 0 {
		anywhere = s.anywhere()
	}
	var on []*activeRule
	for i := range e.all {
		r := &e.all[i]
		a, err := activate(r, plain[r.ID]) // also of a rule that is off, since its gates may be wrong
		if err != nil {
			return err
		}
		if anywhere[r.ID].enabled {
			e.rules = append(e.rules, a)
		}
	}
	slices.SortFunc(e.rules, func(a, b *activeRule) int { return strings.Compare(a.rule.ID, b.rule.ID) })
	for i, a := range e.rules {
		a.place = i
		if plain[a.rule.ID].enabled {
			on = append(on, a)
		}
	}
	e.plain = newRuleSet(on)
	e.byKind = newRuleSet(e.rules).byKind
	return nil
}

// rulesFor returns the rules that run on an object.
func (e *Engine) rulesFor(o *object.Object) (*ruleSet, error) {
	if len(e.conditions) == 0 {
		return e.plain, nil
	}
	inFile := make([]bool, len(e.conditions)) // what comes from a cluster is in none
	if f := o.File(); f != nil {
		inFile = e.pathsHold(f.Name)
	}
	domain := cmp.Or(e.config.Mesh.ClusterDomain, defaultClusterDomain)
	return e.rulesWhere(func(i int) bool {
		c := &e.conditions[i]
		return (len(c.Paths) == 0 || inFile[i]) && c.holdsFor(o, domain)
	})
}

// defaultClusterDomain is Istio's.
const defaultClusterDomain = "cluster.local"

// rulesForFile returns the rules that judge a file as such. Of the overrides those count that ask for paths and for nothing that
// only objects have.
func (e *Engine) rulesForFile(f *object.File) (*ruleSet, error) {
	if len(e.conditions) == 0 {
		return e.plain, nil
	}
	inFile := e.pathsHold(f.Name)
	return e.rulesWhere(func(i int) bool { return e.conditions[i].onlyPaths() && inFile[i] })
}

// pathsHold says for each condition whether its paths take in a file.
func (e *Engine) pathsHold(name string) []bool {
	if known, ok := e.inFile.Load(name); ok {
		if holds, ok := known.([]bool); ok {
			return holds
		}
	}
	below := name
	if e.config.PathOf != nil {
		below = e.config.PathOf(name)
	}
	out := make([]bool, len(e.conditions))
	for i := range e.conditions {
		c := &e.conditions[i]
		out[i] = len(c.Paths) > 0 && below != "" && c.files.holds(below)
	}
	e.inFile.Store(name, out)
	return out
}

// rulesWhere returns the selection of what some conditions hold for. Each is made once: objects have few sets of conditions in
// common.
func (e *Engine) rulesWhere(holds func(int) bool) (*ruleSet, error) {
	key := make([]byte, 0, len(e.conditions))
	held := map[*Override]bool{}
	for i := range e.conditions {
		if holds(i) {
			key = append(key, 1)
			held[e.conditions[i].Override] = true
		} else {
			key = append(key, 0)
		}
	}
	if len(held) == 0 {
		return e.plain, nil
	}
	if made, ok := e.sets.Load(string(key)); ok {
		if s, ok := made.(*ruleSet); ok {
			return s, nil
		}
	}
	touched := map[string]bool{}
	for o := range held {
		for name := range o.Rules {
			if r := findRule(e.all, name); r != nil {
				touched[r.ID] = true
			}
		}
	}
	s := settler{config: e.config, rules: e.all}
	settings := s.resolve(func(o *Override) bool { return held[o] })
	var rules []*activeRule
	for _, a := range e.rules {
		setting := settings[a.rule.ID]
		switch {
		case !setting.enabled:
			continue
		case touched[a.rule.ID]:
			fresh, err := activate(a.rule, setting)
			if err != nil {
				return nil, err
			}
			fresh.place = a.place
			a = fresh
		}
		rules = append(rules, a)
	}
	made := newRuleSet(rules)
	e.sets.Store(string(key), made)
	return made, nil
}

// ForPath returns the configuration as it is for what stands in a file, by its path below the folder of the configuration: overrides that
// hold for all of it are part of it, and those that hold for nothing in it are gone.
func (c *Config) ForPath(path string) *Config {
	out := *c
	out.Rules, out.Overrides, out.Inherited = nil, nil, nil
	for _, l := range c.layers() {
		out.Inherited = append(out.Inherited, Layer{Rules: l.Rules})
		for i := range l.Overrides {
			switch all, may := l.Overrides[i].HoldsForPath(path); {
			case all:
				out.Inherited = append(out.Inherited, Layer{Rules: l.Overrides[i].Rules})
			case may:
				out.Inherited = append(out.Inherited, Layer{Overrides: l.Overrides[i : i+1]})
			}
		}
	}
	return &out
}

// StandingOverrides returns the overrides of all layers, without what a later layer says for all objects.
func (c *Config) StandingOverrides(rules []Rule) []Override {
	var out []Override
	layers := c.layers()
	for i, l := range layers {
		for _, o := range l.Overrides {
			left := map[string]RuleConfig{}
			for name, rc := range o.Rules {
				if rc = outranked(rc, findRule(rules, name), layers[i+1:]); rc.Severity != nil || len(rc.Options) > 0 {
					left[name] = rc
				}
			}
			if len(left) > 0 {
				o.Rules = left
				out = append(out, o)
			}
		}
	}
	return out
}

// outranked is what is left of a rule's setting once later layers are heard.
func outranked(rc RuleConfig, r *Rule, later []Layer) RuleConfig {
	if r == nil {
		return rc
	}
	for _, l := range later {
		for name, other := range l.Rules {
			if !r.isCalled(name) {
				continue
			}
			if other.Severity != nil {
				rc.Severity = nil
			}
			left := map[string]any{}
			for key, value := range rc.Options {
				if _, said := other.Options[key]; !said {
					left[key] = value
				}
			}
			rc.Options = left
		}
	}
	return rc
}
