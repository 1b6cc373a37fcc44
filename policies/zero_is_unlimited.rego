# METADATA
# title: A limit of 0 that limits nothing
# description: |-
#   `maxConnections`, `http1MaxPendingRequests`, `http2MaxRequests`, `maxRetries` or `maxEjectionPercent` with the value 0, on a port
#   where the field has an effect.
#
#   Istio takes 0 for "not set" and compiles the default: 4294967295 for the four circuit breakers, and for maxEjectionPercent nothing,
#   so that Envoy's own 10 % holds. Whoever writes 0 to allow nothing allows everything. `maxRetries: 0` stops no retries either: it is
#   a bound on the retries in flight to the whole host, while the retry policy of each request is the route's.
#
#   Fields for which 0 is what it says are not reported: maxRequestsPerConnection (no limit, as documented), consecutive5xxErrors (off),
#   minHealthPercent, and a tcp.idleTimeout of 0s (never).
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings
# - https://istio.io/latest/docs/reference/config/networking/virtual-service/#HTTPRetry
# custom:
#   id: DR214
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
#   - all:
#     - {path: spec.trafficPolicy.outlierDetection.maxEjectionPercent, below: 1}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].outlierDetection.maxEjectionPercent", below: 1}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.outlierDetection.maxEjectionPercent", below: 1}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].outlierDetection.maxEjectionPercent", below: 1}
#   levels:
#   - all:
#     - {path: connectionPool.tcp.maxConnections, below: 1}
#   - all:
#     - {path: connectionPool.http.http1MaxPendingRequests, below: 1}
#   - all:
#     - {path: connectionPool.http.http2MaxRequests, below: 1}
#     port: {family: [L7, sniffed]}
#   - all:
#     - {path: connectionPool.http.maxRetries, below: 1}
#     port: {family: [L7, sniffed]}
#   - all:
#     - {path: outlierDetection.maxEjectionPercent, below: 1}
#     port: {cluster: [STRICT_DNS, EDS]}
#   remedy: |-
#     Write the smallest limit that is meant, such as 1, or remove the field if there is to be none. To stop retries, set
#     `retries: {attempts: 0}` in the route of a VirtualService; to stop ejection, remove outlierDetection.
#   fix: none
#   proof: {kind: ignored, text: "without the field the clusters, listeners and routes are the same"}
#   observe:
#     stats: [upstream_cx_overflow, upstream_rq_pending_overflow, upstream_rq_retry_overflow]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows 4294967295 under circuitBreakers.thresholds, or outlierDetection without maxEjectionPercent"
package meshvet.zero_is_unlimited

import data.meshvet.lib.result
import rego.v1

uses := mesh.uses([ejection, "connectionPool.tcp.maxConnections", "connectionPool.http.http1MaxPendingRequests", "connectionPool.http.http2MaxRequests", retries], [])

ejection := "outlierDetection.maxEjectionPercent"

retries := "connectionPool.http.maxRetries"

zero(u) if {
	is_number(u.value)
	u.value == 0
}

counts(u) if count(u.live) > 0

counts(u) if {
	not u.known
	u.everywhere
}

meaning(u) := "means 10 %" if u.field == ejection

meaning(u) := "limits nothing and stops no retries" if u.field == retries

meaning(u) := "limits nothing" if not u.field in {ejection, retries}

effect(u) := "Istio writes no outlier_detection.max_ejection_percent into the cluster, so that Envoy's default holds and addresses are ejected" if u.field == ejection

effect(u) := sprintf("Istio writes 4294967295 into the cluster's %s, as it does where the field is not set%s", [u.envoy, aside(u)]) if u.field != ejection

aside(u) := "; how often a request is tried again is up to its route" if u.field == retries

aside(u) := "" if u.field != retries

findings contains result.with_more(
	result.at(u.path, sprintf("%s 0%s is the same as not set: it %s", [u.name, u.whose, meaning(u)])),
	{"effect": effect(u), "subject": u.subject},
) if {
	some u in uses
	zero(u)
	counts(u)
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [u.host])) if {
	some u in uses
	zero(u)
	not u.known
	not u.everywhere
}
