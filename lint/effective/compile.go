package effective

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/istio"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Cluster is what Istio compiles for one port of a host and one subset of it, for one proxy.
type Cluster struct {
	Proxy  Proxy
	Port   Port
	Subset string
	Rule   *mesh.Merged // the DestinationRule in force, nil if there is none
	Policy *Policy

	// Type is the type of the cluster in the end, after a loadBalancer PASSTHROUGH.
	Type ClusterType
	// Absent says why Istio compiles no cluster at all; then there are no settings.
	Absent string
	// Panics says that Istio's compiler panics on the input, and why.
	Panics string
	// PanicsOver is the setting over which it does.
	PanicsOver Origin

	Settings []Setting // of the cluster
	TCP      []Setting // of the tcp_proxy that leads to it, for ports that have one
	Retries  []Retry   // of the requests that lead to it, for ports that carry requests

	// Unpredicted are paths of the cluster that hang on what no manifest shows, such as the service accounts of pods.
	Unpredicted []string
}

// Name is the name of the cluster, in Istio's form.
func (c *Cluster) Name() string { return ClusterName(c.Port.Number, c.Subset, c.Port.Host) }

// ClusterName is Istio's name for the cluster of a port. Source: Istio's pilot/pkg/model, BuildSubsetKey.
func ClusterName(port uint32, subset string, host mesh.Host) string {
	return fmt.Sprintf("outbound|%d|%s|%s", port, subset, host)
}

// Clusters lists what Istio compiles for a host and a proxy, port by port, each followed by its subsets. It is empty if the
// proxy sees no such host.
func Clusters(ix *mesh.Index, proxy Proxy, host mesh.Host) []*Cluster {
	return slices.Collect(EachCluster(ix, proxy, host))
}

// EachCluster is Clusters one by one: a host may have hundreds of ports and thousands of subsets.
func EachCluster(ix *mesh.Index, proxy Proxy, host mesh.Host) iter.Seq[*Cluster] {
	return func(yield func(*Cluster) bool) {
		t := proxy.resolve(ix, host)
		if t == nil {
			return
		}
		rule := ix.RuleFor(t, host, proxy.Namespace, proxy.Labels)
		routes := routesBySubset{}
		compile := func(p Port) *compilation {
			c := newCompilation(ix, proxy, rule, t, p)
			c.routes = routes
			return c
		}
		for _, p := range portsOf(ix, proxy, host, t) {
			base := compile(p).cluster(nil)
			if !yield(base) {
				return
			}
			if rule == nil || base.withoutSubsets() {
				continue
			}
			for _, s := range rule.Subsets {
				if !yield(compile(p).subset(s, base)) {
					return
				}
			}
		}
	}
}

// ClusterFor returns what Istio compiles for one port and subset ("" = none) of a host, nil if there is no such port or subset.
func ClusterFor(ix *mesh.Index, proxy Proxy, host mesh.Host, port uint32, subset string) *Cluster {
	return clusterFor(ix, proxy, host, port, subset, routesBySubset{})
}

// ClusterAlone is ClusterFor without Retries: there may be thousands of routes that lead to a cluster.
func ClusterAlone(ix *mesh.Index, proxy Proxy, host mesh.Host, port uint32, subset string) *Cluster {
	return clusterFor(ix, proxy, host, port, subset, nil)
}

// clusterFor is ClusterFor with the routes that are known already; without any the cluster has no Retries.
func clusterFor(ix *mesh.Index, proxy Proxy, host mesh.Host, port uint32, subset string, routes routesBySubset) *Cluster {
	t := proxy.resolve(ix, host)
	if t == nil {
		return nil
	}
	ports := portsOf(ix, proxy, host, t)
	i := slices.IndexFunc(ports, func(p Port) bool { return p.Number == port })
	if i < 0 {
		return nil
	}
	rule := ix.RuleFor(t, host, proxy.Namespace, proxy.Labels)
	compilation := newCompilation(ix, proxy, rule, t, ports[i])
	compilation.routes = routes
	base := compilation.cluster(nil)
	if subset == "" {
		return base
	}
	if rule == nil || base.withoutSubsets() {
		return nil
	}
	s, ok := rule.Subset(subset)
	if !ok {
		return nil
	}
	compilation = newCompilation(ix, proxy, rule, t, ports[i])
	compilation.routes = routes
	return compilation.subset(s, base)
}

// withoutSubsets says whether Istio looks at no subsets, since the cluster without one is not there.
func (c *Cluster) withoutSubsets() bool { return c.Absent != "" && !c.Port.missesEndpoints() }

// PortsSeen lists the ports of a host, as clients of a namespace get them from the target that they reach.
func PortsSeen(ix *mesh.Index, h mesh.Host, t *mesh.Target, from string) []Port {
	return mergedPorts(ix, h, t, from)
}

// mergedPorts lists the ports of a host, as seen from a namespace: those of its target, and those of the other ServiceEntries of the
// target's namespace that it does not have itself.
func mergedPorts(ix *mesh.Index, host mesh.Host, t *mesh.Target, from string) []Port {
	var out []Port
	at := map[uint32]int{}
	add := func(m *mesh.Target) {
		for _, p := range m.Ports {
			i, dup := at[p.Number]
			requests := dup && out[i].Family == mesh.L4 && (p.Family == mesh.L7 || p.Family == mesh.Sniffed)
			switch {
			case !dup:
				at[p.Number] = len(out)
				out = append(out, portOf(ix, host, m, p))
			case out[i].Target == m && out[i].Family == mesh.NoProxy: // UDP and TCP may share a number
				out[i] = portOf(ix, host, m, p)
			case !mesh.SharePorts(t, out[i].Target) && mesh.SharePorts(t, m):
				out[i] = portOf(ix, host, m, p)
				requests = false
			}
			if requests { // the other's listener leads to the same cluster
				out[i].Routed = true
			}
		}
	}
	add(t)
	for _, m := range ix.Merged(host, t, from) {
		if m != t {
			add(m)
		}
	}
	return out
}

// portsOf lists the ports of a host for a proxy.
func portsOf(ix *mesh.Index, proxy Proxy, host mesh.Host, t *mesh.Target) []Port {
	out := mergedPorts(ix, host, t, proxy.Namespace)
	if proxy.Type == Sidecar && !ix.Sees(t, proxy.Namespace) { // only routes make it known, and only what they name
		out = slices.DeleteFunc(out, func(p Port) bool {
			return !ix.LeadTo(host, p.Number, proxy.Namespace)
		})
	}
	return out
}

// compilation is one cluster in the making. The order of its steps is Istio's, where a later step looks at what an earlier one
// has left. Source: Istio's pilot/pkg/networking/core, cluster_builder.go and cluster_traffic_policy.go.
type compilation struct {
	ix    *mesh.Index
	proxy Proxy
	rule  *mesh.Merged
	owner *mesh.Target // says what holds for all ports of the host, also for those that other ServiceEntries add
	port  Port

	policy *Policy
	chosen *mesh.Subset // nil for the cluster without subset
	// without says why there is no cluster without subset, "" if there is one.
	without string

	version  istio.Release
	typ      ClusterType
	protocol upstreamProtocol
	out      settings
	c        *Cluster
	routes   routesBySubset // nil = no routes are looked at
}

func newCompilation(ix *mesh.Index, proxy Proxy, rule *mesh.Merged, owner *mesh.Target, port Port) *compilation {
	port.InCluster = inMesh(owner)
	return &compilation{ix: ix, proxy: proxy, rule: rule, owner: owner, port: port, version: releaseOf(ix)}
}

// cluster compiles the port without subset, or a subset of it.
func (c *compilation) cluster(s *mesh.Subset) *Cluster {
	levels := LevelsOfMerged(c.ix, c.rule, "")
	c.c = &Cluster{Proxy: c.proxy, Port: c.port, Rule: c.rule}
	if s != nil {
		levels = levelsOfSubset(c.ix, c.rule, *s)
		c.c.Subset = s.Name
	}
	c.policy = levels.For(c.port.Number, Without{})
	c.c.Policy = c.policy
	if c.typ == "" {
		c.typ = c.discoveryType()
	}
	c.c.Absent = c.absence(s)
	if c.c.Absent == "" {
		c.discovery()
		c.upstream()
		c.pool()
		c.ejection()
		c.balance()
		c.tls(s)
		c.proxyProtocol()
		c.http()
		if c.typ == OriginalDst {
			c.out.set("lb_policy", "CLUSTER_PROVIDED", "", c.whoPassesThrough())
		}
		c.c.Settings = c.out.finish()
	}
	c.c.Type = c.typ
	c.c.TCP = c.tcpProxy(s)
	if c.routes != nil {
		c.c.Retries = c.retries()
	}
	return c.c
}

// subset compiles a subset. It starts from the type that the cluster without subset ended with.
func (c *compilation) subset(s mesh.Subset, base *Cluster) *Cluster {
	c.typ, c.without = base.Type, base.Absent
	c.chosen = &s
	if s.Value().At("trafficPolicy", "loadBalancer", "simple").Str() == passthrough {
		c.typ = OriginalDst
	}
	return c.cluster(&s)
}

// passthrough is the load balancer that forwards to the address that the client dialled.
const passthrough = "PASSTHROUGH"

// discoveryType is the type of cluster that the target asks for. Gateways cannot forward to the address that a client dialled, so
// they get a list, which is empty.
func (c *compilation) discoveryType() ClusterType {
	t := c.port.Cluster
	if t == OriginalDst && c.proxy.Type == Gateway {
		return EDS
	}
	return t
}

// The reasons why there is no cluster of a subset where there is one of the host.
const (
	NoSuchEndpoints  = "no endpoint has the labels of the subset"
	NoDynamicSubsets = "a DYNAMIC_DNS host has no subsets"
)

// absence says why there is no cluster.
func (c *compilation) absence(s *mesh.Subset) string {
	p := c.port
	switch {
	case p.Family == mesh.NoProxy:
		return "Istio compiles nothing for " + p.Protocol + " ports"
	case c.owner.IsService() && c.owner.Object.Spec().Get("type").Str() == "ExternalName":
		return "the Service is of type ExternalName, an alias for another host"
	case !p.Compiled():
		return fmt.Sprintf("Istio compiles no dynamic_forward_proxy for ports of protocol %s", orNone(p.Protocol))
	case p.Cluster == DynamicDNS && s != nil:
		return NoDynamicSubsets
	}
	if !mesh.SharePorts(c.owner, p.Target) {
		return fmt.Sprintf("Istio takes the host's ports from %s, which differs in resolution, labels, workloadSelector or exportTo", c.owner.Object)
	}
	if c.typ != StrictDNS && c.typ != LogicalDNS {
		return c.without // a subset may pass through where the host has no endpoint, and Istio does not get to it
	}
	if !c.hasEndpoint(s) {
		if s != nil {
			return NoSuchEndpoints
		}
		return "no endpoint is in view"
	}
	return ""
}

func orNone(protocol string) string {
	if protocol == "" {
		return "none"
	}
	return protocol
}

// missesEndpoints: the subsets of a host without endpoints are looked at all the same, since they have no endpoints either.
func (p Port) missesEndpoints() bool { return p.Cluster == StrictDNS || p.Cluster == LogicalDNS }

// hasEndpoint says whether a cluster that resolves names has any name to resolve: without endpoints the host itself is one, which
// has no labels.
func (c *compilation) hasEndpoint(s *mesh.Subset) bool {
	var labels object.Value
	if s != nil {
		labels = s.Value().Get("labels")
	}
	roundRobin := false // of which only the first endpoint of all is kept
	for _, m := range c.merged() {
		if _, has := m.Port(c.port.Number); !has {
			continue
		}
		roundRobin = roundRobin || m.Resolution == "DNS_ROUND_ROBIN"
		switch {
		case m.HasSelector():
			if c.ix.SelectsEndpoint(m, labels) {
				return true
			}
		case m.Endpoints().Len() > 0:
			if n, _ := m.CountEndpoints(labels, false); n > 0 && m.Resolution != "DNS_ROUND_ROBIN" {
				return true
			}
		case labels.Len() == 0 && m.Resolution == "DNS":
			return true
		}
	}
	if !roundRobin {
		return false
	}
	for e := range c.endpoints(c.port.Number) {
		if mesh.HasLabels(e, labels) {
			return true
		}
	}
	return false
}

// merged are the ServiceEntries whose endpoints Istio puts together for the host, the oldest first, whether the proxy sees them or
// not.
func (c *compilation) merged() []*mesh.Target {
	var out []*mesh.Target
	for _, t := range c.ix.Targets(c.port.Host) {
		if t.Namespace() == c.owner.Namespace() && t.IsService() == c.owner.IsService() {
			out = append(out, t)
		}
	}
	return out
}

// endpoints yields the endpoints that Istio has for a port of the host, those that labels choose left out. An absent value stands
// for the host's own name. Of DNS_ROUND_ROBIN only one endpoint is kept, and none if the port has any already. Source: Istio's
// pilot/pkg/serviceregistry/serviceentry, mergeServicesInstancesByNamespaceHost.
func (c *compilation) endpoints(port uint32) iter.Seq[object.Value] {
	return func(yield func(object.Value) bool) {
		some := false
		for _, m := range c.merged() {
			if _, has := m.Port(port); !has || m.HasSelector() {
				continue
			}
			roundRobin := m.Resolution == "DNS_ROUND_ROBIN"
			if m.Endpoints().Len() == 0 && strings.HasPrefix(m.Resolution, "DNS") && !(roundRobin && some) {
				some = true
				if !yield(object.Value{}) {
					return
				}
			}
			for _, e := range m.Endpoints().Items() {
				if roundRobin && some {
					break
				}
				some = true
				if !yield(e) {
					return
				}
			}
		}
	}
}

// endpointsOfAnyPort yields what endpoints does for at least one port, without going through all of it for each.
func (c *compilation) endpointsOfAnyPort() iter.Seq[object.Value] {
	return func(yield func(object.Value) bool) {
		some := map[uint32]bool{} // ports
		for _, m := range c.merged() {
			if m.HasSelector() || len(m.Ports) == 0 {
				continue
			}
			roundRobin, endpoints := m.Resolution == "DNS_ROUND_ROBIN", m.Endpoints()
			first := slices.ContainsFunc(m.Ports, func(p mesh.Port) bool { return !some[p.Number] })
			for i, e := range endpoints.Items() {
				if roundRobin && (i > 0 || !first) {
					break
				}
				if !yield(e) {
					return
				}
			}
			if endpoints.Len() == 0 && !strings.HasPrefix(m.Resolution, "DNS") {
				continue
			}
			for _, p := range m.Ports {
				some[p.Number] = true
			}
		}
	}
}

// whoPassesThrough is the origin of a cluster without a list of addresses.
func (c *compilation) whoPassesThrough() Origin {
	if lb := c.policy.Block("loadBalancer"); lb.Value.Get("simple").Str() == passthrough {
		return lb.at("simple")
	}
	return c.fromTarget("spec", "resolution")
}

// fromTarget is the origin of what the ServiceEntry or Service says.
func (c *compilation) fromTarget(path ...any) Origin {
	return Origin{Kind: FromObject, Object: c.owner.Object, Path: object.Path{}.Child(path...)}
}

// discovery writes how Envoy finds the addresses.
func (c *compilation) discovery() {
	field, from := "ServiceEntry.resolution", c.fromTarget("spec", "resolution")
	if c.owner.IsService() {
		field, from = "Service.spec", c.fromTarget("spec")
	}
	if c.typ == OriginalDst && c.port.Cluster != OriginalDst {
		from = c.whoPassesThrough()
	}
	switch c.typ {
	case DynamicDNS:
		c.out.set("cluster_type.name", "envoy.clusters.dynamic_forward_proxy", field, from)
	default:
		c.out.set("type", string(c.typ), field, from)
	}
	switch c.typ {
	case StrictDNS, LogicalDNS:
		c.out.set("respect_dns_ttl", true, "", byIstio)
		if own := c.policy.mesh.Get("dnsRefreshRate"); own.Set() {
			c.out.set("dns_refresh_rate", seconds(own), "meshConfig.dnsRefreshRate", c.policy.fromMesh("dnsRefreshRate"))
		} else {
			c.out.set("dns_refresh_rate", "60s", "meshConfig.dnsRefreshRate", byIstio)
		}
	case OriginalDst:
		// Istio notes the target ports of entries with resolution NONE only.
		if t := c.owner; t == c.port.Target && !t.IsService() && t.Resolution == "NONE" && c.port.TargetPort != 0 {
			c.out.set("original_dst_lb_config.upstream_port_override", int64(c.port.TargetPort), "ServiceEntry.ports.targetPort",
				Origin{Kind: FromObject, Object: t.Object, Path: c.port.Path.Child("targetPort")})
		}
	}
}
