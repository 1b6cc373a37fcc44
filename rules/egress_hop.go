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
			"TLS through, SIMPLE to servers that ask for a certificate, any TLS to servers that read plain HTTP, an sni of another mode that none has, " +
			"or subjectAltNames that no certificate of the mesh bears. Or one for the external host whose TLS is for the gateway, and which the " +
			"gateway does not get.",
		Why: "Traffic that leaves through an egress gateway takes two hops, and each has a DestinationRule: the one for the gateway's Service is for " +
			"the hop from the sidecar to the gateway, the one for the external host for the hop from there. On the first the sidecar's TLS has to " +
			"fit the servers of the Gateway. Envoy chooses among them by server name, and closes a connection that asks for a name that none has. " +
			"With ISTIO_MUTUAL and no sni that name is outbound_.PORT_.SUBSET_.HOST, which a server for the external host does not take; it does " +
			"take `*`. TLS that is meant for the external host does not belong on this hop.\n\n" +
			"A Gateway counts if its selector asks for no label but those by which the Service chooses its pods, or, for a Service that is not in " +
			"view, those that Istio's chart gives a gateway of that name. If other Gateways that the pods may have take the connection, nothing is " +
			"reported. Subsets without TLS are fine, and so is SIMPLE to a server that passes through.\n\n" +
			"On the second hop the gateway needs the TLS of the external host's rule, whose exportTo, workloadSelector or namespace may keep it from " +
			"the gateway: then plaintext leaves the mesh. This is reported if an http route of the gateway leads there, no other rule holds for it, " +
			"and none of the clients that get the rule connects to the host itself. It needs to know every DestinationRule and VirtualService.",
		Remedy: "Write sni: the external host beside ISTIO_MUTUAL, or hosts: ['*'] in the Gateway's server. Put TLS for the external host into a " +
			"DestinationRule for that host, and leave TLS out on the way to a server that reads plain HTTP or passes the client's own TLS through. " +
			"Export the rule of the external host to the gateway's namespace, and choose the gateway's pods if it has a workloadSelector.",
		Fix:   lint.Unsafe,
		Proof: lint.Proof{Kind: "changes", Text: "the server name or TLS that the sidecar sends is one that no filter chain of the gateway's listener takes before, and one does after; or the gateway's cluster has no transport_socket before and one after"},
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
		if rule.Host.IsWildcard() {
			return nil
		}
		if !p.Mesh.Settings().InCluster(rule.Host) {
			reportHiddenHop(p, rule)
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
	sure                                         mesh.Server
	plain, tls, passesThrough, wantsCert, inMesh bool // all of them
	names                                        []string
}

// gateOf looks at the servers on a port, nil if it is not sure that the gateway has any of them.
func gateOf(servers []mesh.Server) *gate {
	i := slices.IndexFunc(servers, func(s mesh.Server) bool { return s.Sure })
	if i < 0 {
		return nil
	}
	g := &gate{sure: servers[i], plain: true, tls: true, passesThrough: true, wantsCert: true, inMesh: true}
	for _, s := range servers {
		g.plain = g.plain && s.ReadsPlainHTTP()
		g.tls = g.tls && s.IsTLS()
		g.passesThrough = g.passesThrough && s.IsTLS() && s.Mode == "PASSTHROUGH"
		g.wantsCert = g.wantsCert && s.IsTLS() && (s.Mode == "MUTUAL" || s.Mode == "ISTIO_MUTUAL")
		g.inMesh = g.inMesh && s.IsTLS() && s.Mode == "ISTIO_MUTUAL"
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

// namesFault says whether the sidecar asks for names that no certificate of the mesh bears, nil if not.
func namesFault(f *hopFault, tls object.Value, g *gate) *hopFault {
	names := tls.Get("subjectAltNames").Strings()
	if tls.Get("mode").Str() != "ISTIO_MUTUAL" || !g.inMesh || len(names) == 0 {
		return nil
	}
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "spiffe://") }) {
		return nil
	}
	f.at = "subjectAltNames"
	f.message = fmt.Sprintf("the certificate of the gateway is to bear %s, and Gateway %s shows that of its pod on port %d (ISTIO_MUTUAL)",
		someOf(names), f.server.Gateway.Name, f.port)
	f.effect = "certificates that Istio gives to pods bear a spiffe:// name only, so none fits match_subject_alt_names, and every handshake on this hop fails"
	return f
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
	case !g.tls || mode != "ISTIO_MUTUAL" && sni == "":
		return nil // without sni SIMPLE and MUTUAL send the name that the request is for
	}
	asked := cmp.Or(sni, fmt.Sprintf("outbound_.%d_.%s_.%s", port, l.Subset, host))
	if g.takes(asked) {
		return namesFault(f, tls, g)
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

// maxHiddenWays bounds how many ways of clients are followed for a rule.
const maxHiddenWays = 1000

// hiddenHop is a connection that a gateway opens without the rule that has TLS for it.
type hiddenHop struct {
	hop  *effective.Hop
	port uint32
}

// reportHiddenHop reports TLS for a host outside the mesh that only a gateway connects to, and that the gateway does not get.
func reportHiddenHop(p *lint.Pass, r *mesh.DestinationRule) {
	if overwritten(p) || !p.Mesh.LeadElsewhere(r.Host) || !p.Mesh.HasGatewayRoute(r.Host) || offersInVain(p.Mesh, r) {
		return
	}
	budget := maxHiddenWays
	for _, l := range p.Levels() {
		if l.Shadowed || ofSubset(l) || !originates(l.Policy.Get("tls")) {
			continue
		}
		h := hiddenHopOf(p.Mesh, r, l, &budget)
		if budget < 0 {
			p.Skip("the rule has more clients and ports than are looked at")
			return
		}
		if h == nil {
			continue
		}
		if !p.Mesh.Complete(object.DestinationRule) || !p.Mesh.Complete(object.VirtualService) {
			p.Skip("whether a gateway gets TLS for the host from another rule needs to know every DestinationRule and VirtualService of the mesh")
			return
		}
		reportHiddenAt(p, r, l, h)
		return
	}
}

// originates says whether a gateway starts the TLS that a block asks for.
func originates(tls object.Value) bool {
	switch tls.Get("mode").Str() {
	case "SIMPLE":
		return true
	case "MUTUAL":
		return tls.Get("credentialName").Str() != "" || tls.Get("clientCertificate").Str() != "" && tls.Get("privateKey").Str() != ""
	}
	return false
}

// offersInVain says whether a rule is exported to others from a namespace in which they do not look, which MX303 reports.
func offersInVain(ix *mesh.Index, r *mesh.DestinationRule) bool {
	return r.Selector == nil && !atHome(ix, r, ix.Reach(r.Host, r.Namespace())) &&
		slices.ContainsFunc(r.Object.Spec().Get("exportTo").Strings(), func(ns string) bool { return ns != "." && ns != r.Namespace() })
}

// hiddenHopOf finds a gateway that connects to one of a level's ports without the rule, nil if there is none or somebody who gets the
// rule connects to one of them himself. Clients that bring TLS of their own are not whom the rule's TLS is for.
func hiddenHopOf(ix *mesh.Index, r *mesh.DestinationRule, l effective.Level, budget *int) *hiddenHop {
	targets := ix.Targets(r.Host)
	if len(targets) != 1 || ledByLabels(ix, r.Host) {
		return nil // which ports belong to whom, and which pods go where, is another matter
	}
	var found *hiddenHop
	for _, ns := range effective.ClientsOf(ix, r.Object, r.Host, targets[0]).In { // what all namespaces get the gateway's does too
		if r.Selector == nil && slices.Contains(ix.GatewayNamespaces(), ns) {
			return nil // it may be meant for a gateway there
		}
		client := effective.Proxy{Type: effective.Sidecar, Namespace: ns, Labels: r.Selector}
		for _, port := range targets[0].Ports {
			if *budget--; *budget < 0 {
				return nil
			}
			for _, hop := range effective.WayTo(ix, client, r.Host, port.Number) {
				to := hop.Cluster.Port
				if to.Host != r.Host {
					if found == nil {
						found = bareHop(ix, r, l, hop)
					}
					continue
				}
				if covers(l, to.Number) && !(to.IsTLS() && to.ForwardsBytes()) {
					return nil
				}
			}
		}
	}
	return found
}

// ledByLabels says whether routes lead pods with certain labels to a host, wherever they lead others.
func ledByLabels(ix *mesh.Index, host mesh.Host) bool {
	for _, vs := range ix.VirtualServicesTo(host) {
		for _, kind := range []string{"http", "tls", "tcp"} {
			for _, rule := range vs.Spec().Get(kind).Items() {
				for _, m := range rule.Get("match").Items() {
					if m.Get("sourceLabels").Len() > 0 {
						return true
					}
				}
			}
		}
	}
	return false
}

func covers(l effective.Level, port uint32) bool {
	return slices.ContainsFunc(l.Ports, func(p effective.Port) bool { return p.Number == port })
}

// bareHop is the hop behind one that a gateway opens to a port of a level in plaintext, and for want of the rule.
func bareHop(ix *mesh.Index, r *mesh.DestinationRule, l effective.Level, first *effective.Hop) *hiddenHop {
	for _, hop := range first.Next {
		c := hop.Cluster
		if c.Port.Host != r.Host || !covers(l, c.Port.Number) {
			if h := bareHop(ix, r, l, hop); h != nil {
				return h
			}
			continue
		}
		reads := hop.Route != nil && len(hop.Path) > 1 && hop.Path[1] == "http"
		if reads && readsRequests(ix, first) && c.Absent == "" && c.Panics == "" && c.Rule == nil && c.Subset == "" && c.TLS().State == effective.InPlaintext && isHidden(ix, r, hop, first) {
			return &hiddenHop{hop, c.Port.Number}
		}
	}
	return nil
}

// readsRequests says whether all servers of the gateway at the end of a hop open what comes in, so that their http routes hold.
func readsRequests(ix *mesh.Index, first *effective.Hop) bool {
	servers := ix.ServersFor(first.Cluster.Port.Host, first.Cluster.Port.Number)
	sure := slices.ContainsFunc(servers, func(s mesh.Server) bool { return s.Sure })
	return sure && !slices.ContainsFunc(servers, func(s mesh.Server) bool {
		ends := s.Protocol == "HTTPS" && s.Mode != "" && s.Mode != "PASSTHROUGH" && s.Mode != "AUTO_PASSTHROUGH"
		return !s.ReadsPlainHTTP() && !ends
	})
}

// isHidden says whether no pod of a gateway can have the rule, nor another for its labels: of these those are known by which the
// gateway's Service and Gateway choose its pods. first is the hop that leads to the gateway.
func isHidden(ix *mesh.Index, r *mesh.DestinationRule, hop, first *effective.Hop) bool {
	for _, other := range ix.RulesReaching(r.Host) {
		if other.Selector == nil || other.Namespace() != hop.Proxy.Namespace {
			continue
		}
		if first.Assumed != "" || !unlike(other.Selector, hop.Proxy.Labels) {
			return false
		}
	}
	return r.Selector == nil || r.Namespace() != hop.Proxy.Namespace || oneGateway(ix, r.Host)
}

// unlike says whether no pod with these labels fits a selector.
func unlike(selector, labels map[string]string) bool {
	for k, v := range selector {
		if have, has := labels[k]; has && have != v {
			return true
		}
	}
	return false
}

// oneGateway says whether the routes to a host are all of one Gateway. With more than one a rule for pods with certain labels may be
// for those of the other.
func oneGateway(ix *mesh.Index, host mesh.Host) bool {
	names := map[string]bool{}
	for _, vs := range ix.VirtualServicesTo(host) {
		bound := vs.Spec().Get("gateways").Strings()
		for _, kind := range []string{"http", "tls", "tcp"} {
			for _, rule := range vs.Spec().Get(kind).Items() {
				for _, m := range rule.Get("match").Items() {
					bound = append(bound, m.Get("gateways").Strings()...)
				}
			}
		}
		for _, n := range bound {
			if !strings.Contains(n, "/") && n != "mesh" {
				n = mesh.NamespaceOf(vs) + "/" + n
			}
			names[n] = true
		}
	}
	delete(names, "mesh")
	return len(names) == 1
}

func reportHiddenAt(p *lint.Pass, r *mesh.DestinationRule, l effective.Level, h *hiddenHop) {
	gateway := h.hop.Proxy.Namespace
	at := l.Path.Child("tls", "mode")
	var why string
	var fixes []lint.Fix
	export := object.Path{"spec", "exportTo"}
	switch {
	case r.Selector != nil && r.Namespace() == gateway:
		at = object.Path{"spec", "workloadSelector"}
		why = "workloadSelector does not choose the gateway's pods"
	case r.Selector != nil:
		at = object.Path{"spec", "workloadSelector"}
		why = fmt.Sprintf("a rule with a workloadSelector holds in its own namespace only, and the gateway is in %s", gateway)
	case p.Object.Lookup(export).Set() && atHome(p.Mesh, r, p.Mesh.Reach(r.Host, r.Namespace())):
		at = export
		why = fmt.Sprintf("exportTo leaves out namespace %s, in which the gateway is", gateway)
		var to []any
		for _, ns := range p.Object.Lookup(export).Strings() {
			if ns != "~" {
				to = append(to, ns)
			}
		}
		fixes = []lint.Fix{{
			Title: "export it to " + gateway + " too", Safety: lint.Unsafe,
			Ops: []lint.Op{{Kind: lint.Replace, Path: export, Value: append(to, gateway)}},
		}}
	default:
		why = fmt.Sprintf("the rule is for clients in namespace %s only, and the gateway is in %s", r.Namespace(), gateway)
	}
	tls := l.Policy.Get("tls")
	p.Report(at, fmt.Sprintf("TLS of mode %s towards %s is for the gateway, which connects to port %d of it, and %s", tls.Get("mode").Str(), r.Host, h.port, why),
		lint.Effect("the gateway's cluster for the host has no transport_socket: what it reads as a request leaves the mesh in plaintext"),
		suggestAll(fixes),
		lint.Also(h.hop.Route, h.hop.Path, "the gateway's route to the host"),
		lint.About(lint.Subject{Objects: []object.Key{h.hop.Route.Key}, Hosts: []string{string(r.Host)}, Ports: []uint32{h.port}, Blocks: []string{"tls"}}),
	)
}
