package effective

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Retry is how Envoy retries requests on one route to a cluster.
type Retry struct {
	// Attempts is how many times a failed request is tried again; 0 = never. Istio's default is 2.
	Attempts int64
	Origin   Origin
	// Timeout is the time for a request with all its retries, 0 = none, which is Istio's default; PerTry is that for each attempt,
	// 0 = none.
	Timeout, PerTry time.Duration
	// Reconnects says that an attempt that finds no connection is tried again too.
	Reconnects bool
	Route      *mesh.Route // nil for the route that Istio makes by itself
	// Hash is what consistentHash makes of the route: by which key requests are told apart. The paths are those of the route.
	Hash []Setting
}

// retries lists the ways in which requests to the cluster are retried: one for each http route of a VirtualService that leads to
// it, else that of the route that Istio makes by itself.
func (c *compilation) retries() []Retry {
	byDefault := Retry{Attempts: 2, Origin: byIstio, Reconnects: true}
	if v := c.policy.mesh.Get("defaultHttpRetryPolicy"); v.Set() {
		byDefault.Attempts, byDefault.Origin = whole(v.Get("attempts")), c.policy.fromMesh("defaultHttpRetryPolicy", "attempts")
	}
	var out []Retry
	for _, r := range c.routes.to(c.ix, c.port.Host, c.subsetName()) {
		if !c.retriedBy(r) {
			continue
		}
		at := r.Path[:3]
		route := r.Rule()
		retry := byDefault
		retry.Route = r
		if v := route.Get("retries"); v.Set() {
			retry.Attempts = whole(v.Get("attempts"))
			retry.Origin = Origin{Kind: FromObject, Object: r.Object, Path: at.Child("retries", "attempts")}
			retry.PerTry = duration(v.Get("perTryTimeout"))
			retry.Reconnects = reconnects(v.Get("retryOn").Str())
		}
		retry.Timeout = duration(route.Get("timeout"))
		retry.Hash = hashPolicies(c.routeHash(r))
		out = append(out, retry)
	}
	if c.subsetName() == "" && c.hasFamily(mesh.L7) && !c.rerouted() {
		byDefault.Hash = hashPolicies(c.routeHash(nil))
		out = append(out, byDefault)
	}
	return out
}

// routesBySubset are the routes to hosts by the subset that they name: thousands may lead to as many subsets of one host.
type routesBySubset map[mesh.Host]map[string][]*mesh.Route

// to lists the routes to a subset of a host, "" = none, in their order.
func (b routesBySubset) to(ix *mesh.Index, host mesh.Host, subset string) []*mesh.Route {
	of, known := b[host]
	if !known {
		of = map[string][]*mesh.Route{}
		for _, r := range ix.RoutesTo(host) {
			of[r.Subset()] = append(of[r.Subset()], r)
		}
		b[host] = of
	}
	return of[subset]
}

// reconnects says whether a retryOn takes in attempts that find no connection. Source: Envoy's x-envoy-retry-on.
func reconnects(on string) bool {
	return on == "" || slices.ContainsFunc(strings.Split(on, ","), func(condition string) bool {
		return slices.Contains([]string{"connect-failure", "5xx", "gateway-error"}, strings.TrimSpace(condition))
	})
}

// routeHash is the consistentHash that Istio writes to a route: of the levels that have one the innermost, whether or not a port entry
// without one resets the cluster. Entries count where the route names its port, or is Istio's own (nil). Source: Istio's
// pilot/pkg/networking/core/route, HashForHTTPDestination and hashForService.
func (c *compilation) routeHash(r *mesh.Route) Source {
	var best Source
	take := func(o *object.Object, at object.Path) {
		if v := o.Lookup(at).At("loadBalancer", "consistentHash"); v.Set() {
			best = Source{Object: o, Path: at.Child("loadBalancer", "consistentHash"), Value: v}
		}
	}
	level := func(o *object.Object, at object.Path) {
		take(o, at)
		if i := EntryFor(o.Lookup(at), c.port.Number); i >= 0 && (r == nil || r.Port != 0) {
			take(o, at.Child("portLevelSettings", i))
		}
	}
	if c.rule == nil {
		return best
	}
	if c.rule.Policy != nil {
		level(c.rule.Policy.Object, destinationLevel)
	}
	if c.chosen != nil {
		level(c.chosen.Rule.Object, object.Path{"spec", "subsets", c.chosen.Index, "trafficPolicy"})
	}
	return best
}

// hashPolicies compiles the key of a consistentHash.
func hashPolicies(hash Source) []Setting {
	const field, at = "loadBalancer.consistentHash.", "hash_policy[0]."
	var out settings
	switch {
	case hash.Value.Get("httpHeaderName").Str() != "":
		out.set(at+"header.header_name", hash.Value.Get("httpHeaderName").Str(), field+"httpHeaderName", hash.at("httpHeaderName"))
	case hash.Value.Get("httpCookie").Set():
		cookie := hash.Value.Get("httpCookie")
		for _, name := range [...]string{"name", "path"} {
			if v := cookie.Get(name).Str(); v != "" {
				out.set(at+"cookie."+name, v, field+"httpCookie."+name, hash.at("httpCookie", name))
			}
		}
		if v := cookie.Get("ttl"); v.Set() {
			out.set(at+"cookie.ttl", seconds(v), field+"httpCookie.ttl", hash.at("httpCookie", "ttl"))
		}
		for i, a := range cookie.Get("attributes").Items() {
			for _, name := range [...]string{"name", "value"} {
				if v := a.Get(name).Str(); v != "" {
					out.set(fmt.Sprintf("%scookie.attributes[%d].%s", at, i, name), v, field+"httpCookie.attributes", hash.at("httpCookie", "attributes", i, name))
				}
			}
		}
	case hash.Value.Get("useSourceIp").Set():
		if hash.Value.Get("useSourceIp").Bool() {
			out.set(at+"connection_properties.source_ip", true, field+"useSourceIp", hash.at("useSourceIp"))
		} else {
			out.message(at+"connection_properties", field+"useSourceIp", hash.at("useSourceIp"))
		}
	case hash.Value.Get("httpQueryParameterName").Str() != "":
		out.set(at+"query_parameter.name", hash.Value.Get("httpQueryParameterName").Str(), field+"httpQueryParameterName", hash.at("httpQueryParameterName"))
	}
	return out.finish()
}

// retriedBy says whether a route sends requests to the cluster and retries them. Mirrored requests are not retried.
func (c *compilation) retriedBy(r *mesh.Route) bool {
	if r.Object.Kind != object.VirtualService || r.Path[3] != "route" || !c.ix.SeesVirtualService(r.Object, c.proxy.Namespace) {
		return false
	}
	if r.Port != 0 {
		return r.Port == c.port.Number
	}
	// Without a port it is the one on which the request came in; at a gateway, whose ports may be others, the only one of the host.
	if c.proxy.Type == Gateway {
		only := onlyPort(c.ix, c.proxy, r.Host)
		return only == 0 || only == c.port.Number
	}
	return c.meets(r.Rule())
}

// meets says whether sidecars like the proxy have an http route for requests that come in on the port. Istio leaves out the others.
func (c *compilation) meets(route object.Value) bool {
	match := route.Get("match")
	for _, m := range match.Items() {
		port, gateways := m.Get("port"), m.Get("gateways").Strings()
		if (!port.Set() || uint32(port.Int()) == c.port.Number) && (len(gateways) == 0 || slices.Contains(gateways, "mesh")) && comesFrom(c.proxy, m) {
			return true
		}
	}
	return match.Len() == 0
}

// rerouted says whether a VirtualService takes the place of the route that Istio makes for the host by itself. Of those for wildcards
// only the first counts, even if it has no http routes, and only if none names the host. Source: Istio's
// pilot/pkg/networking/core/route, separateVSHostsAndServices.
func (c *compilation) rerouted() bool {
	var named, wide []*object.Object
	for _, vs := range c.ix.VirtualServicesFor(c.port.Host) {
		gateways := vs.Spec().Get("gateways").Strings()
		switch {
		case len(gateways) > 0 && !slices.Contains(gateways, "mesh") || !c.ix.SeesVirtualService(vs, c.proxy.Namespace):
		case c.names(vs):
			named = append(named, vs)
		case len(wide) == 0 || c.pattern(vs) == c.pattern(wide[0]):
			wide = append(wide, vs)
		}
	}
	if len(named) == 0 && len(wide) > 0 {
		named = []*object.Object{slices.MinFunc(wide, func(a, b *object.Object) int { return publicity(a) - publicity(b) })}
	}
	return slices.ContainsFunc(named, func(vs *object.Object) bool {
		for _, route := range vs.Spec().Get("http").Items() {
			if c.meets(route) {
				return true
			}
		}
		return false
	})
}

// pattern is the most specific host of a VirtualService that covers the host.
func (c *compilation) pattern(vs *object.Object) string {
	best := ""
	for _, name := range vs.Spec().Get("hosts").Strings() {
		if h := mesh.Host(name); (h == c.port.Host || h.Covers(c.port.Host)) && len(name) > len(best) {
			best = name
		}
	}
	return best
}

// publicity orders VirtualServices for equal hosts: Istio asks those for their own namespace first, then those for chosen ones.
func publicity(vs *object.Object) int {
	to := vs.Spec().Get("exportTo").Strings()
	switch {
	case len(to) == 0 || slices.Contains(to, "*"):
		return 2
	case slices.Contains(to, "."):
		return 0
	}
	return 1
}

// names says whether a VirtualService names the host, which is no wildcard.
func (c *compilation) names(vs *object.Object) bool {
	h := c.port.Host
	return !h.IsWildcard() && slices.ContainsFunc(vs.Spec().Get("hosts").Strings(), func(name string) bool {
		return mesh.QualifyHost(name, mesh.NamespaceOf(vs), c.ix.Settings().ClusterDomain) == h
	})
}

// hasFamily says whether a listener of a family, which a sniffed port has of both, leads to the cluster: another ServiceEntry or Service may give
// the same port of the host another protocol, and then both have a listener.
func (c *compilation) hasFamily(f mesh.Family) bool {
	return c.port.Family == f || c.port.Family == mesh.Sniffed || slices.ContainsFunc(c.ix.Targets(c.port.Host), func(t *mesh.Target) bool {
		return t.Namespace() == c.owner.Namespace() && slices.ContainsFunc(t.Ports, func(p mesh.Port) bool {
			return p.Number == c.port.Number && (p.Family == f || p.Family == mesh.Sniffed)
		})
	})
}

// Felt is how long a client waits for an answer when no endpoint answers.
type Felt struct {
	Time, Each time.Duration // Each is for one attempt
	Attempts   int64
	Retry      *Retry // the route on which it is longest, nil where bytes are forwarded
}

// FeltConnectTime is the longest that a client waits when no endpoint answers: every attempt waits for connectTimeout anew, unless
// the route's own limits are shorter. Bytes are never sent again, but where Envoy reads requests it retries them. ok is false if no
// request leads to the cluster.
func (c *Cluster) FeltConnectTime() (felt Felt, ok bool) {
	connect, err := time.ParseDuration(Leaves(c.Settings)["connect_timeout"])
	if err != nil {
		return Felt{}, false
	}
	if c.Port.ForwardsBytes() {
		return Felt{Time: connect, Each: connect, Attempts: 1}, true
	}
	for i := range c.Retries {
		r := &c.Retries[i]
		f := Felt{Each: connect, Attempts: 1, Retry: r}
		if r.PerTry > 0 {
			f.Each = min(f.Each, r.PerTry)
		}
		if r.Reconnects || r.PerTry > 0 && r.PerTry < connect {
			f.Attempts += r.Attempts
		}
		f.Time = f.Each * time.Duration(f.Attempts)
		if r.Timeout > 0 {
			f.Time = min(f.Time, r.Timeout)
		}
		if !ok || f.Time > felt.Time {
			felt, ok = f, true
		}
	}
	return felt, ok
}
