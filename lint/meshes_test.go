package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// TestMeshes: the meshes are those that Lint judges in, each with an index of its own.
func TestMeshes(t *testing.T) {
	file := func(name, host string) *object.File {
		text := "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: api, namespace: shop}\nspec: {hosts: [" + host + "], ports: [{number: 443, name: tls, protocol: TLS}]}\n"
		f, err := object.Load(t.Context(), name, strings.NewReader(text), object.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	rule := func(name string) *object.File {
		f, err := object.Load(t.Context(), name, strings.NewReader("apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: all, namespace: shop}\nspec: {host: '*.example.com'}\n"), object.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	blue, green, base := file("m/blue/a.yaml", "blue.example.com"), file("m/green/a.yaml", "green.example.com"), rule("m/base.yaml")
	broken, err := object.Load(t.Context(), "m/blue/b.yaml", strings.NewReader("kind: ServiceEntry\nspec: ["), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		in     lint.Input
		want   []string // name, whether shared, whether in focus, objects
		broken int
	}{
		{"one mesh", lint.Input{Files: []*object.File{blue, base}}, []string{"m shared=false focus=true 2"}, 0},
		{
			"two meshes on one base", lint.Input{Files: []*object.File{blue, broken}, Around: []*object.File{green, base}},
			[]string{"m/blue shared=false focus=true 2", "m/green shared=false focus=false 2", "m/(shared) shared=true focus=false 1"}, 1,
		},
		{
			"the base alone is of all meshes", lint.Input{Files: []*object.File{base}, Around: []*object.File{blue, green}},
			[]string{"m/blue shared=false focus=true 2", "m/green shared=false focus=true 2", "m/(shared) shared=true focus=true 1"}, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			engine, err := lint.New(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			meshes, report, err := engine.Meshes(c.in)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range meshes {
				n := m.Index.Count(object.ServiceEntry) + m.Index.Count(object.DestinationRule)
				got = append(got, fmt.Sprintf("%s shared=%v focus=%v %d", m.Name, m.Shared, m.Focus, n))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(report.Problems) != c.broken || len(report.Scopes) != len(meshes) {
				t.Errorf("%d problems, %d scopes", len(report.Problems), len(report.Scopes))
			}
		})
	}
}
