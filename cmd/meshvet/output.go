package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/report"
)

// outputs is the flag that says in which formats a report is written, and where.
type outputs struct {
	list []output
	set  bool // by the user; the first value replaces the default
}

// output is one form of a report. file is "" for standard output.
type output struct{ format, file string }

func (o *outputs) String() string {
	var parts []string
	for _, out := range o.list {
		if out.file != "" {
			parts = append(parts, out.format+"="+out.file)
		} else {
			parts = append(parts, out.format)
		}
	}
	return strings.Join(parts, ",")
}

func (o *outputs) Type() string { return "FORMAT[=FILE],…" }

func (o *outputs) Set(s string) error {
	var list []output
	for part := range strings.SplitSeq(s, ",") {
		format, file, hasFile := strings.Cut(strings.TrimSpace(part), "=")
		known, err := oneOf(format, report.Names())
		if err != nil {
			return fmt.Errorf("format %q: %w", format, err)
		}
		if hasFile && file == "" {
			return fmt.Errorf("%s= lacks the name of a file", format)
		}
		if file == "-" {
			file = ""
		}
		list = append(list, output{known, file})
	}
	if !o.set {
		o.list, o.set = nil, true
	}
	o.list = append(o.list, list...)
	seen := map[string]string{}
	for _, out := range o.list {
		where := out.file
		if where == "" {
			where = "standard output"
		}
		if other, taken := seen[where]; taken {
			return fmt.Errorf("%s and %s both go to %s; give one of them a file: %s=FILE", other, out.format, where, out.format)
		}
		seen[where] = out.format
	}
	return nil
}

// toStdout returns the format that goes to standard output, "" if none does.
func (o *outputs) toStdout() string {
	for _, out := range o.list {
		if out.file == "" {
			return out.format
		}
	}
	return ""
}

// clash says whether two of the outputs are one file under two names; the same name twice is refused already.
func (o *outputs) clash(w *walker) error {
	seen := map[string]output{}
	for _, out := range o.list {
		if out.file == "" {
			continue
		}
		at := realPath(w.absolute(out.file))
		if other, taken := seen[at]; taken {
			return fmt.Errorf("%s=%s and %s=%s are one file; give one of them another", other.format, other.file, out.format, out.file)
		}
		seen[at] = out
	}
	return nil
}

// overwrites returns an error if one of the outputs would replace a file that is read.
func (o *outputs) overwrites(w *walker, inputs []fs.FileInfo) error {
	for _, out := range o.list {
		if out.file == "" {
			continue
		}
		info, err := os.Stat(w.absolute(out.file))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		for _, input := range inputs {
			if input != nil && os.SameFile(info, input) {
				return fmt.Errorf("%s=%s would overwrite a file that is read; give the report another name", out.format, out.file)
			}
		}
	}
	return nil
}

// realPath is an absolute path without links. Its last part need not exist.
func realPath(abs string) string {
	if target, err := filepath.EvalSymlinks(abs); err == nil {
		return target
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		return filepath.Join(dir, filepath.Base(abs))
	}
	return abs
}

// write writes a report in every form that was asked for. One that fails does not keep the others from being written.
func (a *app) write(ctx context.Context, o *outputs, r *lint.Report, opt report.Options) error {
	var errs []error
	for _, out := range o.list {
		opt.Color = a.colored(out.file == "", a.stdout)
		rep, err := report.Named(out.format, opt)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, untilDone(ctx, func() error {
			if out.file == "" {
				return rep.Report(&stoppable{ctx, a.stdout}, r)
			}
			return writeFile(out.file, func(w io.Writer) error { return rep.Report(&stoppable{ctx, w}, r) })
		}))
	}
	return errors.Join(errs...)
}

// stoppable is a writer that takes nothing more once ctx is done.
type stoppable struct {
	ctx context.Context
	to  io.Writer
}

func (s *stoppable) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.to.Write(p)
}

// untilDone waits for f, but once ctx is done only as long as it takes to remove a half-written file: writing to a pipe
// that nobody reads never ends.
func untilDone(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(200 * time.Millisecond):
		return ctx.Err()
	}
}

// colored says whether to use colours on w: --color decides, then the variables that other programs obey too, then whether w is
// a terminal. shared is false for files, which get colours only if somebody asked.
func (a *app) colored(shared bool, w io.Writer) bool {
	switch a.color.value {
	case "always":
		return true
	case "never":
		return false
	}
	force := a.getenv("CLICOLOR_FORCE")
	switch {
	case !shared, a.getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	case a.getenv("TERM") == "dumb":
		return false
	}
	return isTerminal(w)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// writeFile writes a file whole or not at all: whoever reads it meanwhile sees the old content. What is no regular file, such
// as a pipe, is written in place.
func writeFile(name string, write func(io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", name, plainError(err))
		}
	}()
	target, mode := name, fs.FileMode(0)
	if linked, err := filepath.EvalSymlinks(name); err == nil {
		target = linked
	}
	if info, err := os.Stat(target); err == nil {
		if !info.Mode().IsRegular() {
			return writeInPlace(target, write)
		}
		mode = info.Mode().Perm()
	}
	tmp, err := createBeside(target)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // gone once it is renamed
	err = write(tmp)
	if err == nil && mode != 0 {
		err = tmp.Chmod(mode)
	}
	err = errors.Join(err, tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), target)
}

// createBeside makes a new file in the folder of another one. Unlike os.CreateTemp, it leaves the mode to the umask.
func createBeside(target string) (*os.File, error) {
	for n := 0; ; n++ {
		name := filepath.Join(filepath.Dir(target), fmt.Sprintf(".%s.%d-%d.tmp", filepath.Base(target), os.Getpid(), n))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && n < 100 {
			continue
		}
		return f, err
	}
}

func writeInPlace(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
