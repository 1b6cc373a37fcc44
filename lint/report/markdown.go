package report

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
)

const (
	// maxMarkdown is how many bytes a report in Markdown has at most. A comment on GitHub holds 65,536 characters, a step summary 1 MiB; the
	// rest is for what somebody puts around the report, such as a mark by which a bot finds its comment again.
	maxMarkdown = 64_000
	// maxMarkdownProblems is how many problems are listed.
	maxMarkdownProblems = 20
	// markdownFrame is more than what stands around the findings takes: headings, the heads of tables, and what is said to be left out.
	markdownFrame = 2_000
)

// writeMarkdown writes a report for a comment on a pull request, or for the summary of a CI step: what is wrong as a table for each severity,
// worst first, and below it, folded, what that leads to and what to do.
func writeMarkdown(w *bufio.Writer, v *view) error {
	return writeMarkdownUpTo(w, v, maxMarkdown)
}

// markdownFinding is a finding in pieces of Markdown.
type markdownFinding struct {
	*lint.Finding
	row     string // of the table
	details string // items of a list, "" if there is no room for them
}

func writeMarkdownUpTo(w *bufio.Writer, v *view, limit int) error {
	head := v.markdownHead()
	found, left := v.markdownFindings(limit - len(head) - markdownFrame)
	w.WriteString(head)
	for len(found) > 0 {
		severity := found[0].Severity
		n := 0
		for n < len(found) && found[n].Severity == severity {
			n++
		}
		writeMarkdownSeverity(w, found[:n], v.Count(severity))
		found = found[n:]
	}
	if left > 0 {
		is := "are"
		if left == 1 {
			is = "is"
		}
		fmt.Fprintf(w, "\n%s %s left out, since a comment on GitHub has no room for more. The formats json and sarif have all.\n", count(left, "finding"), is)
	}
	return nil
}

// markdownHead is what stands above the findings.
func (v *view) markdownHead() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## meshvet\n\n%s.\n", markdownText("Result: "+summary(v)))
	if hint := fixHint(v); hint != "" {
		fmt.Fprintf(&b, "\n%s.\n", hint) // which has commands in backticks, and nothing of the input
	}
	told := v.told()
	var problems []string
	for _, p := range v.Problems {
		if told[spotOf(p.Location)] {
			continue
		}
		item := "problem: " + markdownText(p.Message)
		if p.Location.File != "" {
			item = markdownCode(place(v.opt.fromRoot(p.Location))) + " " + item
		}
		problems = append(problems, "- "+item+"\n")
	}
	if len(v.Problems) > 0 {
		b.WriteString("\n**The run is not complete**: some of what it was given could not be read or judged.\n\n")
	}
	for i, p := range problems {
		if i == maxMarkdownProblems {
			fmt.Fprintf(&b, "- and %s\n", count(len(problems)-i, "other problem"))
			break
		}
		b.WriteString(p)
	}
	return b.String()
}

// markdownFindings are as many findings as there is room for, worst first, and how many there is none for. Rows go first: better to see all
// that is wrong than all about a part of it.
func (v *view) markdownFindings(room int) (found []markdownFinding, left int) {
	order := make([]*lint.Finding, len(v.Findings))
	for i := range v.Findings {
		order[i] = &v.Findings[i]
	}
	slices.SortStableFunc(order, func(a, b *lint.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	for i, f := range order {
		row := v.markdownRow(f)
		if room -= len(row); room < 0 {
			left = len(order) - i
			break
		}
		found = append(found, markdownFinding{Finding: f, row: row})
	}
	for i := range found {
		details := v.markdownDetails(found[i].Finding)
		if room -= len(details); room < 0 {
			break
		}
		found[i].details = details
	}
	return found, left
}

// writeMarkdownSeverity writes the findings of one severity, of which there may be more.
func writeMarkdownSeverity(w *bufio.Writer, found []markdownFinding, all int) {
	title := map[lint.Severity]string{lint.Error: "Errors", lint.Warning: "Warnings", lint.Info: "Info"}[found[0].Severity]
	fmt.Fprintf(w, "\n### %s (%d)\n\n| Rule | Place | Finding |\n| --- | --- | --- |\n", title, all)
	told := 0
	for _, f := range found {
		w.WriteString(f.row)
		if f.details != "" {
			told++
		}
	}
	if told == 0 {
		return
	}
	w.WriteString("\n<details>\n<summary>What it leads to, and what to do</summary>\n\n") // Markdown needs an empty line after HTML
	for _, f := range found[:told] {
		w.WriteString(f.details)
	}
	if n := len(found) - told; n > 0 {
		fmt.Fprintf(w, "- There is no room for that of %s more.\n", count(n, "finding"))
	}
	w.WriteString("\n</details>\n")
}

// markdownRule names a rule, as a link to its page if there is one.
func (v *view) markdownRule(text, id string) string {
	text = markdownText(text)
	if u := v.opt.ruleURL(id); u != "" {
		return "[" + text + "](" + u + ")"
	}
	return text
}

func (v *view) markdownRow(f *lint.Finding) string {
	message := f.Message
	if inCluster(f.Location) {
		message = f.Object.String() + ": " + message
	}
	return fmt.Sprintf("| %s | %s | %s |\n", v.markdownRule(f.Rule.ID+" "+f.Rule.Name, f.Rule.ID),
		markdownCode(place(v.opt.fromRoot(f.Location))), markdownText(message))
}

func (v *view) markdownDetails(f *lint.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- **%s** %s", v.markdownRule(f.Rule.ID, f.Rule.ID), markdownCode(place(v.opt.fromRoot(f.Location))))
	if where := whereabouts(f); where != "" {
		b.WriteString(" in " + markdownText(where))
	}
	b.WriteByte('\n')
	prose := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  - %s: %s\n", label, markdownText(text))
		}
	}
	prose("effect", f.Effect)
	for i := range f.Related[:min(len(f.Related), maxRelated)] {
		r := &f.Related[i]
		fmt.Fprintf(&b, "  - see %s: %s\n", markdownCode(place(v.opt.fromRoot(r.Location))), markdownText(r.Message))
	}
	if n := len(f.Related) - maxRelated; n > 0 {
		fmt.Fprintf(&b, "  - see %s\n", count(n, "other place"))
	}
	prose("cause", v.causedNote(f))
	if briefHelp(f) != "" {
		prose("help", help(f))
	}
	return b.String()
}
