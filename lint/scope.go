package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/meshvet/meshvet/lint/object"
)

// scope is one mesh of the files that were read: its own files, and those that it shares with other scopes.
type scope struct {
	name     string
	own      []*object.File
	shared   []*object.File
	isShared bool // own are the files that the scopes below have in common
}

func (s *scope) describe() Scope {
	out := Scope{Name: s.name}
	for _, f := range slices.Concat(s.shared, s.own) {
		if len(f.Objects) > 0 {
			out.Files = append(out.Files, f.Name)
		}
	}
	slices.Sort(out.Files)
	return out
}

// ScopeConfig names a mesh and the files that make it up.
type ScopeConfig struct {
	Name  string
	Paths []string // globs, ** included
}

// cutScopes decides which files see one another. Configured scopes come first: a file belongs to the first that matches, and
// the rest is cut by content. There, a folder is one mesh until two of its files define the same object; then each folder
// below the nearest common one is a mesh of its own, and files above are shared by all of them.
func cutScopes(files []*object.File, config []ScopeConfig, dir string) ([]*scope, error) {
	var out []*scope
	rest := files
	for _, c := range config {
		if c.Name == "" || len(c.Paths) == 0 {
			return nil, errNoScope
		}
		s := &scope{name: c.Name}
		rest = slices.DeleteFunc(slices.Clone(rest), func(f *object.File) bool {
			in := slices.ContainsFunc(c.Paths, func(glob string) bool { return matchPath(glob, f.Name) })
			if in {
				s.own = append(s.own, f)
			}
			return in
		})
		out = append(out, s)
	}
	root := newFolder("")
	for _, f := range rest {
		root.add(f, strings.Split(absolute(dir, f.Name), "/"))
	}
	for _, s := range root.cut(nil) {
		s.name = relative(dir, s.name)
		if strings.HasPrefix(s.name, "../") && slices.ContainsFunc(s.own, func(f *object.File) bool { return path.IsAbs(f.Name) }) {
			s.name = path.Join("/", dir, s.name)
		}
		out = append(out, s)
	}
	return out, nil
}

// absolute names a file from the root, so that how folders nest does not depend on where the run was started.
func absolute(dir, name string) string {
	if dir == "" {
		return path.Clean(name)
	}
	if !path.IsAbs(name) {
		name = path.Join(dir, name)
	}
	return strings.TrimPrefix(path.Clean(name), "/")
}

// relative names a folder from the folder that a run is started in.
func relative(dir, name string) string {
	if dir == "" {
		return name
	}
	from, to := strings.Split(strings.Trim(dir, "/"), "/"), strings.Split(name, "/")
	if from[0] == "" {
		return name // started in the root
	}
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	return path.Clean(strings.Repeat("../", len(from)) + strings.Join(to, "/"))
}

// maxExpansions bounds the patterns that one pattern with braces stands for: each is tried on each file.
const maxExpansions = 256

// globFault says why a pattern of the configuration can match no file, or costs too much to match; "" if it is fine. inside says
// that it is matched against what is below the configuration's folder only.
func globFault(glob string, inside bool) string {
	clean := path.Clean(glob)
	switch {
	case glob == "":
		return "matches no file; remove it"
	case glob[0] == '!':
		return "matches no file: a pattern cannot be negated; list what it is about"
	case glob[0] == '/':
		return "is absolute, and paths here are relative to the configuration's folder; write it relative to that"
	case inside && (clean == ".." || strings.HasPrefix(clean, "../")):
		return "matches no file: only what is below the configuration's folder is matched"
	case !doublestar.ValidatePattern(glob):
		return "is not a valid pattern"
	case expansions(glob) > maxExpansions:
		return fmt.Sprintf("stands for more than %d patterns; list them, or use fewer braces", maxExpansions)
	}
	return ""
}

// expansions counts the patterns without braces that a valid pattern stands for, up to one more than maxExpansions.
func expansions(glob string) int {
	type group struct{ before, here int } // of the alternatives before this one, and of what there is of this one
	open := []group{{0, 1}}
	for i := 0; i < len(glob); i++ {
		top := &open[len(open)-1]
		switch c := glob[i]; {
		case c == '\\':
			i++
		case c == '[': // a class, in which braces are characters
			for i++; i < len(glob) && glob[i] != ']'; i++ {
				if glob[i] == '\\' {
					i++
				}
			}
		case c == '{':
			open = append(open, group{0, 1})
		case c == ',' && len(open) > 1:
			top.before, top.here = min(top.before+top.here, maxExpansions+1), 1
		case c == '}' && len(open) > 1:
			n := top.before + top.here
			open = open[:len(open)-1]
			top = &open[len(open)-1]
			top.here = min(top.here*n, maxExpansions+1)
		}
	}
	return open[0].here
}

// matchPath says whether a file matches a glob of the configuration; a pattern for a folder takes in what is below it.
func matchPath(glob, name string) bool {
	glob = strings.TrimSuffix(strings.TrimPrefix(glob, "./"), "/")
	if ok, err := doublestar.Match(glob, name); err == nil && ok {
		return true
	}
	ok, err := doublestar.Match(glob+"/**", name)
	return err == nil && ok
}

// folder is a node of the tree of files.
type folder struct {
	name    string
	files   []*object.File
	folders map[string]*folder
	order   []string
}

func newFolder(name string) *folder { return &folder{name: name, folders: map[string]*folder{}} }

func (d *folder) add(f *object.File, parts []string) {
	if len(parts) == 1 {
		d.files = append(d.files, f)
		return
	}
	sub := d.folders[parts[0]]
	if sub == nil {
		sub = newFolder(path.Join(d.name, parts[0]))
		if d.name == "" && parts[0] == "" {
			sub.name = "/"
		}
		d.folders[parts[0]] = sub
		d.order = append(d.order, parts[0])
	}
	sub.add(f, parts[1:])
}

func (d *folder) all() []*object.File {
	out := slices.Clone(d.files)
	for _, name := range d.order {
		out = append(out, d.folders[name].all()...)
	}
	return out
}

// cut makes scopes of a folder. shared are the files of the folders above it.
func (d *folder) cut(shared []*object.File) []*scope {
	switch {
	case len(d.files) == 0 && len(d.order) == 1: // nothing is decided here
		return d.folders[d.order[0]].cut(shared)
	case !d.collides():
		name := d.name
		if name == "" {
			name = "."
		}
		return []*scope{{name: name, own: d.all(), shared: shared}}
	}
	var out []*scope
	above := slices.Concat(shared, d.files)
	for _, name := range d.order {
		out = append(out, d.folders[name].cut(above)...)
	}
	if len(d.files) > 0 {
		// The shared files are judged once, in the light of themselves: each mesh below may answer differently.
		out = append(out, &scope{name: path.Join(d.name, "(shared)"), own: d.files, shared: shared, isShared: true})
	}
	return out
}

// collides says whether two different sub-folders, or a sub-folder and the folder itself, define the same object. Twice in one
// folder or one file is no second mesh but a duplicate.
func (d *folder) collides() bool {
	if len(d.order) == 0 {
		return false
	}
	owner := map[object.Key]string{}
	claim := func(f *object.File, branch string) bool {
		for _, o := range f.Objects {
			if !scoped(o) {
				continue
			}
			key := o.Key
			if have, ok := owner[key]; ok && have != branch {
				return true
			}
			owner[key] = branch
		}
		return false
	}
	for _, f := range d.files {
		if claim(f, "") {
			return true
		}
	}
	for _, name := range d.order {
		for _, f := range d.folders[name].all() {
			if claim(f, "/"+name) {
				return true
			}
		}
	}
	return d.collidesBelow()
}

// collidesBelow says whether a sub-folder would itself be cut; then this folder cannot be one mesh either, for the files
// beside that sub-folder are shared by meshes.
func (d *folder) collidesBelow() bool {
	for _, name := range d.order {
		if d.folders[name].collides() {
			return true
		}
	}
	return false
}

// scoped says whether an object tells meshes apart. Namespaces and the like are repeated by habit in one mesh.
func scoped(o *object.Object) bool {
	return !o.Stray && o.Name != "" && o.Kind != object.Namespace
}
