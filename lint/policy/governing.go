package policy

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

func evalGoverning(p *lint.Pass, args []*ast.Term) (any, error) {
	block, err := blockArg(args[0])
	if err != nil {
		return nil, err
	}
	if p.Object.Kind != object.ServiceEntry {
		return nil, errors.New("the object being judged is no ServiceEntry")
	}
	out := []any{}
	for _, g := range effective.GoverningOf(p.Mesh, p.Mesh.Target(p.Object), block) {
		rule := g.Block.Object
		out = append(out, record{
			"host": string(g.Port.Host), "number": g.Port.Number, "subset": g.Subset, "path": pathRecord(g.Block.Path), "value": g.Block.Value,
			"rule": record{"kind": string(rule.Kind), "namespace": rule.Namespace, "name": rule.Name}, "rule_host": string(p.Mesh.Rule(rule).Host),
		})
	}
	return out, nil
}
