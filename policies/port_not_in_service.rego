# METADATA
# title: An entry of portLevelSettings that Istio does not apply
# description: |-
#   A `portLevelSettings` entry, at the destination level or in a subset, for a port that no host of the rule has; a second entry
#   for a port; or one without a port number.
#
#   Istio looks for an entry when it compiles the cluster of a port, by the number that the port has in `ports` of the ServiceEntry or
#   Service. The `targetPort`, to which the proxy connects in the end, plays no part, nor does the name of the port. An entry for
#   another number is never looked up, and of two for one number only the first is. Nothing says so: the port has what the destination
#   level or the subset says. An entry without a number is refused by Istio's validation, and ignored where that is not asked.
#
#   A rule for a wildcard is reported only if no host that it takes in has the port, and if all hosts of the mesh are known.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#TrafficPolicy-PortTrafficPolicy
# custom:
#   id: DR225
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*]"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*]"}
#   facts: [idle-entry]
#   remedy: |-
#     Write the number that the port has in the ServiceEntry or Service, put all settings of a port into one entry, and delete
#     entries for ports that are gone.
#   fix: safe
#   proof: {kind: ignored, text: "without the entry Istio compiles the same clusters, listeners and routes"}
#   observe:
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST lists the ports that have a cluster; that of the port meant has what the destination level says"
package meshvet.port_not_in_service

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

in_subset(e) := "" if e.subset == ""

in_subset(e) := sprintf(" in subset %s", [e.subset]) if e.subset != ""

numbers(list) := hosts.listed([format_int(n, 10) | some n in list])

# Of a wildcard more hosts may turn up than are in view.
all_known(reach) if not reach.wildcard

all_known(reach) if {
	mesh.complete("ServiceEntry")
	services_known(reach)
}

services_known(reach) if {
	not reach.in_cluster
	reach.host != "*"
}

services_known(_) if mesh.complete("Service")

lacks(reach) := sprintf("none of the hosts under %s has", [reach.host]) if reach.wildcard

lacks(reach) := sprintf("%s does not have", [reach.host]) if not reach.wildcard

mistaken(e) := sprintf("; %d is the targetPort of port %s, by which no entry is looked up", [e.port, numbers(e.target_port_of)]) if count(e.target_port_of) > 0

mistaken(e) := "" if count(e.target_port_of) == 0

# No host has the port.
findings contains result.with_more(
	result.at(e.path, sprintf("the entry%s is for port %d, which %s", [in_subset(e), e.port, lacks(reach)])),
	{
		"effect": sprintf("Istio looks for entries by the number of a port (%s), so that no cluster gets what this one says%s", [numbers(reach.numbers), mistaken(e)]),
		"subject": {"hosts": [reach.host], "ports": [e.port]},
	},
) if {
	reach := mesh.reach()
	count(reach.numbers) > 0
	some e in mesh.entries()
	e.port > 0
	e.reached == 0
	not e.shadowed
	all_known(reach)
}

# Another entry for the port comes first.
findings contains result.with_more(
	result.at(e.path, sprintf("the entry%s is not the first for port %d, and only the first counts", [in_subset(e), e.port])),
	{
		"effect": "Istio takes the first entry with the number of the port and ignores this one; it does not merge the two into Envoy's cluster",
		"related": [result.also(e.first, "the entry that counts")],
		"fixes": [result.fix("drop the entry", "safe", [{"op": "remove", "path": e.path}])],
		"subject": {"ports": [e.port]},
	},
) if {
	some e in mesh.entries()
	e.shadowed
}

# What stands for the port of an entry.
named(entry) := sprintf("names its port %s, and only a number counts", [entry.port.name]) if {
	is_string(entry.port.name)
	not "number" in object.keys(entry.port)
} else := "has no port number" if {
	object.get(entry, ["port", "number"], null) == null
} else := sprintf("is for port %d, which cannot exist", [entry.port.number]) if {
	is_number(entry.port.number)
	round(entry.port.number) == entry.port.number
}

findings contains result.with_more(
	result.at(e.path, sprintf("the entry%s %s", [in_subset(e), named(object.get(input.object, e.path, {}))])),
	{
		"severity": "error",
		"effect": "Istio's validation refuses the rule; where it is not asked, no cluster gets what the entry says",
	},
) if {
	some e in mesh.entries()
	e.port == 0
}

findings contains result.skip(reason) if {
	reach := mesh.reach()
	some e in mesh.entries()
	e.port > 0
	e.reached == 0
	not e.shadowed
	reason := unjudged(reach)
}

unjudged(reach) := sprintf("%s is not in view, so its ports are not known", [reach.host]) if {
	not reach.known
	not reach.in_cluster
}

unjudged(reach) := sprintf("%s may take in hosts that are not in view", [reach.host]) if {
	reach.known
	not all_known(reach)
}
