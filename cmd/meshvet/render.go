package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/render"
)

// renderFlags are the flags of lint that are about kustomizations and charts.
type renderFlags struct {
	kustomize   []string
	helm        []string
	values      []string
	set         []string
	release     string
	namespace   string
	kubeVersion string
	apiVersions []string
	raw         bool
}

func (f *renderFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.kustomize, "kustomize", nil, "render the kustomization in `DIR` and judge what comes out; a glob, and can be repeated")
	flags.StringArrayVar(&f.helm, "helm", nil, "render the Helm `CHART`, a folder or .tgz, and judge what comes out; can be repeated")
	flags.StringArrayVar(&f.values, "values", nil, "for --helm: `FILE` of values; can be repeated, later ones win")
	flags.StringArrayVar(&f.set, "set", nil, "for --helm: a value, as `KEY=VALUE`; can be repeated")
	flags.StringVar(&f.release, "release", "", "for --helm: `NAME` of the release (default: release-name, as of helm template)")
	flags.StringVar(&f.kubeVersion, "kube-version", "", "for --helm: `VERSION` of Kubernetes that the chart is told")
	flags.StringArrayVar(&f.apiVersions, "api-versions", nil, "for --helm: `GROUP/VERSION` that the chart is told of; can be repeated")
	flags.BoolVar(&f.raw, "raw", false, "judge a folder that holds a kustomization file by file, and render nothing")
}

// check refuses flags that say nothing alone.
func (f *renderFlags) check(cmd *cobra.Command) error {
	if len(f.helm) > 0 {
		return nil
	}
	for _, name := range []string{"values", "set", "release", "kube-version", "api-versions"} {
		if cmd.Flags().Changed(name) {
			return usageError{cmd, fmt.Errorf("--%s is about a chart; name it with --helm", name)}
		}
	}
	return nil
}

// rendering is a kustomization or chart that a run renders.
type rendering struct {
	name    string // what reports call it
	dir     string // whose configuration holds for it, absolute
	at      string // the file that stands for it where nothing better is known, absolute
	request render.Request
}

// kustomizationNames are the names that kustomize looks for.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// kustomizationIn returns the path of the kustomization in a folder, "" if there is none.
func kustomizationIn(dir string) string {
	for _, name := range kustomizationNames {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			return at
		}
	}
	return ""
}

// planRenderings says what a run renders: what the flags name, and each path that is a folder with a kustomization. rest are the other paths.
func (a *app) planRenderings(cmd *cobra.Command, f *renderFlags, w *walker, args []string) (plan []*rendering, rest []string, err error) {
	if err := f.check(cmd); err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	add := func(r *rendering) {
		if !seen[r.at] {
			seen[r.at] = true
			plan = append(plan, r)
		}
	}
	for _, arg := range args {
		if abs := w.absolute(arg); arg != "-" && !f.raw && isFolder(abs) {
			if at := kustomizationIn(abs); at != "" {
				add(kustomizationRendering(w, abs, at, filepath.IsAbs(arg)))
				continue
			}
		}
		rest = append(rest, arg)
	}
	for _, arg := range f.kustomize {
		found, err := kustomizations(w, arg)
		if err != nil {
			return nil, nil, usageError{cmd, fmt.Errorf("--kustomize %s: %w", arg, err)}
		}
		for _, at := range found {
			add(kustomizationRendering(w, filepath.Dir(at), at, filepath.IsAbs(arg)))
		}
	}
	if len(f.helm) == 0 {
		return plan, rest, nil
	}
	values, err := f.readValues(w, a.stdin)
	if err != nil {
		return nil, nil, err
	}
	for _, arg := range f.helm {
		r, err := f.chartRendering(w, arg, values)
		if err != nil {
			return nil, nil, usageError{cmd, fmt.Errorf("--helm %s: %w", arg, err)}
		}
		add(r)
	}
	return plan, rest, nil
}

func newRequest() render.Request {
	return render.Request{Version: thisBuild().version, Limits: render.DefaultLimits()}
}

// rootOf is the folder outside of which a renderer reads nothing: the repository, or without one the folder itself, unless that is below
// the working directory.
func rootOf(w *walker, dir string) string {
	switch repo := findRepository(dir); {
	case repo != "":
		return repo
	case isWithin(w.cwd, dir):
		return w.cwd
	}
	return dir
}

func kustomizationRendering(w *walker, dir, at string, asked bool) *rendering {
	r := &rendering{name: w.name(dir, asked), dir: dir, at: at, request: newRequest()}
	r.request.Kustomize = &render.Kustomize{Dir: dir, Root: rootOf(w, dir)}
	return r
}

// kustomizations are the files of the kustomizations that a path or a glob names.
func kustomizations(w *walker, arg string) ([]string, error) {
	abs := w.absolute(arg)
	if !strings.ContainsAny(arg, `*?[{`) || isFolder(abs) {
		if slices.Contains(kustomizationNames, filepath.Base(abs)) && !isFolder(abs) {
			abs = filepath.Dir(abs)
		}
		if !isFolder(abs) {
			return nil, errors.New("there is no such folder")
		}
		if at := kustomizationIn(abs); at != "" {
			return []string{at}, nil
		}
		return nil, fmt.Errorf("it holds no %s", strings.Join(kustomizationNames, " or "))
	}
	if !doublestar.ValidatePathPattern(abs) {
		return nil, errors.New("it is not a valid pattern")
	}
	matches, err := doublestar.FilepathGlob(abs, doublestar.WithNoFollow())
	if err != nil {
		return nil, fmt.Errorf("look for it: %w", plainError(err))
	}
	slices.Sort(matches)
	var out []string
	for _, m := range matches {
		if isFolder(m) {
			if at := kustomizationIn(m); at != "" {
				out = append(out, at)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no folder that it matches holds %s", strings.Join(kustomizationNames, " or "))
	}
	return out, nil
}

// maxValues bounds a file of values, in bytes.
const maxValues = 16 << 20

// readValues reads the files of values. Of charts they are not part, so they may be anywhere.
func (f *renderFlags) readValues(w *walker, stdin io.Reader) ([]render.ValueFile, error) {
	var out []render.ValueFile
	for _, name := range f.values {
		read := func() ([]byte, error) { return readRegularUpTo(w.absolute(name), maxValues) }
		if name == "-" {
			read = func() ([]byte, error) { return io.ReadAll(io.LimitReader(stdin, maxValues)) }
		}
		text, err := read()
		if err != nil {
			return nil, fmt.Errorf("read values %s: %w", name, plainError(err))
		}
		out = append(out, render.ValueFile{Name: name, Text: text})
	}
	return out, nil
}

// chartRendering is a chart that a flag names.
func (f *renderFlags) chartRendering(w *walker, arg string, values []render.ValueFile) (*rendering, error) {
	abs := w.absolute(arg)
	info, err := os.Stat(abs)
	if err != nil {
		hint := ""
		if strings.Contains(arg, "://") || !strings.ContainsAny(arg, `/\.`) {
			hint = "; meshvet downloads no charts: `helm pull` it, and name the folder or .tgz"
		}
		return nil, fmt.Errorf("%w%s", plainError(err), hint)
	}
	r := &rendering{name: w.name(abs, filepath.IsAbs(arg)), dir: abs, at: filepath.Join(abs, "Chart.yaml"), request: newRequest()}
	switch {
	case !info.IsDir():
		r.dir, r.at = filepath.Dir(abs), abs
	default:
		if there, err := os.Stat(r.at); err == nil && !there.IsDir() {
			break
		}
		return nil, errors.New("it holds no Chart.yaml")
	}
	r.request.Helm = &render.Helm{
		Chart: abs, Root: rootOf(w, r.dir), Values: values, Set: f.set,
		Release: f.release, Namespace: f.namespace, KubeVersion: f.kubeVersion, APIVersions: f.apiVersions,
	}
	return r, nil
}

// refuseRendered returns an error for flags that mean nothing with what is rendered.
func (f *lintFlags) refuseRendered(cmd *cobra.Command, plan []*rendering) error {
	if len(plan) == 0 {
		return nil
	}
	first := plan[0]
	raw := ""
	if first.request.Kustomize != nil {
		raw = fmt.Sprintf("; or add --raw, to take %s as the files that it holds", first.name)
	}
	switch {
	case f.fix.on:
		return usageError{cmd, fmt.Errorf("%s is rendered, and what is rendered cannot be fixed: name the files that it is made from, such as %s%s", first.name, filepath.ToSlash(filepath.Join(first.name, "*.yaml")), raw)}
	case f.live.on:
		return usageError{cmd, fmt.Errorf("%s is rendered, and --live lays files over a cluster: render it, and pipe it to meshvet lint --live -%s", first.name, raw)}
	case f.since != "":
		return usageError{cmd, fmt.Errorf("%s is rendered, and --since compares files only: name the files that it is made from, or keep a baseline with --write-baseline%s", first.name, raw)}
	}
	return nil
}

// installHint says how to get the program that renders.
func installHint() string {
	version := thisBuild().version
	if version == "devel" || strings.Contains(version, "+dirty") || strings.HasPrefix(version, "v0.0.0-") {
		version = "latest"
	}
	return fmt.Sprintf("install it with `go install github.com/meshvet/meshvet/cmd/%s@%s`, or take it from the release of meshvet; MESHVET_RENDER can name it", render.Program, version)
}

// findRenderer finds the program that renders.
func (a *app) findRenderer(what string) (string, error) {
	own, err := os.Executable()
	if err != nil {
		own = "" // then PATH decides
	}
	named := a.getenv("MESHVET_RENDER")
	program, err := render.Find(named, own, exec.LookPath)
	switch {
	case errors.Is(err, render.ErrNoProgram):
		return "", fmt.Errorf("%s is rendered by the program %s, which is neither beside meshvet nor in PATH: %s; --raw judges the files of a kustomization as they are", what, render.Program, installHint())
	case err != nil:
		return "", fmt.Errorf("MESHVET_RENDER names a program that cannot be run: %w", err)
	}
	return program, nil
}

// rendered is what a rendering came to.
type rendered struct {
	*rendering
	config *settings
	files  []*object.File
	notes  []string // told under --verbose
}

// renderingFailed is the kind of problem that a kustomization or chart is that cannot be rendered.
const renderingFailed object.ProblemKind = "rendering"

// render renders all that a run is to render. What cannot be rendered is a problem, and the rest is judged. The error is for what keeps
// anything from being rendered.
func (r *lintRun) render(ctx context.Context) (out []*rendered, problems []object.Problem, err error) {
	if len(r.plan) == 0 {
		return nil, nil, nil
	}
	all := make([]*rendered, len(r.plan))
	failures := make([]*object.Problem, len(r.plan))
	errs := make([]error, len(r.plan))
	slots := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))
	var wg sync.WaitGroup
	done := r.meter.begin("rendering", len(r.plan), "")
	for i, p := range r.plan {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			all[i], failures[i], errs[i] = r.renderOne(ctx, p)
			done.Add(1)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	for i, one := range all {
		if failures[i] != nil {
			problems = append(problems, *failures[i])
			continue
		}
		one.config = r.configs.of(one.dir)
		if len(one.files) == 0 {
			r.say("notice: %s renders nothing", one.name)
		}
		for _, n := range one.notes {
			r.note("%s: %s", one.name, n)
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b *rendered) int { return strings.Compare(a.name, b.name) })
	return out, problems, nil
}

func (r *lintRun) renderOne(ctx context.Context, p *rendering) (*rendered, *object.Problem, error) {
	root := p.root()
	fail := func(file string, line int, message string) *object.Problem {
		at := object.Location{File: cmp.Or(file, r.walker.name(p.at, false))}
		if line > 0 {
			at.Range = object.Range{Start: object.Pos{Line: line, Col: 1}, End: object.Pos{Line: line, Col: 1}}
			at.Exact = true
		}
		return &object.Problem{Kind: renderingFailed, Message: object.Abridge(clean(message)), Location: at}
	}
	answer, err := render.Run(ctx, r.renderer, p.request)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.Is(err, render.ErrOtherVersion):
		return nil, nil, fmt.Errorf("%w: %s", err, installHint())
	case err != nil:
		return nil, fail("", 0, "cannot be rendered: "+err.Error()), nil //nolint:nilerr // the problem tells it
	case answer.Error != nil:
		file := answer.Error.File
		if file != "" && !filepath.IsLocal(filepath.FromSlash(file)) && !p.isValues(file) {
			file = "" // no program of ours says so
		}
		if file != "" && !p.isValues(file) {
			file = r.walker.name(filepath.Join(root, filepath.FromSlash(file)), false)
		}
		return nil, fail(file, answer.Error.Line, "cannot be rendered: "+answer.Error.Message), nil
	}
	limits := object.Limits{FileBytes: int(p.request.Limits.Output) + 1<<20}
	files, err := render.Load(ctx, answer, p.name, root, p.at, func(abs string) string { return r.walker.name(abs, false) }, limits)
	if err != nil {
		return nil, nil, err
	}
	notes := slices.Concat(answer.Notes, []string{fmt.Sprintf("manifests rendered: %d, from files: %d", len(answer.Documents), len(files))})
	return &rendered{rendering: p, files: files, notes: notes}, nil, nil
}

// paths are those of a run, and the folders of what it renders; where the run was started, if the cluster alone is judged.
func (r *lintRun) paths() []string {
	if len(r.args)+len(r.plan) == 0 {
		return []string{"."}
	}
	out := slices.Clone(r.args)
	for _, p := range r.plan {
		out = append(out, p.dir)
	}
	return out
}

// root is the folder from which an answer names files.
func (p *rendering) root() string {
	if p.request.Kustomize != nil {
		return p.request.Kustomize.Root
	}
	return p.request.Helm.Root
}

// isValues reports whether an answer calls a file by the name of one of values, which is that of the user.
func (p *rendering) isValues(file string) bool {
	return p.request.Helm != nil && slices.ContainsFunc(p.request.Helm.Values, func(v render.ValueFile) bool { return v.Name == file })
}

// renderedFiles are all files of renderings.
func renderedFiles(all []*rendered) []*object.File {
	var out []*object.File
	for _, one := range all {
		out = append(out, one.files...)
	}
	return out
}
