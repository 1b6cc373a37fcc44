package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/render"
)

// kustomization is a file of kustomize's, looked at before kustomize acts on it.
type kustomization struct {
	fsys *rootFS
	abs  string // path of the file
	doc  *object.Document
}

// isKustomization says whether a file is one that kustomize takes for a kustomization.
func isKustomization(abs string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(abs))
}

// checkKustomization refuses a kustomization that would fetch or run something, or needs a file that is not there.
func checkKustomization(fsys *rootFS, abs string, text []byte) (*kustomization, error) {
	k := &kustomization{fsys: fsys, abs: abs}
	doc, problem := object.ParseDocument(fsys.name(abs), text, object.Limits{})
	if problem != nil {
		return nil, &render.Failure{Message: problem.Message, File: fsys.name(abs), Line: problem.Location.Range.Start.Line}
	}
	k.doc = doc
	root := doc.Root()
	for _, field := range [...]string{"helmCharts", "helmChartInflationGenerator"} {
		if v := root.Get(field); v.Len() > 0 {
			return nil, k.failure(v, "%s downloads charts and runs helm, which meshvet never does; run `kustomize build --enable-helm %s | meshvet lint -`", field, k.folder())
		}
	}
	for key, v := range root.Fields() {
		for _, field := range slices.Concat(builds, reads, withPath, makers, []string{"openapi", "helmCharts", "helmChartInflationGenerator", "helmGlobals"}) {
			if key != field && strings.EqualFold(key, field) {
				return nil, k.failure(v, "%s is read by kustomize as %s; write %s", key, field, field)
			}
		}
	}
	for path, v := range k.paths() {
		if err := k.checkPath(path, v); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *kustomization) folder() string { return filepath.ToSlash(filepath.Dir(k.fsys.name(k.abs))) }

func (k *kustomization) failure(at object.Value, format string, args ...any) *render.Failure {
	return &render.Failure{
		Message: object.Abridge(fmt.Sprintf(format, args...)),
		File:    k.fsys.name(k.abs),
		Line:    k.doc.LocateValue(at).Range.Start.Line,
	}
}

// Fields of a kustomization that name files or folders.
var (
	// builds name folders with kustomizations or files with manifests. What begins with inline may be the thing itself.
	builds = []string{"resources", "bases", "components", "generators", "transformers", "validators"}
	reads  = []string{"crds", "configurations", "patchesStrategicMerge"}
	inline = []string{"generators", "transformers", "validators", "patchesStrategicMerge"}
	// withPath hold mappings with a path.
	withPath = []string{"patches", "patchesJson6902", "replacements"}
	makers   = []string{"configMapGenerator", "secretGenerator"}
)

// paths are the values that name files or folders, by the way to them.
func (k *kustomization) paths() func(yield func(string, object.Value) bool) {
	root := k.doc.Root()
	return func(yield func(string, object.Value) bool) {
		item := func(way string, v object.Value) bool {
			if v.Type() != object.String {
				return true // a mistake, which kustomize tells
			}
			return yield(way, v)
		}
		list := func(way string, v object.Value) bool {
			for i, e := range v.Items() {
				if !item(fmt.Sprintf("%s[%d]", way, i), e) {
					return false
				}
			}
			return true
		}
		for _, field := range slices.Concat(builds, reads) {
			v := root.Get(field)
			if !slices.Contains(inline, field) {
				if !list(field, v) {
					return
				}
				continue
			}
			for i, e := range v.Items() {
				if !isInline(e.Str()) && !item(fmt.Sprintf("%s[%d]", field, i), e) {
					return
				}
			}
		}
		for _, field := range withPath {
			for i, e := range root.Get(field).Items() {
				if !item(fmt.Sprintf("%s[%d].path", field, i), e.Get("path")) {
					return
				}
			}
		}
		if !item("openapi.path", root.At("openapi", "path")) {
			return
		}
		for _, field := range makers {
			for i, e := range root.Get(field).Items() {
				way := fmt.Sprintf("%s[%d]", field, i)
				if !list(way+".files", e.Get("files")) || !list(way+".envs", e.Get("envs")) || !item(way+".env", e.Get("env")) {
					return
				}
			}
		}
	}
}

// isInline says whether a text that may be a path is the thing itself.
func isInline(text string) bool {
	return strings.ContainsAny(text, "\n{[") || strings.Contains(text, ": ")
}

// checkPath refuses a path that would be fetched, that leads out of the root, or where nothing is.
func (k *kustomization) checkPath(way string, v object.Value) error {
	path := v.Str()
	if strings.HasSuffix(way, "]") && strings.Contains(way, ".files[") {
		if _, file, named := strings.Cut(path, "="); named { // KEY=FILE
			path = file
		}
	}
	if path == "" {
		return nil // kustomize says so
	}
	if isRemote(path) {
		return k.failure(v, "%s names %q, which is not in this repository, and meshvet fetches nothing; copy it into the repository, or run `kustomize build %s | meshvet lint -`", way, path, k.folder())
	}
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(filepath.Dir(k.abs), path)
	}
	// Not by the file system of kustomize, which would keep this one in mind as what was refused.
	probe := *k.fsys
	if _, _, err := probe.resolve(abs); err != nil {
		var refused *render.Failure
		if errors.As(err, &refused) {
			return k.failure(v, "%s names %q: %s", way, path, refused.Message)
		}
		if errors.Is(err, fs.ErrNotExist) && hostLike.MatchString(path) {
			return k.failure(v, "%s names %q, which is not there; if it is an address, meshvet fetches nothing: copy it into the repository, or run `kustomize build %s | meshvet lint -`", way, path, k.folder())
		}
		if errors.Is(err, fs.ErrNotExist) {
			return k.failure(v, "%s names %q, which is not there; correct the path, or add the file", way, path)
		}
		return k.failure(v, "%s names %q, which cannot be read: %v", way, path, plainError(err))
	}
	return nil
}

// remote is how paths look that kustomize downloads, or has git clone: with a scheme, of GitHub without one, or as of ssh.
var remote = regexp.MustCompile(`(?i)^(git::|[a-z][a-z0-9+.-]*://|(www\.)?github\.com[:/]|gh:|[^/\s]+@[^/\s]+[:/])`)

// hostLike is how paths begin that kustomize may take for an address without a scheme.
var hostLike = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:[0-9]+)?/`)

// isRemote says whether kustomize would fetch what a path names, whether or not it is also a file.
func isRemote(path string) bool { return remote.MatchString(path) }

// withOrigins is the text of a kustomization with the instruction to note where each object comes from. asked says that it has been
// there.
func (k *kustomization) withOrigins(text []byte) (out []byte, asked bool, err error) {
	root := k.doc.Root()
	metadata := root.Get("buildMetadata")
	for _, e := range metadata.Items() {
		if e.Str() == types.OriginAnnotations {
			return text, true, nil
		}
	}
	if !metadata.Exists() && root.Type() == object.Map {
		// Added as text, the lines stay what they are, for messages that name them.
		added := slices.Concat(text, []byte("\nbuildMetadata: ["+types.OriginAnnotations+"]\n"))
		doc, problem := object.ParseDocument("", added, object.Limits{})
		if problem == nil && doc.Root().Len() == root.Len()+1 && doc.Root().Get("buildMetadata").Len() == 1 {
			return added, false, nil
		}
	}
	node, err := kyaml.Parse(string(text))
	if err != nil || node.YNode().Kind != kyaml.MappingNode {
		return text, false, nil // kustomize says what is wrong
	}
	list := kyaml.NewListRNode(types.OriginAnnotations)
	for _, e := range metadata.Items() {
		list.YNode().Content = append(list.YNode().Content, kyaml.NewStringRNode(e.Str()).YNode())
	}
	if err := node.PipeE(kyaml.SetField("buildMetadata", list)); err != nil {
		return nil, false, fmt.Errorf("ask for the origins of objects: %w", err)
	}
	changed, err := node.String()
	if err != nil {
		return nil, false, fmt.Errorf("ask for the origins of objects: %w", err)
	}
	return []byte(changed), false, nil
}
