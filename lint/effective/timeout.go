package effective

import (
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// ImplicitTimeout is a level at which a connectTimeout would have to be written for some ports outside the mesh that have none.
type ImplicitTimeout struct {
	At    object.Path // the destination level or an entry for a port
	Ports []Port
	// OfMesh says that the ports have the mesh's connectionPool, which one of the rule's own would drop.
	OfMesh bool
}

// ImplicitTimeouts lists where a rule leaves ports outside the mesh with Istio's default for connectTimeout: neither it nor the mesh
// configuration sets one. A rule that divides the host into subsets which all set one is left out: whoever wrote it routes to them.
func ImplicitTimeouts(ix *mesh.Index, o *object.Object, reach Reach) []ImplicitTimeout {
	if ix.Settings().MeshConfig.Get("connectTimeout").Set() {
		return nil
	}
	if ix.Get(o.Key) != o {
		ix = ix.With(o)
	}
	m := ix.MergedWith(o)
	if m == nil || !governs(m, ix.Rule(o)) {
		return nil
	}
	levels := LevelsOf(ix, o, -1)
	var out []ImplicitTimeout
	at := map[string]int{}
	without := map[uint32]*Policy{} // by the number of the port; nil if it has one
	for _, port := range reach.Ports {
		if !port.External() || !port.Compiled() || ix.Settings().InCluster(port.Host) {
			continue
		}
		policy, known := without[port.Number]
		if !known {
			policy = levels.For(port.Number, Without{})
			if limitsConnects(policy) || everySubsetLimitsConnects(ix, m, port.Number) {
				policy = nil
			}
			without[port.Number] = policy
		}
		if policy == nil {
			continue
		}
		level := destinationLevel
		if policy.Entry != nil {
			level = policy.Entry
		}
		i, seen := at[level.String()]
		if !seen {
			i = len(out)
			at[level.String()] = i
			out = append(out, ImplicitTimeout{At: level})
		}
		out[i].Ports = append(out[i].Ports, port)
		out[i].OfMesh = out[i].OfMesh || policy.FromMesh("connectionPool")
	}
	return out
}

func limitsConnects(p *Policy) bool {
	return p.Block("connectionPool").Value.At("tcp", "connectTimeout").Set()
}

func everySubsetLimitsConnects(ix *mesh.Index, m *mesh.Merged, port uint32) bool {
	for _, s := range m.Subsets {
		if !limitsConnects(levelsOfSubset(ix, m, s).For(port, Without{})) {
			return false
		}
	}
	return len(m.Subsets) > 0
}
