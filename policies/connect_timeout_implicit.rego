# METADATA
# title: Connections to a host outside the mesh are given up after 10s
# description: |-
#   A DestinationRule that leaves ports of a host outside the mesh without a `connectTimeout`, so that Istio's default of 10s holds.
#
#   A host that is away does not always refuse connections: often nothing answers at all, and the timeout is the only thing that
#   ends the attempt. Until then the client waits, and outlier detection has nothing to count. Where Envoy reads requests it retries
#   twice by default, so a request waits three times as long: with `connectTimeout: 1s` 3,033 ms on average (measured on Istio
#   1.30.0), with the default half a minute.
#
#   Reported are rules only: that a host has none at all is told with the outlier detection that it lacks. A rule whose subsets all set
#   a connectTimeout is not reported, nor is any if meshConfig sets one.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings-TCPSettings
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/cluster.proto#envoy-v3-api-field-config-cluster-v3-cluster-connect-timeout
# custom:
#   id: DR219
#   category: traffic-policy
#   severity: info
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   facts: [implicit-timeout]
#   remedy: |-
#     Write connectTimeout, between 1s and 3s for most hosts on the internet.
#   fix: unsafe
#   proof: {kind: changes, text: "connect_timeout is 10s without the field and as written with it"}
#   observe:
#     stats: [upstream_cx_connect_timeout]
#     flags: [UF]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows \"connectTimeout\": \"10s\""
package meshvet.connect_timeout_implicit

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

levels := mesh.implicit_timeouts()

all_ports := [p | some l in levels; some p in l.ports]

field(level) := array.concat(level.at, ["connectionPool", "tcp", "connectTimeout"])

retried := "; a request is tried three times by default, so that its client waits for half a minute" if {
	some l in levels
	l.requests
} else := ""

# A wildcard's timeout would be one for hosts that nobody spoke of, and a pool of the rule's own would drop the mesh's.
fixes := [] if {
	some l in levels
	l.wildcard
} else := [] if {
	some l in levels
	l.of_mesh
} else := [result.set("set connectTimeout to 2s", "unsafe", [{"path": field(l), "value": "2s"} | some l in levels])]

findings contains result.with_more(
	result.at(field(levels[0]), sprintf("connectTimeout is not set, so connections to %s are given up after 10s", [ports.named(all_ports)])),
	{
		"effect": sprintf("Istio writes connect_timeout 10s into Envoy's cluster: if nothing answers, a client waits that long for each attempt%s", [retried]),
		"fixes": fixes,
		"subject": {
			"hosts": [h | some h in {h | some l in levels; some h in l.subject.hosts}],
			"ports": [n | some n in {n | some l in levels; some n in l.subject.ports}],
			"blocks": ["connectionPool"],
		},
	},
) if {
	count(levels) > 0
}

findings contains result.skip(sprintf("%s is not in view, so whether it is outside the mesh is not known", [reach.host])) if {
	reach := mesh.reach()
	not reach.known
	not reach.in_cluster
	object.get(input.object, ["spec", "trafficPolicy", "connectionPool", "tcp", "connectTimeout"], null) == null
}
