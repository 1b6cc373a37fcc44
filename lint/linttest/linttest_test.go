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

// A rule finds fault with the host a; fixes may cure that, not cure it, or be no fixes at all.
func TestFaultsOfFixes(t *testing.T) {
	write := func(host string, safety lint.Safety) lint.Fix {
		return lint.Fix{Title: "x", Safety: safety, Ops: []lint.Op{{Kind: lint.Replace, Path: object.Path{"spec", "host"}, Value: host}}}
	}
	create := func(name, host string) lint.Fix {
		return lint.Fix{Title: "x", Safety: lint.Unsafe, Create: &lint.Create{Object: map[string]any{
			"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": map[string]any{"name": name}, "spec": map[string]any{"host": host},
		}}}
	}
	both := create("b", "b")
	both.Ops = write("b", lint.Safe).Ops
	meta := func(id, name string, severity lint.Severity) lint.Meta {
		return lint.Meta{ID: id, Name: name, Title: name, Category: lint.CategoryPool, Severity: severity, Presets: []string{"recommended"}, Kinds: []object.Kind{object.DestinationRule}}
	}
	on := func(host string) func(*lint.Pass) error {
		return func(p *lint.Pass) error {
			if at := (object.Path{"spec", "host"}); p.Object.Lookup(at).Str() == host {
				p.Report(at, "host "+host)
			}
			return nil
		}
	}
	rules := []lint.Rule{
		{Meta: meta("DR901", "host-a", lint.Warning), Check: on("a")},
		{Meta: meta("DR902", "host-warned", lint.Warning), Check: on("warned")},
		{Meta: meta("DR903", "host-noted", lint.Info), Check: on("noted")},
	}
	file, err := object.Load(t.Context(), "a.yaml", strings.NewReader("apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: a}\nspec: {host: a}\n"), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Rule: "host-a", Config: &lint.Config{}}
	before, err := c.Lint(rules, file)
	if err != nil || len(before.Findings) != 1 {
		t.Fatal(before, err)
	}
	for name, test := range map[string]struct {
		fix  lint.Fix
		want string // start of the fault
	}{
		"a cure":                      {write("b", lint.Safe), ""},
		"no cure":                     {write("a", lint.Unsafe), "leaves the finding"},
		"an object that is no cure":   {create("b", "b"), "leaves the finding"},
		"a cure with another warning": {write("warned", lint.Unsafe), "brings about DR902 on DestinationRule a: host warned"},
		"a choice with a note":        {write("noted", lint.Unsafe), ""},
		"a safe cure with a note":     {write("noted", lint.Safe), "brings about DR903"},
		"an object with no such name": {create("*.b", "b"), "creates an object with the name \"*.b\""},
		"an object of no known kind":  {lint.Fix{Create: &lint.Create{Object: map[string]any{"kind": "Rule"}}}, "creates no object"},
		"neither":                     {lint.Fix{}, "has to have either"},
		"both":                        {both, "has to have either"},
	} {
		t.Run(name, func(t *testing.T) {
			faults := strings.Join(faultsOf(t, rules, c, file, before, before.Findings[0], test.fix), "; ")
			if (faults == "") != (test.want == "") || !strings.HasPrefix(faults, test.want) {
				t.Errorf("faults %q, want %q", faults, test.want)
			}
		})
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
