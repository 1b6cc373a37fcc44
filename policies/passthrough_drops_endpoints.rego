# METADATA
# title: PASSTHROUGH takes the addresses away that Envoy should have
# description: |-
#   `loadBalancer.simple: PASSTHROUGH` that reaches a host whose ServiceEntry gives Envoy addresses: of resolution DNS,
#   DNS_ROUND_ROBIN or STATIC.
#
#   PASSTHROUGH is not a way to choose an address, it does away with the choice. Istio turns the cluster into ORIGINAL_DST and drops
#   its load_assignment: Envoy looks up no name, ignores the endpoints of the ServiceEntry, and forwards to whatever address the
#   client dialled. outlierDetection and localityLbSetting then have nothing to act on. A gateway, whose clients dial the gateway
#   itself, can reach the host no more.
#
#   With resolution NONE, Envoy forwards like that in any case, and PASSTHROUGH says so. For Services of the mesh it is a choice of
#   its own, and a dynamic_forward_proxy cluster (DYNAMIC_DNS) does not heed it. A STATIC entry without endpoints has none to lose.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#LoadBalancerSettings-SimpleLB
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery#original-destination
# custom:
#   id: DR252
#   category: traffic-policy
#   severity: error
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.loadBalancer.simple, values: [PASSTHROUGH]}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].loadBalancer.simple", values: [PASSTHROUGH]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.loadBalancer.simple", values: [PASSTHROUGH]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].loadBalancer.simple", values: [PASSTHROUGH]}
#   levels:
#   - all: [{path: loadBalancer.simple, values: [PASSTHROUGH]}]
#     port: {cluster: [STRICT_DNS, EDS, LOGICAL_DNS]}
#   supersedes:
#   - {rule: DR205, scope: port}
#   - {rule: DR206, scope: port}
#   - {rule: DR210, scope: port}
#   - {rule: DR212, scope: port}
#   - {rule: DR254, scope: port}
#   remedy: |-
#     Leave simple out, or write LEAST_REQUEST, ROUND_ROBIN or RANDOM. If clients are to choose the address, write resolution: NONE in the
#     ServiceEntry.
#   fix: unsafe
#   proof: {kind: changes, text: "the type of the cluster goes from ORIGINAL_DST to STRICT_DNS, LOGICAL_DNS or EDS without PASSTHROUGH"}
#   observe:
#     stats: [membership_total, upstream_cx_connect_fail]
#     flags: [UF, UH]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows \"type\": \"ORIGINAL_DST\" and no loadAssignment"
package meshvet.passthrough_drops_endpoints

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

robbed(b) := [p |
	some p in b.ports
	p.cluster in {"STRICT_DNS", "EDS", "LOGICAL_DNS"}
	p.target.kind == "ServiceEntry"
	not p.in_cluster_name
	p.endpoints != 0
]

gone(p) := "looks up no name" if p.cluster != "EDS"

gone(p) := "does not know the endpoints" if p.cluster == "EDS"

findings contains result.with_more(
	result.at(
		array.concat(b.path, ["simple"]),
		sprintf("loadBalancer PASSTHROUGH takes the addresses away that resolution %s gives Envoy for %s", [hit[0].resolution, ports.named(hit)]),
	),
	{
		"effect": sprintf("Istio turns the cluster into ORIGINAL_DST without load_assignment: Envoy %s and forwards to whatever address the client dialled, and outlierDetection has nothing to eject", [gone(hit[0])]),
		"related": [result.also_in(hit[0].target, ["spec", "resolution"], "the resolution is written here")],
		"fixes": [result.fix("write LEAST_REQUEST, which is Istio's default", "unsafe", [{"op": "replace", "path": array.concat(b.path, ["simple"]), "value": "LEAST_REQUEST"}])],
		"subject": ports.subject(hit),
	},
) if {
	some b in mesh.blocks("loadBalancer")
	not b.shadowed
	is_object(b.value)
	b.value.simple == "PASSTHROUGH"
	hit := robbed(b)
	count(hit) > 0
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [reach.host])) if {
	some b in mesh.blocks("loadBalancer")
	b.value.simple == "PASSTHROUGH"
	not b.known
	reach := mesh.reach()
	not reach.in_cluster
}
