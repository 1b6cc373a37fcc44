# METADATA
# title: STATIC without usable endpoints
# description: |-
#   A ServiceEntry with resolution STATIC that lists no endpoints and has no workloadSelector, while no other ServiceEntry of its
#   namespace brings endpoints for the host; or one of whose endpoints is a host name.
#
#   STATIC takes its addresses from `endpoints` and from nowhere else; `addresses` are those that Envoy listens on. Without
#   endpoints Istio compiles an EDS cluster with none, and keeps the listener and the route, so every call fails with flag UH,
#   without a word of warning. A host name among the endpoints is refused by Istio's webhook; compiled all the same, Istio leaves
#   it out of the cluster.
#
#   Unix domain sockets and IPv6 addresses are endpoints like any other. So are those that another entry of the namespace brings
#   for a port of the same host and name, whatever its exportTo: Istio puts them together. The
#   pods of a Service count as well, so the rule does not judge a host that a Service has, nor a MESH_INTERNAL one under the
#   cluster's domain. An entry that `exportTo: ["~"]` hides from everybody has no cluster either way.
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
#   supersedes:
#   - {rule: MV907, scope: path}
#   fix: none
#   proof: {kind: changes, text: "the cluster's load assignment has no endpoint before and the listed ones after"}
#   observe:
#     stats: [upstream_cx_none_healthy, membership_total]
#     flags: [UH]
#     configDump: "istioctl proxy-config endpoint POD --cluster 'outbound|PORT||HOST' lists none"
package meshvet.static_without_endpoints

import data.meshvet.lib.address
import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

endpoints := [e | some e in spec.endpoints]

addresses := [a | some a in spec.addresses; is_string(a)]

entry := mesh.entry()

# The ports of a host for which nothing brings endpoints. Those of another entry count for the ports that have the same name.
unserved(h) := [p | some p in entry.ports; p.family != "none"; not p.name in h.endpoint_ports]

carried := [p | some p in entry.ports; p.family != "none"]

orphans := [h.name | some h in entry.hosts; not h.may_have_pods; count(unserved(h)) == count(carried)]

# Istio adds the pods of a Service to an entry of the same name and namespace, and pods are never in view.
shared := [h.name | some h in entry.hosts; h.may_have_pods; count(unserved(h)) > 0]

listens := sprintf("; addresses (%s) are those that clients dial, not where Envoy connects to", [hosts.listed(addresses)]) if count(addresses) > 0

listens := "" if count(addresses) == 0

none_listed if {
	spec.resolution == "STATIC"
	count(endpoints) == 0
	not entry.selector
	not entry.hidden
}

subject(names) := {"hosts": names, "ports": [p.number | some p in carried]}

fails := "Istio compiles an EDS cluster without an endpoint and keeps the listener and the route: every call fails with flag UH, HTTP with 503, anything else with a closed connection"

findings contains result.with_more(
	result.at(
		["spec", "endpoints"],
		sprintf("resolution STATIC, and no endpoints for %s%s", [hosts.listed(orphans), listens]),
	),
	{
		"effect": fails,
		"related": [result.also(["spec", "resolution"], "STATIC is set here")],
		"subject": subject(orphans),
	},
) if {
	none_listed
	count(carried) > 0
	count(orphans) > 0
}

findings contains result.with_more(
	result.at(
		["spec", "ports", p.index],
		sprintf("resolution STATIC, and no endpoints for port %d (name %s) of %s: other entries bring endpoints only for ports of the name %s", [p.number, p.name, h.name, hosts.listed(h.endpoint_ports)]),
	),
	{
		"effect": fails,
		"related": [result.also(["spec", "resolution"], "STATIC is set here")],
		"subject": {"hosts": [h.name], "ports": [p.number]},
	},
) if {
	none_listed
	some h in entry.hosts
	not h.may_have_pods
	some p in unserved(h)
	count(unserved(h)) < count(carried)
}

findings contains result.skip(sprintf("pods of a Service may be the endpoints of %s", [hosts.listed(shared)])) if {
	none_listed
	count(shared) > 0
}

# A word such as ${POD_IP} or <IP> is filled in before the manifest is applied.
filled_in_later(text) if regex.match("[$<{%]", text)

unchecked(text) := sprintf("Envoy takes it for the socket %s in its own working directory", [trim_prefix(text, "unix://")]) if {
	startswith(text, "unix://")
} else := sprintf("Envoy's EDS cluster for %s lacks the endpoint", [hosts.listed([h.name | some h in entry.hosts])])

kind(text) := "a range" if {
	address.is_range(text)
} else := "no socket that Istio knows (unix:///path or unix://@name)" if {
	startswith(text, "unix:")
} else := "a name" if {
	regex.match(`^[A-Za-z0-9_*-]+(\.[A-Za-z0-9_*-]+)*\.?$`, text)
	regex.match(`[A-Za-z]`, text)
} else := "no IP address"

findings contains result.with_more(
	result.at(
		["spec", "endpoints", i, "address"],
		sprintf("endpoint %s is %s, and resolution STATIC takes only addresses", [e.address, kind(e.address)]),
	),
	{
		"effect": sprintf("istiod's webhook rejects the object; where the webhook does not run, %s", [unchecked(e.address)]),
		"related": [result.also(["spec", "resolution"], "STATIC is set here")],
		"subject": subject([h.name | some h in entry.hosts]),
	},
) if {
	spec.resolution == "STATIC"
	some i, e in spec.endpoints
	is_string(e.address)
	e.address != ""
	not address.is_ip(e.address)
	not address.is_socket(e.address)
	not filled_in_later(e.address)
}
