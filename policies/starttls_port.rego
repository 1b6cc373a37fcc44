# METADATA
# title: TLS is expected where it starts later
# description: |-
#   A port that is known for a protocol whose connections begin in plaintext and are upgraded by a command (PostgreSQL 5432, MySQL 3306,
#   SMTP 25 and 587, IMAP 143, POP3 110, LDAP 389, XMPP 5222), with protocol TLS or HTTPS, or with a DestinationRule that has Envoy start
#   TLS there.
#
#   For a port of protocol TLS Envoy tells the host by the server name in the ClientHello, with which none of these connections begin.
#   Where the server speaks first (MySQL, SMTP, IMAP, POP3) the client is silent until it has been greeted: Envoy waits for a ClientHello,
#   the client for the greeting, and Istio sets no limit of time. Where the client speaks first (PostgreSQL, LDAP, XMPP) its first bytes
#   are no ClientHello, and the connection passes the host's cluster by: it ends in PassthroughCluster, or in BlackHoleCluster under
#   outboundTrafficPolicy REGISTRY_ONLY. TLS that a DestinationRule starts comes too early for the server, which takes the handshake for a
#   broken greeting or request.
#
#   An entry all of whose hosts have addresses of their own is fine: Envoy then forwards what comes to the address, whatever it is. Ranges
#   do not help, since Envoy looks at the server name there. Ports of other numbers, such as 465, 636, 993 and 995, begin with TLS.
#   PostgreSQL 17 can do so on 5432 as well, for clients with `sslnegotiation=direct`; for these the entry is right, and the rule can be
#   ignored.
# related_resources:
# - https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL
# - https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html
# - https://www.rfc-editor.org/rfc/rfc3207
# - https://www.envoyproxy.io/docs/envoy/latest/configuration/listeners/listener_filters/tls_inspector
# custom:
#   id: SE122
#   category: service-entry
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   sidecarOnly: true
#   when:
#   - all:
#     - {path: "spec.ports[*].number", values: [25, 110, 143, 389, 587, 3306, 5222, 5432]}
#   facts: [tls-port]
#   remedy: |-
#     Declare TCP and give the entry an address of its own under `addresses`, so that Envoy forwards the bytes as they are and client and
#     server agree on TLS themselves; or say in .meshvet.yaml that proxies answer DNS and istiod gives out addresses. Take `tls` out of the DestinationRule for the port.
#   fix: none
#   proof: {kind: envoy, text: "the listener has a tls_inspector and a filter chain for the host that matches its server name; the chain for everything else leads to PassthroughCluster"}
#   observe:
#     stats: [listener.ADDRESS_PORT.downstream_cx_total, upstream_cx_total]
#     configDump: "istioctl proxy-config listener POD --port PORT -o json shows envoy.filters.listener.tls_inspector and serverNames; cluster.PassthroughCluster.upstream_cx_total grows instead of the host's"
package meshvet.starttls_port

import data.meshvet.lib.address
import data.meshvet.lib.hosts
import data.meshvet.lib.origination
import data.meshvet.lib.result
import rego.v1

# Who speaks first decides what becomes of the connection.
upgraded := {
	25: {"name": "SMTP", "first": "server"},
	110: {"name": "POP3", "first": "server"},
	143: {"name": "IMAP", "first": "server"},
	389: {"name": "LDAP", "first": "client"},
	587: {"name": "SMTP", "first": "server"},
	3306: {"name": "MySQL", "first": "server"},
	5222: {"name": "XMPP", "first": "client"},
	5432: {"name": "PostgreSQL", "first": "client"},
}

entry := mesh.entry()

# Hosts for which Envoy listens on 0.0.0.0 or a range, where it needs the server name to tell them.
sought := [h.name | not addressed; some h in entry.hosts; not h.allocated]

addressed if {
	some a in input.object.spec.addresses
	is_single(a)
}

is_single(text) if address.is_ip(text)

is_single(text) if {
	net.cidr_is_valid(text)
	not address.is_range(text)
}

expected := [p |
	not entry.hidden
	count(sought) > 0
	some p in entry.ports
	p.tls
]

happens := {
	"server": "Envoy's listener waits for a ClientHello (tls_inspector) while the client waits for the server to speak first, and no limit of time ends it",
	"client": "Envoy's listener tells the host by the server name of a ClientHello (tls_inspector), which is not what the client begins with: the connection goes past the host's cluster to PassthroughCluster, or to BlackHoleCluster under outboundTrafficPolicy REGISTRY_ONLY",
}

findings contains result.with_more(
	result.at(
		["spec", "ports", p.index, "protocol"],
		sprintf("port %d of %s has protocol %s, but %s begins in plaintext and starts TLS later", [p.number, hosts.listed(sought), p.protocol, upgraded[p.number].name]),
	),
	{
		"effect": happens[upgraded[p.number].first],
		"subject": {"hosts": sought, "ports": [p.number]},
	},
) if {
	some p in expected
}

# On ports of protocol TLS or HTTPS that is TLS around the client's own, which is another finding; and HTTP says that the number
# is not what it is known for.
started := [o |
	some o in mesh.originated()
	o.mode in {"SIMPLE", "MUTUAL"}
	o.used
	o.protocol in {"TCP", "MYSQL", ""}
]

findings contains result.with_more(
	result.at(
		["spec", "ports", p.index],
		sprintf("%s TLS towards port %d of %s, but %s begins in plaintext and starts TLS later", [origination.starting(about), p.number, hosts.listed(origination.started_for(about)), upgraded[p.number].name]),
	),
	{
		"effect": "Envoy's cluster sends a ClientHello (transport_socket) as soon as it is connected: the server does not expect one and closes the connection",
		"related": origination.set_at(about),
		"subject": {"hosts": origination.started_for(about), "ports": [p.number]},
	},
) if {
	some p in entry.ports
	about := [o | some o in started; o.number == p.number]
}
