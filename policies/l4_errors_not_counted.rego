# METADATA
# title: Error counts that stay at zero where Envoy reads no responses
# description: |-
#   `consecutive5xxErrors` or `consecutiveGatewayErrors` beside `splitExternalLocalOriginErrors: true`, reaching only ports on which
#   Envoy forwards bytes: of protocol TLS, HTTPS, TCP or a database.
#
#   On such a port the only errors are failures to connect. Without the split they count as 5xx and as gateway errors, and these
#   thresholds work. The split counts them apart, as local origin failures, and leaves to the two others what servers answer, which
#   tcp_proxy does not read. So nothing is ejected at the number in the file but at consecutiveLocalOriginFailures, 5 unless it
#   is set.
#
#   A threshold of 0 says that the count is not wanted. A rule that also reaches a port whose requests Envoy reads, be it through
#   an http route, counts there. Hosts without a list of addresses have nothing to eject.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#OutlierDetection
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/outlier#ejection-algorithm
# custom:
#   id: DR206
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.outlierDetection.splitExternalLocalOriginErrors, values: [true]}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].outlierDetection.splitExternalLocalOriginErrors", values: [true]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.outlierDetection.splitExternalLocalOriginErrors", values: [true]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].outlierDetection.splitExternalLocalOriginErrors", values: [true]}
#   levels:
#   - all:
#     - {path: outlierDetection.splitExternalLocalOriginErrors, values: [true]}
#     - {path: outlierDetection.consecutive5xxErrors}
#     port: {family: [L4], cluster: [STRICT_DNS, EDS]}
#   - all:
#     - {path: outlierDetection.splitExternalLocalOriginErrors, values: [true]}
#     - {path: outlierDetection.consecutiveGatewayErrors}
#     port: {family: [L4], cluster: [STRICT_DNS, EDS]}
#   remedy: |-
#     Leave the two out and set consecutiveLocalOriginFailures. Or drop splitExternalLocalOriginErrors, so that failures to connect count
#     as 5xx and gateway errors.
#   fix: none
#   proof: {kind: envoy, text: "Istio copies consecutive_5xx, consecutive_gateway_failure and split_external_local_origin_errors onto the cluster of a port that only tcp_proxy serves; Envoy counts failures to connect as local origin failures then"}
#   observe:
#     stats: [outlier_detection.ejections_detected_consecutive_5xx, outlier_detection.ejections_detected_consecutive_local_origin_failure]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows splitExternalLocalOriginErrors beside consecutive5xx; istioctl proxy-config listener POD --port PORT -o json shows tcp_proxy and no http_connection_manager"
package meshvet.l4_errors_not_counted

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

splitting := [b |
	some b in mesh.blocks("outlierDetection")
	not b.shadowed
	is_object(b.value)
	object.get(b.value, "splitExternalLocalOriginErrors", false) == true
]

# Thresholds that ask for something.
asking(b) := [field |
	some field in ["consecutive5xxErrors", "consecutiveGatewayErrors"]
	is_number(b.value[field])
	b.value[field] > 0
]

told(b, fields) := concat(" and ", [sprintf("%s %v", [f, b.value[f]]) | some f in fields])

verb(fields) := "counts" if count(fields) == 1

verb(fields) := "count" if count(fields) > 1

# Istio writes no number for 0, so that Envoy's default is in force.
local_origin(b) := n if {
	n := object.get(b.value, "consecutiveLocalOriginFailures", 0)
	is_number(n)
	n > 0
} else := 5

at(b, field) := array.concat(b.path, [field])

findings contains result.with_more(
	result.at(at(b, fields[0]), sprintf("%s %s nothing on %s: failures to connect are split off, and Envoy reads no responses there", [told(b, fields), verb(fields), ports.named(hit)])),
	{
		"effect": sprintf("tcp_proxy has only failures to connect to report, and with outlier_detection.split_external_local_origin_errors they count as local origin failures: Envoy ejects after %v of these and never for the other threshold", [local_origin(b)]),
		"related": [result.also(at(b, "splitExternalLocalOriginErrors"), "failures to connect are split off here")],
		"subject": ports.subject(hit),
	},
) if {
	some b in splitting
	fields := asking(b)
	count(fields) > 0
	hit := [p | some p in b.ports; p.list]
	count(hit) > 0
	every p in hit {
		p.forwards_bytes
	}
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [reach.host])) if {
	some b in splitting
	count(asking(b)) > 0
	not b.known
	reach := mesh.reach()
	not reach.in_cluster
}
