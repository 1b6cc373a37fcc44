# METADATA
# title: Some circuit breakers are set, the others are unlimited
# description: |-
#   A `connectionPool` that sets one to three of maxConnections, http1MaxPendingRequests, http2MaxRequests and maxRetries and
#   reaches a port on which Envoy reads requests: of protocol HTTP, HTTP2 or GRPC, or without protocol.
#
#   Istio writes 4294967295 for every breaker that is not set, not the defaults of Envoy's own documentation, so one limit without
#   the others often limits nothing. With maxConnections alone, requests beyond the connections wait in a queue that has no end:
#   with `maxConnections: 1` the overflow counter rose by 41 and yet 40 of 40 requests were answered 200. With
#   `http1MaxPendingRequests: 1` beside it, 12 of 30 were answered 503 (measured on Istio 1.30.0). Without maxRetries, retries
#   are bounded by nothing but the retry policy of each request, so a struggling host gets its load multiplied.
#
#   The names mislead: http2MaxRequests bounds HTTP/1.1 requests too, and http1MaxPendingRequests the queue of HTTP/2 as well.
#
#   On TLS and TCP ports maxConnections is the breaker that counts, and a pool that sets only this is right. A retryBudget that is
#   in effect takes the place of maxRetries.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/circuit_breaking
# custom:
#   id: DR203
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.connectionPool}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool"}
#   levels:
#   - all: [{path: connectionPool}]
#     port: {family: [L7, sniffed]}
#   facts: [partial-breakers]
#   remedy: |-
#     Set all four: maxConnections and http1MaxPendingRequests to what the host can take, http2MaxRequests to the requests in
#     flight at once, maxRetries to a small share of them.
#   fix: none
#   proof: {kind: changes, text: "circuit_breakers.thresholds[0] has 4294967295 for each breaker that is not set, and the value once it is set"}
#   observe:
#     stats: [upstream_cx_overflow, upstream_rq_pending_overflow, upstream_rq_retry_overflow]
#     flags: [UO]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows 4294967295 under circuitBreakers.thresholds"
package meshvet.other_limits_unlimited

import data.meshvet.lib.result
import rego.v1

verb := {true: "are", false: "is"}

queueing := {
	true: "; requests that find no connection wait in a queue without bound instead of failing: with maxConnections alone, 40 of 40 requests were still answered 200 (measured on Istio 1.30.0)",
	false: "",
}

findings contains {
	"path": pool.path,
	"message": sprintf("%s %s unlimited beside %s%s on %s", [pool.open, verb[pool.several], pool.set, pool.whose, pool.places]),
	"effect": concat("", ["Istio writes 4294967295 for what is not set into the cluster's circuit_breakers.thresholds[0]", queueing[pool.queues]]),
	"subject": pool.subject,
} if {
	some pool in mesh.partial_pools()
	pool.reading > 0
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [pool.host])) if {
	some pool in mesh.partial_pools()
	not pool.known
}
