# METADATA
# title: An opaque port without an address takes the traffic of the whole port
# description: |-
#   A port of protocol TCP, MONGO, REDIS, MYSQL or none in a ServiceEntry without addresses; or a port 80 or 8080 of protocol TCP or
#   none whose addresses are ranges.
#
#   Nothing in the bytes of such a protocol names a host, so Envoy can only tell it by the address that is dialled. Without one, Istio
#   builds a single filter chain on 0.0.0.0 for the port, and it takes all traffic of that port that nothing else matches, *of every
#   namespace that sees the ServiceEntry*: calls to other https hosts on 443 end at this one and fail on the certificate's name.
#   Where some service speaks HTTP on the port there is an HTTP chain as well, which does not know this host, so its own requests
#   go past it. On ports 80 and 443 that is an error, on others a warning.
#
#   A port without a protocol has an HTTP chain of its own, in which the Host header tells HTTP apart: only what is not HTTP is
#   captured, so that on port 80 it is a warning. So it is with resolution NONE: the bytes still reach the address that was dialled,
#   but they are counted as this host's, escape the policy of their own, and the port is open under outboundTrafficPolicy
#   REGISTRY_ONLY.
#
#   A range is told by its addresses, but its chain comes before the HTTP chain of the port, so HTTP to it is no longer HTTP to Envoy.
#
#   An entry to which istiod has given addresses (`status.addresses`) is fine, and so is one for which `istio.dnsCapture` and
#   `istio.autoAllocate` in the configuration say that it will. Istiod gives none, and ignores those that are there, for resolution
#   NONE and with the label `networking.istio.io/enable-autoallocate-ip: "false"`; it gives none to wildcards; and proxies without
#   DNS capture do not use them.
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
#     - {path: "spec.addresses[*]", absent: true}
#   - all:
#     - {path: "spec.ports[*].number", values: [80, 8080]}
#   facts: [opaque-port]
#   supersedes:
#   - {rule: SE110, scope: port}
#   remedy: |-
#     Write the protocol that names the host, if clients speak one: TLS (by SNI) or HTTP (by the Host header). Otherwise give the entry
#     an address of its own under `addresses`, or switch on DNS capture and address auto-allocation and say so in .meshvet.yaml.
#   fix: none
#   proof: {kind: changes, text: "with an address the filter chain moves from 0.0.0.0_PORT, where it replaces PassthroughCluster, to that address"}
#   observe:
#     stats: [upstream_cx_total]
#     configDump: "istioctl proxy-config listener POD --port PORT shows 0.0.0.0 with this host's cluster where PassthroughCluster is expected"
package meshvet.port_captures_mesh

import data.meshvet.lib.address
import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

entry := mesh.entry()

own_addresses := [a | some a in input.object.spec.addresses; is_string(a)]

ranges := [a | some a in own_addresses; address.is_range(a)]

# The hosts for which Envoy listens on 0.0.0.0, and not on an address that istiod gave them.
names := [h.name | some h in entry.hosts; not h.allocated]

# Of several hosts Istio builds the chain for the first by name.
captor := sort(names)[0]

# What Istio refuses for another reason has a finding of its own: endpoints beside NONE, and DYNAMIC_DNS with such a port.
refused if {
	entry.resolution == "NONE"
	entry.endpoints > 0
}

refused if entry.resolution == "DYNAMIC_DNS"

captures if {
	count(own_addresses) == 0
	count(names) > 0
	not refused
	not entry.hidden
}

# A number that is written twice is refused, and there is nothing to say of it a second time.
repeated(port) if {
	some p in entry.ports
	p.number == port.number
	p.index < port.index
}

opaque(port) if {
	not repeated(port)
	port.protocol in {"TCP", "MONGO", "REDIS", "MYSQL", ""}
	port.number > 0
	port.number < 65536 # others are refused
}

spoken(port) := port.protocol if {
	port.protocol != ""
} else := "no protocol"

# The protocol is the culprit where it is written, else the port.
field(port) := ["spec", "ports", port.index, "protocol"] if {
	port.protocol != ""
} else := ["spec", "ports", port.index]

severity(port) := "error" if {
	port.number in {80, 443}
	entry.resolution != "NONE"
	not sniffed_http(port)
} else := "warning"

# Little but HTTP is ever sent to port 80, and of a port without protocol HTTP is not captured.
sniffed_http(port) if {
	port.number == 80
	port.protocol == ""
}

# What the port is known for carries a host name, so that the author can have it matched.
advice(port) := "; protocol TLS would tell it by SNI" if {
	port.number == 443
	port.protocol in {"TCP", ""}
} else := "; protocol HTTP would tell it by the Host header" if {
	port.number in {80, 8080}
	port.protocol == "TCP"
} else := "; write protocol HTTP if it speaks nothing else" if {
	port.number in {80, 8080}
	port.protocol == ""
} else := ""

# Ports of which the same is to be said are one finding.
groups := {ports |
	some one in entry.ports
	opaque(one)
	ports := [p | some p in entry.ports; opaque(p); kind(p) == kind(one)]
}

kind(port) := [port.protocol, severity(port), advice(port)]

numbered(ports) := sprintf("port %d", [ports[0].number]) if count(ports) == 1

numbered(ports) := sprintf("ports %s", [hosts.listed([sprintf("%d", [p.number]) | some p in ports])]) if count(ports) > 1

others(ports, words) := [result.also(["spec", "ports", p.index], sprintf(words, [p.number])) | some p in array.slice(ports, 1, count(ports))]

has(ports) := "has" if count(ports) == 1

has(ports) := "have" if count(ports) > 1

takes(ports) := "takes" if count(ports) == 1

takes(ports) := "take" if count(ports) > 1

what(ports) := "what is not HTTP" if {
	ports[0].protocol == ""
} else := "its traffic" if {
	count(ports) == 1
} else := "their traffic"

clients := "the entry's own namespace" if {
	input.object.spec.exportTo == ["."]
} else := sprintf("namespace %s", [input.object.spec.exportTo[0]]) if {
	count(input.object.spec.exportTo) == 1
	not input.object.spec.exportTo[0] in {"*", "."}
} else := "every namespace that sees the entry"

unmatched(port) := "every connection that no other filter chain matches" if port.protocol != ""

unmatched(port) := "every connection that is not HTTP and that no other filter chain matches" if port.protocol == ""

listener(ports) := sprintf("Envoy's listener 0.0.0.0:%d", [ports[0].number]) if count(ports) == 1

listener(ports) := "Envoy's listener on 0.0.0.0 for each of the ports" if count(ports) > 1

cluster(ports) := sprintf("cluster outbound|%d||%s", [ports[0].number, captor]) if count(ports) == 1

cluster(ports) := sprintf("the port's cluster of this entry, such as outbound|%d||%s", [ports[0].number, captor]) if count(ports) > 1

about(ports) := {"hosts": names, "ports": [p.number | some p in ports]}

findings contains result.with_more(
	result.at(
		field(ports[0]),
		sprintf("%s (%s) of %s %s no address to tell %s by%s", [numbered(ports), spoken(ports[0]), hosts.listed(names), has(ports), what(ports), advice(ports[0])]),
	),
	{
		"severity": severity(ports[0]),
		"effect": sprintf(
			"in %s, %s sends %s to %s, whichever host was meant",
			[clients, listener(ports), unmatched(ports[0]), cluster(ports)],
		),
		"related": others(ports, "port %d is one of them"),
		"subject": about(ports),
	},
) if {
	captures
	entry.resolution != "NONE"
	some ports in groups
}

findings contains result.with_more(
	result.at(
		field(ports[0]),
		sprintf("%s (%s) of %s %s no address to tell %s by, and resolution NONE can go anywhere%s", [numbered(ports), spoken(ports[0]), hosts.listed(names), has(ports), what(ports), advice(ports[0])]),
	),
	{
		"severity": severity(ports[0]),
		"effect": sprintf(
			"in %s, %s forwards %s to the address that was dialled, but as traffic of %s: it is counted and governed as that host's, and passes under outboundTrafficPolicy REGISTRY_ONLY",
			[clients, listener(ports), unmatched(ports[0]), captor],
		),
		"related": others(ports, "port %d is one of them"),
		"subject": about(ports),
	},
) if {
	captures
	entry.resolution == "NONE"
	some ports in groups
}

ranged := {ports |
	some protocol in {"TCP", ""}
	ports := [p | some p in entry.ports; p.protocol == protocol; p.number in {80, 8080}]
	count(ports) > 0
}

findings contains result.with_more(
	result.at(
		field(ports[0]),
		sprintf("%s (%s) of %s %s all that goes to %s, HTTP included", [numbered(ports), spoken(ports[0]), hosts.listed(names), takes(ports), hosts.listed(ranges)]),
	),
	{
		"severity": "warning",
		"effect": sprintf("on %s the filter chain of the range comes before the HTTP chain: requests to any address in it are forwarded as bytes, and routes, retries, timeouts and limits of HTTP hosts there do not apply", [listener(ports)]),
		"related": array.concat([result.also(["spec", "addresses"], "the ranges")], others(ports, "port %d is one of them")),
		"subject": about(ports),
	},
) if {
	count(ranges) > 0
	not entry.hidden
	some ports in ranged
}
