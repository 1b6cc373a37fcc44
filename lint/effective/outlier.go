package effective

import (
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Unwatched is a host outside the mesh for which Envoy holds several addresses and ejects none that fails.
type Unwatched struct {
	Host   mesh.Host
	Target *mesh.Target
	Client string // the first namespace whose clients have no outlier detection
	Ports  []Port // the ports without it
	// Rule is what Istio applies there, nil if no DestinationRule does.
	Rule *mesh.Merged
	// At is where outlierDetection would have to be written, for each of Ports.
	At []object.Path
}

// WatchableHost says whether outlier detection can do anything for a host: it needs a list that may hold a second address.
func WatchableHost(ix *mesh.Index, h mesh.Host, t *mesh.Target) bool {
	if t.IsService() || !t.External || ix.Settings().InCluster(h) || t.HasSelector() {
		return false
	}
	n, known := EndpointCount(ix, h, t)
	switch ClusterTypeOf(t) {
	case EDS:
		return known && n >= 2
	case StrictDNS:
		return !(known && n < 2) && !h.IsAddress()
	}
	return false
}

// UnwatchedPorts finds, for the clients of one namespace, the ports of a host without outlier detection.
func UnwatchedPorts(ix *mesh.Index, h mesh.Host, t *mesh.Target, client string) (Unwatched, bool) {
	u := Unwatched{Host: h, Target: t, Client: client, Rule: ix.RuleFor(t, h, client, nil)}
	levels := LevelsOfMerged(ix, u.Rule, "")
	for _, p := range t.Ports {
		if p.Family == mesh.NoProxy {
			continue
		}
		policy := levels.For(p.Number, Without{})
		if policy.Block("outlierDetection").Set() {
			continue
		}
		at := destinationLevel
		if policy.Entry != nil {
			at = policy.Entry
		}
		u.Ports = append(u.Ports, Port{Port: p, Host: h, Target: t, Cluster: ClusterTypeOf(t)})
		u.At = append(u.At, at.Child("outlierDetection"))
	}
	return u, len(u.Ports) > 0
}

// UnwatchedOf finds the hosts of a ServiceEntry that have no outlier detection because no DestinationRule meets them.
func UnwatchedOf(ix *mesh.Index, t *mesh.Target) []Unwatched {
	var out []Unwatched
	clients := ix.ClientNamespaces(t)
	for _, h := range t.Hosts {
		if !WatchableHost(ix, h, t) {
			continue
		}
		for _, client := range clients {
			if u, found := UnwatchedPorts(ix, h, t, client); found && u.Rule == nil {
				out = append(out, u)
				break
			}
		}
	}
	return out
}

// UnwatchedUnder finds the hosts that a DestinationRule governs without giving them outlier detection.
func UnwatchedUnder(ix *mesh.Index, r *mesh.DestinationRule) []Unwatched {
	var out []Unwatched
	for _, hit := range ix.Reach(r.Host, r.Namespace()) {
		if !WatchableHost(ix, hit.Host, hit.Target) {
			continue
		}
		for _, client := range ix.ClientNamespaces(hit.Target) {
			u, found := UnwatchedPorts(ix, hit.Host, hit.Target, client)
			if found && u.Rule != nil && governs(u.Rule, r) {
				out = append(out, u)
				break
			}
		}
	}
	return out
}

// governs says whether r is the rule of a merge to which a destination-level block would have to be added.
func governs(m *mesh.Merged, r *mesh.DestinationRule) bool {
	if m.Policy != nil {
		return m.Policy.Object == r.Object
	}
	return m.Rules[0].Object == r.Object
}
