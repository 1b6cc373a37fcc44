package policy

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
)

func evalEntries(p *lint.Pass, _ []*ast.Term) (any, error) {
	rule, reach, err := ruleAndReach(p)
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
		reached := len(l.Ports)
		if reached == 0 && l.Port != 0 && hasPort(p, rule, l.Port) {
			reached = 1
		}
		meant := []uint32{} // ports whose targetPort has the number
		for _, port := range reach.Ports {
			if port.TargetPort == l.Port && l.Port != 0 && !slices.Contains(meant, port.Number) {
				meant = append(meant, port.Number)
			}
		}
		r := record{
			"path": pathRecord(l.Path), "subset": l.Subset, "port": l.Port, "reached": reached, "shadowed": l.Shadowed,
			"first": nil, "target_port_of": meant,
		}
		if list := l.Path.Parent(); l.Shadowed {
			r["first"] = pathRecord(list.Child(effective.EntryFor(p.Object.Lookup(list.Parent()), l.Port)))
		}
		out = append(out, r)
	}
	return out, nil
}

// hasPort says whether anything in view has a port under a host of the rule, be it that another rule or target takes its place: routes
// for the port may heed the entry even where there is no cluster.
func hasPort(p *lint.Pass, rule *mesh.DestinationRule, number uint32) bool {
	for _, hit := range p.Mesh.Reach(rule.Host, rule.Namespace()) {
		for _, t := range p.Mesh.Targets(hit.Host) {
			if _, has := t.Port(number); has {
				return true
			}
		}
	}
	return false
}
