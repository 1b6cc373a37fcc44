# METADATA
# title: Only the first address of a DNS answer is used
# description: |-
#   A ServiceEntry with resolution DNS_ROUND_ROBIN that does not say why. It is a warning if a DestinationRule asks for something that
#   needs a list of addresses: outlier detection, or a loadBalancer other than the default.
#
#   DNS_ROUND_ROBIN is a LOGICAL_DNS cluster: Envoy keeps no list, and a new connection goes to the first address of the newest answer.
#   Measured on Istio 1.30.0 with two A records, 15 of 15 requests went to the first one; with DNS (STRICT_DNS) they were shared 7 to 5. The other
#   addresses do not occur, there is nothing to balance over and nothing to eject, and a failover leaves no trace in `membership_change`.
#
#   It is right where each answer is a sample of a large rotating pool, so that an address which is missing from one means nothing.
#   An annotation `meshvet.dev/rotating-pool` with the reason says so, and the entry is not reported. Neither is one for which a
#   finding on a DestinationRule says the same of all its ports, one that Istio refuses (wildcards without an endpoint, several
#   endpoints), one with a single address as its endpoint, nor one whose host a Service has.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry-Resolution
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery#logical-dns
# custom:
#   id: SE102
#   category: service-entry
#   severity: info
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   when:
#   - all:
#     - {path: spec.resolution, values: [DNS_ROUND_ROBIN]}
#   remedy: |-
#     Write resolution DNS. If each DNS answer is only a sample of a large pool, keep DNS_ROUND_ROBIN and say so in an annotation
#     `meshvet.dev/rotating-pool` with the reason.
#   fix: unsafe
#   proof: {kind: changes, text: "the type of the cluster goes from LOGICAL_DNS to STRICT_DNS"}
#   observe:
#     stats: [membership_total, membership_change, upstream_cx_total]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows \"type\": \"LOGICAL_DNS\"; istioctl proxy-config endpoint shows one address"
package meshvet.first_ip_only

import data.meshvet.lib.address
import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

entry := mesh.entry()

names := [h.name | some h in entry.hosts]

ports := [p.number | some p in entry.ports; p.family != "none"]

endpoints := [e | some e in spec.endpoints]

explained if {
	reason := input.object.metadata.annotations["meshvet.dev/rotating-pool"]
	trim_space(reason) != ""
}

# A name to look up: that of the only endpoint, or the host.
looked_up if {
	count(endpoints) == 1
	is_string(endpoints[0].address)
	not address.is_ip(endpoints[0].address)
	not address.is_socket(endpoints[0].address)
}

looked_up if {
	count(endpoints) == 0
	every h in entry.hosts {
		not h.wildcard
		not h.address
	}
}

in_the_mesh if {
	some h in entry.hosts
	h.may_have_pods
}

balancing := mesh.governing("loadBalancer")

# With PASSTHROUGH the cluster keeps no addresses at all, which is another fault.
passed_through if {
	some b in balancing
	b.value.simple == "PASSTHROUGH"
}

# What says no more than the default needs no list.
needs_list(b) if b.value.simple in {"ROUND_ROBIN", "RANDOM"}

needs_list(b) if {
	some field in ["consistentHash", "localityLbSetting", "warmup", "warmupDurationSecs"]
	object.get(b.value, field, null) != null
}

# Outlier detection that is written for the host alone has a finding of its own, on the DestinationRule.
asks := {{"what": "outlierDetection", "rule": b.rule, "path": b.path} |
	some b in mesh.governing("outlierDetection")
	startswith(b.rule_host, "*")
} | {{"what": "loadBalancer", "rule": b.rule, "path": b.path} |
	some b in balancing
	needs_list(b)
}

asked := concat(" and ", {a.what | some a in asks})

found(message, severity) := result.with_more(
	result.at(["spec", "resolution"], message),
	{
		"severity": severity,
		"effect": "a new connection goes to the first address of the newest DNS answer (cluster type LOGICAL_DNS): measured with two addresses, 15 of 15 requests went to the first, and 7 and 5 with DNS (STRICT_DNS)",
		"related": [result.also_in(a.rule, a.path, sprintf("%s is set here", [a.what])) | some a in asks],
		"fixes": [result.set("set resolution to DNS", "unsafe", [{"path": ["spec", "resolution"], "value": "DNS"}])],
		"subject": {"hosts": names, "ports": ports},
	},
)

applies if {
	entry.resolution == "DNS_ROUND_ROBIN"
	not explained
	count(names) > 0
	count(ports) > 0
	looked_up
	not entry.selector
	not entry.hidden
	not in_the_mesh
	not passed_through
}

findings contains found(sprintf("resolution DNS_ROUND_ROBIN for %s uses one address of the DNS answer at a time", [hosts.listed(names)]), "info") if {
	applies
	count(asks) == 0
}

findings contains found(
	sprintf(
		"resolution DNS_ROUND_ROBIN for %s uses one address of the DNS answer at a time, and %s of DestinationRule %s wants several",
		[hosts.listed(names), asked, concat(", ", {a.rule.name | some a in asks})],
	),
	"warning",
) if {
	applies
	count(asks) > 0
}
