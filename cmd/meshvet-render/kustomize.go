package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/render"
)

// renderKustomize renders a kustomization as `kustomize build` does, but nothing is fetched or run: a kustomization that asks for that is
// refused when it is read, before kustomize sees it.
func renderKustomize(_ context.Context, k *render.Kustomize, limits render.Limits) (*render.Answer, error) {
	forbidNetwork()
	fsys, err := openRoot(k.Root, limits)
	if err != nil {
		return nil, err
	}
	dir, _, err := fsys.CleanedAbs(k.Dir)
	if err != nil {
		return nil, err
	}
	keepOrigins := false
	fsys.onRead = func(abs string, text []byte) ([]byte, error) {
		if !isKustomization(abs) {
			return text, nil
		}
		checked, err := checkKustomization(fsys, abs, text)
		if err != nil {
			return nil, err
		}
		if kind := checked.doc.Root().Get("kind"); filepath.Dir(abs) == dir.String() && kind.Str() == types.ComponentKind {
			return nil, checked.failure(kind, "is a component, which makes nothing by itself; render a kustomization that uses it")
		}
		if filepath.Dir(abs) == dir.String() {
			text, keepOrigins, err = checked.withOrigins(text)
		}
		return text, err
	}
	var warnings bytes.Buffer
	log.SetOutput(&warnings) //nolint:forbidigo // kustomize warns through it
	log.SetFlags(0)          //nolint:forbidigo // as above
	resources, err := krusty.MakeKustomizer(&krusty.Options{
		// Files anywhere below the root: what kustomize restricts by default is a folder of its own for each kustomization.
		LoadRestrictions: types.LoadRestrictionsNone,
		Reorder:          krusty.ReorderOptionNone,
		PluginConfig:     types.DisabledPluginConfig(),
	}).Run(fsys, dir.String())
	if fsys.refused != nil {
		return nil, fsys.refused
	}
	if err != nil {
		return nil, kustomizeFailure(fsys, dir.String(), err)
	}
	out := &render.Answer{}
	for line := range strings.Lines(warnings.String()) {
		if line = strings.TrimSpace(fsys.unrooted(line)); line != "" {
			out.Notes = append(out.Notes, line)
		}
	}
	origins := make([]string, resources.Size())
	for i, r := range resources.Resources() {
		if origins[i], err = originOf(fsys, dir.String(), r); err != nil {
			return nil, err
		}
	}
	if !keepOrigins {
		if err := resources.RemoveOriginAnnotations(); err != nil {
			return nil, fmt.Errorf("remove the notes of origins: %w", err)
		}
	}
	left := limits.Output
	for i, r := range resources.Resources() {
		text, err := textOf(r)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", r.CurId(), err)
		}
		if left -= int64(len(text)); left < 0 {
			return nil, &render.Failure{Message: fmt.Sprintf("makes more than %d MiB of manifests; render less at a time", limits.Output>>20), File: fsys.kustomizationIn(dir.String())}
		}
		out.Documents = append(out.Documents, render.Document{Text: text, Source: origins[i]})
	}
	return out, nil
}

// kustomizationIn is the name of the kustomization in a folder, that of the folder if it has none.
func (x *rootFS) kustomizationIn(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if abs := filepath.Join(dir, name); x.Exists(abs) {
			return x.name(abs)
		}
	}
	return x.name(dir)
}

// kustomizeFailure is an error of kustomize's in one line, with names from the root.
func kustomizeFailure(fsys *rootFS, dir string, err error) *render.Failure {
	text := strings.Join(strings.Fields(fsys.unrooted(err.Error())), " ")
	if strings.Contains(text, "external plugins disabled") {
		text += "; plugins and functions are programs, which meshvet never runs: run `kustomize build` with them, and `| meshvet lint -`"
	}
	return &render.Failure{Message: object.Abridge(text), File: fsys.kustomizationIn(dir)}
}

// originOf is the file that an object comes from, or that makes the one that generates it.
func originOf(fsys *rootFS, dir string, r *resource.Resource) (string, error) {
	origin, err := r.GetOrigin()
	if err != nil {
		return "", fmt.Errorf("read where %s comes from: %w", r.CurId(), err)
	}
	if origin == nil {
		return "", nil
	}
	from := origin.Path
	if from == "" {
		from = origin.ConfiguredIn
	}
	if from == "" {
		return "", nil
	}
	abs := filepath.Join(dir, filepath.FromSlash(from))
	// A patch can write any origin: only what has been read can be one.
	if _, inside := fsys.relative(abs); !inside || origin.Repo != "" || !fsys.read[abs] {
		return "", nil
	}
	return path.Clean(fsys.name(abs)), nil
}

// textOf is an object as YAML. Its own nodes keep comments and the order of fields, and stand for it as long as they say the same as
// what kustomize writes: they do not where YAML 1.1 and 1.2 differ, as on a plain yes.
func textOf(r *resource.Resource) (string, error) {
	plain, err := r.AsYAML()
	if err != nil {
		return "", err
	}
	if own, err := r.RNode.String(); err == nil && sameMeaning(plain, []byte(own)) {
		return own, nil
	}
	return string(plain), nil
}

// sameMeaning says whether two texts are the same values to Kubernetes.
func sameMeaning(x, y []byte) bool {
	var a, b any
	return yaml.Unmarshal(x, &a) == nil && yaml.Unmarshal(y, &b) == nil && reflect.DeepEqual(a, b)
}

// forbidNetwork makes sure that kustomize reaches nothing even where it is asked in a way that is not recognised: it finds no git, and
// has no way to speak HTTP.
func forbidNetwork() {
	_ = os.Unsetenv("PATH") // it fails for names that are none
	http.DefaultTransport = noNetwork{}
}

type noNetwork struct{}

// RoundTrip implements http.RoundTripper.
func (noNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, errors.New("meshvet fetches nothing; copy it into the repository")
}
