package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/revision"
)

// since is a git revision that a run is compared with.
type since struct {
	repository *revision.Repository
	tree       *revision.Tree
	root       string // where the working tree begins, absolute
	real       string // the same without symbolic links

	folders map[string]string // absolute folders without symbolic links
	was     *before           // once it is read
}

// newSince finds a revision in the repository of a run. It has to be closed.
func newSince(ctx context.Context, root, name, flag string, environ []string) (*since, error) {
	if root == "" {
		return nil, fmt.Errorf("%s takes a revision of the git repository that the first path is in, and it is in none", flag)
	}
	repository, err := revision.Open(ctx, root, environ)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, name, err)
	}
	tree, err := repository.Resolve(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	s := &since{repository: repository, tree: tree, root: root, folders: map[string]string{}}
	s.real = s.folder(root)
	return s, nil
}

// folder is a folder without the symbolic links in its path; what does not exist has none.
func (s *since) folder(dir string) string {
	at, known := s.folders[dir]
	if !known {
		var err error
		if at, err = filepath.EvalSymlinks(dir); err != nil {
			at = dir
			if up := filepath.Dir(dir); up != dir {
				at = filepath.Join(s.folder(up), filepath.Base(dir))
			}
		}
		s.folders[dir] = at
	}
	return at
}

// path names a file as git does: from the root, with forward slashes; the root itself is ".". inside is false for one that lies
// elsewhere.
func (s *since) path(abs string) (name string, inside bool) {
	at := filepath.Join(s.folder(filepath.Dir(abs)), filepath.Base(abs))
	if info, err := os.Lstat(abs); err == nil && (info.Mode()&fs.ModeSymlink != 0 || info.IsDir()) {
		at = s.folder(abs)
	}
	rel, err := filepath.Rel(s.real, at)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// checkPaths returns an error for a path that the revision has nothing to say about.
func (s *since) checkPaths(w *walker, paths []string) error {
	for _, p := range paths {
		if _, inside := s.path(w.absolute(p)); !inside {
			return fmt.Errorf("--since: %s is not in the repository %s, so there is nothing to compare it with", p, w.name(s.root, false))
		}
	}
	return nil
}

// reach is a folder that a run reads.
type reach struct {
	path   string // as git names it
	abs    string // as the run comes there
	asked  bool   // somebody named it by its absolute path
	filter *pathFilter
	focus  bool
}

// reaches are the folders in which a file that is not there any more would have been read.
func (r *lintRun) reaches(s *since) []reach {
	var out []reach
	add := func(p reach) {
		var inside bool
		if p.path, inside = s.path(p.abs); inside {
			out = append(out, p)
		}
	}
	for _, arg := range r.args {
		add(reach{abs: r.walker.absolute(arg), asked: filepath.IsAbs(arg), focus: true})
	}
	for _, arg := range r.flags.context {
		add(reach{abs: r.walker.absolute(arg), asked: filepath.IsAbs(arg)})
	}
	for _, c := range r.used {
		switch {
		case c.isolated:
		case c.Context != nil:
			for _, glob := range c.Context {
				dir, filter := globFolder(c.base, glob)
				add(reach{abs: dir, filter: filter})
			}
		case c.repo != "":
			add(reach{abs: c.repo})
		}
	}
	return out
}

// below says whether a file or folder lies in the place, and how it is named from there.
func (p *reach) below(name string) (rest string, below bool) {
	if p.path == "." {
		return name, true
	}
	return strings.CutPrefix(name, p.path+"/")
}

// leadsTo says whether the place is at or below a folder.
func (p *reach) leadsTo(dir string) bool {
	return p.path == dir || strings.HasPrefix(p.path, dir+"/")
}

// gone finds out how a run would read files that are not there any more.
type gone struct {
	walker *walker
	places []reach
	stacks map[string]ignoreStack // by folder, nil for those that are not entered
}

// name returns what a report calls a file that git names, and whether it would be in focus; "" if it would not be read.
func (g *gone) name(file string) (name string, focus bool) {
	if !isManifestName(file) {
		return "", false
	}
	for i := range g.places {
		p := &g.places[i]
		rest, below := p.below(file)
		if !below {
			continue
		}
		abs := filepath.Join(p.abs, filepath.FromSlash(rest))
		stack, entered := g.enter(p.abs, path.Dir(rest))
		if !entered || stack.ignores(abs, false) || g.walker.exclude.match(abs) != "" || p.filter != nil && p.filter.match(abs) == "" {
			continue
		}
		return g.walker.name(abs, p.asked), p.focus
	}
	return "", false
}

// enter returns the ignore files for a folder below a place, as the walker would have collected them on the way there.
func (g *gone) enter(top, rest string) (ignoreStack, bool) {
	at := filepath.Join(top, filepath.FromSlash(rest))
	if stack, known := g.stacks[at]; known {
		return stack, stack != nil
	}
	var stack ignoreStack
	entered := g.walker.exclude.match(at) == ""
	if rest == "." {
		stack = append(ignoreStack{nil}, ignoreStackAt(findRepository(top), top, g.walker.ignoreFileLost)...)
	} else if entered {
		var above ignoreStack
		above, entered = g.enter(top, path.Dir(rest))
		if entered = entered && path.Base(rest) != ".git" && !above.ignores(at, true); entered {
			stack = above.enter(at, g.walker.ignoreFileLost)
		}
	}
	if !entered {
		stack = nil
	}
	g.stacks[at] = stack
	return stack, entered
}

// before is what a run reads, as it was at a revision.
type before struct {
	files, around []*object.File
	unchanged     map[string]bool // names of files that are as they were
	changed       bool            // not all of them are
	nested        map[string]bool // submodules; true for those of which files are read
}

// oldFile is a file of the revision that is to be read.
type oldFile struct {
	revision.Entry
	name  string
	focus bool
	now   *object.File // nil for one that is gone
}

// read reads what a run reads, as it was. A file that is as it was is not read again.
func (s *since) read(ctx context.Context, r *lintRun, in *inputs) (*before, error) {
	out := &before{unchanged: map[string]bool{}, nested: map[string]bool{}}
	type reading struct {
		file  *object.File
		focus bool
		seen  bool
	}
	keep := func(f *object.File, focus bool) {
		out.unchanged[f.Name] = true
		if focus {
			out.files = append(out.files, f)
		} else {
			out.around = append(out.around, f)
		}
	}
	now := map[string]*reading{}
	for _, set := range [...]struct {
		files []*object.File
		focus bool
	}{{in.files, true}, {in.around, false}} {
		for _, f := range set.files {
			if at, inside := s.path(r.walker.absolute(filepath.FromSlash(f.Name))); inside {
				now[at] = &reading{file: f, focus: set.focus}
			} else { // context in another place, which no change of this repository touches
				keep(f, set.focus)
			}
		}
	}
	g := gone{walker: r.walker, places: r.reaches(s), stacks: map[string]ignoreStack{}}
	var here, absent []oldFile
	enter := func(dir string) bool {
		return slices.ContainsFunc(g.places, func(p reach) bool {
			_, below := p.below(dir)
			return below || p.leadsTo(dir)
		})
	}
	err := s.tree.Walk(ctx, enter, func(e revision.Entry) {
		f := now[e.Path]
		switch {
		case e.Type == revision.Nested:
			// A folder that has taken its place is part of the change.
			if repositoryAt(filepath.Join(s.root, filepath.FromSlash(e.Path))) != "" {
				out.nested[e.Path] = false
			}
		case e.Type != revision.File:
		case f != nil:
			f.seen = true
			here = append(here, oldFile{e, f.file.Name, f.focus, f.file})
		default:
			if name, focus := g.name(e.Path); name != "" && !isFile(filepath.Join(s.root, filepath.FromSlash(e.Path))) {
				absent = append(absent, oldFile{e, name, focus, nil})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if absent, err = s.removed(ctx, absent); err != nil {
		return nil, err
	}
	changed := absent
	for i, same := range s.unchanged(ctx, r.walker, here) {
		if same {
			keep(here[i].now, here[i].focus)
		} else {
			changed = append(changed, here[i])
		}
	}
	for at, f := range now {
		if sub := out.above(at); sub != "" {
			out.nested[sub] = true
			keep(f.file, f.focus)
		} else if !f.seen {
			out.changed = true // it is new
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("compare with %s: %w", s.tree.Name(), err)
	}
	old, err := s.load(ctx, changed)
	if err != nil {
		return nil, err
	}
	for i, f := range old {
		e := &changed[i]
		switch {
		case e.now != nil && f.Text() != "" && revision.PlainEnds(f.Text()) == revision.PlainEnds(e.now.Text()):
			keep(e.now, e.focus)
			continue
		case e.focus:
			out.files = append(out.files, f)
		default:
			out.around = append(out.around, f)
		}
		out.changed = true
	}
	byName := func(a, b *object.File) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(out.files, byName)
	slices.SortFunc(out.around, byName)
	return out, nil
}

// above is the submodule that a file is in, "" if it is in none.
func (b *before) above(file string) string {
	for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if _, nested := b.nested[dir]; nested {
			return dir
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// removed are those of the files that are missing which somebody removed, or moved.
func (s *since) removed(ctx context.Context, missing []oldFile) ([]oldFile, error) {
	names := map[string]bool{}
	for _, e := range missing {
		names[e.Path] = true
	}
	sparse, err := s.repository.LeftOut(ctx, names)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(missing, func(e oldFile) bool { return sparse[e.Path] }), nil
}

// mostCompared is the size up to which a file is compared, in bytes: larger ones hold nothing that is judged.
func mostCompared() int64 { return int64(object.Limits{}.WithDefaults().FileBytes) }

// unchanged says of each file whether it is as it was.
func (s *since) unchanged(ctx context.Context, w *walker, list []oldFile) []bool {
	out := make([]bool, len(list))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				e := &list[i]
				if text := e.now.Text(); text != "" {
					mark := ""
					if e.now.HasBOM() {
						mark = "\ufeff"
					}
					out[i] = s.tree.Holds(e.Entry, mark, text)
					continue
				}
				// Of what holds nothing to report of, no text is kept.
				info, err := os.Stat(w.absolute(filepath.FromSlash(e.name)))
				if err != nil || !info.Mode().IsRegular() || info.Size() > mostCompared() {
					continue
				}
				if data, err := os.ReadFile(w.absolute(filepath.FromSlash(e.name))); err == nil {
					out[i] = s.tree.Holds(e.Entry, string(data))
				}
			}
		})
	}
	wg.Wait()
	return out
}

// load reads files of the revision. git hands out one after the other, and they are parsed side by side.
func (s *since) load(ctx context.Context, list []oldFile) ([]*object.File, error) {
	out := make([]*object.File, len(list))
	errs := make([]error, len(list))
	var failed error
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i := range list {
		e := &list[i]
		err := s.tree.Read(ctx, e.Entry, func(size int64, content io.Reader) (err error) {
			if size > mostCompared() { // it is read piece by piece
				out[i], err = object.Load(ctx, e.name, content, object.Limits{})
				return err
			}
			free <- struct{}{}
			var text strings.Builder
			text.Grow(int(size))
			if _, err := io.Copy(&text, content); err != nil {
				<-free
				return err
			}
			wg.Go(func() {
				defer func() { <-free }()
				out[i], errs[i] = object.Load(ctx, e.name, strings.NewReader(text.String()), object.Limits{})
			})
			return nil
		})
		if err != nil {
			failed = err
			break
		}
	}
	wg.Wait()
	return out, errors.Join(failed, errors.Join(errs...))
}

// earlier reads and judges what a run reads as it was. The report is nil if nothing of that has changed.
func (s *since) earlier(ctx context.Context, r *lintRun, in *inputs, rep *lint.Report) (*before, *lint.Report, error) {
	if s.was == nil {
		var err error
		if s.was, err = s.read(ctx, r, in); err != nil {
			return nil, nil, err
		}
	}
	if !s.was.changed {
		return s.was, nil, nil
	}
	report, err := in.judge.earlier(ctx, s.was.files, s.was.around, rep)
	return s.was, report, err
}

// compare takes what was found at the revision too out of a report about files, which may have been fixed since they were read. It
// returns the report about the revision, if it needed one.
func (s *since) compare(ctx context.Context, r *lintRun, in *inputs, files []*object.File, rep *lint.Report) (*lint.Report, error) {
	b := &lint.Before{
		Since:     lint.Since{Revision: s.tree.Name(), Commit: s.tree.Commit()},
		Unchanged: func(string) bool { return false },
	}
	if len(rep.Findings) > 0 {
		was, report, err := s.earlier(ctx, r, in, rep)
		if err != nil {
			return nil, err
		}
		for _, sub := range slices.Sorted(maps.Keys(was.nested)) {
			if was.nested[sub] {
				rep.Skipped = append(rep.Skipped, lint.Skip{
					File:   r.walker.name(filepath.Join(s.root, filepath.FromSlash(sub)), false),
					Reason: "is a submodule: its files count as they are for unchanged since " + s.tree.Name(),
					Cause:  lint.Unread,
				})
			}
		}
		b.Report = report
		b.Now, b.Then = slices.Concat(files, in.around), slices.Concat(was.files, was.around)
		b.Unchanged = func(name string) bool { return was.unchanged[name] }
	}
	rep.Compare(b)
	return b.Report, nil
}
