// Package proof reads and writes what has been shown to be true of a rule. Beside the fixtures of each rule lie proof.yaml, which
// says what Istio must make of them, and proof.golden, which `make prove` writes from what Istio's own control plane made of them.
package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The files in a rule's fixture folder.
const (
	ClaimsName = "proof.yaml"
	GoldenName = "proof.golden"
)

// Golden is the content of a proof.golden: a head of "name: value" lines, and for each case a title and what was compiled.
type Golden struct {
	Rule   string // ID and name
	Kind   string // as in lint.Proof
	Istio  string // version of the istio.io/istio module that compiled; "" where nothing was
	Inputs string // what Inputs returned when it was written
	Notes  []string
	Cases  []Case
}

// Case is one comparison.
type Case struct {
	Title string // the file and the proxy
	// Lines are a diff: "-" what comes of the fixture as it is, "+" of the other one, " " what both are about.
	Lines []string
}

// File is the name of the fixture that the case is about.
func (c *Case) File() string {
	name, _, _ := strings.Cut(c.Title, " ")
	return strings.TrimSuffix(name, ",")
}

// Text writes the file's text.
func (g *Golden) Text() string {
	var b strings.Builder
	for _, line := range [][2]string{{"rule", g.Rule}, {"kind", g.Kind}, {"istio", g.Istio}, {"inputs", g.Inputs}} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], line[1])
		}
	}
	for _, note := range g.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	for _, c := range g.Cases {
		fmt.Fprintf(&b, "\n%s\n", c.Title)
		for _, line := range c.Lines {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// Parse reads the text of a proof.golden.
func Parse(text string) (*Golden, error) {
	head, body, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n")
	var g Golden
	for line := range strings.SplitSeq(strings.TrimRight(head, "\n"), "\n") {
		name, value, ok := strings.Cut(line, ": ")
		switch {
		case !ok:
			return nil, fmt.Errorf("the head has %q where a name and a value are wanted", line)
		case name == "rule":
			g.Rule = value
		case name == "kind":
			g.Kind = value
		case name == "istio":
			g.Istio = value
		case name == "inputs":
			g.Inputs = value
		case name == "note":
			g.Notes = append(g.Notes, value)
		default:
			return nil, fmt.Errorf("the head has %q, which is not known", name)
		}
	}
	if g.Rule == "" || g.Kind == "" || g.Inputs == "" {
		return nil, errors.New("the head lacks rule, kind or inputs")
	}
	for block := range strings.SplitSeq(strings.TrimRight(body, "\n"), "\n\n") {
		if block == "" {
			continue
		}
		lines := strings.Split(block, "\n")
		g.Cases = append(g.Cases, Case{lines[0], lines[1:]})
	}
	return &g, nil
}

// Inputs is a hash over all that a proof in a fixture folder rests on: proof.yaml, and every fixture but the good ones and removals, which
// prove nothing.
func Inputs(folder string) (string, error) {
	entries, err := os.ReadDir(folder) // sorted by name
	if err != nil {
		return "", fmt.Errorf("hash the inputs of a proof: %w", err)
	}
	h := sha256.New()
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".yaml" || strings.HasPrefix(e.Name(), "good") || strings.HasPrefix(e.Name(), "gone") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", fmt.Errorf("hash the inputs of a proof: %w", err)
		}
		text := strings.ReplaceAll(string(data), "\r\n", "\n") // as a checkout on Windows has it
		fmt.Fprintf(h, "%s %d\n%s", e.Name(), len(text), text)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Check says what is wrong with the proof in a rule's fixture folder, without compiling anything: it is missing, is of another
// kind, or was written from other fixtures. rule is the ID and name, as in Golden.
func Check(folder, rule, kind string) error {
	if _, err := os.Stat(filepath.Join(folder, ClaimsName)); err != nil {
		return fmt.Errorf("%s has no %s: write down there what Istio makes of the fixtures, then run make prove", folder, ClaimsName)
	}
	text, err := os.ReadFile(filepath.Join(folder, GoldenName))
	if err != nil {
		return fmt.Errorf("%s has no %s: run make prove", folder, GoldenName)
	}
	g, err := Parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w: run make prove", filepath.Join(folder, GoldenName), err)
	}
	inputs, err := Inputs(folder)
	if err != nil {
		return err
	}
	switch {
	case g.Inputs != inputs:
		return fmt.Errorf("the fixtures or %s in %s have changed since the proof was made: run make prove", ClaimsName, folder)
	case g.Rule != rule:
		return fmt.Errorf("the proof in %s is that of %q, the rule is %q: run make prove", folder, g.Rule, rule)
	case g.Kind != kind:
		return fmt.Errorf("the proof in %s is of kind %s, the rule says %s: run make prove", folder, g.Kind, kind)
	}
	return nil
}
