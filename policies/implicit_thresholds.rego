# METADATA
# title: Outlier detection ejects at a number that the rule does not say
# description: |-
#   An `outlierDetection` that sets no threshold; that sets consecutiveGatewayErrors and leaves consecutive5xxErrors out; that splits
#   off failures to connect and does not say how many eject; or whose consecutiveGatewayErrors is not below consecutive5xxErrors.
#
#   What is not set is not off. Istio writes no consecutive_5xx then, and Envoy's own default is in force: an address goes after 5
#   errors of the kind 5xx in a row, which failures to connect count as. So consecutiveGatewayErrors alone is not "gateway errors
#   only": five answers 500 eject as well. Likewise splitExternalLocalOriginErrors brings in a threshold of 5 failures to connect
#   unless consecutiveLocalOriginFailures is set, and 0 does not set it.
#
#   Gateway errors (502, 503, 504) are 5xx errors too. So a consecutiveGatewayErrors that is equal to consecutive5xxErrors or
#   higher is reached later or at the same time, and decides nothing.
#
#   `outlierDetection: {}` says that the defaults are meant, and a threshold of 0 that the count is not wanted. Where Envoy forwards
#   bytes and failures to connect are split off, only consecutiveLocalOriginFailures counts.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#OutlierDetection
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/outlier_detection.proto
# custom:
#   id: DR210
#   category: traffic-policy
#   severity: info
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
#     - {path: outlierDetection.consecutive5xxErrors, absent: true}
#     - {path: outlierDetection.consecutiveLocalOriginFailures, absent: true}
#     port: {cluster: [STRICT_DNS, EDS]}
#   - all:
#     - {path: outlierDetection.consecutiveGatewayErrors}
#     port: {cluster: [STRICT_DNS, EDS]}
#   - all:
#     - {path: outlierDetection.splitExternalLocalOriginErrors, values: [true]}
#     - {path: outlierDetection.consecutiveLocalOriginFailures, below: 1, absent: true}
#     port: {cluster: [STRICT_DNS, EDS]}
#   remedy: |-
#     Write the number that is meant. To eject for gateway errors only, set consecutive5xxErrors to 0 beside consecutiveGatewayErrors.
#   fix: none
#   proof: {kind: changes, text: "the cluster's outlier_detection has no consecutive_5xx or consecutive_local_origin_failure, for which Envoy takes 5, and has the number once it is written"}
#   observe:
#     stats: [outlier_detection.ejections_enforced_consecutive_5xx, outlier_detection.ejections_enforced_consecutive_gateway_failure, outlier_detection.ejections_enforced_consecutive_local_origin_failure]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows outlierDetection without consecutive5xx or consecutiveLocalOriginFailure"
package meshvet.implicit_thresholds

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

# Where addresses can be ejected. Whether they can is taken for granted of a host that is not in view.
blocks := [b |
	some b in mesh.blocks("outlierDetection")
	not b.shadowed
	is_object(b.value)
	ejecting(b)
]

ejecting(b) if not b.known

ejecting(b) if count(listed(b)) > 0

listed(b) := [p | some p in b.ports; p.list]

value(b, field) := object.get(b.value, field, null)

positive(b, field) if {
	is_number(value(b, field))
	value(b, field) > 0
}

splits(b) if value(b, "splitExternalLocalOriginErrors") == true

# Whether responses count, on one of the ports at least. With the split they do not where Envoy forwards bytes.
counts_responses(b) if not splits(b)

counts_responses(b) if {
	some p in listed(b)
	not p.forwards_bytes
}

at(b, field) := array.concat(b.path, [field])

subject(b) := ports.subject(listed(b))

on(b) := "" if count(listed(b)) == 0

on(b) := sprintf(" on %s", [ports.named(listed(b))]) if count(listed(b)) > 0

# What is set, none of which says when to eject.
beside(b) := concat(", ", [name(field, v) | some field, v in b.value; v != null])

name(field, _) := field if field != "consecutiveGatewayErrors"

name(field, v) := sprintf("%s %v", [field, v]) if field == "consecutiveGatewayErrors"

# Of a number that Istio does not read any more, or drops, another rule says what is in force instead.
says_when(b) if {
	some field in ["consecutiveErrors", "consecutive5xxErrors", "consecutiveLocalOriginFailures"]
	value(b, field) != null
}

says_when(b) if positive(b, "consecutiveGatewayErrors")

findings contains result.with_more(
	result.at(b.path, sprintf("outlierDetection sets no threshold, only %s: an address is ejected after 5 errors in a row%s", [beside(b), on(b)])),
	{
		"effect": "Istio writes no consecutive_5xx into the cluster's outlier_detection, so Envoy's default of 5 is enforced; failures to connect count as 5xx too",
		"subject": subject(b),
	},
) if {
	some b in blocks
	not splits(b)
	beside(b) != ""
	not says_when(b)
}

also(n) := "as well" if n < 5

also(n) := "first" if n >= 5

findings contains result.with_more(
	result.at(
		at(b, "consecutiveGatewayErrors"),
		sprintf("consecutiveGatewayErrors %v without consecutive5xxErrors: 5 errors of any 5xx kind eject %s%s", [n, also(n), on(b)]),
	),
	{
		"effect": "Istio writes no consecutive_5xx into the cluster's outlier_detection, so Envoy's default of 5 is enforced beside consecutive_gateway_failure; 0 would switch it off",
		"subject": subject(b),
	},
) if {
	some b in blocks
	counts_responses(b)
	positive(b, "consecutiveGatewayErrors")
	n := b.value.consecutiveGatewayErrors
	value(b, "consecutive5xxErrors") == null
	value(b, "consecutiveErrors") == null
	ahead(b, n)
}

# Where Envoy forwards bytes, every error counts as either kind, so that the lower threshold is the only one.
ahead(_, n) if n >= 5

ahead(b, _) if count(listed(b)) == 0

ahead(b, _) if {
	some p in listed(b)
	not p.forwards_bytes
}

findings contains result.with_more(
	result.at(
		at(b, "consecutiveGatewayErrors"),
		sprintf("consecutiveGatewayErrors %v has no effect beside consecutive5xxErrors %v%s", [b.value.consecutiveGatewayErrors, b.value.consecutive5xxErrors, on(b)]),
	),
	{
		"effect": "a gateway error is a 5xx error too, so Envoy reaches the cluster's outlier_detection.consecutive_5xx first or at the same time",
		"related": [result.also(at(b, "consecutive5xxErrors"), "the lower threshold, or the same")],
		"subject": subject(b),
	},
) if {
	some b in blocks
	not only_bytes(b)
	positive(b, "consecutive5xxErrors")
	is_number(value(b, "consecutiveGatewayErrors"))
	b.value.consecutiveGatewayErrors >= b.value.consecutive5xxErrors
}

# Then neither count is ever raised, which is another finding.
only_bytes(b) if {
	count(listed(b)) > 0
	not counts_responses(b)
}

# Zero is the same as none to Istio.
unset := {null: "splitExternalLocalOriginErrors without consecutiveLocalOriginFailures", 0: "consecutiveLocalOriginFailures 0 counts as unset"}

where := {null: "splitExternalLocalOriginErrors", 0: "consecutiveLocalOriginFailures"}

findings contains result.with_more(
	result.at(
		at(b, where[n]),
		sprintf("%s: an address is ejected after 5 failures to connect in a row%s", [unset[n], on(b)]),
	),
	{
		"effect": "Istio writes no consecutive_local_origin_failure into the cluster's outlier_detection, so Envoy's default of 5 is enforced",
		"subject": subject(b),
	},
) if {
	some b in blocks
	splits(b)
	n := value(b, "consecutiveLocalOriginFailures")
	n in {null, 0}
}
