# METADATA
# title: Envoy starts TLS on a port whose clients bring their own
# description: |-
#   TLS of mode SIMPLE or MUTUAL that reaches a port of protocol TLS or HTTPS.
#
#   On such a port Envoy does not read the traffic: it looks at the SNI of the client's handshake and passes the bytes on. TLS that
#   the DestinationRule starts is a second handshake around the first, and unless the rule gives `sni` and either side
#   `subjectAltNames` the outer one has no SNI and checks no name, since Envoy's auto_sni and auto_san_validation only work where
#   it reads requests. The server answers the inner handshake as if it were a request; clients report "wrong version number".
#
#   An `http` route of a VirtualService or HTTPRoute that sends the host's plain HTTP requests to the port is the older way to
#   write TLS origination. On that path there is one TLS only, so the finding is then no more than a note, at level info.
# related_resources:
# - https://istio.io/latest/docs/tasks/traffic-management/egress/egress-tls-origination/
# - https://istio.io/latest/docs/ops/common-problems/network-issues/#double-tls
# custom:
#   id: DR234
#   category: tls
#   severity: error
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.tls.mode, values: [SIMPLE, MUTUAL]}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].tls.mode", values: [SIMPLE, MUTUAL]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.tls.mode", values: [SIMPLE, MUTUAL]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].tls.mode", values: [SIMPLE, MUTUAL]}
#   levels:
#   - all: [{path: tls.mode, values: [SIMPLE, MUTUAL]}]
#     port: {tls: true}
#   remedy: |-
#     If clients speak TLS, drop `tls` from the rule. If Envoy is to start TLS, let clients speak HTTP: declare a port of protocol
#     HTTP in the ServiceEntry, such as `number: 80` with `targetPort: 443`.
#   fix: unsafe
#   proof: {kind: changes, text: "without tls the cluster has no transport_socket; the listener's filter chain is tcp_proxy by SNI both ways"}
#   observe:
#     stats: [ssl.handshake, ssl.connection_error, upstream_cx_destroy_remote]
#     configDump: "istioctl proxy-config listener POD --port PORT -o json shows envoy.filters.network.tcp_proxy with serverNames, and the cluster has a transportSocket of type tls"
package meshvet.double_tls

import data.meshvet.lib.origination
import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

blocks := [b |
	some b in mesh.blocks("tls")
	b.value.mode in {"SIMPLE", "MUTUAL"}
	not b.shadowed
]

encrypted(b) := [p | some p in b.ports; p.tls; p.compiled; p.target.kind == "ServiceEntry"; not p.in_cluster_name]

# Ports to which no http route sends requests: what arrives there is the client's TLS.
twice(b) := [p | some p in encrypted(b); not p.cleartext]

once(b) := [p | some p in encrypted(b); p.cleartext]

lacks(tls, name) if count(object.get(tls, name, "")) == 0

# The names that a ServiceEntry lists count where the rule lists none, though not for DYNAMIC_DNS.
checks_no_name(tls, _) if object.get(tls, "insecureSkipVerify", false)

checks_no_name(tls, port) if {
	lacks(tls, "subjectAltNames")
	count(port.subject_alt_names) == 0
}

checks_no_name(tls, port) if {
	lacks(tls, "subjectAltNames")
	port.cluster == "dynamic_forward_proxy"
}

outer(tls, port) := ", which has neither SNI nor a check of the server's name" if {
	lacks(tls, "sni")
	checks_no_name(tls, port)
} else := ", which has no SNI" if {
	lacks(tls, "sni")
} else := ", which checks no name" if {
	checks_no_name(tls, port)
} else := ""

# A route that is not in view may make the finding a note.
unless_routed := "" if {
	mesh.complete("VirtualService")
	mesh.complete("HTTPRoute")
} else := ", unless an http route that is not in view sends plain HTTP to the port"

# What stays right for other ports of the block is not to be taken away with it.
curable(b) if count([p | some p in b.ports; p.compiled]) == count(twice(b))

outer_tls if input.object.spec.trafficPolicy.tls

outer_tls if {
	some entry in input.object.spec.trafficPolicy.portLevelSettings
	entry.tls
}

# An inner level without tls would take the destination level's, or read as if it had lost it, and an entry needs at least one
# block.
cure(b) := result.fix("drop trafficPolicy, which holds nothing but tls", "unsafe", [{"op": "remove", "path": b.at}]) if {
	b.level == "destination"
	b.alone
} else := result.fix("drop tls, since clients bring their own", "unsafe", [{"op": "remove", "path": b.path}]) if {
	not b.alone
	inherits_nothing(b)
} else := result.set("start no TLS here, since clients bring their own", "unsafe", [{"path": b.path, "value": {"mode": "DISABLE"}}])

inherits_nothing(b) if b.level in {"destination", "subset port"}

inherits_nothing(_) if not outer_tls

cures(b) := [cure(b) | curable(b)]

declared(hit) := [result.also_in(hit[0].target, array.concat(hit[0].path, ["protocol"]), sprintf("protocol %s is declared here", [hit[0].protocol]))]

findings contains result.with_more(
	result.at(
		array.concat(b.path, ["mode"]),
		sprintf("tls mode %s reaches %s, a port of protocol %s, whose clients bring their own TLS", [b.value.mode, ports.named(hit), hit[0].protocol]),
	),
	{
		"effect": sprintf(
			"%s passes the client's TLS through tcp_proxy and wraps it in a second handshake (transport_socket)%s; the server does not expect TLS inside TLS, so calls fail%s",
			[origination.proxy(input.object, b.value), outer(b.value, hit[0]), unless_routed],
		),
		"related": declared(hit),
		"fixes": cures(b),
		"subject": ports.subject(hit),
	},
) if {
	some b in blocks
	hit := twice(b)
	count(hit) > 0
}

findings contains result.with_more(
	result.at(
		array.concat(b.path, ["mode"]),
		sprintf("tls mode %s suits the requests that %s %s sends to %s, but the port is of protocol %s", [b.value.mode, route.kind, route.name, ports.named(hit), hit[0].protocol]),
	),
	{
		"severity": "info",
		"effect": "Envoy starts the only TLS on the routed path; a client that speaks TLS to the port itself would be encrypted twice",
		"related": array.concat(
			declared(hit),
			[result.also_in({"kind": route.kind, "namespace": route.namespace, "name": route.name}, route.path, "plain HTTP is routed to the port here")],
		),
		"subject": ports.subject(hit),
	},
) if {
	some b in blocks
	count(twice(b)) == 0
	hit := once(b)
	count(hit) > 0
	route := mesh.cleartext_routes(hit[0].host, hit[0].number)[0]
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [reach.host])) if {
	some b in blocks
	not b.known
	reach := mesh.reach()
	not reach.in_cluster
}
