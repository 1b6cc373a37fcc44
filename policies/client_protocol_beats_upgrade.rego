# METADATA
# title: Upgrade to HTTP/2 and follow the client at once
# description: |-
#   `useClientProtocol: true` beside `h2UpgradePolicy: UPGRADE` in one connectionPool.
#
#   The one lets Envoy speak to the host what the client speaks, the other HTTP/2 whatever the client speaks. Istio's validating webhook
#   refuses a DestinationRule that asks for both. Where the webhook does not run, useClientProtocol wins and the upgrade is gone,
#   together with maxConcurrentStreams and http2KeepAlive, for which there is no place any more.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings-HTTPSettings
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/upstreams/http/v3/http_protocol_options.proto
# custom:
#   id: DR217
#   category: traffic-policy
#   severity: error
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.connectionPool.http.useClientProtocol, values: [true]}
#     - {path: spec.trafficPolicy.connectionPool.http.h2UpgradePolicy, values: [UPGRADE]}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool.http.useClientProtocol", values: [true]}
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool.http.h2UpgradePolicy", values: [UPGRADE]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.http.useClientProtocol", values: [true]}
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.http.h2UpgradePolicy", values: [UPGRADE]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.http.useClientProtocol", values: [true]}
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.http.h2UpgradePolicy", values: [UPGRADE]}
#   supersedes:
#   - {rule: DR216, scope: block}
#   remedy: |-
#     Decide for one: `h2UpgradePolicy: UPGRADE` if the server speaks HTTP/2 and Envoy should always use it, `useClientProtocol: true` if
#     the server speaks both.
#   fix: none
#   proof: {kind: rejects, text: "Istio's validation refuses the two together; compiled all the same, the cluster has use_downstream_protocol_config and no explicit_http_config"}
#   observe:
#     stats: [upstream_cx_http1_total, upstream_cx_http2_total]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows useDownstreamProtocolConfig and no explicitHttpConfig"
package meshvet.client_protocol_beats_upgrade

import data.meshvet.lib.result
import rego.v1

whose(b) := "" if b.subset == ""

whose(b) := sprintf(" of subset %s", [b.subset]) if b.subset != ""

findings contains result.with_more(
	result.at(array.concat(b.path, ["http", "h2UpgradePolicy"]), sprintf("h2UpgradePolicy UPGRADE%s cannot be had together with useClientProtocol", [whose(b)])),
	{
		"effect": "istiod's webhook rejects the object; where the webhook does not run, useClientProtocol wins: the cluster has use_downstream_protocol_config, and Envoy speaks HTTP/1.1 for clients that do",
		"related": [result.also(array.concat(b.path, ["http", "useClientProtocol"]), "useClientProtocol is set here")],
		"subject": {"blocks": ["connectionPool"]},
	},
) if {
	some b in mesh.blocks("connectionPool")
	b.value.http.useClientProtocol == true
	b.value.http.h2UpgradePolicy == "UPGRADE"
}
