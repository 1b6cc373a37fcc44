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
	found    bool // by content, not by the configuration
	cluster  bool // it is a cluster's
}

func (s *scope) describe() Scope {
	out := Scope{Name: s.name}
	for _, f := range slices.Concat(s.shared, s.own) {
		if len(f.Objects) > 0 && !f.InCluster() {
			out.Files = append(out.Files, f.Name)
		}
	}
	slices.Sort(out.Files)
	return out
}

func (s *scope) holdsObjects() bool {
	return slices.ContainsFunc(s.own, func(f *object.File) bool { return len(f.Objects) > 0 })
}

// ScopeConfig names a mesh and the files that make it up.
type ScopeConfig struct {
	Name  string
	Paths []string        // globs, ** included; none match no file
	At    object.Location // where it is written
}

// scopesOf cuts files into meshes as a configuration says.
func scopesOf(files []*object.File, c *Config, dir string) ([]*scope, error) {
	if c.Cluster != "" {
		return []*scope{{name: c.Cluster, own: files, cluster: true}}, nil
	}
	return cutScopes(files, c.Scopes, dir)
}

// Rival are two files of which each defines the same object, so that both cannot be part of one mesh.
type Rival struct {
	Key          object.Key
	First, Other string // the names of the files
}

// RivalIn looks for rivals among files: as where no scopes are configured, folders that define the same object are meshes of their own.
func RivalIn(files []*object.File, dir string) (Rival, bool) {
	scopes, err := cutScopes(files, nil, dir)
	if err != nil || len(scopes) < 2 {
		return Rival{}, false
	}
	in := map[object.Key]string{}
	for _, s := range scopes {
		for _, f := range slices.Concat(s.shared, s.own) {
			for _, o := range f.Objects {
				if !scoped(o) {
					continue
				}
				if have := in[o.Key]; have != "" && have != f.Name {
					return Rival{o.Key, have, f.Name}, true
				}
				in[o.Key] = f.Name
			}
		}
	}
	return Rival{}, false
}

// cutScopes decides which files see one another. Configured scopes come first: a file is judged in the first that matches it, and
// others that match it see it too, as overlays see their base. What matches none is cut by content, and the configured scopes do
// not see it. There, a folder is one mesh until two of the folders in it, or one of them and the folder itself, define the same
// object; then each folder below the nearest common one is a mesh of its own, and files above are shared by all of them.
func cutScopes(files []*object.File, config []ScopeConfig, dir string) ([]*scope, error) {
	var out []*scope
	owned := map[*object.File]bool{}
	for _, c := range config {
		if c.Name == "" {
			return nil, errNoScope
		}
		s := &scope{name: c.Name}
		in := newFileSet(c.Paths)
		for _, f := range files {
			switch {
			case !in.holds(f.Name):
			case owned[f]:
				s.shared = append(s.shared, f)
			default:
				owned[f] = true
				s.own = append(s.own, f)
			}
		}
		out = append(out, s)
	}
	root := newFolder("")
	for _, f := range files {
		if !owned[f] {
			root.add(f, strings.Split(absolute(dir, f.Name), "/"))
		}
	}
	root.findCollisions()
	for _, s := range root.cut(nil, nil) {
		if (len(out) > 0 || s.isShared) && !s.holdsObjects() {
			continue // such as the configuration file, which is nobody's mesh
		}
		s.found = true
		s.name = relative(dir, s.name)
		if strings.HasPrefix(s.name, "../") && slices.ContainsFunc(s.own, func(f *object.File) bool { return path.IsAbs(f.Name) }) {
			s.name = path.Join("/", dir, s.name)
		}
		out = append(out, s)
	}
	return out, nil
}

// leftOut tells, once, of files that the scopes of the configuration forgot: they are judged, but the objects in them are in view
// of none of these scopes. Files that do not matter to the configuration are passed over.
func leftOut(scopes []*scope, matters func(*object.File) bool) []Skip {
	var names []string
	configured := false
	for _, s := range scopes {
		configured = configured || !s.found && !s.cluster
		for _, f := range s.own {
			if s.found && len(f.Objects) > 0 && matters(f) {
				names = append(names, f.Name)
			}
		}
	}
	if !configured || len(names) == 0 {
		return nil
	}
	what := "is in no scope of the configuration, so none of them sees it"
	switch n := len(names) - 1; n {
	case 0:
	case 1:
		what = "is in no scope of the configuration, and neither is 1 other file, so none of them sees these"
	default:
		what = fmt.Sprintf("is in no scope of the configuration, and neither are %d other files, so none of them sees these", n)
	}
	return []Skip{{File: slices.Min(names), Reason: what, Cause: Unmatched}}
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

// fileSet is the files that globs match; a glob for a folder takes in what is below it. Those without wildcards, which may be as
// many as there are files, are looked up.
type fileSet struct {
	names map[string]bool
	globs []string
}

func newFileSet(globs []string) fileSet {
	s := fileSet{names: map[string]bool{}}
	for _, g := range globs {
		g = strings.TrimSuffix(strings.TrimPrefix(g, "./"), "/")
		if strings.ContainsAny(g, `*?[{\`) {
			s.globs = append(s.globs, g, g+"/**")
		} else {
			s.names[g] = true
		}
	}
	return s
}

func (s fileSet) holds(name string) bool {
	for at := name; at != "." && at != "/"; at = path.Dir(at) {
		if s.names[at] {
			return true
		}
	}
	return slices.ContainsFunc(s.globs, func(glob string) bool {
		ok, err := doublestar.Match(glob, name)
		return err == nil && ok
	})
}

// folder is a node of the tree of files.
type folder struct {
	name    string
	files   []*object.File
	folders map[string]*folder
	order   []string
	// clashes says that two sub-folders, or a sub-folder and the folder itself, define the same object: twice in one folder or
	// one file is no second mesh but a duplicate. collides says that there is such a folder at or below this one, so that it
	// cannot be one mesh: the files beside it are shared by meshes.
	clashes, collides bool
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

// appendAll appends the files at and below the folder.
func (d *folder) appendAll(out []*object.File) []*object.File {
	out = append(out, d.files...)
	for _, name := range d.order {
		out = d.folders[name].appendAll(out)
	}
	return out
}

// cut makes scopes of a folder whose collisions are found. shared are the files of the folders above it; over is the folder above
// whose files are still to be judged, if there is one: what no folder on the way down tells apart is shared by the same meshes,
// and one scope.
func (d *folder) cut(shared []*object.File, over *folder) []*scope {
	own := &folder{name: d.name, files: d.files}
	if over != nil && len(over.files) > 0 {
		own = &folder{name: over.name, files: slices.Concat(over.files, d.files)}
	}
	switch {
	case len(d.order) == 1 && (len(d.files) == 0 || d.collides && !d.clashes): // nothing is decided here
		return d.folders[d.order[0]].cut(shared, own)
	case !d.collides:
		name := d.name
		if name == "" {
			name = "."
		}
		return []*scope{{name: name, own: d.appendAll(nil), shared: shared}}
	}
	var out []*scope
	above := slices.Concat(shared, own.files)
	for _, name := range d.order {
		out = append(out, d.folders[name].cut(above, nil)...)
	}
	if len(own.files) > 0 {
		// The shared files are judged once, in the light of themselves: each mesh below may answer differently.
		out = append(out, &scope{name: path.Join(own.name, "(shared)"), own: own.files, shared: shared, isShared: true})
	}
	return out
}

// findCollisions decides clashes and collides, and returns what is defined at and below the folder.
func (d *folder) findCollisions() map[object.Key]bool {
	all := map[object.Key]bool{}
	for _, f := range d.files {
		for _, o := range f.Objects {
			if scoped(o) {
				all[o.Key] = true
			}
		}
	}
	for _, name := range d.order {
		sub := d.folders[name]
		keys := sub.findCollisions()
		d.collides = d.collides || sub.collides
		if len(keys) > len(all) {
			all, keys = keys, all
		}
		for key := range keys {
			d.clashes = d.clashes || all[key]
			all[key] = true
		}
	}
	d.collides = d.collides || d.clashes
	return all
}

// scoped says whether an object tells meshes apart. Namespaces and the like are repeated by habit in one mesh.
func scoped(o *object.Object) bool {
	return !o.Stray && o.Name != "" && o.Kind != object.Namespace
}
