package lint

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Group is files that are judged under one configuration.
type Group struct {
	Engine *Engine
	Files  []*object.File // files whose objects are judged
	Around []*object.File // files that are context only; those of another group may be among them
	// EngineOf returns the engine that would judge one of Around: what is found there may say the cause of what is found here. nil, and a
	// nil engine, mean Engine.
	EngineOf func(*object.File) *Engine
	// Rendering is the name of the kustomization or chart of which the files were rendered, "" for those that somebody wrote. What is
	// rendered together is one mesh.
	Rendering string
}

// JudgeGroups judges files of which some are under another configuration than others. Groups that see the same files, cut into meshes
// and read in the same way, are judged together, so that of two findings with one cause one is left out, whatever group it is of. No file
// is in two groups. dir is that of Input.
//
// If ctx ends, the error says so, and the report holds what was found until then: all findings on the objects that were judged, of which
// Report.Stats has the number, and nothing of what can only be told at the end, such as that a suppression is unused.
func JudgeGroups(ctx context.Context, groups []Group, dir string) (*Report, error) {
	r := accountGroups(groups)
	var stopped error
	views, err := viewsOf(groups, dir)
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		for _, s := range v.scopes {
			targets, around := v.targets(s)
			part := &Report{}
			for _, g := range v.groups {
				part.Profile = part.Profile.merge(g.Engine.profileOf(nil))
			}
			if len(targets) > 0 && stopped == nil {
				part, err = runTargets(ctx, v.groups[0].Engine.indexOf(s, len(v.scopes) > 1), targets, around, v.groups[0].EngineOf)
				if err != nil && part == nil {
					return nil, err
				}
				stopped = err
			}
			r.merge(part)
			r.Scopes = append(r.Scopes, s.describe())
		}
		r.Skipped = append(r.Skipped, leftOut(v.scopes, func(f *object.File) bool { return len(groups) == 1 || v.judgedBy[f] != nil })...)
	}
	if len(views) > 1 {
		r.Scopes = distinctScopes(r.Scopes)
	}
	r.sort()
	r.mergeRendered()
	r.Profile.sort()
	tellApart(r)
	return r, stopped
}

// accountGroups makes a report that says what became of every file.
func accountGroups(groups []Group) *Report {
	if len(groups) == 1 {
		return groups[0].Engine.account(Input{Files: groups[0].Files, Around: groups[0].Around})
	}
	var all Input
	judged, seen := map[*object.File]bool{}, map[*object.File]bool{}
	r := &Report{}
	for _, g := range groups {
		for _, f := range g.Files {
			judged[f] = true
			g.Engine.lintFile(f, r)
		}
		all.Files = append(all.Files, g.Files...)
		r.Rules = append(r.Rules, g.Engine.Rules()...)
	}
	for _, g := range groups {
		for _, f := range g.Around {
			if !judged[f] && !seen[f] {
				seen[f] = true
				all.Around = append(all.Around, f)
			}
		}
	}
	slices.SortFunc(r.Rules, func(a, b *Meta) int { return strings.Compare(a.ID, b.ID) })
	r.Rules = slices.CompactFunc(r.Rules, func(a, b *Meta) bool { return a.ID == b.ID })
	r.off = map[ruleOn]bool{}
	for _, g := range groups {
		own := map[string]bool{}
		for _, m := range g.Engine.Rules() {
			own[m.ID] = true
		}
		for _, m := range r.Rules {
			if own[m.ID] {
				continue
			}
			for _, f := range g.Files {
				for _, o := range f.Objects {
					r.off[ruleOn{m.ID, o.Key}] = true
				}
			}
		}
	}
	r.count(all)
	return r
}

// view is what some groups see: files that are cut into meshes, and settings by which these are read.
type view struct {
	groups   []Group
	files    []*object.File
	scopes   []*scope
	judgedBy map[*object.File]*Engine
}

// viewsOf puts groups that see the same together.
func viewsOf(groups []Group, dir string) ([]*view, error) {
	var views []*view
	for _, g := range groups {
		files := (&Input{Files: g.Files, Around: g.Around}).inOrder()
		v := findView(views, files, g.Engine.config)
		if v == nil {
			scopes := []*scope{{name: g.Rendering, own: files, found: true}}
			if g.Rendering == "" {
				var err error
				if scopes, err = scopesOf(files, g.Engine.config, dir); err != nil {
					return nil, err
				}
			}
			v = &view{files: files, scopes: scopes, judgedBy: map[*object.File]*Engine{}}
			views = append(views, v)
		}
		v.groups = append(v.groups, g)
		for _, f := range g.Files {
			v.judgedBy[f] = g.Engine
		}
	}
	return views, nil
}

func findView(views []*view, files []*object.File, c *Config) *view {
	for _, v := range views {
		have := v.groups[0].Engine.config
		if slices.Equal(v.files, files) && slices.Equal(have.Complete, c.Complete) && have.Cluster == c.Cluster && slices.EqualFunc(have.Scopes, c.Scopes, sameScope) && sameMesh(have.Mesh, c.Mesh) {
			return v
		}
	}
	return nil
}

func sameScope(a, b ScopeConfig) bool { return a.Name == b.Name && slices.Equal(a.Paths, b.Paths) }

func sameMesh(a, b mesh.Settings) bool { return reflect.DeepEqual(a, b) }

// targets are the objects of a scope that are judged, and those that would be if their files were.
func (v *view) targets(s *scope) (judged []target, around []*object.Object) {
	for _, f := range s.own {
		e := v.judgedBy[f]
		for _, o := range f.Objects {
			if e == nil {
				if _, is := v.groups[0].Engine.byKind[kindOf(o)]; is {
					around = append(around, o)
				}
			} else if _, is := e.byKind[kindOf(o)]; is {
				judged = append(judged, target{engine: e, object: o, view: ViewFiles})
			}
		}
	}
	return judged, around
}

// distinctScopes leaves out scopes that several views have in common.
func distinctScopes(scopes []Scope) []Scope {
	slices.SortStableFunc(scopes, func(a, b Scope) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), slices.Compare(a.Files, b.Files))
	})
	return slices.CompactFunc(scopes, func(a, b Scope) bool { return a.Name == b.Name && slices.Equal(a.Files, b.Files) })
}
