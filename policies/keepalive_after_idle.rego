# METADATA
# title: A TCP keepalive that comes too late
# description: |-
#   `tcpKeepalive.time` that is not below the idle timeout of the connection, or, on the way to a host outside the mesh, above what the
#   option middleboxIdle gives firewalls and NAT gateways, 5m unless set.
#
#   The time is how long a connection has to be silent before the first probe. A connection that Envoy closes earlier for being idle is
#   never probed: after the hour that is Envoy's default, or after idleTimeout. A firewall or a NAT gateway on the way forgets a silent
#   connection without telling either side, many of them within minutes. If the first probe comes after that, the next request on the
#   connection is the one that fails.
#
#   Keepalive is the kernel's work: no counter of Envoy's shows it, only the config dump does. A rule without time is not reported, though
#   Linux then waits for two hours.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings-TCPSettings-TcpKeepalive
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/core/v3/address.proto#config-core-v3-tcpkeepalive
# custom:
#   id: DR221
#   category: traffic-policy
#   severity: info
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.connectionPool.tcp.tcpKeepalive.time}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool.tcp.tcpKeepalive.time"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.tcp.tcpKeepalive.time"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.tcp.tcpKeepalive.time"}
#   facts: [late-keepalive]
#   options:
#   - {name: middleboxIdle, default: 5m, doc: how long firewalls and NAT gateways on the way out keep a silent connection}
#   remedy: |-
#     Set tcpKeepalive.time below the shortest idle time on the way, such as 60s, and the interval and the number of probes so that a dead
#     peer is found in time.
#   fix: none
#   proof: {kind: envoy, text: "upstream_connection_options.tcp_keepalive.keepalive_time is the time, beside an idle_timeout that is no longer, or none"}
#   observe:
#     stats: [upstream_cx_idle_timeout, upstream_cx_destroy_remote]
#     flags: [UC]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows keepaliveTime under upstreamConnectionOptions.tcpKeepalive, in seconds"
package meshvet.keepalive_after_idle

import data.meshvet.lib.duration
import data.meshvet.lib.hosts
import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

idle := "connectionPool.tcp.idleTimeout"

uses := mesh.uses(["connectionPool.tcp.tcpKeepalive"], [idle])

at(u) := array.concat(u.path, ["time"])

time_of(u) := duration.nanoseconds(u.value.time)

# Ports on which an idle connection is closed before its first probe. An idle timeout of 0s is none.
closed_before(u) := [p |
	some p in u.live
	limit := duration.nanoseconds(p.beside[idle])
	limit != 0
	time_of(u) >= limit
]

places(hit) := hosts.listed([p.place | some p in hit])

closing(p) := "tcp_proxy closes a connection on which nothing is sent" if p.forwards_bytes

closing(p) := "Envoy closes a connection that waits for requests" if not p.forwards_bytes

findings contains result.with_more(
	result.at(at(u), sprintf("tcpKeepalive.time %s%s is not below the idle timeout, %s, on %s", [u.value.time, u.whose, hit[0].beside[idle], places(hit)])),
	{
		"effect": sprintf("%s after %s, before the kernel sends the first probe (upstream_connection_options.tcp_keepalive.keepalive_time)", [closing(hit[0]), hit[0].beside[idle]]),
		"subject": ports.subject(hit),
	},
) if {
	some u in uses
	hit := closed_before(u)
}

findings contains result.with_more(
	result.at(at(u), sprintf("tcpKeepalive.time %s%s is longer than firewalls and NAT gateways may keep a silent connection, %s, on the way to %s", [
		u.value.time, u.whose,
		input.options.middleboxIdle, places(hit),
	])),
	{
		"effect": "the kernel sends the first probe (upstream_connection_options.tcp_keepalive.keepalive_time) after the connection may have been forgotten on the way; the next request on it fails",
		"subject": ports.subject(hit),
	},
) if {
	some u in uses
	count(closed_before(u)) == 0
	time_of(u) > duration.nanoseconds(input.options.middleboxIdle)
	hit := [p | some p in u.live; p.external]
	count(hit) > 0
}

findings contains result.skip(sprintf("%s is not in view, so what ends an idle connection to it is not known", [u.host])) if {
	some u in uses
	u.value.time
	not u.known
}
