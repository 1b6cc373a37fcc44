package policy

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

// clientsRecord describes to policies for which clients a rule is in force.
func clientsRecord(c effective.Clients) record {
	return record{"in": anyList(c.In), "elsewhere": c.Elsewhere, "except": anyList(c.Except)}
}

func evalDirectClients(p *lint.Pass, args []*ast.Term) (any, error) {
	host, number, err := hostAndPort(args)
	if err != nil {
		return nil, err
	}
	if p.Object.Kind != object.DestinationRule {
		return nil, errNotDestinationRule
	}
	for _, port := range p.EachPort().Numbered(number) {
		if port.Host == host {
			return clientsRecord(effective.DirectClients(p.Mesh, p.Object, port)), nil
		}
	}
	return nil, fmt.Errorf("the rule governs no port %d of %s", number, host)
}
