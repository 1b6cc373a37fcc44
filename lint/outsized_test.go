package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/schema"
)

// sized is a ServiceEntry with so many items.
func sized(hosts, ports, addresses int) string {
	var b strings.Builder
	b.WriteString("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: a, namespace: shop}\nspec:\n  resolution: DNS\n")
	list := func(name string, n int, item func(i int) string) {
		if n > 0 {
			b.WriteString("  " + name + ":\n")
		}
		for i := range n {
			b.WriteString("  - " + item(i) + "\n")
		}
	}
	list("hosts", hosts, func(i int) string { return fmt.Sprintf("h%d.example.com", i) })
	list("ports", ports, func(i int) string { return fmt.Sprintf("{number: %d, name: p%d, protocol: TLS}", i+1, i) })
	list("addresses", addresses, func(i int) string { return fmt.Sprintf("10.0.%d.%d", i/256, i%256) })
	return b.String()
}

// Of what the API server refuses for its size, and of what would be more clusters than a proxy holds, only the form is judged; the
// latter makes the run fail.
func TestOutsized(t *testing.T) {
	form := simple("MV902", object.ServiceEntry, finds(nil, "the form"))
	form.Category = lint.CategoryInput
	sense := simple("SE101", object.ServiceEntry, finds(nil, "the sense"))
	for _, c := range []struct {
		hosts, ports, addresses int
		reason                  string
	}{
		{256, 1, 256, ""},
		{1, 256, 0, ""},
		{257, 1, 0, "only the form of the manifest is judged: spec.hosts has 257 items, and 256 are the most that the API server takes"},
		{1, 257, 0, "only the form of the manifest is judged: spec.ports has 257 items, and 256 are the most that the API server takes"},
		{1, 1, 257, "only the form of the manifest is judged: spec.addresses has 257 items, and 256 are the most that the API server takes"},
		{100, 100, 0, ""},
		{100, 101, 0, "ServiceEntry shop/a is for more than 10000 ports of hosts, each of which would be a cluster in every proxy: " +
			"only the form of the manifest is judged; split the object, or name fewer hosts"},
	} {
		f := load(t, "a.yaml", sized(c.hosts, c.ports, c.addresses))
		r := run(t, nil, []lint.Rule{form, sense}, f)
		want := []string{"MV902@a", "SE101@a"}
		if c.reason != "" {
			want = []string{"MV902@a"}
		}
		got := ids(r)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%d hosts, %d ports, %d addresses: findings %v, want %v", c.hosts, c.ports, c.addresses, got, want)
		}
		said := ""
		for _, s := range r.Skipped {
			said += s.Reason
		}
		for _, p := range r.Problems {
			said += p.Message
		}
		if said != c.reason {
			t.Errorf("%d hosts, %d ports, %d addresses: said %q, want %q", c.hosts, c.ports, c.addresses, said, c.reason)
		}

		// The bounds on lists are those of the CustomResourceDefinition.
		v, err := schema.New("")
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := f.Objects[0].Root().Any().(map[string]any)
		violations, err := v.Validate(t.Context(), "ServiceEntry", raw)
		if err != nil {
			t.Fatal(err)
		}
		if refused := strings.Contains(c.reason, "API server"); refused != (len(violations) > 0) {
			t.Errorf("%d hosts, %d ports, %d addresses: violations %v", c.hosts, c.ports, c.addresses, violations)
		}
	}
}
