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

// knownFindings is the baseline of a run: the file that holds it, and what is in the file.
type knownFindings struct {
	*lint.Baseline        // empty if there is no file yet
	path           string // absolute
	write          bool   // the file is brought up to date instead of being obeyed
}

// baseline finds and reads the baseline of a run: what --write-baseline, --baseline or the configuration names, in this order. It returns
// nil if there is none.
func (r *lintRun) baseline() (*knownFindings, error) {
	f, c, w := r.flags, r.config, r.walker
	b := &knownFindings{Baseline: &lint.Baseline{}}
	switch {
	case f.writeBaseline != "":
		b.write = true
		b.Name, b.path = f.writeBaseline, w.absolute(f.writeBaseline)
	case f.baseline != "":
		b.Name, b.path = f.baseline, w.absolute(f.baseline)
	case c.Baseline != "" && len(c.problems) == 0:
		b.path = filepath.Join(c.base, filepath.FromSlash(c.Baseline))
		b.Name = w.name(b.path, false)
		// Who may write a configuration need not be one who may read what is around the repository.
		if at := realPath(b.path); !isWithin(realPath(c.base), at) && (r.repo == "" || !isWithin(realPath(r.repo), at)) {
			return nil, atConfig(c.BaselineAt, "baseline %s leads out of the repository; use --baseline for such a file", c.Baseline)
		}
	default:
		return nil, nil
	}
	if !b.write && isNullDevice(b.path) {
		return nil, nil
	}
	if err := r.keepBaseline(b); err != nil {
		return nil, err
	}
	read := readRegularUpTo
	if !b.write {
		read = w.instructions.read
		b.Name = w.instructions.name(b.Name)
	}
	data, err := read(b.path, lint.MaxBaselineBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist) && b.write:
		return b, nil
	case errors.Is(err, fs.ErrNotExist):
		err := fmt.Errorf("there is no baseline %s; `meshvet lint --write-baseline %s` writes one", b.Name, b.Name)
		if f.baseline == "" {
			return nil, atConfig(c.BaselineAt, "%s", err)
		}
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("read baseline %s: %w", b.Name, plainError(err))
	case b.write && len(strings.TrimSpace(string(data))) == 0: // made by somebody who wants it to be written
		return b, nil
	}
	w.taken[b.path] = true // no manifest, even if it lies among them
	if b.Baseline, err = lint.ReadBaseline(b.Name, data); err != nil {
		return nil, err
	}
	return b, nil
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
func (b *knownFindings) wholeIn(w *walker, repo, file string) bool {
	root := cmp.Or(repo, b.folder())
	return w.walked[root] && isWithin(root, filepath.Join(b.folder(), filepath.FromSlash(file)))
}

// mayBeStale says whether the paths given take in all that the entries are about. Then the rules are wanted even if there is nothing to
// judge, since its absence is what makes entries stale.
func (b *knownFindings) mayBeStale(w *walker, repo string) bool {
	return b != nil && slices.ContainsFunc(b.Entries, func(e lint.BaselineEntry) bool { return b.wholeIn(w, repo, e.File) })
}

func (b *knownFindings) view(r *lintRun, in *inputs) lint.BaselineView {
	v := lint.BaselineView{
		Files: in.files, Around: in.around,
		Whole: func(file string) bool { return b.wholeIn(r.walker, r.repo, file) },
		FromBaseline: func(name string) string {
			if name == stdinName {
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

// settleBaseline takes what the baseline holds out of the findings of a run, once it is brought up to date if that is asked for.
func (r *lintRun) settleBaseline(ctx context.Context, rep *lint.Report, in *inputs) error {
	b := r.known
	if b == nil {
		return nil
	}
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
