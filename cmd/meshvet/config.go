package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// maxConfigBytes bounds what says how to run: a configuration file, a list of ignore patterns.
const maxConfigBytes = 1 << 20

// settings are a configuration with what its place implies.
type settings struct {
	*lint.Config
	problems []object.Problem
	base     string // absolute; its globs and paths are relative to it
	file     string // absolute; "" without one
	home     string // absolute; the folder of the file that was found, "" if none was
	repo     string // absolute root of the repository, which is its context by default; "" without one
	isolated bool   // nothing beyond the paths given is read

	filter  *pathFilter                // of exclude, once it was asked for
	trace   map[string]object.Location // where each key is written
	leftOut bool                       // it excluded something
}

// excludes is what the configuration leaves out.
func (s *settings) excludes() *pathFilter {
	if s.filter == nil {
		s.filter = newPathFilter(s.base, s.Exclude)
	}
	return s.filter
}

// namedConfig reads the configuration that --config names.
func namedConfig(w *walker, path string) (*settings, error) {
	if isNullDevice(w.absolute(path)) {
		s := defaults(w.cwd)
		s.isolated = true
		return s, nil
	}
	// Whoever names a file thinks of paths from where they stand, wherever the file is.
	return readConfig(w, w.instructions.name(path), w.absolute(path), w.cwd)
}

// defaults is what holds without a configuration.
func defaults(base string) *settings { return &settings{Config: &lint.Config{Version: 1}, base: base} }

func readConfig(w *walker, name, file, base string) (*settings, error) {
	data, err := w.instructions.read(file, maxConfigBytes)
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", name, plainError(err))
	}
	root := findRepository(filepath.Dir(file))
	if root == "" {
		root = filepath.Dir(file)
	}
	main := filepath.ToSlash(file)
	trace := map[string]object.Location{}
	loader := lint.ConfigLoader{
		Trace: trace,
		Root:  filepath.ToSlash(root),
		Read:  w.readInside(root),
		Name: func(p string) string {
			if p == main {
				return name
			}
			return w.instructions.name(w.name(filepath.FromSlash(p), false))
		},
	}
	cfg, problems := loader.Load(main, data, filepath.ToSlash(base))
	s := &settings{Config: cfg, problems: problems, base: base, file: file, trace: trace}
	if cfg == nil {
		s.Config = &lint.Config{}
	} else {
		s.base = filepath.FromSlash(cfg.Folder)
	}
	s.PathOf = func(name string) string {
		if name == stdinName || object.InCluster(name) {
			return ""
		}
		rel, err := filepath.Rel(s.base, w.absolute(filepath.FromSlash(name)))
		if err != nil || !filepath.IsLocal(rel) {
			return ""
		}
		return filepath.ToSlash(rel)
	}
	return s, nil
}

// readInside reads files that a configuration names, wherever links lead: only what is below root.
func (w *walker) readInside(root string) func(string) ([]byte, error) {
	if w.instructions.elsewhere { // where nothing outside is at hand, and no link is followed
		return func(path string) ([]byte, error) {
			return w.instructions.read(filepath.FromSlash(path), maxConfigBytes)
		}
	}
	return func(path string) ([]byte, error) {
		file, err := filepath.EvalSymlinks(filepath.FromSlash(path))
		if err != nil {
			return nil, plainError(err)
		}
		top, err := filepath.EvalSymlinks(root)
		if err != nil {
			return nil, plainError(err)
		}
		if rel, err := filepath.Rel(top, file); err != nil || !filepath.IsLocal(rel) {
			return nil, errors.New("is a link that leads out of the repository")
		}
		data, err := readRegular(file)
		return data, plainError(err)
	}
}

// readRegular reads a file that is small and there: what is asked of a pipe or a device may never come.
func readRegular(file string) ([]byte, error) { return readRegularUpTo(file, maxConfigBytes) }

// readRegularUpTo is readRegular for files of another size, in bytes.
func readRegularUpTo(file string, most int64) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("is a directory")
	case !info.Mode().IsRegular():
		return nil, errors.New("is a pipe or device, not a file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("is larger than %d MiB", most>>20)
	}
	return data, err
}

// nullDevice is the empty file that, as configuration, means the defaults and nothing around them.
const nullDevice = os.DevNull

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isNullDevice(path string) bool {
	null, err := os.Stat(nullDevice)
	if err != nil {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && os.SameFile(null, info)
}

// emptyScopes notes the configured scopes that no manifest is in, whatever this run reads. It is asked before they are anchored.
func (s *settings) emptyScopes(w *walker, sources []source) []lint.Skip {
	var out []lint.Skip
	for _, c := range s.Scopes {
		filter := newPathFilter(s.base, c.Paths)
		read := slices.ContainsFunc(sources, func(src source) bool { return src.path != "" && filter.match(src.path) != "" })
		if read || slices.ContainsFunc(c.Paths, func(glob string) bool { return w.anyMatch(s.base, glob) }) {
			continue
		}
		out = append(out, lint.Skip{
			File:   c.At.File,
			Reason: fmt.Sprintf("the paths of scope %q (line %d) match no file", c.Name, c.At.Range.Start.Line),
			Cause:  lint.Unmatched,
		})
	}
	return out
}

// anchored is the configuration for a set of files. The globs of its scopes are relative to the configuration's folder; in it they are
// the names that files have in reports, which are relative to the working directory.
func (s *settings) anchored(w *walker, sets ...[]*object.File) *lint.Config {
	if len(s.Scopes) == 0 {
		return s.Config
	}
	out := *s.Config
	out.Scopes = slices.Clone(s.Scopes)
	for i := range out.Scopes {
		filter := newPathFilter(s.base, out.Scopes[i].Paths)
		out.Scopes[i].Paths = nil
		for _, f := range slices.Concat(sets...) {
			if f.Name != stdinName && filter.match(w.absolute(filepath.FromSlash(f.Name))) != "" {
				out.Scopes[i].Paths = append(out.Scopes[i].Paths, lint.EscapeGlob(f.Name))
			}
		}
	}
	return &out
}

// looksNowhere says whether nothing is read beside the paths given.
func (s *settings) looksNowhere() bool {
	return s.isolated || s.Context != nil && len(s.Context) == 0 || s.Context == nil && s.repo == ""
}

// configErrors puts together what is wrong with a configuration: what its reader found, and what the engine, which knows the
// rules, found.
func configErrors(problems []object.Problem, err error) error {
	var ce *lint.ConfigError
	switch {
	case errors.As(err, &ce):
		problems = slices.Concat(problems, ce.Problems)
	case err != nil:
		return err
	}
	if len(problems) == 0 {
		return nil
	}
	files := map[string]int{} // in the order in which they are first told of
	for _, p := range problems {
		if _, known := files[p.Location.File]; !known {
			files[p.Location.File] = len(files)
		}
	}
	slices.SortStableFunc(problems, func(a, b object.Problem) int {
		if a.Location.File != b.Location.File {
			return files[a.Location.File] - files[b.Location.File]
		}
		switch x, y := a.Location.Range.Start, b.Location.Range.Start; {
		case x.Less(y):
			return -1
		case y.Less(x):
			return 1
		}
		return 0
	})
	return &lint.ConfigError{Problems: slices.Compact(problems)}
}
