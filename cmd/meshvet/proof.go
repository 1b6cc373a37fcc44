package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/proof"
	"github.com/meshvet/meshvet/policies"
	"github.com/meshvet/meshvet/rules"
)

// maxCompared is how many comparisons of one fixture a page shows.
const maxCompared = 3

// evidence is what a page shows of a rule's proof: what Istio compiles from one fixture, and from what it is compared with.
type evidence struct {
	Istio   string // version
	Notes   []string
	Fixture string // "" = nothing was compiled
	Against string // what the + lines are of
	Diff    string
	More    int    // comparisons that are not shown
	File    string // the proof, from the root of the repository
}

// evidenceOf reads the proof of a rule that comes with meshvet; nil if it has none.
func evidenceOf(m *lint.Meta, fixture string) (*evidence, error) {
	proofs, place := fs.FS(rules.Proofs), "rules/"
	if m.Lang == "rego" {
		proofs, place = policies.Proofs, "policies/"
	}
	name := "testdata/" + m.Name + "/" + proof.GoldenName
	text, err := fs.ReadFile(proofs, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the proof of %s: %w", m.ID, err)
	}
	g, err := proof.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", place, name, err)
	}
	e := &evidence{Istio: g.Istio, Notes: g.Notes, File: place + name, Fixture: shownFixture(g, fixture)}
	var shown []string
	for i := range g.Cases {
		c := &g.Cases[i]
		if c.File() != e.Fixture || len(shown) == maxCompared {
			e.More++
			continue
		}
		switch {
		case strings.Contains(c.Title, " without "):
			e.Against = "it without what is named"
		case strings.Contains(c.Title, " swapped"):
			e.Against = "it with its objects created in the opposite order"
		default:
			e.Against = "it put right"
		}
		shown = append(shown, c.Title+"\n"+strings.Join(c.Lines, "\n"))
	}
	e.Diff = strings.Join(shown, "\n\n")
	return e, nil
}

// shownFixture picks the fixture to show: that of the page's example if the proof is about it, or else the first by name.
func shownFixture(g *proof.Golden, example string) string {
	var files []string
	for i := range g.Cases {
		files = append(files, g.Cases[i].File())
	}
	slices.Sort(files)
	switch {
	case slices.Contains(files, example):
		return example
	case slices.Contains(files, "bad.yaml"):
		return "bad.yaml"
	case len(files) > 0:
		return files[0]
	}
	return ""
}
