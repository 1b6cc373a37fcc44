package policy

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

func evalImplicitTimeouts(p *lint.Pass, _ []*ast.Term) (any, error) {
	rule, _, err := ruleAndReach(p)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, t := range p.ImplicitTimeouts() {
		subject := subjectOf(t.Ports)
		subject["blocks"] = []string{"connectionPool"}
		out = append(out, record{
			"at": pathRecord(t.At), "ports": alikePorts(p, t.Ports, object.Value{}), "of_mesh": t.OfMesh, "subject": subject,
			"requests": slices.ContainsFunc(t.Ports, effective.Port.CarriesRequests), "wildcard": rule.Host.IsWildcard(),
		})
	}
	return out, nil
}
