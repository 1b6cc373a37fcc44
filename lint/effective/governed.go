package effective

import (
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Governed lists the ports that a rule takes in and that are really its own: for the clients of at least one namespace, Istio
// finds no rule with a more specific host, and none in a namespace that it asks earlier. Unlike ReachOf it lists every port of
// every host, so that they can be counted and named. o is the rule's object; if the index holds another one under its name, o
// counts in its place. inView says whether the rule takes in any host of the index, its own or not.
func Governed(ix *mesh.Index, o *object.Object) (reach Reach, inView bool) {
	if ix.Get(o.Key) != o {
		ix = ix.With(o)
	}
	r := ix.Rule(o)
	seen := map[*mesh.Target]bool{}
	for _, hit := range ix.Reach(r.Host, r.Namespace()) {
		inView = true
		if !inForce(ix, r, hit) {
			continue
		}
		for _, t := range ix.Merged(hit.Host, hit.Target, r.Namespace()) {
			if !seen[t] {
				seen[t] = true
				reach.Targets = append(reach.Targets, t)
			}
			for _, p := range t.Ports {
				reach.Ports = append(reach.Ports, Port{
					Port: p, Host: hit.Host, Target: t, Cluster: ClusterTypeOf(t), InCluster: inMesh(t),
				})
				reach.Hosts = append(reach.Hosts, 1)
			}
		}
	}
	return reach, inView
}

func inForce(ix *mesh.Index, r *mesh.DestinationRule, hit mesh.Reached) bool {
	for _, client := range ix.ClientNamespaces(hit.Target) {
		if ix.Applies(r, hit.Target, hit.Host, client) {
			return true
		}
	}
	return false
}

// Written is a block of a traffic policy where a DestinationRule writes it.
type Written struct {
	Level Level // with the ports that the block governs
	Path  object.Path
	Value object.Value
	// Alone says that the level holds nothing else, so that without the block it would be empty, which Istio refuses.
	Alone bool
}

// WrittenIn lists where a rule writes a block, with the ports of reach that each place governs.
func WrittenIn(o *object.Object, block string, reach Reach) []Written {
	var out []Written
	for _, l := range LevelsIn(o, reach) {
		path := l.Path.Child(block)
		v := o.Lookup(path)
		if !v.Set() {
			continue
		}
		alone := true
		for k, f := range o.Lookup(l.Path).Fields() {
			if k != block && k != "port" && f.Set() {
				alone = false
			}
		}
		out = append(out, Written{Level: l, Path: path, Value: v, Alone: alone})
	}
	return out
}
