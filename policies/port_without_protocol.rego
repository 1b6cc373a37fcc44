# METADATA
# title: A ServiceEntry port without a protocol
# description: |-
#   A port of a ServiceEntry that declares no `protocol`.
#
#   Istio then sniffs: Envoy waits for the first bytes of a connection and guesses HTTP or TCP. The port's *name* plays no part in a
#   ServiceEntry, unlike in a Service: a port called `https` or `tls-api` without a protocol is not TLS to Istio, gets no filter
#   chain that matches SNI, and its TLS bytes run through the TCP chain of the whole port. Protocols in which the server speaks
#   first stall until the sniffing times out.
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
#   proof: {kind: changes, text: "the listener gains an SNI match and the cluster loses use_downstream_protocol_config"}
#   observe:
#     stats: [downstream_cx_total]
#     configDump: "istioctl proxy-config listener POD --port PORT -o json shows an http_inspector and a TCP chain without server_names"
package meshvet.port_without_protocol

import data.meshvet.lib.result
import rego.v1

# What the number and, failing that, the name most likely mean. The client's side counts: 443 is TLS that the client brings.
by_number := {80: "HTTP", 8080: "HTTP", 443: "TLS", 8443: "TLS"}

by_prefix := {"http": "HTTP", "http2": "HTTP2", "grpc": "GRPC", "https": "TLS", "tls": "TLS", "tcp": "TCP", "mongo": "MONGO", "redis": "REDIS", "mysql": "MYSQL"}

likely(port) := by_number[port.number]

likely(port) := by_prefix[split(lower(port.name), "-")[0]] if not by_number[port.number]

named(port) := sprintf(" (name %s, which plays no part)", [port.name]) if port.name

named(port) := "" if not port.name

proposals(i, port) := [result.set(sprintf("declare protocol %s", [likely(port)]), "unsafe", [{"path": ["spec", "ports", i, "protocol"], "value": likely(port)}])]

fixes(i, port) := proposals(i, port)

fixes(_, port) := [] if not likely(port)

findings contains result.with_more(
	result.at(
		["spec", "ports", i, "protocol"],
		sprintf("port %d%s of %s has no protocol", [port.number, named(port), concat(", ", input.object.spec.hosts)]),
	),
	{
		"effect": "Envoy guesses HTTP or TCP from the first bytes: TLS on it is not matched by SNI, and a protocol in which the server speaks first waits for the guess to time out",
		"fixes": fixes(i, port),
		"subject": {"hosts": input.object.spec.hosts, "ports": [port.number]},
	},
) if {
	some i, port in input.object.spec.ports
	object.get(port, "protocol", "") in {"", null}
	is_number(port.number)
}
