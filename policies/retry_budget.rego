# METADATA
# title: A retryBudget that cannot be, or that something else makes pointless
# description: |-
#   A `retryBudget` whose percent is not between 0 and 100; one that reaches only ports on which Envoy reads no requests; or a
#   `maxRetries` that reaches only ports with a retryBudget in effect.
#
#   Istio does not validate the percentage. It ends up in the cluster as it is and breaks a constraint of Envoy's, so that the proxies of
#   all clients reject the update of their clusters (NACK) and keep what they had before.
#
#   A retry budget replaces the circuit breaker for retries, so maxRetries beside it is a number that nobody asks for. Both are in the
#   config dump. On TLS and TCP ports there are no requests, so there is nothing to retry.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#TrafficPolicy-RetryBudget
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/circuit_breaker.proto#config-cluster-v3-circuitbreakers-thresholds-retrybudget
# custom:
#   id: DR218
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.retryBudget}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.retryBudget"}
#   - all: # of a host whose rules Istio merges
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.http.maxRetries"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.http.maxRetries"}
#   remedy: |-
#     Write a percent from 0 to 100. Bound retries either by retryBudget or by maxRetries; on ports that Envoy does not read neither
#     is of use.
#   fix: safe
#   proof: {kind: rejects, text: "Envoy's constraint refuses the cluster; in the other cases Envoy reads retry_budget instead of max_retries, and tcp_proxy neither"}
#   observe:
#     stats: [upstream_rq_retry_limit_exceeded, upstream_rq_retry_overflow, cluster_manager.cds.update_rejected]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows retryBudget under circuitBreakers.thresholds; istioctl proxy-status shows CDS as NOT ACKed (STALE) where it was refused"
package meshvet.retry_budget

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

budget := "retryBudget"

uses := mesh.uses([budget, "connectionPool.http.maxRetries"], [budget])

reached(u) := array.concat(u.live, u.dead)

percent(u) := u.value.percent

impossible(u) if {
	u.field == budget
	is_number(percent(u))
	not possible(percent(u))
}

possible(n) if {
	n >= 0
	n <= 100
}

findings contains result.with_more(
	result.at(array.concat(u.path, ["percent"]), sprintf("retryBudget.percent %v%s is not between 0 and 100", [percent(u), u.whose])),
	{
		"severity": "error",
		"effect": "Istio writes it into the cluster's circuit_breakers.thresholds[0].retry_budget, which breaks Envoy's constraint: the proxy rejects the update of its clusters (NACK) and keeps what it had",
		"subject": u.subject,
	},
) if {
	some u in uses
	impossible(u)
	compiled(u)
}

# Otherwise no cluster has it, or none is known.
compiled(u) if count(reached(u)) > 0

compiled(u) if not u.known

findings contains result.with_more(
	result.at(u.path, sprintf("retryBudget%s does nothing on %s, where Envoy sees no requests to retry", [u.whose, u.dead_on])),
	{
		"effect": "the cluster's circuit_breakers.thresholds[0].retry_budget is for the HTTP router; tcp_proxy does not ask for it",
		"fixes": [result.fix("remove retryBudget", "safe", [removal(u)])],
		"subject": u.subject,
	},
) if {
	some u in uses
	u.field == budget
	not impossible(u)
	not u.lost
	forwarding(u)
}

forwarding(u) if {
	count(u.live) == 0
	count(u.dead) > 0
	every p in u.dead {
		p.forwards_bytes
	}
}

# Istio refuses a trafficPolicy without content.
removal(u) := {"op": "remove", "path": u.path} if not sole(u)

removal(u) := {"op": "remove", "path": u.at} if sole(u)

sole(u) if object.keys(object.get(input.object, u.at, {})) == {budget}

findings contains result.with_more(
	result.at(u.path, sprintf("maxRetries %s%s is not looked at on %s, where a retryBudget is in effect", [u.text, u.whose, hosts.listed([p.place | some p in hit])])),
	{
		"effect": "Envoy takes the cluster's circuit_breakers.thresholds[0].retry_budget for the limit of retries in flight, and max_retries beside it for nothing",
		"fixes": [result.fix("remove maxRetries", "unsafe", [{"op": "remove", "path": u.path}])],
		"subject": u.subject,
	},
) if {
	some u in uses
	u.name == "maxRetries"
	is_number(u.value)
	u.value > 0
	count(u.live) == 0

	# Elsewhere it does nothing for want of requests.
	hit := [p | some p in u.dead; p.carries_requests]
	count(hit) > 0
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [u.host])) if {
	some u in uses
	u.field == budget
	not u.known
}
