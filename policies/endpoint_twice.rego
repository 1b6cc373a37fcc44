# METADATA
# title: An endpoint that is listed more than once
# description: |-
#   A ServiceEntry with resolution STATIC or DNS that lists an endpoint again: the same address with the same ports, labels, network,
#   locality and serviceAccount.
#
#   Istio compiles what is listed. Of equal addresses in an EDS cluster (STATIC) Envoy keeps the first one, so the second adds nothing, and
#   if it has another weight that is lost. A STRICT_DNS cluster (DNS) looks the name up for each and holds its addresses as often, so
#   they get that many times the share. Who means that can say it by a weight.
#
#   Endpoints with one address and different labels are for subsets, and those with different ports are different; neither is
#   reported.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/workload-entry/#WorkloadEntry
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery
# custom:
#   id: SE117
#   category: service-entry
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   when:
#   - all:
#     - {path: spec.resolution, values: [STATIC, DNS]}
#     - {path: "spec.endpoints[*].address"}
#   facts: [repeated-address]
#   remedy: |-
#     List each endpoint once. If one is to get a larger share, give it a `weight`; the default is 1.
#   fix: unsafe
#   proof: {kind: changes, text: "the second of the equal endpoints is gone from the load assignment"}
#   observe:
#     stats: [membership_total]
#     configDump: "istioctl proxy-config endpoint POD --cluster 'outbound|PORT||HOST' lists the address"
package meshvet.endpoint_twice

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

entry := mesh.entry()

ports := [p.number | some p in entry.ports; p.family != "none"]

empty := [{}, null, ""]

# What makes an endpoint another one; that a field is written with its zero does not.
identity(e) := {k: v | some k, v in e; k != "weight"; not v in empty}

weight(e) := max([e.weight, 1]) if {
	is_number(e.weight)
} else := 1

places[identity(e)] contains i if {
	some i, e in spec.endpoints
	is_string(e.address)
	e.address != ""
}

# The places of each endpoint that is listed again, in the order in which they begin.
repeated := sort([sort([i | some i in same]) | some same in places; count(same) > 1])

addresses := [spec.endpoints[same[0]].address | some same in repeated]

again := [i | some same in repeated; some i in array.slice(same, 1, count(same))]

removals := [{"op": "remove", "path": ["spec", "endpoints", i]} | some i in array.reverse(sort(again))]

weights := [{"op": "add", "path": ["spec", "endpoints", same[0], "weight"], "value": sum([weight(spec.endpoints[i]) | some i in same])} |
	some same in repeated
]

listed := sprintf("endpoint %s is listed %d times", [addresses[0], count(repeated[0])]) if {
	count(repeated) == 1
} else := sprintf("endpoints %s are listed more than once", [hosts.listed(addresses)])

effect.EDS := "Envoy keeps the first of equal addresses in an EDS cluster: listing it again adds nothing, and a weight that only the others have is lost"

effect.STRICT_DNS := "Envoy's STRICT_DNS cluster looks the name up once for each, holds its addresses as often, and sends them that many times the share"

findings contains result.with_more(
	result.at(["spec", "endpoints", again[0]], listed),
	{
		"effect": effect[entry.cluster],
		"related": [result.also(["spec", "endpoints", i], sprintf("%s is listed here", [spec.endpoints[i].address])) | some i in related],
		"fixes": [
			result.fix("remove what is listed again", "unsafe", removals),
			result.fix("list it once, with the sum of the weights", "unsafe", array.concat(weights, removals)),
		],
		"subject": {"hosts": [h.name | some h in entry.hosts], "ports": ports},
	},
) if {
	count(ports) > 0
	not entry.selector
	not entry.hidden
	related := array.concat([same[0] | some same in repeated], array.slice(again, 1, count(again)))
}
