package object

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// checkRuns holds that documents that are read in a row come out as when each is read alone.
func checkRuns(f *File, text string, limits Limits) error {
	alone := &File{Name: f.Name, text: text}
	limits = limits.WithDefaults()
	l := loader{f: alone, limits: limits, tree: treeBuilder{limits: limits, text: text}}
	for p := range split(text) {
		if !l.document(p, nil) {
			break
		}
	}
	l.settle()
	if got, want := summary(f), summary(alone); got != want {
		return fmt.Errorf("in a row:\n%s\nalone:\n%s", got, want)
	}
	for i, o := range f.Objects {
		got, want := o.root.t, alone.Objects[i].root.t
		if !slices.Equal(got.nodes, want.nodes) || !slices.Equal(got.strs, want.strs) {
			return fmt.Errorf("%s is laid out differently in a row (%v) and alone (%v)", o.Key, o.Root().Any(), alone.Objects[i].Root().Any())
		}
	}
	return nil
}

func TestRuns(t *testing.T) {
	se := manifest("ServiceEntry", "a")
	texts := map[string]string{
		"stream":                    benchStream(200),
		"anchor of another one":     se + "x: &x 1\n---\n" + se + "y: *x\n",
		"error in the middle":       se + "---\n" + se + "x: 'y\n---\n" + se,
		"flow roots":                se + "---\n{kind: ServiceEntry}\n---\n" + se + "--- {kind: ServiceEntry}\n---\n" + se,
		"text behind a flow root":   se + "---\n{kind: ServiceEntry}\nx: y\n---\n" + se,
		"directives":                "%YAML 1.1\n---\n" + se + "---\n" + se + "...\n%YAML 1.1\n---\n" + se,
		"document ends":             se + "...\n" + se + "...\n---\n" + se,
		"comments":                  "# a\n---\n# b\n" + se + "# c\n---\n# d\n---\n# e\n" + se + "  # f\n# g\n---\n" + se,
		"others between":            se + "---\nkind: Pod\n---\n" + se + "---\n---\n" + se,
		"line ends of YAML alone":   se + "---\n" + se + "# \u2028\n---\n" + se,
		"byte-order marks":          se + "---\n" + bom + se + "---\n" + se,
		"indented roots":            "  kind: ServiceEntry\n---\n" + se + "---\n  kind: ServiceEntry\nx: y\n---\n" + se,
		"scalars and lists":         se + "---\nServiceEntry\n---\n- ServiceEntry\n---\n" + se,
		"block scalar at the end":   se + "x: |\n  y\n\n---\n" + se + "x: |+\n  y\n\n---\n" + se,
		"longer than a run":         se + "# " + strings.Repeat("x", runBytes) + "\n---\n" + se + "---\n" + se,
		"plain scalar over markers": "ServiceEntry\n---\nServiceEntry\n",
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			if err := checkRuns(load(t, text), text, Limits{}); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("runs are used", func(t *testing.T) {
		r := run{}
		text := benchStream(20)
		for p := range split(text) {
			if !r.takes(p) {
				t.Fatalf("a stream of %d bytes is no run", len(text))
			}
			r.pieces = append(r.pieces, p)
		}
		r.decode(text, Limits{}.WithDefaults())
		if slices.Contains(r.roots, nil) {
			t.Error("a plain document of the stream must be read alone")
		}
	})
}

func TestCorpusRuns(t *testing.T) {
	last := ""
	eachCorpusDocument(t, func(name, text string, _, _ int) {
		if name == last {
			return
		}
		last = name
		r, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }() // only read from
		f, err := Load(context.Background(), name, r, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if f.Text() == "" {
			return // nothing of ours
		}
		if err := checkRuns(f, text, Limits{}); err != nil {
			t.Errorf("%s: %s", name, err)
		}
	})
}
