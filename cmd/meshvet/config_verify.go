package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

func (a *app) newConfigVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify [FILE…]",
		Short: "Check configurations",
		Long: `Verify reads configurations with all that they extend, and the baselines that they name, and tells every mistake with its place. By default it reads each
.meshvet.yaml of the repository, or without one of the working directory. Those are left out that git ignores, or that a
configuration above excludes; no run reads them either.

Exit codes: 0 all are fine, 2 there are mistakes, or a file cannot be read.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.verifyConfigs(cmd.Context(), args) },
	}
}

func (a *app) verifyConfigs(ctx context.Context, args []string) error {
	cwd, err := a.getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	w := newWalker(cwd, nil, func(string, ...any) {})
	var all []*settings
	for _, arg := range args {
		s, err := readConfig(w, arg, w.absolute(arg), filepath.Dir(w.absolute(arg)))
		if err != nil {
			return err
		}
		s.repo = findRepository(filepath.Dir(s.file))
		all = append(all, s)
	}
	if len(args) == 0 {
		root := findRepository(cwd)
		if root == "" {
			root = cwd
		}
		c := newConfigs(w, nil, []string{root}, "", func(*settings) {})
		w.configs, w.exclude = c, c
		w.addFolder(root, false)
		all = c.found
	}
	rules, err := allRules(ctx)
	if err != nil {
		return err
	}
	var problems []object.Problem
	for _, s := range all {
		more, err := mistakesIn(rules, s)
		if err != nil {
			return err
		}
		problems = append(problems, more...)
		if s.Baseline == "" || len(s.problems) > 0 {
			continue
		}
		_, err = configuredBaseline(w, s)
		var wrong *lint.ConfigError
		switch {
		case errors.As(err, &wrong):
			problems = append(problems, wrong.Problems...)
		case err != nil:
			return err
		}
	}
	if len(problems) > 0 {
		return &lint.ConfigError{Problems: distinct(problems)}
	}
	switch len(all) {
	case 0:
		fmt.Fprintln(a.stdout, "there is no configuration; `meshvet init` writes one")
	case 1:
		fmt.Fprintln(a.stdout, "1 configuration is fine")
	default:
		fmt.Fprintf(a.stdout, "%d configurations are fine\n", len(all))
	}
	return nil
}
