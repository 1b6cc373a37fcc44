package policy

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// unwatchedPlace is where outlier detection is missing: a host of a ServiceEntry, or a DestinationRule.
type unwatchedPlace struct {
	at     object.Path
	hosts  []string
	levels []unwatchedLevel
	first  effective.Unwatched
}

// unwatchedLevel is a level at which an outlierDetection would have to be written, with the ports that it would reach.
type unwatchedLevel struct {
	at       object.Path
	ports    []effective.Port
	policies []*effective.Policy
}

func evalUnwatched(p *lint.Pass, _ []*ast.Term) (any, error) {
	var places []*unwatchedPlace
	hostAt := map[string]int{}
	for i, h := range p.Object.Spec().Get("hosts").Items() {
		if _, dup := hostAt[h.Str()]; !dup {
			hostAt[h.Str()] = i
		}
	}
	for _, u := range p.Unwatched() {
		host := string(u.Host)
		if p.Object.Kind == object.ServiceEntry || len(places) == 0 { // a rule that lacks it lacks it for all of its hosts
			places = append(places, &unwatchedPlace{at: object.Path{"spec", "hosts", hostAt[host]}, first: u})
		}
		place := places[len(places)-1]
		if n := len(place.hosts); n == 0 || place.hosts[n-1] != host { // they come in the order of hosts
			place.hosts = append(place.hosts, host)
		}
		for i, port := range u.Ports {
			n := slices.IndexFunc(place.levels, func(l unwatchedLevel) bool { return l.at.Equal(u.At[i]) })
			if n < 0 {
				n = len(place.levels)
				place.levels = append(place.levels, unwatchedLevel{at: u.At[i]})
			}
			l := &place.levels[n]
			l.ports, l.policies = append(l.ports, port), append(l.policies, u.Policies[i])
		}
	}
	out := make([]any, 0, len(places))
	for _, place := range places {
		if p.Object.Kind == object.DestinationRule {
			slices.SortStableFunc(place.levels, func(a, b unwatchedLevel) int { return len(a.at) - len(b.at) })
			place.at = place.levels[0].at
		}
		out = append(out, place.record(p))
	}
	return out, nil
}

func (u *unwatchedPlace) record(p *lint.Pass) record {
	target := u.first.Target.Object
	clients := ""
	if u.first.Client != mesh.NamespaceOf(target) {
		clients = " for clients in namespace " + u.first.Client
	}
	var ports []effective.Port
	single := true
	levels := []any{}
	rule := p.Mesh.Rule(p.Object)
	for _, l := range u.levels {
		timeoutUnset := rule == nil || !rule.Host.IsWildcard() // a wildcard's timeout would be one for hosts that nobody spoke of
		for i, port := range l.ports {
			if _, known := effective.EndpointCount(p.Mesh, port.Host, port.Target, port.Port, object.Value{}); known {
				single = false // two at the least, else there would be nothing to say
			}
			if l.policies[i].Block("connectionPool").Value.At("tcp", "connectTimeout").Set() || l.policies[i].FromMesh("connectionPool") {
				timeoutUnset = false
			}
		}
		levels = append(levels, record{"at": pathRecord(l.at), "family": familyOf(l.ports), "timeout_unset": timeoutUnset})
		ports = append(ports, l.ports...)
	}
	subject := subjectOf(ports)
	subject["blocks"] = []string{"outlierDetection"}
	if p.Object.Kind == object.ServiceEntry {
		subject["hosts"] = []string{} // no DestinationRule applies, so that nothing found on one is the cause
	}
	return record{
		"on_entry": p.Object.Kind == object.ServiceEntry, "at": pathRecord(u.at), "host": u.hosts[0], "hosts": firstHosts(u.hosts),
		"several": len(u.hosts) > 1, "on": portNumbers(ports), "clients": clients, "cluster": string(ports[0].Cluster),
		"family": familyOf(ports), "levels": levels, "namespace": target.Namespace, "subject": subject, "single": single,
		"ruled_for_others": slices.ContainsFunc(p.Mesh.RulesReaching(u.first.Host), func(r *mesh.DestinationRule) bool {
			return r.Host == u.first.Host && r.Namespace() == mesh.NamespaceOf(target)
		}),
		"pool_from_mesh": u.levels[0].policies[0].FromMesh("connectionPool"),
	}
}

func firstHosts(hosts []string) string {
	if len(hosts) == 1 {
		return hosts[0]
	}
	return fmt.Sprintf("%s and %d more", hosts[0], len(hosts)-1)
}

// portNumbers names the distinct ports by number.
func portNumbers(ports []effective.Port) string {
	var numbers []uint32
	for _, p := range ports {
		numbers = append(numbers, p.Number)
	}
	slices.Sort(numbers)
	return lint.PortList(slices.Compact(numbers))
}

// familyOf is L4 or L7 if all of some ports are, "both" otherwise. What may carry requests counts as L7.
func familyOf(ports []effective.Port) string {
	l4 := 0
	for _, p := range ports {
		if p.ForwardsBytes() {
			l4++
		}
	}
	switch l4 {
	case 0:
		return "L7"
	case len(ports):
		return "L4"
	}
	return "both"
}
