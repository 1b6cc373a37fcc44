package rules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/rules"
)

// Where there are several meshes the finding says which of them lacks the host.
func TestHostMatchesNothingNamesTheScope(t *testing.T) {
	const rule = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {namespace: q, name: d}\nspec: {host: x.example.com}\n"
	e, err := lint.New(rules.All(), &lint.Config{Complete: lint.AllKinds()})
	if err != nil {
		t.Fatal(err)
	}
	lintFiles := func(files map[string]string) []lint.Finding {
		var in lint.Input
		for _, name := range slices.Sorted(maps.Keys(files)) {
			f, err := object.Load(t.Context(), name, strings.NewReader(files[name]), object.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			in.Files = append(in.Files, f)
		}
		r, err := e.Lint(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return r.Findings
	}
	const effect = "Istio compiles no cluster for the host, so nothing in the rule has an effect; "
	found := lintFiles(map[string]string{"one/m.yaml": rule, "two/m.yaml": rule + "---\n" + entry("q", "e", "", tls443, dns)})
	if len(found) != 1 || !strings.HasPrefix(found[0].Effect, "in mesh scope one "+effect) {
		t.Errorf("%+v", found)
	}
	found = lintFiles(map[string]string{"one/m.yaml": rule})
	if len(found) != 1 || !strings.HasPrefix(found[0].Effect, effect) {
		t.Errorf("%+v", found)
	}
}
