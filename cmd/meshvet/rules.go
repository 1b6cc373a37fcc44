package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

func (a *app) newRulesCommand() *cobra.Command {
	format := newChoice("text", "text", "json", "markdown")
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules",
		Long: `Rules lists every rule that this meshvet has, with the severity and the kind of fix that it comes with: safe (changes nothing
but what your own values name, or what Envoy ignores anyway), unsafe (brings in a number or a choice that you did not state) or show
(a suggestion, to be read and not to be applied as it is). Meshvet fix applies the safe ones, and with --unsafe the unsafe ones too.

The JSON form holds all that is known about each rule; it is also in docs/rules/rules.json of the repository.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := allRules(cmd.Context())
			if err != nil {
				return err
			}
			switch format.value {
			case "json":
				return writeRulesJSON(a.stdout, all)
			case "markdown":
				return writeRulesMarkdown(a.stdout, all, docsURL+"/")
			}
			return writeRulesText(a.stdout, all)
		},
	}
	cmd.Flags().Var(format, "format", "how the list is written")
	complete(cmd, "format", format.words)
	return cmd
}

func writeRulesText(w io.Writer, all []lint.Rule) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tNAME\tSEVERITY\tKINDS\tLANGUAGE\tFIX\tTITLE")
	for i := range all {
		m := &all[i].Meta
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.ID, m.Name, severitiesOf(m), kindsOf(m), languageOf(m), fixOf(m), m.Title)
	}
	return tw.Flush()
}

// writeRulesMarkdown writes a table that links to the pages of the rules below base.
func writeRulesMarkdown(w io.Writer, all []lint.Rule, base string) error {
	var b strings.Builder
	b.WriteString("| ID | Name | Severity | Kinds | Language | Proof | Fix |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range all {
		m := &all[i].Meta
		fmt.Fprintf(&b, "| [%s](%s%s.md) | `%s`: %s | %s | %s | %s | %s | %s |\n",
			m.ID, base, m.ID, m.Name, tableCell(m.Title), severitiesOf(m), kindsOf(m), languageOf(m), m.Proof.Kind, fixOf(m))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tableCell keeps text from ending its cell.
func tableCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// ruleJSON is a rule in `meshvet rules --format json`, which scripts rely on.
type ruleJSON struct {
	ID             string         `json:"id"`
	Name           string         `json:"name"`
	Title          string         `json:"title"`
	Severity       string         `json:"severity"`
	Category       lint.Category  `json:"category"`
	Security       bool           `json:"security"`
	StrictSeverity string         `json:"strictSeverity"` // under the preset strict
	Presets        []string       `json:"presets"`
	Kinds          []string       `json:"kinds"`
	Needs          []string       `json:"needs"`
	View           string         `json:"view"` // "all", or "files" if it does not judge at admission
	Lang           string         `json:"lang"`
	Fix            string         `json:"fix"` // safe, unsafe, show or none
	Proof          string         `json:"proof"`
	Evidence       string         `json:"evidence"`
	Summary        string         `json:"summary"`
	Why            string         `json:"why"`
	Remedy         string         `json:"remedy"`
	Options        []optionJSON   `json:"options"`
	Supersedes     []relationJSON `json:"supersedes"`
	Observe        observeJSON    `json:"observe"`
	References     []string       `json:"references"`
	Since          string         `json:"since,omitempty"`
	SidecarOnly    bool           `json:"sidecarOnly"`
	Unsuppressible bool           `json:"unsuppressible"`
	Source         string         `json:"source"`
	Docs           string         `json:"docs"`
}

type optionJSON struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Default any    `json:"default"`
	Strict  any    `json:"strict"` // the default under the preset strict
	Doc     string `json:"doc"`
}

type relationJSON struct {
	Rule  string              `json:"rule"`
	Scope lint.SupersedeScope `json:"scope"`
}

type observeJSON struct {
	Stats      []string `json:"stats"`
	Flags      []string `json:"flags"`
	ConfigDump string   `json:"configDump"`
}

func writeRulesJSON(w io.Writer, all []lint.Rule) error {
	list := make([]ruleJSON, 0, len(all))
	for i := range all {
		d := describeRule(&all[i].Meta)
		d.Supersedes = slices.DeleteFunc(d.Supersedes, func(s relationJSON) bool {
			return !slices.ContainsFunc(all, func(r lint.Rule) bool { return r.ID == s.Rule }) // it is yet to come
		})
		list = append(list, d)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Version string     `json:"version"`
		Rules   []ruleJSON `json:"rules"`
	}{"1", list})
}

func describeRule(m *lint.Meta) ruleJSON {
	out := ruleJSON{
		ID: m.ID, Name: m.Name, Title: m.Title, Severity: m.Severity.String(), Category: m.Category, Security: m.Security,
		StrictSeverity: m.SeverityUnder(lint.Strict).String(), Presets: notNil(m.Presets), Kinds: kindNames(m.Kinds), Needs: kindNames(m.Needs),
		View: cmp.Or(string(m.View), "all"), Lang: m.Lang, Fix: fixOf(m), Proof: m.Proof.Kind, Evidence: m.Proof.Text,
		Summary: m.Summary, Why: m.Why, Remedy: m.Remedy, Options: []optionJSON{}, Supersedes: []relationJSON{},
		Observe:    observeJSON{notNil(m.Observe.Stats), notNil(m.Observe.Flags), m.Observe.ConfigDump},
		References: notNil(m.References), Since: m.Since, SidecarOnly: m.SidecarOnly, Unsuppressible: m.Unsuppressible,
		Source: m.Source, Docs: docsURL + "/" + m.ID + ".md",
	}
	for _, o := range m.Options {
		out.Options = append(out.Options, optionJSON{o.Name, schemaType(o.Default), o.Default, o.DefaultUnder(lint.Strict), o.Doc})
	}
	for _, s := range m.Supersedes {
		out.Supersedes = append(out.Supersedes, relationJSON{s.Rule, s.Scope})
	}
	return out
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// kindNames names kinds as manifests do. What stands for both judged kinds under a wrong group is named by them.
func kindNames(kinds []object.Kind) []string {
	out := make([]string, 0, len(kinds))
	for _, k := range kinds {
		names := []string{string(k)}
		if k == object.Stray {
			names = []string{string(object.ServiceEntry), string(object.DestinationRule)}
		}
		for _, n := range names {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// kindsOf is what a rule judges, in words.
func kindsOf(m *lint.Meta) string { return cmp.Or(strings.Join(kindNames(m.Kinds), ", "), "any file") }

func languageOf(m *lint.Meta) string {
	if m.Lang == "rego" {
		return "Rego"
	}
	return "Go"
}

// severitiesOf is the severity of a rule, and what the preset strict makes of it.
func severitiesOf(m *lint.Meta) string {
	switch {
	case strictOnly(m):
		return m.Severity.String() + " (strict only)"
	case m.StrictSeverity != lint.Off:
		return fmt.Sprintf("%s (strict: %s)", m.Severity, m.StrictSeverity)
	}
	return m.Severity.String()
}

// strictOnly says whether a rule is off unless the configuration switches it on.
func strictOnly(m *lint.Meta) bool {
	return len(m.Presets) > 0 && !slices.Contains(m.Presets, lint.Recommended)
}

func fixOf(m *lint.Meta) string { return cmp.Or(string(m.Fix), "none") }

// completeRules offers IDs and names to the shell.
func completeRules(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all, err := allRules(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []cobra.Completion
	for i := range all {
		m := &all[i].Meta
		out = append(out, cobra.CompletionWithDesc(m.ID, m.Title), cobra.CompletionWithDesc(m.Name, m.Title))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
