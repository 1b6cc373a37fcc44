package rules

import (
	"fmt"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// shownLosses is how many lost values a finding tells one by one.
const shownLosses = 4

// lostFields names the fields that are lost, for messages.
func lostFields(losses []effective.Loss) string {
	var names []string
	for _, l := range losses[:min(len(losses), shownLosses)] {
		names = append(names, l.Field.Name)
	}
	return lint.Enumerate(names) + andMore(len(losses)-len(names))
}

// lostValues says what becomes of the lost values, for effects.
func lostValues(losses []effective.Loss) string {
	var parts []string
	for _, l := range losses[:min(len(losses), shownLosses)] {
		parts = append(parts, fmt.Sprintf("%s %s becomes %s (%s)", l.Field.Name, l.From, l.To, l.Field.Envoy))
	}
	return strings.Join(parts, "; ") + andMore(len(losses)-len(parts))
}

// lostAt adds where each of the lost values is written.
func lostAt(losses []effective.Loss) lint.Extra {
	return func(f *lint.Finding) {
		for _, l := range losses[:min(len(losses), shownLosses)] {
			lint.Also(l.On, l.At, l.Field.Name+" is set here")(f)
		}
	}
}

// lossBudget bounds the work that a rule does on one object: looking up what clients of a namespace get for a host, and comparing
// policies port by port. A mesh of thousands of rules for thousands of namespaces would otherwise take minutes.
type lossBudget struct {
	lookups, ports int
	each           int // what a lookup costs: it goes through the rules that share a host
}

func newLossBudget(ix *mesh.Index, r *mesh.DestinationRule) *lossBudget {
	const ofMesh, ofRule = 500_000, 500
	rules := ix.Count(object.DestinationRule)
	if r.Host.IsWildcard() { // there are fewer, and each has more to look at
		rules = ix.WildcardRules()
	}
	share := max(ofRule, ofMesh/(1+rules))
	return &lossBudget{lookups: share, ports: share, each: 1 + len(ix.Rules(r.Host))/50}
}

// look takes one lookup from the budget, and says whether there was one.
func (b *lossBudget) look() bool {
	b.lookups -= b.each
	return b.lookups >= 0
}

// between is effective.LostBetween for what the budget allows; ok is false if it is used up.
func (b *lossBudget) between(ix *mesh.Index, instead, rule *mesh.Merged, ports []effective.Port) (losses []effective.Loss, ok bool) {
	if b.ports -= len(ports); b.ports < 0 {
		return nil, false
	}
	return effective.LostBetween(ix, instead, rule, ports), true
}
