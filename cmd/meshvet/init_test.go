package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// What init writes is right as it is, and each suggestion in it as well, once its mark is taken away.
func TestInitWritesSoundSuggestions(t *testing.T) {
	seen := sight{
		version: "1.30", where: "a \"b\"\nc.yaml", kinds: []object.Kind{object.Service, object.ServiceEntry},
		scopes: []lint.Scope{{Name: "x", Files: []string{"clusters/[a]/b.yaml", "clusters/[a]/c/d.yaml"}}, {Name: "y", Files: []string{"clusters/\"\n/b.yaml"}}},
	}
	for range 10 {
		seen.scopes = append(seen.scopes, lint.Scope{Files: []string{"z/" + strings.Repeat("z", len(seen.scopes)) + "/a.yaml"}})
	}
	text := seen.config()
	if _, problems := lint.ReadConfig("c", []byte(text)); len(problems) > 0 {
		t.Fatal(problems)
	}
	on := regexp.MustCompile(`(?m)^# ((?:[a-z]+:|- |  ).*)$`).ReplaceAllString(text, "$1")
	cfg, problems := lint.ReadConfig("c", []byte(on))
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, on)
	}
	if cfg.Mesh.IstioVersion != "1.30" || len(cfg.Scopes) != 12 || cfg.Baseline != ".meshvet-baseline.yaml" || cfg.Scopes[0].Paths[0] != `clusters/\[a]` || len(cfg.Complete) != 2 || len(cfg.Overrides) != 1 || len(cfg.Rules) != 1 || len(cfg.Exclude) != 1 {
		t.Errorf("%+v", cfg)
	}
	if _, err := lint.New(everyRule(t), cfg); err != nil {
		t.Error(err)
	}

	// Scopes that cannot all be written are not written at all.
	for range mostScopes {
		seen.scopes = append(seen.scopes, lint.Scope{Files: []string{"z/" + strings.Repeat("z", len(seen.scopes)) + "/a.yaml"}})
	}
	text = seen.config()
	on = regexp.MustCompile(`(?m)^# ((?:[a-z]+:|- |  ).*)$`).ReplaceAllString(text, "$1")
	if cfg, problems := lint.ReadConfig("c", []byte(on)); len(problems) > 0 || len(cfg.Scopes) > 0 || !strings.Contains(text, "taken for 42 meshes") {
		t.Errorf("%v\n%s", problems, on)
	}
}

func TestIstioVersionIn(t *testing.T) {
	for text, want := range map[string]string{
		"image: docker.io/istio/pilot:1.29.2":                                              "1.29",
		"  - image: \"registry/istio/proxyv2:1.30-alpha\"\n  - image: x/proxyv2:1.30.1":    "1.30",
		"image: istio/pilot:1.29.2\nimage: istio/proxyv2:1.30.0":                           "",
		"image: istio/pilot:latest":                                                        "",
		"kind: IstioOperator\nspec:\n  tag: 1.28.0\n":                                      "1.28",
		"kind: Other\nspec:\n  tag: 1.28.0\n":                                              "",
		"apiVersion: sailoperator.io/v1\nkind: Istio\nspec:\n  version: v1.27.3\n":         "1.27",
		"spec:\n  chart:\n    spec:\n      chart: istiod\n      version: '1.26.1'\n":       "1.26",
		"spec:\n  source:\n    chart: istiod\n    targetRevision: 1.29.2\n":                "1.29",
		"spec:\n  source:\n    chart: nginx\n    targetRevision: 1.29.2\n":                 "",
		"apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nspec: {version: v1.27.3}": "",
	} {
		root := writeTree(t, map[string]string{"a.yaml": text})
		if got := istioVersionIn(&newWalker(root, nil, t.Logf).add("a.yaml")[0]); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
