package main

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/meshvet/meshvet/lint/render"
)

const (
	defaultRelease   = "release-name" // as of `helm template` without a name
	defaultNamespace = "default"
	notesSuffix      = "NOTES.txt" // of the template that is told to who installs the chart
)

// renderHelm renders a chart as `helm template` does, hooks included, CRDs and NOTES.txt left out. Nothing is fetched and no cluster is
// asked: lookup answers nothing, and so does getHostByName. Documents are in the order of the names of their templates, not in that of
// an installation. An error that comes of the chart or of what it is rendered with is a *render.Failure.
func renderHelm(ctx context.Context, h *render.Helm, l render.Limits) (answer *render.Answer, err error) {
	defer func() { // what Helm's packages do with a chart that nobody thought of
		if p := recover(); p != nil {
			answer, err = nil, fail("", 0, "Helm cannot render the chart: %v", p)
		}
	}()
	warnings := &warnings{}
	previous := slog.Default()
	slog.SetDefault(slog.New(warnings)) // Helm's packages warn there, and through package log, of what the user has to know
	defer slog.SetDefault(previous)

	loaded, err := loadChart(h.Chart, h.Root, l)
	if err != nil {
		return nil, err
	}
	r := &rendering{loadedChart: loaded, request: h, limits: l}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	documents, err := r.documents(ctx)
	if err != nil {
		return nil, err
	}
	return &render.Answer{Documents: documents, Namespace: h.Namespace, Notes: slices.Concat(r.notes, warnings.lines)}, nil
}

// rendering is a chart that is being rendered.
type rendering struct {
	*loadedChart
	request *render.Helm
	limits  render.Limits

	values  map[string]any        // that the request gives, merged
	options common.ReleaseOptions // what templates see as .Release
	caps    *common.Capabilities  // what they see as .Capabilities
	files   map[string]*template  // by the names that Helm knows them by, which its messages have
	notes   []string              // what the user should know though the chart can be rendered
}

// template is a file in the folder templates of a chart.
type template struct {
	file   *common.File
	source string // relative to Root, with slashes
}

// prepare does what has to be done before templates are executed, in Helm's order: what is refused there is refused here.
func (r *rendering) prepare() error {
	var err error
	if r.values, err = mergeValues(r.request); err != nil {
		return err
	}
	if r.chart.Metadata.Type == "library" {
		return fail(r.manifest(), 0, "%s is a library chart, which has no manifests of its own: render a chart that depends on it", r.chart.Name())
	}
	if r.chart.Metadata.Deprecated {
		r.note("the chart %s is deprecated", r.chart.Name())
	}
	if err := r.checkDependencies(); err != nil {
		return err
	}
	if err := r.setRelease(); err != nil {
		return err
	}
	if err := chartutil.ProcessDependencies(r.chart, r.values); err != nil {
		return fail(r.manifest(), 0, "the dependencies of chart %s cannot be processed: %s", r.chart.Name(), words(err))
	}
	if err := r.setCapabilities(); err != nil {
		return err
	}
	r.files = map[string]*template{}
	r.nameTemplates(r.chart)
	return nil
}

// setRelease sets .Release.
func (r *rendering) setRelease() error {
	name, namespace := r.request.Release, r.request.Namespace
	if name == "" {
		name = defaultRelease
	}
	if namespace == "" {
		namespace = defaultNamespace
	}
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return fail("", 0, "%q cannot be the name of a release: it has to be of lower-case letters, digits, '-' and '.', and of 53 characters at most", name)
	}
	r.options = common.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}
	return nil
}

// istioVersions are the API versions that charts find in .Capabilities.APIVersions beside those of Kubernetes. Who lints a chart
// with meshvet has Istio where it is installed, and a chart that asks for its API before it writes a ServiceEntry would else be judged
// without it. The kinds are those that a cluster with Istio tells, by the versions that serve them.
func istioVersions() []string {
	served := []struct {
		group string
		kinds []string
	}{
		{"networking.istio.io/v1", []string{"DestinationRule", "Gateway", "ServiceEntry", "Sidecar", "VirtualService", "WorkloadEntry", "WorkloadGroup"}},
		{"networking.istio.io/v1beta1", []string{
			"DestinationRule", "Gateway", "ProxyConfig", "ServiceEntry", "Sidecar", "VirtualService", "WorkloadEntry", "WorkloadGroup",
		}},
		{"networking.istio.io/v1alpha3", []string{
			"DestinationRule", "EnvoyFilter", "Gateway", "ServiceEntry", "Sidecar", "VirtualService", "WorkloadEntry", "WorkloadGroup",
		}},
		{"security.istio.io/v1", []string{"AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication"}},
		{"security.istio.io/v1beta1", []string{"AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication"}},
		{"telemetry.istio.io/v1", []string{"Telemetry"}},
		{"telemetry.istio.io/v1alpha1", []string{"Telemetry"}},
		{"extensions.istio.io/v1alpha1", []string{"WasmPlugin"}},
	}
	var versions []string
	for _, s := range served {
		versions = append(versions, s.group)
		for _, k := range s.kinds {
			versions = append(versions, s.group+"/"+k)
		}
	}
	return versions
}

// setCapabilities sets .Capabilities, and holds the chart's kubeVersion against it.
func (r *rendering) setCapabilities() error {
	r.caps = common.DefaultCapabilities.Copy()
	r.caps.APIVersions = slices.Concat(r.caps.APIVersions, istioVersions(), r.request.APIVersions)
	if v := r.request.KubeVersion; v != "" {
		kube, err := common.ParseKubeVersion(v)
		if err != nil {
			return fail("", 0, "%q is no version of Kubernetes: give one such as 1.37.0", v)
		}
		r.caps.KubeVersion = *kube
	}
	if want := r.chart.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, r.caps.KubeVersion.String()) {
		return fail(r.manifest(), 0, "chart %s is for Kubernetes %s, and is rendered for %s: give a version that it is for with --kube-version",
			r.chart.Name(), want, r.caps.KubeVersion.Version)
	}
	return nil
}

// nameTemplates fills files with the templates of a chart and of those that it depends on.
func (r *rendering) nameTemplates(c *chart.Chart) {
	for _, f := range c.Templates {
		r.files[path.Join(c.ChartFullPath(), f.Name)] = &template{file: f, source: r.sources[f]}
	}
	for _, d := range c.Dependencies() {
		r.nameTemplates(d)
	}
}

// documents renders the chart.
func (r *rendering) documents(ctx context.Context) ([]render.Document, error) {
	values, err := util.ToRenderValuesWithSchemaValidation(r.chart, r.values, r.options, r.caps, true)
	if err != nil {
		return nil, fail(r.manifest(), 0, "the values of chart %s cannot be merged: %s", r.chart.Name(), words(err))
	}
	top, _ := values["Values"].(common.Values)
	if err := r.checkSchemas(r.chart, top); err != nil {
		return nil, err
	}
	// Templates can change values, and what another pass sees has to be what this one saw.
	again := copyValues(values)

	start := time.Now()
	rendered, err := r.execute(ctx, values)
	if err != nil {
		return nil, r.templateFailure(err)
	}
	took := time.Since(start)
	if err := r.checkOutput(rendered); err != nil {
		return nil, err
	}

	manifests, broken := splitAll(rendered)
	marked := map[string]bool{} // templates of which it matters which line wrote what
	for _, m := range manifests {
		if m.ofMesh() {
			marked[m.template] = true
		}
	}
	if broken != nil {
		marked = map[string]bool{broken.template: true}
	}
	var written map[string]*origins
	if r.canMark(rendered, took) && len(marked) > 0 {
		written = r.trace(ctx, again, rendered, marked)
	}
	if broken != nil {
		return nil, r.yamlFailure(broken, written[broken.template])
	}
	var documents []render.Document
	for _, m := range manifests {
		d := render.Document{Text: m.text, Source: r.files[m.template].source}
		if o := written[m.template]; o != nil {
			o.describe(&d, m)
		}
		documents = append(documents, d)
	}
	return documents, nil
}

// execute runs the templates, and answers with what each made by the name that Helm gives it.
func (r *rendering) execute(ctx context.Context, values common.Values) (map[string]string, error) {
	var e engine.Engine // without a client: lookup answers nothing
	rendered, err := e.RenderWithContext(ctx, r.chart, values)
	if err != nil {
		return nil, err
	}
	for name := range rendered {
		if strings.HasSuffix(name, notesSuffix) {
			delete(rendered, name)
		}
	}
	return rendered, nil
}

// checkOutput refuses what is larger than an answer may be.
func (r *rendering) checkOutput(rendered map[string]string) error {
	var all int64
	largest := ""
	for name, text := range rendered {
		all += int64(len(text))
		if n, m := len(text), len(rendered[largest]); n > m || n == m && name < largest {
			largest = name
		}
	}
	if all <= r.limits.Output {
		return nil
	}
	return fail(r.files[largest].source, 0, "chart %s renders %s, of which this template makes %s; a rendering may have %s",
		r.chart.Name(), sizeOf(all), sizeOf(int64(len(rendered[largest]))), sizeOf(r.limits.Output))
}

// note tells the user something.
func (r *rendering) note(format string, args ...any) {
	r.notes = append(r.notes, oneLine(fmt.Sprintf(format, args...)))
}

// warnings keeps what Helm's packages warn of.
type warnings struct{ lines []string }

const maxWarnings = 20 // a hostile chart can cause any number

// Enabled is that of a slog.Handler.
func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle keeps a warning. What comes from package log has the level info, and is a warning too if it calls itself so.
func (w *warnings) Handle(_ context.Context, record slog.Record) error {
	text := record.Message
	if record.Level < slog.LevelWarn {
		after, is := strings.CutPrefix(strings.ToLower(text), "warning: ")
		if !is {
			return nil
		}
		text = text[len(text)-len(after):]
	}
	record.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(", %s: %v", a.Key, a.Value)
		return true
	})
	text = "Helm: " + oneLine(text)
	if len(w.lines) < maxWarnings && !slices.Contains(w.lines, text) {
		w.lines = append(w.lines, text)
	}
	return nil
}

// WithAttrs is that of a slog.Handler. Helm does not use it here.
func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup is that of a slog.Handler. Helm does not use it here.
func (w *warnings) WithGroup(string) slog.Handler { return w }
