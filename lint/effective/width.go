package effective

import (
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// How many ports of hosts the objects of a mesh are judged for: one cluster of each proxy is compiled for each of them. Proxies cope
// with some ten thousand clusters; a text of a megabyte can ask for millions.
const (
	maxOfEntry    = 10_000     // of one ServiceEntry
	maxReach      = 100_000    // of one rule
	maxReachLevel = 1_000_000  // of one rule, times the traffic policies that it writes
	maxReachMesh  = 20_000_000 // of all wildcard rules of a mesh
	minReach      = 2_000      // of a wildcard rule, however many there are, and whatever that comes to
	minReachLevel = 10         // of any rule, likewise
)

// TooWide says whether a ServiceEntry or DestinationRule takes in more ports of hosts than it is judged for, and how many that are.
func TooWide(ix *mesh.Index, o *object.Object) (most int, wide bool) {
	if t := ix.Target(o); t != nil {
		return maxOfEntry, len(t.Hosts)*compiledPorts(t) > maxOfEntry
	}
	rule := ix.Rule(o)
	if rule == nil {
		return 0, false
	}
	levels := 1 + entriesOf(o.Lookup(destinationLevel))
	for _, s := range o.Spec().Get("subsets").Items() {
		levels += 1 + entriesOf(s.Get("trafficPolicy"))
	}
	most = min(maxReach, max(minReachLevel, maxReachLevel/levels))
	if rule.Host.IsWildcard() {
		most = min(most, max(minReach, maxReachMesh/(1+ix.WildcardRules())))
	}
	ports := 0
	for _, hit := range ix.ReachOf(rule) {
		for _, t := range ix.Merged(hit.Host, hit.Target, hit.From) {
			ports += compiledPorts(t)
		}
		if ports > most {
			return most, true
		}
	}
	return most, false
}

// compiledPorts counts the ports of a target that get a cluster.
func compiledPorts(t *mesh.Target) int {
	n := 0
	for _, p := range t.Ports {
		if p.Family != mesh.NoProxy {
			n++
		}
	}
	return n
}

func entriesOf(policy object.Value) int { return policy.Get("portLevelSettings").Len() }
