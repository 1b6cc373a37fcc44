# METADATA
# title: HTTP pool settings where Envoy sees no HTTP
# description: |-
#   A `connectionPool.http` field that reaches only ports which Envoy treats as L4: of protocol TLS, HTTPS, TCP or a database, or
#   a Service port so named. Also `connectionPool.http` at the destination level when every port has an entry that replaces it.
#
#   On such a port tcp_proxy forwards bytes. Istio takes the fields all the same and says nothing: http2MaxRequests, maxRetries,
#   maxRequestsPerConnection, idleTimeout, h2UpgradePolicy and useClientProtocol are copied into the cluster, where only an HTTP
#   connection pool would read them; maxConcurrentStreams and http2KeepAlive are dropped. A limit that seems to be there is not.
#
#   One field of the block does count: http1MaxPendingRequests becomes max_pending_requests, which Envoy applies to connections
#   that are being set up when there are no requests. It is never reported here. h2UpgradePolicy UPGRADE counts too where the
#   rule starts TLS on the port, because h2 is then offered in ALPN.
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
#     the fields that do nothing. If the host also has HTTP ports, write the HTTP settings into their `portLevelSettings` entries.
#   fix: safe
#   proof: {kind: inert, text: "removing the field changes at most max_requests, max_retries and HttpProtocolOptions of the cluster, which tcp_proxy does not read; the listener stays the same"}
#   observe:
#     stats: [upstream_cx_overflow, upstream_cx_active]
#     configDump: "istioctl proxy-config listener POD --port PORT -o json shows envoy.filters.network.tcp_proxy and no http_connection_manager"
package meshvet.http_settings_at_l4

import data.meshvet.lib.result
import rego.v1

reach := mesh.reach()

# Fields in the order in which they are named; the first of them carries the removal of a block.
order := [
	"maxRetries", "http2MaxRequests", "idleTimeout", "h2UpgradePolicy", "useClientProtocol", "maxConcurrentStreams",
	"http2KeepAlive", "maxRequestsPerConnection", "http1MaxPendingRequests",
]

# A value that asks for nothing is no mistake of this kind.
asks_nothing := {0, false, "DEFAULT"}

# The http fields that are written.
uses := [u | some u in mesh.http_uses(); not u.value in asks_nothing]

# What a port entry takes away is a loss, and told as one: the field should move there, not go.
lost contains trim_prefix(l.field, "connectionPool.http.") if {
	some i, _ in input.object.spec.trafficPolicy.portLevelSettings
	some l in mesh.port_losses(i).fields
	startswith(l.field, "connectionPool.http.")
}

lost_above(u) if {
	u.level == "destination"
	u.name in lost
}

inert := [u |
	some u in uses
	u.live.count == 0
	u.dead.count > 0
	u.l4.count == u.dead.count
	not lost_above(u)
]

whose(u) := "" if u.subset == ""

whose(u) := sprintf(" of subset %s", [u.subset]) if u.subset != ""

block_of(u) := array.slice(u.path, 0, count(u.path) - 1)

pool_of(u) := array.slice(u.path, 0, count(u.path) - 2)

# The value that the author wrote at a path.
at(path) := object.get(input.object, path, null)

written(value) if value != null

pending_beside(u) if not object.get(at(block_of(u)), "http1MaxPendingRequests", 0) in {0, null}

note(u) := "; http1MaxPendingRequests beside it does count here, as a bound on connections being set up" if pending_beside(u)

note(u) := "" if not pending_beside(u)

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

# tcp.idleTimeout acts at L4 only when it stands at the destination level.
l4_idle_timeout := ["spec", "trafficPolicy", "connectionPool", "tcp", "idleTimeout"]

# Removing an idle timeout that is nowhere else would drop what its author wants.
only_shown(u) if {
	u.name == "idleTimeout"
	not written(at(l4_idle_timeout))
}

text(u) := u.text if is_object(u.value)

text(u) := sprintf("%v", [u.value]) if not is_object(u.value)

message(u) := sprintf("connectionPool.http.%s %s%s does nothing on %s", [u.name, text(u), whose(u), u.dead.places]) if {
	not only_shown(u)
}

message(u) := sprintf("connectionPool.http.%s %s%s does nothing on %s; tcp.idleTimeout is what counts there", [u.name, text(u), whose(u), u.dead.places]) if {
	only_shown(u)
}

# The names of the fields that a safe fix may remove, by block.
removable[block] contains u.name if {
	some u in inert
	not only_shown(u)
	block := u.block
}

# Nothing would be left of the block: then its fields go together, in the fix of one finding.
goes_whole(u) if object.keys(at(block_of(u))) == removable[u.block]

carrier(u) := [name | some name in order; name in removable[u.block]][0]

has_other_field(path, name) if {
	some k, v in at(path)
	k != name
	written(v)
}

# Istio refuses a connectionPool, a trafficPolicy and a port entry without content. And an absent connectionPool is not the same
# as one without settings: the mesh's default pool, or the destination level's for a subset, would take its place.
pool_may_go(u) if {
	u.level in {"destination", "port"}
	not mesh.settings().default_pool
	some k in object.keys(at(u.at))
	not k in {"connectionPool", "port"}
	written(at(u.at)[k])
}

emptying(u) := {"op": "remove", "path": block_of(u)} if has_other_field(pool_of(u), "http")

emptying(u) := {"op": "remove", "path": pool_of(u)} if {
	not has_other_field(pool_of(u), "http")
	pool_may_go(u)
}

emptying(u) := {"op": "replace", "path": block_of(u), "value": {}} if {
	not has_other_field(pool_of(u), "http")
	not pool_may_go(u)
}

fixes(u) := [{
	"title": "move the value to tcp.idleTimeout of the destination level", "safety": "show",
	"ops": [{"op": "remove", "path": u.path}], "set": [{"path": l4_idle_timeout, "value": u.value}],
}] if {
	only_shown(u)
}

fixes(u) := [result.fix(sprintf("remove http.%s", [u.name]), "safe", [{"op": "remove", "path": u.path}])] if {
	not only_shown(u)
	not goes_whole(u)
}

fixes(u) := [result.fix("remove the fields of connectionPool.http, none of which does anything", "safe", [emptying(u)])] if {
	not only_shown(u)
	goes_whole(u)
	u.name == carrier(u)
}

fixes(u) := [] if {
	not only_shown(u)
	goes_whole(u)
	u.name != carrier(u)
}

together(u) := sprintf("; it goes with the fix for http.%s", [carrier(u)]) if {
	goes_whole(u)
	u.name != carrier(u)
}

together(u) := "" if not goes_whole(u)

together(u) := "" if {
	goes_whole(u)
	u.name == carrier(u)
}

findings contains result.with_more(
	result.at(u.path, message(u)),
	{
		"effect": concat("", [effects[u.name], note(u), together(u)]),
		"fixes": fixes(u), "subject": u.dead.subject,
	},
) if {
	some u in inert
}

# Every port of the host has an entry, so the destination level reaches none.
unreached := [u |
	some u in uses
	u.level == "destination"
	u.live.count + u.dead.count == 0
]

has_traffic if {
	some p in reach.ports
	p.family != "none"
}

block := ["spec", "trafficPolicy", "connectionPool", "http"]

named(us) := concat(", ", [name | some name in order; some u in us; u.name == name])

findings contains result.with_more(
	result.at(block, sprintf("connectionPool.http (%s) reaches no port: every port of %s has a portLevelSettings entry of its own", [named(unreached), reach.host])),
	{
		"effect": "Istio replaces the destination level's connectionPool by the entry's for each port, so these values are in no cluster",
		"fixes": [result.fix("remove connectionPool.http of the destination level", "safe", [removal])],
		"subject": {"hosts": [reach.host], "ports": [n | some n in {p.number | some p in reach.ports}]},
	},
) if {
	count(unreached) > 0
	reach.known
	has_traffic
	every u in unreached {
		not u.name in lost
	}
}

removal := {"op": "remove", "path": block} if has_other_field(["spec", "trafficPolicy", "connectionPool"], "http")

removal := {"op": "remove", "path": ["spec", "trafficPolicy", "connectionPool"]} if {
	not has_other_field(["spec", "trafficPolicy", "connectionPool"], "http")
}

# One host, both kinds of port: most likely the fields are meant for the HTTP ones.
half(level) := [u |
	some name in order
	some u in uses
	u.name == name
	u.at == level
	name != "http1MaxPendingRequests"
	u.live.count > 0
	u.l4.count > 0
]

findings contains result.with_more(
	result.at(
		half(level)[0].path,
		sprintf(
			"connectionPool.http (%s)%s serves %s and does nothing on %s of %s",
			[named(half(level)), whose(half(level)[0]), half(level)[0].live.bare, half(level)[0].l4.bare, reach.host],
		),
	),
	{
		"severity": "info",
		"effect": "tcp_proxy on the L4 port reads none of these; what bounds it are tcp.maxConnections, http1MaxPendingRequests and, at the destination level, tcp.idleTimeout",
		"subject": half(level)[0].l4.subject,
	},
) if {
	some level in {u.at | some u in uses; u.live.count > 0; u.l4.count > 0}
	count(half(level)) > 0
	not reach.wildcard
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [reach.host])) if {
	not reach.known
	count(uses) > 0
}
