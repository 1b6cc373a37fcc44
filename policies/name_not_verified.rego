# METADATA
# title: The server's certificate is checked, its name is not
# description: |-
#   TLS of mode SIMPLE or MUTUAL towards a port of a ServiceEntry to which Envoy sends HTTP requests, with `sni` and without
#   `subjectAltNames`, neither in the DestinationRule nor in the ServiceEntry. Such ports are those of protocol HTTP, HTTP2 or GRPC,
#   those without a protocol, and those of protocol TLS or HTTPS to which an `http` route leads.
#
#   Without `sni` Istio lets Envoy send the host of each request as SNI and check the certificate for that very name (auto_sni and
#   auto_san_validation). An `sni` in the DestinationRule switches both off. What is left is the check that the certificate chains
#   to a trusted CA: with the system's CAs that is a certificate for any name from any public CA, so whoever can redirect the
#   traffic can answer it.
#
#   Samples in documentation are written this way too, so many rules have it. A DYNAMIC_DNS host keeps auto_san_validation and is
#   not reported. Where `sni` and `subjectAltNames` stand together, or both are left out, the name is verified.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ClientTLSSettings
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/core/v3/protocol.proto#envoy-v3-api-field-config-core-v3-upstreamhttpprotocoloptions-auto-san-validation
# custom:
#   id: DR231
#   category: tls
#   severity: warning
#   strictSeverity: error
#   security: true
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.tls.sni}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].tls.sni"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.tls.sni"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].tls.sni"}
#   levels:
#   - all:
#     - {path: tls.mode, values: [SIMPLE, MUTUAL]}
#     - {path: tls.sni}
#     - {path: "tls.subjectAltNames[*]", absent: true}
#     port: {family: [L7, sniffed]}
#   - all:
#     - {path: tls.mode, values: [SIMPLE, MUTUAL]}
#     - {path: tls.sni}
#     - {path: "tls.subjectAltNames[*]", absent: true}
#     port: {tls: true}
#   remedy: |-
#     List the name that the server's certificate must bear under `subjectAltNames`. Or drop `sni`: Envoy then sends the host of
#     each request and verifies it.
#   fix: unsafe
#   proof: {kind: changes, text: "without sni the cluster has auto_sni and auto_san_validation, with subjectAltNames it has match_subject_alt_names, and with sni alone it has none of them"}
#   observe:
#     stats: [ssl.fail_verify_san, ssl.handshake]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows sni in transportSocket, no matchSubjectAltNames in its validation context and no autoSanValidation in HttpProtocolOptions"
package meshvet.name_not_verified

import data.meshvet.lib.origination
import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

blocks := [b |
	some b in mesh.blocks("tls")
	b.value.mode in {"SIMPLE", "MUTUAL"}
	object.get(b.value, "sni", "") != ""
	count(object.get(b.value, "subjectAltNames", [])) == 0
	not object.get(b.value, "insecureSkipVerify", false)
	not b.shadowed
]

# Ports to which Envoy sends requests that it has read: elsewhere auto_sni and auto_san_validation have no part anyway.
requested(p) if p.family in {"L7", "sniffed"}

requested(p) if p.cleartext

unverified(b) := [p |
	some p in b.ports
	requested(p)
	p.target.kind == "ServiceEntry"
	p.cluster != "dynamic_forward_proxy"
	not p.in_cluster_name
	count(p.subject_alt_names) == 0
]

findings contains result.with_more(
	result.at(
		array.concat(b.path, ["sni"]),
		sprintf("sni is %s and there are no subjectAltNames, so the name in the certificate of %s is not verified", [b.value.sni, ports.listed(hit)]),
	),
	{
		"effect": sprintf(
			"%s accepts any certificate that chains to %s: because of sni the cluster has neither auto_sni nor auto_san_validation, and without subjectAltNames no match_subject_alt_names",
			[origination.proxy(input.object, b.value), origination.trusted(b.value)],
		),
		"fixes": [
			result.set(sprintf("verify the name %s", [b.value.sni]), "unsafe", [{"path": array.concat(b.path, ["subjectAltNames"]), "value": [b.value.sni]}]),
			result.fix("drop sni, so that Envoy verifies the host of each request", "unsafe", [{"op": "remove", "path": array.concat(b.path, ["sni"])}]),
		],
		"subject": ports.subject(hit),
	},
) if {
	some b in blocks
	hit := unverified(b)
	count(hit) > 0
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [reach.host])) if {
	some b in blocks
	not b.known
	reach := mesh.reach()
	not reach.in_cluster
}
