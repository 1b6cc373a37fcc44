package effective

import (
	"slices"

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
	// At is the level at which outlierDetection would have to be written, and Policies what is in effect, for each of Ports.
	At       []object.Path
	Policies []*Policy
}

// WatchableHost says whether outlier detection can do anything for some port of a host outside the mesh.
func WatchableHost(ix *mesh.Index, h mesh.Host, t *mesh.Target) bool {
	return !ix.Hidden(t) && slices.ContainsFunc(ix.Merged(h, t, t.Namespace()), func(m *mesh.Target) bool {
		return slices.ContainsFunc(m.Ports, func(p mesh.Port) bool { return watchable(ix, h, t, m, p) })
	})
}

// watchable says whether outlier detection can do anything for a port of m, one of the ServiceEntries that make up t: it needs a list
// that may hold a second address. Where Istio does not add the ports of m to those of t, only the older of them have clusters.
func watchable(ix *mesh.Index, h mesh.Host, t, m *mesh.Target, p mesh.Port) bool {
	if t.IsService() || !t.External || ix.Settings().InCluster(h) || t.HasSelector() || m != t && !mesh.SharePorts(t, m) {
		return false
	}
	n, known := EndpointCount(ix, h, t, p, object.Value{})
	switch ClusterTypeOf(t) {
	case EDS:
		return known && n >= 2
	case StrictDNS:
		if known {
			return n >= 2
		}
		// Without endpoints Envoy looks up the host itself: no use for an address, and Istio refuses it for a wildcard.
		return !h.IsAddress() && !(h.IsWildcard() && !hasEndpoints(ix, h, t))
	}
	return false
}

func hasEndpoints(ix *mesh.Index, h mesh.Host, t *mesh.Target) bool {
	return slices.ContainsFunc(ix.Merged(h, t, t.Namespace()), func(m *mesh.Target) bool { return m.Endpoints().Len() > 0 })
}

// UnwatchedPorts finds, for the clients of one namespace with some labels, the ports of a host without outlier detection.
func UnwatchedPorts(ix *mesh.Index, h mesh.Host, t *mesh.Target, client string, labels map[string]string) (Unwatched, bool) {
	u := Unwatched{Host: h, Target: t, Client: client, Rule: ix.RuleFor(t, h, client, labels)}
	levels := LevelsOfMerged(ix, u.Rule, "")
	for _, m := range ix.Merged(h, t, t.Namespace()) {
		for _, p := range m.Ports {
			if p.Family == mesh.NoProxy || !watchable(ix, h, t, m, p) || slices.ContainsFunc(u.Ports, func(have Port) bool { return have.Number == p.Number }) {
				continue
			}
			policy := levels.For(p.Number, Without{})
			if watches(policy) || everySubsetWatches(ix, u.Rule, p.Number) {
				continue
			}
			at := destinationLevel
			if policy.Entry != nil {
				at = policy.Entry
			}
			u.Ports = append(u.Ports, portOf(ix, h, m, p))
			u.At = append(u.At, at)
			u.Policies = append(u.Policies, policy)
		}
	}
	return u, len(u.Ports) > 0
}

// watches says whether a policy has outlier detection, or gives up the list of addresses, so that there is nothing to eject.
func watches(p *Policy) bool {
	return p.Block("outlierDetection").Set() || p.Block("loadBalancer").Value.Get("simple").Str() == "PASSTHROUGH"
}

// everySubsetWatches says whether a rule divides the host into subsets that all have outlier detection: then whoever wrote it
// routes to the subsets, and thought of it.
func everySubsetWatches(ix *mesh.Index, m *mesh.Merged, port uint32) bool {
	if m == nil || len(m.Subsets) == 0 {
		return false
	}
	return !slices.ContainsFunc(m.Subsets, func(s mesh.Subset) bool {
		return !watches(levelsOfSubset(ix, m, s).For(port, Without{}))
	})
}

// UnwatchedOf finds the hosts of a ServiceEntry that have no outlier detection because no DestinationRule meets them.
func UnwatchedOf(ix *mesh.Index, t *mesh.Target) []Unwatched {
	var out []Unwatched
	clients := ix.ClientNamespaces(t)
	for _, h := range t.Hosts {
		if !WatchableHost(ix, h, t) || ix.Merged(h, t, t.Namespace())[0] != t { // the oldest of several speaks for the host
			continue
		}
		ruled := ix.NamespacesWithRule(h)
		for _, client := range clients {
			if ruled[client] {
				continue
			}
			u, found := UnwatchedPorts(ix, h, t, client, nil)
			if found && u.Rule == nil && !ruledBySelector(ix, h, t, client) {
				out = append(out, u)
				break
			}
		}
	}
	return out
}

// ruledBySelector says whether some workloads of a namespace have a DestinationRule for a host; what it lacks is said of it.
func ruledBySelector(ix *mesh.Index, h mesh.Host, t *mesh.Target, client string) bool {
	return slices.ContainsFunc(ix.RulesReaching(h), func(r *mesh.DestinationRule) bool {
		return r.Selector != nil && ix.Applies(r, t, h, client)
	})
}

// UnwatchedUnder finds the hosts that a DestinationRule governs without giving them outlier detection.
func UnwatchedUnder(ix *mesh.Index, r *mesh.DestinationRule) []Unwatched {
	var out []Unwatched
	for _, hit := range ix.ReachOf(r) {
		if !WatchableHost(ix, hit.Host, hit.Target) {
			continue
		}
		clients := []string{r.Namespace()} // a rule counts elsewhere only if it is the host's own or the root namespace's
		if ns := r.Namespace(); r.Selector == nil && (ns == hit.Target.Namespace() || ns == ix.Settings().RootNamespace) {
			clients = ix.ClientNamespaces(hit.Target)
		}
		for _, client := range clients {
			u, found := UnwatchedPorts(ix, hit.Host, hit.Target, client, r.Selector)
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
