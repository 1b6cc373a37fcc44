package effective

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// ClusterType is the kind of Envoy cluster that Istio compiles for a port.
type ClusterType string

// The cluster types. Only the first two hold a list of addresses from which one can be ejected or chosen.
const (
	StrictDNS   ClusterType = "STRICT_DNS"
	EDS         ClusterType = "EDS"
	LogicalDNS  ClusterType = "LOGICAL_DNS"
	OriginalDst ClusterType = "ORIGINAL_DST"
	DynamicDNS  ClusterType = "dynamic_forward_proxy"
)

// HasList says whether Envoy keeps a list of addresses for the cluster.
func (c ClusterType) HasList() bool { return c == StrictDNS || c == EDS }

// ClusterTypeOf returns the type of cluster for a target, before a DestinationRule's loadBalancer PASSTHROUGH turns it into
// ORIGINAL_DST. Source: Istio's pilot/pkg/serviceregistry/serviceentry, ServiceEntry.Resolution.
func ClusterTypeOf(t *mesh.Target) ClusterType {
	if t.IsService() {
		spec := t.Object.Spec()
		switch {
		case spec.Get("type").Str() == "ExternalName":
			return StrictDNS
		case spec.Get("clusterIP").Str() == "None":
			return OriginalDst
		}
		return EDS
	}
	switch t.Resolution {
	case "STATIC":
		return EDS
	case "DNS":
		if strings.EqualFold(t.Object.Annotation("istio.io/connect-strategy"), "RACE_FIRST_TCP_CONNECT") {
			return LogicalDNS
		}
		return StrictDNS
	case "DNS_ROUND_ROBIN":
		return LogicalDNS
	case "DYNAMIC_DNS":
		return DynamicDNS
	}
	return OriginalDst
}

// Port is a port of a host together with what decides how Istio treats a policy for it.
type Port struct {
	mesh.Port
	Host    mesh.Host
	Target  *mesh.Target // nil when the host is not in view: then nothing but Number is known
	Cluster ClusterType
	// InCluster says that the host is a service of this mesh, to which Istio uses mutual TLS by itself.
	InCluster bool
	// Routed says that an http route sends requests to the port, whose protocol is one of L4: its cluster then carries requests that
	// Envoy has read on another port.
	Routed bool
}

func portOf(ix *mesh.Index, h mesh.Host, t *mesh.Target, p mesh.Port) Port {
	cluster := ClusterTypeOf(t)
	if cluster == DynamicDNS && !h.IsWildcard() {
		cluster = EDS // Istio forwards dynamically for wildcards only, and has no addresses for other hosts
	}
	return Port{
		Port: p, Host: h, Target: t, Cluster: cluster, InCluster: inMesh(t),
		Routed: p.Family == mesh.L4 && ix.HasCleartextRoute(h, p.Number),
	}
}

// CarriesRequests says whether Envoy has read what the port's cluster carries, always or, without a protocol, as the case may be.
func (p Port) CarriesRequests() bool {
	return p.Family == mesh.L7 || p.Family == mesh.Sniffed || p.Routed
}

// ReadsRequests says that all that the port's cluster carries is requests that Envoy has read, on the port itself or on the one that
// a route comes from.
func (p Port) ReadsRequests() bool { return p.Family == mesh.L7 || p.Routed }

// ForwardsBytes says that all that the port's cluster carries is bytes that Envoy does not read.
func (p Port) ForwardsBytes() bool { return p.Family == mesh.L4 && !p.Routed }

// Known says whether the host, and so the kind of port, is in view.
func (p Port) Known() bool { return p.Target != nil }

// External says whether the port belongs to a ServiceEntry for something outside the mesh.
func (p Port) External() bool { return p.Target != nil && p.Target.External }

// Reach is what a DestinationRule governs: one Port for each port of each host, equal ones counted once.
type Reach struct {
	Ports []Port
	// Hosts is how many hosts each of Ports stands for.
	Hosts []int
	// Targets are the ServiceEntries and Services behind them, each once.
	Targets []*mesh.Target

	inView   bool
	byNumber map[uint32][]Port
}

// ReachOf lists the ports that a rule governs. A host for which Istio prefers another rule to this
// one, for all clients, is left out: a more specific one, or one in a namespace that it asks earlier. A wildcard rule may take in
// thousands of hosts; ports that no policy can tell apart are listed once, with the first host by name.
//
// o is the rule's object; if the index holds another one under its name, o counts in its place.
func ReachOf(ix *mesh.Index, o *object.Object) Reach {
	type class struct {
		number              uint32
		protocol            string
		cluster             ClusterType
		external, inCluster bool
		targetPort          uint32
		endpoints           int  // -1 if not known
		named               bool // the ServiceEntry says which names the certificate may bear
		routed              bool
	}
	var out Reach
	seen := map[class]int{}
	walk(ix, o, &out, func(hit mesh.Reached, port Port) {
		endpoints := -1
		if n, known := EndpointCount(ix, hit.Host, port.Target, port.Port, object.Value{}); known {
			endpoints = n
		}
		named := port.Target.Object.Spec().Get("subjectAltNames").Len() > 0
		c := class{port.Number, port.Protocol, port.Cluster, port.Target.External, port.InCluster, port.TargetPort, endpoints, named, port.Routed}
		if i, dup := seen[c]; dup {
			out.Hosts[i]++
			return
		}
		seen[c] = len(out.Ports)
		out.Ports = append(out.Ports, port)
		out.Hosts = append(out.Hosts, 1)
	})
	return out
}

// EachPortOf is ReachOf with every port of every host listed, so that they can be counted and named.
func EachPortOf(ix *mesh.Index, o *object.Object) Reach {
	var out Reach
	walk(ix, o, &out, func(_ mesh.Reached, port Port) {
		out.Ports = append(out.Ports, port)
		out.Hosts = append(out.Hosts, 1)
	})
	return out
}

// walk visits the ports that a rule governs, for each of its hosts in the order of names, and notes their targets in r.
func walk(ix *mesh.Index, o *object.Object, r *Reach, visit func(mesh.Reached, Port)) {
	if ix.Get(o.Key) != o {
		ix = ix.With(o)
	}
	rule := ix.Rule(o)
	if rule == nil {
		return
	}
	defer func() { r.byNumber = byNumber(r.Ports) }()
	seen := map[*mesh.Target]bool{}
	for _, hit := range ix.ReachOf(rule) {
		r.inView = true
		if !inForce(ix, rule, hit) {
			continue
		}
		for _, t := range ix.Merged(hit.Host, hit.Target, hit.From) {
			if !seen[t] {
				seen[t] = true
				r.Targets = append(r.Targets, t)
			}
		}
		for _, port := range mergedPorts(ix, hit.Host, hit.Target, hit.From) {
			visit(hit, port)
		}
	}
}

func byNumber(ports []Port) map[uint32][]Port {
	out := map[uint32][]Port{}
	for _, p := range ports {
		out[p.Number] = append(out[p.Number], p)
	}
	return out
}

// inForce says whether the clients of at least one namespace that sees the host get the rule for it. The namespace from which it
// was found comes first, since it nearly always settles it.
func inForce(ix *mesh.Index, r *mesh.DestinationRule, hit mesh.Reached) bool {
	gets := func(client string) bool {
		return ix.Sees(hit.Target, client) && ix.Applies(r, hit.Target, hit.Host, client)
	}
	return gets(hit.From) || slices.ContainsFunc(ix.ClientNamespaces(hit.Target), gets)
}

// inMesh says whether a target is a service of this mesh. A Service of type ExternalName is a name for something outside.
func inMesh(t *mesh.Target) bool {
	if t.IsService() {
		return t.Object.Spec().Get("type").Str() != "ExternalName"
	}
	return !t.External
}

// Known says whether any host that the rule takes in is in view, whether it governs it or not.
func (r Reach) Known() bool { return r.inView }

// Numbered returns the ports with a number.
func (r Reach) Numbered(n uint32) []Port { return r.byNumber[n] }
