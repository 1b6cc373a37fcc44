package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// A proof is for reading: of the differences that no claim names, it has so many, and the number of the others.
const maxOthers = 6

// maxText is how much of a text that Istio says is kept, in bytes.
const maxText = 300

// verdict is what comes of a comparison.
type verdict struct {
	*claim
	comparison
	lines  []string
	faults []string
}

func (v *verdict) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

func (v *verdict) line(format string, args ...any) {
	v.lines = append(v.lines, fmt.Sprintf(format, args...))
}

// judge holds the claims against the comparison, and writes down what it saw.
func (v *verdict) judge(shows, changes []expectation) {
	if v.Note != "" {
		v.line("  %s", oneLine(v.Note))
	}
	v.istioSays()
	for _, e := range shows {
		if ok, instead := v.before.holds(e.resource, e.path, e.before); !ok {
			v.fault("%s does not show %s: %s, it shows %s", e.resource, e.path, e.before, instead)
		}
	}
	for _, e := range changes {
		if ok, instead := v.before.holds(e.resource, e.path, e.before); !ok {
			v.fault("before, %s does not have %s: %s but %s", e.resource, e.path, e.before, instead)
		}
		if ok, instead := v.after.holds(e.resource, e.path, e.after); !ok {
			v.fault("after, %s does not have %s: %s but %s", e.resource, e.path, e.after, instead)
		}
	}
	if v.before.result.Panic != "" || v.after.result.Panic != "" {
		v.write(nil, changes, named(changes)) // there is no more to compare than what is claimed
		return
	}
	differences := diff(v.before.resources, v.after.resources)
	switch v.Kind {
	case "ignored":
		for _, d := range differences {
			v.fault("%s is not ignored: %s: %s becomes %s", d.resource, d.path, d.before, d.after)
		}
		v.line("  nothing changes")
	case "inert":
		for _, d := range differences {
			if len(v.Only) > 0 && !slices.Contains(v.Only, d.resource) {
				continue
			}
			name, isCluster := strings.CutPrefix(d.resource, "cluster ")
			if !isCluster {
				v.fault("%s changes too: %s: %s becomes %s", d.resource, d.path, d.before, d.after)
				continue
			}
			if f := familyOf(v.before.resources, name); !inert(d.path, f) {
				v.fault("%s has %s, and there %s is not inert: %s becomes %s", d.resource, f, d.path, d.before, d.after)
			}
		}
		if len(differences) == 0 {
			v.line("  nothing changes")
		}
	}
	v.write(shows, changes, differences)
}

// named are the changes that claims name.
func named(changes []expectation) []change {
	var out []change
	for _, e := range changes {
		out = append(out, change(e))
	}
	return out
}

// istioSays compares what Istio and Envoy's constraints say of both sides.
func (v *verdict) istioSays() {
	if v.Panics != "" {
		v.line("  Istio's configuration generator")
		v.line("-   panics: %s", shortened(v.before.result.Panic))
		v.line("+   does not")
		if !strings.Contains(v.before.result.Panic, v.Panics) {
			v.fault("no panic %q but %q", v.Panics, v.before.result.Panic)
		}
	} else if v.before.result.Panic != "" {
		v.fault("Istio panics: %s", v.before.result.Panic)
	}
	if v.after.result.Panic != "" {
		v.fault("Istio panics on the other side too: %s", v.after.result.Panic)
	}
	if v.Rejects != "" {
		said := refusals(v.before.result)
		v.line("  Istio's validation")
		for _, text := range said {
			v.line("-   refuses %s", shortened(inOrder(text)))
		}
		v.line("+   takes it")
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, v.Rejects) }) {
			v.fault("no refusal %q but %q", v.Rejects, said)
		}
		if after := refusals(v.after.result); len(after) > 0 {
			v.fault("what is fixed is refused too: %q", after)
		}
	}
	if v.NACK != "" {
		v.line("  Envoy's constraints")
		for _, text := range v.before.result.NACK {
			v.line("-   broken: %s", shortened(text))
		}
		v.line("+   kept")
		if !slices.ContainsFunc(v.before.result.NACK, func(s string) bool { return strings.Contains(s, v.NACK) }) {
			v.fault("no break %q of a constraint but %q", v.NACK, v.before.result.NACK)
		}
		if len(v.after.result.NACK) > 0 {
			v.fault("what is fixed breaks constraints too: %q", v.after.result.NACK)
		}
	}
}

func refusals(res *oracle.Result) []string {
	var out []string
	for _, review := range res.Objects {
		if review.Error != "" {
			out = append(out, review.Object+": "+oneLine(review.Error))
		}
	}
	return out
}

func shortened(text string) string {
	text = oneLine(text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// inOrder sorts the faults that Istio's validation lists: those of a map, such as labels, come in any order.
func inOrder(text string) string {
	const opens, between = " errors occurred: * ", " * "
	head, list, several := strings.Cut(oneLine(text), opens)
	if !several {
		return text
	}
	faults := strings.Split(list, between)
	slices.Sort(faults)
	return head + opens + strings.Join(faults, between)
}

// write puts the differences down by resource: all that claims name, and some others. What is shown and does not differ stands
// between them.
func (v *verdict) write(shows, changes []expectation, differences []change) {
	lines := map[string][]string{}
	add := func(resource, line string) { lines[resource] = append(lines[resource], line) }
	differs := func(e expectation) bool {
		return slices.ContainsFunc(differences, func(d change) bool {
			return d.resource == e.resource && (d.path == "" || e.path != "" && matches(d.path, e.path))
		})
	}
	var whole []expectation
	for _, e := range shows {
		switch {
		case e.path == "":
			whole = append(whole, e)
		case !differs(e):
			add(e.resource, "    "+e.path+": "+e.before)
		}
	}
	for _, e := range whole { // said where nothing else is
		if !slices.ContainsFunc(differences, func(d change) bool { return d.resource == e.resource }) && len(lines[e.resource]) == 0 {
			add(e.resource, "    "+e.before)
		}
	}
	others := 0
	for _, d := range gathered(differences, v.before.resources, v.after.resources) {
		about := func(e expectation) bool {
			return e.resource == d.resource && (d.path == "" || e.path != "" && (matches(d.path, e.path) || matches(e.path, d.path)))
		}
		if !slices.ContainsFunc(changes, about) && !slices.ContainsFunc(shows, about) {
			if others++; others > maxOthers {
				continue
			}
		}
		v.addChange(add, d)
		// What a claim names in the middle of something that comes or goes as a whole is worth a line of its own.
		for _, e := range slices.Concat(shows, changes) {
			if about(e) && e.path != d.path && (d.path == "" || envoy.Under(e.path, d.path)) {
				v.addChange(add, change{e.resource, e.path, e.before, cmp.Or(e.after, absent)})
			}
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(lines)) {
		v.line("  %s", resource)
		v.lines = append(v.lines, lines[resource]...)
	}
	if more := others - maxOthers; more > 0 {
		v.line("  and %d more", more)
	}
}

func (v *verdict) addChange(add func(resource, line string), d change) {
	name := ""
	if d.path != "" {
		name = d.path + ": "
	}
	if d.before != absent {
		add(d.resource, "-   "+name+shortened(d.before))
	}
	if d.after != absent {
		add(d.resource, "+   "+name+shortened(d.after))
	}
}
