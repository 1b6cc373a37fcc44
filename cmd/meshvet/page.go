package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/meshvet/meshvet/lint"
)

//go:embed page.md.tmpl
var pageTemplate string

// sourceURL is the root of the repository's files.
const sourceURL = "https://github.com/meshvet/meshvet/blob/main/"

// page is all that is said about a rule: in docs/rules, and by `meshvet explain`, which has no fixtures at hand and leaves the
// example out. The proof is part of the program.
type page struct {
	*lint.Meta
	Badges        []string
	Example       *example
	FixMeaning    string
	Configuration string
	Suppression   string // what accepts a finding
	Options       []optionJSON
	Needs         []string
	Observed      bool
	Stats, Flags  []string // of Envoy
	Istiod        []string // metrics
	ConfigDump    string
	Proof         string
	Evidence      *evidence
	Relations     []string
	Source        string
	Root          string // what paths of the repository are put behind, to make a link
}

// example is what a rule's fixtures show.
type example struct {
	Name   string // of the file
	Before string // the file before the change that is judged, "" without one
	Bad    string
	Output string         // of the text report
	Others bool           // other rules find something too
	Around []manifestFile // what else is in view
	Fixed  string         // the bad manifest put right
	Files  []string       // links to the fixtures
}

// manifestFile is a file of manifests to be shown.
type manifestFile struct{ Name, Text string }

// newPage describes one of all rules.
func newPage(r *lint.Rule, all []lint.Rule, ex *example) (*page, error) {
	m := &r.Meta
	d := describeRule(m)
	p := &page{
		Meta: m, Example: ex, Options: d.Options, Needs: d.Needs, Source: m.Source, Root: sourceURL,
		Badges: []string{
			fmt.Sprintf("**%s**", m.Severity), string(m.Category), kindsOf(m), languageOf(m), "fix: " + fixOf(m),
		},
		ConfigDump: m.Observe.ConfigDump,
		Proof:      proofSentence(m.Proof),
	}
	if m.Security {
		p.Badges = append(p.Badges, "security")
	}
	if len(d.Needs) > 0 {
		p.Badges = append(p.Badges, "needs: "+strings.Join(d.Needs, ", "))
	}
	if m.View == lint.ViewFiles {
		p.Badges = append(p.Badges, "files only")
	}
	if strictOnly(m) {
		p.Badges = append(p.Badges, "off by default", "on with `extends: [strict]`")
	}
	if m.StrictSeverity != lint.Off {
		p.Badges = append(p.Badges, fmt.Sprintf("%s with `extends: [strict]`", m.StrictSeverity))
	}
	if m.Since != "" {
		p.Badges = append(p.Badges, "since Istio "+m.Since)
	}
	for _, s := range m.Observe.Stats {
		if strings.HasPrefix(s, "pilot_") {
			p.Istiod = append(p.Istiod, "`"+s+"`")
		} else {
			p.Stats = append(p.Stats, "`"+fullStat(s)+"`")
		}
	}
	for _, f := range m.Observe.Flags {
		p.Flags = append(p.Flags, "`"+f+"`")
	}
	p.FixMeaning = fixMeaning[m.Fix]
	p.Observed = len(p.Stats) > 0 || len(p.Istiod) > 0 || len(p.Flags) > 0 || p.ConfigDump != ""
	p.Configuration = configurationOf(m, d.Options)
	p.Suppression = suppressionOf(m)
	p.Relations = relationsOf(m, all, ex != nil)
	fixture := ""
	if ex != nil {
		fixture = ex.Name
	}
	var err error
	p.Evidence, err = evidenceOf(m, fixture)
	return p, err
}

// fixMeaning says what becomes of a manifest by the best fix that a rule offers.
var fixMeaning = map[lint.Safety]string{
	lint.Safe:   "Fix: safe, which means that it changes nothing but what your own values name, or what Envoy ignores anyway. Where that is not to be had, a finding calls its fix unsafe or a suggestion. `meshvet fix` applies the safe ones.",
	lint.Unsafe: "Fix: unsafe, which means that it brings in a number or a choice that you did not state. `meshvet fix --unsafe` applies it.",
	lint.Show:   "Fix: show, which means that it is a suggestion, to be read and not to be applied as it is.",
}

// fullStat writes the name of one of Envoy's statistics out; rules name those of the cluster by their end.
func fullStat(s string) string {
	for _, family := range []string{"cluster.", "listener.", "http.", "tcp.", "server."} {
		if strings.HasPrefix(s, family) {
			return s
		}
	}
	return "cluster.NAME." + s
}

// proofSentence says what a proof of a kind shows.
func proofSentence(p lint.Proof) string {
	what := map[string]string{
		"changes": "Istio compiles something else from the bad manifest than from the fixed one",
		"ignored": "Istio compiles the same with and without what is flagged",
		"inert":   "Only fields that Envoy does not use on such a port differ between the bad manifest and the fixed one",
		"rejects": "Istio refuses the manifest, or Envoy what Istio makes of it",
		"panics":  "Istio's configuration generator panics",
		"envoy":   "Istio compiles what is written; what Envoy does with it is documented or was measured",
		"input":   "The fault is in the input, before Istio reads it",
	}[p.Kind]
	switch {
	case what == "":
		return ""
	case p.Text == "":
		return what + "."
	}
	return what + ": " + strings.TrimSuffix(p.Text, ".") + "."
}

// configurationOf shows a rule's part of .meshvet.yaml.
func configurationOf(m *lint.Meta, options []optionJSON) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rules:\n  %s:\n    severity: %s # error, warning, info or off\n", m.ID, m.Severity)
	if len(options) > 0 {
		b.WriteString("    options:\n")
		for _, o := range options {
			fmt.Fprintf(&b, "      %s: %s\n", o.Name, jsonText(o.Default))
		}
	}
	return b.String()
}

// suppressionOf shows the ways to accept a finding of a rule.
func suppressionOf(m *lint.Meta) string {
	text := "# meshvet:ignore " + m.ID + " -- why it is accepted\n"
	if m.View != lint.ViewFiles {
		text += "metadata:\n  annotations:\n    " + lint.IgnoreAnnotation + ": " + m.ID + "\n    " + lint.ReasonAnnotation + ": why it is accepted\n"
	}
	return text
}

// relationsOf says which rules give way to which. Pages link to each other; a terminal has nothing to link to.
func relationsOf(m *lint.Meta, all []lint.Rule, link bool) []string {
	name := func(r *lint.Meta) string {
		id := r.ID
		if link {
			id = fmt.Sprintf("[%s](%s.md)", id, id)
		}
		return id + " `" + r.Name + "`"
	}
	where := map[lint.SupersedeScope]string{
		lint.ScopePath:   "at the same field",
		lint.ScopeBlock:  "in the same block",
		lint.ScopePort:   "for the same port of a host",
		lint.ScopeObject: "about the same object or host",
	}
	var out []string
	for _, s := range m.Supersedes {
		if i := slices.IndexFunc(all, func(r lint.Rule) bool { return r.ID == s.Rule }); i >= 0 { // else it is yet to come
			out = append(out, fmt.Sprintf("Where it finds something, findings of %s %s are left out.", name(&all[i].Meta), where[s.Scope]))
		}
	}
	for i := range all {
		for _, s := range all[i].Supersedes {
			if s.Rule == m.ID {
				out = append(out, fmt.Sprintf("Left out where %s finds something %s.", name(&all[i].Meta), where[s.Scope]))
			}
		}
	}
	return out
}

// write writes the page in Markdown.
func (p *page) write(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"join": strings.Join, "fence": fence, "json": jsonText}).Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("parse the template of rule pages: %w", err)
	}
	return t.Execute(w, p)
}

// fence puts text into a block that the text cannot end.
func fence(language, text string) string {
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks
}

func jsonText(v any) string {
	js, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(js)
}
