# METADATA
# title: STATIC without usable endpoints
# description: |-
#   A ServiceEntry with resolution STATIC that lists no endpoints and has no workloadSelector, while no other ServiceEntry of its
#   namespace brings endpoints for the host; or whose endpoint is a host name.
#
#   STATIC takes its addresses from `endpoints` and from nowhere else; `addresses` are those that Envoy listens on. Without
#   endpoints Istio compiles an EDS cluster with none, and keeps the listener and the route, so every call fails with 503 and flag
#   UH, without a word of warning. A host name among the endpoints is refused by Istio's webhook; compiled all the same, it gives
#   an empty cluster too.
#
#   Unix domain sockets and IPv6 addresses are endpoints like any other.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry-Resolution
# - https://istio.io/latest/docs/reference/config/networking/workload-entry/
# custom:
#   id: SE104
#   category: service-entry
#   severity: error
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   when:
#   - all:
#     - {path: spec.resolution, values: [STATIC]}
#   remedy: |-
#     List the addresses under `endpoints`, or choose them by `workloadSelector`. For endpoints that have names write resolution DNS.
#   fix: none
#   proof: {kind: changes, text: "the cluster's load assignment has no endpoint before and the listed ones after"}
#   observe:
#     stats: [upstream_cx_none_healthy, membership_total]
#     flags: [UH]
#     configDump: "istioctl proxy-config endpoint POD --cluster 'outbound|PORT||HOST' lists none"
package meshvet.static_without_endpoints

import data.meshvet.lib.address
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

endpoints := [e | some e in object.get(spec, "endpoints", [])]

addresses := [a | some a in object.get(spec, "addresses", [])]

entry := mesh.entry()

orphans := [h.name | some h in entry.hosts; not h.endpoints_elsewhere]

listens := sprintf("; addresses (%s) are those that Envoy listens on, not where it connects to", [concat(", ", addresses)]) if count(addresses) > 0

listens := "" if count(addresses) == 0

findings contains result.with_more(
	result.at(
		["spec", "endpoints"],
		sprintf("resolution STATIC, and no endpoints for %s%s", [concat(", ", orphans), listens]),
	),
	{
		"effect": "Istio compiles an EDS cluster without an endpoint and keeps the listener and the route: every call fails with 503 and flag UH",
		"related": [result.also(["spec", "resolution"], "STATIC is set here")],
		"subject": {"hosts": orphans, "ports": [p.number | some p in entry.ports]},
	},
) if {
	spec.resolution == "STATIC"
	count(endpoints) == 0
	not entry.selector
	count(orphans) > 0
}

findings contains result.with_more(
	result.at(
		["spec", "endpoints", i, "address"],
		sprintf("endpoint %s is a name, and resolution STATIC takes only addresses", [e.address]),
	),
	{
		"effect": "istiod's webhook rejects the object; where the webhook does not run, the endpoint is dropped and Envoy's EDS cluster lacks it",
		"related": [result.also(["spec", "resolution"], "STATIC is set here")],
		"subject": {"hosts": [h.name | some h in entry.hosts], "ports": [p.number | some p in entry.ports]},
	},
) if {
	spec.resolution == "STATIC"
	some i, e in endpoints
	is_string(e.address)
	e.address != ""
	not address.is_ip(e.address)
	not address.is_socket(e.address)
}
