package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/edit"
	"github.com/meshvet/meshvet/lint/object"
)

// fixFlags are the flags of lint that are about fixes.
type fixFlags struct {
	on     bool
	diff   bool
	unsafe bool
	rules  list
}

func newFixFlags() fixFlags { return fixFlags{rules: list{hint: "RULE,…"}} }

func (f *fixFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.diff, "diff", false, "with fixes: print a unified diff, for patch -p1 or git apply, and write nothing")
	flags.BoolVar(&f.unsafe, "unsafe", false, "with fixes: apply those too that bring in a choice which the author did not make")
	flags.Var(&f.rules, "rule", "with fixes: only those of these rules, by ID, name or category")
	// It fails only for a flag that does not exist, which the stories about completion would show.
	_ = cmd.RegisterFlagCompletionFunc("rule", completeRules)
}

// check refuses flags that mean nothing without fixes. Variables may be set for other runs.
func (f *fixFlags) check(cmd *cobra.Command) error {
	if f.on {
		return nil
	}
	for _, name := range []string{"diff", "unsafe", "rule"} {
		if cmd.Flags().Changed(name) {
			return usageError{cmd, fmt.Errorf("--%s is about fixes; add --fix, or use `meshvet fix`", name)}
		}
	}
	return nil
}

// applied says which fixes a run applies: none, the safe ones, or the unsafe ones too.
func (f *fixFlags) applied() lint.Safety {
	switch {
	case !f.on || f.diff:
		return lint.NoFix
	case f.unsafe:
		return lint.Unsafe
	}
	return lint.Safe
}

func (a *app) newFixCommand() *cobra.Command {
	f := newLintFlags()
	f.fix.on = true
	cmd := &cobra.Command{
		Use:   "fix [PATH…|-]",
		Short: "Apply the fixes of findings to the files",
		Long: `Fix judges files and folders as lint does, applies the safe fixes of what it finds, and judges again until nothing changes. Then it
reports what is left. It is the same as lint --fix.

A safe fix changes nothing but what the author's own values name, or what Envoy ignores anyway. With --unsafe, findings without a safe fix
get the first unsafe one, which brings in a number or a choice that nobody has made yet: look at it. Suggestions that are to be read only are
never applied. The findings that lint reports are fixed, and those that a baseline holds; none that are suppressed, or below --severity.

Files are edited in place, and only the lines that a fix is about: comments, order, quotes, indentation and line ends of the rest stay. What
cannot be edited safely is refused with the reason. A safe fix after which a rule would find something new is taken back.

A file is replaced in one step and keeps its mode. One that was changed since it was read is left alone. Never changed is what lies
outside the repository (without one: outside the working directory) or in .git, what is read-only, and what has several hard links. A
symbolic link stays, and the file that it leads to is edited. Templates are not edited: edit what they are rendered from.

With --diff nothing is written; standard output has a unified diff. With - standard output has the fixed text of standard input. The report goes
to standard error then, or to the files that --format names.

What was fixed and what was not is told on standard error.
Exit codes: 0 nothing left at or above --fail-on, 1 findings left, 2 bad flag or configuration, unreadable input, a broken rule, or a file
that could not be written. With --diff they are those of lint, since the files stay as they are.`,
		Example: `  meshvet fix manifests/
  meshvet fix --diff | git apply
  meshvet fix --rule DR202,traffic-policy manifests/
  meshvet fix --unsafe --rule DR204 manifests/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := a.lint(cmd.Context(), cmd, f, args)
			a.code = code
			return err
		},
	}
	f.fix.add(cmd)
	f.add(cmd)
	for _, name := range []string{"diff", "unsafe", "rule"} {
		flag := cmd.Flags().Lookup(name)
		flag.Usage = strings.TrimPrefix(flag.Usage, "with fixes: ")
	}
	return cmd
}

// fix is one run of fix, or of lint --fix. The exit code counts only without an error.
func (a *app) fix(ctx context.Context, cmd *cobra.Command, r *lintRun) (int, error) {
	f := r.flags
	stdin := slices.Contains(r.args, "-")
	if stdin && len(r.args) > 1 {
		return 0, usageError{cmd, errors.New("fixes of standard input go to standard output, so - has to be the only path")}
	}
	if f.writeBaseline != "" {
		return 0, usageError{cmd, errors.New("--write-baseline takes over what lint finds; fix first, then write the baseline with `meshvet lint`")}
	}
	out := a // where the report goes
	what := "fixed text"
	if f.fix.diff {
		what = "diff"
	}
	if stdin || f.fix.diff {
		// A variable that is set for all runs says nothing of this one.
		if format := f.outputs.toStdout(); format != "" && cmd.Flags().Changed("format") {
			return 0, usageError{cmd, fmt.Errorf("--format=%s: standard output is for the %s; give the report a file: %s=FILE", format, what, format)}
		}
		elsewhere := *a
		elsewhere.stdout = a.stderr
		out = &elsewhere
	}
	var input string
	if stdin {
		var err error
		if input, err = a.readStdin(ctx); err != nil {
			return 0, err
		}
		r.stdin = strings.NewReader(input)
	}
	in, err := r.read(ctx)
	if err != nil {
		return 0, err
	}
	work, err := openWorkTree(cmp.Or(r.repo, r.walker.cwd))
	if err != nil {
		return 0, err
	}
	defer work.Close() //nolint:errcheck // nothing is written through it
	opt := edit.Options{Unsafe: f.fix.unsafe}
	if !stdin {
		opt.Keep = func(file *object.File) string { return work.keep(r.walker.absolute(filepath.FromSlash(file.Name))) }
	}
	if opt.Lowest, err = lint.ParseSeverity(f.severity.value); err != nil {
		return 0, err
	}
	if opt.Rules, err = a.ruleFilter(ctx, cmd, r, in); err != nil {
		return 0, err
	}
	// What is in a baseline is to be repaired as well, unless only what is new is asked for.
	known := r.known
	if r.since == nil {
		r.known = nil
	}
	judge := func(ctx context.Context, files []*object.File) (*lint.Report, error) { return r.judge(ctx, in, files) }
	res, err := edit.Fix(ctx, in.files, judge, opt)
	r.meter.end()
	if ctx.Err() != nil {
		return 0, stoppedError{"the run was stopped by a signal before the fixes were worked out; nothing is written"}
	}
	if err != nil {
		return 0, err
	}
	report, files := res.Report, res.Files
	var failed, partly error // partly says what is written if the run is stopped
	switch {
	case f.fix.diff:
		report, files = res.Before, in.files
		failed = a.printDiff(ctx, res)
		shown := *f
		shown.outputs.list = slices.DeleteFunc(slices.Clone(f.outputs.list), func(o output) bool { return o.file == "" })
		r.flags = &shown
	case stdin:
		text := input
		if len(res.Changed) > 0 {
			text = res.Changed[0].After
		}
		failed = untilDone(ctx, func() error {
			_, err := io.WriteString(&stoppable{ctx, a.stdout}, text)
			return err
		})
	default:
		var lost map[string]bool
		lost, failed = writeChanges(ctx, work, r.walker, res.Changed)
		partly = stoppedError{fmt.Sprintf("the run was stopped by a signal when %d of %s were written; the others are as they were",
			len(res.Changed)-len(lost), counted(len(res.Changed), "file", "files"))}
		if len(lost) > 0 && ctx.Err() == nil {
			// What is reported has to be true of the files as they are now.
			res.Applied = slices.DeleteFunc(res.Applied, func(x edit.Applied) bool { return lost[x.Finding.Location.File] })
			res.Changed = slices.DeleteFunc(res.Changed, func(c edit.Change) bool { return lost[c.Name] })
			files = slices.Clone(res.Files)
			for i, file := range in.files {
				if lost[file.Name] {
					files[i] = file
				}
			}
			var err error
			if report, err = judge(ctx, files); err != nil {
				return 0, errors.Join(failed, err)
			}
		}
	}
	if ctx.Err() != nil {
		return 0, errors.Join(failed, cmp.Or(partly, ctx.Err()))
	}
	if r.since == nil {
		now := *in
		now.files, r.known = files, known
		if err := r.settleBaselines(ctx, report, &now); err != nil {
			return 0, errors.Join(failed, err)
		}
	}
	r.noteInputs(report, in)
	if !f.quiet {
		failed = errors.Join(failed, untilDone(ctx, func() error { return tellFixes(&stoppable{ctx, a.stderr}, res, f.fix.diff) }))
	}
	code, err := out.tell(ctx, r, report)
	return code, errors.Join(failed, err)
}

// readStdin reads all of standard input, as far as a file may be long.
func (a *app) readStdin(ctx context.Context) (string, error) {
	limit := object.Limits{}.WithDefaults().FileBytes
	in := interruptible(ctx, func() (io.ReadCloser, error) { return io.NopCloser(a.stdin), nil })
	data, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read standard input: %w", plainError(err))
	case len(data) > limit:
		return "", fmt.Errorf("standard input is longer than %d MiB; fix the files themselves", limit>>20)
	}
	return string(data), nil
}

// ruleFilter is what --rule asks for, nil without it.
func (a *app) ruleFilter(ctx context.Context, cmd *cobra.Command, r *lintRun, in *inputs) (func(*lint.Meta) bool, error) {
	words := r.flags.fix.rules.items
	if len(words) == 0 {
		return nil, nil
	}
	all := in.judge.rules
	if len(all) == 0 { // there is nothing to judge
		var err error
		if all, err = allRules(ctx); err != nil {
			return nil, err
		}
	}
	wanted := map[string]bool{}
	for _, word := range words {
		var known []string
		found := false
		for i := range all {
			m := &all[i].Meta
			known = append(known, m.ID, m.Name, string(m.Category))
			named := strings.EqualFold(m.ID, word) || strings.EqualFold(m.Name, word)
			if !named && !strings.EqualFold(string(m.Category), word) {
				continue
			}
			found, wanted[m.ID] = true, true
			switch {
			case !named:
			case m.Fix == lint.NoFix || m.Fix == lint.Show:
				r.say("rule %s (%s) has no fix that can be applied", m.ID, m.Name)
			case m.Fix == lint.Unsafe && !r.flags.fix.unsafe:
				r.say("rule %s (%s) has unsafe fixes only; --unsafe applies them", m.ID, m.Name)
			}
		}
		if !found {
			return nil, usageError{cmd, fmt.Errorf("--rule: unknown rule or category %q%s", word, cmp.Or(didYouMean(word, known), "; `meshvet rules` lists them"))}
		}
	}
	return func(m *lint.Meta) bool { return wanted[m.ID] }, nil
}

// printDiff writes what would be changed to standard output.
func (a *app) printDiff(ctx context.Context, res *edit.Result) error {
	var b bytes.Buffer
	for _, c := range res.Changed {
		b.WriteString(edit.Diff(c.Name, c.Before, c.After))
	}
	return untilDone(ctx, func() error {
		_, err := (&stoppable{ctx, a.stdout}).Write(b.Bytes())
		return err
	})
}

// writeChanges writes files. One that cannot be written does not keep the others from it; lost are those that were not.
func writeChanges(ctx context.Context, work *workTree, w *walker, changes []edit.Change) (lost map[string]bool, err error) {
	lost = map[string]bool{}
	var errs []error
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			lost[c.Name] = true
			continue
		}
		if err := work.rewrite(w.absolute(filepath.FromSlash(c.Name)), c.Before, c.After); err != nil {
			lost[c.Name] = true
			errs = append(errs, fmt.Errorf("%s is not written: %w", c.Name, err))
		}
	}
	return lost, errors.Join(errs...)
}

// tellFixes says what was fixed, and what was not and why, one line each. would says that nothing is written.
func tellFixes(w io.Writer, res *edit.Result, would bool) error {
	var b strings.Builder
	line := func(f *lint.Finding, what, text string) {
		fmt.Fprintln(&b, clean(object.Abridge(fmt.Sprintf("%s: %s: %s %s: %s", f.Location, what, f.Rule.ID, f.Rule.Name, text))))
	}
	did := "fixed"
	if would {
		did = "would be fixed"
	}
	files := map[string]bool{}
	for i := range res.Applied {
		x := &res.Applied[i]
		files[x.Finding.Location.File] = true
		line(&x.Finding, did, x.Fix.Title)
	}
	for i := range res.Refused {
		x := &res.Refused[i]
		text := x.Fix.Title + ": " + x.Reason
		if x.At.File == x.Finding.Location.File && x.At.Range.Start.IsValid() && x.At.Range.Start.Line != x.Finding.Location.Range.Start.Line {
			text += fmt.Sprintf(" (line %d)", x.At.Range.Start.Line)
		} else if x.At.File != "" && x.At.File != x.Finding.Location.File {
			text += fmt.Sprintf(" (%s)", x.At)
		}
		line(&x.Finding, "not fixed", text)
	}
	for i := range res.Caused {
		line(&res.Caused[i], "comes with an unsafe fix", res.Caused[i].Message)
	}
	if res.Unfinished {
		fmt.Fprintf(&b, "there are more fixes to apply; run it again\n")
	}
	switch n := len(res.Applied); {
	case n == 0:
		fmt.Fprint(&b, "nothing to fix")
	case would:
		fmt.Fprintf(&b, "would fix %s in %s", counted(n, "finding", "findings"), counted(len(files), "file", "files"))
	default:
		fmt.Fprintf(&b, "fixed %s in %s", counted(n, "finding", "findings"), counted(len(files), "file", "files"))
	}
	if n := len(res.Refused); n > 0 {
		fmt.Fprintf(&b, "; %s not applied", counted(n, "fix", "fixes"))
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}
