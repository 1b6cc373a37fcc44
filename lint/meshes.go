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
	var out []Mesh
	for _, s := range scopes {
		m := Mesh{Scope: s.describe(), Index: e.indexOf(s, len(scopes) > 1), Shared: s.isShared}
		m.Focus = slices.ContainsFunc(slices.Concat(s.own, s.shared), func(f *object.File) bool { return focus[f] })
		out = append(out, m)
		r.Scopes = append(r.Scopes, m.Scope)
	}
	r.Skipped = append(r.Skipped, leftOut(scopes, func(*object.File) bool { return true })...)
	r.sort()
	return out, r, nil
}
