# METADATA
# title: The server name that a client claims decides where it gets
# description: |-
#   A port of protocol TLS or HTTPS whose destination hangs on the client's word: with resolution DYNAMIC_DNS, or with NONE for a wildcard host.
#   Or the reverse: one whose ServiceEntry has an address, so that the server name is not looked at.
#
#   SNI is what the client writes into its first bytes. With DYNAMIC_DNS Envoy looks up that name and connects there. With NONE it compares
#   the name with the pattern and forwards to the address that was dialled, whichever that is, so that such a name opens every address
#   on the port, also where outboundTrafficPolicy is REGISTRY_ONLY. With an address of its own the entry has a listener on it that
#   takes every connection, whatever name it bears. Envoy sees no certificate in any of these cases. A wildcard under a domain that others can
#   register names in, or a store for anybody's files, is a way out of the mesh.
#
#   Ranges among the addresses keep NONE to them and leave the comparison in place; addresses that istiod gives are none of the
#   author's doing; and a VirtualService with tls routes for the host decides instead. None of these is reported.
# related_resources:
# - https://www.envoyproxy.io/docs/envoy/latest/configuration/listeners/network_filters/sni_dynamic_forward_proxy_filter
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery#original-destination
# - https://istio.io/latest/docs/tasks/traffic-management/egress/wildcard-egress-hosts/
# custom:
#   id: SE106
#   category: service-entry
#   severity: info
#   presets: [strict]
#   kinds: [ServiceEntry]
#   sidecarOnly: true
#   when:
#   - all:
#     - {path: spec.resolution, values: [DYNAMIC_DNS, NONE], absent: true}
#   - all:
#     - {path: "spec.addresses[*]"}
#   remedy: |-
#     List the names that are needed, with resolution DNS and without addresses. Where it has to be a wildcard, lead it through an egress
#     gateway, and let a firewall behind that decide about addresses.
#   fix: none
#   proof: {kind: envoy, text: "the filter chain has server_names and sni_dynamic_forward_proxy, or server_names and an ORIGINAL_DST cluster, or no server_names at all"}
#   observe:
#     stats: [upstream_cx_total]
#     configDump: "istioctl proxy-config listener POD --port PORT -o json shows serverNames, and sni_dynamic_forward_proxy where that is used"
package meshvet.sni_decides_destination

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

entry := mesh.entry()

names := [h.name | some h in entry.hosts]

wildcards := [h.name | some h in entry.hosts; h.wildcard]

# Addresses that istiod gives are none of the author's doing, and it gives none beside those of the entry's own.
own := [a | some a in entry.addresses; count([x | some x in spec.addresses]) > 0]

single := [a | some a in own; not contains(a, "/")]

ports := [p.number | some p in entry.ports; p.tls; not refused(p)]

# With DYNAMIC_DNS Istio takes no HTTPS.
refused(p) if {
	entry.resolution == "DYNAMIC_DNS"
	p.protocol != "TLS"
}

# NONE takes no endpoints.
refused(_) if {
	entry.resolution == "NONE"
	entry.endpoints > 0
}

numbered := sprintf("port %d", [ports[0]]) if {
	count(ports) == 1
} else := sprintf("ports %s", [hosts.listed([format_int(n, 10) | some n in ports])])

routed if {
	some name in names
	some vs in mesh.host(name).virtual_services
	"tls" in vs.sections
}

applies if {
	entry.external
	count(ports) > 0
	not entry.hidden
	not routed
}

subject(all) := {"hosts": all, "ports": ports}

findings contains result.with_more(
	result.at(["spec", "resolution"], sprintf("resolution DYNAMIC_DNS lets the client's SNI decide where connections to %s go (%s)", [hosts.listed(wildcards), numbered])),
	{
		"effect": sprintf("Envoy's sni_dynamic_forward_proxy looks up the name that the client puts into SNI, if only it ends in %s, and connects to it; no certificate is checked on the way", [trim_prefix(wildcards[0], "*")]),
		"subject": subject(wildcards),
	},
) if {
	entry.resolution == "DYNAMIC_DNS"
	applies
}

findings contains result.with_more(
	result.at(["spec", "resolution"], sprintf("resolution NONE lets a client reach any address on %s with an SNI under %s", [numbered, hosts.listed(wildcards)])),
	{
		"effect": "Envoy's filter chain compares SNI with server_names and forwards to the address that the client dialled (cluster type ORIGINAL_DST), whoever has it; outboundTrafficPolicy REGISTRY_ONLY does not stop it",
		"subject": subject(wildcards),
	},
) if {
	entry.resolution == "NONE"
	count(wildcards) > 0
	count(own) == 0
	applies
}

findings contains result.with_more(
	result.at(["spec", "addresses"], sprintf("with addresses of its own, %s of %s takes connections whatever server name is in SNI", [numbered, hosts.listed(names)])),
	{
		"effect": sprintf("Envoy's listener %s_%d has a filter chain without server_names: all that is dialled there goes to cluster outbound|%d||%s", [single[0], ports[0], ports[0], sort(names)[0]]),
		"subject": subject(names),
	},
) if {
	entry.resolution != "DYNAMIC_DNS"
	applies
}
