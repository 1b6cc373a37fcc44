package main

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/policies"
	"github.com/meshvet/meshvet/rules"
)

// allRules returns every rule that meshvet has, Go and Rego alike, by ID.
func allRules(ctx context.Context) ([]lint.Rule, error) {
	rego, err := policy.Load(ctx, policies.FS)
	if err != nil {
		return nil, fmt.Errorf("load the built-in policies: %w", err)
	}
	for i := range rego {
		rego[i].Source = path.Join("policies", path.Base(rego[i].Source))
	}
	return combine(rules.All(), rego)
}

// combine puts sets of rules together. Two rules of one ID or name are a mistake of whoever added the second.
func combine(sets ...[]lint.Rule) ([]lint.Rule, error) {
	all := slices.Concat(sets...)
	slices.SortStableFunc(all, func(a, b lint.Rule) int { return cmp.Compare(a.ID, b.ID) })
	names := map[string]string{}
	for i := range all {
		r := &all[i]
		if i > 0 && all[i-1].ID == r.ID {
			return nil, fmt.Errorf("two rules are called %s: %s and %s", r.ID, all[i-1].Source, r.Source)
		}
		if other, taken := names[r.Name]; taken {
			return nil, fmt.Errorf("two rules are called %s: %s and %s", r.Name, other, r.ID)
		}
		names[r.Name] = r.ID
	}
	return all, nil
}

// findRule returns the rule with an ID or name, in any case.
func findRule(all []lint.Rule, word string) (*lint.Rule, error) {
	var words []string
	for i := range all {
		r := &all[i]
		if strings.EqualFold(r.ID, word) || strings.EqualFold(r.Name, word) {
			return r, nil
		}
		words = append(words, r.ID, r.Name)
	}
	return nil, fmt.Errorf("unknown rule %q%s", word, cmp.Or(didYouMean(word, words), "; `meshvet rules` lists them"))
}
