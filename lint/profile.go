package lint

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Profile says where the time of a run went. Times are of the wall clock, summed over the workers. What rules share about an object,
// such as the ports that a DestinationRule reaches, is counted for the rule that asks first.
type Profile struct {
	Rules []RuleTime // most costly first
	// Preparing is the time for what is made once for all objects, such as compiling policies.
	Preparing time.Duration
}

// RuleTime is what one rule took.
type RuleTime struct {
	Rule *Meta
	// Gated is how many objects came to the gates of the rule, Judged how many passed them.
	Gated, Judged int
	Gates, Check  time.Duration // in the gates, and in the rule itself
}

func (t *RuleTime) total() time.Duration { return t.Gates + t.Check }

// stopwatch measures one object's rules, by their place in the engine. A nil stopwatch measures nothing.
type stopwatch struct {
	rules     []RuleTime
	preparing time.Duration
	aside     time.Duration // of the rule that is running
}

func (e *Engine) stopwatch() *stopwatch {
	if !e.config.Profile {
		return nil
	}
	return &stopwatch{rules: make([]RuleTime, len(e.rules))}
}

// gate measures what happens until the returned function is called, as that of a rule's gates.
func (w *stopwatch) gate(a *activeRule) func() {
	if w == nil {
		return func() {}
	}
	start := time.Now()
	return func() {
		w.rules[a.place].Gated++
		w.rules[a.place].Gates += time.Since(start)
	}
}

// check measures what happens until the returned function is called, as that of a rule.
func (w *stopwatch) check(a *activeRule) func() {
	if w == nil {
		return func() {}
	}
	start := time.Now()
	w.aside = 0
	return func() {
		w.rules[a.place].Judged++
		w.rules[a.place].Check += time.Since(start) - w.aside
		w.preparing += w.aside
	}
}

// Profiled says whether the time of each rule is measured, so that what is otherwise done for several rules at once has to be done
// for each alone.
func (p *Pass) Profiled() bool { return p.visit.watch != nil }

// Prepared says that since start something was made that all objects share, which is no time of the rule's.
func (p *Pass) Prepared(start time.Time) {
	if p.visit.watch != nil {
		p.visit.watch.aside += time.Since(start)
	}
}

// profileOf sums up what the rules of the engine took in those of some visits that are its own; nil if nothing was measured.
func (e *Engine) profileOf(visits []visit) *Profile {
	if !e.config.Profile {
		return nil
	}
	p := &Profile{}
	for _, a := range e.rules {
		p.Rules = append(p.Rules, RuleTime{Rule: &a.rule.Meta})
	}
	for i := range visits {
		if v := &visits[i]; v.watch != nil && v.engine == e {
			for j := range v.watch.rules {
				p.Rules[j].add(&v.watch.rules[j])
			}
			p.Preparing += v.watch.preparing
		}
	}
	return p
}

func (t *RuleTime) add(other *RuleTime) {
	t.Gated += other.Gated
	t.Judged += other.Judged
	t.Gates += other.Gates
	t.Check += other.Check
}

// merge adds another run, maybe of an engine with other rules.
func (p *Profile) merge(other *Profile) *Profile {
	if p == nil || other == nil {
		return cmp.Or(p, other)
	}
	place := make(map[*Meta]int, len(p.Rules))
	for i := range p.Rules {
		place[p.Rules[i].Rule] = i
	}
	for i := range other.Rules {
		if at, known := place[other.Rules[i].Rule]; known {
			p.Rules[at].add(&other.Rules[i])
		} else {
			p.Rules = append(p.Rules, other.Rules[i])
		}
	}
	p.Preparing += other.Preparing
	return p
}

func (p *Profile) sort() {
	if p == nil {
		return
	}
	slices.SortStableFunc(p.Rules, func(a, b RuleTime) int {
		return cmp.Or(cmp.Compare(b.total(), a.total()), strings.Compare(a.Rule.ID, b.Rule.ID))
	})
}
