package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// MeshLosses is what a block of a rule, or an entry for a port in a subset, takes away from meshConfig.defaultTrafficPolicy.
type MeshLosses struct {
	Level  *Level
	Block  string
	At     object.Path // the block, or the entry if that does not hold it
	Losses []Loss      // at least one; their On is nil
}

// LossesOfMesh lists where a rule discards values of meshConfig.defaultTrafficPolicy, which Istio applies by block. Only the outermost
// level that does so counts: what an inner one discards is the outer one's. While the host is not in view, only the levels that
// surely reach a port are looked at, and subsets are not.
func LossesOfMesh(ix *mesh.Index, o *object.Object, levels []Level, known bool) []MeshLosses {
	var out []MeshLosses
	for i := range levels {
		l := &levels[i]
		ports := meshPorts(ix, o, l, known)
		if l.Shadowed || len(ports) == 0 {
			continue
		}
		all := l.in(ix, o)
		for _, block := range [...]string{"connectionPool", "outlierDetection"} {
			var losses []Loss
			for _, port := range ports {
				losses = join(losses, all.lostOfMesh(l, block, port))
			}
			if len(losses) == 0 {
				continue
			}
			at := l.Path
			if l.Policy.Get(block).Set() {
				at = l.Path.Child(block)
			}
			out = append(out, MeshLosses{Level: l, Block: block, At: at, Losses: losses})
		}
	}
	return out
}

// meshPorts are the ports of a level that have a cluster for it; one without a target stands for them all if the host is not in view.
func meshPorts(ix *mesh.Index, o *object.Object, l *Level, known bool) []Port {
	inSubset := l.Kind == SubsetLevel || l.Kind == SubsetEntry
	if !known {
		if inSubset || l.Kind == Destination && l.Policy.Get("portLevelSettings").Len() > 0 || l.Kind == PortEntry && l.Port == 0 {
			return nil
		}
		return []Port{{Port: mesh.Port{Number: l.Port}}}
	}
	if !inSubset {
		return l.Ports
	}
	i, _ := l.Path[2].(int)
	v, ok := SubsetOf(ix, o, i)
	if !ok {
		return nil
	}
	return v.portsOf(l, known)
}

// lostOfMesh lists what a level takes away of a block that the port would have from the mesh without the level.
func (l Levels) lostOfMesh(level *Level, block string, port Port) []Loss {
	var outer *Policy
	switch level.Kind {
	case Destination:
		bare := l
		bare.Policy = nil
		outer = bare.For(port.Number, Without{})
	case PortEntry:
		outer = l.For(port.Number, Without{Entry: true})
	case SubsetLevel:
		outer = l.For(port.Number, Without{Subset: true})
	default:
		outer = l.For(port.Number, Without{SubsetEntry: true})
	}
	inner := l.For(port.Number, Without{})
	if !outer.FromMesh(block) || inner.FromMesh(block) {
		return nil
	}
	return slices.DeleteFunc(lost(outer, inner, []Port{port}, true), func(loss Loss) bool { return loss.Field.Block() != block })
}

// join adds losses to those that other ports have.
func join(to, more []Loss) []Loss {
	for _, l := range more {
		if i := slices.IndexFunc(to, func(have Loss) bool { return have.Field == l.Field }); i >= 0 {
			to[i].Ports = append(to[i].Ports, l.Ports...)
		} else {
			to = append(to, l)
		}
	}
	return to
}
