# METADATA
# title: A timeout for bytes below the destination level
# description: |-
#   `tcp.idleTimeout` or `tcp.maxConnectionDuration` in a portLevelSettings entry or a subset that reaches only ports which Envoy
#   treats as L4: of protocol TLS, HTTPS, TCP or a database, or a Service port so named.
#
#   On such a port the timeouts are those of tcp_proxy, in the listener. Istio fills them from the destination level of the rule and
#   from nowhere else. What an entry or a subset says goes into the cluster's HttpProtocolOptions, which tcp_proxy does not read.
#   Nobody refuses it, and a config dump shows the value, in the wrong place: idle connections stay for an hour, or for as long as
#   the destination level says.
#
#   A value that repeats the destination level's is not reported. Nor is one that reaches a port on which Envoy reads requests, or
#   one to which an http route leads: there the cluster is where it counts.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings-TCPSettings
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/network/tcp_proxy/v3/tcp_proxy.proto
# custom:
#   id: DR213
#   category: traffic-policy
#   severity: error
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool.tcp.idleTimeout"}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool.tcp.maxConnectionDuration"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.tcp.idleTimeout"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.tcp.maxConnectionDuration"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.tcp.idleTimeout"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.tcp.maxConnectionDuration"}
#   levels:
#   - all:
#     - {path: connectionPool.tcp.idleTimeout}
#     port: {family: [L4]}
#   - all:
#     - {path: connectionPool.tcp.maxConnectionDuration}
#     port: {family: [L4]}
#   remedy: |-
#     Write the timeout at the destination level, under spec.trafficPolicy.connectionPool.tcp. It then holds for all L4 ports of the
#     host. Ports that need different ones need a host, a ServiceEntry and a DestinationRule each.
#   fix: safe
#   proof: {kind: changes, text: "tcp_proxy in the listener has idle_timeout and max_downstream_connection_duration only once they stand at the destination level"}
#   observe:
#     stats: [upstream_cx_idle_timeout, downstream_cx_active]
#     configDump: "istioctl proxy-config listener POD --port PORT -o json shows envoy.filters.network.tcp_proxy without idleTimeout or maxDownstreamConnectionDuration"
package meshvet.l4_timeout_not_top_level

import data.meshvet.lib.result
import rego.v1

timers := ["connectionPool.tcp.idleTimeout", "connectionPool.tcp.maxConnectionDuration"]

uses := mesh.uses(timers, timers)

# Values that tcp_proxy would need and does not get.
lost := [u |
	some u in uses
	u.level != "destination"
	count(u.dead) > 0
	count(u.live) == 0
	every p in u.dead {
		p.forwards_bytes
	}

	# It is the same on all of them, as there is one destination level.
	in_force(u) != u.shown
]

in_force(u) := u.dead[0].beside[u.field]

# What stands together is told together.
groups := [group |
	some at in {u.at | some u in lost}
	group := [u | some field in timers; some u in lost; u.field == field; u.at == at]
]

in_words(group) := concat(" and ", [sprintf("tcp.%s %s", [u.name, u.text]) | some u in group])

written_in(u) := sprintf("in the entry for port %d", [u.port]) if u.level == "port"

written_in(u) := sprintf("in subset %s", [u.subset]) if u.level == "subset"

written_in(u) := sprintf("in subset %s's entry for port %d", [u.subset, u.port]) if u.level == "subset port"

verb(group) := "does" if count(group) == 1

verb(group) := "do" if count(group) > 1

envoy_name := {"idleTimeout": "idle_timeout", "maxConnectionDuration": "max_downstream_connection_duration"}

instead(u) := sprintf("has no %s, so that no connection is ever too old", [envoy_name[u.name]]) if in_force(u) == "none"

instead(u) := sprintf("keeps %s %s", [envoy_name[u.name], in_force(u)]) if in_force(u) != "none"

stated_at_top(u) if {
	some other in uses
	other.level == "destination"
	other.field == u.field
}

# Another level asks for something else, and only one can have it.
disputed(u) if {
	some other in lost
	other.field == u.field
	other.shown != u.shown
}

# No port or subset for which it is not meant gets the value if the entry is for the only port that there is.
alone(u) if {
	u.level == "port"
	u.reaches_all
	not stated_at_top(u)
}

default safety := "unsafe"

safety := "safe" if {
	every u in lost {
		alone(u)
	}
}

# All of them at once, so that no fix takes back what another one writes.
settings := [{"path": ["spec", "trafficPolicy", "connectionPool", "tcp", u.name], "value": u.value} | some u in lost; not disputed(u)]

fixes(group) := [result.set("write what only counts at the destination level there", safety, settings) |
	count(settings) > 0
	every u in group {
		not disputed(u)
	}
]

findings contains result.with_more(
	result.at(group[0].path, sprintf("%s %s %s nothing on %s: only the destination level's counts there", [
		in_words(group), written_in(group[0]), verb(group), group[0].dead_on,
	])),
	{
		"effect": sprintf("Istio writes it into the cluster's HttpProtocolOptions, which tcp_proxy does not read; tcp_proxy %s", [concat(" and ", [instead(u) | some u in group])]),
		"fixes": fixes(group),
		"subject": group[0].subject,
	},
) if {
	some group in groups
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [u.host])) if {
	some u in uses
	u.level != "destination"
	not u.known
}
