# METADATA
# title: minHealthPercent undoes the ejections that maxEjectionPercent allows
# description: |-
#   A minHealthPercent so high that Envoy panics before outlier detection has ejected as much as it may. With two endpoints, or
#   three, the first ejection can be enough: a warning. If only a later one is, it is an info that maxEjectionPercent is cut short.
#
#   minHealthPercent becomes the cluster's healthy_panic_threshold. When a smaller share of the addresses is left, Envoy takes the
#   list for useless and sends to all of them again, the ejected ones included. One of two leaves 50 %, so that 60 there means that the dead
#   address keeps getting its half.
#
#   Envoy panics only below 72 % in any case: it takes 100 % for reached while 1.4 times the addresses that are left make up for all.
#   So one of four or more is never the last straw, and values above 72 mean no more than 72.
#
#   Unset and 0 switch panic off. A maxEjectionPercent of 100 leaves the limit to minHealthPercent, which is a choice. What is left is not
#   judged where endpoints are in several localities, which back each other up, where labels choose workloads, and for Services of
#   the mesh. Of DNS names the number of addresses is not known, and the shares are compared.
# related_resources:
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/load_balancing/panic_threshold
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/load_balancing/overprovisioning
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#OutlierDetection
# custom:
#   id: DR212
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.outlierDetection.minHealthPercent}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].outlierDetection.minHealthPercent"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.outlierDetection.minHealthPercent"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].outlierDetection.minHealthPercent"}
#   levels:
#   - all: [{path: outlierDetection.minHealthPercent}]
#     port: {cluster: [STRICT_DNS, EDS]}
#   remedy: |-
#     Leave minHealthPercent out, or set it to what may be left at most: 50 for two endpoints, and no more than 100 less
#     maxEjectionPercent for many.
#   fix: none
#   proof: {kind: envoy, text: "Istio copies minHealthPercent to common_lb_config.healthy_panic_threshold and sets no overprovisioning_factor; below the threshold Envoy balances over all hosts, ejected or not"}
#   observe:
#     stats: [lb_healthy_panic, outlier_detection.ejections_active, membership_healthy]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows healthyPanicThreshold under commonLbConfig"
package meshvet.panic_before_ejection

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

percent(b, field, default_value) := n if {
	n := object.get(b.value, field, 0)
	is_number(n)
	n > 0
} else := default_value

# Istio writes no number for 0, so that Envoy's default of 10 is in force.
limit(b) := percent(b, "maxEjectionPercent", 10)

health(b) := percent(b, "minHealthPercent", 0)

blocks := [b |
	some b in mesh.blocks("outlierDetection")
	not b.shadowed
	is_object(b.value)
	health(b) > 0
]

listed(b) := [p | some p in b.ports; p.list]

# Whose addresses are all of one priority, so that nothing backs them up.
judged(p) if {
	p.localities == 1
	not p.near
	not p.in_cluster_name
}

# The number of ejections with which Envoy panics: the least that leaves less than the threshold, and than 100/140 of all.
straw(n, threshold) := (n - ceil(min({(n * threshold) / 100, (n * 100) / 140}))) + 1

allowed(n, percentage) := floor((n * percentage) / 100)

fits(p, b) if {
	judged(p)
	is_number(p.endpoints)
	p.endpoints > 1
	straw(p.endpoints, health(b)) <= allowed(p.endpoints, limit(b))
}

first(p, b) if {
	fits(p, b)
	straw(p.endpoints, health(b)) == 1
}

# Of how many addresses it is the share, only the resolver knows.
cut(p, b) if {
	judged(p)
	p.endpoints == null
	p.cluster == "STRICT_DNS"
	100 - limit(b) < health(b)
	(100 - limit(b)) * 140 < 10000
}

cut(p, b) if fits(p, b)

share(n, k) := floor(((n - k) * 1000) / n) / 10

whose(b) := "" if b.subset == ""

whose(b) := sprintf(" for subset %s", [b.subset]) if b.subset != ""

at(b) := array.concat(b.path, ["minHealthPercent"])

panics := "below the cluster's common_lb_config.healthy_panic_threshold Envoy sends to all addresses again, the ejected ones included"

findings contains result.with_more(
	result.at(at(b), sprintf("minHealthPercent %v undoes the first ejection on %s%s: with one of %d endpoints out, %v %% are left", [health(b), ports.named(hit), whose(b), n, share(n, 1)])),
	{
		"effect": sprintf("%s: failing addresses keep getting their share", [panics]),
		"subject": ports.subject(hit),
	},
) if {
	some b in blocks
	hit := listed(b)
	count(hit) > 0
	every p in hit {
		first(p, b)
	}
	n := hit[0].endpoints
}

findings contains result.with_more(
	result.at(at(b), sprintf("minHealthPercent %v cuts maxEjectionPercent %v short on %s%s: %s", [health(b), limit(b), ports.named(hit), whose(b), when(hit[0], b)])),
	{
		"severity": "info",
		"effect": panics,
		"subject": ports.subject(hit),
	},
) if {
	some b in blocks
	limit(b) < 100
	hit := listed(b)
	count(hit) > 0
	every p in hit {
		cut(p, b)
	}
	some p in hit
	not first(p, b)
}

when(p, b) := sprintf("with %d of %d endpoints out, %v %% are left", [k, p.endpoints, share(p.endpoints, k)]) if {
	is_number(p.endpoints)
	k := straw(p.endpoints, health(b))
}

when(p, b) := sprintf("ejections come to nothing once less than %v %% of the addresses are left", [min({health(b), 72})]) if p.endpoints == null

findings contains result.skip(sprintf("%s is not in view, so the number of its endpoints is not known", [reach.host])) if {
	some b in blocks
	not b.known
	reach := mesh.reach()
	not reach.in_cluster
}
