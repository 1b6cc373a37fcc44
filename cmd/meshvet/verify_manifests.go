package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
	schemas "github.com/meshvet/meshvet/lint/schema"
)

// meshOf reads the manifests and returns the mesh that the dump is compared with, the version of Istio that the configuration says,
// and what could not be read. runs is the version of the proxy, "" if it is not known.
func (a *app) meshOf(ctx context.Context, f *verifyFlags, runs string) (m lint.Mesh, version string, notices []string, err error) {
	files := f.files
	if len(files) == 0 && !f.live.on {
		files = []string{"."}
	}
	r, err := a.newRun(ctx, &lintFlags{config: f.config, context: f.context, dataplane: newChoice(""), live: f.live}, files)
	if err != nil {
		return m, "", nil, err
	}
	if version = r.config.Mesh.IstioVersion; version == "" && isVersion(runs) {
		r.config.Mesh.IstioVersion = runs
	}
	for _, name := range f.dumps { // one that lies among the manifests is none
		if abs := r.walker.absolute(name); name != "-" {
			info, _ := os.Stat(abs) // it was opened; nil means that the path alone counts
			r.walker.take(abs, name, info)
		}
	}
	meshes, rep, err := r.meshes(ctx)
	if err != nil {
		return m, "", nil, err
	}
	if len(rep.Problems) > 0 {
		// What a broken manifest says is not known, and everything that it is about would seem to differ.
		return m, "", nil, &lint.ConfigError{Problems: rep.Problems}
	}
	if m, err = chooseMesh(meshes, f.scope); err != nil {
		return m, "", nil, err
	}
	if err := bounded(m); err != nil {
		return m, "", nil, err
	}
	return m, version, skipsOf(rep), nil
}

// isVersion says whether what a proxy says of its version can be used.
func isVersion(text string) bool { return schemas.CheckVersion(text) == nil }

// chooseMesh picks the mesh of a name, or the only one. What several meshes share is none.
func chooseMesh(meshes []lint.Mesh, name string) (lint.Mesh, error) {
	meshes = slices.DeleteFunc(slices.Clone(meshes), func(m lint.Mesh) bool { return m.Shared })
	var names []string
	for _, m := range meshes {
		if name != "" && m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	if name != "" {
		return lint.Mesh{}, fmt.Errorf("--scope: there is no mesh scope %q; known are %s", object.Abridge(name), strings.Join(names, ", "))
	}
	switch len(meshes) {
	case 0:
		return lint.Mesh{}, errors.New("there are no manifests in what -f names")
	case 1:
		return meshes[0], nil
	}
	return lint.Mesh{}, fmt.Errorf("the manifests are of %d meshes: give the one that the proxy is in, with --scope: %s", len(names), strings.Join(names, ", "))
}

// bounded refuses objects that would be more clusters than any proxy can have.
func bounded(m lint.Mesh) error {
	for _, kind := range []object.Kind{object.ServiceEntry, object.DestinationRule} {
		for o := range m.Index.All(kind) {
			if most, wide := effective.TooWide(m.Index, o); wide {
				return fmt.Errorf("%s: %s is for more than %d ports of hosts, each of which would be a cluster in every proxy; split the object, or name fewer hosts",
					o.Locate(nil), o.Key, most)
			}
		}
	}
	return nil
}

// skipsOf tells of files that could not be read, such as templates.
func skipsOf(rep *lint.Report) []string {
	var out []string
	for _, s := range rep.Skipped {
		out = append(out, fmt.Sprintf("%s: %s", s.File, s.Reason))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
