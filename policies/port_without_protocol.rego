# METADATA
# title: A ServiceEntry port without a protocol
# description: |-
#   A port of a ServiceEntry that declares no `protocol`.
#
#   Istio then sniffs: Envoy waits for the first bytes of a connection and guesses HTTP or TCP. The port's *name* plays no part in a
#   ServiceEntry, unlike in a Service: a port called `https` or `tls-api` without a protocol is not TLS to Istio, gets no filter
#   chain that matches SNI, and its TLS bytes run through the TCP chain of the whole port. Where the server speaks first, as MySQL
#   and SMTP do, both ends wait: meshConfig.protocolDetectionTimeout is 0 by default, which is no limit.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServicePort
# - https://istio.io/latest/docs/ops/configuration/traffic-management/protocol-selection/
# custom:
#   id: SE109
#   category: service-entry
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   when:
#   - all:
#     - {path: "spec.ports[*].protocol", absent: true}
#   - all:
#     - {path: "spec.ports[*].protocol", values: [""]}
#   remedy: |-
#     Declare what the client speaks on the port: TLS where it brings its own TLS, HTTP, HTTP2 or GRPC where Envoy may read the
#     requests, TCP with an address of its own under `addresses` for the rest.
#   fix: unsafe
#   proof: {kind: changes, text: "with TLS the filter chain matches SNI, with HTTP or TCP only one of the two chains is left; the cluster loses use_downstream_protocol_config"}
#   observe:
#     stats: [listener.ADDRESS_PORT.downstream_cx_total]
#     configDump: "istioctl proxy-config listener POD --port PORT -o json shows an http_inspector and a TCP chain without server_names"
package meshvet.port_without_protocol

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

by_number := {80: "HTTP", 8080: "HTTP", 443: "TLS", 8443: "TLS"}

# Istio treats HTTPS and TLS alike in a ServiceEntry; with DYNAMIC_DNS it takes only TLS.
by_prefix := {"http": "HTTP", "http2": "HTTP2", "grpc": "GRPC", "https": "TLS", "tls": "TLS", "tcp": "TCP", "mongo": "MONGO", "redis": "REDIS", "mysql": "MYSQL"}

# What the author most likely means: on 443 the TLS that clients bring, else what the name says, else what the number is known for.
likely(port) := "TLS" if {
	port.number == 443
} else := "GRPC-WEB" if {
	startswith(lower(name(port)), "grpc-web")
} else := by_prefix[split(lower(name(port)), "-")[0]] if {
	true
} else := by_number[port.number]

name(port) := port.name if {
	is_string(port.name)
} else := ""

named(port) := "" if {
	name(port) == ""
} else := sprintf(" (name %s, which plays no part)", [port.name])

findings contains result.with_more(
	result.at(
		["spec", "ports", i, "protocol"],
		sprintf("port %v%s of %s has no protocol", [port.number, named(port), hosts.listed(hosts.of(input.object))]),
	),
	{
		"effect": "Envoy guesses HTTP or TCP from the client's first bytes: TLS is not told apart by SNI, and where the server speaks first Envoy waits for the client, without end unless meshConfig.protocolDetectionTimeout sets one",
		"fixes": [result.set(sprintf("declare protocol %s", [protocol]), "unsafe", [{"path": ["spec", "ports", i, "protocol"], "value": protocol}]) |
			protocol := likely(port)
		],
		"subject": {"hosts": hosts.of(input.object), "ports": [port.number]},
	},
) if {
	some i, port in input.object.spec.ports
	is_object(port)
	is_number(port.number)
	object.get(port, "protocol", null) in {"", null}
	not mesh.entry().hidden
}
