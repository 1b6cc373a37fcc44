package main

import (
	"path/filepath"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

const (
	// maxKustomization bounds a kustomization that is looked at for its patches, in bytes.
	maxKustomization = 1 << 20
	// patchFolders is in how many folders, from that of a file upwards, a kustomization is looked for that has it as a patch.
	patchFolders = 4
)

// patchOf returns the folder of the kustomization that has a file as a patch, "" if there is none near it. A patch is no manifest: most of
// what makes one is missing.
func (w *walker) patchOf(abs string) string {
	dir := filepath.Dir(abs)
	for range patchFolders {
		if w.patchesIn(dir)[abs] {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

// leavesOut says whether a file is left out as the patch of a kustomization, and keeps in mind that it was.
func (w *walker) leavesOut(abs, name string) bool {
	dir := w.patchOf(abs)
	if dir == "" {
		return false
	}
	if text, err := readRegularUpTo(abs, maxKustomization); err == nil && !strings.Contains(string(text), "istio.io") {
		return false // of another kind, which nobody wants to know of
	}
	of := w.name(dir, false)
	if w.components[dir] {
		of = "with a folder that uses the component " + of
	}
	if !w.taken[abs] {
		w.taken[abs] = true
		w.lost = append(w.lost, lint.Skip{
			File: name, Cause: lint.Fragment,
			Reason: "is a patch, and no manifest by itself: meshvet lint --kustomize " + of + " judges what it makes",
		})
	}
	return true
}

// patchesIn are the files that the kustomization of a folder has as patches.
func (w *walker) patchesIn(dir string) map[string]bool {
	if known, seen := w.patches[dir]; seen {
		return known
	}
	var out map[string]bool
	add := func(v object.Value) {
		if v.Type() == object.String && isManifestName(v.Str()) {
			if out == nil {
				out = map[string]bool{}
			}
			out[filepath.Join(dir, filepath.FromSlash(v.Str()))] = true
		}
	}
	if at := kustomizationIn(dir); at != "" {
		// One that cannot be read has no patches: who renders it is told what is wrong with it.
		if text, err := readRegularUpTo(at, maxKustomization); err == nil {
			if doc, problem := object.ParseDocument(at, text, object.Limits{}); problem == nil {
				w.components[dir] = doc.Root().Get("kind").Str() == "Component"
				for _, field := range [...]string{"patches", "patchesJson6902"} {
					for _, p := range doc.Root().Get(field).Items() {
						add(p.Get("path"))
					}
				}
				for _, p := range doc.Root().Get("patchesStrategicMerge").Items() {
					add(p)
				}
			}
		}
	}
	w.patches[dir] = out
	return out
}
