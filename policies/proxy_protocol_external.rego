# METADATA
# title: PROXY protocol towards a host outside the mesh
# description: |-
#   A `proxyProtocol` block that reaches a port of a ServiceEntry whose location is MESH_EXTERNAL or left out.
#
#   Envoy then begins each connection with a header that tells the client's address, before the client's own bytes and before any
#   TLS, on ports of every protocol. A server that does not wait for that header takes it for a malformed request or handshake and
#   closes the connection; one that does learns the address of a pod. Servers of others rarely wait for it, so the rule is for meshes
#   that want to know of each that is meant to.
#
#   Entries for ports have no `proxyProtocol` and lose that of the destination level, so their ports are not counted. A ServiceEntry whose
#   workloadSelector picks workloads of the mesh is not judged.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#TrafficPolicy-ProxyProtocol
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/transport_sockets/proxy_protocol/v3/upstream_proxy_protocol.proto
# custom:
#   id: DR240
#   category: tls
#   severity: info
#   presets: [strict]
#   kinds: [DestinationRule]
#   when:
#   - all: [{path: spec.trafficPolicy.proxyProtocol}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.proxyProtocol"}]
#   levels:
#   - all: [{path: proxyProtocol}]
#     port: {external: true}
#   remedy: |-
#     Drop `proxyProtocol` unless the server, or the load balancer in front of it, is set up to expect it.
#   fix: none
#   proof: {kind: changes, text: "with proxyProtocol the cluster's transport_socket is upstream_proxy_protocol around whatever it would be"}
#   observe:
#     stats: [upstream_cx_destroy_remote, upstream_cx_protocol_error, ssl.connection_error]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows envoy.transport_sockets.upstream_proxy_protocol in transportSocket"
package meshvet.proxy_protocol_external

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

blocks := mesh.blocks("proxyProtocol")

outside(b) := [p |
	some p in b.ports
	p.external
	p.compiled
	not p.selector
]

version(b) := v if {
	v := b.value.version
	is_string(v)
} else := "V1"

findings contains result.with_more(
	result.at(b.path, sprintf("proxyProtocol %s reaches %s, which is outside the mesh", [version(b), ports.named(hit)])),
	{
		"effect": sprintf("Envoy sends a PROXY header (upstream_proxy_protocol, %s) before everything else, TLS too; a server that does not expect it closes the connection", [version(b)]),
		"key": true,
		"related": [result.also_in(hit[0].target, ["spec", "location"], "the ServiceEntry is outside the mesh by its location")],
		"subject": ports.subject(hit),
	},
) if {
	some b in blocks
	hit := outside(b)
	count(hit) > 0
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [reach.host])) if {
	some b in blocks
	not b.known
	reach := mesh.reach()
	not reach.in_cluster
}
