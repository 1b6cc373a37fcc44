# METADATA
# title: What DYNAMIC_DNS does not take
# description: |-
#   A ServiceEntry with resolution DYNAMIC_DNS that has a host which is no wildcard, addresses, endpoints, or a port of another protocol
#   than HTTP, HTTP2, GRPC and TLS.
#
#   With DYNAMIC_DNS Envoy looks up the name that each client asks for, in SNI or in the Host header, as the calls come in
#   (dynamic_forward_proxy). So the host has to be a pattern, the protocol has to carry a name, and there is nothing for addresses or
#   endpoints to say. Istio's webhook refuses everything else, also a port of protocol HTTPS, which means the same as TLS elsewhere.
#   Compiled all the same, a host that is no wildcard gets an EDS cluster, for which nothing is looked up, and a port of another protocol
#   a listener without a cluster.
#
#   Where every host is a concrete name, the resolution is the mistake, and one finding names all that does not fit. Protocols may be
#   written in any case. A workloadSelector is not refused.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry-Resolution
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/http/http_proxy
# custom:
#   id: SE105
#   category: service-entry
#   severity: error
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   sidecarOnly: true
#   when:
#   - all:
#     - {path: spec.resolution, values: [DYNAMIC_DNS]}
#   remedy: |-
#     Write resolution DNS for hosts that can be written out. For wildcards write protocol TLS where clients bring their own TLS, HTTP,
#     HTTP2 or GRPC where Envoy reads the requests, and leave out `addresses` and `endpoints`; other protocols need an entry
#     of their own with another resolution.
#   supersedes:
#   - {rule: MV907, scope: path}
#   - {rule: SE109, scope: port}
#   fix: unsafe
#   proof: {kind: rejects, text: "Istio's validation refuses the object; compiled all the same, a concrete host gets an EDS cluster and a port of another protocol none"}
#   observe:
#     flags: [NC, UH]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST shows no cluster for the port, or one of type EDS"
package meshvet.dynamic_dns_misused

import data.meshvet.lib.address
import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

entry := mesh.entry()

dynamic if spec.resolution == "DYNAMIC_DNS"

concrete := [h.name | some h in entry.hosts; not h.wildcard]

addresses := [a | some a in spec.addresses; is_string(a)]

endpoints := [sprintf("%v", [object.get(e, "address", "one without address")]) | some e in spec.endpoints]

taken := {"HTTP", "HTTP2", "GRPC", "TLS"}

unfit := [p | some p in entry.ports; not p.protocol in taken]

# With no pattern among the hosts it is the resolution that does not fit, and what else it does not take follows from that.
all_concrete if {
	count(concrete) == count(entry.hosts)
}

some_pattern if {
	dynamic
	not all_concrete
}

# All that Istio's webhook refuses for the same reason.
accounted := array.concat([["spec", "resolution"], ["spec", "addresses"], ["spec", "endpoints"]], [at(p) | some p in unfit])

# What happens where the object gets past the webhook; nothing is compiled of an entry that nobody sees, or whose ports are all UDP.
effect(compiled) := sprintf("istiod's webhook rejects the object; where the webhook does not run, %s", [compiled]) if {
	compiles
} else := "istiod's webhook rejects the object"

compiles if {
	not entry.hidden
	some p in entry.ports
	p.family != "none"
}

# A concrete name with DYNAMIC_DNS has the cluster of STATIC.
unresolved := sprintf("Envoy's cluster for %s is of type EDS without an endpoint, and every call fails with flag UH", [concrete[0]]) if {
	count(endpoints) == 0
} else := sprintf("Envoy's cluster for %s is of type EDS, and nothing is looked up for it", [concrete[0]])

other_than(all) := array.concat(
	array.concat([result.also(["spec", "addresses"], "DYNAMIC_DNS takes no addresses") | count(addresses) > 0], [result.also(["spec", "endpoints"], "DYNAMIC_DNS takes no endpoints") | count(endpoints) > 0]),
	[result.also(at(p), "DYNAMIC_DNS takes only HTTP, HTTP2, GRPC and TLS") | some p in all],
)

# The protocol is the culprit where it is written, else the port.
at(p) := ["spec", "ports", p.index, "protocol"] if {
	p.protocol != ""
} else := ["spec", "ports", p.index]

by_address(text) if address.is_ip(text)

by_address(text) if address.is_socket(text)

all_by_address if {
	count(endpoints) > 0
	every e in endpoints {
		by_address(e)
	}
}

# What else the entry says has to fit to the resolution that is proposed.
proposed := "STATIC" if {
	all_by_address
	named_ports
} else := "DNS" if {
	named_ports
	every e in endpoints {
		not startswith(e, "unix:")
	}
	every a in addresses {
		not contains(a, "/")
	}
	every h in entry.hosts {
		not h.address
	}
} else := ""

named_ports if {
	every p in entry.ports {
		p.protocol in (taken | {"HTTPS", "GRPC-WEB"})
	}
}

findings contains result.with_more(
	result.at(
		["spec", "resolution"],
		sprintf("resolution DYNAMIC_DNS takes only wildcard hosts, and %s %s%s", [hosts.listed(concrete), is_none, instead]),
	),
	{
		"effect": effect(unresolved),
		"related": other_than(unfit),
		"fixes": [result.set(sprintf("set resolution to %s", [r]), "unsafe", [{"path": ["spec", "resolution"], "value": r}]) |
			r := proposed
			r != ""
		],
		"subject": {"fields": accounted},
	},
) if {
	dynamic
	all_concrete
}

instead := sprintf("; write %s", [proposed]) if {
	proposed != ""
} else := ""

is_none := "is none" if count(concrete) == 1

is_none := "are none" if count(concrete) > 1

belongs := "it belongs" if count(concrete) == 1

belongs := "they belong" if count(concrete) > 1

findings contains result.with_more(
	result.at(
		["spec", "hosts", first],
		sprintf("resolution DYNAMIC_DNS takes only wildcard hosts, and %s %s: %s in another entry, with resolution DNS", [hosts.listed(concrete), is_none, belongs]),
	),
	{
		"effect": effect(unresolved),
		"related": [result.also(["spec", "resolution"], "DYNAMIC_DNS is set here")],
		"subject": {"fields": accounted},
	},
) if {
	some_pattern
	first := min([i | some i, h in spec.hosts; h == concrete[0]])
}

findings contains result.with_more(
	result.at(
		["spec", "addresses"],
		sprintf("resolution DYNAMIC_DNS takes no addresses (%s): Envoy looks up the name that the client asks for", [hosts.listed(addresses)]),
	),
	{
		"effect": effect("Envoy looks up the name in SNI or Host all the same, wherever the client dialled"),
		"related": [result.also(["spec", "resolution"], "DYNAMIC_DNS is set here")],
		"fixes": [result.fix("remove the addresses", "unsafe", [{"op": "remove", "path": ["spec", "addresses"]}])],
		"subject": {"fields": accounted},
	},
) if {
	some_pattern
	count(addresses) > 0
}

findings contains result.with_more(
	result.at(
		["spec", "endpoints"],
		sprintf("resolution DYNAMIC_DNS takes no endpoints (%s): Envoy looks up the name that the client asks for; write %s if all calls are to go to them", [hosts.listed(endpoints), fixed_list]),
	),
	{
		"effect": effect("Envoy's cluster is a dynamic_forward_proxy, in which the endpoints do not occur"),
		"related": [result.also(["spec", "resolution"], "DYNAMIC_DNS is set here")],
		"subject": {"fields": accounted},
	},
) if {
	some_pattern
	count(endpoints) > 0
}

fixed_list := "STATIC" if {
	all_by_address
} else := "DNS"

# Ports of which the same is to be said are one finding.
groups := {ports |
	some one in unfit
	ports := [p | some p in unfit; kind(p) == kind(one)]
}

kind(p) := [p.protocol, means_tls(p)]

# HTTPS is what Istio treats as TLS everywhere else. On 443 an author who leaves it at TCP or at nothing most likely means TLS as well.
means_tls(p) if {
	p.protocol == "HTTPS"
} else if {
	p.protocol in {"TCP", ""}
	p.number == 443
} else := false

spoken(p) := sprintf("protocol %s", [p.protocol]) if {
	p.protocol != ""
} else := "a port without protocol"

advice(p) := "write TLS" if {
	means_tls(p)
} else := "only HTTP, HTTP2, GRPC and TLS name the host that Envoy is to look up"

numbered(ports) := sprintf("port %d", [ports[0].number]) if count(ports) == 1

numbered(ports) := sprintf("ports %s", [hosts.listed([sprintf("%d", [p.number]) | some p in ports])]) if count(ports) > 1

unserved(p) := "Envoy gets nothing at all for it" if {
	p.protocol == "UDP"
} else := "Envoy gets a listener for the port and no cluster: every call fails with flag NC, HTTP with 503, anything else with a closed connection"

findings contains result.with_more(
	result.at(
		at(ports[0]),
		sprintf("resolution DYNAMIC_DNS does not take %s (%s); %s", [spoken(ports[0]), numbered(ports), advice(ports[0])]),
	),
	{
		"effect": effect(unserved(ports[0])),
		"related": array.concat(
			[result.also(["spec", "resolution"], "DYNAMIC_DNS is set here")],
			[result.also(at(p), sprintf("port %d is one of them", [p.number])) | some p in array.slice(ports, 1, count(ports))],
		),
		"fixes": [result.set("write protocol TLS", "unsafe", [{"path": ["spec", "ports", p.index, "protocol"], "value": "TLS"} | some p in ports]) | means_tls(ports[0])],
		"subject": {"hosts": [], "ports": [p.number | some p in ports], "fields": accounted},
	},
) if {
	some_pattern
	some ports in groups
}
