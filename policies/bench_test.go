package policies_test

import (
	"context"
	"slices"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/policies"
)

// BenchmarkPolicy evaluates each policy alone on the bad inputs of its fixtures; the time is that of one input.
func BenchmarkPolicy(b *testing.B) {
	rules, err := policy.Load(context.Background(), policies.FS)
	if err != nil {
		b.Fatal(err)
	}
	for i := range rules {
		b.Run(rules[i].ID, func(b *testing.B) {
			cases, err := linttest.Cases("testdata", rules[i].Name)
			if err != nil {
				b.Fatal(err)
			}
			var runs []func() (*lint.Report, error)
			for _, c := range cases {
				if !c.Bad {
					continue
				}
				file, err := linttest.Load(c.Path)
				if err != nil {
					b.Fatal(err)
				}
				e, err := lint.New(rules[i:i+1], &lint.Config{})
				if err != nil {
					b.Fatal(err)
				}
				store := mesh.NewStore(c.Config.Mesh)
				store.Put(file.Objects...)
				for _, f := range c.Context {
					store.Put(f.Objects...)
				}
				store.MarkComplete(c.Config.Complete...)
				index := store.Snapshot()
				judged := slices.DeleteFunc(slices.Clone(file.Objects), func(o *object.Object) bool { return !slices.Contains(rules[i].Kinds, o.Kind) })
				runs = append(runs, func() (*lint.Report, error) { return e.Run(context.Background(), index, judged) })
			}
			n := 0
			for b.Loop() {
				if r, err := runs[n%len(runs)](); err != nil || len(r.Problems) > 0 {
					b.Fatal(err, r.Problems)
				}
				n++
			}
		})
	}
}
