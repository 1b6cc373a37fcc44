package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// The bounds of what a configuration extends.
const (
	maxExtendsDepth = 10  // files that extend one another in a row, the configuration included
	maxExtendsFiles = 100 // files that are read in all; one that is named twice counts twice
	maxExtendsBytes = 4 << 20
)

// ConfigLoader reads a configuration with the files that it extends. Paths are absolute, with forward slashes.
type ConfigLoader struct {
	// Read returns what a file holds. It answers for it that a link does not lead out of Root.
	Read func(path string) ([]byte, error)
	// Name is what problems call a file; nil = its path.
	Name func(path string) string
	// Root is the folder, usually that of the repository, which no file that is extended may lie outside of.
	Root string
	// Trace is given, if it is not nil, where each key is written that counts: by its path, such as istio.version.
	Trace map[string]object.Location
}

// Load reads the configuration in file, whose text is given, and what it extends. folder is what the paths in it are relative to. Its
// problems are those of ReadConfig, each in the file that holds the mistake.
//
// Files are read in the order in which they are named, each after what it extends itself, and what is read later wins: a key of the
// configuration replaces that of what it extends. Keys of istio, context and webhook count one by one. So do rules, and of a rule its
// severity and each option; overrides are added. The presets that any of the files names hold together.
//
// A file that is called .meshvet.yaml is the configuration of its folder, and paths in it are relative to that wherever it is
// extended. Any other is a preset for whoever extends it: its paths are relative to folder.
func (l *ConfigLoader) Load(file string, text []byte, folder string) (*Config, []object.Problem) {
	name := l.Name
	if name == nil {
		name = func(path string) string { return path }
	}
	load := loading{ConfigLoader: *l, name: name, cfg: &Config{Version: 1, Source: name(file)}}
	if !load.file(file, folder, text, nil) {
		return nil, load.problems
	}
	load.place(folder)
	load.countOverrides()
	return load.cfg, load.problems
}

// ConfigNames are what the configuration of a folder is called, the preferred name first.
func ConfigNames() []string { return []string{".meshvet.yaml", ".meshvet.yml"} }

// loading is one Load.
type loading struct {
	ConfigLoader
	name     func(string) string
	cfg      *Config
	read     int // files that were extended
	bytes    int // of these
	problems []object.Problem
}

// file reads one file into the configuration. chain are the files that led to it. It returns false if the text cannot be read at all.
func (l *loading) file(file, folder string, text []byte, chain []string) bool {
	doc, p := object.ParseDocument(l.name(file), text, object.Limits{})
	if p != nil {
		l.problems = append(l.problems, *p)
		return false
	}
	l.cfg.Files = append(l.cfg.Files, l.name(file))
	r := &configReader{doc: doc, folder: folder, trace: l.Trace}
	if v := doc.Root().Get("extends"); v.Set() {
		l.extends(r, v, file, append(slices.Clip(chain), file))
	}
	if len(l.cfg.Rules) > 0 || len(l.cfg.Overrides) > 0 {
		l.cfg.Inherited = append(l.cfg.Inherited, Layer{Rules: l.cfg.Rules, Overrides: l.cfg.Overrides})
		l.cfg.Rules, l.cfg.Overrides = nil, nil
	}
	r.read(nil, doc.Root(), r.keys(l.cfg))
	l.problems = append(l.problems, r.problems...)
	return true
}

// remote is how addresses begin that are no paths: a scheme, or a host and a colon.
var remote = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.@-]+:`)

// extends reads the presets and files that a file extends. chain ends in that file.
func (l *loading) extends(r *configReader, v object.Value, file string, chain []string) {
	at := object.Path{"extends"}
	names := r.strings(at, v)
	if v.Type() == object.List && v.Len() == 0 && l.cfg.Extends == nil {
		l.cfg.Extends = []string{}
	}
	for i, name := range names {
		at := at.Child(i)
		switch {
		case v.At(i).Type() != object.String:
		case slices.Contains(PresetNames(), name):
			l.cfg.Extends = append(l.cfg.Extends, name)
		case remote.MatchString(name):
			r.fail(at, "%q is not in the repository, and only what is can be extended; copy it there, and write its path relative to this file", name)
		case !strings.ContainsAny(name, "./"):
			r.fail(at, "%q is no preset%s; a file is written with its ending, such as presets/team.yaml", name, didYouMean(name, PresetNames()))
		case strings.HasPrefix(name, "/") || strings.Contains(name, `\`):
			r.fail(at, "%q is no path relative to this file, with forward slashes", name)
		case l.Read == nil:
			r.fail(at, "%q is a file, and this configuration, which is read by itself, can extend presets only: %s; write here what it says", name, strings.Join(PresetNames(), ", "))
		default:
			l.extend(r, at, path.Join(path.Dir(file), name), chain)
		}
	}
	l.problems = append(l.problems, r.problems...)
	r.problems = nil
}

// extend reads a file that is extended.
func (l *loading) extend(r *configReader, at object.Path, file string, chain []string) {
	told := func() string {
		names := make([]string, 0, len(chain)+1)
		for _, f := range append(slices.Clip(chain), file) {
			names = append(names, l.name(f))
		}
		return strings.Join(names, " → ")
	}
	switch {
	case !isWithin(l.Root, file):
		r.fail(at, "%s is outside of %s, and only what is inside can be extended", l.name(file), l.name(l.Root))
		return
	case slices.Contains(chain, file):
		r.fail(at, "a configuration cannot extend itself: %s", told())
		return
	case len(chain) >= maxExtendsDepth:
		r.fail(at, "more than %d files extend one another: %s", maxExtendsDepth, told())
		return
	}
	if l.read++; l.read > maxExtendsFiles {
		if l.read == maxExtendsFiles+1 { // once is enough
			r.fail(at, "more than %d files are extended in all", maxExtendsFiles)
		}
		return
	}
	text, err := l.Read(file)
	if err != nil {
		r.fail(at, "%s cannot be extended: %s", l.name(file), err)
		return
	}
	if l.bytes += len(text); l.bytes > maxExtendsBytes {
		r.fail(at, "more than %d MiB are extended in all", maxExtendsBytes>>20)
		l.read = maxExtendsFiles + 1
		return
	}
	folder := r.folder
	if slices.Contains(ConfigNames(), path.Base(file)) {
		folder = path.Dir(file)
	}
	l.file(file, folder, text, chain)
}

// isWithin says whether a file lies in a folder or below it, going by its path.
func isWithin(folder, file string) bool {
	return folder == "/" || strings.HasPrefix(file, strings.TrimSuffix(folder, "/")+"/")
}

// place makes the paths of all files relative to one folder: that of the configuration, or, where what it extends is the
// configuration of another folder, the nearest above both.
func (l *loading) place(folder string) {
	c := l.cfg
	home := folder
	above := func(other string, globs []string) {
		for len(globs) > 0 && other != home && !isWithin(home, other) {
			home = path.Dir(home)
		}
	}
	above(c.excludeIn, c.Exclude)
	above(c.contextIn, c.Context)
	if c.Baseline != "" {
		above(c.baselineIn, []string{c.Baseline})
	}
	for _, s := range c.Scopes {
		above(c.scopesIn, s.Paths)
	}
	eachOverride := func(do func(*Override)) {
		for i := range c.Inherited {
			for j := range c.Inherited[i].Overrides {
				do(&c.Inherited[i].Overrides[j])
			}
		}
		for i := range c.Overrides {
			do(&c.Overrides[i])
		}
	}
	eachOverride(func(o *Override) { above(o.folder, o.Paths) })

	c.Folder = home
	replace := func(globs []string, from string) {
		if from == home {
			return // they stay as they are written
		}
		below := EscapeGlob(strings.TrimPrefix(strings.TrimPrefix(from, home), "/"))
		for i, g := range globs {
			globs[i] = path.Join(below, g)
		}
	}
	replace(c.Exclude, c.excludeIn)
	replace(c.Context, c.contextIn)
	if c.Baseline != "" && c.baselineIn != home {
		c.Baseline = path.Join(strings.TrimPrefix(strings.TrimPrefix(c.baselineIn, home), "/"), c.Baseline)
	}
	for _, s := range c.Scopes {
		replace(s.Paths, c.scopesIn)
	}
	eachOverride(func(o *Override) { replace(o.Paths, o.folder) })
}

// countOverrides bounds the overrides of all files together as that of one: all of them are gone through for every object.
func (l *loading) countOverrides() {
	n := 0
	for _, layer := range l.cfg.layers() {
		n += len(layer.Overrides)
	}
	if n > MostEntries && len(l.cfg.Inherited) > 0 {
		l.problems = append(l.problems, object.Problem{
			Kind: BadConfig, Message: fmt.Sprintf("the files that are extended have %d overrides with those here, and %d are the most", n, MostEntries),
			Location: object.Location{File: l.cfg.Source},
		})
	}
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`)

// EscapeGlob returns the glob that matches a path and nothing else.
func EscapeGlob(path string) string { return globEscaper.Replace(path) }
