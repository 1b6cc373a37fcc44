# METADATA
# title: Sidecars load no credential without a workloadSelector
# description: |-
#   TLS of mode SIMPLE or MUTUAL whose `credentialName` names a Secret, in a DestinationRule without `workloadSelector` that is in
#   force for sidecars.
#
#   Gateways load the Secret. Sidecars do so only under a `workloadSelector`; otherwise Istio leaves the whole TLS context out of the
#   cluster, not just the certificate, and says nothing. What was meant to be encrypted leaves the pod as the client sent it.
#
#   A rule that only gateways get is fine: by its `exportTo`, by that of the ServiceEntry, or because a VirtualService or HTTPRoute of a
#   gateway leads to the host. Gateways are taken to run in `istio.gatewayNamespaces` of the configuration, or, if that is not
#   given, in the root namespace and where the Gateways in view choose their pods. A `credentialName` that begins with configmap://
#   is loaded by all proxies. On a port of protocol TLS or HTTPS to which no `http` route leads clients bring their own TLS.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ClientTLSSettings
# - https://istio.io/latest/docs/tasks/traffic-management/egress/egress-tls-origination/
# custom:
#   id: DR233
#   category: tls
#   severity: error
#   security: true
#   sidecarOnly: true
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.workloadSelector, absent: true}
#     - {path: spec.trafficPolicy.tls.credentialName}
#   - all:
#     - {path: spec.workloadSelector, absent: true}
#     - {path: "spec.trafficPolicy.portLevelSettings[*].tls.credentialName"}
#   - all:
#     - {path: spec.workloadSelector, absent: true}
#     - {path: "spec.subsets[*].trafficPolicy.tls.credentialName"}
#   - all:
#     - {path: spec.workloadSelector, absent: true}
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].tls.credentialName"}
#   levels:
#   - all:
#     - {path: tls.mode, values: [SIMPLE, MUTUAL]}
#     - {path: tls.credentialName}
#   remedy: |-
#     Give the rule a `workloadSelector` with the labels of the pods that call the host, and let them read the Secret in their
#     namespace. Or name files that the proxy has, by `caCertificates`, `clientCertificate` and `privateKey`. If only gateways are to
#     call the host, export the rule to their namespace alone.
#   fix: none
#   proof: {kind: changes, text: "without a workloadSelector the cluster of a sidecar has no transport_socket, with one it has one of type tls"}
#   observe:
#     stats: [ssl.handshake, upstream_cx_total]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows no transportSocket"
package meshvet.credential_not_loaded

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

blocks := [b |
	object.get(input.object.spec, "workloadSelector", null) == null
	some b in mesh.blocks("tls")
	b.value.mode in {"SIMPLE", "MUTUAL"}
	is_string(b.value.credentialName)
	b.value.credentialName != ""
	not startswith(b.value.credentialName, "configmap://")
	not b.shadowed
]

# Ports on which what the proxy sends is as it came, if the proxy starts no TLS.
bare(p) if not p.tls

bare(p) if p.cleartext

# With the clients whose own proxies connect to them.
called(b) := [{"port": p, "clients": clients} |
	some p in b.ports
	p.compiled
	bare(p)
	clients := mesh.direct_clients(p.host, p.number)
	count(clients["in"]) + count([true | clients.elsewhere]) > 0
]

place(ns) := "the rule's own namespace" if {
	ns == "default"
	object.get(input.object.metadata, "namespace", "") == ""
} else := sprintf("namespace %s", [ns])

whose(clients) := "a sidecar" if {
	clients.elsewhere
} else := sprintf("a sidecar in %s", [concat(" or ", [place(ns) | some ns in clients["in"]])])

# Other hosts that are alike may have other clients.
others(hit) := ports.more(count(hit) - 1) if {
	every h in hit {
		h.port.hosts == 1
	}
} else := ""

# A route that is not in view may leave the host to gateways.
unless_routed := "" if mesh.complete("VirtualService")

unless_routed := ", unless a VirtualService that is not in view leads them through a gateway" if not mesh.complete("VirtualService")

# A file that could not be read, but names a VirtualService.
unread := object.get(mesh.settings().unread, "VirtualService", "")

findings contains result.with_more(
	result.at(
		array.concat(b.path, ["credentialName"]),
		sprintf(
			"credentialName is %s and the rule has no workloadSelector, so %s starts no TLS towards %s:%d%s",
			[b.value.credentialName, whose(hit[0].clients), hit[0].port.host, hit[0].port.number, others(hit)],
		),
	),
	{
		"effect": sprintf("its cluster has no transport_socket, so bytes leave as the client sent them, in plaintext; only gateways load the Secret%s", [unless_routed]),
		"subject": ports.subject([h.port | some h in hit]),
	},
) if {
	some b in blocks
	hit := called(b)
	count(hit) > 0
	unread == ""
}

findings contains result.skip(sprintf("%s names a VirtualService that could not be read and may lead %s through a gateway", [unread, hit[0].port.host])) if {
	some b in blocks
	hit := called(b)
	count(hit) > 0
	unread != ""
}

findings contains result.skip(sprintf("%s is not in view, so whether sidecars or gateways call it is not known", [reach.host])) if {
	some b in blocks
	not b.known
	reach := mesh.reach()
	not reach.in_cluster
}
