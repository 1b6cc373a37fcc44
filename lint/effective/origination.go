package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Originated is a port of a host for which a DestinationRule has Envoy start TLS, or would if its tls named a mode.
type Originated struct {
	Host  mesh.Host
	Port  Port
	Block Source // the tls block
	// Used says that something is sent to the port's cluster: the routes of the clients do not lead all of it elsewhere.
	Used bool
}

// Mode is the mode of the block, "" if it names none: then Envoy starts no TLS, whatever else the block says.
func (o Originated) Mode() string { return o.Block.Value.Get("mode").Str() }

// OriginatedOf lists, host by host and port by port, each tls block that is in effect on a port of a ServiceEntry for some clients, be
// it for some workloads of a namespace or in a subset only. Blocks that switch TLS off, or say nothing, are left out.
func OriginatedOf(ix *mesh.Index, t *mesh.Target) []Originated {
	if t == nil {
		return nil
	}
	var out []Originated
	for _, h := range t.Hosts {
		out = append(out, OriginatedFor(ix, t, h)...)
	}
	return out
}

// OriginatedFor is OriginatedOf for one of the hosts.
func OriginatedFor(ix *mesh.Index, t *mesh.Target, h mesh.Host) []Originated {
	if t.IsService() || ix.Hidden(t) {
		return nil
	}
	rules := ix.RulesReaching(h)
	if !slices.ContainsFunc(rules, func(r *mesh.DestinationRule) bool { return writesBlock(r.Object, "tls") }) {
		return nil
	}
	found := map[uint32][]Originated{}
	rerouted := len(ix.VirtualServicesFor(h)) > 0 || ix.HasHTTPRoute(t)
	for _, client := range ix.ClientNamespaces(t) {
		owner := ix.Resolve(h, client)
		if owner == nil || owner.Namespace() != t.Namespace() {
			continue
		}
		levels := levelsWriting(ix, owner, h, client, "tls", rules)
		if len(levels) == 0 {
			continue
		}
		for _, p := range mergedPorts(ix, h, owner, client) {
			if p.Target != t || !p.Compiled() {
				continue
			}
			used := !rerouted || leadsThere(ix, client, h, p.Number)
			for _, l := range levels {
				b := l.For(p.Number, Without{}).Block("tls")
				if !asksForTLS(b.Value) {
					continue
				}
				i := slices.IndexFunc(found[p.Number], func(o Originated) bool { return o.Block.Object == b.Object && o.Block.Path.Equal(b.Path) })
				if i < 0 {
					i = len(found[p.Number])
					found[p.Number] = append(found[p.Number], Originated{Host: h, Port: p, Block: b})
				}
				found[p.Number][i].Used = found[p.Number][i].Used || used
			}
		}
	}
	var out []Originated
	for _, p := range t.Ports {
		out = append(out, found[p.Number]...)
		delete(found, p.Number)
	}
	return out
}

// PlaintextOf lists, host by host, the ports of a ServiceEntry whose requests Envoy sends on unencrypted: they are outside the mesh, no
// DestinationRule asks for TLS there for any client, and the routes of some clients lead there.
func PlaintextOf(ix *mesh.Index, t *mesh.Target) []Port {
	if t == nil || !t.External || t.IsService() || ix.Hidden(t) {
		return nil
	}
	type place struct {
		host mesh.Host
		port uint32
	}
	passed := map[place]bool{} // where TLS is started, and what is listed
	for _, o := range OriginatedOf(ix, t) {
		passed[place{o.Host, o.Port.Number}] = true
	}
	var out []Port
	for _, h := range t.Hosts {
		if ix.Settings().InCluster(h) {
			continue
		}
		rerouted := len(ix.VirtualServicesFor(h)) > 0 || ix.HasHTTPRoute(t)
		for _, client := range ix.ClientNamespaces(t) {
			owner := ix.Resolve(h, client)
			if owner == nil || owner.Namespace() != t.Namespace() {
				continue
			}
			for _, p := range mergedPorts(ix, h, owner, client) {
				at := place{h, p.Number}
				if p.Target == t && p.Family == mesh.L7 && p.Compiled() && !passed[at] && (!rerouted || leadsThere(ix, client, h, p.Number)) {
					passed[at] = true
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// leadsThere says whether something that the clients of a namespace send to a host, or that another route brings, arrives at a port of
// it. What an HTTPRoute of the host's own does with it is not followed; it counts as leading elsewhere.
func leadsThere(ix *mesh.Index, client string, h mesh.Host, port uint32) bool {
	if slices.ContainsFunc(ix.RoutesTo(h), func(r *mesh.Route) bool { return r.Port == port }) {
		return true
	}
	t := ix.Resolve(h, client)
	return !ix.HasHTTPRoute(t) && slices.ContainsFunc(wayTo(ix, Proxy{Type: Sidecar, Namespace: client}, h, port, nil), func(hop *Hop) bool {
		return hop.passes(h, port)
	})
}

// passes says whether the hop, or one that follows it, connects to a port of a host.
func (h *Hop) passes(host mesh.Host, port uint32) bool {
	return h.Cluster.Port.Host == host && h.Cluster.Port.Number == port ||
		slices.ContainsFunc(h.Next, func(next *Hop) bool { return next.passes(host, port) })
}

// asksForTLS says whether a tls block means that there be TLS. One without a mode does if it says anything else.
func asksForTLS(block object.Value) bool {
	if mode := block.Get("mode"); mode.Set() {
		return mode.Str() != "" && mode.Str() != "DISABLE"
	}
	for _, v := range block.Fields() {
		if v.Set() {
			return true
		}
	}
	return false
}
