package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/report"
)

// docsURL is the folder of the rules' pages.
const docsURL = "https://github.com/meshvet/meshvet/blob/main/docs/rules"

// lintFlags are the flags of `meshvet lint`.
type lintFlags struct {
	config      string
	outputs     outputs
	failOn      *choice
	severity    *choice
	complete    kinds
	enable      list
	disable     list
	context     []string
	noExcerpt   bool
	quiet       bool
	verbose     bool
	profile     bool
	strictInput bool
	stdinName   string
	dataplane   *choice
	configFrom  string

	fix    fixFlags
	live   liveFlags
	render renderFlags

	baseline      string
	writeBaseline string
	since         string
}

func newLintFlags() *lintFlags {
	return &lintFlags{
		outputs:   outputs{list: []output{{format: "text"}}},
		failOn:    newChoice("warning", "error", "warning", "info", "never"),
		severity:  newChoice("info", "error", "warning", "info"),
		enable:    list{hint: "RULE,…"},
		disable:   list{hint: "RULE,…"},
		dataplane: newChoice("", "sidecar", "ambient", "mixed"),
		fix:       newFixFlags(),
		live:      newLiveFlags(),
	}
}

func (a *app) newLintCommand() *cobra.Command {
	f := newLintFlags()
	cmd := &cobra.Command{
		Use:   "lint [PATH…|-]",
		Short: "Judge manifests: files, folders, or - for standard input",
		Long: `Lint judges the ServiceEntries and DestinationRules in files and folders, by default in the working directory.

Folders are searched for .yaml, .yml and .json files. What .gitignore or the configuration's exclude: names is left out, and
symbolic links are not followed. A file that is named itself is judged whatever git thinks of it. If one of the files holds a
ServiceEntry or DestinationRule, the rest of the repository is read as context: findings are about the paths given only.

Rules that conclude something from the absence of an object run only for kinds that --complete, or context.complete in the
configuration, says are all there.

Rules are switched off, or on, by ID, by name or by category: across-objects, input, service-entry, tls, traffic-policy. --disable
does it for a run; the configuration has a severity or off for a rule, and exclude: for files; --fail-on says what fails a run.

The author of a manifest accepts findings by a comment at the end of a line or above it, which is about what begins on that line (a
key with all below it, a list item, a document), or by one before all else in a file, which is about the file:

    # meshvet:ignore DR202, tls -- why               IDs, names or categories of rules; without a reason nothing is silenced
    # meshvet:ignore-file tls until=2027-06-30 -- why   the last day on which it holds, in UTC

Two annotations on an object do the same for all of it, and count in the cluster too:

    meshvet.dev/ignore: DR202, tls until=2027-06-30
    meshvet.dev/ignore-reason: why

What is silenced fails no run. The summary counts it, -v lists it with its reason, and json and sarif hold it as suppressed. What
silences nothing, because it has expired, is wrong or is not needed, is a finding (MV905, MV904); suppressions.forbid in the
configuration names rules that nothing silences.

A baseline is a file of findings that are known: --write-baseline makes it, and a run with --baseline, or baseline: in the configuration
of a file, reports only what is not in it, and which of its entries nothing is left of.

--since REV reports only what a change brings in: what was not found in the tree at git revision REV. main... stands for the commit in
which HEAD left main. Files and objects may have moved. What the change brings in elsewhere, such as a second DestinationRule for the
host of one that has not changed, is among it, and says so. --config-from REV takes the configuration, what it extends and the baseline
from a revision, whatever the change does to them. With either, changes to them and new suppressions are told (MV909). git is run to
read the revision; nothing that the repository configures is.

--live reads a running cluster through the kubeconfig, as kubectl finds it, with nothing but get and list. Without paths its
ServiceEntries and DestinationRules are judged: in all namespaces, or in those of --namespace. With paths the findings are about these
files, as they would be once they are applied; --all-namespaces adds the rest of the cluster. docs/guide/live.md has the rights that it needs.

The configuration of a file is the nearest .meshvet.yaml upwards from it, to the root of the repository. Its paths are relative to
its folder; with --config, which holds for all files, they are relative to the working directory. --config ` + nullDevice + ` means the defaults and no context but
what --context names.

Findings go to standard output, everything else to standard error. On a terminal a long run shows there how far it is, unless --quiet is
given or the variable CI is set. Ctrl-C ends it with what was found until then, and exit code 2; a second one ends it at once.
Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 bad flag or configuration, unreadable input, a cluster that
cannot be read, a run that was stopped, or a broken rule.`,
		Example: `  meshvet lint
  meshvet lint --complete manifests/
  helm template chart/ | meshvet lint -
  meshvet lint --live -n shop
  meshvet lint --format text --format sarif=meshvet.sarif`,
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := a.lint(cmd.Context(), cmd, f, args)
			a.code = code
			return err
		},
	}
	f.add(cmd)
	f.live.add(cmd.Flags(), "judge the objects of these namespaces; with paths, where objects go that name no namespace; with --helm: that of the release")
	cmd.Flags().BoolVarP(&f.live.all, "all-namespaces", "A", false, "with --live: judge all of the cluster, which is the default without paths")
	cmd.Flags().BoolVar(&f.fix.on, "fix", false, "apply fixes, as meshvet fix does, and report what is left")
	f.fix.add(cmd)
	return cmd
}

// add gives a command the flags.
func (f *lintFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.config, "config", "c", "", "configuration `FILE`, instead of the nearest .meshvet.yaml")
	flags.Var(&f.outputs, "format", "formats of the report, each to standard output or a file: "+strings.Join(report.Names(), ", "))
	flags.Var(f.failOn, "fail-on", "lowest severity that makes the exit code 1")
	flags.Var(f.severity, "severity", "lowest severity that is shown")
	flags.Var(&f.complete, "complete", "the inputs hold every object of these kinds; alone, of all kinds")
	flags.Lookup("complete").NoOptDefVal = "all"
	flags.Var(&f.enable, "enable", "rules to switch on, by ID, name or category")
	flags.Var(&f.disable, "disable", "rules to switch off, by ID, name or category")
	flags.StringArrayVar(&f.context, "context", nil, "`PATH` that is read as context only; can be repeated")
	f.render.add(cmd)
	flags.Var(f.dataplane, "dataplane", "how traffic of the mesh is carried, instead of what labels in view say")
	flags.StringVar(&f.baseline, "baseline", "", "`FILE` of known findings, which are left out of the report and the exit code")
	flags.StringVar(&f.writeBaseline, "write-baseline", "", "write the findings of the run to `FILE`, and count them as known")
	flags.BoolVar(&f.noExcerpt, "no-excerpt", false, "leave the lines of the file out of text")
	flags.BoolVar(&f.strictInput, "strict-input", false, "fail on files that are templates and cannot be judged")
	flags.StringVar(&f.since, "since", "", "report only what has come in since git `REV`: a branch, a commit, or REV... for where HEAD left it")
	flags.StringVar(&f.configFrom, "config-from", "", "read the configuration and the baseline from git `REV`, not from the working tree")
	flags.StringVar(&f.stdinName, "stdin-filename", "", "`FILE` that standard input stands for")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print findings and problems only")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "say which files and rules were left out, and why")

	flags.BoolVar(&f.profile, "profile", false, "print the time that each rule took to standard error; the run is slower for it")

	complete(cmd, "format", report.Names())
	complete(cmd, "fail-on", f.failOn.words)
	complete(cmd, "severity", f.severity.words)
	complete(cmd, "dataplane", f.dataplane.words)
	var names []string
	for _, k := range lint.AllKinds() {
		names = append(names, string(k))
	}
	complete(cmd, "complete", append(names, "all"))
	for _, flag := range []string{"enable", "disable"} {
		// It fails only for a flag that does not exist, which the stories about completion would show.
		_ = cmd.RegisterFlagCompletionFunc(flag, completeRules)
	}
}

// lint is one run. The exit code counts only without an error.
func (a *app) lint(ctx context.Context, cmd *cobra.Command, f *lintFlags, args []string) (int, error) {
	onLine := cmd.Flags().Changed
	switch {
	case !f.quiet || !f.verbose:
	case onLine("quiet") == onLine("verbose"):
		return 0, usageError{cmd, errors.New("--quiet and --verbose contradict each other")}
	default: // the one on the command line outranks the variable
		f.quiet, f.verbose = onLine("quiet"), onLine("verbose")
	}
	if err := f.live.check(cmd, len(f.render.helm) > 0); err != nil {
		return 0, err
	}
	if namespaces := f.live.namespaces.items; len(namespaces) > 0 && len(f.render.helm) > 0 {
		f.render.namespace = namespaces[0]
	}
	if len(args) == 0 && !f.live.on && len(f.render.kustomize)+len(f.render.helm) == 0 {
		args = []string{"."}
	}
	if f.stdinName != "" && !slices.Contains(args, "-") {
		if onLine("stdin-filename") {
			return 0, usageError{cmd, errors.New("--stdin-filename names what is read from standard input; give - as a path")}
		}
		f.stdinName = ""
	}
	if err := f.fix.check(cmd); err != nil {
		return 0, err
	}
	switch {
	case f.since == "" && onLine("since"):
		return 0, usageError{cmd, errors.New("--since takes a revision, such as main or HEAD~1, and was given none")}
	case f.configFrom == "" && onLine("config-from"):
		return 0, usageError{cmd, errors.New("--config-from takes a revision, such as main or HEAD~1, and was given none")}
	case f.since != "" && slices.Contains(args, "-"):
		return 0, usageError{cmd, errors.New("--since compares files with a git revision, which standard input is not in; name the files")}
	case f.live.on && f.since != "":
		return 0, usageError{cmd, errors.New("--since compares files with a git revision, and --live reads a cluster, of which there is none; leave one of them out")}
	case f.live.on && f.configFrom != "":
		return 0, usageError{cmd, errors.New("--config-from is about a change to files, and --live reads a cluster; leave one of them out")}
	case f.live.on && f.fix.on:
		return 0, usageError{cmd, errors.New("--live reads a cluster, and fixes are made in files; lint without --live applies them")}
	}
	cwd, err := a.getwd()
	if err != nil {
		return 0, fmt.Errorf("find the working directory: %w", err)
	}
	plan, args, err := a.planRenderings(cmd, &f.render, newWalker(cwd, nil, nil), args)
	if err != nil {
		return 0, err
	}
	if err := f.refuseRendered(cmd, plan); err != nil {
		return 0, err
	}
	r, err := a.newRun(ctx, f, args, plan...)
	if err != nil {
		return 0, err
	}
	defer r.close()
	r.meter = a.newMeter(f.quiet)
	defer r.meter.end()
	if len(plan) > 0 {
		if r.renderer, err = a.findRenderer(plan[0].name); err != nil {
			return 0, err
		}
	}
	if f.since != "" {
		if r.since, err = newSince(ctx, r.repo, f.since, "--since", a.environ()); err != nil {
			return 0, err
		}
		if err := r.since.checkPaths(r.walker, args); err != nil {
			return 0, err
		}
	}
	if f.fix.on {
		return a.fix(ctx, cmd, r)
	}
	rep, err := r.lint(ctx)
	r.meter.end()
	if rep == nil {
		return 0, err
	}
	if ctx.Err() != nil { // what there is can still be told; a second signal ends the process at once
		ctx = context.WithoutCancel(ctx)
	}
	return a.tell(ctx, r, rep)
}

// tell writes the report of a run, and returns the exit code that it means.
func (a *app) tell(ctx context.Context, r *lintRun, rep *lint.Report) (int, error) {
	f := r.flags
	opt := report.Options{
		NoExcerpt: f.noExcerpt,
		Verbose:   f.verbose,
		Quiet:     f.quiet,
		Version:   thisBuild().version,
		DocsURL:   docsURL,
		Root:      r.repo,
		Dir:       r.walker.cwd,
		Edits:     fixEdits(rep),
		Fixed:     f.fix.applied(),
		Egress: func() (*egress.Map, error) {
			if r.egress == nil {
				return nil, errors.New("the run was stopped before it could be made")
			}
			return r.egress(ctx)
		},
	}
	var err error
	if opt.MinSeverity, err = lint.ParseSeverity(f.severity.value); err != nil {
		return 0, err
	}
	if f.failOn.value != "never" {
		if opt.FailOn, err = lint.ParseSeverity(f.failOn.value); err != nil {
			return 0, err
		}
	}
	failed := a.write(ctx, &f.outputs, rep, opt)
	opt.SkipTold = failed == nil && slices.Contains([]string{"text", "compact"}, f.outputs.toStdout()) && isTerminal(a.stdout) && isTerminal(a.stderr)
	opt.Color = a.colored(true, a.stderr)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	failed = errors.Join(failed, untilDone(ctx, func() error { return report.Notes(&stoppable{ctx, a.stderr}, rep, opt) }))
	if failed == nil && rep.Profile != nil {
		failed = untilDone(ctx, func() error { return writeProfile(&stoppable{ctx, a.stderr}, rep.Profile) })
	}
	if failed != nil {
		return 0, failed
	}
	return exitCode(rep, f.failOn.value), nil
}

// exitCode is what a report means to a script.
func exitCode(r *lint.Report, failOn string) int {
	if len(r.Problems) > 0 {
		return exitFailed
	}
	lowest, err := lint.ParseSeverity(failOn)
	if err == nil && r.Worst() >= lowest && len(r.Findings) > 0 {
		return exitFindings
	}
	return exitClean
}

// lintRun is what one run of lint works with.
type lintRun struct {
	flags    *lintFlags
	note     func(format string, args ...any) // tells what is told under --verbose
	say      func(format string, args ...any) // tells what is told unless --quiet is given
	walker   *walker
	configs  *configs
	config   *settings        // of the first path
	used     []*settings      // of the files that are judged
	known    []*knownFindings // baselines, in the order of their files
	repo     string           // absolute root of the repository of the first path, "" without one
	stdin    io.Reader
	args     []string // the paths given; none with --live means that the cluster is judged
	getenv   func(string) string
	meter    *meter       // nil where nobody watches
	cluster  *kubeTarget  // nil until it is looked for
	plan     []*rendering // what is rendered
	renderer string       // path of the program that renders
	// baselineNamed says that a flag names the baseline, so that those of the configurations do not count.
	baselineNamed bool
	// egress maps the meshes of the last report; nil before it.
	egress  func(context.Context) (*egress.Map, error)
	since   *since // nil unless findings are compared with those of a revision
	trusted *since // what --config-from names, or nil
}

// newRun finds the configuration of a run. What is wrong with its content is reported later, with what the engine says of it.
func (a *app) newRun(ctx context.Context, f *lintFlags, args []string, plan ...*rendering) (*lintRun, error) {
	cwd, err := a.getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	r := &lintRun{flags: f, stdin: a.stdin, args: args, getenv: a.getenv, plan: plan}
	told := func(format string, args ...any) {
		r.meter.aside(func() { fmt.Fprintln(a.stderr, clean(fmt.Sprintf(format, args...))) })
	}
	note := func(format string, args ...any) {
		if f.verbose {
			told(format, args...)
		}
	}
	say := func(format string, args ...any) {
		if !f.quiet {
			told(format, args...)
		}
	}
	w := newWalker(cwd, nil, note)
	if err := f.outputs.clash(w); err != nil {
		return nil, err
	}
	r.note, r.say, r.walker = note, say, w
	if f.configFrom != "" {
		if err := r.trust(ctx, a.environ()); err != nil {
			return nil, err
		}
	}
	if err := r.findConfigs(); err != nil {
		r.close()
		return nil, err
	}
	if r.known, r.baselineNamed, err = r.flaggedBaseline(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// startFolder is where the search for the configuration and the repository begins: the folder of the first path.
func (w *walker) startFolder(first, stdinName string) string {
	if first == "-" {
		if stdinName == "" {
			return w.cwd
		}
		return filepath.Dir(w.absolute(stdinName))
	}
	abs := w.absolute(first)
	if isFolder(abs) {
		return abs
	}
	return filepath.Dir(abs)
}

// inputs is what a run has read, and what judges it.
type inputs struct {
	files  []*object.File // whose objects are judged
	around []*object.File // context only
	from   lint.ContextSource
	lost   []object.Problem
	judge  *judge
	live   *liveMesh         // nil without --live, and where there is nothing to judge
	gate   []lint.GateChange // what of the instructions differs from the revision

	rendered []*rendered
}

// all are the files whose objects are judged, those that were rendered included.
func (in *inputs) all() []*object.File { return slices.Concat(in.files, renderedFiles(in.rendered)) }

// lint reads the inputs and judges them. If ctx ends, there is a report beside the error, which says that the run was stopped and what it
// had found by then.
func (r *lintRun) lint(ctx context.Context) (*lint.Report, error) {
	in, err := r.read(ctx)
	if ctx.Err() != nil {
		return stoppedReport("while its input was read, so nothing was judged"), ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	rep, err := r.judge(ctx, in, in.files)
	switch {
	case rep == nil && ctx.Err() != nil:
		return stoppedReport("before it was complete, so no findings are told"), ctx.Err()
	case rep == nil:
		return nil, err
	}
	r.noteInputs(rep, in)
	return rep, err
}

func stoppedReport(when string) *lint.Report {
	return &lint.Report{Problems: []object.Problem{stoppedProblem(when)}}
}

func stoppedProblem(when string) object.Problem {
	return object.Problem{Kind: lint.Interrupted, Message: "the run was stopped by a signal " + when}
}

// judge judges the files in focus, which may have been fixed since they were read, and leaves out what is not asked for. If ctx ends, the
// report holds what was found until then, beside the error.
func (r *lintRun) judge(ctx context.Context, in *inputs, files []*object.File) (*lint.Report, error) {
	now := *in
	now.files = files
	of := judgedIn(files) + judgedIn(renderedFiles(in.rendered))
	in.judge.judged = r.meter.begin("judging objects", of, "")
	rep, err := in.judge.lint(ctx, files, in.around)
	switch {
	case err != nil && ctx.Err() != nil && rep != nil:
		return r.partly(rep, &now, of), err
	case err != nil:
		return nil, err
	}
	r.complete(rep, &now)
	r.egress = func(ctx context.Context) (*egress.Map, error) { return now.judge.egress(ctx, files, now.around, rep) }
	// The baseline first: an entry whose finding is only left out because it is not new would seem stale.
	if err := r.settleBaselines(ctx, rep, &now); err != nil {
		return nil, err
	}
	var before *lint.Report
	if r.since != nil {
		if before, err = r.since.compare(ctx, r, in, files, rep); err != nil {
			return nil, err
		}
	}
	if r.since != nil || r.trusted != nil {
		if err := r.tellGate(ctx, &now, rep, before); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

func judgedIn(files []*object.File) int {
	n := 0
	for _, o := range objectsIn(files) {
		if o.Kind.Judged() {
			n++
		}
	}
	return n
}

// partly completes the report of a run that was stopped after it had judged some of its objects. Nothing is said of entries of baselines
// that may be stale, and nothing is new unless it was compared.
func (r *lintRun) partly(rep *lint.Report, in *inputs, of int) *lint.Report {
	when := fmt.Sprintf("when %d of %s were judged; what is found in these is told, and the others may have more", rep.Stats.Judged, counted(of, "object", "objects"))
	if r.since != nil {
		rep.Findings, rep.Suppressed = nil, nil
		when = "before it could compare what it found with " + r.flags.since + ", so no findings are told"
	}
	rep.Problems = append(rep.Problems, stoppedProblem(when))
	r.complete(rep, in)
	for _, b := range r.known {
		if !b.write {
			b.Apply(rep, b.view(r, in))
		}
	}
	rep.Baselines = nil
	return rep
}

// read reads the inputs. The policies are loaded, and the context is read, only if there is something to judge: a pre-commit hook is
// handed every YAML file of a commit, and most of them hold nothing of ours.
func (r *lintRun) read(ctx context.Context) (*inputs, error) {
	var sources []source
	if slices.Contains(r.args, "-") { // first, since it may stand for a file that another path takes in
		sources = r.walker.addStdin(r.stdin, r.flags.stdinName)
	}
	for _, arg := range r.args {
		if arg != "-" {
			sources = append(sources, r.walker.add(arg)...)
		}
	}
	if dirs := r.walker.unrendered; len(dirs) > 0 && !r.flags.render.raw && len(r.plan) == 0 {
		r.say("notice: kustomizations that are judged as the files that they hold, and not rendered: %s; --kustomize renders them", object.Abridge(strings.Join(dirs, ", ")))
	}
	var named []fs.FileInfo
	for _, s := range sources {
		if s.named {
			named = append(named, s.info)
		}
	}
	if err := r.flags.outputs.overwrites(r.walker, named); err != nil {
		return nil, err
	}
	var in inputs
	var err error
	if !r.baselineNamed {
		if sources, err = r.configuredBaselines(sources); err != nil {
			return nil, err
		}
	}
	if in.files, err = load(ctx, sources, r.meter.begin("reading files", len(sources), "")); err != nil {
		return nil, err
	}
	if err := r.keepInputs(sources, in.files); err != nil {
		return nil, err
	}
	if in.rendered, in.lost, err = r.render(ctx); err != nil {
		return nil, err
	}
	if r.flags.live.on && (len(r.args) == 0 || r.flags.live.all || judgedIn(in.files) > 0) {
		if err := r.addLive(ctx, &in); err != nil {
			return nil, err
		}
	}
	var judged []*object.File
	broken := false
	for _, f := range in.files {
		if f.Class == object.Linted || slices.ContainsFunc(f.Objects, func(o *object.Object) bool { return o.Kind.Judged() }) {
			judged = append(judged, f)
		}
		broken = broken || len(f.Problems) > 0
	}
	judgesRendered := false
	for _, f := range renderedFiles(in.rendered) {
		judgesRendered = judgesRendered || f.Class == object.Linted
		broken = broken || len(f.Problems) > 0
	}

	used, err := r.usedConfigs(in.files, in.rendered)
	if err != nil {
		return nil, err
	}
	if r.since != nil || r.trusted != nil {
		if in.gate, err = r.changedInstructions(ctx, in.files); err != nil {
			return nil, err
		}
	}
	var rules []lint.Rule
	if len(judged) > 0 || judgesRendered || len(in.gate) > 0 || broken || len(r.config.Enable) > 0 || len(r.config.Disable) > 0 ||
		slices.ContainsFunc(used, func(c *settings) bool { return len(c.problems) > 0 }) ||
		slices.ContainsFunc(r.known, func(b *knownFindings) bool { return b.mayBeStale(r.walker) }) {
		if rules, err = allRules(ctx); err != nil {
			return nil, err
		}
	} else {
		for _, c := range used {
			c.ForgetRules() // what it says about rules is checked once rules are needed
		}
	}
	if in.judge, err = newJudge(rules, r.configs, in.files, in.rendered, r.walker); err != nil {
		return nil, err
	}
	in.judge.live = in.live
	switch {
	case in.live != nil:
		r.used = used
		in.from = lint.FromCluster
	case len(judged) > 0 || judgesRendered:
		used = nil // what is rendered sees nothing but itself and what --context names
		if len(judged) > 0 {
			used = configsOf(r.configs.governing(judged))
		}
		r.used = used
		var more []source
		var asked map[string]object.Location
		more, asked, in.from = r.contextSources(used)
		in.judge.named = namedByFlag(asked)
		if in.around, err = load(ctx, more, r.meter.begin("reading files around them", len(more), "")); err != nil {
			return nil, err
		}
		in.lost = append(in.lost, unreadableContext(in.around, asked)...)
		if err := r.keepInputs(more, in.around); err != nil {
			return nil, err
		}
		for _, c := range used {
			r.walker.lost = append(r.walker.lost, c.emptyScopes(r.walker, slices.Concat(sources, more))...)
		}
	default:
		in.from = lint.NotNeeded
		r.note("context: not read, since there is nothing to judge")
	}
	return &in, nil
}

// addLive reads the cluster, and what --context names.
func (r *lintRun) addLive(ctx context.Context, in *inputs) error {
	more, asked, _ := r.contextSources(nil)
	var err error
	if in.around, err = load(ctx, more, r.meter.begin("reading files around them", len(more), "")); err != nil {
		return err
	}
	in.lost = append(in.lost, unreadableContext(in.around, asked)...)
	if err := r.keepInputs(more, in.around); err != nil {
		return err
	}
	if in.live, err = r.readLive(ctx, in.files, in.around); err != nil {
		return err
	}
	in.files = append(in.files, in.live.judged...)
	in.around = append(in.around, in.live.around...)
	return nil
}

// tellLost adds to a report what of the context is not known.
func (in *inputs) tellLost(rep *lint.Report) {
	rep.Problems = append(rep.Problems, in.lost...)
	if in.live != nil {
		rep.Problems = append(rep.Problems, in.live.problems...)
		rep.Skipped = append(rep.Skipped, in.live.skips...)
	}
}

// complete adds to a report what became of the inputs beside what is found in them.
func (r *lintRun) complete(rep *lint.Report, in *inputs) {
	rep.Skipped = append(rep.Skipped, r.walker.lost...)
	rep.Context.From = in.from
	in.tellLost(rep)
	if r.flags.strictInput {
		refuseTemplates(rep, in.all())
	}
}

// noteInputs tells under --verbose what was read.
func (r *lintRun) noteInputs(rep *lint.Report, in *inputs) {
	more := fmt.Sprintf("%d more read as context", len(in.around))
	if n := len(slices.DeleteFunc(slices.Clone(in.around), wholly)); n > 0 {
		more += fmt.Sprintf(", of which %d could not be read wholly", n)
	}
	r.note("files: %d with ServiceEntries or DestinationRules, %d with other content, %d templates, %d broken; %s",
		rep.Stats.Files[object.Linted], rep.Stats.Files[object.Other], rep.Stats.Files[object.Template], rep.Stats.Files[object.Broken], more)
	if n := r.walker.excluded; n > 0 {
		r.note("%d files and folders are left out by exclude: in %s", n, r.configs.excluding())
	}
}

// wholly says whether everything in a file could be read.
func wholly(f *object.File) bool {
	return f.Template == nil && len(f.Problems) == 0 && len(f.Unread) == 0
}

// keepInputs returns an error if a report would replace a file that holds something. The report of an earlier run, which may
// well be found in a folder, does not.
func (r *lintRun) keepInputs(sources []source, files []*object.File) error {
	var kept []fs.FileInfo
	for i, f := range files {
		if f.Class != object.Other || len(f.Objects) > 0 {
			kept = append(kept, sources[i].info)
		}
	}
	return r.flags.outputs.overwrites(r.walker, kept)
}

// contextSources are the inputs that some configurations read beside the paths given. asked says of those that somebody named one by
// one where the configuration does; of those that a flag names, nothing.
func (r *lintRun) contextSources(used []*settings) (sources []source, asked map[string]object.Location, from lint.ContextSource) {
	w := r.walker
	asked = map[string]object.Location{}
	named := func(more []source, at object.Location) {
		for _, s := range more {
			asked[s.name] = at
		}
		sources = append(sources, more...)
	}
	for _, p := range r.flags.context {
		named(w.add(p), object.Location{})
	}
	from = lint.NoContext
	repos := map[string]bool{}
	for _, c := range used {
		switch {
		case len(c.Context) > 0:
			for i, glob := range c.Context {
				more, matched := w.addGlob(c.base, glob)
				if at := c.ContextAt[i]; !matched {
					w.lost = append(w.lost, lint.Skip{
						File: at.File, Reason: fmt.Sprintf("context path %q (line %d) matches no file", glob, at.Range.Start.Line), Cause: lint.Unmatched,
					})
				}
				named(more, c.ContextAt[i])
			}
			if r.note("context: %s, as %s says", strings.Join(c.Context, ", "), c.Source); from == lint.NoContext {
				from = lint.FromConfiguration
			}
		case c.looksNowhere():
			r.noteNoContext(c)
		case !repos[c.repo]:
			repos[c.repo], from = true, lint.FromRepository
			r.note("context: %s", w.name(c.repo, false))
			sources = append(sources, w.addFolder(c.repo, false)...)
		}
	}
	return sources, asked, from
}

// noteNoContext says why a configuration reads nothing beside the paths given.
func (r *lintRun) noteNoContext(c *settings) {
	what := "none"
	if len(r.flags.context) > 0 {
		what = "what --context names"
	}
	switch {
	case c.isolated:
		r.note("context: %s, since --config is %s", what, nullDevice)
	case c.Context != nil:
		r.note("context: %s, as %s says", what, c.Source)
	default:
		r.note("context: %s, since there is no repository around the paths given", what)
	}
}

// unreadableContext returns the problems of context that somebody asked for and that cannot be read. Elsewhere in the
// repository such a file is nothing to fail for.
func unreadableContext(around []*object.File, asked map[string]object.Location) []object.Problem {
	var out []object.Problem
	for _, f := range around {
		for _, p := range f.Problems {
			at, named := asked[f.Name]
			switch {
			case p.Kind != object.Unreadable && p.Kind != object.Missing || !named:
			case at.File != "":
				out = append(out, object.Problem{Kind: p.Kind, Message: fmt.Sprintf("context path %s %s", f.Name, p.Message), Location: at})
			default:
				out = append(out, p)
			}
		}
	}
	return out
}

// templateInput is the kind of problem that a template is under --strict-input.
const templateInput object.ProblemKind = "template"

// refuseTemplates makes problems of the notices about templates.
func refuseTemplates(rep *lint.Report, files []*object.File) {
	for _, f := range files {
		if f.Template == nil {
			continue
		}
		rep.Problems = append(rep.Problems, object.Problem{Kind: templateInput, Message: f.Template.Message, Location: f.Template.Location})
		rep.Skipped = slices.DeleteFunc(rep.Skipped, func(s lint.Skip) bool {
			return s.Rule == "" && s.File == f.Name && s.Reason == f.Template.Message
		})
	}
}
