package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// choice is a flag that takes one of some words.
type choice struct {
	value string
	words []string
}

func newChoice(value string, words ...string) *choice { return &choice{value, words} }

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.words, "|") }

// Set takes a word in any case.
func (c *choice) Set(s string) error {
	w, err := oneOf(s, c.words)
	if err != nil {
		return err
	}
	c.value = w
	return nil
}

func oneOf(s string, words []string) (string, error) {
	for _, w := range words {
		if strings.EqualFold(s, w) {
			return w, nil
		}
	}
	hint := ""
	if meant := lint.Slip(s, words); meant != "" {
		hint = fmt.Sprintf("; did you mean %q?", meant)
	}
	return "", fmt.Errorf("it is not one of %s%s", strings.Join(words, ", "), hint)
}

// didYouMean ends a sentence about a word that is not among words; "" if none of them is near.
func didYouMean(word string, words []string) string {
	if near := lint.Nearest(word, words); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// list is a flag that can be given several times, each time with several items between commas.
type list struct {
	items []string
	hint  string // what help calls an item
	from  string // the variable that it was set from, "" if it was the flag
}

func (l *list) String() string { return strings.Join(l.items, ",") }
func (l *list) Type() string   { return l.hint }
func (l *list) Set(s string) error {
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			l.items = append(l.items, item)
		}
	}
	return nil
}

// kinds is a list of kinds of manifests, or all of them.
type kinds struct{ value []object.Kind }

func (k *kinds) String() string {
	names := make([]string, 0, len(k.value))
	for _, kind := range k.value {
		names = append(names, string(kind))
	}
	return strings.Join(names, ",")
}

func (k *kinds) Type() string { return "KIND,…" }

func (k *kinds) Set(s string) error {
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		if strings.EqualFold(name, "all") {
			k.value = lint.AllKinds()
			return nil
		}
		kind, err := lint.ParseKind(name)
		if err != nil {
			return err
		}
		if !slices.Contains(k.value, kind) {
			k.value = append(k.value, kind)
		}
	}
	return nil
}

// environmentName is the variable that stands for a flag. The flags of lint, the command that scripts run, have the short
// names, and so have those of fix, which is the same; those of other commands carry the command's.
func environmentName(cmd *cobra.Command, flag string) string {
	name := flag
	if cmd.HasParent() && cmd.Name() != "lint" && cmd.Name() != "fix" {
		name = cmd.Name() + "_" + flag
	}
	return "MESHVET_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// ofLint marks a flag of another command that is lint's, variable included.
const ofLint = "meshvet_lint"

// twinOf is the variable that stands for a flag of a command.
func twinOf(cmd *cobra.Command, f *pflag.Flag) string {
	if f.Annotations[ofLint] != nil {
		return "MESHVET_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
	}
	return environmentName(cmd, f.Name)
}

// hasTwin says whether a flag can be set from the environment. What only asks for information cannot.
func hasTwin(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" && !f.Hidden }

// showTwins adds the name of the variable to the help of each flag of a command and its children.
func showTwins(cmd *cobra.Command) {
	if cmd.Name() == "completion" || cmd.Name() == "help" {
		return
	}
	show := func(f *pflag.Flag) {
		if hasTwin(f) {
			f.Usage += fmt.Sprintf(" [%s]", twinOf(cmd, f))
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(show)
	cmd.PersistentFlags().VisitAll(show)
	for _, c := range cmd.Commands() {
		showTwins(c)
	}
}

// readTwins sets the flags that the command line leaves out from their variables. An empty variable counts as none. Such a flag
// does not count as changed, which says that it is on the command line.
func readTwins(cmd *cobra.Command, getenv func(string) string) error {
	if strings.HasPrefix(cmd.CommandPath(), "meshvet completion") || cmd.Name() == "help" {
		return nil
	}
	var errs []error
	read := func(owner *cobra.Command) func(*pflag.Flag) {
		return func(f *pflag.Flag) {
			if f.Changed || !hasTwin(f) {
				return
			}
			name := twinOf(owner, f)
			if v := getenv(name); v != "" {
				if err := cmd.Flags().Set(f.Name, v); err != nil {
					errs = append(errs, fmt.Errorf("%s=%s: %w", name, v, rootCause(err)))
				}
				f.Changed = false
				if l, ok := f.Value.(*list); ok { // its items are checked once the rules are known
					l.from = name
				}
			}
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(read(cmd))
	cmd.Root().PersistentFlags().VisitAll(read(cmd.Root()))
	return errors.Join(errs...)
}

// rootCause drops pflag's sentence around what a flag's Set returned.
func rootCause(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return invalid.Unwrap()
	}
	return err
}

// explainFlagError words what is wrong with the flags of a command line.
func explainFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		word := "--" + unknown.GetSpecifiedName()
		return usageError{cmd, fmt.Errorf("unknown flag %s%s", word, didYouMean(word, names))}
	case errors.As(err, &invalid):
		return usageError{cmd, fmt.Errorf("--%s=%s: %w", invalid.GetFlag().Name, invalid.GetValue(), rootCause(err))}
	case errors.As(err, &missing):
		return usageError{cmd, fmt.Errorf("--%s needs a value", missing.GetFlag().Name)}
	}
	return usageError{cmd, err}
}

// usageError is a command line that cannot be followed.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }
