# METADATA
# title: The mesh's mutual TLS is used towards a host outside the mesh
# description: |-
#   TLS of mode ISTIO_MUTUAL that reaches a host of a ServiceEntry whose location is MESH_EXTERNAL or left out, be it through the
#   host's own name or through a wildcard such as `*`.
#
#   ISTIO_MUTUAL presents the workload's mesh certificate, asks for ALPN istio-peer-exchange, sends the cluster's name
#   (outbound_.443_._.HOST) as SNI, the host of each request if the resolution is DYNAMIC_DNS, and trusts nothing but the mesh's own CA. A server outside the mesh has no certificate of that
#   CA, so no connection comes about.
#
#   A mesh-wide rule for `*.local` is fine as long as it takes in the services of the mesh only. If a host outside the mesh has such
#   a name too, the rule is right but for that host, and the finding is a warning; so it is for any host under the cluster's domain,
#   since another mesh with the same CA may be behind it. A host for which a more specific rule sets another mode is fine, and a
#   ServiceEntry whose workloadSelector picks workloads of the mesh is not judged.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ClientTLSSettings-TLSmode
# custom:
#   id: DR235
#   category: tls
#   severity: error
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.tls.mode, values: [ISTIO_MUTUAL]}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].tls.mode", values: [ISTIO_MUTUAL]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.tls.mode", values: [ISTIO_MUTUAL]}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].tls.mode", values: [ISTIO_MUTUAL]}
#   levels:
#   - all: [{path: tls.mode, values: [ISTIO_MUTUAL]}]
#     port: {external: true}
#   remedy: |-
#     Write SIMPLE, or MUTUAL with a certificate that the server knows; on a port of protocol TLS leave tls out. A mesh-wide rule
#     should have the host `*.local`. Leave tls out for services of the mesh too: Istio uses mutual TLS between them by itself.
#   fix: unsafe
#   proof: {kind: changes, text: "the cluster's transport_socket has the SDS secrets default and ROOTCA, ALPN istio-peer-exchange and SNI outbound_.PORT_._.HOST"}
#   observe:
#     stats: [ssl.fail_verify_error, ssl.connection_error, upstream_cx_connect_fail]
#     flags: [UF]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows ROOTCA and sni outbound_.PORT_._.HOST in transportSocket"
package meshvet.mesh_mtls_to_external

import data.meshvet.lib.hosts
import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

blocks := [b |
	some b in mesh.blocks("tls")
	b.value.mode == "ISTIO_MUTUAL"
	not b.shadowed
]

outside(b) := [p |
	some p in b.ports
	p.external
	not p.selector
	not p.in_cluster_name
	p.compiled
]

# The rule's own SNI, else the name by which Istio addresses a cluster from proxy to proxy. A dynamic_forward_proxy cluster has no
# such name: it takes the host of each request, and where it reads none it has no SNI at all.
sends(b, port) := sprintf("sends SNI %s", [b.value.sni]) if {
	object.get(b.value, "sni", "") != ""
} else := "sends no SNI" if {
	port.cluster == "dynamic_forward_proxy"
	port.family != "L7"
} else := "sends the host of each request as SNI" if {
	port.cluster == "dynamic_forward_proxy"
} else := sprintf("sends SNI outbound_.%d_.%s_.%s", [port.number, b.subset, port.host])

all_read(hit) if {
	every p in hit {
		p.family == "L7"
	}
}

simple(b) := [{"op": "replace", "path": array.concat(b.path, ["mode"]), "value": "SIMPLE"}]

# Names by which the proxies of a mesh know each other are none that a server outside it bears.
names_gone(b) := [{"op": "remove", "path": array.concat(b.path, [name])} |
	some name in ["sni", "subjectAltNames"]
	name in object.keys(b.value)
]

mesh_wide := "*.local" if endswith(mesh.settings().cluster_domain, ".local")

mesh_wide := sprintf("*.%s", [mesh.settings().cluster_domain]) if not endswith(mesh.settings().cluster_domain, ".local")

# A wildcard for the services of the mesh is not to be changed for the sake of a host that it takes in by chance.
for_mesh if {
	mesh.reach().wildcard
	mesh.reach().in_cluster
}

severity := "warning" if mesh.reach().in_cluster

severity := "error" if not mesh.reach().in_cluster

exception(host) := {
	"apiVersion": input.object.apiVersion,
	"kind": "DestinationRule",
	"metadata": object.union({"name": hosts.object_name(host)}, object.filter(input.object.metadata, ["namespace"])),
	"spec": object.union(
		{"host": host, "trafficPolicy": {"tls": {"mode": "DISABLE"}}},
		object.filter(input.object.spec, ["exportTo"]),
	),
}

cure(b, hit) := result.create(sprintf("create a DestinationRule that starts no TLS for %s", [hit[0].host]), exception(hit[0].host)) if {
	for_mesh
} else := result.set("take in the services of the mesh only", "unsafe", [{"path": ["spec", "host"], "value": mesh_wide}]) if {
	input.object.spec.host == "*"
} else := result.fix("verify the server as any other client does", "unsafe", array.concat(simple(b), names_gone(b))) if {
	all_read(hit)
} else := result.set("start no TLS here", "unsafe", [{"path": b.path, "value": {"mode": "DISABLE"}}])

place(ns) := "the rule's own namespace" if {
	ns == "default"
	object.get(input.object.metadata, "namespace", "") == ""
} else := sprintf("namespace %s", [ns])

places(list) := concat(", ", [place(ns) | some ns in list])

# For whose calls the rule is in force, unless it is so for all.
# What is said of clients and SNI holds for the port that is named; others may have other clients.
towards(hit) := sprintf("towards %s:%d, ", [hit[0].host, hit[0].number]) if {
	sum([p.hosts | some p in hit]) > 1
} else := ""

whose(clients) := "" if {
	clients.elsewhere
	count(clients.except) == 0
} else := sprintf("in every namespace but %s, ", [places(clients.except)]) if {
	clients.elsewhere
} else := sprintf("in %s, ", [places(clients["in"])])

findings contains result.with_more(
	result.at(
		array.concat(b.path, ["mode"]),
		sprintf("tls mode ISTIO_MUTUAL reaches %s, which is outside the mesh", [ports.named(hit)]),
	),
	{
		"severity": severity,
		"effect": sprintf(
			"%s%sEnvoy presents the workload's mesh certificate, %s and trusts only the mesh's CA (ROOTCA), so the handshake fails unless the server has a certificate of that CA",
			[towards(hit), whose(hit[0].clients), sends(b, hit[0])],
		),
		"related": [result.also_in(hit[0].target, ["spec", "location"], "the ServiceEntry is outside the mesh by its location")],
		"fixes": [cure(b, hit)],
		"subject": ports.subject(hit),
	},
) if {
	some b in blocks
	hit := outside(b)
	count(hit) > 0
}

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [reach.host])) if {
	some b in blocks
	not b.known
	reach := mesh.reach()
	not reach.in_cluster
}
