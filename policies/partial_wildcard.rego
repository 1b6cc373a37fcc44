# METADATA
# title: A wildcard that Envoy takes in no server name
# description: |-
#   A host such as `*-eu.example.com`, whose star does not stand for whole labels, on a port of protocol TLS or HTTPS.
#
#   On such ports Istio writes the host into the server_names of a filter chain, as it is. Envoy takes `*.` and a name there and nothing
#   else with a star, and refuses the whole listener of the port, which is that of every other host on it too. A sidecar that runs
#   goes on with the listener it had; one that starts does not become ready, and this in each namespace that sees the entry. Istio's
#   webhook only warns.
#
#   Not reported are ports of HTTP, since a virtual host takes such a domain; entries with an address of their own, whose
#   listener does not compare names; and hosts for which a VirtualService has tls routes, since the names are those of the routes.
# related_resources:
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/listener/v3/listener_components.proto#config-listener-v3-filterchainmatch
# custom:
#   id: SE123
#   category: service-entry
#   severity: error
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   sidecarOnly: true
#   facts: [partial-wildcard]
#   remedy: |-
#     List the names one by one, or write the wildcard of the whole domain, such as *.example.com, if all of it may be reached.
#   fix: none
#   proof: {kind: envoy, text: "the filter chain of the port has the host in server_names, as it is written"}
#   observe:
#     stats: [listener_manager.lds.update_rejected]
#     configDump: "istioctl proxy-status shows LDS as stale or with an error; the log of istio-proxy says: partial wildcards are not supported in \"server_names\""
package meshvet.partial_wildcard

import data.meshvet.lib.result
import rego.v1

entry := mesh.entry()

index(h) := min([i | some i, name in input.object.spec.hosts; name == h.name])

ports := [p | some p in entry.ports; p.tls]

# An address of the entry's own has a listener to itself, where no name is compared; a range has none.
addressed if {
	some a in input.object.spec.addresses
	is_string(a)
	not contains(a, "/")
}

routed(h) if {
	some vs in mesh.host(h.name).virtual_services
	"tls" in vs.sections
}

listener := sprintf("the listener of port %d", [ports[0].number]) if {
	count(ports) == 1
} else := sprintf("each listener of ports %s", [concat(", ", [format_int(p.number, 10) | some p in ports])])

findings contains result.with_more(
	result.at(
		["spec", "hosts", index(h)],
		sprintf("host %s is a wildcard within a label, which Envoy does not take as a server name (port %d, protocol %s)", [h.name, ports[0].number, ports[0].protocol]),
	),
	{
		"effect": sprintf("Envoy refuses %s, with all other hosts that are on it (partial wildcards are not supported in \"server_names\"): a running sidecar keeps what it had, and a new one does not become ready", [listener]),
		"subject": {"hosts": [h.name], "ports": [p.number | some p in ports]},
	},
) if {
	not entry.hidden
	count(ports) > 0
	not addressed
	some h in entry.hosts
	startswith(h.name, "*")
	h.name != "*"
	not startswith(h.name, "*.")
	not routed(h)
}
