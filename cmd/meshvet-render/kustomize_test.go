package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meshvet/meshvet/cmd/internal/build"
	"github.com/meshvet/meshvet/lint/render"
)

const (
	entryYAML = "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata:\n  name: rates\nspec:\n  # why\n  hosts: [rates.example.com]\n  resolution: DNS\n"
	onlyEntry = "resources: [entry.yaml]\n"
)

// kustomize renders a folder of a repository in a process of its own, since a rendering gives up what it could reach others with.
func kustomize(t *testing.T, root, dir string, limits render.Limits) (*render.Answer, error) {
	t.Helper()
	return render.Run(t.Context(), program(t), render.Request{
		Version: build.Version(""), Limits: limits, Kustomize: &render.Kustomize{Dir: filepath.Join(root, dir), Root: root},
	})
}

// TestKustomize renders what kustomize has transformers for, and tells the file that each object comes from.
func TestKustomize(t *testing.T) {
	root := t.TempDir()
	f := folder{t, root}
	f.write("base/kustomization.yaml", "resources: [entry.yaml, other.yaml]\n")
	f.write("base/entry.yaml", entryYAML)
	f.write("base/other.yaml", strings.ReplaceAll(entryYAML, "rates", "other"))
	f.write("parts/outlier/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [rule.yaml]\n")
	f.write("parts/outlier/rule.yaml", "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: rates}\nspec: {host: rates.example.com}\n")
	f.write("prod/kustomization.yaml", `namespace: prod
namePrefix: p-
resources: [../base]
components: [../parts/outlier]
patches:
- target: {kind: ServiceEntry, name: rates}
  patch: |-
    - {op: replace, path: /spec/resolution, value: DNS_ROUND_ROBIN}
- path: patch.yaml
replacements:
- source: {kind: ServiceEntry, name: rates, fieldPath: spec.hosts.0}
  targets: [{select: {kind: DestinationRule}, fieldPaths: [spec.host]}]
configMapGenerator:
- {name: notes, literals: [a=b]}
`)
	f.write("prod/patch.yaml", "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: rates}\nspec: {trafficPolicy: {tls: {mode: SIMPLE}}}\n")
	answer, err := kustomize(t, root, "prod", render.DefaultLimits())
	if err != nil || answer.Error != nil {
		t.Fatalf("%+v, %v", answer, err)
	}
	want := map[string][]string{
		"base/entry.yaml":         {"name: p-rates", "namespace: prod", "resolution: DNS_ROUND_ROBIN"},
		"base/other.yaml":         {"name: p-other", "# why"}, // comments stay where nothing is patched
		"parts/outlier/rule.yaml": {"name: p-rates", "mode: SIMPLE", "host: rates.example.com"},
		"prod/kustomization.yaml": {"kind: ConfigMap"},
	}
	for _, d := range answer.Documents {
		for _, text := range want[d.Source] {
			if !strings.Contains(d.Text, text) {
				t.Errorf("%s lacks %s:\n%s", d.Source, text, d.Text)
			}
		}
		if strings.Contains(d.Text, "config.kubernetes.io/origin") {
			t.Errorf("the note of the origin is left in\n%s", d.Text)
		}
		delete(want, d.Source)
	}
	if len(want) > 0 || len(answer.Documents) != 4 {
		t.Errorf("%d documents, without %v", len(answer.Documents), want)
	}
}

// TestKustomizeRefuses has kustomizations that would fetch, run or read what they must not, or have no end.
func TestKustomizeRefuses(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // nobody is to come
	called := make(chan struct{}, 100)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			called <- struct{}{}
			_ = c.Close()
		}
	}()
	server := "http://" + listener.Addr().String()
	ran := filepath.Join(t.TempDir(), "ran")
	outside := t.TempDir()
	folder{t, outside}.write("secret.yaml", entryYAML)
	folder{t, outside}.write("base/kustomization.yaml", "resources: [../secret.yaml]\n")
	files := func(list ...string) func(f folder) {
		return func(f folder) {
			for i := 0; i < len(list); i += 2 {
				f.write("k/"+list[i], list[i+1])
			}
		}
	}
	function := "apiVersion: example.com/v1\nkind: Run\nmetadata:\n  name: run\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./run.sh}\n"
	runs := "#!/bin/sh\ntouch " + ran + "\ncat\n"
	tests := []struct {
		name string
		make func(f folder)
		want string
		line int // 0 = any
	}{
		{"a remote base", files("kustomization.yaml", "resources:\n- "+server+"/base\n"), "resources[0] names", 2},
		{"a base in git", files("kustomization.yaml", "resources:\n- github.com/example/base?ref=v1\n"), "meshvet fetches nothing", 2},
		{"a base by ssh", files("kustomization.yaml", "bases: ['git@example.com:team/base.git']\n"), "meshvet fetches nothing", 1},
		{"a base by git::", files("kustomization.yaml", "components: ['git::https://example.com/base']\n"), "meshvet fetches nothing", 1},
		{"a remote patch", files("kustomization.yaml", onlyEntry+"patches: [{path: '"+server+"/p.yaml'}]\n", "entry.yaml", entryYAML), "patches[0].path names", 2},
		{"a remote generator file", files("kustomization.yaml", "configMapGenerator: [{name: a, files: ['k="+server+"/f']}]\n"), "meshvet fetches nothing", 1},
		{"a remote schema", files("kustomization.yaml", "openapi: {path: '"+server+"/s.json'}\n"), "meshvet fetches nothing", 1},
		{"a chart", files("kustomization.yaml", "helmCharts:\n- {name: minecraft, repo: '"+server+"'}\n"), "helmCharts downloads charts", 0},
		{"a chart by a generator", files("kustomization.yaml", "generators: [g.yaml]\n", "g.yaml", "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\nname: minecraft\nrepo: "+server+"\nreleaseName: a\n"), "enable", 0},
		{"a program as generator", files("kustomization.yaml", "generators: [f.yaml]\n", "f.yaml", function, "run.sh", runs), "meshvet never runs", 0},
		{"a program as transformer", files("kustomization.yaml", onlyEntry+"transformers: [f.yaml]\n", "f.yaml", function, "run.sh", runs, "entry.yaml", entryYAML), "meshvet never runs", 0},
		{"a file outside", files("kustomization.yaml", "resources: ['"+outside+"/secret.yaml']\n"), "outside", 1},
		{"a base outside", files("kustomization.yaml", "resources: ['../../"+filepath.Base(outside)+"/base']\n"), "resources[0] names", 1},
		{"a link outside", func(f folder) {
			files("kustomization.yaml", onlyEntry)(f)
			f.link(outside+"/secret.yaml", "k/entry.yaml")
		}, "outside", 1},
		{"a folder that is a link outside", func(f folder) {
			files("kustomization.yaml", "resources: [base]\n")(f)
			f.link(outside+"/base", "k/base")
		}, "outside", 1},
		{"a link to itself", func(f folder) { files("kustomization.yaml", onlyEntry)(f); f.link("entry.yaml", "k/entry.yaml") }, "entry.yaml", 1},
		{"a field in other letters", files("kustomization.yaml", "Resources: ['git::https://example.com/base']\n"), "Resources is read by kustomize as resources", 1},
		{"a kustomization that is a link", func(f folder) {
			f.write("k/x.yaml", "resources:\n- git::https://example.com/base\n")
			f.link("x.yaml", "k/kustomization.yaml")
		}, "meshvet fetches nothing", 2},
		{"a component alone", files("kustomization.yaml", "kind: Component\n"+onlyEntry, "entry.yaml", entryYAML), "is a component", 1},
		{"a file that is missing", files("kustomization.yaml", "resources:\n- gone.yaml\n"), "which is not there", 2},
		{"a base that includes itself", files("kustomization.yaml", "resources: [.]\n"), "cycle", 0},
		{"two bases in a circle", files("kustomization.yaml", "resources: [a]\n", "a/kustomization.yaml", "resources: [..]\n"), "cycle", 0},
		{"broken YAML", files("kustomization.yaml", "resources: [\n"), "", 0},
		{"an alias bomb", files("kustomization.yaml", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"), "alias", 0},
		{"too many bytes", files("kustomization.yaml", onlyEntry, "entry.yaml", entryYAML+"# "+strings.Repeat("x", 2<<20)), "MiB", 0},
		{"no kustomization", files("entry.yaml", entryYAML), "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			tt.make(folder{t, root})
			limits := render.DefaultLimits()
			limits.Unpacked = 1 << 20
			begun := time.Now()
			answer, err := kustomize(t, root, "k", limits)
			if err != nil || answer.Error == nil || len(answer.Documents) > 0 {
				t.Fatalf("%+v, %v", answer, err)
			}
			f := answer.Error
			if !strings.Contains(f.Message, tt.want) || f.Message == "" || tt.line > 0 && f.Line != tt.line || strings.ContainsAny(f.Message, "\n\x1b") || len(f.Message) > 2000 {
				t.Errorf("%s:%d: %s", f.File, f.Line, f.Message)
			}
			if f.File != "" && !strings.HasPrefix(f.File, "k") {
				t.Errorf("the file is %q", f.File)
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	select {
	case <-called:
		t.Error("somebody was asked over the network")
	default:
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program was run")
	}
}
