package linttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// folder writes the fixture folder of a rule called a-rule and returns the folder above it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a-rule"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "a-rule", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCases(t *testing.T) {
	dir := folder(t, map[string]string{
		"bad.yaml": "", "bad.fixed.yaml": "", "bad.config.yaml": "version: 1\ncontext:\n  complete: []\n",
		"good_alike.yaml": "", "good_alike.context.yaml": "kind: Namespace\napiVersion: v1\nmetadata: {name: own}\n",
		"context.yaml": "kind: Namespace\napiVersion: v1\nmetadata: {name: shared}\n", "config.yaml": "version: 1\nistio:\n  dnsCapture: true\n",
	})
	cases, err := Cases(dir, "a-rule")
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 2 {
		t.Fatalf("cases %v", cases)
	}
	bad, good := cases[0], cases[1]
	if !bad.Bad || bad.Name() != "bad" || !strings.HasSuffix(bad.FixedPath(), "bad.fixed.yaml") || bad.Config.Complete == nil || len(bad.Config.Complete) != 0 || len(bad.Context) != 1 {
		t.Errorf("bad case %+v", bad)
	}
	if good.Bad || good.Config.Mesh.DNSCapture == nil || len(good.Config.Complete) != len(lint.AllKinds()) || len(good.Context) != 2 {
		t.Errorf("good case %+v", good)
	}
}

func TestCasesRefuse(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"stray file":          {"bad.yaml": "", "odd.yaml": ""},
		"broken config":       {"bad.yaml": "", "config.yaml": "vershun: 1\n"},
		"unreadable fixtures": nil,
	} {
		t.Run(name, func(t *testing.T) {
			rule := "a-rule"
			if files == nil {
				rule = "no-such-rule"
			}
			if _, err := Cases(folder(t, files), rule); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestWants(t *testing.T) {
	dir := folder(t, map[string]string{"bad.yaml": "a: 1\nb: 2 # want SE101 \"x \\\\d\" DR202 \"y\"\n"})
	got := wants(t, filepath.Join(dir, "a-rule", "bad.yaml"))
	if len(got) != 2 || got[0].line != 2 || got[0].id != "SE101" || !got[0].re.MatchString("x 1") || got[1].id != "DR202" {
		t.Errorf("wants %+v", got)
	}
}

func TestPatchIsWhatAToolWouldMake(t *testing.T) {
	o, err := object.FromMap(map[string]any{
		"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"host": "a~b/c"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := patch(t, o, []lint.Op{
		{Kind: lint.Replace, Path: object.Path{"spec", "host"}, Value: "x"},
		{Kind: lint.Add, Path: object.Path{"metadata", "labels"}, Value: map[string]any{"n": int64(1)}},
	})
	var want any = map[string]any{
		"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule",
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"n": int64(1)}}, "spec": map[string]any{"host": "x"},
	}
	if diff := cmp.Diff(want, got.Root().Any()); diff != "" {
		t.Error(diff)
	}
}
