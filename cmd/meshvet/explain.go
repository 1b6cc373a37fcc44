package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func (a *app) newExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain RULE",
		Short: "Say what a rule is about",
		Long: `Explain prints what a rule flags, why, what to do about it, how to see the fault at run time, and what
Istio compiles from such a manifest. RULE is an ID or a name.

The rule's page in docs/rules of the repository says the same, with an example.`,
		Example: "  meshvet explain DR202\n  meshvet explain port-level-resets",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("explain takes one rule, by ID or name; `meshvet rules` lists them")
			}
			return nil
		},
		ValidArgsFunction: completeRules,
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := allRules(cmd.Context())
			if err != nil {
				return err
			}
			r, err := findRule(all, args[0])
			if err != nil {
				return err
			}
			var md bytes.Buffer
			p, err := newPage(r, all, nil)
			if err != nil {
				return err
			}
			if err := p.write(&md); err != nil {
				return err
			}
			fmt.Fprintf(&md, "\nWith an example: <%s/%s.md>\n", docsURL, r.ID)
			return renderMarkdown(a.stdout, md.String(), a.colored(true, a.stdout))
		},
	}
}

// pageWidth is how wide prose is set on a terminal.
const pageWidth = 96

// renderMarkdown prints Markdown for a terminal. It knows what rule pages consist of: headings, paragraphs, lists, fenced
// blocks, and bold, code and links in a line.
func renderMarkdown(w io.Writer, md string, color bool) error {
	var b strings.Builder
	var paragraph []string
	flush := func() {
		if len(paragraph) == 0 {
			return
		}
		text := strings.Join(paragraph, " ")
		paragraph = nil
		first, rest := "", ""
		if item, found := strings.CutPrefix(text, "- "); found {
			text, first, rest = item, "- ", "  "
		}
		b.WriteString(emphasise(wrap(spellLinks(text), first, rest), color))
	}
	fenced := ""
	for line := range strings.SplitSeq(strings.TrimRight(md, "\n"), "\n") {
		switch {
		case fenced != "":
			if line == fenced {
				fenced = ""
			} else {
				b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
			}
		case strings.HasPrefix(line, "```"):
			flush()
			fenced = line[:len(line)-len(strings.TrimLeft(line, "`"))]
		case strings.HasPrefix(line, "#"):
			flush()
			b.WriteString(styled(strings.TrimLeft(line, "# "), "1", color) + "\n")
		case line == "":
			flush()
			b.WriteByte('\n')
		default:
			if strings.HasPrefix(line, "- ") {
				flush()
			}
			paragraph = append(paragraph, line)
		}
	}
	flush()
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap sets text in lines of pageWidth, the first behind one indent and the others behind another.
func wrap(text, first, rest string) string {
	var b strings.Builder
	line, indent := first, first
	for word := range strings.FieldsSeq(text) {
		if line != indent && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > pageWidth {
			b.WriteString(line + "\n")
			line, indent = rest, rest
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}

var (
	markdownLink = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)|<(https?://[^>]+)>`)
	markdownBold = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	markdownCode = regexp.MustCompile("`([^`]+)`")
)

// spellLinks writes links out, before lines are broken.
func spellLinks(s string) string {
	return markdownLink.ReplaceAllStringFunc(s, func(l string) string {
		m := markdownLink.FindStringSubmatch(l)
		switch {
		case m[3] != "":
			return m[3]
		case strings.HasSuffix(m[2], "/"+m[1]):
			return m[1] // a file of the repository, named by its path
		}
		return m[1] + " (" + m[2] + ")"
	})
}

// emphasise styles what is bold or code. Without colour, code keeps its backquotes: they say where a value begins and ends.
func emphasise(s string, color bool) string {
	s = markdownBold.ReplaceAllStringFunc(s, func(t string) string { return styled(strings.Trim(t, "*"), "1", color) })
	if color {
		s = markdownCode.ReplaceAllStringFunc(s, func(t string) string { return styled(strings.Trim(t, "`"), "36", color) })
	}
	return s
}

// styled puts text into an SGR style of a terminal.
func styled(s, style string, color bool) string {
	if !color {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}
