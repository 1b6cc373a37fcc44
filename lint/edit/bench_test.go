package edit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// manifests makes a file of about size bytes: documents, or one list, of objects of some endpoints each.
func manifests(size, endpoints int, list bool) string {
	var b strings.Builder
	pad := ""
	if list {
		b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
		pad = "  "
	}
	for i := 0; b.Len() < size; i++ {
		text := fmt.Sprintf("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata:\n  name: n%d\n  namespace: x # team\nspec:\n  hosts:\n  - n%d.example.com\n  resolution: STATIC\n  endpoints:\n", i, i)
		for k := 0; k < endpoints && (k < 5 || b.Len()+len(text) < size); k++ {
			text += fmt.Sprintf("  - address: 10.0.%d.%d # rack %d\n    weight: 1\n", k/256%256, k%256, k)
		}
		if list {
			b.WriteString("- " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+pad) + "\n")
		} else {
			b.WriteString("---\n" + text)
		}
	}
	return b.String()
}

// BenchmarkLower makes one change in each of the objects of a file of 100 kB.
func BenchmarkLower(b *testing.B) {
	for _, c := range []struct {
		name      string
		endpoints int
		list      bool
	}{{"documents", 5, false}, {"list", 5, true}, {"one object", 4000, false}} {
		f := load(b, manifests(100<<10, c.endpoints, c.list))
		changes := []lint.Op{{Kind: lint.Replace, Path: object.Path{"spec", "endpoints", 2, "weight"}, Value: 5}}
		b.Run(c.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				if _, err := Lower(f.Objects[n%len(f.Objects)], changes); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}

// TestCostOfManyEdits edits large files, in hundreds of places. What Lower costs must
// not grow with the file.
func TestCostOfManyEdits(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
	}{
		{"documents", manifests(4<<20, 5, false)},
		{"list", manifests(2<<20, 5, true)},
		{"small objects in JSON", jsonList(1 << 20)},
		{"one object", manifests(160<<10, 4000, false)},
	} {
		f := load(t, c.text)
		if len(f.Objects) == 0 {
			t.Fatalf("%s: %v", c.name, f.Problems)
		}
		start := time.Now()
		for i := range 300 {
			o := f.Objects[i*len(f.Objects)/300]
			endpoints := o.Spec().Get("endpoints").Len()
			changes := []lint.Op{{Kind: lint.Replace, Path: object.Path{"spec", "endpoints", i % endpoints, "weight"}, Value: 5}}
			if i%3 == 0 {
				changes = []lint.Op{{Kind: lint.Remove, Path: object.Path{"spec", "endpoints", i % endpoints}}}
			}
			if _, err := Lower(o, changes); err != nil {
				t.Fatal(err)
			}
			if i%10 == 0 && c.name != "small objects in JSON" {
				if _, err := Create(o, map[string]any{"kind": "x"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		each := time.Since(start) / 300
		t.Logf("%s: %d objects, %s an edit", c.name, len(f.Objects), each)
		if each > 20*time.Millisecond {
			t.Errorf("%s: %s an edit", c.name, each)
		}
	}
}

func jsonList(size int) string {
	var b strings.Builder
	b.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"apiVersion":"networking.istio.io/v1","kind":"ServiceEntry","metadata":{"name":"n%d"},"spec":{"hosts":["a"],"endpoints":[{"address":"a","weight":1},{"address":"b","weight":1}]}}`, i)
	}
	return b.String() + "]}"
}
