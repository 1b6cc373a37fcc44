# METADATA
# title: DNS_ROUND_ROBIN takes one endpoint at most
# description: |-
#   A ServiceEntry with resolution DNS_ROUND_ROBIN and two or more endpoints.
#
#   DNS_ROUND_ROBIN is a LOGICAL_DNS cluster: one name, of whose newest answer a new connection takes the first address. There is
#   no place in it for a second endpoint. Istio's webhook refuses the object; compiled all the same, Istio keeps the first endpoint
#   and drops the others.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry-Resolution
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery#logical-dns
# custom:
#   id: SE107
#   category: service-entry
#   severity: error
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   when:
#   - all:
#     - {path: spec.resolution, values: [DNS_ROUND_ROBIN]}
#     - {path: "spec.endpoints[*]"}
#   remedy: |-
#     Write resolution DNS, which keeps all endpoints and balances over them, or leave one endpoint.
#   supersedes:
#   - {rule: MV907, scope: path}
#   fix: none
#   proof: {kind: rejects, text: "Istio's validation refuses the object; compiled all the same, only the first endpoint is in the cluster"}
#   observe:
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows LOGICAL_DNS with one endpoint"
package meshvet.too_many_round_robin_endpoints

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

endpoints := [where(e) | some e in spec.endpoints]

where(e) := e.address if {
	is_string(e.address)
} else := "one without address"

compiled := sprintf("; where the webhook does not run, Envoy's LOGICAL_DNS cluster gets %s and none of the others", [endpoints[0]]) if {
	count(input.object.spec.ports) > 0
} # no cluster either

else := ""

findings contains result.with_more(
	result.at(
		["spec", "endpoints"],
		sprintf("resolution DNS_ROUND_ROBIN takes one endpoint at most, and there are %d: %s", [count(endpoints), hosts.listed(endpoints)]),
	),
	{
		"effect": concat("", ["istiod's webhook rejects the object", compiled]),
		"related": [result.also(["spec", "resolution"], "DNS_ROUND_ROBIN is set here")],
		"subject": {"hosts": hosts.of(input.object), "ports": [p.number | some p in spec.ports; is_number(p.number)]},
	},
) if {
	spec.resolution == "DNS_ROUND_ROBIN"
	count(endpoints) > 1
}
