package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "SE119",
		Name:     "plaintext-egress",
		Title:    "Requests leave the mesh in plaintext",
		Category: lint.CategoryTLS,
		Severity: lint.Info,
		Security: true,
		Presets:  []string{"strict"},
		Kinds:    []object.Kind{object.ServiceEntry},
		// A route may lead the requests to a port with TLS.
		Needs: []object.Kind{object.DestinationRule, object.VirtualService},
		Summary: "A port of protocol HTTP, HTTP2 or GRPC of a host outside the mesh, for which no DestinationRule has Envoy start TLS for any " +
			"client.",
		Why: "Between workloads of the mesh Istio encrypts by itself; towards a host outside it sends on what the client sent. Envoy's " +
			"cluster has no transport_socket, so whoever is on the way reads and changes requests and answers, credentials included, and " +
			"nobody checks who answers.\n\n" +
			"Port 443 of such a protocol is the matter of another rule, and so is a tls block without a mode. A port whose requests a " +
			"VirtualService leads elsewhere, redirects or answers is not reported, nor is one whose endpoints are sockets, loopback addresses " +
			"or names under the cluster domain: nothing leaves the mesh there.",
		Remedy: "Let Envoy start TLS: `targetPort: 443` in the ServiceEntry, and a DestinationRule with tls mode SIMPLE for the host. Or let " +
			"clients bring TLS, on a port of protocol TLS.",
		Proof: lint.Proof{Kind: "changes", Text: "the cluster has no transport_socket, and has one of type tls with the DestinationRule"},
		Observe: lint.Observe{
			Stats:      []string{"upstream_rq_total", "ssl.handshake"},
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST --port PORT -o json shows no transportSocket",
		},
		References: []string{
			"https://istio.io/latest/docs/tasks/traffic-management/egress/egress-tls-origination/",
			"https://istio.io/latest/docs/ops/best-practices/security/",
		},
	},
	Check: func(p *lint.Pass) error {
		t := p.Mesh.Target(p.Object)
		if t == nil || staysHere(p.Mesh, t) {
			return nil
		}
		var groups [][]effective.Port // of hosts with the same ports
		var byHost []effective.Port
		flush := func() {
			if len(byHost) == 0 {
				return
			}
			slices.SortStableFunc(byHost, func(a, b effective.Port) int { return int(a.Number) - int(b.Number) })
			i := slices.IndexFunc(groups, func(g []effective.Port) bool { return slices.Equal(numbersOf(g), numbersOf(byHost)) })
			if i < 0 {
				i, groups = len(groups), append(groups, nil)
			}
			groups[i], byHost = append(groups[i], byHost...), nil
		}
		for _, port := range effective.PlaintextOf(p.Mesh, t) {
			if len(byHost) > 0 && byHost[0].Host != port.Host {
				flush()
			}
			if !isPlain443(t, port) && port.Protocol != "HTTP_PROXY" {
				byHost = append(byHost, port)
			}
		}
		flush()
		for _, g := range groups {
			reportPlaintext(p, g)
		}
		return nil
	},
})

// numbersOf are the numbers of some ports, each once.
func numbersOf(ports []effective.Port) []uint32 {
	var out []uint32
	for _, p := range ports {
		if !slices.Contains(out, p.Number) {
			out = append(out, p.Number)
		}
	}
	return out
}

// reportPlaintext reports the ports of hosts that have the same ones.
func reportPlaintext(p *lint.Pass, ports []effective.Port) {
	first := ports[0]
	var hosts, protocols []string
	extras := []lint.Extra{
		lint.About(lint.SubjectOf(ports)),
		lint.Effect(fmt.Sprintf("Envoy's cluster %s has no transport_socket: requests and answers cross the network unencrypted, and nobody checks who answers",
			effective.ClusterName(first.Number, "", first.Host))),
	}
	for _, port := range ports {
		if port.Host == first.Host && port.Number != first.Number {
			extras = append(extras, lint.Also(p.Object, port.Path.Child("protocol"), fmt.Sprintf("port %d is one of them", port.Number)))
		}
		if !slices.Contains(hosts, string(port.Host)) {
			hosts = append(hosts, string(port.Host))
		}
		if !slices.Contains(protocols, port.Protocol) {
			protocols = append(protocols, port.Protocol)
		}
	}
	p.Report(first.Path.Child("protocol"),
		fmt.Sprintf("requests to %s (%s) of %s leave the mesh in plaintext, since no DestinationRule starts TLS there",
			lint.PortList(numbersOf(ports)), strings.Join(protocols, ", "), upToThree(hosts)),
		extras...)
}

// isPlain443 says whether that a port carries plaintext is SE110's to tell: it is 443 and leads to 443.
func isPlain443(t *mesh.Target, port effective.Port) bool {
	dials, known := t.Dials(port.Port)
	return port.Number == 443 && (!known || slices.Contains(dials, 443))
}

// staysHere says whether all endpoints of a ServiceEntry are beside the proxy or in the cluster.
func staysHere(ix *mesh.Index, t *mesh.Target) bool {
	for _, e := range t.Endpoints().Items() {
		address := e.Get("address").Str()
		ip, err := netip.ParseAddr(address)
		if !strings.HasPrefix(address, "unix:") && !(err == nil && ip.IsLoopback()) && !ix.Settings().InCluster(mesh.Host(address)) {
			return false
		}
	}
	return t.Endpoints().Len() > 0
}

// upToThree lists up to three names, or two and the number of the others.
func upToThree(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:2], ", "), len(names)-2)
}
