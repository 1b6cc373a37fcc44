package lint

import (
	"fmt"
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// SuppressionConfig restricts what annotations and comments silence.
type SuppressionConfig struct {
	// Forbid are the rules whose findings no annotation and no comment silences: IDs, names or categories, in any case.
	Forbid []string

	forbid []object.Location
}

func (r *configReader) suppressions(at object.Path, v object.Value, c *SuppressionConfig) {
	r.read(at, v, map[string]func(object.Path, object.Value){
		"forbid": func(at object.Path, v object.Value) {
			if r.list(at, v) {
				c.Forbid = r.strings(at, v)
				c.forbid = r.itemsAt(at, len(c.Forbid))
			}
		},
	})
}

// forbidden says where the configuration forbids to suppress a rule, by rule.
func (c *Config) forbidden(rules []Rule) (map[*Meta]string, []object.Problem) {
	var problems []object.Problem
	out := map[*Meta]string{}
	for i, word := range c.Suppressions.Forbid {
		at := object.Location{File: c.Source}
		if i < len(c.Suppressions.forbid) {
			at = c.Suppressions.forbid[i]
		}
		place := at.File
		if at.Range.Start.IsValid() {
			place = fmt.Sprintf("%s:%d", at.File, at.Range.Start.Line)
		}
		known := false
		for k := range rules {
			if m := &rules[k].Meta; m.isMeantBy(word) {
				known = true
				if out[m] == "" {
					out[m] = place
				}
			}
		}
		if !known {
			problems = append(problems, object.Problem{
				Kind: BadConfig, Location: at, Message: object.Abridge(fmt.Sprintf("unknown rule or category %q%s", word, suggestRule(word, rules))),
			})
		}
	}
	// Both at once cannot be meant: what no annotation silences, none lets through.
	for i, word := range c.Admission.Suppressible {
		m := findRule(rules, word)
		if m == nil || out[&m.Meta] == "" || slices.ContainsFunc(c.Admission.Suppressible[:i], m.isCalled) {
			continue
		}
		p := object.Problem{Kind: BadConfig, Message: fmt.Sprintf("%s (%s) is forbidden to be suppressed at %s; take it out there or here", m.ID, m.Name, out[&m.Meta])}
		if i < len(c.Admission.suppressible) {
			p.Location = c.Admission.suppressible[i]
		}
		problems = append(problems, p)
	}
	return out, problems
}
