package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
)

// readGuide returns the text of docs/guide/configure.md.
func readGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide", "configure.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every configuration that the guide shows is right.
func TestConfigureGuideShowsConfigurations(t *testing.T) {
	all := everyRule(t)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readGuide(t), -1)
	if len(blocks) < 6 {
		t.Fatalf("the guide has %d configurations", len(blocks))
	}
	for _, b := range blocks {
		l := lint.ConfigLoader{Root: "/repo", Read: func(string) ([]byte, error) { return nil, nil }}
		cfg, problems := l.Load("/repo/teams/shop/.meshvet.yaml", []byte(b[1]), "/repo/teams/shop")
		if len(problems) > 0 {
			t.Errorf("%v in\n%s", problems, b[1])
			continue
		}
		if _, err := lint.New(all, cfg); err != nil {
			t.Errorf("%v in\n%s", err, b[1])
		}
	}
}

// The guide, the schema and what config print shows know the same keys.
func TestConfigureGuideKnowsEveryKey(t *testing.T) {
	var text bytes.Buffer
	if err := writeConfigSchema(&text, everyRule(t)); err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text.Bytes(), &root); err != nil {
		t.Fatal(err)
	}
	var inSchema []string
	var walk func(prefix string, s map[string]any)
	walk = func(prefix string, s map[string]any) {
		properties, _ := s["properties"].(map[string]any)
		for _, alternative := range asList(s["oneOf"]) {
			walk(prefix, alternative)
		}
		for name, p := range properties {
			at := strings.TrimPrefix(prefix+"."+name, ".")
			below, _ := p.(map[string]any)
			before := len(inSchema)
			if at != "rules" {
				walk(at, below)
			}
			if len(inSchema) == before {
				inSchema = append(inSchema, at)
			}
		}
	}
	walk("", root)
	slices.Sort(inSchema)

	guide := readGuide(t)
	for _, key := range inSchema {
		if !strings.Contains(guide, "`"+key+"`") {
			t.Errorf("the guide does not have %s", key)
		}
	}

	out, _ := runAtRoot(t, "config", "print", "--format", "json", "--config", os.DevNull)
	var printed map[string]any
	if err := json.Unmarshal([]byte(out), &printed); err != nil {
		t.Fatal(err)
	}
	var inPrint []string
	var flat func(prefix string, m map[string]any)
	flat = func(prefix string, m map[string]any) {
		for name, v := range m {
			at := strings.TrimPrefix(prefix+"."+name, ".")
			if below, ok := v.(map[string]any); ok && at != "rules" {
				flat(at, below)
			} else {
				inPrint = append(inPrint, at)
			}
		}
	}
	flat("", printed)
	slices.Sort(inPrint)
	if diff := cmp.Diff(inSchema, inPrint); diff != "" {
		t.Errorf("config print shows other keys than the schema has (- schema, + print):\n%s", diff)
	}
}

func asList(v any) []map[string]any {
	var out []map[string]any
	list, _ := v.([]any)
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// The teams of examples/monorepo go by their own configurations, whatever path is given.
func TestMonorepoExample(t *testing.T) {
	const pay, shop = "examples/monorepo/payments/", "examples/monorepo/shop/"
	want := []string{
		pay + "bank.yaml:9:15: error SE101", pay + "sandbox/bank.yaml:9:15: info SE101", shop + "egress.yaml:36:7: warning DR202",
	}
	line := regexp.MustCompile(`(?m)^(\S+ \w+): .*\[([A-Z]{2}\d{3}) .*$`)
	found := func(t *testing.T, paths ...string) []string {
		t.Helper()
		out, _ := runAtRoot(t, append([]string{"lint", "--format", "compact"}, paths...)...)
		var got []string
		for _, m := range line.FindAllStringSubmatch(out, -1) {
			got = append(got, m[1]+" "+m[2])
		}
		return got
	}
	for _, paths := range [][]string{{"examples/monorepo"}, {pay, shop}, {shop + "egress.yaml", pay + "bank.yaml", pay + "sandbox"}} {
		t.Run(strings.Join(paths, " "), func(t *testing.T) { // which returns to the folder that the test began in
			if diff := cmp.Diff(want, found(t, paths...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := found(t, "--config", os.DevNull, "examples/monorepo"); len(got) != 5 {
		t.Errorf("by default there are five findings: %v", got)
	}
}
