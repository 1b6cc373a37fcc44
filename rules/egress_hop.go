package rules

import (
	"cmp"
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
		ID:       "MX309",
		Name:     "egress-hop",
		Title:    "TLS towards a gateway that the gateway does not expect",
		Category: lint.CategoryAcross,
		Severity: lint.Error,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.DestinationRule},
		Needs:    []object.Kind{object.Gateway},
		When: []lint.Gate{
			{All: []lint.Condition{{Path: "spec.trafficPolicy.tls.mode", Values: startingModes}}},
			{All: []lint.Condition{{Path: "spec.trafficPolicy.portLevelSettings[*].tls.mode", Values: startingModes}}},
			{All: []lint.Condition{{Path: "spec.subsets[*].trafficPolicy.tls.mode", Values: startingModes}}},
			{All: []lint.Condition{{Path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].tls.mode", Values: startingModes}}},
		},
		SidecarOnly: true,
		Summary: "A DestinationRule for the Service of an egress gateway whose TLS the servers of the Gateway on that port do not take: ISTIO_MUTUAL " +
			"with a server name that none of them has (also the one that Istio makes up where sni is not set), ISTIO_MUTUAL to servers that pass " +
			"TLS through, SIMPLE to servers that ask for a certificate, or any TLS to servers that read plain HTTP.",
		Why: "Traffic that leaves through an egress gateway takes two hops, and each has a DestinationRule: the one for the gateway's Service is for " +
			"the hop from the sidecar to the gateway, the one for the external host for the hop from there. On the first the sidecar's TLS has to " +
			"fit the servers of the Gateway. Envoy chooses among them by server name, and closes a connection that asks for a name that none has. " +
			"With ISTIO_MUTUAL and no sni that name is outbound_.PORT_.SUBSET_.HOST, which a server for the external host does not take; it does " +
			"take `*`. TLS that is meant for the external host does not belong on this hop.\n\n" +
			"A Gateway counts if its selector asks for no label but those by which the Service chooses its pods, or, for a Service that is not in " +
			"view, those that Istio's chart gives a gateway of that name. If other Gateways that the pods may have take the connection, nothing is " +
			"reported. Subsets without TLS are fine, and so is SIMPLE to a server that passes through.",
		Remedy: "Write sni: the external host beside ISTIO_MUTUAL, or hosts: ['*'] in the Gateway's server. Put TLS for the external host into a " +
			"DestinationRule for that host, and leave TLS out on the way to a server that reads plain HTTP or passes the client's own TLS through.",
		Fix:   lint.Unsafe,
		Proof: lint.Proof{Kind: "changes", Text: "the server name or TLS that the sidecar sends is one that no filter chain of the gateway's listener takes before, and one does after"},
		Observe: lint.Observe{
			Stats:      []string{"ssl.connection_error", "upstream_cx_connect_fail"},
			Flags:      []string{"UF"},
			ConfigDump: "istioctl proxy-config listener GATEWAY_POD -o json shows the server_names of each filter chain, istioctl proxy-config cluster POD -o json the sni of the sidecar's transport_socket",
		},
		References: []string{
			"https://istio.io/latest/docs/tasks/traffic-management/egress/egress-gateway/",
			"https://istio.io/latest/docs/reference/config/networking/gateway/#ServerTLSSettings-TLSmode",
		},
	},
	Check: func(p *lint.Pass) error {
		rule := p.Mesh.Rule(p.Object)
		if rule.Host.IsWildcard() || !p.Mesh.Settings().InCluster(rule.Host) {
			return nil
		}
		levels := p.Levels()
		gates := map[uint32]*gate{} // by port, since many subsets may be for one
		subsetsOwn := slices.ContainsFunc(levels, func(l effective.Level) bool { return ofSubset(l) && l.Policy.Get("tls").Set() })
		for _, l := range levels {
			if mode := l.Policy.At("tls", "mode").Str(); l.Shadowed || !slices.Contains(startingModes, any(mode)) {
				continue
			}
			if subsetsOwn && !ofSubset(l) {
				continue // who routes to the subsets does not meet it
			}
			reportHop(p, rule.Host, l, gates)
		}
		return nil
	},
})

// startingModes are the modes of tls with which Envoy starts a handshake.
var startingModes = []any{"SIMPLE", "MUTUAL", "ISTIO_MUTUAL"}

func ofSubset(l effective.Level) bool {
	return l.Kind == effective.SubsetLevel || l.Kind == effective.SubsetEntry
}

// gate is what the servers on one port of a gateway have in common.
type gate struct {
	sure                                 mesh.Server
	plain, tls, passesThrough, wantsCert bool // all of them
	names                                []string
}

// gateOf looks at the servers on a port, nil if it is not sure that the gateway has any of them.
func gateOf(servers []mesh.Server) *gate {
	i := slices.IndexFunc(servers, func(s mesh.Server) bool { return s.Sure })
	if i < 0 {
		return nil
	}
	g := &gate{sure: servers[i], plain: true, tls: true, passesThrough: true, wantsCert: true}
	for _, s := range servers {
		g.plain = g.plain && s.ReadsPlainHTTP()
		g.tls = g.tls && s.IsTLS()
		g.passesThrough = g.passesThrough && s.IsTLS() && s.Mode == "PASSTHROUGH"
		g.wantsCert = g.wantsCert && s.IsTLS() && (s.Mode == "MUTUAL" || s.Mode == "ISTIO_MUTUAL")
		for _, n := range s.Names {
			g.names = append(g.names, string(n))
		}
	}
	slices.Sort(g.names)
	g.names = slices.Compact(g.names)
	return g
}

// takes says whether a server is for a name that a client asks for.
func (g *gate) takes(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(g.names, func(n string) bool { return mesh.Host(strings.ToLower(n)).Covers(mesh.Host(name)) })
}

// hopFault is why a gateway does not take the TLS of a hop.
type hopFault struct {
	port            uint32
	at              string // the field of tls
	message, effect string
	server          mesh.Server
	fixes           []lint.Fix
}

// reportHop reports a level whose TLS no server takes, on any port that the level is for and the Gateways have.
func reportHop(p *lint.Pass, host mesh.Host, l effective.Level, gates map[uint32]*gate) {
	var found *hopFault
	for _, port := range hopPorts(p, host, l) {
		if _, have := gates[port]; !have {
			gates[port] = gateOf(p.Mesh.ServersFor(host, port))
		}
		if gates[port] == nil {
			continue
		}
		fault := faultOfHop(host, l, port, gates[port])
		if fault == nil {
			return
		}
		if found == nil {
			found = fault
		}
	}
	if found == nil {
		return
	}
	p.Report(l.Path.Child("tls", found.at), found.message,
		lint.Effect(found.effect), suggestAll(found.fixes),
		lint.Also(found.server.Gateway, found.server.Path, "the server"),
		lint.About(lint.Subject{Objects: []object.Key{found.server.Gateway.Key}, Hosts: []string{string(host)}, Ports: []uint32{found.port}, Blocks: []string{"tls"}}),
	)
}

// hopPorts lists the ports that a level is for. Of a Service that is not in view these are the ones that routes name.
func hopPorts(p *lint.Pass, host mesh.Host, l effective.Level) []uint32 {
	var out []uint32
	switch {
	case p.Reach().Known():
		for _, port := range l.Ports {
			out = append(out, port.Number)
		}
	case l.Kind == effective.PortEntry || l.Kind == effective.SubsetEntry:
		out = append(out, l.Port)
	default:
		for _, port := range p.Mesh.RoutedPorts(host, l.Subset) {
			if effective.EntryFor(l.Policy, port) < 0 {
				out = append(out, port)
			}
		}
	}
	return out
}

// faultOfHop says what is wrong with the TLS of a level for a port, nil if nothing is for sure.
func faultOfHop(host mesh.Host, l effective.Level, port uint32, g *gate) *hopFault {
	tls := l.Policy.Get("tls")
	mode, sni := tls.Get("mode").Str(), tls.Get("sni").Str()
	f := &hopFault{port: port, at: "mode", server: g.sure}
	on := "Gateway " + g.sure.Gateway.Name
	switch {
	case g.plain:
		f.message = fmt.Sprintf("%s starts TLS, and %s reads plain %s on port %d", mode, on, g.sure.Protocol, port)
		f.effect = "the gateway's listener has no TLS (transport_socket) and gets a handshake instead of a request: every call on this hop fails"
		return f
	case mode == "ISTIO_MUTUAL" && g.passesThrough:
		f.message = fmt.Sprintf("ISTIO_MUTUAL wraps what is sent into TLS of the mesh, and %s passes TLS on unopened on port %d (PASSTHROUGH)", on, port)
		f.effect = "the gateway forwards the bytes (tcp_proxy), so the handshake with the mesh's certificates reaches the external host, or no filter chain for its server name"
		return f
	case mode == "SIMPLE" && g.wantsCert:
		f.message = fmt.Sprintf("SIMPLE shows no certificate, and %s asks for one on port %d (%s)", on, port, g.sure.Mode)
		f.effect = "the gateway's listener has require_client_certificate: true, and every handshake on this hop fails"
		return f
	case mode != "ISTIO_MUTUAL" || !g.tls:
		return nil
	}
	asked := cmp.Or(sni, fmt.Sprintf("outbound_.%d_.%s_.%s", port, l.Subset, host))
	if g.takes(asked) {
		return nil
	}
	f.effect = "no filter chain of the gateway's listener has the name among its server_names, so it closes every connection of this hop"
	if sni != "" {
		f.at = "sni"
		f.message = fmt.Sprintf("the server name %s is sent, and %s takes only %s on port %d", sni, on, someOf(g.names), port)
	} else {
		f.message = fmt.Sprintf("ISTIO_MUTUAL without sni sends the server name %s, and %s takes only %s on port %d", asked, on, someOf(g.names), port)
	}
	if len(g.names) == 1 && !mesh.Host(g.names[0]).IsWildcard() {
		op := lint.Op{Kind: lint.Add, Path: l.Path.Child("tls", "sni"), Value: g.names[0]}
		if tls.Get("sni").Exists() {
			op.Kind = lint.Replace
		}
		f.fixes = []lint.Fix{{Title: "write sni: " + g.names[0], Safety: lint.Unsafe, Ops: []lint.Op{op}}}
	}
	return f
}
