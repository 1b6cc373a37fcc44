package policy

import (
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

func evalMeets(p *lint.Pass, args []*ast.Term) (any, error) {
	at, err := pathArg(args[0])
	if err != nil {
		return nil, err
	}
	other, err := blockArg(args[1])
	if err != nil {
		return nil, err
	}
	if p.Object.Kind != object.DestinationRule {
		return nil, errNotDestinationRule
	}
	for _, w := range effective.LevelsIn(p.Object, p.EachPort()) {
		if len(at) > 0 && at.Parent().Equal(w.Path) {
			block, _ := at[len(at)-1].(string)
			return w.Meets(p.Mesh, p.Object, block, other), nil
		}
	}
	return nil, fmt.Errorf("%s is in no traffic policy of the object", at)
}

// pathArg reads the path of a field, as built-ins give them.
func pathArg(t *ast.Term) (object.Path, error) {
	list, ok := t.Value.(*ast.Array)
	if !ok {
		return nil, errors.New("the path is no array")
	}
	var out object.Path
	for i := range list.Len() {
		switch e := list.Elem(i).Value.(type) {
		case ast.String:
			out = append(out, string(e))
		case ast.Number:
			n, ok := e.Int()
			if !ok || n < 0 {
				return nil, fmt.Errorf("%s is no index", e)
			}
			out = append(out, n)
		default:
			return nil, fmt.Errorf("%s is no element of a path", e)
		}
	}
	return out, nil
}
