package policy

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

func evalOriginated(p *lint.Pass, _ []*ast.Term) (any, error) {
	if p.Object.Kind != object.ServiceEntry {
		return nil, errors.New("the object being judged is no ServiceEntry")
	}
	out := []any{}
	for _, o := range p.Originated() {
		rule := o.Block.Object
		out = append(out, record{
			"host": string(o.Host), "number": o.Port.Number, "protocol": o.Port.Protocol, "mode": o.Mode(), "used": o.Used,
			"rule": record{"kind": string(rule.Kind), "namespace": rule.Namespace, "name": rule.Name}, "path": pathRecord(o.Block.Path),
		})
	}
	return out, nil
}
