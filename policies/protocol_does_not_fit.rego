# METADATA
# title: A port's protocol does not fit its number or its name
# description: |-
#   A port 443 of a host outside the mesh with protocol HTTP, HTTP2 or GRPC, while no DestinationRule has Envoy start TLS there; a port of
#   protocol UDP; or, as an info, a port whose name stands for another protocol than the one that is declared.
#
#   With HTTP on 443 Envoy's filter chain for the host takes plaintext requests only. The TLS that clients of such a port send is none of
#   them: it passes the host's cluster by, and with it every policy for the host, and ends in PassthroughCluster, or in
#   BlackHoleCluster under outboundTrafficPolicy REGISTRY_ONLY. A plaintext request is sent on in plaintext to a port where servers
#   expect TLS. If Envoy is to start TLS, HTTP is right, and a DestinationRule with `tls` for the port makes this rule silent, for
#   whichever clients it is. So does a targetPort, or a port of the endpoints, that leads away from 443.
#
#   Where ztunnel carries the traffic it reads neither, so hosts of the ambient data plane are not judged.
#
#   From a port of protocol UDP Istio compiles neither listener nor cluster.
#
#   Istio reads the protocol of a ServiceEntry's port from `protocol` alone, in upper or lower case. A name such as `https-api` beside
#   protocol TCP decides nothing, and one of the two misleads the reader. On ports 80 and 8080 HTTP is right under any name; a name that
#   says tcp suits TLS as well, and one that says http suits HTTP2 and GRPC.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServicePort
# - https://istio.io/latest/docs/tasks/traffic-management/egress/egress-tls-origination/
# custom:
#   id: SE110
#   category: service-entry
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   sidecarOnly: true
#   facts: [misfit-port]
#   remedy: |-
#     On 443 write TLS if clients bring their own TLS. If clients are to send plaintext HTTP and Envoy starts TLS, keep HTTP and add a
#     DestinationRule with tls mode SIMPLE. Drop UDP ports. Let the name of a port begin with its protocol.
#   fix: none
#   proof: {kind: changes, text: "with TLS the filter chain on 443 matches the host's server name, with HTTP plaintext alone; UDP has no listener and no cluster; the filter chain follows protocol, whatever the name is"}
#   observe:
#     stats: [upstream_cx_total, upstream_rq_400]
#     configDump: "istioctl proxy-config listener POD --port 443 -o json shows transportProtocol raw_buffer for the host and PassthroughCluster in defaultFilterChain"
package meshvet.protocol_does_not_fit

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

entry := mesh.entry()

outside := [h.name | some h in entry.hosts; not h.in_cluster]

names := [h.name | some h in entry.hosts]

# A number that no port can have is another finding.
ports := [p | not entry.hidden; some p in entry.ports; p.number > 0; p.number < 65536]

started_on(number) if {
	some o in mesh.originated()
	o.number == number
}

started_on(_) if entry.backend_tls

plain_443 := [p |
	entry.external
	count(outside) > 0
	some p in ports
	p.number == 443
	p.family == "L7"
	leads_to_443(p)
	not started_on(443)
]

leads_to_443(port) if port.dials == null

leads_to_443(port) if 443 in port.dials

doubt := "" if {
	mesh.complete("DestinationRule")
} else := "; this is judged from the objects given, and a DestinationRule elsewhere may start TLS on the port"

findings contains result.with_more(
	result.at(
		["spec", "ports", p.index, "protocol"],
		sprintf("port 443 of %s has protocol %s, and no DestinationRule starts TLS there", [hosts.listed(outside), p.protocol]),
	),
	{
		"effect": sprintf(
			"Envoy's filter chain for the host takes only plaintext requests: TLS from clients goes past it to PassthroughCluster, or to BlackHoleCluster under outboundTrafficPolicy REGISTRY_ONLY, and plaintext requests leave unencrypted for a port where servers expect TLS%s",
			[doubt],
		),
		"subject": {"hosts": outside, "ports": [p.number]},
	},
) if {
	p := plain_443[0]
}

# With DYNAMIC_DNS Istio refuses them, which is another finding.
datagrams := [p | entry.resolution != "DYNAMIC_DNS"; some p in ports; p.family == "none"]

numbered(list) := sprintf("port %d", [list[0].number]) if count(list) == 1

numbered(list) := sprintf("ports %s", [hosts.listed([sprintf("%d", [p.number]) | some p in list])]) if count(list) > 1

verb(list) := "is" if count(list) == 1

verb(list) := "are" if count(list) > 1

findings contains result.with_more(
	result.at(
		["spec", "ports", datagrams[0].index, "protocol"],
		sprintf("%s of %s %s of protocol UDP, which Istio does not compile", [numbered(datagrams), hosts.listed(names), verb(datagrams)]),
	),
	{
		"effect": "Envoy has neither a listener nor a cluster for it: datagrams leave the workload as if the entry were not there",
		"related": [result.also(["spec", "ports", p.index, "protocol"], sprintf("port %d is one of them", [p.number])) | some p in array.slice(datagrams, 1, count(datagrams))],
		"subject": {"hosts": names, "ports": [p.number | some p in datagrams]},
	},
)

kind_of := {
	"HTTP": "requests", "HTTP2": "requests", "GRPC": "requests", "GRPC-WEB": "requests",
	"TLS": "tls", "HTTPS": "tls",
	"TCP": "bytes", "MONGO": "bytes", "REDIS": "bytes", "MYSQL": "bytes",
	"UDP": "datagrams",
}

# The protocol that a name stands for suits others too: TLS and databases run over TCP, and databases over TLS.
contradicts(port) if {
	kind_of[port.named] == "bytes"
	kind_of[port.protocol] == "requests"
}

contradicts(port) if {
	kind_of[port.named] in {"requests", "tls", "datagrams"}
	kind_of[port.protocol] != kind_of[port.named]
}

# On these numbers requests go by any name, and what Envoy starts TLS for goes by what it is on either side.
meant(port) if {
	kind_of[port.protocol] == "requests"
	port.number in {80, 8080}
}

meant(port) if {
	kind_of[port.named] == "tls"
	started_on(port.number)
}

told(port) if {
	some p in plain_443
	p.index == port.index
}

handled := {
	"requests": "reads plaintext requests on the port",
	"tls": "passes the TLS of clients on unread",
	"bytes": "forwards bytes",
}

findings contains result.with_more(
	result.at(
		["spec", "ports", p.index, "protocol"],
		sprintf("port %d of %s is named %s, and its protocol is %s", [p.number, hosts.listed(names), p.name, p.protocol]),
	),
	{
		"severity": "info",
		"effect": sprintf("the name of a ServiceEntry's port says nothing to Istio: Envoy %s", [handled[kind_of[p.protocol]]]),
		"related": [result.also(["spec", "ports", p.index, "name"], "the name")],
		"subject": {"hosts": names, "ports": [p.number]},
	},
) if {
	some p in ports
	contradicts(p)
	not meant(p)
	not told(p)
}
