# METADATA
# title: TLS settings that the mode does not look at
# description: |-
#   A `tls` block with fields that its `mode` ignores: all others under DISABLE; `clientCertificate` and `privateKey` under SIMPLE; these
#   two, `caCertificates`, `caCrl`, `credentialName` and `insecureSkipVerify` under ISTIO_MUTUAL.
#
#   Istio compiles the same without them and says nothing. Under DISABLE no TLS is started whatever the other fields say. Under SIMPLE
#   the client presents no certificate, so a server that asks for one refuses the connection. Under ISTIO_MUTUAL proxies use the
#   certificates that Istio gives them and trust the mesh's CA only.
#
#   ISTIO_MUTUAL does look at `sni` and `subjectAltNames`, and at `insecureSkipVerify` for a DYNAMIC_DNS host. What Istio refuses
#   together, such as a file beside `credentialName`, is not judged, nor is a block that governs no port. Without a mode see DR232.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ClientTLSSettings-TLSmode
# custom:
#   id: DR237
#   category: tls
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all: [{path: spec.trafficPolicy.tls.mode, values: [DISABLE, SIMPLE, ISTIO_MUTUAL]}]
#   - all: [{path: "spec.trafficPolicy.portLevelSettings[*].tls.mode", values: [DISABLE, SIMPLE, ISTIO_MUTUAL]}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.tls.mode", values: [DISABLE, SIMPLE, ISTIO_MUTUAL]}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].tls.mode", values: [DISABLE, SIMPLE, ISTIO_MUTUAL]}]
#   levels:
#   - all: [{path: tls.mode, values: [DISABLE, SIMPLE, ISTIO_MUTUAL]}, {path: tls.clientCertificate}]
#   - all: [{path: tls.mode, values: [DISABLE, SIMPLE, ISTIO_MUTUAL]}, {path: tls.privateKey}]
#   - all: [{path: tls.mode, values: [DISABLE, ISTIO_MUTUAL]}, {path: tls.caCertificates}]
#   - all: [{path: tls.mode, values: [DISABLE, ISTIO_MUTUAL]}, {path: tls.caCrl}]
#   - all: [{path: tls.mode, values: [DISABLE, ISTIO_MUTUAL]}, {path: tls.credentialName}]
#   - all: [{path: tls.mode, values: [DISABLE, ISTIO_MUTUAL]}, {path: tls.insecureSkipVerify, values: [true]}]
#   - all: [{path: tls.mode, values: [DISABLE]}, {path: tls.sni}]
#   - all: [{path: tls.mode, values: [DISABLE]}, {path: "tls.subjectAltNames[*]"}]
#   remedy: |-
#     Write the mode that looks at the fields, SIMPLE to verify a server or MUTUAL to present a certificate as well, or drop them.
#   fix: show
#   proof: {kind: ignored, text: "without the fields Istio compiles the same cluster, listener and routes"}
#   observe:
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows in transportSocket what the mode makes of the block; without TLS there is none"
package meshvet.tls_field_dead

import data.meshvet.lib.origination
import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

ignored := {
	"DISABLE": ["sni", "subjectAltNames", "caCertificates", "caCrl", "credentialName", "clientCertificate", "privateKey", "insecureSkipVerify"],
	"SIMPLE": ["clientCertificate", "privateKey"],
	"ISTIO_MUTUAL": ["caCertificates", "caCrl", "credentialName", "clientCertificate", "privateKey", "insecureSkipVerify"],
}

blocks := [b |
	some b in mesh.blocks("tls")
	count(dead(b)) > 0
	not b.shadowed
	governs(b)
	not refused(b.value)
]

governs(b) if not b.known

governs(b) if {
	some p in b.ports
	p.compiled
}

refused(tls) if {
	tls.mode == "SIMPLE"
	origination.given(tls, "credentialName")
}

dead(b) := [field |
	some field in ignored[b.value.mode]
	asks(b.value, field)
	not live(b, field)
]

# A field that is empty or false asks for nothing.
asks(tls, field) if {
	not field in {"subjectAltNames", "insecureSkipVerify"}
	origination.given(tls, field)
}

asks(tls, "subjectAltNames") if {
	is_array(tls.subjectAltNames)
	count(tls.subjectAltNames) > 0
}

asks(tls, "insecureSkipVerify") if tls.insecureSkipVerify == true

live(b, "insecureSkipVerify") if {
	b.value.mode == "ISTIO_MUTUAL"
	forwards_dynamically(b)
}

forwards_dynamically(b) if {
	some p in b.ports
	p.cluster == "dynamic_forward_proxy"
}

forwards_dynamically(b) if {
	not b.known
	mesh.reach().wildcard
}

said(fields) := fields[0] if count(fields) == 1

said(fields) := sprintf("%s and %s", [concat(", ", array.slice(fields, 0, count(fields) - 1)), fields[count(fields) - 1]]) if count(fields) > 1

whose(b) := ports.named([p | some p in b.ports; p.compiled]) if b.known

whose(b) := mesh.reach().host if not b.known

# What the mode makes of the block all the same.
comes_to("DISABLE") := "has no transport_socket either way, so Envoy starts no TLS"

comes_to("SIMPLE") := "has no tls_certificate_sds_secret_configs, so Envoy presents no certificate to the server"

comes_to("ISTIO_MUTUAL") := "takes the certificate and the CA that Istio gives each workload (SDS secrets default and ROOTCA)"

cure(b) := result.fix("write mode MUTUAL, which presents the certificate", "show", [{"op": "replace", "path": array.concat(b.path, ["mode"]), "value": "MUTUAL"}]) if {
	b.value.mode == "SIMPLE"
	count(dead(b)) == 2
} else := result.fix(
	sprintf("drop %s", [said(dead(b))]), "show",
	[{"op": "remove", "path": array.concat(b.path, [field])} | some field in dead(b)],
)

findings contains result.with_more(
	result.at(
		array.concat(b.path, [dead(b)[0]]),
		sprintf("tls mode is %s, which does not look at %s", [b.value.mode, said(dead(b))]),
	),
	{
		"effect": sprintf("the cluster for %s %s", [whose(b), comes_to(b.value.mode)]),
		"key": true,
		"related": [result.also(array.concat(b.path, [field]), sprintf("%s is ignored too", [field])) | some field in array.slice(dead(b), 1, count(dead(b)))],
		"fixes": [cure(b)],
		"subject": ports.subject(b.ports),
	},
) if {
	some b in blocks
}
