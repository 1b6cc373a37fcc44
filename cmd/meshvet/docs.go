package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meshvet/meshvet/lint"
)

// generatedMark is the first line of what this command writes, so that it can remove what it no longer would.
const generatedMark = "<!-- Written by `make generate`; edits are lost. -->"

func (a *app) newDocsCommand() *cobra.Command {
	var out, schemas, root, man, completions string
	cmd := &cobra.Command{
		Use:    "docs",
		Short:  "Write the pages of the rules and commands, the schemas, the man pages, and the completions of the shells",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" && schemas == "" && man == "" && completions == "" {
				return usageError{cmd, errors.New("give --out, --schemas, --man or --completions")}
			}
			if man != "" {
				day, err := manualDay(a.getenv)
				if err != nil {
					return err
				}
				if err := writeManuals(man, cmd.Root(), day); err != nil {
					return err
				}
			}
			if completions != "" {
				if err := writeCompletions(completions, cmd.Root()); err != nil {
					return err
				}
			}
			all, err := allRules(cmd.Context())
			if err != nil {
				return err
			}
			if out != "" {
				if err := writeRulePages(cmd.Context(), filepath.Join(out, "rules"), root, all); err != nil {
					return err
				}
				if err := writeCommandPages(filepath.Join(out, "cli"), cmd.Root()); err != nil {
					return err
				}
			}
			if schemas != "" {
				if err := writeGenerated(filepath.Join(schemas, "effective.schema.json"), writeEffectiveSchema); err != nil {
					return err
				}
				if err := writeGenerated(filepath.Join(schemas, "verify.schema.json"), writeVerifySchema); err != nil {
					return err
				}
				return writeGenerated(filepath.Join(schemas, "config.schema.json"), func(w io.Writer) error { return writeConfigSchema(w, all) })
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FOLDER` of the pages")
	cmd.Flags().StringVar(&schemas, "schemas", "", "`FOLDER` of the schemas")
	cmd.Flags().StringVar(&man, "man", "", "`FOLDER` of the man pages; the day in them is that of SOURCE_DATE_EPOCH")
	cmd.Flags().StringVar(&completions, "completions", "", "`FOLDER` of the completions")
	cmd.Flags().StringVar(&root, "root", ".", "`FOLDER` with the repository, where the fixtures are")
	return cmd
}

// rulesIntroduction takes the categories.
const rulesIntroduction = `# Rules

What a rule flags, why, and how to see it at run time. ` + "`meshvet explain RULE`" + ` prints the same; [rules.json](rules.json)
is the list for programs.

- **Severity**: error if Istio or Envoy refuses the configuration, breaks, or drops security; warning if the configuration silently
  does something else than it says; info for a recommendation. A finding may weigh more or less than its rule.
  With ` + "`extends: [strict]`" + ` in the configuration the rules marked *strict only* are on as well, and some weigh more.
- **Proof** is how the claim of the rule is shown to be true of what Istio compiles; the page shows the Envoy configuration that was
  compared.
- **Fix** is the best that a finding of the rule may offer. A *safe* one changes nothing but what your own values name, or what Envoy
  ignores anyway; an *unsafe* one brings in a number or a choice that you did not state; one to *show* is a suggestion, to be read
  and not to be applied as it is. ` + "`meshvet fix`" + ` applies the safe ones, with ` + "`--unsafe`" + ` the unsafe ones too ([more](../guide/fix.md)).

[What istioctl says](../compared-to-istioctl.md) of the same faults, and of what is none, is on a page of its own.

A rule is switched off, or on, by its ID, its name or its category: ` + "`%s`" + `.

`

// categoriesOf lists the categories of rules.
func categoriesOf(all []lint.Rule) []string {
	var out []string
	for i := range all {
		if c := string(all[i].Category); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out
}

// writeRulePages writes a page for each rule, the index, and the list for programs.
func writeRulePages(ctx context.Context, dir, root string, all []lint.Rule) error {
	var fresh []string
	add := func(name string, write func(io.Writer) error) error {
		fresh = append(fresh, name)
		return writeGenerated(filepath.Join(dir, name), write)
	}
	for i := range all {
		r := &all[i]
		var ex *example
		f, err := openFixture(root, &r.Meta)
		if err != nil {
			return err
		}
		if f != nil {
			if ex, err = f.example(ctx, r, all); err != nil {
				return err
			}
		}
		p, err := newPage(r, all, ex)
		if err != nil {
			return err
		}
		p.Root = "../../"
		if err := add(r.ID+".md", marked(p.write)); err != nil {
			return err
		}
	}
	err := add("README.md", marked(func(w io.Writer) error {
		fmt.Fprintf(w, rulesIntroduction, strings.Join(categoriesOf(all), "`, `"))
		return writeRulesMarkdown(w, all, "")
	}))
	if err != nil {
		return err
	}
	if err := add("rules.json", func(w io.Writer) error { return writeRulesJSON(w, all) }); err != nil {
		return err
	}
	return removeStale(dir, fresh)
}

// writeCommandPages writes a page for each command that help shows.
func writeCommandPages(dir string, root *cobra.Command) error {
	var fresh []string
	err := visitCommands(root, func(cmd *cobra.Command) error {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
		fresh = append(fresh, name)
		return writeGenerated(filepath.Join(dir, name), marked(func(w io.Writer) error { return writeCommandPage(w, cmd) }))
	})
	if err != nil {
		return err
	}
	return removeStale(dir, fresh)
}

func writeCommandPage(w io.Writer, cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n", cmd.CommandPath(), strings.TrimSuffix(cmd.Short, "."))
	if cmd.Runnable() {
		b.WriteString(fence("text", cmd.UseLine()) + "\n\n")
	}
	if cmd.Long != "" {
		b.WriteString(strings.TrimSpace(cmd.Long) + "\n\n")
	}
	if cmd.HasExample() {
		b.WriteString("## Examples\n\n" + fence("sh", unindent(cmd.Example)) + "\n\n")
	}
	writeFlagTable(&b, "Flags", cmd, cmd.LocalNonPersistentFlags())
	if cmd.HasParent() {
		writeFlagTable(&b, "Flags of every command", cmd.Root(), cmd.InheritedFlags())
	} else {
		writeFlagTable(&b, "Flags of every command", cmd, cmd.PersistentFlags())
	}
	var children []string
	for _, c := range cmd.Commands() {
		switch {
		case !c.IsAvailableCommand() || c.Name() == "help":
		case cmd.Name() == "completion":
			children = append(children, "- `"+c.CommandPath()+"`: "+c.Short)
		default:
			children = append(children, fmt.Sprintf("- [%s](%s.md): %s", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "_"), c.Short))
		}
	}
	if len(children) > 0 {
		b.WriteString("## Commands\n\n" + strings.Join(children, "\n") + "\n\n")
	}
	if cmd.HasParent() {
		parent := cmd.Parent().CommandPath()
		fmt.Fprintf(&b, "Part of [%s](%s.md).\n", parent, strings.ReplaceAll(parent, " ", "_"))
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func writeFlagTable(b *strings.Builder, title string, owner *cobra.Command, flags *pflag.FlagSet) {
	var rows []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "`--" + f.Name + "`"
		switch {
		case f.NoOptDefVal != "" && f.Value.Type() != "bool":
			name = "`--" + f.Name + "[=" + value + "]`"
		case value != "":
			name = "`--" + f.Name + " " + value + "`"
		}
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		twin := ""
		if hasTwin(f) {
			twin = twinOf(owner, f)
			usage = strings.TrimSuffix(usage, " ["+twin+"]")
			twin = "`" + twin + "`"
		}
		byDefault := ""
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			byDefault = "`" + f.DefValue + "`"
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", tableCell(name), twin, byDefault, tableCell(usage)))
	})
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "## %s\n\n| Flag | Variable | Default | Meaning |\n| --- | --- | --- | --- |\n%s\n\n", title, strings.Join(rows, "\n"))
}

func unindent(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

func marked(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := io.WriteString(w, generatedMark+"\n\n"); err != nil {
			return err
		}
		return write(w)
	}
}

// writeGenerated writes a file, but leaves one alone that holds the same already.
func writeGenerated(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("generate %s: %w", name, err)
	}
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, b.Bytes()) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return writeFile(name, func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	})
}

// removeStale removes the pages of what is gone: those that carry the mark and were not written this time.
func removeStale(dir string, fresh []string) error {
	keep := map[string]bool{}
	for _, name := range fresh {
		keep[name] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for stale pages: %w", err)
	}
	for _, e := range entries {
		if keep[e.Name()] || filepath.Ext(e.Name()) != ".md" {
			continue
		}
		file := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("look for stale pages: %w", err)
		}
		if !strings.HasPrefix(string(text), generatedMark) {
			continue
		}
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove a stale page: %w", err)
		}
	}
	return nil
}
