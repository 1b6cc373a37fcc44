package main

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The guide shows the workflow that test/e2e/github runs, and has each input and output of the action, with its default.
func TestGitHubGuide(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	guide := read("docs/guide/github.md")
	_, workflow, _ := strings.Cut(read("examples/github-action/meshvet.yaml"), "\n") // a comment
	if !strings.Contains(guide, "```yaml\n"+workflow+"```\n") {
		t.Error("the guide shows another workflow than examples/github-action")
	}

	var action struct {
		Inputs  map[string]struct{ Default string }
		Outputs map[string]any
	}
	if err := yaml.Unmarshal([]byte(read("action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	inputs, outputs := map[string]string{}, []string(nil)
	before, after, _ := strings.Cut(guide, "## Outputs")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| (?:`(.*?)`)? ?\\|").FindAllStringSubmatch(before, -1) {
		inputs[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(after, -1) {
		outputs = append(outputs, m[1])
	}
	want := map[string]string{}
	for name, input := range action.Inputs {
		if name != "download-url" { // whose default is too long for a table
			want[name] = input.Default
		} else {
			want[name] = ""
		}
	}
	if diff := cmp.Diff(want, inputs); diff != "" {
		t.Errorf("-inputs +guide\n%s", diff)
	}
	slices.Sort(outputs)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(action.Outputs)), outputs); diff != "" {
		t.Errorf("-outputs +guide\n%s", diff)
	}
}
