# METADATA
# title: An opaque port without an address takes the traffic of the whole port
# description: |-
#   A port of protocol TCP, MONGO, REDIS, MYSQL or none in a ServiceEntry without addresses; or a TCP port 80 or 8080 whose
#   addresses are ranges.
#
#   Nothing in the bytes of such a protocol names a host, so Envoy can only tell it by the address that is dialled. Without one, Istio
#   builds a single filter chain on 0.0.0.0 for the port, and it takes all traffic of that port that nothing else matches, *of every
#   namespace that sees the ServiceEntry*: calls to other https hosts on 443 end at this one and fail on the certificate's name.
#   With resolution NONE the bytes still reach the address that was dialled, but they are counted as this host's, escape the
#   policy of their own, and the port is open under outboundTrafficPolicy REGISTRY_ONLY.
#
#   An entry to which istiod has given addresses (`status.addresses`) is fine, and so is one for which `istio.dnsCapture` and
#   `istio.autoAllocate` in the configuration say that it will.
# related_resources:
# - https://istio.io/latest/docs/ops/configuration/traffic-management/dns-proxy/
# - https://istio.io/latest/docs/reference/config/networking/service-entry/
# custom:
#   id: SE111
#   category: service-entry
#   severity: error
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   sidecarOnly: true
#   when:
#   - all:
#     - {path: "spec.ports[*].protocol", values: [TCP, tcp, Tcp, MONGO, mongo, Mongo, REDIS, redis, Redis, MYSQL, mysql, MySQL, Mysql]}
#   - all:
#     - {path: "spec.ports[*].protocol", absent: true}
#   - all:
#     - {path: "spec.ports[*].protocol", values: [""]}
#   remedy: |-
#     Write protocol TLS where clients speak TLS: SNI then tells the hosts apart. Otherwise give the entry an address of its own under
#     `addresses`, or switch on DNS capture and address auto-allocation and say so in .meshvet.yaml.
#   fix: none
#   proof: {kind: changes, text: "with an address the filter chain moves from 0.0.0.0_PORT, where it replaces PassthroughCluster, to that address"}
#   observe:
#     stats: [upstream_cx_total]
#     configDump: "istioctl proxy-config listener POD --port PORT shows 0.0.0.0 with this host's cluster where PassthroughCluster is expected"
package meshvet.port_captures_mesh

import data.meshvet.lib.address
import data.meshvet.lib.result
import rego.v1

entry := mesh.entry()

# Whether istiod gives the entry an address. Only both switches together say so, and only for an entry that can get one.
allocated if {
	settings := mesh.settings()
	settings.dns_capture == true
	settings.auto_allocate == true
	entry.resolution != "NONE"
	object.get(input.object, ["metadata", "labels", "networking.istio.io/enable-autoallocate-ip"], "") != "false"
}

opaque(port) if port.protocol in {"TCP", "MONGO", "REDIS", "MYSQL"}

opaque(port) if port.family == "sniffed"

spoken(port) := port.protocol if port.protocol != ""

spoken(port) := "no protocol" if port.protocol == ""

shared_ports := {80, 443}

severity(port) := "error" if {
	port.number in shared_ports
	entry.resolution != "NONE"
} else := "warning"

hosts := concat(", ", [h.name | some h in entry.hosts])

seen_by := "its own namespace" if input.object.spec.exportTo == ["."]

else := "every namespace that sees it"

effect(port) := sprintf("Envoy's listener 0.0.0.0:%d has one filter chain, to this entry: all otherwise unmatched traffic of port %d in %s is delivered to %s", [port.number, port.number, seen_by, hosts]) if entry.resolution != "NONE"

effect(port) := sprintf("Envoy still forwards to the address that was dialled, but all otherwise unmatched traffic of port %d in %s counts as this entry's, escapes other policy, and is open under outboundTrafficPolicy REGISTRY_ONLY", [port.number, seen_by]) if entry.resolution == "NONE"

own_addresses := [a | some a in object.get(input.object.spec, "addresses", [])]

findings contains result.with_more(
	result.at(
		field(port),
		sprintf("port %d (%s) of %s has no address to tell its traffic by", [port.number, spoken(port), hosts]),
	),
	{
		"severity": severity(port),
		"effect": effect(port),
		"subject": {"hosts": [h.name | some h in entry.hosts], "ports": [port.number]},
	},
) if {
	count(entry.addresses) == 0
	not allocated
	some port in entry.ports
	opaque(port)
}

# The protocol is the culprit where it is written, else the port.
field(port) := ["spec", "ports", port.index, "protocol"] if port.protocol != ""

field(port) := ["spec", "ports", port.index] if port.protocol == ""

findings contains result.with_more(
	result.at(
		["spec", "ports", port.index, "protocol"],
		sprintf("port %d of %s is TCP for the ranges %s", [port.number, hosts, concat(", ", ranges)]),
	),
	{
		"severity": "warning",
		"effect": sprintf("Envoy treats every HTTP call to port %d in these ranges as bytes: HTTP routes, retries, timeouts and metrics of other hosts there do not apply", [port.number]),
		"related": [result.also(["spec", "addresses"], "the ranges")],
		"subject": {"hosts": [h.name | some h in entry.hosts], "ports": [port.number]},
	},
) if {
	count(ranges) > 0
	some port in entry.ports
	port.protocol == "TCP"
	port.number in {80, 8080}
}

ranges := [a | some a in own_addresses; address.is_range(a)]
