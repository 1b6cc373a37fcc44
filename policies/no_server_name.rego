# METADATA
# title: TLS where no request tells the server's name
# description: |-
#   TLS of mode SIMPLE or MUTUAL towards a TCP port of a ServiceEntry without `sni`, or without `subjectAltNames` in the
#   DestinationRule and the ServiceEntry; and an `sni` for a DYNAMIC_DNS host.
#
#   Where Envoy reads requests, Istio lets it send the host of each as SNI and check the certificate for it. On a TCP port it reads
#   none, so it sends the SNI that the rule gives and checks the names that the rule or the ServiceEntry lists, or else nothing. Without
#   names any certificate of a trusted CA is good enough, and with the system's CAs that is a certificate for any name. Without SNI
#   alone, the server is verified but has to guess which certificate is wanted: that is an info, and for a host that is an address,
#   which no SNI can name, not reported.
#
#   For DYNAMIC_DNS it is the other way round: the rule's `sni` is sent whichever host a request is for, while the certificate is
#   checked for that host.
#
#   With `insecureSkipVerify` missing names are DR236's matter. A TCP port to which an `http` route leads is not judged.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ClientTLSSettings
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/core/v3/protocol.proto#envoy-v3-api-field-config-core-v3-upstreamhttpprotocoloptions-auto-sni
# custom:
#   id: DR239
#   category: tls
#   severity: warning
#   security: true
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all: [{path: spec.trafficPolicy.tls.mode, values: [SIMPLE, MUTUAL]}]
#   - all: [{path: "spec.trafficPolicy.portLevelSettings[*].tls.mode", values: [SIMPLE, MUTUAL]}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.tls.mode", values: [SIMPLE, MUTUAL]}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].tls.mode", values: [SIMPLE, MUTUAL]}]
#   levels:
#   - all: [{path: tls.mode, values: [SIMPLE, MUTUAL]}]
#     port: {family: [L4], tls: false}
#   - all: [{path: tls.mode, values: [SIMPLE, MUTUAL]}, {path: tls.sni}]
#     port: {cluster: [dynamic_forward_proxy]}
#   remedy: |-
#     On a TCP port write the server's name twice: as `sni`, and under `subjectAltNames`. For a DYNAMIC_DNS host drop `sni`.
#   fix: none
#   proof: {kind: changes, text: "with sni and subjectAltNames the cluster's transport_socket has them; without, a TCP port has no SNI and no match_subject_alt_names"}
#   observe:
#     stats: [ssl.handshake, ssl.fail_verify_san, ssl.connection_error]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows what transportSocket has of sni and matchSubjectAltNames"
package meshvet.no_server_name

import data.meshvet.lib.address
import data.meshvet.lib.origination
import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

blocks := [b |
	some b in mesh.blocks("tls")
	origination.starts(b.value)
	not b.shadowed
]

outside(b) := [p |
	some p in b.ports
	p.target.kind == "ServiceEntry"
	not p.in_cluster_name
	p.compiled
]

# What a TCP port lacks for want of a request. SNI holds names, not addresses.
lacks(b, p) := {l |
	p.family == "L4"
	not p.tls
	count(mesh.cleartext_routes(p.host, p.number)) == 0
	some l in ["sni", "subjectAltNames"]
	not has(b.value, p, l)
}

has(tls, _, "sni") if origination.given(tls, "sni")

has(_, p, "sni") if address.is_ip(p.host)

has(tls, _, "subjectAltNames") if {
	is_array(tls.subjectAltNames)
	count(tls.subjectAltNames) > 0
}

has(_, p, "subjectAltNames") if count(p.subject_alt_names) > 0

has(tls, _, "subjectAltNames") if tls.insecureSkipVerify == true

said := {
	{"sni", "subjectAltNames"}: "tls gives neither sni nor subjectAltNames for %s, where Envoy reads no request that would tell the server's name",
	{"subjectAltNames"}: "tls gives no subjectAltNames for %s, where Envoy reads no request that would tell the server's name",
	{"sni"}: "tls gives no sni for %s, where Envoy reads no request that would tell the server's name",
}

severity := {{"sni", "subjectAltNames"}: "warning", {"subjectAltNames"}: "warning", {"sni"}: "info"}

effect(b, lacking) := sprintf("%s sends no SNI, and accepts any certificate that chains to %s: the cluster has no match_subject_alt_names", [origination.proxy(input.object, b.value), origination.trusted(b.value)]) if {
	lacking == {"sni", "subjectAltNames"}
} else := sprintf("%s accepts any certificate that chains to %s: the cluster has no match_subject_alt_names", [origination.proxy(input.object, b.value), origination.trusted(b.value)]) if {
	lacking == {"subjectAltNames"}
} else := sprintf("%s sends no SNI, so a server with several certificates has to guess which one is wanted", [origination.proxy(input.object, b.value)])

findings contains result.with_more(
	result.at(array.concat(b.path, ["mode"]), sprintf(said[lacking], [ports.listed(hit)])),
	{
		"severity": severity[lacking],
		"effect": effect(b, lacking),
		"subject": ports.subject(hit),
	},
) if {
	some b in blocks
	some lacking in object.keys(said)
	hit := [p | some p in outside(b); lacks(b, p) == lacking]
	count(hit) > 0
}

# Ports of a forward proxy on which Envoy reads the host of each request.
forwarded(b) := [p | some p in outside(b); p.cluster == "dynamic_forward_proxy"; reads(p)]

reads(p) if p.family == "L7"

reads(p) if p.cleartext

findings contains result.with_more(
	result.at(array.concat(b.path, ["sni"]), sprintf("sni is %s for every host of %s", [b.value.sni, ports.listed(hit)])),
	{
		"effect": sprintf(
			"%s sends this one SNI whichever host a request is for, so the server chooses its certificate by that name%s",
			[origination.proxy(input.object, b.value), checked(b.value)],
		),
		"subject": ports.subject(hit),
	},
) if {
	some b in blocks
	origination.given(b.value, "sni")
	hit := forwarded(b)
	count(hit) > 0
}

checked(tls) := "" if tls.insecureSkipVerify == true

checked(tls) := ", while auto_san_validation checks it for the host of the request" if not tls.insecureSkipVerify == true

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [reach.host])) if {
	some b in blocks
	not b.known
	reach := mesh.reach()
	not reach.in_cluster
}
