# METADATA
# title: An outlierDetection field that Istio does not act on
# description: |-
#   `consecutiveErrors`; `outlierDetectionHttpErrorCodes`, for the versions of Istio that have the field and do not read it; and
#   `consecutiveLocalOriginFailures` without `splitExternalLocalOriginErrors: true`.
#
#   consecutiveErrors once meant gateway errors. Istio only warns that it is deprecated; it does not say that nothing reads it any
#   more, so that Envoy's own threshold of 5 consecutive 5xx errors is in force instead of the number in the file.
#
#   outlierDetectionHttpErrorCodes came into the API before any code that reads it: up to Istio 1.31 the compiler has no reference
#   to it.
#
#   consecutiveLocalOriginFailures counts failures to connect apart from responses, which Envoy does only when the two are split.
#   Istio refuses the combination; where its webhook does not run, the field is dropped.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#OutlierDetection
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/outlier#consecutive-local-origin-failure
# custom:
#   id: DR211
#   category: traffic-policy
#   severity: error
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.outlierDetection.consecutiveErrors}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].outlierDetection.consecutiveErrors"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.outlierDetection.consecutiveErrors"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].outlierDetection.consecutiveErrors"}
#   - all:
#     - {path: spec.trafficPolicy.outlierDetection.outlierDetectionHttpErrorCodes}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].outlierDetection.outlierDetectionHttpErrorCodes"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.outlierDetection.outlierDetectionHttpErrorCodes"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].outlierDetection.outlierDetectionHttpErrorCodes"}
#   - all:
#     - {path: spec.trafficPolicy.outlierDetection.consecutiveLocalOriginFailures}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].outlierDetection.consecutiveLocalOriginFailures"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.outlierDetection.consecutiveLocalOriginFailures"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].outlierDetection.consecutiveLocalOriginFailures"}
#   levels:
#   - all:
#     - {path: outlierDetection.consecutiveErrors}
#   - all:
#     - {path: outlierDetection.outlierDetectionHttpErrorCodes}
#   - all:
#     - {path: outlierDetection.consecutiveLocalOriginFailures}
#     - {path: outlierDetection.splitExternalLocalOriginErrors, except: [true], absent: true}
#   remedy: |-
#     Write consecutive5xxErrors or consecutiveGatewayErrors for consecutiveErrors. Beside consecutiveLocalOriginFailures write
#     `splitExternalLocalOriginErrors: true`.
#   supersedes:
#   - {rule: MV907, scope: path}
#   fix: unsafe
#   proof: {kind: ignored, text: "without consecutiveErrors or outlierDetectionHttpErrorCodes the clusters are the same; Istio's validation refuses consecutiveLocalOriginFailures without the split"}
#   observe:
#     stats: [outlier_detection.ejections_enforced_consecutive_5xx, outlier_detection.ejections_enforced_consecutive_local_origin_failure]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows outlierDetection without consecutive5xx or consecutiveLocalOriginFailure"
package meshvet.outlier_field_ignored

import data.meshvet.lib.result
import rego.v1

blocks := [block |
	some block in mesh.blocks("outlierDetection")
	is_object(block.value)
]

has(block, field) if object.get(block.value, field, null) != null

field_path(block, field) := array.concat(block.path, [field])

counted_otherwise(block) if has(block, "consecutive5xxErrors")

counted_otherwise(block) if has(block, "consecutiveGatewayErrors")

# What is in force instead, if a cluster has the block.
in_force(block) := "" if {
	block.shadowed
} else := "" if {
	block.known
	count(block.ports) == 0
} else := ": consecutive_5xx keeps Envoy's default, 5" if {
	not has(block, "consecutive5xxErrors")
} else := ": consecutive_5xx is not enforced, as consecutive5xxErrors 0 says" if {
	block.value.consecutive5xxErrors == 0
} else := sprintf(": consecutive_5xx is %v, as consecutive5xxErrors says", [block.value.consecutive5xxErrors])

# Istio's own documentation went from the one name to the other.
rename(block) := {
	"title": sprintf("write it as consecutive5xxErrors: %v", [block.value.consecutiveErrors]), "safety": "unsafe",
	"ops": [
		{"op": "remove", "path": field_path(block, "consecutiveErrors")},
		{"op": "add", "path": field_path(block, "consecutive5xxErrors"), "value": block.value.consecutiveErrors},
	],
} if {
	not counted_otherwise(block)
}

rename(block) := result.fix("remove consecutiveErrors", "show", [{"op": "remove", "path": field_path(block, "consecutiveErrors")}]) if counted_otherwise(block)

findings contains result.with_more(
	result.at(field_path(block, "consecutiveErrors"), sprintf("consecutiveErrors %v is not read by Istio any more", [block.value.consecutiveErrors])),
	{
		"key": true,
		"effect": sprintf("the cluster's outlier_detection is the same as without it%s", [in_force(block)]),
		"fixes": [rename(block)],
	},
) if {
	some block in blocks
	has(block, "consecutiveErrors")
}

# The version whose compiler is known not to read the field. Of later ones nothing is known.
reads_codes if {
	version := mesh.settings().istio_version
	version != ""
	semver.compare(sprintf("%s.0", [concat(".", array.slice(split(version, "."), 0, 2))]), "1.32.0") >= 0
}

findings contains result.with_more(
	result.at(
		field_path(block, "outlierDetectionHttpErrorCodes"),
		sprintf("outlierDetectionHttpErrorCodes %s is not read by Istio up to 1.31", [json.marshal(block.value.outlierDetectionHttpErrorCodes)]),
	),
	{
		"key": true,
		"effect": "the cluster's outlier_detection is the same as without it: Envoy gets no list of codes and goes by consecutive5xxErrors and consecutiveGatewayErrors, or by their defaults",
		"fixes": [result.fix("remove outlierDetectionHttpErrorCodes", "show", [{"op": "remove", "path": field_path(block, "outlierDetectionHttpErrorCodes")}])],
	},
) if {
	some block in blocks
	has(block, "outlierDetectionHttpErrorCodes")
	not reads_codes
}

findings contains result.with_more(
	result.at(
		field_path(block, "consecutiveLocalOriginFailures"),
		sprintf("consecutiveLocalOriginFailures %v has no effect without splitExternalLocalOriginErrors: true", [block.value.consecutiveLocalOriginFailures]),
	),
	{
		"key": true,
		"effect": "istiod's webhook rejects the object; where the webhook does not run, Istio drops the value and Envoy counts failures to connect together with 5xx and gateway errors",
		"fixes": [result.set("set splitExternalLocalOriginErrors to true", "unsafe", [{"path": field_path(block, "splitExternalLocalOriginErrors"), "value": true}])],
	},
) if {
	some block in blocks
	is_number(block.value.consecutiveLocalOriginFailures)
	block.value.consecutiveLocalOriginFailures > 0
	not object.get(block.value, "splitExternalLocalOriginErrors", false) == true
}
