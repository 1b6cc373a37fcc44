package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/meshvet/meshvet/lint/render"
)

// maxChartDepth bounds how deep charts are within charts. An archive can hold itself.
const maxChartDepth = 32

// loadedChart is a chart with all the charts in its folder charts.
type loadedChart struct {
	chart   *chart.Chart
	where   map[*chart.Chart]string // folder or archive of each chart, relative to Root, with slashes
	sources map[*common.File]string // and the paths of templates. Of one in an archive it is the path that it had if that were a folder
}

// manifest is the path of Chart.yaml.
func (c *loadedChart) manifest() string { return path.Join(c.where[c.chart], chartFile) }

const chartFile = "Chart.yaml"

// chartLoader reads a chart. Helm's own packages make a chart of its files. What finds these files is written here, since Helm follows
// links to everywhere, and has no bound for all the archives together that lie in an archive.
type chartLoader struct {
	root     *os.Root
	rootPath string // without links
	limits   render.Limits
	bytes    int64 // that have been read
	files    int   // that have been read
	loadedChart
}

// loadChart loads the folder or archive at name, an absolute path within the folder root. Files that are within neither are not read.
func loadChart(name, root string, l render.Limits) (*loadedChart, error) {
	rootPath, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("find the folder that is read: %w", err)
	}
	chartPath, err := filepath.EvalSymlinks(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail("", 0, "there is no chart at %s: name the folder that holds Chart.yaml, or a .tgz made by `helm package`", name)
	case err != nil:
		return nil, fail("", 0, "the chart %s cannot be read: %s", name, words(err))
	}
	rel, err := filepath.Rel(rootPath, chartPath)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fail("", 0, "the chart %s is not in %s, outside of which nothing is read", name, root)
	}
	dir, err := os.OpenRoot(rootPath)
	if err != nil {
		return nil, fmt.Errorf("open the folder that is read: %w", err)
	}
	defer dir.Close() //nolint:errcheck // it was only read
	c := &chartLoader{root: dir, rootPath: rootPath, limits: l, loadedChart: loadedChart{
		where: map[*chart.Chart]string{}, sources: map[*common.File]string{},
	}}
	where := filepath.ToSlash(rel)
	info, err := dir.Stat(rel)
	if err != nil {
		return nil, fail(where, 0, "the chart cannot be read: %s", words(err))
	}
	var files []*archive.BufferedFile
	if info.IsDir() {
		files, err = c.folder(rel)
	} else {
		files, err = c.archiveFile(rel, info)
	}
	if err != nil {
		return nil, err
	}
	if err := c.checkVersion(files, where); err != nil {
		return nil, err
	}
	if c.chart, err = c.assemble(files, where, 0); err != nil {
		return nil, err
	}
	return &c.loadedChart, nil
}

// folder reads the files of a chart that .helmignore lets pass.
func (c *chartLoader) folder(dir string) ([]*archive.BufferedFile, error) {
	rules := ignore.Empty()
	at := filepath.Join(dir, ignore.HelmIgnore)
	if _, err := c.root.Lstat(at); err == nil {
		to, info, err := c.resolve(at)
		if err != nil {
			return nil, err
		}
		text, err := c.read(to, info)
		if err != nil {
			return nil, err
		}
		if rules, err = ignore.Parse(bytes.NewReader(text)); err != nil {
			return nil, fail(filepath.ToSlash(at), 0, "%s", words(err))
		}
	}
	rules.AddDefaults()
	w := &chartWalk{chartLoader: c, rules: rules}
	if err := w.walk(dir, "", []string{dir}); err != nil {
		return nil, err
	}
	return w.found, nil
}

// chartWalk collects the files of a folder.
type chartWalk struct {
	*chartLoader
	rules *ignore.Rules
	found []*archive.BufferedFile
	seen  int // entries of folders, which cost time also where they are ignored
}

// walk reads the folder dir, a path relative to the root and without links, which the chart knows as name. Above are the folders that
// it is in, and itself: a link that leads to one of these has no end.
func (w *chartWalk) walk(dir, name string, above []string) error {
	f, err := w.root.Open(dir)
	if err != nil {
		return w.unreadable(dir, err)
	}
	entries, err := f.ReadDir(-1)
	f.Close() //nolint:errcheck // it was only read
	if err != nil {
		return w.unreadable(dir, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if w.seen++; w.seen > 10*w.limits.Files {
			return w.tooMany()
		}
		at, called := filepath.Join(dir, e.Name()), path.Join(name, e.Name())
		info, err := w.root.Lstat(at)
		if err != nil {
			return w.unreadable(at, err)
		}
		if w.rules.Ignore(called, info) {
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if at, info, err = w.resolve(at); err != nil {
				return err
			}
			if w.rules.Ignore(called, info) {
				continue
			}
		}
		if info.IsDir() {
			if slices.Contains(above, at) {
				return fail(filepath.ToSlash(filepath.Join(dir, e.Name())), 0, "this link leads to a folder that it is in: remove it, or name it in .helmignore")
			}
			if err := w.walk(at, called, append(slices.Clone(above), at)); err != nil {
				return err
			}
			continue
		}
		text, err := w.read(at, info)
		if err != nil {
			return err
		}
		w.found = append(w.found, &archive.BufferedFile{Name: called, ModTime: info.ModTime(), Data: bytes.TrimPrefix(text, []byte("\ufeff"))})
	}
	return nil
}

// resolve follows a link, which may be a plain file, to a path without links. It has to be within the root.
func (c *chartLoader) resolve(at string) (string, fs.FileInfo, error) {
	target, err := filepath.EvalSymlinks(filepath.Join(c.rootPath, at))
	if err != nil {
		return "", nil, fail(filepath.ToSlash(at), 0, "this link cannot be followed: %s", words(err))
	}
	rel, err := filepath.Rel(c.rootPath, target)
	if err != nil || !filepath.IsLocal(rel) {
		return "", nil, fail(filepath.ToSlash(at), 0,
			"this link leads to %s, outside of %s, where nothing is read: put the file into the chart, or name the link in .helmignore", target, c.rootPath)
	}
	info, err := c.root.Lstat(rel)
	if err != nil {
		return "", nil, c.unreadable(at, err)
	}
	return rel, info, nil
}

// read reads a file at a path without links.
func (c *chartLoader) read(at string, info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, fail(filepath.ToSlash(at), 0, "this is no regular file, which everything in a chart has to be: remove it, or name it in .helmignore")
	}
	if err := c.spend(info.Size()); err != nil {
		return nil, err
	}
	f, err := c.root.Open(at)
	if err != nil {
		return nil, c.unreadable(at, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(f, info.Size()+1))
	if err != nil {
		return nil, c.unreadable(at, err)
	}
	if int64(len(text)) > info.Size() {
		return nil, fail(filepath.ToSlash(at), 0, "this file grows while it is read")
	}
	return text, nil
}

// spend counts a file against the bounds.
func (c *chartLoader) spend(size int64) error {
	if c.files++; c.files > c.limits.Files {
		return c.tooMany()
	}
	if size < 0 || size > c.limits.Unpacked-c.bytes {
		return fail("", 0, "the files of the chart have more than %s together: name what is no part of it in .helmignore", sizeOf(c.limits.Unpacked))
	}
	c.bytes += size
	return nil
}

func (c *chartLoader) tooMany() error {
	return fail("", 0, "the chart has more than %d files: name what is no part of it in .helmignore", c.limits.Files)
}

func (c *chartLoader) unreadable(at string, err error) error {
	return fail(filepath.ToSlash(at), 0, "this cannot be read: %s", words(err))
}

// checkVersion refuses charts that Helm does not render.
func (c *chartLoader) checkVersion(files []*archive.BufferedFile, where string) error {
	i := slices.IndexFunc(files, func(f *archive.BufferedFile) bool { return f.Name == chartFile })
	if i < 0 {
		return fail(where, 0, "there is no Chart.yaml, which every chart has: name the folder that holds it")
	}
	version, err := apiVersion(files[i].Data)
	if err != nil {
		return loadFailure(fmt.Errorf("cannot load Chart.yaml: %w", err), where, files)
	}
	switch version {
	case "", chart.APIVersionV1, chart.APIVersionV2:
		return nil
	default:
		return fail(path.Join(where, chartFile), lineOf(files[i].Data, "apiVersion:"), "Helm renders no charts of apiVersion %q, but of v1 and v2", version)
	}
}

// assemble makes a chart of its files, and charts of what is in its folder charts, as Helm's loader does. Its place is relative to the
// root.
func (c *chartLoader) assemble(files []*archive.BufferedFile, where string, depth int) (*chart.Chart, error) {
	if depth > maxChartDepth {
		return nil, fail(where, 0, "charts are in charts, more than %d deep", maxChartDepth)
	}
	var own []*archive.BufferedFile
	within := map[string][]*archive.BufferedFile{}
	for _, f := range files {
		name, is := strings.CutPrefix(f.Name, "charts/")
		if !is || filepath.Ext(f.Name) == ".prov" {
			own = append(own, f)
			continue
		}
		first, _, _ := strings.Cut(name, "/")
		within[first] = append(within[first], &archive.BufferedFile{Name: name, ModTime: f.ModTime, Data: f.Data})
	}
	made, err := loader.LoadFiles(own)
	if err != nil {
		return nil, loadFailure(err, where, own)
	}
	c.where[made] = where
	for _, f := range made.Templates {
		c.sources[f] = path.Join(where, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(within)) {
		if strings.IndexAny(name, "_.") == 0 {
			continue
		}
		inner, at := within[name], path.Join(where, "charts", name)
		var unpacked []*archive.BufferedFile
		if filepath.Ext(name) == ".tgz" {
			if inner[0].Name != name {
				return nil, fail(at, 0, "this is a folder, and is called as if it were a packed chart")
			}
			if unpacked, err = c.unpack(inner[0].Data, at); err != nil {
				return nil, err
			}
		} else {
			for _, f := range inner {
				if _, rest, is := strings.Cut(f.Name, "/"); is {
					unpacked = append(unpacked, &archive.BufferedFile{Name: rest, ModTime: f.ModTime, Data: f.Data})
				}
			}
		}
		sub, err := c.assemble(unpacked, at, depth+1)
		if err != nil {
			return nil, err
		}
		made.AddDependency(sub)
	}
	return made, nil
}
