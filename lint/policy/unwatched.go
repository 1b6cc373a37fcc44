package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// unwatchedPlace is where outlier detection is missing: a host of a ServiceEntry, or a level of a DestinationRule.
type unwatchedPlace struct {
	at       object.Path
	hosts    []string
	ports    []effective.Port
	policies []*effective.Policy
	first    effective.Unwatched
}

func evalUnwatched(p *lint.Pass, _ []*ast.Term) (any, error) {
	var places []*unwatchedPlace
	for _, u := range p.Unwatched() {
		host := string(u.Host)
		for i, port := range u.Ports {
			at := u.At[i]
			if p.Object.Kind == object.ServiceEntry {
				at = object.Path{"spec", "hosts", hostIndex(p.Object, host)}
			}
			n := slices.IndexFunc(places, func(have *unwatchedPlace) bool { return have.at.Equal(at) })
			if n < 0 {
				n = len(places)
				places = append(places, &unwatchedPlace{at: at, first: u})
			}
			place := places[n]
			if !slices.Contains(place.hosts, host) {
				place.hosts = append(place.hosts, host)
			}
			place.ports, place.policies = append(place.ports, port), append(place.policies, u.Policies[i])
		}
	}
	out := make([]any, 0, len(places))
	for _, place := range places {
		out = append(out, place.record(p))
	}
	return out, nil
}

func hostIndex(o *object.Object, host string) int {
	for i, h := range o.Spec().Get("hosts").Items() {
		if h.Str() == host {
			return i
		}
	}
	return 0
}

func (u *unwatchedPlace) record(p *lint.Pass) record {
	subject := subjectOf(u.ports)
	subject["blocks"] = []string{"outlierDetection"}
	target := u.first.Target.Object
	r := record{
		"on_entry": p.Object.Kind == object.ServiceEntry, "at": pathRecord(u.at), "host": u.hosts[0], "hosts": firstHosts(u.hosts), "several": len(u.hosts) > 1,
		"on": portNumbers(u.ports), "clients": "", "cluster": string(u.ports[0].Cluster), "family": familyOf(u.ports),
		"namespace": target.Namespace, "subject": subject,
		"single": true, "timeout_unset": true, "pool_from_mesh": u.policies[0].FromMesh("connectionPool"),
	}
	if u.first.Client != mesh.NamespaceOf(target) {
		r["clients"] = " for clients in namespace " + u.first.Client
	}
	for i, port := range u.ports {
		if _, known := effective.EndpointCount(p.Mesh, port.Host, port.Target); known {
			r["single"] = false // two at the least, else there would be nothing to say
		}
		if u.policies[i].Block("connectionPool").Value.At("tcp", "connectTimeout").Set() || u.policies[i].FromMesh("connectionPool") {
			r["timeout_unset"] = false
		}
	}
	return r
}

func firstHosts(hosts []string) string {
	if len(hosts) == 1 {
		return hosts[0]
	}
	return fmt.Sprintf("%s and %d more", hosts[0], len(hosts)-1)
}

// portNumbers names ports by number: port 443, or ports 80, 443.
func portNumbers(ports []effective.Port) string {
	var numbers []uint32
	for _, p := range ports {
		numbers = append(numbers, p.Number)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	words := make([]string, 0, len(numbers))
	for _, n := range numbers {
		words = append(words, strconv.FormatUint(uint64(n), 10))
	}
	if len(words) == 1 {
		return "port " + words[0]
	}
	return "ports " + strings.Join(words, ", ")
}

// familyOf is L4 or L7 if all of some ports are, "both" otherwise. What is sniffed may be HTTP and counts as L7.
func familyOf(ports []effective.Port) string {
	l4 := 0
	for _, p := range ports {
		if p.Family == mesh.L4 {
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
