package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// source is one input that will be read.
type source struct {
	name string      // what reports call it
	path string      // absolute; "" for standard input that is nobody's file
	info fs.FileInfo // of a file, nil for standard input and what cannot be read
	in   io.Reader
	err  error // why there is nothing to read
	// waits says that opening or reading may take for ever: of a pipe or a device.
	waits bool
	named bool // somebody named the file itself
}

// stdinName is what reports call standard input that is nobody's file.
const stdinName = "<stdin>"

// walker turns the paths of a command line into sources. No file is taken twice, whatever its names.
type walker struct {
	cwd          string   // absolute; names are relative to it
	exclude      excluder // what the configuration leaves out
	configs      *configs // told which folders are walked; nil if nobody wants to know
	instructions instructions
	note         func(format string, args ...any)

	taken   map[string]bool            // absolute paths of files
	files   map[mark][]takenFile       // what these paths lead to
	walked  map[string]bool            // absolute paths of folders
	patches map[string]map[string]bool // by folder: absolute paths of the files that its kustomization has as patches
	// unrendered are the folders with a kustomization that were walked.
	unrendered []string
	components map[string]bool // by folder: its kustomization is a component, which only others render
	excluded   int             // files and folders that the configuration excludes
	lost       []lint.Skip     // what should have said which files to read, and could not be read itself
}

// excluder says which glob leaves a file or folder out, by its absolute path; "" = none.
type excluder interface{ match(abs string) string }

// mark is what names of one file have in common, so that few files need to be compared.
type mark struct{ size, modified int64 }

type takenFile struct {
	name string
	info fs.FileInfo
}

func newWalker(cwd string, exclude excluder, note func(string, ...any)) *walker {
	if exclude == nil {
		exclude = (*pathFilter)(nil)
	}
	return &walker{cwd: cwd, exclude: exclude, instructions: workingTree(), note: note, taken: map[string]bool{}, files: map[mark][]takenFile{}, walked: map[string]bool{}, patches: map[string]map[string]bool{}, components: map[string]bool{}}
}

// take says whether a file is yet to be read, and keeps in mind that it is now.
func (w *walker) take(abs, name string, info fs.FileInfo) bool {
	if w.taken[abs] {
		return false
	}
	w.taken[abs] = true
	if info == nil || !info.Mode().IsRegular() {
		return true
	}
	m := mark{info.Size(), info.ModTime().UnixNano()}
	for _, f := range w.files[m] {
		if os.SameFile(f.info, info) {
			w.note("%s: not read, since it is the same file as %s", name, f.name)
			return false
		}
	}
	w.files[m] = append(w.files[m], takenFile{name, info})
	return true
}

// excludes says whether the configuration excludes a file that somebody named, and notes it once.
func (w *walker) excludes(abs, name string) bool {
	glob := w.exclude.match(abs)
	if glob != "" && !w.taken[abs] {
		w.taken[abs] = true
		w.excluded++
		w.note("%s: not read, since %q excludes it", name, glob)
	}
	return glob != ""
}

// absolute returns the absolute form of a path that is relative to the working directory.
func (w *walker) absolute(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(w.cwd, p)
}

// name is what reports call a file: its path relative to the working directory, with forward slashes. Only what was asked for
// by an absolute path and lies elsewhere keeps that path.
func (w *walker) name(abs string, askedAbsolute bool) string {
	rel, err := filepath.Rel(w.cwd, abs)
	if err != nil || askedAbsolute && !filepath.IsLocal(rel) {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(rel)
}

// add returns the sources of a path. A file is taken whatever its ending and whether or not git ignores it, since somebody
// asked for it; a tool that hands over every file of a commit still has the configuration's excludes obeyed.
func (w *walker) add(arg string) []source {
	abs, asked := w.absolute(arg), filepath.IsAbs(arg)
	name := w.name(abs, asked)
	info, err := os.Stat(abs)
	if err != nil {
		return []source{{name: name, path: abs, err: plainError(err)}}
	}
	if info.IsDir() {
		return w.addFolder(abs, asked)
	}
	if w.excludes(abs, name) || w.leavesOut(abs, name) || !w.take(abs, name, info) {
		return nil
	}
	return []source{{name: name, path: abs, info: info, waits: !info.Mode().IsRegular(), named: true}}
}

// addStdin returns the source of standard input. An editor names the file that it stands for, which is then not read itself.
func (w *walker) addStdin(in io.Reader, filename string) []source {
	if filename == "" {
		return []source{{name: stdinName, in: in}}
	}
	abs := w.absolute(filename)
	name := w.name(abs, filepath.IsAbs(filename))
	if w.excludes(abs, name) {
		return nil
	}
	info, err := os.Stat(abs)
	if err != nil {
		info = nil // it need not exist yet
	}
	if !w.take(abs, name, info) {
		return nil
	}
	return []source{{name: name, path: abs, in: in}}
}

func (w *walker) addFolder(dir string, asked bool) []source {
	if w.exclude.match(dir) != "" {
		w.excluded++
		w.note("%s: not read, since the configuration excludes it", w.name(dir, asked))
		return nil
	}
	return w.walk(nil, dir, asked, ignoreStackAt(findRepository(dir), dir, w.ignoreFileLost), nil)
}

// ignoreFileLost notes, once, that a file of ignore patterns cannot be read: what it names is read then.
func (w *walker) ignoreFileLost(file string, err error) {
	s := lint.Skip{File: w.name(file, false), Reason: fmt.Sprintf("is not obeyed, since it cannot be read: %s", plainError(err)), Cause: lint.Unread}
	if !slices.Contains(w.lost, s) {
		w.lost = append(w.lost, s)
	}
}

// walk appends the manifests below a folder in the order of their names. keep, if there is one, chooses among them. Links are
// not followed: what they point at is either in the tree, and read there, or none of its business.
func (w *walker) walk(out []source, dir string, asked bool, ignored ignoreStack, keep func(string) bool) []source {
	if keep == nil {
		if w.walked[dir] {
			return out
		}
		w.walked[dir] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		out = append(out, source{name: w.name(dir, asked), path: dir, err: plainError(err)})
	}
	if w.configs != nil {
		w.configs.enter(dir, entries)
	}
	if keep == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return slices.Contains(kustomizationNames, e.Name()) }) {
		w.unrendered = append(w.unrendered, w.name(dir, asked))
	}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if e.Name() == ".git" || ignored.ignores(at, true) {
				continue
			}
			if w.exclude.match(at) != "" {
				w.excluded++
				continue
			}
			out = w.walk(out, at, asked, ignored.enter(at, w.ignoreFileLost), keep)
		case e.Type().IsRegular() && isManifestName(e.Name()):
			if keep != nil && !keep(at) || w.taken[at] || ignored.ignores(at, false) {
				continue
			}
			if w.exclude.match(at) != "" {
				w.excluded++
				continue
			}
			name := w.name(at, asked)
			if w.leavesOut(at, name) {
				continue
			}
			info, err := e.Info()
			switch {
			case err != nil: // gone since, or about to be told by whoever opens it
				out = append(out, source{name: name, path: at})
			case w.take(at, name, info):
				out = append(out, source{name: name, path: at, info: info})
			}
		}
	}
	return out
}

// addGlob returns the manifests that a pattern of the configuration names. A pattern without wildcards is a path. matched is
// false for one that names nothing, as opposed to what is read already.
func (w *walker) addGlob(base, glob string) (sources []source, matched bool) {
	dir, filter := globFolder(base, glob)
	if filter == nil {
		return w.add(dir), true
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, false
	}
	sources = w.walk(nil, dir, false, ignoreStackAt(findRepository(dir), dir, w.ignoreFileLost), func(p string) bool {
		in := filter.match(p) != ""
		matched = matched || in
		return in
	})
	return sources, matched
}

// globFolder is the folder that a pattern is matched in, and what is matched; without wildcards, the path that it is and nil.
func globFolder(base, glob string) (string, *pathFilter) {
	fixed, wild := doublestar.SplitPattern(path.Clean(strings.TrimPrefix(glob, "./")))
	if !strings.ContainsAny(wild, `*?[{\`) {
		return filepath.Join(base, filepath.FromSlash(glob)), nil
	}
	dir := filepath.Join(base, filepath.FromSlash(fixed))
	return dir, newPathFilter(dir, []string{wild})
}

// anyMatch says whether a pattern matches any manifest, read or not.
func (w *walker) anyMatch(base, glob string) bool {
	fixed, wild := doublestar.SplitPattern(path.Clean(glob))
	dir := filepath.Join(base, filepath.FromSlash(fixed))
	if at := filepath.Join(dir, filepath.FromSlash(wild)); isFolder(at) { // a folder stands for what is below it
		dir = at
	}
	if !isFolder(dir) {
		return false
	}
	found, excluded := false, w.excluded
	defer func() { w.excluded = excluded }() // these were counted when they were not read
	filter := newPathFilter(base, []string{glob})
	w.walk(nil, dir, false, ignoreStackAt(findRepository(dir), dir, w.ignoreFileLost), func(p string) bool {
		found = found || filter.match(p) != ""
		return false
	})
	return found
}

func isManifestName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// plainError drops the path from an error of the file system; the report names it already.
func plainError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// pathFilter matches files against globs that are relative to a folder. A glob for a folder takes in what is below it.
type pathFilter struct {
	base  string // absolute
	globs []string
}

func newPathFilter(base string, globs []string) *pathFilter {
	f := &pathFilter{base: base}
	for _, g := range globs {
		if g = path.Clean(g); g == "." {
			g = "**"
		}
		f.globs = append(f.globs, g)
	}
	return f
}

// match returns the first glob that matches an absolute path, "" if none does or the path is not below the filter's folder.
func (f *pathFilter) match(abs string) string {
	if f == nil || len(f.globs) == 0 {
		return ""
	}
	rel, err := filepath.Rel(f.base, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	rel = filepath.ToSlash(rel)
	for _, g := range f.globs {
		if ok, err := doublestar.Match(g, rel); err == nil && ok {
			return g
		}
		if ok, err := doublestar.Match(g+"/**", rel); err == nil && ok {
			return g
		}
	}
	return ""
}

// load reads sources side by side and returns the files in the order of their names. done, unless it is nil, is increased by each.
func load(ctx context.Context, sources []source, done *atomic.Int64) ([]*object.File, error) {
	slices.SortStableFunc(sources, func(a, b source) int { return strings.Compare(a.name, b.name) })
	files := make([]*object.File, len(sources))
	errs := make([]error, len(sources))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(sources)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(sources); i = int(next.Add(1)) - 1 {
				files[i], errs[i] = sources[i].load(ctx)
				if done != nil {
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return files, errors.Join(errs...)
}

func (s *source) load(ctx context.Context) (*object.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	if s.err != nil {
		return unreadable(s.name, s.err), nil
	}
	open := func() (io.ReadCloser, error) { return os.Open(s.path) }
	if s.in != nil {
		open = func() (io.ReadCloser, error) { return io.NopCloser(s.in), nil }
	}
	var in io.ReadCloser
	if s.in != nil || s.waits {
		in = interruptible(ctx, open)
	} else {
		f, err := open()
		if err != nil {
			return unreadable(s.name, plainError(err)), nil
		}
		in = f
	}
	defer in.Close() //nolint:errcheck // it was only read
	return object.Load(ctx, s.name, in, object.Limits{})
}

// interruptible makes opening and reading end when ctx does, whatever they wait for.
func interruptible(ctx context.Context, open func() (io.ReadCloser, error)) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		r, err := open()
		if err == nil {
			_, err = io.Copy(in, r)
			err = errors.Join(err, r.Close())
		}
		in.CloseWithError(plainError(err))
	}()
	context.AfterFunc(ctx, func() {
		out.CloseWithError(ctx.Err())
	})
	return out
}

// unreadable is a file of which nothing but its absence is known.
func unreadable(name string, err error) *object.File {
	kind := object.Unreadable
	if errors.Is(err, fs.ErrNotExist) {
		kind = object.Missing
	}
	return &object.File{
		Name:  name,
		Class: object.Broken,
		Problems: []object.Problem{{
			Kind:     kind,
			Message:  "cannot be read: " + err.Error(),
			Location: object.Location{File: name},
		}},
	}
}
