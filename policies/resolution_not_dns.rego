# METADATA
# title: Envoy forwards to whatever address the client resolved
# description: |-
#   A ServiceEntry for a concrete DNS name outside the mesh that omits `resolution` or sets it to NONE. An omitted resolution is
#   NONE.
#
#   With NONE Istio compiles a cluster of type ORIGINAL_DST without any address: Envoy sends the bytes on to the IP address that
#   the client dialled. It looks nothing up, so there is no list of addresses to balance over or to eject from, and the host name
#   in SNI or the Host header is only a claim of the client's.
#
#   With DNS the answer of the resolver is the list of endpoints (STRICT_DNS). Measured on Istio 1.30.0, a change of the answer
#   cut no session: a stream of 40 seconds went on to its end while the record was flipped under it, with STRICT_DNS and
#   LOGICAL_DNS, at L4 and at L7.
#
#   NONE is right for wildcard hosts that DYNAMIC_DNS does not suit, and for ranges of addresses; neither is reported.
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
#   remedy: |-
#     Write `resolution: DNS`. Where each DNS answer is only a sample of a large rotating pool, write DNS_ROUND_ROBIN. For fixed
#     addresses list them under `endpoints` and write STATIC.
#   fix: unsafe
#   proof: {kind: changes, text: "the cluster's type goes from ORIGINAL_DST to STRICT_DNS and gains a load_assignment"}
#   observe:
#     stats: [membership_total, membership_change]
#     flags: [UF]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows \"type\": \"ORIGINAL_DST\""
package meshvet.resolution_not_dns

import data.meshvet.lib.address as addresses
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

entry := mesh.entry()

says := "resolution is omitted, which means NONE" if object.get(spec, "resolution", null) == null

says := "resolution is NONE" if spec.resolution == "NONE"

concrete := [h.name | some h in entry.hosts; not h.wildcard; not h.address; contains(h.name, ".")]

wildcards := [h.name | some h in entry.hosts; h.wildcard]

has_range if {
	some address in object.get(spec, "addresses", [])
	addresses.is_range(address)
}

applies if {
	entry.external
	not entry.selector
	not has_range
	count(concrete) > 0
	count(entry.ports) > 0
	not only_in_cluster
}

only_in_cluster if {
	every h in entry.hosts {
		h.in_cluster
	}
}

endpoints := [e | some e in object.get(spec, "endpoints", [])]

addressed_by_ip if {
	count(endpoints) > 0
	every e in endpoints {
		by_address(e.address)
	}
}

by_address(text) if addresses.is_ip(text)

by_address(text) if addresses.is_socket(text)

wanted := "STATIC" if addressed_by_ip

wanted := "DNS" if not addressed_by_ip

fix := result.set(sprintf("set resolution to %s", [wanted]), "unsafe", [{"path": ["spec", "resolution"], "value": wanted}])

subject := {"hosts": concrete, "ports": [p.number | some p in entry.ports]}

# Endpoints beside NONE are refused by Istio's webhook: one finding, with the fix that the endpoints call for.
findings contains result.with_more(
	result.at(
		["spec", "resolution"],
		sprintf("%s for %s, and Istio refuses endpoints without a resolution that uses them", [says, concat(", ", concrete)]),
	),
	{
		"effect": "istiod's webhook rejects the object; where the webhook does not run, Envoy ignores the endpoints and forwards to the address that the client dialled (cluster type ORIGINAL_DST)",
		"fixes": [fix], "subject": subject,
	},
) if {
	applies
	count(endpoints) > 0
}

findings contains result.with_more(
	result.at(
		["spec", "resolution"],
		sprintf("%s for %s", [says, concat(", ", concrete)]),
	),
	{
		"effect": "Envoy forwards to whatever IP address the client dialled (cluster type ORIGINAL_DST): no list of addresses, so no balancing and no outlier detection, and the name in SNI or Host is never checked against the address",
		"fixes": [fix], "subject": subject,
	},
) if {
	applies
	count(endpoints) == 0
	count(wildcards) == 0
}

# A wildcard cannot be looked up, so NONE may be there for its sake; the concrete names pay for it.
findings contains result.with_more(
	result.at(
		["spec", "resolution"],
		sprintf("%s for %s because of the wildcard %s in the same entry; split the entry", [says, concat(", ", concrete), wildcards[0]]),
	),
	{
		"severity": "info",
		"effect": sprintf("Envoy forwards calls to %s to whatever IP address the client dialled (cluster type ORIGINAL_DST), although the name could be looked up", [concat(", ", concrete)]),
		"subject": subject,
	},
) if {
	applies
	count(endpoints) == 0
	count(wildcards) > 0
}
