package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MX307",
		Name:     "route-ignored",
		Title:    "Routes of a VirtualService that the protocol of the port rules out",
		Category: lint.CategoryAcross,
		Severity: lint.Error,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.ServiceEntry},
		Summary: "A port of a ServiceEntry for which a VirtualService has routes of another kind than the port's protocol takes: http routes for " +
			"TLS, HTTPS or TCP, tls routes for HTTP or TCP, tcp routes for HTTP or TLS.",
		Why: "The protocol decides what Envoy looks at. On a port of HTTP, HTTP2 or GRPC it reads requests, and only http routes count. TLS and " +
			"HTTPS are passed on by the server name that the client asks for, and only tls routes count. Of TCP only the bytes are seen, and only " +
			"tcp routes count. Routes of another kind are left out of what Istio compiles, without a word: their timeouts, retries, matches and " +
			"destinations do not exist.\n\n" +
			"A route is not reported if it holds for a port of any host of its VirtualService, if it may be for a gateway, or if one of the hosts " +
			"is not in view. Neither is an http route for a port that the ServiceEntry does not have, such as 80, nor one by which a request that " +
			"comes in on port 80 may arrive, such as one to a port on which a DestinationRule starts TLS.",
		Remedy: "Where clients bring their own TLS, write a tls route with sniHosts, and set timeouts and retries in the client. To have Envoy read " +
			"the requests let clients send plain HTTP: give the port protocol HTTP and targetPort 443, and start TLS in a DestinationRule.",
		Proof: lint.Proof{Kind: "ignored", Text: "without the routes Istio compiles the same clusters, listeners and routes"},
		Observe: lint.Observe{
			ConfigDump: "istioctl proxy-config route POD lists no route for the port and host, istioctl proxy-config listener POD --port PORT shows a tcp_proxy that leads to the host's own cluster",
		},
		References: []string{
			"https://istio.io/latest/docs/reference/config/networking/virtual-service/#VirtualService",
			"https://istio.io/latest/docs/ops/configuration/traffic-management/protocol-selection/",
		},
	},
	Check: func(p *lint.Pass) error {
		t := p.Mesh.Target(p.Object)
		seen := map[string]bool{}
		for _, port := range t.Ports {
			takes := strings.Join(port.RouteKinds(), " and ")
			if takes != "" && !seen[takes] {
				seen[takes] = true
				reportIdle(p, t, takes)
			}
		}
		return nil
	},
})

// maxVirtualServices is how many VirtualServices of one host are looked at. Envoy follows the routes of one of them.
const maxVirtualServices = 100

// idleRoute is a route for which a port has no use.
type idleRoute struct {
	vs   *object.Object
	host mesh.Host
	port mesh.Port
	kind string
	rule int // its index among those of the kind
}

// reportIdle reports the routes that do not count on those ports of a ServiceEntry that take certain kinds of routes.
func reportIdle(p *lint.Pass, t *mesh.Target, takes string) {
	var found []idleRoute // one for each VirtualService and kind
	var services []object.Key
	var ports []uint32
	seen := map[*object.Object]bool{}
	for _, h := range t.Hosts {
		list := p.Mesh.VirtualServicesFor(h)
		for _, vs := range list[:min(len(list), maxVirtualServices)] {
			if seen[vs] {
				continue
			}
			seen[vs] = true
			var kinds []string
			for _, port := range t.Ports {
				if strings.Join(port.RouteKinds(), " and ") != takes {
					continue
				}
				for _, kind := range mesh.RouteKinds() {
					if slices.Contains(port.RouteKinds(), kind) {
						continue
					}
					rule, idle := idleRuleOn(p, vs, kind, port)
					if !idle || !meetsClients(p.Mesh, t, vs) {
						continue
					}
					if !slices.Contains(kinds, kind) {
						kinds = append(kinds, kind)
						found = append(found, idleRoute{vs, h, port, kind, rule})
					}
					if !slices.Contains(ports, port.Number) {
						ports = append(ports, port.Number)
					}
				}
			}
			if len(kinds) > 0 {
				services = append(services, vs.Key)
			}
		}
	}
	if len(found) == 0 {
		return
	}
	one := found[0]
	at := one.port.Path
	if one.port.Protocol != "" {
		at = at.Child("protocol")
	}
	subject := lint.Subject{Objects: services, Ports: ports}
	for _, h := range t.Hosts {
		subject.Hosts = append(subject.Hosts, string(h))
	}
	extras := []lint.Extra{lint.Effect(idleEffect(one)), lint.About(subject)}
	for _, r := range found[:min(len(found), maxNamed)] {
		extras = append(extras, lint.Also(r.vs, object.Path{"spec", r.kind, r.rule}, "the route"))
	}
	var kinds []string
	for _, r := range found {
		if r.vs == one.vs && r.port.Number == one.port.Number {
			kinds = append(kinds, r.kind)
		}
	}
	p.Report(at, fmt.Sprintf("port %d (%s) of %s takes %s routes only, so the %s routes of VirtualService %s%s are ignored there",
		one.port.Number, protocolName(one.port), one.host, takes, lint.Enumerate(kinds), one.vs.Name, andMore(len(services)-1)), extras...)
}

// maxNamed is how many places a finding names beside its own.
const maxNamed = 5

// routeFields are the fields of routes, in the order of Istio's reference.
var routeFields = [...]string{
	"match", "route", "redirect", "directResponse", "delegate", "rewrite", "timeout", "retries", "fault", "mirror", "mirrors", "corsPolicy", "headers",
}

// idleEffect says what Envoy does instead of following a route.
func idleEffect(r idleRoute) string {
	var does string
	switch {
	case r.port.Family == mesh.L7:
		does = "Envoy reads requests on the port and asks http routes only (route_config)"
	case r.port.Family == mesh.Sniffed:
		does = "Envoy looks for HTTP on the port and forwards everything else as bytes (tcp_proxy), whatever the server name"
	case r.port.IsTLS():
		does = "Envoy passes the connections on by their server name and reads no requests (tcp_proxy)"
	default:
		does = "Envoy forwards the bytes to one cluster and reads no requests or server names (tcp_proxy)"
	}
	rule := r.vs.Spec().At(r.kind, r.rule)
	fields := slices.DeleteFunc(slices.Clone(routeFields[:]), func(name string) bool { return !rule.Get(name).Set() })
	text := fmt.Sprintf("%s: %s of spec.%s[%d] %s no effect", does, lint.Enumerate(fields), r.kind, r.rule, has(len(fields)))
	if r.kind == "http" && admitsPort80(rule) {
		text += "; plain HTTP to port 80 may meet the route, and ends where TLS is expected or nothing is"
	}
	return text
}

func has(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

// idleRuleOn is the first route of a VirtualService that a port has no use for, and that is of none elsewhere.
func idleRuleOn(p *lint.Pass, vs *object.Object, kind string, port mesh.Port) (int, bool) {
	for _, i := range p.Mesh.IdleRoutes(vs).On(kind, port.Number) {
		rule := vs.Spec().At(kind, i)
		if kind == "http" && admitsPort80(rule) && arrives(p, vs, rule) {
			continue
		}
		return i, true
	}
	return 0, false
}

// admitsPort80 says whether an http route is for requests on port 80 too, where sidecars that read requests for any host put the
// routes of all others.
func admitsPort80(rule object.Value) bool {
	match := rule.Get("match")
	for _, m := range match.Items() {
		if n := m.Get("port"); !n.Set() || n.Int() == 80 {
			return true
		}
	}
	return match.Len() == 0
}

// arrives says whether a request that meets an http route on port 80 may get an answer: not if all destinations are ports to which
// clients bring TLS and for which Envoy starts none, or ports that are not there.
func arrives(p *lint.Pass, vs *object.Object, rule object.Value) bool {
	ix := p.Mesh
	routes := rule.Get("route")
	for _, r := range routes.Items() {
		d := r.Get("destination")
		host := mesh.QualifyHost(d.Get("host").Str(), mesh.NamespaceOf(vs), ix.Settings().ClusterDomain)
		if len(ix.Targets(host)) == 0 {
			return true
		}
		port := uint32(d.At("port", "number").Int())
		if port == 0 {
			port = 80 // the host has no service there of which Istio would take the only port
		}
		to := destination{mesh.NamespaceOf(vs), host, port, d.Get("subset").Str()}
		if lint.Memo(p, to, func() answer { return answer(answers(ix, to)) }) {
			return true
		}
	}
	return routes.Len() == 0
}

// destination is where clients of a namespace are led by a route.
type destination struct {
	namespace string
	host      mesh.Host
	port      uint32
	subset    string
}

// answer says whether requests to a destination may get one.
type answer bool

func answers(ix *mesh.Index, to destination) bool {
	c := effective.ClusterAlone(ix, effective.Proxy{Type: effective.Sidecar, Namespace: to.namespace}, to.host, to.port, to.subset)
	if c == nil || c.Absent != "" {
		return false
	}
	state := c.TLS().State
	return !c.Port.IsTLS() || state != effective.ClientTLS && state != effective.InPlaintext
}

// meetsClients says whether clients in some namespace see both a ServiceEntry and a VirtualService.
func meetsClients(ix *mesh.Index, t *mesh.Target, vs *object.Object) bool {
	sees := func(ns string) bool { return ix.Sees(t, ns) && ix.SeesVirtualService(vs, ns) }
	return sees(mesh.NamespaceOf(vs)) || slices.ContainsFunc(ix.ClientNamespaces(t), sees)
}
