# METADATA
# title: A TLS handshake for every request
# description: |-
#   `maxRequestsPerConnection: 1` on a port that carries requests, where the DestinationRule starts TLS
#   of mode SIMPLE or MUTUAL.
#
#   The field is best known from samples of circuit breaking. What it does is to switch keep-alive off: Envoy closes each connection
#   after one request. With TLS that Envoy starts, every request then waits for a TCP and a TLS handshake with a server outside,
#   and the limit of connections is used up by as many requests per second as handshakes fit in. Over 20 requests, 20 more
#   connections were opened (measured on Istio 1.30.0), and no response tells the application.
#
#   Hosts to which Envoy speaks plaintext or the mesh's own mutual TLS are not reported: there a connection is cheap, and one per
#   request may be wanted for the sake of balancing.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings-HTTPSettings
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/core/v3/protocol.proto#envoy-v3-api-field-config-core-v3-httpprotocoloptions-max-requests-per-connection
# custom:
#   id: DR222
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.connectionPool.http.maxRequestsPerConnection, values: [1]}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool.http.maxRequestsPerConnection", values: [1]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.http.maxRequestsPerConnection", values: [1]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.http.maxRequestsPerConnection", values: [1]}
#   levels:
#   - all:
#     - {path: connectionPool.http.maxRequestsPerConnection, values: [1]}
#     port: {family: [L7, sniffed]}
#   remedy: |-
#     Remove the field, or set it to some hundreds if connections should be renewed now and then. To bound how old they get, set
#     `tcp.maxConnectionDuration`.
#   fix: none
#   proof: {kind: envoy, text: "the cluster has max_requests_per_connection 1 and a TLS transport_socket; Envoy closes the connection after the request"}
#   observe:
#     stats: [upstream_cx_max_requests, upstream_cx_total, ssl.handshake]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows maxRequestsPerConnection 1 beside a transportSocket of type UpstreamTlsContext"
package meshvet.one_request_per_connection

import data.meshvet.lib.hosts
import data.meshvet.lib.origination
import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

uses := mesh.uses(["connectionPool.http.maxRequestsPerConnection"], ["tls", "tls.credentialName"])

handshakes(u) := [p | some p in u.live; p.beside.tls in {"SIMPLE", "MUTUAL"}]

proxy(p) := origination.proxy(input.object, {"credentialName": name}) if {
	name := trim_prefix(p.beside["tls.credentialName"], "none")
}

findings contains result.with_more(
	result.at(u.path, sprintf("maxRequestsPerConnection 1%s makes every request wait for a TLS handshake of its own on %s", [u.whose, hosts.listed([p.place | some p in hit])])),
	{
		"effect": sprintf("%s closes each connection after one request (common_http_protocol_options.max_requests_per_connection is 1) and starts TLS anew on the next", [proxy(hit[0])]),
		"subject": ports.subject(hit),
	},
) if {
	some u in uses
	u.value == 1
	hit := handshakes(u)
	count(hit) > 0
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [u.host])) if {
	some u in uses
	u.value == 1
	not u.known
}
