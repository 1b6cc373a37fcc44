# METADATA
# title: A wildcard host cannot be looked up
# description: |-
#   A ServiceEntry with a wildcard host, resolution DNS or DNS_ROUND_ROBIN, and no endpoints.
#
#   With these resolutions Envoy looks the host up. A wildcard is no name that a resolver answers: Istio compiles a STRICT_DNS or
#   LOGICAL_DNS cluster for the literal text `*.example.com`. Istio's webhook refuses the object, with a text that speaks of FQDNs
#   and "prefix wildcards" and leads astray: it is the wildcard itself that fails.
#
#   A wildcard with an endpoint that has a name is fine and not reported: all names then go to that one address.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry-Resolution
# - https://istio.io/latest/docs/tasks/traffic-management/egress/wildcard-egress-hosts/
# custom:
#   id: SE103
#   category: service-entry
#   severity: error
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   sidecarOnly: true
#   when:
#   - all:
#     - {path: spec.resolution, values: [DNS, DNS_ROUND_ROBIN]}
#     - {path: "spec.endpoints[*]", absent: true}
#   facts: [wildcard-host]
#   remedy: |-
#     Write resolution NONE (Envoy forwards to the address that the client dialled), or DYNAMIC_DNS (Envoy looks up the name in SNI
#     or Host, ports of protocol HTTP, HTTP2, GRPC or TLS only), or list an endpoint that serves all names.
#   supersedes:
#   - {rule: MV907, scope: path}
#   fix: none
#   proof: {kind: rejects, text: "Istio's validation refuses the object; compiled all the same, the cluster resolves the literal wildcard"}
#   observe:
#     stats: [update_failure]
#     flags: [UH, DF]
#     configDump: "istioctl proxy-config cluster POD -o json shows a socketAddress with the wildcard as its address"
package meshvet.wildcard_cannot_resolve

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

wildcards := hosts.wildcards(hosts.of(input.object))

cluster := "STRICT_DNS" if spec.resolution == "DNS"

cluster := "LOGICAL_DNS" if spec.resolution == "DNS_ROUND_ROBIN"

# A wildcard does not stop the other names of the entry from being looked up; they need an entry without it.
others := "" if count(hosts.of(input.object)) == count(wildcards)

others := ", or move the other hosts to an entry of their own" if count(hosts.of(input.object)) > count(wildcards)

findings contains result.with_more(
	result.at(
		["spec", "resolution"],
		sprintf(
			"resolution %s cannot look up the wildcard host %s, and there are no endpoints; write NONE or DYNAMIC_DNS, or list an endpoint that serves all names%s",
			[spec.resolution, hosts.listed(wildcards), others],
		),
	),
	{
		"effect": sprintf("istiod's webhook rejects the object; where the webhook does not run, Envoy's %s cluster asks the resolver for the literal name %s and never gets an address", [cluster, wildcards[0]]),
		"related": [result.also(["spec", "hosts", i], "the wildcard host") | some i, h in spec.hosts; h in wildcards],
		"subject": {"hosts": wildcards, "ports": [p.number | some p in spec.ports; is_number(p.number)]},
	},
) if {
	spec.resolution in {"DNS", "DNS_ROUND_ROBIN"}
	count([e | some e in spec.endpoints]) == 0
	object.get(input.object, ["spec", "workloadSelector"], null) == null
	count(wildcards) > 0
}

# With a workloadSelector the text is the same to Istio, but there is nothing for Envoy to look up.
findings contains result.with_more(
	result.at(
		["spec", "resolution"],
		sprintf("resolution %s does not take the wildcard host %s together with a workloadSelector; write STATIC", [spec.resolution, hosts.listed(wildcards)]),
	),
	{
		"effect": "istiod's webhook rejects the object; where the webhook does not run, there is no cluster for the host while no workload matches",
		"related": [result.also(["spec", "workloadSelector"], "the endpoints are to be found by labels")],
		"subject": {"hosts": wildcards, "ports": [p.number | some p in spec.ports; is_number(p.number)]},
	},
) if {
	spec.resolution in {"DNS", "DNS_ROUND_ROBIN"}
	count([e | some e in spec.endpoints]) == 0
	object.get(input.object, ["spec", "workloadSelector"], null) != null
	count(wildcards) > 0
}
