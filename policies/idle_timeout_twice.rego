# METADATA
# title: An idle timeout that another one takes the place of
# description: |-
#   `tcp.idleTimeout` and another `http.idleTimeout` in one connectionPool that reaches only ports of an HTTP protocol.
#
#   On an HTTP port both are the same setting of Envoy, idle_timeout in the cluster's HttpProtocolOptions, and Istio takes the one of
#   `http`. The other is in no cluster and no listener. On TLS and TCP ports and on ports without protocol tcp.idleTimeout is tcp_proxy's
#   own, so a pool that also reaches one of these is not reported, and neither are two equal values.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings-TCPSettings
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings-HTTPSettings
# custom:
#   id: DR215
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.connectionPool.tcp.idleTimeout}
#     - {path: spec.trafficPolicy.connectionPool.http.idleTimeout}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool.tcp.idleTimeout"}
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool.http.idleTimeout"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.tcp.idleTimeout"}
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.http.idleTimeout"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.tcp.idleTimeout"}
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.http.idleTimeout"}
#   levels:
#   - all:
#     - {path: connectionPool.tcp.idleTimeout}
#     - {path: connectionPool.http.idleTimeout}
#     port: {family: [L7]}
#   remedy: Keep http.idleTimeout, with the value that is meant, and remove tcp.idleTimeout.
#   fix: safe
#   proof: {kind: ignored, text: "without tcp.idleTimeout the clusters, listeners and routes are the same"}
#   observe:
#     stats: [upstream_cx_idle_timeout]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows the value of http.idleTimeout under HttpProtocolOptions.commonHttpProtocolOptions.idleTimeout"
package meshvet.idle_timeout_twice

import data.meshvet.lib.result
import rego.v1

http_idle := "connectionPool.http.idleTimeout"

uses := mesh.uses(["connectionPool.tcp.idleTimeout"], [http_idle])

# What is in effect is what http says, since that is all that can keep tcp's from an HTTP port.
taken(u) := u.dead[0].beside[http_idle]

findings contains result.with_more(
	result.at(u.path, sprintf("tcp.idleTimeout %s%s gives way to http.idleTimeout %s on %s", [u.text, u.whose, taken(u), u.dead_on])),
	{
		"effect": "both are idle_timeout in the cluster's common_http_protocol_options, and Istio writes the one of http there",
		"fixes": [result.fix("remove tcp.idleTimeout", "safe", [{"op": "remove", "path": u.path}])],
		"subject": u.subject,
	},
) if {
	some u in uses
	count(u.live) == 0
	count(u.dead) > 0
	every p in u.dead {
		p.family == "L7"
	}
	u.shown != taken(u)
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [u.host])) if {
	some u in uses
	not u.known
	http_beside(u)
}

http_beside(u) if {
	at := array.slice(u.path, 0, count(u.path) - 2)
	object.get(input.object, array.concat(at, ["http", "idleTimeout"]), null) != null
}
