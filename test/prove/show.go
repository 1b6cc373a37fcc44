package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
)

// show prints all that a rule's bad fixtures change, for whoever writes a proof.yaml. The claims are taken from there as far as
// they are written.
func (p *prover) show(ctx context.Context, out io.Writer, word string, names []string) error {
	i := slices.IndexFunc(p.rules, func(r lint.Rule) bool { return r.ID == word || r.Name == word })
	if i < 0 {
		return fmt.Errorf("no rule is called %s", word)
	}
	r := &p.rules[i]
	written := map[string]*claim{}
	if spec, err := readClaims(p.folder(r)); err == nil {
		for i := range spec.Cases {
			written[spec.Cases[i].Case] = &spec.Cases[i]
		}
	}
	cases, err := linttest.Cases(p.fixtures(r), r.Name)
	if err != nil {
		return err
	}
	for i := range cases {
		c := &cases[i]
		if !c.Bad || len(names) > 0 && !slices.Contains(names, c.Name()) {
			continue
		}
		one := &claim{Case: c.Name()}
		if w := written[c.Name()]; w != nil {
			one = w
		} else if file, err := linttest.Load(c.Path); err == nil && len(file.Objects) > 0 {
			one.Proxy.Namespace = file.Objects[0].Namespace
		}
		one.complete(r.Proof.Kind)
		pairs, err := p.comparisons(ctx, r, c, one)
		if err != nil {
			fmt.Fprintf(out, "%s: %s\n", c.Name(), err)
			continue
		}
		if err := p.claimed(out, r, c); err != nil {
			return err
		}
		for _, pair := range pairs {
			fmt.Fprintf(out, "%s\n", pair.title)
			for _, s := range []struct {
				sign string
				*side
			}{{"-", pair.before}, {"+", pair.after}} {
				if s.result.Panic != "" {
					fmt.Fprintf(out, "%s panics: %s\n", s.sign, s.result.Panic)
				}
				for _, text := range refusals(s.result) {
					fmt.Fprintf(out, "%s refuses %s\n", s.sign, text)
				}
				for _, text := range s.result.NACK {
					fmt.Fprintf(out, "%s breaks %s\n", s.sign, text)
				}
			}
			for _, d := range gathered(diff(pair.before.resources, pair.after.resources), pair.before.resources, pair.after.resources) {
				fmt.Fprintf(out, "    %s  %s: %s -> %s\n", d.resource, d.path, d.before, d.after)
			}
		}
	}
	return nil
}

// claimed prints what the rule says of a fixture.
func (p *prover) claimed(out io.Writer, r *lint.Rule, c *linttest.Case) error {
	file, err := linttest.Load(c.Path)
	if err != nil {
		return err
	}
	report, err := c.Lint(p.rules, file)
	if err != nil {
		return err
	}
	for _, f := range report.Findings {
		if f.Rule.ID == r.ID {
			fmt.Fprintf(out, "%s: %s %s: %s\n    effect: %s\n", f.Location, f.Severity, f.Object, f.Message, f.Effect)
		}
	}
	return nil
}
