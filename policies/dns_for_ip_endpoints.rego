# METADATA
# title: Resolution DNS for endpoints that are addresses
# description: |-
#   A ServiceEntry with resolution DNS or DNS_ROUND_ROBIN whose endpoints are all IP addresses.
#
#   With these resolutions Envoy looks up the endpoints (STRICT_DNS, LOGICAL_DNS). An address has nothing to be looked up: the list
#   never changes, whatever the resolver says of the host, and no rise of `membership_change` will ever tell of a failover. With STATIC Istio
#   compiles the same addresses into an EDS cluster, and the manifest says what is the case. If the addresses were written down to get
#   around the resolver, nothing is to be done but that; if they stand for a name, the name is what Envoy should be given.
#
#   An entry of which one endpoint has a name needs DNS and is not reported. Neither is one whose host another ServiceEntry of the
#   namespace has too, since Istio puts the endpoints of both together, nor one that `exportTo: ["~"]` hides from everybody.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry-Resolution
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery
# custom:
#   id: SE108
#   category: service-entry
#   severity: info
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   when:
#   - all:
#     - {path: spec.resolution, values: [DNS, DNS_ROUND_ROBIN]}
#     - {path: "spec.endpoints[*].address"}
#   remedy: |-
#     Write resolution STATIC, or write names as the addresses of the endpoints. Without `endpoints` Envoy looks up the host itself.
#   fix: unsafe
#   proof: {kind: changes, text: "the type of the cluster goes from STRICT_DNS or LOGICAL_DNS to EDS"}
#   observe:
#     stats: [update_success, membership_change]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows \"type\": \"STRICT_DNS\" and addresses as its endpoints"
package meshvet.dns_for_ip_endpoints

import data.meshvet.lib.address
import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

endpoints := [e | some e in spec.endpoints]

entry := mesh.entry()

names := [h.name | some h in entry.hosts]

ports := [p.number | some p in entry.ports; p.family != "none"]

all_addresses if {
	every e in endpoints {
		address.is_ip(e.address)
	}
}

# The annotation istio.io/connect-strategy asks for a cluster of its own kind.
cluster := {"DNS": "STRICT_DNS", "DNS_ROUND_ROBIN": "LOGICAL_DNS"}[entry.resolution]

# More than DNS_ROUND_ROBIN takes is another fault, and the endpoints are as likely to be wrong as the resolution.
fits if entry.resolution == "DNS"

fits if count(endpoints) == 1

# A Service of the name decides instead of the entry; what another entry says of the host may be what DNS is there for.
someone_elses if {
	some h in entry.hosts
	h.may_have_pods
}

someone_elses if {
	some h in entry.hosts
	h.shared
}

what := sprintf("its only endpoint %s is an IP address", [endpoints[0].address]) if {
	count(endpoints) == 1
} else := sprintf("all its endpoints are IP addresses (%s)", [hosts.listed([e.address | some e in endpoints])])

findings contains result.with_more(
	result.at(
		["spec", "resolution"],
		sprintf("resolution %s of %s has nothing to look up: %s", [entry.resolution, hosts.listed(names), what]),
	),
	{
		"effect": sprintf("Envoy's cluster is %s and hands addresses to the resolver; its list of endpoints stays as it is written, as with STATIC (cluster type EDS), whatever DNS says of the host", [cluster]),
		"related": [result.also(["spec", "endpoints"], "the addresses are listed here")],
		"fixes": [result.set("set resolution to STATIC", "unsafe", [{"path": ["spec", "resolution"], "value": "STATIC"}])],
		"subject": {"hosts": names, "ports": ports},
	},
) if {
	entry.cluster == cluster
	count(endpoints) > 0
	fits
	all_addresses
	count(names) > 0
	count(ports) > 0
	not entry.selector
	not entry.hidden
	not someone_elses
}
