package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
)

func evalUses(p *lint.Pass, args []*ast.Term) (any, error) {
	wanted, err := fieldArgs(args[0])
	if err != nil {
		return nil, err
	}
	beside, err := fieldArgs(args[1])
	if err != nil {
		return nil, err
	}
	rule, reach, err := ruleAndReach(p)
	if err != nil {
		return nil, err
	}
	out := []any{}
	all := len(carrying(reach.Ports))
	for _, u := range p.Uses() {
		if !slices.Contains(wanted, u.Field) {
			continue
		}
		live, dead := carrying(u.Live), carrying(u.Dead)
		values := valuesBeside(p, u.Level, beside)
		out = append(out, record{
			"field": u.Field.Name, "name": u.Path[len(u.Path)-1], "path": pathRecord(u.Path), "envoy": u.Field.Envoy,
			"value": u.Value, "text": plainText(u.Value), "shown": effective.Text(u.Value),
			"level": string(u.Level.Kind), "at": pathRecord(u.Level.Path), "subset": u.Level.Subset, "port": u.Level.Port, "whose": whose(u.Level),
			"host": string(rule.Host), "known": reach.Known(), "everywhere": u.Field.Everywhere,
			"live": usePorts(live, values), "live_on": placesOf(live), "dead": usePorts(dead, values), "dead_on": placesOf(dead),
			"lost":        u.Level.Kind == effective.Destination && lostToEntry(p, u.Field), // to a port entry
			"reaches_all": len(live)+len(dead) == all,                                       // ports of the rule
			"subject":     subjectOf(slices.Concat(live, dead)),
		})
	}
	return out, nil
}

// fieldArgs reads the names of fields of a traffic policy.
func fieldArgs(t *ast.Term) ([]*effective.Field, error) {
	names, ok := t.Value.(*ast.Array)
	if !ok {
		return nil, errors.New("a list of fields is wanted")
	}
	var out []*effective.Field
	for i := range names.Len() {
		name, _ := names.Elem(i).Value.(ast.String)
		n := slices.IndexFunc(effective.Fields(), func(f *effective.Field) bool { return f.Name == string(name) })
		if n < 0 {
			return nil, fmt.Errorf("%s is no field of a traffic policy", names.Elem(i))
		}
		out = append(out, effective.Fields()[n])
	}
	return out, nil
}

// valuesBeside returns what finds out the values of fields that are in effect on a port that a level reaches. Policies hang on the number
// of the port, of which a wildcard has few and hosts by the thousand.
func valuesBeside(p *lint.Pass, l *effective.Level, fields []*effective.Field) func(effective.Port) record {
	made := map[uint32]*effective.Policy{}
	return func(port effective.Port) record {
		if len(fields) == 0 {
			return record{}
		}
		if made[port.Number] == nil {
			made[port.Number] = l.PolicyFor(p.Mesh, p.Object, port.Number)
		}
		out := make(record, len(fields))
		for _, f := range fields {
			out[f.Name] = f.Value(made[port.Number], port)
		}
		return out
	}
}

// usePorts describes ports to policies that ask what a field does there.
func usePorts(ports []effective.Port, values func(effective.Port) record) []any {
	out := make([]any, 0, len(ports))
	for _, port := range ports {
		out = append(out, record{
			"number": port.Number, "host": string(port.Host), "place": placesOf([]effective.Port{port}), "family": string(port.Family), "http2": port.IsHTTP2(),
			"reads_requests": port.ReadsRequests(), "carries_requests": port.CarriesRequests(), "forwards_bytes": port.ForwardsBytes(),
			"external": port.External(), "beside": values(port),
		})
	}
	return out
}
