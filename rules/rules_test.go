package rules_test

import (
	"context"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/policies"
	"github.com/meshvet/meshvet/rules"
)

// all is the whole rule set: rules supersede one another, so no rule is tested alone.
func all(t *testing.T) []lint.Rule {
	t.Helper()
	fromRego, err := policy.Load(context.Background(), policies.FS)
	if err != nil {
		t.Fatal(err)
	}
	return append(rules.All(), fromRego...)
}

func TestFixtures(t *testing.T) {
	linttest.Run(t, "testdata", all(t), func(m *lint.Meta) bool { return m.Lang == "go" })
}

func TestRego(t *testing.T) {
	linttest.Run(t, "../policies/testdata", all(t), func(m *lint.Meta) bool { return m.Lang == "rego" })
}
