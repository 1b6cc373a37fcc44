package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// app is one run of the program.
type app struct {
	process
	color *choice
	code  int // what lint found; a failed command is exitFailed whatever this is
}

// run is the program with its surroundings handed in. It returns the exit code.
func run(ctx context.Context, args []string, p process) int {
	a := &app{process: p, color: newChoice("auto", "auto", "always", "never")}
	root := a.newRoot()
	root.SetArgs(args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return a.code
	}
	var stopped stoppedError
	if ctx.Err() != nil && !errors.As(err, &stopped) {
		err = errors.New("interrupted")
	}
	a.complain(err)
	return exitFailed
}

// stoppedError is a run that a signal ended, and what there is of it.
type stoppedError struct{ text string }

func (e stoppedError) Error() string { return e.text }

// complain prints why a command failed.
func (a *app) complain(err error) {
	lines := strings.Split(err.Error(), "\n")
	var config *lint.ConfigError
	if errors.As(err, &config) {
		lines = nil
		for _, p := range config.Problems {
			if p.Location.Range.Start.IsValid() { // as other problems that have a place, of which terminals and editors make links
				fmt.Fprintln(a.stderr, clean(fmt.Sprintf("%s: problem: %s", p.Location, p.Message)))
			} else {
				lines = append(lines, fmt.Sprintf("%s: %s", p.Location, p.Message))
			}
		}
	}
	for _, line := range lines {
		fmt.Fprintln(a.stderr, "meshvet: "+clean(object.Abridge(line)))
	}
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(a.stderr, "`%s --help` lists the flags.\n", usage.cmd.CommandPath())
	}
}

// clean makes text that may come from a file or the command line harmless to a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0,
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c: // bidi controls
			return -1
		}
		return r
	}, s)
}

func (a *app) newRoot() *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "meshvet",
		Short: "Lint Istio ServiceEntry and DestinationRule manifests",
		Long: `meshvet reads ServiceEntries and DestinationRules, works out what Istio makes of them, and says where Envoy will do
something other than what they say.

    meshvet lint manifests/      lint a folder
    meshvet fix manifests/       apply the safe fixes
    meshvet explain DR202        what a rule is about
    meshvet rules                every rule

Every flag can be set by the environment variable in brackets. Flags outrank variables, variables outrank .meshvet.yaml.
Exit codes: 0 clean, 1 findings, 2 the run itself failed.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := readTwins(cmd, a.getenv); err != nil {
				return usageError{cmd, err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return thisBuild().write(cmd.OutOrStdout())
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	root.PersistentFlags().Var(a.color, "color", "colours: auto uses them on a terminal")
	root.SetFlagErrorFunc(explainFlagError)
	root.AddCommand(a.newLintCommand(), a.newFixCommand(), a.newEffectiveCommand(), a.newVerifyCommand(), a.newRulesCommand(), a.newExplainCommand(), a.newWebhookCommand(), a.newInitCommand(), a.newConfigCommand(), newVersionCommand(), a.newDocsCommand())
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	refuseUnknown(root)
	complete(root, "color", a.color.words)
	wrapArgs(root)
	showTwins(root)
	return root
}

// refuseUnknown makes a word that completion or help do not know a mistake; cobra shows help instead, with exit code 0.
func refuseUnknown(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Use = "completion bash|fish|powershell|zsh"
			cmd.Args = nil
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return unknownCommand(cmd, args[0])
				}
				return cmd.Help()
			}
		case "help":
			cmd.Run = nil
			cmd.RunE = func(_ *cobra.Command, args []string) error {
				about := root
				for _, word := range args {
					named := slices.IndexFunc(about.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
					if named < 0 {
						return unknownCommand(about, word)
					}
					about = about.Commands()[named]
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		}
	}
}

// noArguments is cobra.NoArgs in words of ours.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but was given %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// unknownCommand words the mistake of naming a command that does not exist.
func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hint := didYouMean(word, names)
	if _, err := os.Stat(word); err == nil && hint == "" {
		hint = fmt.Sprintf("; to lint it: %s lint %s", cmd.CommandPath(), word)
	}
	return usageError{cmd, fmt.Errorf("unknown command %q%s", word, hint)}
}

// wrapArgs makes mistakes in the arguments of any command usage errors.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			var usage usageError
			if err == nil || errors.As(err, &usage) {
				return err
			}
			return usageError{cmd, err}
		}
	}
	for _, c := range cmd.Commands() {
		wrapArgs(c)
	}
}

// complete gives a flag's words to the shell.
func complete(cmd *cobra.Command, flag string, words []string) {
	// It fails only for a flag that does not exist, which the stories about completion would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}
