# METADATA
# title: TLS settings without a mode switch TLS off
# description: |-
#   A `tls` block that sets something, such as `sni` or `caCertificates`, and no `mode`.
#
#   A mode that is left out is DISABLE, the first value of the enumeration, and Istio says nothing about the other fields: Envoy's
#   cluster has no transport_socket and everything leaves the proxy unencrypted, although the manifest looks as if TLS were on. For
#   a service of the mesh it also switches off the mutual TLS that Istio would use by itself.
#
#   Where the block reaches only ports of protocol TLS or HTTPS, clients bring their own TLS and nothing is lost but the settings:
#   that is a warning. A block that governs no port, because entries for all of them step in or because the host lacks the
#   entry's port, leaves nothing unencrypted and is not reported.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ClientTLSSettings-TLSmode
# custom:
#   id: DR232
#   category: tls
#   severity: error
#   security: true
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.tls}
#     - {path: spec.trafficPolicy.tls.mode, absent: true}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].tls"}
#     - {path: "spec.trafficPolicy.portLevelSettings[*].tls.mode", absent: true}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.tls"}
#     - {path: "spec.subsets[*].trafficPolicy.tls.mode", absent: true}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].tls"}
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].tls.mode", absent: true}
#   remedy: |-
#     Write the mode: SIMPLE to verify the server, MUTUAL to present a certificate as well, ISTIO_MUTUAL inside the mesh. If TLS is
#     not wanted, write `mode: DISABLE` alone.
#   fix: unsafe
#   proof: {kind: changes, text: "with mode SIMPLE the cluster has a transport_socket of type tls, without a mode it has none"}
#   observe:
#     stats: [ssl.handshake, upstream_cx_total]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows no transportSocket"
package meshvet.tls_without_mode

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

blocks := [b |
	some b in mesh.blocks("tls")
	object.get(b.value, "mode", null) == null
	count(fields(b)) > 0
	not b.shadowed
	not idle_level(b)
]

# Where entries for all ports step in, or the host lacks the entry's port, no cluster has the block.
idle_level(b) if {
	b.known
	count(passed(b)) == 0
	count(bare(b)) == 0
}

fields(b) := sort([k | some k, v in b.value; k != "mode"; v != null])

said(b) := fields(b)[0] if count(fields(b)) == 1

said(b) := sprintf("%s and %s", [concat(", ", array.slice(fields(b), 0, count(fields(b)) - 1)), fields(b)[count(fields(b)) - 1]]) if count(fields(b)) > 1

idle(b) := sprintf("%s does nothing", [said(b)]) if count(fields(b)) == 1

idle(b) := sprintf("%s do nothing", [said(b)]) if count(fields(b)) > 1

# Ports on which what the proxy sends is as the proxy makes it. The client's own TLS is passed through on the others.
bare(b) := [p | some p in b.ports; not p.tls; p.compiled]

passed(b) := [p | some p in b.ports; p.tls; p.compiled]

only_passed(b) if {
	count(passed(b)) > 0
	count(bare(b)) == 0
}

cluster(b) := sprintf("Envoy's cluster for %s", [ports.named(bare(b))]) if count(bare(b)) > 0

cluster(b) := sprintf("Envoy's cluster for %s", [input.object.spec.host]) if count(bare(b)) == 0

in_cluster(b) if {
	count(b.ports) > 0
	every p in b.ports {
		p.in_cluster
	}
}

in_cluster(b) if {
	not b.known
	mesh.reach().in_cluster
}

wanted(b) := "MUTUAL" if {
	some field in fields(b)
	field in {"clientCertificate", "privateKey"}
} else := "ISTIO_MUTUAL" if {
	in_cluster(b)
	every field in fields(b) {
		field in {"sni", "subjectAltNames"}
	}
} else := "SIMPLE"

findings contains result.with_more(
	result.at(
		array.concat(b.path, ["mode"]),
		sprintf("tls sets %s but no mode, which means DISABLE", [said(b)]),
	),
	{
		"effect": sprintf("%s has no transport_socket, so everything leaves the proxy as the client sent it, in plaintext, and %s", [cluster(b), idle(b)]),
		"fixes": [result.set(sprintf("set the mode to %s", [wanted(b)]), "unsafe", [{"path": array.concat(b.path, ["mode"]), "value": wanted(b)}])],
		"subject": ports.subject(b.ports),
	},
) if {
	some b in blocks
	not only_passed(b)
}

findings contains result.with_more(
	result.at(
		array.concat(b.path, ["mode"]),
		sprintf("tls sets %s but no mode, which means DISABLE, for %s, where clients bring their own TLS", [said(b), ports.named(passed(b))]),
	),
	{
		"severity": "warning",
		"effect": sprintf("Envoy passes the client's TLS through and starts none; %s", [idle(b)]),
		"subject": ports.subject(b.ports),
	},
) if {
	some b in blocks
	only_passed(b)
}
