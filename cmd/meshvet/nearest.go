package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// configs finds the configuration that holds for a file: the nearest upwards from it, to the root of the repository. One that is found
// takes over nothing from those above it, unless it extends them.
type configs struct {
	walker *walker
	only   *settings // holds for every file, since --config names it; nil otherwise
	start  string    // folder of the first path, absolute
	bounds []string  // absolute folders above which nothing is searched for what is below them
	adjust func(*settings)

	byFolder map[string]*settings // absolute folders
	bound    map[string]string
	found    []*settings // that were read, in the order in which they were found
}

// newConfigs makes a finder for the paths of a run. adjust applies the flags to what is found.
func newConfigs(w *walker, only *settings, paths []string, stdinName string, adjust func(*settings)) *configs {
	c := &configs{walker: w, only: only, adjust: adjust, byFolder: map[string]*settings{}, bound: map[string]string{}}
	for i, path := range paths {
		if i > 0 && path != "-" && slices.ContainsFunc(c.bounds, func(b string) bool { return isWithin(b, w.absolute(path)) }) {
			continue
		}
		start := w.startFolder(path, stdinName)
		if i == 0 {
			c.start = start
		}
		bound := findRepository(start)
		if bound == "" {
			bound = start
		}
		c.bounds = append(c.bounds, bound)
	}
	if only != nil {
		only.repo = findRepository(c.start)
		adjust(only)
		c.found = append(c.found, only)
	}
	return c
}

// of returns what holds in a folder.
func (c *configs) of(dir string) *settings {
	if c.only != nil {
		return c.only
	}
	s := c.byFolder[dir]
	if s == nil {
		s = c.in(dir, c.configIn(dir))
	}
	return s
}

// in keeps in mind what holds in a folder, given the path of the configuration in it, "" if there is none.
func (c *configs) in(dir, file string) *settings {
	var s *settings
	switch bound := c.boundOf(dir); {
	case file != "":
		s = c.read(file, bound)
	case dir == bound || dir == filepath.Dir(dir):
		s = defaults(dir)
		s.repo = repositoryAt(dir)
		c.adjust(s)
	default:
		s = c.of(filepath.Dir(dir))
	}
	c.byFolder[dir] = s
	return s
}

// enter tells what is in a folder, to save looking for a configuration.
func (c *configs) enter(dir string, entries []fs.DirEntry) {
	if c.only != nil || c.byFolder[dir] != nil {
		return
	}
	if c.walker.instructions.elsewhere || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return slices.Contains(lint.ConfigNames(), e.Name()) }) {
		c.of(dir)
		return
	}
	c.in(dir, "")
}

// read reads a configuration. That it cannot be read is a problem of it: whether that matters depends on the files below it.
func (c *configs) read(file, bound string) *settings {
	name := c.walker.instructions.name(c.walker.name(file, false))
	s, err := readConfig(c.walker, name, file, filepath.Dir(file))
	if err != nil {
		s = defaults(filepath.Dir(file))
		s.problems = []object.Problem{{Kind: lint.BadConfig, Message: "cannot be read: " + errors.Unwrap(err).Error(), Location: object.Location{File: name}}}
		s.Source, s.file = name, file
	}
	s.home, s.repo = filepath.Dir(file), repositoryAt(bound)
	c.adjust(s)
	c.found = append(c.found, s)
	return s
}

// boundOf is the folder at which the search upwards from a folder ends.
func (c *configs) boundOf(dir string) string {
	if b, known := c.bound[dir]; known {
		return b
	}
	bound := ""
	for _, b := range c.bounds {
		if isWithin(b, dir) && (bound == "" || len(b) < len(bound)) {
			bound = b
		}
	}
	if bound == "" {
		if bound = findRepository(dir); bound == "" {
			bound = dir
		}
	}
	c.bound[dir] = bound
	return bound
}

// match returns the glob by which a file or folder is left out, "" if none does. A folder that holds a configuration is left out by
// the one above it: what is left out cannot bring itself back.
func (c *configs) match(abs string) string {
	for at := abs; ; {
		s := c.of(filepath.Dir(at))
		if glob := s.excludes().match(at); glob != "" {
			s.leftOut = true
			return glob
		}
		if c.only != nil || s.home == "" || s.home == c.boundOf(s.home) {
			return ""
		}
		at = s.home
	}
}

// governing are the configurations of files, in the order of their names, each with its files.
func (c *configs) governing(files []*object.File) []governed {
	var out []governed
	place := map[*settings]int{}
	for _, f := range files {
		s := c.ofFile(f.Name)
		at, known := place[s]
		if !known {
			at = len(out)
			place[s] = at
			out = append(out, governed{config: s})
		}
		out[at].files = append(out[at].files, f)
	}
	if len(out) == 0 {
		out = append(out, governed{config: c.of(c.start)})
	}
	slices.SortStableFunc(out, func(a, b governed) int { return strings.Compare(a.config.Source, b.config.Source) })
	return out
}

// governed is files under one configuration.
type governed struct {
	config *settings
	files  []*object.File
}

// ofFile is the configuration of a file, by its name in reports. Standard input that is nobody's file is in the working directory.
func (c *configs) ofFile(name string) *settings {
	if name == stdinName || object.InCluster(name) {
		return c.of(c.walker.cwd)
	}
	return c.of(filepath.Dir(c.walker.absolute(filepath.FromSlash(name))))
}

// configIn returns the path of the configuration in a folder, "" if there is none.
func (c *configs) configIn(dir string) string {
	for _, name := range lint.ConfigNames() {
		file := filepath.Join(dir, name)
		if c.walker.instructions.there(file) {
			return file
		}
	}
	return ""
}

// repositoryAt returns dir if it is the root of a repository, else "".
func repositoryAt(dir string) string {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return dir
	}
	return ""
}

// findConfigs makes the finder of a run, and finds the configuration of its first path. What is wrong with the content of one is
// reported later, with what the engine says of it.
func (r *lintRun) findConfigs() error {
	f, w := r.flags, r.walker
	var only *settings
	if f.config != "" {
		var err error
		if only, err = namedConfig(w, f.config); err != nil {
			return err
		}
	}
	r.configs = newConfigs(w, only, r.paths(), f.stdinName, f.adjust)
	w.configs, w.exclude = r.configs, r.configs
	r.config = r.configs.of(r.configs.start)
	r.repo = findRepository(r.configs.start)
	return r.keepConfigs()
}

// adjust applies the flags that outrank a configuration.
func (f *lintFlags) adjust(c *settings) {
	if len(f.complete.value) > 0 {
		c.Complete = f.complete.value
	}
	if f.dataplane.value != "" {
		c.Mesh.Dataplane = f.dataplane.value
	}
	c.Enable, c.Disable = f.enable.items, f.disable.items
	c.EnableFrom, c.DisableFrom = f.enable.from, f.disable.from
	c.Profile = f.profile
}

// keepConfigs returns an error if a report would replace a configuration that was read.
func (r *lintRun) keepConfigs() error {
	var read []fs.FileInfo
	for _, c := range r.configs.found {
		if c.Source == "" {
			continue
		}
		if info, err := os.Stat(c.file); err == nil {
			read = append(read, info)
		}
	}
	return r.flags.outputs.overwrites(r.walker, read)
}

// usedConfigs are the configurations of the files that are judged. It tells of them.
func (r *lintRun) usedConfigs(files []*object.File, made []*rendered) ([]*settings, error) {
	if err := r.keepConfigs(); err != nil {
		return nil, err
	}
	all := r.configs.governing(files)
	if len(files) == 0 && len(made) > 0 {
		all = nil
	}
	for _, one := range made {
		all = append(all, governed{one.config, one.files})
	}
	for _, g := range all {
		name := g.config.Source
		switch {
		case len(all) > 1:
			if name == "" {
				name = "none"
			}
			unit := "files"
			if len(g.files) == 1 {
				unit = "file"
			}
			r.note("configuration: %s, for %d %s", name, len(g.files), unit)
		case name != "":
			r.note("configuration: %s", name)
		}
	}
	return configsOf(all), nil
}

func configsOf(all []governed) []*settings {
	out := make([]*settings, len(all))
	for i, g := range all {
		out[i] = g.config
	}
	return out
}

// namedByFlag are the names of files that a flag adds to the context.
func namedByFlag(asked map[string]object.Location) map[string]bool {
	out := map[string]bool{}
	for name, at := range asked {
		if at.File == "" {
			out[name] = true
		}
	}
	return out
}

// excluding names the configurations that left something out.
func (c *configs) excluding() string {
	var names []string
	for _, s := range c.found {
		if s.leftOut {
			names = append(names, s.Source)
		}
	}
	slices.Sort(names)
	if most := 3; len(names) > most {
		return fmt.Sprintf("%s and %d other files", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// ofNothingIn returns what would hold in a folder if there were no configuration in it.
func (c *configs) ofNothingIn(dir string) *settings {
	if dir == c.boundOf(dir) {
		return defaults(dir)
	}
	return c.of(filepath.Dir(dir))
}
