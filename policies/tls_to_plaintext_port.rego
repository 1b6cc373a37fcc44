# METADATA
# title: TLS goes to a port where servers speak plaintext
# description: |-
#   TLS of mode SIMPLE or MUTUAL that a DestinationRule starts towards a port of a host outside the mesh, while the connection goes to
#   port 80: the ServiceEntry's port has no targetPort and its endpoints no port of their own, or these are 80 as well.
#
#   Starting TLS changes what Envoy sends, not where to. Istio puts the number of the ServiceEntry's port into the addresses of the
#   cluster, so the handshake of a request to `http://HOST` ends at port 80, where the server takes it for a broken request. Clients get
#   503 with flag UF.
#
#   The finding is on the port of the ServiceEntry, since there the cure belongs: a rule cannot name another port. So it is also the
#   ServiceEntry that a webhook has to judge. The rule that starts TLS is named beside it. Ports of protocol TLS or HTTPS are judged by
#   the rule about double TLS, and so are modes other than these two by rules of their own. A DYNAMIC_DNS host gets TLS on port 443
#   unless the request names another port; and the ports of workloads that are chosen by labels are not in view. Where routes lead all
#   requests elsewhere, as in the older recipe that sends those for port 80 to port 443, nobody meets the port's TLS.
# related_resources:
# - https://istio.io/latest/docs/tasks/traffic-management/egress/egress-tls-origination/
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServicePort
# custom:
#   id: DR238
#   category: tls
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   when:
#   - all:
#     - {path: "spec.ports[*].number", values: [80]}
#   - all:
#     - {path: "spec.ports[*].targetPort", values: [80]}
#   - all:
#     - {path: "spec.endpoints[*].ports"}
#   facts: [dials-port-80, originated-port]
#   remedy: |-
#     Write `targetPort: 443` beside the number of the port: clients go on sending plaintext HTTP to port 80, and Envoy connects to 443.
#   fix: unsafe
#   proof: {kind: changes, text: "the cluster has a transport_socket of type tls and its addresses have port 80, with targetPort they have 443"}
#   observe:
#     stats: [ssl.connection_error, upstream_cx_connect_fail, ssl.handshake]
#     flags: [UF]
#     configDump: "istioctl proxy-config endpoint POD --cluster 'outbound|80||HOST' shows port 80, and the cluster has a transportSocket of type tls"
package meshvet.tls_to_plaintext_port

import data.meshvet.lib.hosts
import data.meshvet.lib.origination
import data.meshvet.lib.result
import rego.v1

entry := mesh.entry()

outside := {h.name | some h in entry.hosts; not h.in_cluster}

started(port) := [o |
	some o in mesh.originated()
	o.number == port.number
	o.mode in {"SIMPLE", "MUTUAL"}
	o.host in outside
	o.used
]

astray := [p |
	entry.external
	some p in entry.ports
	not p.tls
	80 in p.dials
]

# Endpoints may differ in where they lead.
where(port) := "port 80" if {
	port.dials == [80]
} else := "port 80 of some endpoints"

at(port) := ["spec", "ports", port.index, "targetPort"]

# A targetPort does not count for endpoints that have a port of their own, and moves none but these.
moves(port) if {
	every e in object.get(input.object.spec, "endpoints", []) {
		object.get(e, ["ports", port.name], 0) != 80
	}
}

cures(port) := [result.set("connect to port 443", "unsafe", [{"path": at(port), "value": 443}]) | moves(port)]

findings contains result.with_more(
	result.at(
		at(p),
		sprintf("%s TLS towards %s of %s", [origination.starting(started(p)), where(p), hosts.listed(origination.started_for(started(p)))]),
	),
	{
		"effect": sprintf(
			"Envoy's cluster outbound|%d||%s starts TLS (transport_socket) and connects to port 80, where a server expects plaintext: the handshake fails, and requests with it",
			[p.number, o.host],
		),
		"related": origination.set_at(started(p)),
		"fixes": cures(p),
		"subject": {"hosts": origination.started_for(started(p)), "ports": [p.number]},
	},
) if {
	some p in astray
	o := started(p)[0]
}
