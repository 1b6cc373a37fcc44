package rules_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/agree"
)

// neighbourSeeds is how many random meshes, and how many mixtures of fixtures, TestNeighbours makes.
var neighbourSeeds = flag.Uint64("neighbours", 50, "how many random meshes TestNeighbours takes out the objects of")

// TestNeighbours: an object changes the findings of no object but its neighbours. It is taken out of meshes of every origin, one object
// after another; that a changed one is no different follows, since changing it is taking out the one and putting in the other.
//
// Every namespace exists for itself, as in a cluster, since otherwise the last object of a namespace takes the namespace along.
func TestNeighbours(t *testing.T) {
	set := all(t)
	type world struct {
		name   string
		engine *lint.Engine
		index  *mesh.Index
	}
	var worlds []world
	add := func(name string, cfg lint.Config, files, around []*object.File) {
		for _, r := range set {
			cfg.Enable = append(cfg.Enable, r.ID)
		}
		e, err := lint.New(set, &cfg)
		if err != nil {
			t.Fatal(err)
		}
		meshes, _, err := e.Meshes(lint.Input{Files: files, Around: around})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range meshes {
			ix := m.Index
			for _, ns := range ix.Namespaces() {
				o, err := object.FromMap(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}})
				if err != nil {
					t.Fatal(err)
				}
				if ix.Get(o.Key) == nil {
					ix = ix.With(o)
				}
			}
			worlds = append(worlds, world{name + m.Name, e, ix})
		}
	}
	var pool []*object.File
	err := linttest.EachFile("testdata", "../policies/testdata", set, func(c linttest.Case, f *object.File) {
		add(f.Name, *c.Config, []*object.File{f}, c.Context)
		pool = append(pool, f)
	})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := filepath.Glob("../../shared/cases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	complete := lint.Config{Complete: lint.AllKinds()}
	for _, path := range shared {
		f, err := linttest.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		add(path, complete, []*object.File{f}, nil)
		pool = append(pool, f)
	}
	for seed := range *neighbourSeeds {
		m, err := agree.Random(seed)
		if err != nil {
			t.Fatal(err)
		}
		cfg := complete
		if cfg.Mesh, err = m.Settings(); err != nil {
			t.Fatal(err)
		}
		add(m.Name, cfg, []*object.File{m.File}, nil)
		add(m.Name+" over many namespaces", cfg, []*object.File{scattered(t, m.File, rand.New(rand.NewPCG(seed, 2)))}, nil)
		// Files that know nothing of one another meet where they speak of the same hosts.
		d := rand.New(rand.NewPCG(seed, 1))
		var files []*object.File
		for range 2 + d.IntN(3) {
			if f := pool[d.IntN(len(pool))]; !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
		add(fmt.Sprintf("mixture %d", seed), complete, files, nil)
	}

	var mu sync.Mutex
	var changes, silent int
	t.Run("", func(t *testing.T) {
		for _, w := range worlds {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				n, m := takenOut(t, w.engine, w.index)
				mu.Lock()
				defer mu.Unlock()
				changes, silent = changes+n, silent+m
			})
		}
	})
	t.Logf("%d meshes; taking out an object changed the findings of %d neighbours and not those of %d", len(worlds), changes, silent)
	if changes < 1000 {
		t.Error("too little changes")
	}
}

// scattered moves some objects of a file to other namespaces, so that there are more than rules single out.
func scattered(t *testing.T, f *object.File, d *rand.Rand) *object.File {
	t.Helper()
	var text strings.Builder
	for _, o := range f.Objects {
		raw, ok := o.Root().Any().(map[string]any)
		meta, isMap := raw["metadata"].(map[string]any)
		if ok && isMap && d.IntN(2) == 0 {
			meta["namespace"] = fmt.Sprintf("team-%d", d.IntN(5))
		}
		js, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(js) + "\n")
	}
	out, err := object.Load(context.Background(), "scattered.yaml", strings.NewReader(text.String()), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// takenOut takes each object out of a mesh, and returns the number of neighbours whose findings changed and of the others.
func takenOut(t *testing.T, e *lint.Engine, ix *mesh.Index) (changes, silent int) {
	t.Helper()
	var objects []*object.Object
	for _, k := range []object.Kind{object.ServiceEntry, object.DestinationRule} {
		objects = slices.AppendSeq(objects, ix.All(k))
	}
	before := map[*object.Object][]string{}
	for _, o := range objects {
		before[o] = findingsOf(t, e, ix, o)
	}
	for _, o := range objects {
		without := ix.Without(o.Key)
		near, whole := ix.Neighbours(o, len(objects))
		if again, _ := without.Neighbours(o, len(objects)); !whole || !slices.Equal(near, again) {
			t.Errorf("%s has other neighbours if the index does not hold it:\n%v\n%v", o, near, again)
		}
		for _, other := range objects {
			if other == o {
				continue
			}
			after := findingsOf(t, e, without, other)
			isNear := slices.Contains(near, other)
			switch same := slices.Equal(before[other], after); {
			case same && isNear:
				silent++
			case isNear:
				changes++
			case !same:
				t.Errorf("%s changes findings of %s, which is no neighbour (-with +without):\n%s", o, other, cmp.Diff(before[other], after))
			}
		}
	}
	return changes, silent
}

// findingsOf judges an object alone and writes all that is found, but for its place in a file.
func findingsOf(t *testing.T, e *lint.Engine, ix *mesh.Index, o *object.Object) []string {
	t.Helper()
	r, err := e.Run(context.Background(), ix, []*object.Object{o})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range r.Findings {
		f := r.Findings[i]
		related := []string{}
		for _, r := range f.Related {
			related = append(related, fmt.Sprint(r.Object, r.Path, r.Message))
		}
		fixes, err := json.Marshal(f.Fixes)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s: %s; %s; %s; %s; %v", f.Rule.ID, f.Severity, f.Path, f.Message, f.Effect, strings.Join(related, ", "), fixes, f.Subject))
	}
	for _, p := range r.Problems {
		out = append(out, p.Message)
	}
	return out
}
