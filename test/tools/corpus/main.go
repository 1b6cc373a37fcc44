// Command corpus runs meshvet over a corpus of real manifests, one run per origin repository, and prints how often each
// rule fired and what became of the files.
//
// The corpus is a folder with one folder per repository. Every run starts inside such a folder with the default
// configuration, so that the objects of one repository never meet those of another. Beside the counts it holds every
// run to what the report promises: each manifest is accounted for, the exit code follows from the report, and each
// finding points into a file that exists.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const usage = `usage: corpus [-show REGEXP] [-per-repository] [-timeout DURATION] MESHVET FOLDER [FLAG...]

Lints each folder of FOLDER with MESHVET and prints counts per rule and per file class.
FLAGs are passed on to "meshvet lint".

`

// options is what the command line says.
type options struct {
	binary  string         // absolute, since each run has a folder of its own
	corpus  string         // the folder of repositories
	args    []string       // passed on to meshvet lint
	show    *regexp.Regexp // print the findings of these rules; nil prints none
	perRepo bool           // print a line per repository
	timeout time.Duration  // of one run
	config  string         // of meshvet; "" = the defaults
	sample  string         // file with what people think of findings; "" = none
	report  string         // Markdown file in which the counts are written; "" = none
}

// run is main with its surroundings handed in. It returns 0, 1 when a run broke a promise, or 2 when nothing could be
// judged: bad arguments, or no repositories.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opt, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "corpus:", err)
		return 2
	}
	known, err := listRules(ctx, opt)
	if err != nil {
		fmt.Fprintln(stderr, "corpus:", err)
		return 2
	}
	repositories, err := repositories(opt.corpus)
	if err != nil {
		fmt.Fprintln(stderr, "corpus:", err)
		return 2
	}

	sum, took := lintAll(ctx, opt, known, repositories)
	if err := sum.print(stdout, opt, took); err != nil {
		fmt.Fprintln(stderr, "corpus:", err)
		return 2
	}
	lag, err := compile(ctx, opt, sum, known, repositories)
	if err != nil {
		fmt.Fprintln(stderr, "corpus:", err)
		return 2
	}
	for _, l := range lag {
		fmt.Fprintln(stderr, "corpus:", l)
	}
	if len(sum.broken)+len(lag) > 0 {
		return 1
	}
	return 0
}

// lintAll runs meshvet in each repository.
func lintAll(ctx context.Context, opt options, known []rule, repositories []string) (*tally, time.Duration) {
	t := newTally(known)
	began := time.Now()
	for _, name := range repositories {
		t.add(lint(ctx, opt, name))
	}
	return t, time.Since(began)
}

// compile writes the report, for which everything is linted once more with all rules on and all kinds declared complete; and says where
// the sample lags behind.
func compile(ctx context.Context, opt options, sum *tally, known []rule, repositories []string) ([]string, error) {
	if opt.sample == "" {
		return nil, nil
	}
	sample, err := readSample(opt.sample)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // of no use to anybody
	opt.config = filepath.Join(dir, "strict.yaml")
	if err := os.WriteFile(opt.config, []byte("extends: [strict]\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write a configuration: %w", err)
	}
	opt.args = append(slices.Clone(opt.args), "--complete")
	strict, _ := lintAll(ctx, opt, known, repositories)
	sum.broken = append(sum.broken, strict.broken...)
	if opt.report != "" {
		if err := writeReport(opt.report, sum, strict, sample); err != nil {
			return nil, err
		}
	}
	return checkSample(sample, sum, strict), nil
}

func parse(args []string, stderr io.Writer) (options, error) {
	var opt options
	var show string
	flags := flag.NewFlagSet("corpus", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&show, "show", "", "print the findings of the rules whose id or name matches `REGEXP` whole")
	flags.StringVar(&opt.sample, "sample", "", "compare with a `CSV` of findings that somebody has read: file,rule,verdict,reason")
	flags.StringVar(&opt.report, "report", "", "write the counts into a Markdown `FILE`; needs -sample")
	flags.BoolVar(&opt.perRepo, "per-repository", false, "print a line per repository")
	flags.DurationVar(&opt.timeout, "timeout", 2*time.Minute, "limit for one repository")
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return opt, err
	}
	if flags.NArg() < 2 {
		flags.Usage()
		return opt, errors.New("the meshvet binary and the corpus folder are needed")
	}
	if show != "" {
		pattern, err := regexp.Compile("^(?:" + show + ")$")
		if err != nil {
			return opt, fmt.Errorf("-show: %w", err)
		}
		opt.show = pattern
	}
	binary, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return opt, fmt.Errorf("find %s: %w", flags.Arg(0), err)
	}
	opt.binary, opt.corpus, opt.args = binary, flags.Arg(1), flags.Args()[2:]
	return opt, nil
}

// repositories lists the folders of the corpus by name.
func repositories(corpus string) ([]string, error) {
	entries, err := os.ReadDir(corpus)
	if err != nil {
		return nil, fmt.Errorf("list the corpus: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no repositories in %s", corpus)
	}
	return names, nil
}

// rule is a row of `meshvet rules --format json`.
type rule struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Severity string `json:"severity"`
}

// listRules asks the binary for its rules, so that those that never fired are in the table too.
func listRules(ctx context.Context, opt options) ([]rule, error) {
	out, err := exec.CommandContext(ctx, opt.binary, "rules", "--format", "json").Output()
	if err != nil {
		return nil, fmt.Errorf("run %s rules: %w", opt.binary, err)
	}
	var list struct {
		Rules []rule `json:"rules"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("read the list of rules: %w", err)
	}
	if len(list.Rules) == 0 {
		return nil, fmt.Errorf("%s has no rules", opt.binary)
	}
	return list.Rules, nil
}

// report is the part of `meshvet lint --format json` that is counted and checked.
type report struct {
	Version  any       `json:"version"`
	Findings []finding `json:"findings"`
	Problems []problem `json:"problems"`
	Skipped  []any     `json:"skipped"`
	Scopes   []any     `json:"scopes"`
	Stats    struct {
		Files *files `json:"files"`
	} `json:"stats"`
}

type finding struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Severity   string   `json:"severity"`
	Message    string   `json:"message"`
	Location   location `json:"location"`
	Suppressed any      `json:"suppressed"`
}

type problem struct {
	Kind     string   `json:"kind"`
	Message  string   `json:"message"`
	Location location `json:"location"`
}

type location struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// files counts the manifests of a run by what became of them.
type files struct {
	Linted   int `json:"linted"`   // held a kind that is judged
	Other    int `json:"other"`    // other kinds only
	Template int `json:"template"` // template syntax: one notice, no verdict
	Broken   int `json:"broken"`   // not loadable
	Empty    int `json:"empty"`    // no object at all
}

func (f files) total() int { return f.Linted + f.Other + f.Template + f.Broken + f.Empty }

func (f files) plus(o files) files {
	return files{f.Linted + o.Linted, f.Other + o.Other, f.Template + o.Template, f.Broken + o.Broken, f.Empty + o.Empty}
}

// result is one repository's run.
type result struct {
	name   string
	exit   int
	took   time.Duration
	report report
	broken []string // the promises that the run broke
}

// lint runs meshvet in one repository's folder and checks the report against the folder.
func lint(ctx context.Context, opt options, name string) result {
	res := result{name: name}
	fail := func(format string, args ...any) { res.broken = append(res.broken, fmt.Sprintf(format, args...)) }

	ctx, cancel := context.WithTimeout(ctx, opt.timeout)
	defer cancel()
	// An empty configuration file means the defaults, whatever lies in the folders above.
	args := append([]string{"lint", "--config", cmp.Or(opt.config, os.DevNull), "--format", "json"}, opt.args...)
	cmd := exec.CommandContext(ctx, opt.binary, append(args, ".")...)
	cmd.Dir = filepath.Join(opt.corpus, name)
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	began := time.Now()
	err := cmd.Run()
	res.took = time.Since(began)

	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		fail("not done after %s", opt.timeout)
		return res
	case err != nil && !errors.As(err, &exit):
		fail("could not be started: %v", err)
		return res
	}
	res.exit = cmd.ProcessState.ExitCode()
	if strings.Contains(diagnostics.String(), "goroutine ") {
		fail("panicked: %s", firstLine(diagnostics.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &res.report); err != nil {
		fail("exit %d without a JSON report: %v: %s", res.exit, err, firstLine(diagnostics.String()))
		return res
	}
	if want := wantExit(res.report); res.exit != want {
		fail("exit %d, but the report says %d (%d findings, %d problems): %s", res.exit, want,
			len(res.report.Findings), len(res.report.Problems), firstLine(diagnostics.String()))
	}

	manifests, err := countManifests(cmd.Dir)
	switch {
	case err != nil:
		fail("%v", err)
	case res.report.Stats.Files == nil:
		fail("the report has no stats.files")
	case res.report.Stats.Files.total() != manifests:
		fail("%d manifests, but %d are accounted for: %+v", manifests, res.report.Stats.Files.total(), *res.report.Stats.Files)
	}
	lines := map[string]int{}
	for _, f := range res.report.Findings {
		if f.ID == "" || f.Message == "" {
			fail("a finding without id or message: %+v", f)
		}
		if err := checkLocation(cmd.Dir, f.Location, lines); err != nil {
			fail("%s: %v", f.ID, err)
		}
	}
	return res
}

// wantExit is the exit code that the report implies with the default --fail-on.
func wantExit(r report) int {
	if len(r.Problems) > 0 {
		return 2
	}
	for _, f := range r.Findings {
		if f.Suppressed == nil && (f.Severity == "error" || f.Severity == "warning") {
			return 1
		}
	}
	return 0
}

// countManifests counts what meshvet walks: regular files with the endings of manifests.
func countManifests(dir string) (int, error) {
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch filepath.Ext(d.Name()) {
		case ".yaml", ".yml", ".json":
			if d.Type().IsRegular() {
				n++
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count the manifests: %w", err)
	}
	return n, nil
}

// checkLocation says whether a location points at a line of a file in dir. Line counts are kept in lines.
func checkLocation(dir string, at location, lines map[string]int) error {
	if !filepath.IsLocal(at.File) {
		return fmt.Errorf("location %q is not a path below the folder", at.File)
	}
	n, ok := lines[at.File]
	if !ok {
		text, err := os.ReadFile(filepath.Join(dir, at.File))
		if err != nil {
			return fmt.Errorf("location: %w", err)
		}
		n = bytes.Count(text, []byte("\n")) + 1
		lines[at.File] = n
	}
	if at.Line < 1 || at.Line > n {
		return fmt.Errorf("location %s:%d, but the file has %d lines", at.File, at.Line, n)
	}
	return nil
}

// ruleCount is a rule's row in the table.
type ruleCount struct {
	rule

	findings, suppressed, repositories int
}

// tally adds up the runs.
type tally struct {
	rules   map[string]*ruleCount
	files   files
	exits   [3]int
	scopes  int
	skipped int
	results []result
	broken  []string // "repository: what"
}

func newTally(known []rule) *tally {
	t := &tally{rules: map[string]*ruleCount{}}
	for _, r := range known {
		t.rules[r.ID] = &ruleCount{rule: r}
	}
	return t
}

func (t *tally) add(res result) {
	t.results = append(t.results, res)
	for _, b := range res.broken {
		t.broken = append(t.broken, res.name+": "+b)
	}
	if res.exit >= 0 && res.exit < len(t.exits) {
		t.exits[res.exit]++
	}
	if res.report.Stats.Files != nil {
		t.files = t.files.plus(*res.report.Stats.Files)
	}
	t.scopes += len(res.report.Scopes)
	t.skipped += len(res.report.Skipped)

	seen := map[string]bool{}
	for _, f := range res.report.Findings {
		row, ok := t.rules[f.ID]
		if !ok {
			t.broken = append(t.broken, fmt.Sprintf("%s: %s is not among the listed rules", res.name, f.ID))
			row = &ruleCount{rule: rule{ID: f.ID, Name: f.Name, Severity: f.Severity}}
			t.rules[f.ID] = row
		}
		if f.Suppressed != nil {
			row.suppressed++
			continue
		}
		row.findings++
		if !seen[f.ID] {
			seen[f.ID] = true
			row.repositories++
		}
	}
}

// print writes the tables, then what is broken, then one line that sums up.
func (t *tally) print(w io.Writer, opt options, took time.Duration) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if opt.show != nil {
		for _, res := range t.results {
			for _, f := range res.report.Findings {
				if opt.show.MatchString(f.ID) || opt.show.MatchString(f.Name) {
					fmt.Fprintf(table, "%s/%s:%d: %s: %s [%s %s]\n", res.name, f.Location.File, f.Location.Line, f.Severity, f.Message, f.ID, f.Name)
				}
			}
		}
		fmt.Fprintln(table)
	}
	if opt.perRepo {
		fmt.Fprintln(table, "REPOSITORY\tEXIT\tLINTED\tOTHER\tTEMPLATE\tBROKEN\tEMPTY\tSCOPES\tFINDINGS\tMS")
		for _, res := range t.results {
			var f files
			if res.report.Stats.Files != nil {
				f = *res.report.Stats.Files
			}
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", res.name, res.exit, f.Linted, f.Other, f.Template, f.Broken, f.Empty,
				len(res.report.Scopes), len(res.report.Findings), res.took.Milliseconds())
		}
		fmt.Fprintln(table)
	}

	findings := 0
	fmt.Fprintln(table, "RULE\tNAME\tSEVERITY\tFINDINGS\tREPOSITORIES\tSUPPRESSED")
	rows := slices.SortedFunc(maps.Values(t.rules), func(a, b *ruleCount) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range rows {
		findings += r.findings
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\n", r.ID, r.Name, r.Severity, r.findings, r.repositories, r.suppressed)
	}
	fmt.Fprintln(table)

	fmt.Fprintln(table, "FILES\tCOUNT")
	for _, c := range []struct {
		class string
		n     int
	}{
		{"linted", t.files.Linted},
		{"other kinds only", t.files.Other},
		{"template", t.files.Template},
		{"broken", t.files.Broken},
		{"empty", t.files.Empty},
		{"total", t.files.total()},
	} {
		fmt.Fprintf(table, "%s\t%d\n", c.class, c.n)
	}
	fmt.Fprintln(table)
	fmt.Fprintf(table, "runs by exit code: 0: %d, 1: %d, 2: %d\n", t.exits[0], t.exits[1], t.exits[2])
	for _, res := range t.results {
		for _, p := range res.report.Problems {
			fmt.Fprintf(table, "  %s/%s:%d: %s: %s\n", res.name, p.Location.File, p.Location.Line, p.Kind, firstLine(p.Message))
		}
	}
	for _, b := range t.broken {
		fmt.Fprintf(table, "BROKEN PROMISE %s\n", b)
	}
	fmt.Fprintf(table, "corpus: %d repositories, %d mesh scopes, %d files, %d findings, %d notes on what was skipped, %d broken promises, %.1f s\n",
		len(t.results), t.scopes, t.files.total(), findings, t.skipped, len(t.broken), took.Seconds())
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the counts: %w", err)
	}
	return nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
