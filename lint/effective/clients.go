package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Clients says for the clients of which namespaces Istio takes a rule for a host.
type Clients struct {
	// In are the namespaces for which it does, as far as the index names them.
	In []string
	// Elsewhere says that it does for namespaces of which nothing is known as well; then Except are those for which it does not.
	Elsewhere bool
	Except    []string
}

// ClientsOf finds the clients for which a rule is in force on a host of a target. o is the rule's object; if the index holds
// another one under its name, o counts in its place.
func ClientsOf(ix *mesh.Index, o *object.Object, h mesh.Host, t *mesh.Target) Clients {
	if ix.Get(o.Key) != o {
		ix = ix.With(o)
	}
	r := ix.Rule(o)
	var c Clients
	for _, ns := range ix.ClientNamespaces(t) {
		if ix.Applies(r, t, h, ns) {
			c.In = append(c.In, ns)
		} else {
			c.Except = append(c.Except, ns)
		}
	}
	const another = "" // no object has such a namespace, so that only what is said of all namespaces holds for it
	c.Elsewhere = ix.Sees(t, another) && ix.Applies(r, t, h, another)
	slices.Sort(c.In)
	slices.Sort(c.Except)
	return c
}

// DirectClients are those of a rule whose own proxies connect to a port of a host: not the namespaces of gateways, nor those whose routes
// lead somewhere else. It is empty where a gateway has a route to the host, since then the rule may be meant for that gateway alone, and
// where Istio has made the rule one with another that picks its clients by labels.
func DirectClients(ix *mesh.Index, o *object.Object, port Port) Clients {
	if ix.Get(o.Key) != o {
		ix = ix.With(o)
	}
	if m := ix.MergedWith(o); ix.HasGatewayRoute(port.Host) || m != nil && m.Selector() != nil {
		return Clients{}
	}
	connects := func(ns string) bool {
		if port.Routed { // by routes of sidecars, since gateways have none
			return true
		}
		return slices.ContainsFunc(WayTo(ix, Proxy{Type: Sidecar, Namespace: ns}, port.Host, port.Number), func(h *Hop) bool {
			return h.Cluster.Port.Host == port.Host
		})
	}
	c := ClientsOf(ix, o, port.Host, port.Target)
	c.In = slices.DeleteFunc(c.In, func(ns string) bool { return slices.Contains(ix.GatewayNamespaces(), ns) || !connects(ns) })
	c.Elsewhere = c.Elsewhere && connects("")
	c.Except = nil
	return c
}
