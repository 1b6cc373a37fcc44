package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// knownFindings is a baseline of a run: the file that holds it, and what is in the file.
type knownFindings struct {
	*lint.Baseline        // empty if there is no file yet
	path           string // absolute
	repo           string // absolute root of the repository that it is of, "" without one
	write          bool   // the file is brought up to date instead of being obeyed
	// configs are those of the run that name it, so that it holds for files under such ones only. nil = a flag does, and it holds for all.
	configs []*settings
}

// flaggedBaseline finds and reads the baseline that --write-baseline or --baseline names, in this order. named says that one of them is
// given, in which case those of the configurations do not count.
func (r *lintRun) flaggedBaseline() (known []*knownFindings, named bool, err error) {
	f, w := r.flags, r.walker
	b := &knownFindings{Baseline: &lint.Baseline{}, repo: r.repo}
	switch {
	case f.writeBaseline != "":
		b.write = true
		b.Name, b.path = f.writeBaseline, w.absolute(f.writeBaseline)
	case f.baseline != "":
		b.Name, b.path = f.baseline, w.absolute(f.baseline)
		if isNullDevice(b.path) {
			return nil, true, nil
		}
	default:
		return nil, false, nil
	}
	if err := r.keepBaseline(b); err != nil {
		return nil, true, err
	}
	if !b.write {
		if err := b.read(w); errors.Is(err, fs.ErrNotExist) {
			return nil, true, errors.New(noBaseline(w, b.Name, f.baseline))
		} else if err != nil {
			return nil, true, err
		}
		w.taken[b.path] = true // no manifest, even if it lies among them
		return []*knownFindings{b}, true, nil
	}
	data, err := readRegularUpTo(b.path, lint.MaxBaselineBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []*knownFindings{b}, true, nil
	case err != nil:
		return nil, true, fmt.Errorf("read baseline %s: %w", b.Name, plainError(err))
	case len(strings.TrimSpace(string(data))) == 0: // made by somebody who wants it to be written
		return []*knownFindings{b}, true, nil
	}
	w.taken[b.path] = true
	if b.Baseline, err = lint.ReadBaseline(b.Name, data); err != nil {
		return nil, true, err
	}
	return []*knownFindings{b}, true, nil
}

// read reads the file of a baseline, from where the instructions of the run are.
func (b *knownFindings) read(w *walker) error {
	b.Name = w.instructions.name(b.Name)
	data, err := w.instructions.read(b.path, lint.MaxBaselineBytes)
	if err != nil {
		return fmt.Errorf("read baseline %s: %w", b.Name, plainError(err))
	}
	b.Baseline, err = lint.ReadBaseline(b.Name, data)
	return err
}

// configuredBaseline reads the baseline that a configuration names. What is wrong with it is a *lint.ConfigError.
func configuredBaseline(w *walker, s *settings) (*knownFindings, error) {
	if err := s.keepBaselineInside(); err != nil {
		return nil, err
	}
	b := &knownFindings{Baseline: &lint.Baseline{}, repo: s.repo, configs: []*settings{s}, path: s.baselinePath()}
	b.Name = w.name(b.path, false)
	err := b.read(w)
	var wrong *lint.ConfigError
	switch {
	case err == nil:
		return b, nil
	case errors.As(err, &wrong):
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		args := w.name(b.path, false)
		if s.base != w.cwd { // what else there is would go into it as well
			args += " " + w.name(s.base, false)
		}
		return nil, atConfig(s.BaselineAt, "%s", noBaseline(w, b.Name, args))
	}
	return nil, atConfig(s.BaselineAt, "%s", err)
}

// noBaseline says that there is no baseline, and what is to follow --write-baseline to make one.
func noBaseline(w *walker, name, args string) string {
	if w.instructions.elsewhere {
		return fmt.Sprintf("there is no baseline %s, and --config-from has it read from that revision", name)
	}
	return fmt.Sprintf("there is no baseline %s; `meshvet lint --write-baseline %s` writes one", name, args)
}

// keepBaselineInside returns an error if the configuration names a baseline outside the repository. Who may write a configuration need not
// be one who may read what is around it.
func (s *settings) keepBaselineInside() error {
	at := realPath(s.baselinePath())
	if isWithin(realPath(s.base), at) || s.repo != "" && isWithin(realPath(s.repo), at) {
		return nil
	}
	return atConfig(s.BaselineAt, "baseline %s leads out of the repository; use --baseline for such a file", s.Baseline)
}

// baselinePath is the absolute path of the baseline that the configuration names.
func (s *settings) baselinePath() string {
	return filepath.Join(s.base, filepath.FromSlash(s.Baseline))
}

// configuredBaselines reads the baselines of the configurations in use, and returns the sources without them. Each is read once, whoever
// names it. All that is wrong with them is one *lint.ConfigError.
func (r *lintRun) configuredBaselines(sources []source) ([]source, error) {
	var problems []object.Problem
	byPath := map[string]*knownFindings{}
	for _, s := range r.configsInUse(sources) {
		if s.Baseline == "" || len(s.problems) > 0 {
			continue
		}
		path := s.baselinePath()
		b, done := byPath[path]
		var err error
		if done {
			err = s.keepBaselineInside()
		} else {
			b, err = configuredBaseline(r.walker, s)
			byPath[path] = b
		}
		var wrong *lint.ConfigError
		switch {
		case errors.As(err, &wrong):
			problems = append(problems, wrong.Problems...)
		case err != nil:
			return nil, err
		case b == nil: // told already
		case done:
			b.configs = append(b.configs, s)
		default:
			if err := r.keepBaseline(b); err != nil {
				return nil, err
			}
			r.known = append(r.known, b)
			r.walker.taken[path] = true // no manifest, even if it lies among them
		}
	}
	if len(problems) > 0 {
		return nil, &lint.ConfigError{Problems: distinct(problems)}
	}
	slices.SortFunc(r.known, func(a, b *knownFindings) int { return strings.Compare(a.path, b.path) })
	return slices.DeleteFunc(sources, func(s source) bool { return s.path != "" && byPath[s.path] != nil }), nil
}

// configsInUse are the configurations of what the paths of a run take in, whether or not there are files under them: where the last one is
// gone, a baseline is stale. They are in the order of their files.
func (r *lintRun) configsInUse(sources []source) []*settings {
	c, w := r.configs, r.walker
	if c.only != nil {
		return []*settings{c.only}
	}
	seen := map[*settings]bool{}
	var out []*settings
	add := func(s *settings) {
		if s.home != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	for _, s := range sources {
		if s.path == "" {
			add(c.of(w.cwd))
		} else {
			add(c.of(filepath.Dir(s.path)))
		}
	}
	for _, arg := range r.paths() {
		if arg == "-" {
			continue
		}
		at := w.absolute(arg)
		if c.match(at) != "" {
			continue
		}
		add(c.of(w.startFolder(arg, "")))
		for _, s := range slices.Clone(c.found) {
			if !seen[s] && isWithin(at, s.home) && c.match(s.home) == "" {
				add(s)
			}
		}
	}
	slices.SortFunc(out, func(a, b *settings) int { return strings.Compare(a.file, b.file) })
	return out
}

func atConfig(at object.Location, format string, args ...any) error {
	return &lint.ConfigError{Problems: []object.Problem{{Kind: lint.BadBaseline, Message: fmt.Sprintf(format, args...), Location: at}}}
}

// isWithin says whether an absolute path is that of a folder or below it.
func isWithin(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// keepBaseline returns an error if a report would be written to the file of the baseline.
func (r *lintRun) keepBaseline(b *knownFindings) error {
	for _, out := range r.flags.outputs.list {
		if out.file != "" && realPath(r.walker.absolute(out.file)) == realPath(b.path) {
			return fmt.Errorf("%s=%s would overwrite the baseline; give the report another name", out.format, out.file)
		}
	}
	return nil
}

// folder is that from which the entries name their files.
func (b *knownFindings) folder() string { return filepath.Dir(b.path) }

// wholeIn says whether the walker has been to every folder around a file that an entry names: in its repository, or without one below
// the folder of the baseline.
func (b *knownFindings) wholeIn(w *walker, file string) bool {
	root := cmp.Or(b.repo, b.folder())
	return w.walked[root] && isWithin(root, filepath.Join(b.folder(), filepath.FromSlash(file)))
}

// mayBeStale says whether the paths given take in all that the entries are about. Then the rules are wanted even if there is nothing to
// judge, since its absence is what makes entries stale.
func (b *knownFindings) mayBeStale(w *walker) bool {
	return b.tellsStale(w) && slices.ContainsFunc(b.Entries, func(e lint.BaselineEntry) bool { return b.wholeIn(w, e.File) })
}

// tellsStale says whether entries that nothing is left of matter. Those of a revision cannot be removed.
func (b *knownFindings) tellsStale(w *walker) bool { return b.write || !w.instructions.elsewhere }

// covers says whether the baseline holds for a file, by its name in reports: whether its configuration names it, be it one of the run or of
// what is read as context. Of a configuration that is wrong that is not known.
func (b *knownFindings) covers(c *configs, name string) bool {
	if b.configs == nil {
		return true
	}
	s := c.ofFile(name)
	return len(s.problems) > 0 || s.Baseline != "" && s.baselinePath() == b.path
}

// rewrite is what follows --write-baseline to bring the baseline up to date: its file, and unless it holds for all files of the run,
// folders in which it does; "" if there are none such.
func (b *knownFindings) rewrite(r *lintRun, files []*object.File) string {
	name := r.walker.name(b.path, false)
	if b.configs == nil {
		return b.Name
	}
	var others []string // absolute paths of files that are judged under other configurations
	for _, f := range files {
		if f.Name != stdinName && len(f.Objects) > 0 && !b.covers(r.configs, f.Name) {
			others = append(others, r.walker.absolute(filepath.FromSlash(f.Name)))
		}
	}
	if len(others) == 0 {
		return name
	}
	var folders []string // without those within others
	for _, s := range b.configs {
		if !slices.ContainsFunc(b.configs, func(o *settings) bool { return o.home != s.home && isWithin(o.home, s.home) }) {
			folders = append(folders, s.home)
		}
	}
	if most := 5; len(folders) > most {
		return ""
	}
	for _, folder := range folders {
		if slices.ContainsFunc(others, func(file string) bool { return isWithin(folder, file) }) {
			return ""
		}
		name += " " + r.walker.name(folder, false)
	}
	return name
}

func (b *knownFindings) view(r *lintRun, in *inputs) lint.BaselineView {
	v := lint.BaselineView{
		Files: in.all(), Around: in.around,
		Covers: func(name string) bool { return b.covers(r.configs, name) },
		Whole:  func(file string) bool { return b.wholeIn(r.walker, file) },
		FromBaseline: func(name string) string {
			if name == stdinName || object.InCluster(name) {
				return name
			}
			rel, err := filepath.Rel(b.folder(), r.walker.absolute(filepath.FromSlash(name)))
			if err != nil {
				return name
			}
			return filepath.ToSlash(rel)
		},
		Exists: func(file string) bool {
			_, err := os.Lstat(filepath.Join(b.folder(), filepath.FromSlash(file)))
			return err == nil
		},
	}
	if rules := in.judge.rules; len(rules) > 0 {
		v.Known = func(id string) bool { return slices.ContainsFunc(rules, func(x lint.Rule) bool { return x.ID == id }) }
	}
	return v
}

// settleBaselines takes what the baselines hold out of the findings of a run.
func (r *lintRun) settleBaselines(ctx context.Context, rep *lint.Report, in *inputs) error {
	for _, b := range r.known {
		if err := r.settleBaseline(ctx, b, rep, in); err != nil {
			return err
		}
		use := &rep.Baselines[len(rep.Baselines)-1]
		if use.Rewrite = b.rewrite(r, in.all()); !b.tellsStale(r.walker) {
			use.Stale = nil
		}
	}
	return nil
}

// settleBaseline takes what a baseline holds out of the findings of a run, once it is brought up to date if that is asked for.
func (r *lintRun) settleBaseline(ctx context.Context, b *knownFindings, rep *lint.Report, in *inputs) error {
	view := b.view(r, in)
	switch n := len(rep.Problems); {
	case !b.write:
	case n > 0: // whatever was not judged because of them would be lost, or come back as new
		rep.Problems = append(rep.Problems, object.Problem{
			Kind: lint.BadBaseline, Location: object.Location{File: b.Name},
			Message: "is not written, since not everything could be judged; repair or exclude what the other problems name, and write it then",
		})
	default:
		if err := r.writeBaseline(ctx, b, rep, view); err != nil {
			return err
		}
	}
	b.Apply(rep, view)
	return nil
}

func (r *lintRun) writeBaseline(ctx context.Context, b *knownFindings, rep *lint.Report, view lint.BaselineView) error {
	updated, change := b.Update(rep, view)
	updated.Name = b.Name
	text, err := updated.Text()
	if err != nil {
		return err
	}
	if b.Baseline, err = lint.ReadBaseline(b.Name, text); err != nil {
		return fmt.Errorf("the baseline that was made cannot be read, and is not written: %w", err)
	}
	err = untilDone(ctx, func() error {
		return writeFile(b.Name, func(w io.Writer) error {
			_, err := (&stoppable{ctx, w}).Write(text)
			return err
		})
	})
	if err != nil {
		return err
	}
	told := fmt.Sprintf("%s: written, with %d findings", b.Name, b.Len())
	if b.Len() == 1 {
		told = fmt.Sprintf("%s: written, with 1 finding", b.Name)
	}
	told += fmt.Sprintf(": %d are new, %d were removed", change.Added, change.Removed)
	if n := change.Unjudged; n > 0 {
		told += fmt.Sprintf(", %d are kept of what this run did not judge", n)
	}
	r.say("%s", told)
	return nil
}
