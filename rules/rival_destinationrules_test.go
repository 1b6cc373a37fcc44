package rules_test

import (
	"fmt"
	"testing"

	"github.com/meshvet/meshvet/lint"
)

func TestRivalDestinationRuleEffects(t *testing.T) {
	rule := func(name, spec string) string {
		return fmt.Sprintf("apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {namespace: q, name: %s}\nspec: {host: x.example.com%s}\n---\n", name, spec)
	}
	const pool, other = ", trafficPolicy: {connectionPool: {tcp: {maxConnections: 1}}}", ", trafficPolicy: {connectionPool: {tcp: {maxConnections: 2}}}"
	for _, c := range []struct {
		name, a, b string
		severity   lint.Severity
		effect     string // "" = no finding
	}{
		{"equal lists", pool, other, lint.Error, "Istio applies the whole trafficPolicy of whichever was created first; the other's is lost without a word"},
		{"unset against all", pool, other + ", exportTo: ['*']", lint.Error, "their exportTo lists differ, so Istio does not merge them: clients that see both get the one that was created last and nothing of the other"},
		{
			"a shorter list at home", pool + ", exportTo: ['.']", other + ", exportTo: ['.', w]", lint.Warning,
			"b is exported to all whom a is exported to, and these get a, whichever was created first, and of b at most what a has nothing for",
		},
		{
			"a shorter list abroad", pool + ", exportTo: [w, z]", other + ", exportTo: [w]", lint.Error,
			"a is exported to all whom b is exported to, and these get b, whichever was created first, and of a at most what b has nothing for" +
				"; if a was created last, Istio merges it into b, and namespaces that only a is exported to get neither",
		},
		{"no common client", pool + ", exportTo: [w]", other + ", exportTo: [z]", lint.Off, ""},
		{"the same", pool, pool + ", exportTo: ['*']", lint.Off, ""},
		{"the same in a shorter list at home", pool + ", exportTo: ['.']", pool + ", exportTo: ['.', w]", lint.Off, ""},
	} {
		found := judged(t, "MX302", rule("a", c.a)+rule("b", c.b))
		if c.effect == "" {
			if len(found) > 0 {
				t.Errorf("%s: %s", c.name, found[0].Message)
			}
			continue
		}
		if len(found) != 2 || found[0].Effect != c.effect || found[0].Severity != c.severity {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
}
