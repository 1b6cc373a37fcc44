# METADATA
# title: A consistent hash that has nothing to hash
# description: |-
#   `consistentHash` by a header, a cookie or a query parameter that reaches only ports on which Envoy forwards bytes; by the
#   client's address from a `portLevelSettings` entry for such a port; or by nothing at all.
#
#   The load balancer of the cluster becomes RING_HASH or MAGLEV all the same. What is hashed is told by the listener or the route, and
#   there nothing is: tcp_proxy reads no headers, and Istio takes useSourceIp for it from the destination level or from the subset
#   itself, never from a port's entry. Without a hash, Envoy picks an address of the ring at random. So calls of one user do not
#   stay together, and LEAST_REQUEST, which would have spared busy addresses, is gone as well.
#
#   On HTTP ports, on ports without a protocol and on TLS ports to which an http route leads, Envoy has requests to read. useSourceIp
#   works at L4 if it stands at the destination level or in the subset. Hosts without a list of addresses have no ring to begin with.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#LoadBalancerSettings-ConsistentHashLB
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/type/v3/hash_policy.proto
# custom:
#   id: DR251
#   category: traffic-policy
#   severity: error
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.loadBalancer.consistentHash}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].loadBalancer.consistentHash"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.loadBalancer.consistentHash"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].loadBalancer.consistentHash"}
#   remedy: |-
#     On a port of protocol TLS or TCP hash by `useSourceIp: true`, at the destination level or in the subset itself, or drop
#     consistentHash. To hash by what is in a request, Envoy has to read it: the port has to be HTTP, HTTP2 or GRPC.
#   fix: none
#   proof: {kind: changes, text: "the cluster's lb_policy is RING_HASH or MAGLEV while neither tcp_proxy nor the route has a hash_policy with anything in it"}
#   observe:
#     stats: [upstream_cx_total, upstream_rq_total]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows \"lbPolicy\": \"RING_HASH\"; istioctl proxy-config listener POD --port PORT -o json shows tcp_proxy without hashPolicy"
package meshvet.hash_without_input

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

uses := [u |
	some u in mesh.uses(["loadBalancer.consistentHash"], [])
	is_object(u.value)
]

# How a request is told apart by each key, which Envoy has to read for it.
from_request := {"httpHeaderName": "header", "httpQueryParameterName": "query parameter"}

keys(hash) := concat(" and ", array.concat(
	[sprintf("%s %s", [what, hash[field]]) | some field, what in from_request; is_name(object.get(hash, field, ""))],
	[sprintf("cookie %v", [object.get(cookie, "name", "")]) | cookie := hash.httpCookie; is_object(cookie)],
))

is_name(text) if {
	is_string(text)
	text != ""
}

by_source(hash) if object.get(hash, "useSourceIp", false) == true

policy(hash) := "MAGLEV" if object.get(hash, "maglev", null) != null

policy(hash) := "RING_HASH" if object.get(hash, "maglev", null) == null

random := "Envoy picks an address at random, and LEAST_REQUEST is lost"

# Up to three of some ports, or two and the number of the others.
places(hit) := concat(", ", [p.place | some p in hit]) if count(hit) <= 3

places(hit) := sprintf("%s, %s and %d more", [hit[0].place, hit[1].place, count(hit) - 2]) if count(hit) > 3

# Ports with a list of addresses, all of which forward bytes and none of which has anything to hash.
deaf(u) := hit if {
	count(u.live) == 0
	hit := [p | some p in u.dead; p.list]
	count(hit) > 0
	every p in hit {
		p.forwards_bytes
	}
}

findings contains result.with_more(
	result.at(u.path, sprintf("consistentHash by %s%s has nothing to hash on %s, where Envoy reads no requests", [keys(u.value), u.whose, places(hit)])),
	{
		"effect": sprintf("the cluster's lb_policy is %s, but tcp_proxy has no hash_policy: %s", [policy(u.value), random]),
		"subject": ports.subject(hit),
	},
) if {
	some u in uses
	keys(u.value) != ""
	hit := deaf(u)
}

findings contains result.with_more(
	result.at(
		array.concat(u.path, ["useSourceIp"]),
		sprintf("useSourceIp in an entry for port %d%s does nothing on %s: for bytes it counts only %s", [hit[0].number, u.whose, places(hit), above(u)]),
	),
	{
		"effect": sprintf("the cluster's lb_policy is %s, but Istio writes no hash_policy into tcp_proxy: %s", [policy(u.value), random]),
		"subject": ports.subject(hit),
	},
) if {
	some u in uses
	by_source(u.value)
	keys(u.value) == ""
	hit := deaf(u)
}

above(u) := "at the destination level" if u.subset == ""

above(u) := "in the subset itself or at the destination level" if u.subset != ""

# Nothing in it names a key, on whatever port. A cluster without a list of addresses has no ring.
findings contains result.with_more(
	result.at(u.path, sprintf("consistentHash%s names nothing to hash: no httpHeaderName, httpCookie, httpQueryParameterName or useSourceIp: true", [u.whose])),
	{
		"effect": sprintf("the cluster's lb_policy is %s without a hash to look up: %s", [policy(u.value), random]),
		"subject": ports.subject(array.concat(u.live, u.dead)),
	},
) if {
	some u in uses
	keys(u.value) == ""
	not by_source(u.value)
	ringed(u)
}

ringed(u) if not u.known

ringed(u) if {
	some p in array.concat(u.live, u.dead)
	p.list
}

# The address of the client counts on every kind of port, unless it stands in an entry.
findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [reach.host])) if {
	some u in uses
	not u.known
	hangs_on_port(u)
	reach := mesh.reach()
	not reach.in_cluster
}

hangs_on_port(u) if keys(u.value) != ""

hangs_on_port(u) if u.level in {"port", "subset port"}
