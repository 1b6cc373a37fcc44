package lint

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Mesh is one mesh of the files that were read.
type Mesh struct {
	Scope
	Index *mesh.Index
	// Focus says that one of Input.Files is in it.
	Focus bool
	// Shared says that it is only what several other meshes have in common: each of them may have more.
	Shared bool
	// Judges says whether an object is judged as this mesh has it, of several that have the same files under other configurations; nil if
	// there is one only.
	Judges func(*object.Object) bool
}

// Meshes cuts files into mesh scopes, as Lint does, and indexes each. The report accounts for every file and has no findings.
func (e *Engine) Meshes(in Input) ([]Mesh, *Report, error) {
	r := e.account(in)
	scopes, err := scopesOf(in.inOrder(), e.config, in.Dir)
	if err != nil {
		return nil, nil, err
	}
	focus := map[*object.File]bool{}
	for _, f := range in.Files {
		focus[f] = true
	}
	out := e.meshesOf(scopes, func(f *object.File) bool { return focus[f] })
	for _, m := range out {
		r.Scopes = append(r.Scopes, m.Scope)
	}
	r.Skipped = append(r.Skipped, leftOut(scopes, func(*object.File) bool { return true })...)
	r.sort()
	return out, r, nil
}

// MeshesOfGroups cuts the files of groups into meshes as JudgeGroups does, and indexes each. A mesh that several groups see in the same way
// is there once; of one that they read in different ways, each says what it Judges. dir is that of Input.
func MeshesOfGroups(groups []Group, dir string) ([]Mesh, error) {
	views, err := viewsOf(groups, dir)
	if err != nil {
		return nil, err
	}
	var out []Mesh
	for _, v := range views {
		judged := func(f *object.File) bool { return v.judgedBy[f] != nil }
		for _, m := range v.groups[0].Engine.meshesOf(v.scopes, judged) {
			if len(views) > 1 {
				m.Judges = func(o *object.Object) bool { return judged(o.File()) }
			}
			out = append(out, m)
		}
	}
	return out, nil
}

// meshesOf indexes scopes; judged says which files are in focus.
func (e *Engine) meshesOf(scopes []*scope, judged func(*object.File) bool) []Mesh {
	var out []Mesh
	for _, s := range scopes {
		out = append(out, Mesh{
			Scope: s.describe(), Index: e.indexOf(s, len(scopes) > 1), Shared: s.isShared,
			Focus: slices.ContainsFunc(slices.Concat(s.own, s.shared), judged),
		})
	}
	return out
}
