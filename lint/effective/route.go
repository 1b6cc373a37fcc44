package effective

import (
	"slices"
	"time"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Retry is how Envoy retries requests on one route to a cluster.
type Retry struct {
	// Attempts is how many times a failed request is tried again; 0 = never. Istio's default is 2.
	Attempts int64
	Origin   Origin
	// Timeout is the time for a request with all its retries, 0 = none, which is Istio's default.
	Timeout time.Duration
}

// retries lists the ways in which requests to the cluster are retried: one for each http route of a VirtualService that leads to
// it, else that of the route that Istio makes by itself.
func (c *compilation) retries() []Retry {
	byDefault := Retry{Attempts: 2, Origin: byIstio}
	if v := c.policy.mesh.Get("defaultHttpRetryPolicy"); v.Set() {
		byDefault.Attempts, byDefault.Origin = whole(v.Get("attempts")), meshOrigin("defaultHttpRetryPolicy", "attempts")
	}
	var out []Retry
	for _, r := range c.ix.RoutesTo(c.port.Host) {
		if !c.retriedBy(r) {
			continue
		}
		at := r.Path[:3]
		route := r.Object.Lookup(at)
		retry := byDefault
		if v := route.Get("retries"); v.Set() {
			retry.Attempts = whole(v.Get("attempts"))
			retry.Origin = Origin{Kind: FromObject, Object: r.Object, Path: at.Child("retries", "attempts")}
		}
		retry.Timeout = duration(route.Get("timeout"))
		out = append(out, retry)
	}
	if c.subsetName() == "" && c.hasFamily(mesh.L7) && !c.rerouted() {
		out = append(out, byDefault)
	}
	return out
}

// retriedBy says whether a route sends requests to the cluster and retries them. Mirrored requests are not retried.
func (c *compilation) retriedBy(r *mesh.Route) bool {
	if r.Object.Kind != object.VirtualService || r.Path[3] != "route" || !c.ix.SeesVirtualService(r.Object, c.proxy.Namespace) {
		return false
	}
	if r.Object.Lookup(r.Path).Get("subset").Str() != c.subsetName() {
		return false
	}
	if r.Port != 0 {
		return r.Port == c.port.Number
	}
	// Without a port it is the only one, else the one on which the request came in, which may be any.
	only := onlyPort(c.ix, c.proxy, r.Host)
	return only == 0 || only == c.port.Number
}

// rerouted says whether a VirtualService takes the place of the route that Istio makes for the host by itself.
func (c *compilation) rerouted() bool {
	return slices.ContainsFunc(c.ix.VirtualServicesFor(c.port.Host), func(vs *object.Object) bool {
		gateways := vs.Spec().Get("gateways").Strings()
		if len(gateways) > 0 && !slices.Contains(gateways, "mesh") || !c.ix.SeesVirtualService(vs, c.proxy.Namespace) {
			return false
		}
		for _, rule := range vs.Spec().Get("http").Items() {
			if mesh.MatchesPort(rule, c.port.Number) {
				return true
			}
		}
		return false
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

// FeltConnectTime is how long a client waits for an answer when no endpoint answers: every attempt waits for connectTimeout
// anew. Bytes are never sent again, but where Envoy reads requests it retries them. ok is false if no request leads to the cluster.
func (c *Cluster) FeltConnectTime() (d time.Duration, attempts int64, ok bool) {
	connect, err := time.ParseDuration(Leaves(c.Settings)["connect_timeout"])
	if err != nil {
		return 0, 0, false
	}
	if c.Port.ForwardsBytes() {
		return connect, 1, true
	}
	for _, r := range c.Retries {
		attempts = max(attempts, r.Attempts+1)
		ok = true
	}
	return connect * time.Duration(attempts), attempts, ok
}
