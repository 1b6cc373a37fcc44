package policy

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
)

func evalEntries(p *lint.Pass, _ []*ast.Term) (any, error) {
	_, reach, err := ruleAndReach(p)
	if err != nil {
		return nil, err
	}
	out := []any{}
	levels := p.Levels()
	for i := range levels {
		l := &levels[i]
		if !l.IsEntry() {
			continue
		}
		meant := []uint32{} // ports whose targetPort has the number
		for _, port := range reach.Ports {
			if port.TargetPort == l.Port && l.Port != 0 && !slices.Contains(meant, port.Number) {
				meant = append(meant, port.Number)
			}
		}
		r := record{
			"path": pathRecord(l.Path), "subset": l.Subset, "port": l.Port, "reached": len(l.Ports), "shadowed": l.Shadowed,
			"first": nil, "target_port_of": meant,
		}
		if list := l.Path.Parent(); l.Shadowed {
			r["first"] = pathRecord(list.Child(effective.EntryFor(p.Object.Lookup(list.Parent()), l.Port)))
		}
		out = append(out, r)
	}
	return out, nil
}
