# METADATA
# title: Envoy forwards to whatever address the client resolved
# description: |-
#   A ServiceEntry for a concrete DNS name outside the mesh that omits `resolution` or sets it to NONE. An omitted resolution is
#   NONE. Endpoints beside NONE, which Istio refuses, are an error of the same cause; beside a wildcard host, for whose sake NONE may
#   be there, it is a note at level info.
#
#   With NONE Istio compiles a cluster of type ORIGINAL_DST without any address: Envoy sends the bytes on to the IP address that
#   the client dialled. It looks nothing up, so there is no list of addresses to balance over or to eject from, and the host name
#   in SNI or the Host header is only a claim of the client's.
#
#   With DNS the answer of the resolver is the list of endpoints (STRICT_DNS). Measured on Istio 1.30.0, a change of the answer
#   cut no session: a stream of 40 seconds went on to its end while the record was flipped under it, with STRICT_DNS and
#   LOGICAL_DNS, at L4 and at L7.
#
#   NONE is right for wildcard hosts that DYNAMIC_DNS does not suit, and for ranges of addresses; neither is reported, nor is an
#   entry that `exportTo: ["~"]` hides from everybody.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry-Resolution
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery#original-destination
# custom:
#   id: SE101
#   category: service-entry
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   when:
#   - all:
#     - {path: spec.resolution, values: [NONE], absent: true}
#     - {path: spec.ports}
#   facts: [plain-host]
#   remedy: |-
#     Write `resolution: DNS`. Where each DNS answer is only a sample of a large rotating pool, write DNS_ROUND_ROBIN. For fixed
#     addresses list them under `endpoints` and write STATIC.
#   supersedes:
#   - {rule: MV907, scope: path}
#   fix: unsafe
#   proof: {kind: changes, text: "the cluster's type goes from ORIGINAL_DST to STRICT_DNS and gains a load_assignment"}
#   observe:
#     stats: [membership_total, membership_change]
#     flags: [UF]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows \"type\": \"ORIGINAL_DST\""
package meshvet.resolution_not_dns

import data.meshvet.lib.address
import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

entry := mesh.entry()

says := "resolution is NONE" if {
	spec.resolution == "NONE"
} else := "resolution is omitted, which means NONE"

# The names that Envoy could look up. Names of the mesh itself are not for a rule about what lies outside it.
concrete := [h.name | some h in entry.hosts; not h.wildcard; not h.address; not h.in_cluster; looks_like_name(h.name)]

# What is no name, such as a URL or a star in the middle, Istio refuses, and DNS would not help it.
looks_like_name(text) if {
	contains(text, ".")
	regex.match(`^[A-Za-z0-9_.-]+$`, text)
}

outside := [h.name | some h in entry.hosts; not h.in_cluster]

wildcards := hosts.wildcards(outside)

endpoints := [e | some e in spec.endpoints]

has_range if {
	some a in spec.addresses
	address.is_range(a)
}

applies if {
	object.get(input.object, ["spec", "resolution"], null) in {null, "NONE"}
	entry.external
	not entry.selector
	some port in entry.ports
	port.family != "none"
}

forwards if {
	applies
	not entry.hidden
	count(endpoints) == 0
	not has_range
	count(concrete) > 0
}

on_host_only if {
	every e in endpoints {
		by_address(e.address)
	}
}

by_address(text) if address.is_ip(text)

by_address(text) if address.is_socket(text)

some_socket if {
	some e in endpoints
	address.is_socket(e.address)
}

set_to(resolution) := result.set(
	sprintf("set resolution to %s", [resolution]), "unsafe",
	array.concat([{"path": ["spec", "resolution"], "value": resolution}], [s | some s in lone_addresses; resolution == "DNS"]),
)

# DNS takes no address in the form of a range, not even of a range that holds one.
lone_addresses := [{"path": ["spec", "addresses", i], "value": split(a, "/")[0]} |
	some i, a in spec.addresses
	is_string(a)
	net.cidr_is_valid(a)
	not address.is_range(a)
]

# DNS takes neither sockets among the endpoints nor ranges among the addresses.
fixes_beside_endpoints := [set_to("STATIC")] if {
	on_host_only
} else := [] if {
	some_socket
} else := [] if {
	has_range
} else := [set_to("DNS")]

subject(names) := {"hosts": names, "ports": [p.number | some p in entry.ports]}

# Istio's webhook refuses endpoints beside NONE, whatever the hosts: one finding, with the fix that the endpoints call for.
findings contains result.with_more(
	result.at(
		["spec", "resolution"],
		sprintf("%s for %s, and Istio refuses endpoints without a resolution that uses them", [says, hosts.listed(outside)]),
	),
	{
		"severity": "error",
		"effect": "istiod's webhook rejects the object; where the webhook does not run, Istio takes the endpoints for addresses that clients dial, and Envoy still forwards to what was dialled (cluster type ORIGINAL_DST)",
		"related": [result.also(["spec", "endpoints"], "the endpoints are listed here")],
		"fixes": fixes_beside_endpoints, "subject": subject(outside),
	},
) if {
	applies
	count(endpoints) > 0
	count(outside) > 0
}

findings contains result.with_more(
	result.at(
		["spec", "resolution"],
		sprintf("%s for %s", [says, hosts.listed(concrete)]),
	),
	{
		"effect": "Envoy forwards to whatever IP address the client dialled (cluster type ORIGINAL_DST): no list of addresses, so no balancing and no outlier detection, and the name in SNI or Host is never checked against the address",
		"fixes": [set_to("DNS")], "subject": subject(concrete),
	},
) if {
	forwards
	count(wildcards) == 0
}

# A wildcard cannot be looked up, so NONE may be there for its sake; the concrete names pay for it.
findings contains result.with_more(
	result.at(
		["spec", "resolution"],
		sprintf("%s for %s because of the wildcard %s in the same entry; split the entry", [says, hosts.listed(concrete), wildcards[0]]),
	),
	{
		"severity": "info",
		"effect": sprintf("Envoy forwards calls to %s to whatever IP address the client dialled (cluster type ORIGINAL_DST), although the name could be looked up", [hosts.listed(concrete)]),
		"subject": subject(concrete),
	},
) if {
	forwards
	count(wildcards) > 0
}
