# METADATA
# title: A fixed address under a name that DNS does not know
# description: |-
#   A ServiceEntry of resolution STATIC, without addresses of its own, for a name that public DNS never has: one under a reserved top-level
#   domain such as .internal, .test or .local, or under one that private networks have made their own, such as .lan or .corp.
#
#   STATIC tells Envoy where to connect to, not the client. An application looks the name up before it connects, and if nobody answers
#   it gives up without Envoy having seen anything. The proxy can answer: with DNS capture, for names to which istiod has allocated an
#   address. That is not the default.
#
#   Whether a DNS server of the company knows the name no manifest shows, which is why this is an info. An entry with `addresses`
#   is reached by these, one to which a route leads by the name that the client asks for, and one with an allocated address by that.
#   Wildcards are not judged, nor are names under the cluster domain and names without a dot, nor entries whose
#   endpoints are sockets or loopback addresses, which serve the proxy itself.
# related_resources:
# - https://istio.io/latest/docs/ops/configuration/traffic-management/dns-proxy/
# - https://www.iana.org/assignments/special-use-domain-names/special-use-domain-names.xhtml
# custom:
#   id: SE120
#   category: service-entry
#   severity: info
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   sidecarOnly: true
#   when:
#   - all:
#     - {path: spec.resolution, values: [STATIC]}
#     - {path: "spec.addresses[*]", absent: true}
#   remedy: |-
#     Switch on DNS capture and address auto-allocation, and say so under `istio` in .meshvet.yaml; or give the entry an address and let
#     clients use that; or put the name into the DNS that clients ask.
#   fix: none
#   proof: {kind: envoy, text: "cluster and endpoints are there whatever DNS says; a lookup is the client's, and only a proxy with DNS capture answers it"}
#   observe:
#     stats: [upstream_cx_total]
#     configDump: "istioctl proxy-config endpoint POD lists the endpoints, and their cluster's upstream_cx_total stays 0; the application logs that the host is unknown"
package meshvet.static_name_needs_dns_capture

import data.meshvet.lib.address
import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

# Reserved by IANA and ICANN for uses beside public DNS (RFC 2606, 6761, 6762, 8375; .internal in 2024), and those that are
# not delegated because private networks use them.
reserved := {"corp", "example", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain", "private", "test"}

entry := mesh.entry()

domain(name) := "home.arpa" if {
	endswith(lower(name), ".home.arpa")
} else := last if {
	labels := split(lower(name), ".")
	count(labels) > 1
	last := labels[count(labels) - 1]
	last in reserved
}

carried := [p.number | not entry.hidden; some p in entry.ports; p.family != "none"]

looked_up := [h.name |
	some h in entry.hosts
	not h.wildcard
	not h.in_cluster
	not h.allocated
	not h.destination
]

unknown := [name | not for_envoy; some name in looked_up; domain(name)]

endpoints := [e | some e in input.object.spec.endpoints]

# What listens beside the proxy serves the proxy itself, such as an authorization service: no client looks for it.
for_envoy if {
	count(endpoints) > 0
	every e in endpoints {
		beside(e.address)
	}
}

beside(text) if address.is_socket(text)

beside(text) if {
	address.is_ip(text)
	startswith(text, "127.")
}

beside("::1")

domains := sort({sprintf(".%s", [domain(name)]) | some name in unknown})

first(list) := min([i | some i, h in input.object.spec.hosts; h == list[0]])

findings contains result.with_more(
	result.at(
		["spec", "hosts", first(unknown)],
		sprintf("resolution is STATIC for %s, and public DNS has no names under %s", [hosts.listed(unknown), hosts.listed(domains)]),
	),
	{
		"effect": "a client's lookup of the name fails before Envoy sees a connection, unless its proxy answers DNS (ISTIO_META_DNS_CAPTURE) with an address that istiod allocated, or a DNS server of your own knows the name",
		"related": [result.also(["spec", "resolution"], "STATIC is set here")],
		"subject": {"hosts": unknown, "ports": carried},
	},
) if {
	input.object.spec.resolution == "STATIC"
	count(object.get(input.object.spec, "addresses", [])) == 0
	count(carried) > 0
}
