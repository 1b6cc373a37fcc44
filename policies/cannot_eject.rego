# METADATA
# title: Outlier detection may not eject anything
# description: |-
#   An outlierDetection whose maxEjectionPercent lets nothing be ejected: it is unset or 0, which means 10 %, or set so low that one of
#   the host's endpoints is already more than that share. For static endpoints the number is known; for DNS names the rule says
#   from how many addresses on an ejection is allowed.
#
#   Envoy ejects a host only while the share of ejected hosts, this one included, stays within max_ejection_percent. One of two is
#   50 %, one of nine 11 %. Since envoyproxy/envoy#27909 (2023) this holds for the first host as well; before, one host could
#   always go. always_eject_one_host is false by default, and Istio has no field for it. So the block is there, the counters of
#   consecutive errors rise, and the failing address stays.
#
#   An empty block is taken for a decision. A host with one endpoint has nothing to eject at any percentage, which is another
#   finding. In a subset only the endpoints with its labels count. Those of workloads that are chosen by labels, and those of
#   Kubernetes Services, are not counted.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#OutlierDetection
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/outlier_detection.proto
# - https://github.com/envoyproxy/envoy/pull/27909
# custom:
#   id: DR205
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.outlierDetection}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].outlierDetection"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.outlierDetection"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].outlierDetection"}
#   levels:
#   - all:
#     - {path: outlierDetection}
#     - {path: outlierDetection.maxEjectionPercent, absent: true, below: 50}
#     port: {cluster: [STRICT_DNS, EDS]}
#   supersedes:
#   - {rule: DR214, scope: path}
#   remedy: |-
#     Set maxEjectionPercent so that at least one endpoint may go: 50 for two or more, 34 for three or more.
#   fix: unsafe
#   proof: {kind: envoy, text: "outlier_detection.max_ejection_percent is absent or as written, always_eject_one_host is never written; Envoy compares the share of ejected hosts, the next one included, with the percentage"}
#   observe:
#     stats: [outlier_detection.ejections_overflow, outlier_detection.ejections_active, outlier_detection.ejections_detected_consecutive_5xx]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows outlierDetection without maxEjectionPercent"
package meshvet.cannot_eject

import data.meshvet.lib.result
import rego.v1

detecting := [b |
	some b in mesh.blocks("outlierDetection")
	not b.shadowed
	is_object(b.value)

	# An empty block says that the defaults are meant, and may be there for the sake of locality failover.
	count(b.value) > 0
]

written(b) := object.get(b.value, "maxEjectionPercent", null)

# Istio writes no value for 0, so that Envoy's default is in force.
percent(b) := 10 if written(b) in {null, 0}

percent(b) := written(b) if {
	is_number(written(b))
	written(b) > 0
}

says(b) := "maxEjectionPercent is unset, which means 10 %, and" if {
	written(b) == null
} else := "maxEjectionPercent 0 counts as unset, which means 10 %, and" if {
	written(b) == 0
} else := sprintf("maxEjectionPercent %v", [written(b)])

# Ports from whose list one address may be ejected at all.
listed(b) := [p | some p in b.ports; p.list; not alone(p)]

alone(p) if {
	is_number(p.endpoints)
	p.endpoints < 2
}

stuck(p, percent) if {
	is_number(p.endpoints)
	p.endpoints * percent < 100
}

# How many addresses a name has only the resolver knows; a percentage above the default is the author's estimate of it.
stuck(p, percent) if {
	p.endpoints == null
	p.cluster == "STRICT_DNS"
	p.target.kind == "ServiceEntry"
	percent <= 10
}

smallest(percent) := ceil(100 / percent)

words := {10: "ten"}

count_word(n) := object.get(words, n, format_int(n, 10))

consequence(p, _) := sprintf("lets none of the %d endpoints of %s be ejected", [p.endpoints, p.host]) if is_number(p.endpoints)

consequence(p, percent) := sprintf("lets nothing be ejected while %s has fewer than %s addresses", [p.host, count_word(smallest(percent))]) if p.endpoints == null

arithmetic(p) := sprintf("one of %d would be %v %%", [p.endpoints, floor(1000 / p.endpoints) / 10]) if is_number(p.endpoints)

arithmetic(p) := "one of two would be 50 %, one of nine 11 %" if p.endpoints == null

whose(b) := "" if b.subset == ""

whose(b) := sprintf(" for subset %s", [b.subset]) if b.subset != ""

at(b) := array.concat(b.path, ["maxEjectionPercent"])

findings contains result.with_more(
	result.at(at(b), sprintf("%s %s%s", [says(b), consequence(ports[0], percent(b)), whose(b)])),
	{
		"effect": sprintf("Envoy ejects an address only if the ejected share then stays within max_ejection_percent (%s), and Istio leaves always_eject_one_host false: failing addresses are counted and kept", [arithmetic(ports[0])]),
		"fixes": [result.set("set maxEjectionPercent to 50", "unsafe", [{"path": at(b), "value": 50}])],
		"subject": {
			"hosts": [h | some h in {p.host | some p in ports}],
			"ports": [n | some n in {p.number | some p in ports}],
		},
	},
) if {
	some b in detecting
	ports := listed(b)
	count(ports) > 0
	every p in ports {
		stuck(p, percent(b))
	}
}
