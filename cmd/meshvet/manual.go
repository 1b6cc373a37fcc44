package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Man pages are written here and not by cobra/doc, which takes help for Markdown: it garbles hosts such as *.example.com and
// indented lines.

// writeManuals writes a man page for each command that help shows. day is the day that the pages give, or zero for none.
func writeManuals(dir string, root *cobra.Command, day time.Time) error {
	return visitCommands(root, func(cmd *cobra.Command) error {
		return writeGenerated(filepath.Join(dir, manualName(cmd)+".1"), func(w io.Writer) error { return writeManual(w, cmd, day) })
	})
}

// visitCommands calls visit for each command that help shows, completion's own, which are shells, left out.
func visitCommands(cmd *cobra.Command, visit func(*cobra.Command) error) error {
	if err := visit(cmd); err != nil {
		return err
	}
	for _, c := range shownCommands(cmd) {
		if cmd.Name() == "completion" {
			continue
		}
		if err := visitCommands(c, visit); err != nil {
			return err
		}
	}
	return nil
}

func shownCommands(cmd *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			out = append(out, c)
		}
	}
	return out
}

// manualName is what `man` is asked for: meshvet-config-print.
func manualName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// writeManual writes the man page of a command, in the macros of man(7).
func writeManual(w io.Writer, cmd *cobra.Command, day time.Time) error {
	r := &roff{}
	date := ""
	if !day.IsZero() {
		date = day.UTC().Format(time.DateOnly)
	}
	r.macro("TH", strings.ToUpper(manualName(cmd)), "1", date, "meshvet "+thisBuild().version, "meshvet")
	r.section("NAME")
	r.filled(manualName(cmd) + " - " + strings.TrimSuffix(cmd.Short, "."))
	r.section("SYNOPSIS")
	name, rest, _ := strings.Cut(cmd.UseLine(), cmd.CommandPath())
	r.line(bold(name+cmd.CommandPath()) + roffText(rest))
	if cmd.Long != "" {
		r.section("DESCRIPTION")
		r.prose(cmd.Long)
	}
	if children := shownCommands(cmd); len(children) > 0 {
		r.section("COMMANDS")
		for _, c := range children {
			r.item(bold(c.CommandPath()), c.Short)
		}
	}
	r.options("OPTIONS", cmd, cmd.LocalNonPersistentFlags())
	if cmd.HasParent() {
		r.options("OPTIONS OF EVERY COMMAND", cmd.Root(), cmd.InheritedFlags())
	} else {
		r.options("OPTIONS OF EVERY COMMAND", cmd, cmd.PersistentFlags())
	}
	if cmd.HasExample() {
		r.section("EXAMPLES")
		r.verbatim(strings.Split(unindent(cmd.Example), "\n"))
	}
	var others []string
	if cmd.HasParent() {
		others = append(others, bold(manualName(cmd.Parent()))+"(1)")
	}
	if cmd.Name() != "completion" {
		for _, c := range shownCommands(cmd) {
			others = append(others, bold(manualName(c))+"(1)")
		}
	}
	if len(others) > 0 {
		r.section("SEE ALSO")
		r.line(strings.Join(others, ",\n"))
	}
	_, err := io.WriteString(w, r.text.String())
	return err
}

// roff is a page that is being written.
type roff struct{ text strings.Builder }

func (r *roff) line(s string) { r.text.WriteString(s + "\n") }

// macro writes a request with its arguments, each of them as it is. The hyphens of a day are no minus signs.
func (r *roff) macro(name string, args ...string) {
	line := "." + name
	for _, a := range args {
		text := strings.ReplaceAll(roffText(a), `"`, `\(dq`)
		if _, err := time.Parse(time.DateOnly, a); err == nil {
			text = a
		}
		line += ` "` + text + `"`
	}
	r.line(line)
}

func (r *roff) section(name string) { r.macro("SH", name) }

// item writes a paragraph that hangs on a term, which is roff already.
func (r *roff) item(term, text string) {
	r.line(".TP")
	r.line(term)
	r.filled(text)
}

// options writes the flags of a command; owner is the command that their variables are named after.
func (r *roff) options(title string, owner *cobra.Command, flags *pflag.FlagSet) {
	began := false
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if !began {
			r.section(title)
			began = true
		}
		value, usage := pflag.UnquoteUsage(f)
		term := bold("--" + f.Name)
		switch {
		case f.NoOptDefVal != "" && f.Value.Type() != "bool":
			term += "[=" + italic(value) + "]"
		case value != "":
			term += " " + italic(value)
		}
		if f.Shorthand != "" {
			term = bold("-"+f.Shorthand) + ", " + term
		}
		text := usage
		if hasTwin(f) {
			twin := twinOf(owner, f)
			text = strings.TrimSuffix(text, " ["+twin+"]") + " [`" + twin + "`]"
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			text += " (default `" + f.DefValue + "`)"
		}
		r.item(term, text)
	})
}

// prose writes help text: paragraphs with an empty line between them, of which indented ones are kept as they are.
func (r *roff) prose(text string) {
	first := true
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		if strings.HasPrefix(lines[0], " ") || strings.HasPrefix(lines[0], "\t") {
			if !first {
				r.line(".sp")
			}
			r.verbatim(lines)
		} else {
			if !first {
				r.line(".PP")
			}
			r.filled(block)
		}
		first = false
	}
}

// verbatim writes lines as they are, set off from the text.
func (r *roff) verbatim(lines []string) {
	r.line(".RS 4")
	r.line(".nf")
	for _, l := range lines {
		l = strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(l, "    "), "\t"), "\t", "    ")
		if l == "" {
			l = " "
		}
		r.line(roffLine(roffText(l)))
	}
	r.line(".fi")
	r.line(".RE")
}

// filled writes text that roff breaks into lines; what stands between backticks is bold.
func (r *roff) filled(text string) {
	const width = 76
	line := ""
	for word := range strings.FieldsSeq(backticksBold(text)) {
		if line != "" && len(line)+1+len(word) > width {
			r.line(roffLine(line))
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		r.line(roffLine(line))
	}
}

// backticksBold makes roff of help text.
func backticksBold(text string) string {
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 { // one without its other half
		return roffText(text)
	}
	for i := range parts {
		if i%2 == 1 {
			parts[i] = bold(parts[i])
		} else {
			parts[i] = roffText(parts[i])
		}
	}
	return strings.Join(parts, "")
}

func bold(s string) string   { return `\fB` + roffText(s) + `\fR` }
func italic(s string) string { return `\fI` + roffText(s) + `\fR` }

// roffLine keeps a line of text from being taken for a request.
func roffLine(s string) string {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, `\(aq`) {
		return `\&` + s
	}
	return s
}

// roffText makes every character of a text stand for itself.
func roffText(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch c {
		case '\\':
			b.WriteString(`\e`)
		case '-':
			b.WriteString(`\-`)
		case '\'':
			b.WriteString(`\(aq`)
		case '`':
			b.WriteString(`\(ga`)
		case '^':
			b.WriteString(`\(ha`)
		case '~':
			b.WriteString(`\(ti`)
		default:
			if c < 0x80 {
				b.WriteRune(c)
			} else {
				fmt.Fprintf(&b, `\[u%04X]`, c)
			}
		}
	}
	return b.String()
}

// manualDay is the day that man pages give: that of SOURCE_DATE_EPOCH, seconds since 1970, as reproducible builds set it. Zero if it is
// not set.
func manualDay(getenv func(string) string) (time.Time, error) {
	text := getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %.40q, and has to be seconds since 1970", text)
	}
	return time.Unix(seconds, 0), nil
}

// writeCompletions writes the script of each shell, the same as `meshvet completion SHELL` prints, under the name that the shell looks for.
func writeCompletions(dir string, root *cobra.Command) error {
	for name, write := range map[string]func(io.Writer) error{
		"meshvet.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_meshvet":     root.GenZshCompletion,
		"meshvet.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"meshvet.ps1":  root.GenPowerShellCompletionWithDesc,
	} {
		if err := writeGenerated(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	return nil
}
