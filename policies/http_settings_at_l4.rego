# METADATA
# title: HTTP pool settings where Envoy sees no HTTP
# description: |-
#   A `connectionPool.http` field that reaches only ports which Envoy treats as L4: of protocol TLS, HTTPS, TCP or a database, or
#   a Service port so named. Also `connectionPool.http` at the destination level when every port has an entry that replaces it.
#
#   On such a port tcp_proxy forwards bytes. Istio takes the fields all the same and says nothing: http2MaxRequests, maxRetries,
#   maxRequestsPerConnection, idleTimeout, h2UpgradePolicy and useClientProtocol are copied into the cluster, where only an HTTP
#   connection pool would read them; maxConcurrentStreams and http2KeepAlive are dropped, unless h2UpgradePolicy UPGRADE stands
#   beside them. A limit that seems to be there is not.
#
#   One field of the block does count: http1MaxPendingRequests becomes max_pending_requests, which Envoy applies to connections
#   that are being set up when there are no requests. It is never reported here. h2UpgradePolicy UPGRADE counts too where the
#   rule starts TLS on the port, because h2 is then offered in ALPN.
#
#   A port to which an http route of a VirtualService or HTTPRoute leads carries requests, whatever its protocol, and the fields
#   count there: that is the usual way from HTTP on port 80 to TLS that Envoy starts on port 443.
#
#   A host with both kinds of port is only told which of its ports the fields do not serve, at level info.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings-HTTPSettings
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/circuit_breaker.proto
# custom:
#   id: DR201
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.connectionPool.http}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool.http"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.http"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.http"}
#   levels:
#   - all:
#     - {path: connectionPool.http}
#     port: {family: [L4]}
#   supersedes:
#   - {rule: DR216, scope: path}
#   - {rule: DR218, scope: path}
#   - {rule: DR222, scope: path}
#   remedy: |-
#     Limit such a port with `tcp.maxConnections`, `tcp.connectTimeout` and, at the destination level, `tcp.idleTimeout`; remove
#     the fields that do nothing. If the host also has HTTP ports, the settings may stay for their sake; to make it plain, move them
#     into `portLevelSettings` entries of these ports, together with all else of the destination level that should hold there.
#   fix: safe
#   proof: {kind: inert, text: "removing the field changes at most max_requests, max_retries and HttpProtocolOptions of the cluster, which tcp_proxy does not read; the listener stays the same"}
#   observe:
#     stats: [upstream_cx_overflow, upstream_cx_active]
#     configDump: "istioctl proxy-config listener POD --port PORT -o json shows envoy.filters.network.tcp_proxy and no http_connection_manager"
package meshvet.http_settings_at_l4

import data.meshvet.lib.result
import rego.v1

# What becomes of a field that reaches L4 ports only.
effects := {
	"maxRetries": "tcp_proxy has no requests to retry, so the cluster's circuit_breakers.thresholds[0].max_retries is never asked",
	"http2MaxRequests": "tcp_proxy sees no requests to count, so the cluster's circuit_breakers.thresholds[0].max_requests is never reached",
	"idleTimeout": "tcp_proxy does not read the cluster's HttpProtocolOptions and keeps its own idle_timeout, 1h unless tcp.idleTimeout is set at the destination level",
	"h2UpgradePolicy": "tcp_proxy passes on the protocol that the client speaks; the cluster's HttpProtocolOptions are never read",
	"useClientProtocol": "tcp_proxy passes on the protocol that the client speaks anyway; the cluster's HttpProtocolOptions are never read",
	"maxConcurrentStreams": "Istio drops the value, since the cluster has no HTTP/2 options that could hold it",
	"http2KeepAlive": "Istio drops the value, since the cluster has no HTTP/2 options that could hold it",
	"maxRequestsPerConnection": "tcp_proxy gives each client connection one of its own, so max_requests_per_connection in the cluster's HttpProtocolOptions is never reached",
}

# With h2UpgradePolicy UPGRADE beside them the cluster has HTTP/2 options, which do hold them.
http2_effects := {
	"maxConcurrentStreams": "tcp_proxy passes on the protocol that the client speaks; the cluster's http2_protocol_options.max_concurrent_streams is never read",
	"http2KeepAlive": "tcp_proxy passes on the protocol that the client speaks; the cluster's http2_protocol_options.connection_keepalive is never read",
}

effect(u) := object.get(http2_effects, u.name, effects[u.name]) if u.http2

effect(u) := effects[u.name] if not u.http2

instead := {true: "; tcp.idleTimeout is what counts there", false: ""}

beside := {true: "; http1MaxPendingRequests beside it does count here, as a bound on connections being set up", false: ""}

together := {"": ""}

carried_by(name) := object.get(together, name, sprintf("; it goes with the fix for http.%s", [name]))

# Removing an idle timeout that is nowhere else would drop what its author wants.
fixes(u) := [{
	"title": "move the value to tcp.idleTimeout of the destination level", "safety": "show",
	"ops": [{"op": "remove", "path": u.path}],
	"set": [{"path": ["spec", "trafficPolicy", "connectionPool", "tcp", "idleTimeout"], "value": u.value}],
}] if u.moves

fixes(u) := [result.fix(title, "safe", [u.removal]) | title := {
	true: "remove the fields of connectionPool.http, none of which does anything",
	false: sprintf("remove http.%s", [u.name]),
}[u.whole]] if not u.moves

findings contains {
	"path": u.path,
	"message": sprintf("connectionPool.http.%s %s%s does nothing on %s%s", [u.name, u.text, u.whose, u.places, instead[u.moves]]),
	"effect": concat("", [effect(u), beside[u.pending_beside], carried_by(u.carrier)]),
	"fixes": fixes(u),
	"subject": u.subject,
} if {
	some u in mesh.http_uses()
	u.fate == "inert"
}

# Every port of the host has an entry, so the destination level reaches none.
findings contains {
	"path": u.path,
	"message": sprintf("connectionPool.http (%s) reaches no port: every port of %s has a portLevelSettings entry of its own", [u.names, u.host]),
	"effect": "Istio replaces the destination level's connectionPool by the entry's for each port, so these values are in no cluster",
	"fixes": [result.fix("remove connectionPool.http of the destination level", "safe", [u.removal])],
	"subject": u.subject,
} if {
	some u in mesh.http_uses()
	u.fate == "unreached"
}

# One host, both kinds of port: most likely the fields are meant for the HTTP ones.
findings contains {
	"path": u.path,
	"severity": "info",
	"message": sprintf("connectionPool.http (%s)%s serves %s and does nothing on %s of %s", [u.names, u.whose, u.live, u.dead, u.host]),
	"effect": "tcp_proxy on the L4 port reads none of these; what bounds it are tcp.maxConnections, http1MaxPendingRequests and, at the destination level, tcp.idleTimeout",
	"subject": u.subject,
} if {
	some u in mesh.http_uses()
	u.fate == "half"
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [u.host])) if {
	some u in mesh.http_uses()
	u.fate == "unknown"
}
