// Package charts holds the tests of the Helm charts. They are part of the main module, since a chart is right only if it grants what
// the code asks for, passes flags that the program has, and mounts a configuration that the engine reads.
//
// The manifests that Helm renders from each file in meshvet/ci are golden files in testdata: what the chart makes can be read there, and
// most tests judge these files and need no Helm. Those that do run Helm take the one that HELM names, else the one that
// `make e2e-tools` builds. Run `go test ./charts -update` to render them anew.
package charts

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "render the golden files of testdata anew, and put the schema of the configuration into that of the values")

const (
	chart     = "meshvet"
	release   = "meshvet"
	namespace = "meshvet-system"
)

// scenario is a file in meshvet/ci.
type scenario struct {
	name  string
	file  string   // the values
	flags []string // what they are rendered with: the words of lines that begin with "# helm template"
}

func scenarios(t *testing.T) []scenario {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chart, "ci", "*-values.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("found the scenarios %v (%v)", files, err)
	}
	var list []scenario
	for _, f := range files {
		s := scenario{name: strings.TrimSuffix(filepath.Base(f), "-values.yaml"), file: f}
		for line := range strings.Lines(read(t, f)) {
			if words, ok := strings.CutPrefix(line, "# helm template "); ok {
				s.flags = append(s.flags, strings.Fields(words)...)
			}
		}
		list = append(list, s)
	}
	return list
}

// TestTemplates renders every scenario with Helm and compares with the golden files.
func TestTemplates(t *testing.T) {
	helm := findHelm(t)
	var want []string
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			run(t, helm, "lint", "--strict", chart, "--values", s.file)
			common := append([]string{release, chart, "--namespace", namespace, "--values", s.file}, s.flags...)
			golden(t, s.name+".yaml", run(t, helm, append([]string{"template", "--kube-version", "1.37.2"}, common...)...))
		})
		want = append(want, s.name+".yaml")
	}
	// What is told after the installation. Offline there are no --api-versions, hence only scenarios that need none.
	for _, name := range []string{"default", "exemption", "strict"} {
		t.Run(name+" notes", func(t *testing.T) {
			said := run(t, helm, "install", release, chart, "--namespace", namespace, "--dry-run=client",
				"--values", filepath.Join(chart, "ci", name+"-values.yaml"))
			_, notes, found := strings.Cut(said, "\nNOTES:\n")
			if !found {
				t.Fatalf("no notes in\n%s", said)
			}
			golden(t, name+".notes.txt", notes)
		})
		want = append(want, name+".notes.txt")
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(want, e.Name()) {
			t.Errorf("testdata/%s is of no scenario", e.Name())
		}
	}
}

// TestContradictions has a case for everything that templates/validate.yaml refuses, and a look-alike that passes where there is a
// narrow one.
func TestContradictions(t *testing.T) {
	helm := findHelm(t)
	tests := []struct {
		name   string
		values string
		want   string // "" = rendered
	}{
		{"provided without a Secret", `tls: {mode: provided, provided: {caBundle: "` + bundle + `"}}`, "tls.provided.secretName names no Secret"},
		{"provided without a CA", `tls: {mode: provided, provided: {secretName: cert}}`, "tls.provided.caBundle is empty"},
		{"provided in another mode", `tls: {mode: rotate, provided: {secretName: cert}}`, "tls.mode is rotate, which makes no use of it"},
		{"provided and auto", `tls: {provided: {secretName: cert}}`, "set tls.mode to provided"},
		{"issuer in another mode", `tls: {mode: rotate, certManager: {issuerRef: {name: corp}}}`, "set tls.mode to certManager"},
		{"issuer and auto", `tls: {certManager: {issuerRef: {name: corp}}}`, ""},
		{"one Pod that must not fail", `{replicaCount: 1, webhook: {failurePolicy: Fail}}`, "use 2 or more"},
		{"two Pods that must not fail", `webhook: {failurePolicy: Fail}`, ""},
		{"all Pods have to stay", `podDisruptionBudget: {minAvailable: 2}`, "minAvailable is 2, and replicaCount 2"},
		{"rounded up, all have to stay", `podDisruptionBudget: {minAvailable: 51%}`, "minAvailable is 51%, and replicaCount 2"},
		{"one of two has to stay", `podDisruptionBudget: {minAvailable: 50%}`, ""},
		{"one of two has to stay, as a number", `podDisruptionBudget: {minAvailable: 1}`, ""},
		{"no Pod may be missing", `podDisruptionBudget: {maxUnavailable: 0}`, "maxUnavailable is 0"},
		{"no Pod may be missing, without a budget", `podDisruptionBudget: {maxUnavailable: 0, enabled: false}`, ""},
		{"only kube-system", `webhook: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}`, "admits only kube-system"},
		{"only namespaces that never are", `webhook: {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [meshvet-system, kube-system]}]}}`,
			"admits only meshvet-system, kube-system"},
		{"some namespaces", `webhook: {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [kube-system, shop]}]}}`, ""},
		{"exemption label by hand", `webhook: {namespaceSelector: {matchExpressions: [{key: admission.meshvet.dev/ignore, operator: DoesNotExist}]}}`, "which nothing would guard"},
		{"exemption label by hand, as a label", `webhook: {namespaceSelector: {matchLabels: {admission.meshvet.dev/ignore: "no"}}}`, "which nothing would guard"},
		{"exemption label for nobody", `webhook: {exemptionLabel: {enabled: true, groups: []}}`, "nobody could ever set or remove"},
		{"two servers on a port", `{webhook: {port: 8081}}`, "webhook.port and health.port are both 8081"},
		{"metrics on a port that is taken", `{metrics: {port: 9443}}`, "webhook.port and metrics.port are both 9443"},
		{"no metrics on a port that is taken", `{metrics: {port: 9443, enabled: false}}`, ""},
		{"ServiceMonitor without metrics", `{networkPolicy: {enabled: false}, metrics: {enabled: false, serviceMonitor: {enabled: true}}}`, "metrics.enabled is false"},
		{"ServiceMonitor that nobody lets in", `metrics: {serviceMonitor: {enabled: true}}`, "name Prometheus in networkPolicy.metricsFrom"},
		{"ServiceMonitor without a policy", `{networkPolicy: {enabled: false}, metrics: {serviceMonitor: {enabled: true}}}`, ""},
		{"no account", `serviceAccount: {create: false}`, "name the one that is there"},
		{"a flag of a value", `extraArgs: ["--log-dir=/tmp", "--zap-log-level=debug"]`, "extraArgs has --zap-log-level; set log.level instead"},
		{"a flag of the chart", `extraArgs: [--webhook-cert-path=/tmp]`, "extraArgs has --webhook-cert-path, which the chart decides"},
		{"a flag of nobody", `extraArgs: [--pprof-bind-address=localhost:6060]`, ""},
		{"all at once", `{replicaCount: 1, webhook: {failurePolicy: Fail}, serviceAccount: {create: false}}`, "use 2 or more\n  - serviceAccount.create"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// The schema has its own test; here each value has to pass it, or the case would prove nothing.
			if err := valuesSchema(t).Validate(decode(t, test.values)); err != nil {
				t.Fatalf("the schema refuses this already: %v", err)
			}
			cmd := command(t, helm, "template", release, chart, "--namespace", namespace, "--values", "-")
			cmd.Stdin = strings.NewReader(test.values)
			out, err := cmd.CombinedOutput()
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused:\n%s", out)
			case test.want != "" && err == nil:
				t.Errorf("rendered; want it refused because %q", test.want)
			case test.want != "" && !strings.Contains(string(out), test.want):
				t.Errorf("said\n%s\nwant it to say %q", out, test.want)
			}
		})
	}
}

// TestGoMemLimit tries the units in which a memory limit can be written.
func TestGoMemLimit(t *testing.T) {
	helm := findHelm(t)
	for values, want := range map[string]string{
		`{}`:                                                         "384MiB",
		`resources: {limits: {memory: 1Gi}}`:                         "768MiB",
		`resources: {limits: {memory: 0.5Gi}}`:                       "384MiB",
		`resources: {limits: {memory: 524288Ki}}`:                    "384MiB",
		`resources: {limits: {memory: 512M}}`:                        "366MiB", // 384,000,000 bytes, rounded down
		`resources: {limits: {memory: 1G}}`:                          "715MiB",
		`resources: {limits: {memory: 536870912}}`:                   "384MiB",
		`resources: {limits: {memory: "536870912"}}`:                 "384MiB",
		`{goMemLimit: 300MiB, resources: {limits: {memory: 512Mi}}}`: "300MiB",
		`resources: {limits: null}`:                                  "",
		`resources: {limits: {memory: null, cpu: 1}}`:                "",
		`{goMemLimit: 300MiB, resources: {limits: null}}`:            "300MiB",
	} {
		t.Run(values, func(t *testing.T) {
			cmd := command(t, helm, "template", release, chart, "--values", "-", "--show-only", "templates/deployment.yaml")
			cmd.Stdin = strings.NewReader(values)
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			_, after, _ := strings.Cut(string(text), "name: GOMEMLIMIT\n              value: ")
			got, _, _ := strings.Cut(after, "\n")
			if got != want {
				t.Errorf("GOMEMLIMIT is %q, want %q", got, want)
			}
		})
	}
}

// findHelm returns the path of helm, and skips the test if there is none.
func findHelm(t *testing.T) string {
	t.Helper()
	helm := os.Getenv("HELM")
	if helm == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			cache = filepath.Join(os.Getenv("HOME"), ".cache")
		}
		helm = filepath.Join(cache, "meshvet", "e2e", "helm")
	}
	if _, err := os.Stat(helm); err != nil {
		t.Skipf("there is no helm at %s: run make e2e-tools, or set HELM", helm)
	}
	// The chart is read by another process. Go takes a cached result for good unless it sees what was read.
	if err := filepath.WalkDir(chart, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = os.ReadFile(path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return helm
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := command(t, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}
	return string(out)
}

// command runs without a cluster and without the settings of whoever runs the tests.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "KUBECONFIG=" + filepath.Join(t.TempDir(), "none")}
	return cmd
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, path), got); diff != "" {
		t.Errorf("%s is out of date; read the difference and run go test ./charts -update (- golden + rendered):\n%s", path, diff)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// decode reads YAML as Helm does, into what a JSON schema judges.
func decode(t *testing.T, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// sorted are the keys of a map, in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
