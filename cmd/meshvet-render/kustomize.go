package main

import (
	"context"
	"fmt"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/meshvet/meshvet/lint/render"
)

// renderKustomize renders a kustomization.
func renderKustomize(_ context.Context, fsys filesys.FileSystem, k *render.Kustomize, _ render.Limits) (*render.Answer, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fsys, k.Dir)
	if err != nil {
		return nil, err
	}
	out := &render.Answer{}
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", r.CurId(), err)
		}
		out.Documents = append(out.Documents, render.Document{Text: string(text)})
	}
	return out, nil
}
