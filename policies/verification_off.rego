# METADATA
# title: The server's certificate is not verified
# description: |-
#   TLS of mode SIMPLE or MUTUAL with `insecureSkipVerify: true`.
#
#   Envoy then takes any certificate, whoever issued it and whatever name it bears: the connection is encrypted, but to whom nobody
#   knows. Who can redirect the traffic, by DNS or on the network, can read and answer it, and with mode MUTUAL the client still
#   presents its own certificate to whoever that is. Istio says nothing about it.
#
#   On a port of protocol TLS or HTTPS to which no `http` route leads, the fault is that TLS is started at all; that is DR234. Modes
#   DISABLE and ISTIO_MUTUAL do not look at the field.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ClientTLSSettings
# custom:
#   id: DR236
#   category: tls
#   severity: error
#   security: true
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all: [{path: spec.trafficPolicy.tls.insecureSkipVerify, values: [true]}]
#   - all: [{path: "spec.trafficPolicy.portLevelSettings[*].tls.insecureSkipVerify", values: [true]}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.tls.insecureSkipVerify", values: [true]}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].tls.insecureSkipVerify", values: [true]}]
#   levels:
#   - all:
#     - {path: tls.mode, values: [SIMPLE, MUTUAL]}
#     - {path: tls.insecureSkipVerify, values: [true]}
#   remedy: |-
#     Drop `insecureSkipVerify`. If the certificate is of a CA of your own, give that CA by `caCertificates` or `credentialName`; if it
#     bears another name than the host, list that name under `subjectAltNames`.
#   fix: none
#   proof: {kind: changes, text: "with insecureSkipVerify the cluster's validation_context is empty, without it there are a CA and the name to check"}
#   observe:
#     stats: [ssl.handshake, ssl.fail_verify_error, ssl.fail_verify_san]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows an empty validationContext, or none, in transportSocket and no autoSanValidation in HttpProtocolOptions"
package meshvet.verification_off

import data.meshvet.lib.origination
import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

blocks := [b |
	some b in mesh.blocks("tls")
	b.value.insecureSkipVerify == true
	origination.starts(b.value)
	not b.shadowed
]

# Ports whose servers answer a handshake that Envoy starts.
unverified(b) := [p | some p in b.ports; p.compiled; starts_here(p)]

starts_here(p) if not p.tls

starts_here(p) if p.cleartext

whose(b) := ports.listed(hit) if {
	hit := unverified(b)
	count(hit) > 0
} else := mesh.reach().host if {
	not b.known
}

presents(b) := ", and presents the client's own to whoever answers" if b.value.mode == "MUTUAL"

presents(b) := "" if b.value.mode == "SIMPLE"

findings contains result.with_more(
	result.at(
		array.concat(b.path, ["insecureSkipVerify"]),
		sprintf("insecureSkipVerify is true, so the certificate of %s is not verified", [whose(b)]),
	),
	{
		"effect": sprintf(
			"%s takes any certificate, be it an attacker's%s: the cluster's validation_context holds no CA and no name, and auto_san_validation is off",
			[origination.proxy(input.object, b.value), presents(b)],
		),
		"subject": ports.subject(unverified(b)),
	},
) if {
	some b in blocks
}
