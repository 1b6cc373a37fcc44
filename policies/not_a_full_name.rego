# METADATA
# title: A host that is not written as calls and rules name it
# description: |-
#   A host of a ServiceEntry that ends in a dot; that has a single label and is looked up, or has a DestinationRule by that short name;
#   or that has an upper-case letter while a DestinationRule in view names it in lower case.
#
#   Istio takes the host as it is written. A dot at the end goes into the server_names of the filter chain and the domains of the
#   virtual host, but SNI never ends in a dot and Host headers hardly do, so calls go past the entry. A single label is completed by the
#   resolver of each pod with its search domains, the first of which is the pod's own namespace; and in a DestinationRule or a route it
#   means the Kubernetes service of that name. SNI and Host are compared without regard to case, but the hosts of DestinationRules are compared
#   letter by letter.
#
#   Single labels with resolution STATIC or NONE, or beside a longer name of the same entry that begins with them, are not reported, nor is an
#   upper-case name that rules spell in the same way: registries such as ZooKeeper have such names.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry
# - https://www.rfc-editor.org/rfc/rfc6066#section-3
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/core/v3/resolver.proto
# custom:
#   id: SE115
#   category: service-entry
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   facts: [odd-host]
#   remedy: |-
#     Write the full name in lower case, without a dot at the end.
#   supersedes:
#   - {rule: MX301, scope: object}
#   fix: unsafe
#   proof: {kind: changes, text: "server_names and domains lose the dot; a full name gets a cluster of its own; with the name in lower case the DestinationRule reaches the cluster"}
#   observe:
#     flags: [UF, DF]
#     configDump: "istioctl proxy-config listener POD --port PORT -o json shows the name as it is written in serverNames"
package meshvet.not_a_full_name

import data.meshvet.lib.result
import rego.v1

entry := mesh.entry()

# What is no name, such as a word that is filled in before the manifest is applied, is for others to judge.
is_name(text) if regex.match(`^(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$`, text)

index(h) := min([i | some i, name in input.object.spec.hosts; name == h.name])

tls := [p | some p in entry.ports; p.tls]

http := [p | some p in entry.ports; p.family in {"L7", "sniffed"}]

compiled := [p | some p in entry.ports; p.family != "none"]

# The DestinationRules for another spelling of a host that no ServiceEntry has.
rules_for(name) := rules if {
	known := mesh.host(name)
	not known.in_view
	rules := known.rules
} else := []

related(rules) := [result.also_in(r, ["spec", "host"], "the host of the DestinationRule") | some r in rules]

respell(h, name) := [result.set(sprintf("write %s", [name]), "unsafe", [{"path": ["spec", "hosts", index(h)], "value": name}]) |
	not mesh.host(name).in_view
]

subject(h, rules) := {"hosts": [h.name], "ports": [p.number | some p in compiled], "objects": rules}

dotted(h) if {
	endswith(h.name, ".")
	is_name(h.name)
}

undotted(h) := trim_suffix(lower(h.name), ".")

by_sni := [sprintf("the filter chain of port %d matches server_names that end in a dot, and SNI never does", [p.number]) | p := tls[0]]

by_header := [sprintf("the virtual host of port %d has domains that end in a dot, and the Host header hardly does", [p.number]) | p := http[0]]

findings contains result.with_more(
	result.at(
		["spec", "hosts", index(h)],
		sprintf("host %s ends in a dot, so that calls to %s do not match it", [h.name, undotted(h)]),
	),
	{
		"effect": sprintf("%s: calls go past the entry, to PassthroughCluster or, with outboundTrafficPolicy REGISTRY_ONLY, to BlackHoleCluster", [concat("; ", array.concat(by_sni, by_header))]),
		"related": related(rules),
		"fixes": respell(h, undotted(h)),
		"subject": subject(h, rules),
	},
) if {
	not entry.hidden
	count(tls) + count(http) > 0
	some h in entry.hosts
	dotted(h)
	rules := rules_for(undotted(h))
}

short(h) if {
	not contains(h.name, ".")
	is_name(h.name)
	h.name != upper(h.name) # HOSTNAME is a word to be filled in
	not lengthened(h)
}

# An entry may have a name of the mesh and add its short form, which clients of its namespace put into the Host header.
lengthened(h) if {
	some other in entry.hosts
	startswith(other.name, sprintf("%s.", [h.name]))
}

completed(h) := sprintf("%s.%s.svc.%s", [h.name, entry.namespace, mesh.settings().cluster_domain])

looked_up if {
	entry.cluster in {"STRICT_DNS", "LOGICAL_DNS"}
	entry.endpoints == 0
	not entry.selector
}

findings contains result.with_more(
	result.at(
		["spec", "hosts", index(h)],
		sprintf("host %s has a single label, which each pod's resolver completes in its own way", [h.name]),
	),
	{
		"effect": sprintf("Envoy's %s cluster looks up %s with the search domains of the pod, those of its own namespace first; a DestinationRule or a route cannot name the host, since there %s means the Kubernetes service %s", [entry.cluster, h.name, h.name, completed(h)]),
		"related": related(rules),
		"subject": subject(h, rules),
	},
) if {
	not entry.hidden
	count(compiled) > 0
	looked_up
	some h in entry.hosts
	short(h)
	count(h.endpoint_ports) == 0
	rules := rules_for(completed(h))
}

findings contains result.with_more(
	result.at(
		["spec", "hosts", index(h)],
		sprintf("host %s has a single label, so that DestinationRule %s does not mean it but %s", [h.name, rules[0].name, completed(h)]),
	),
	{
		"effect": sprintf("Istio completes a short name in a DestinationRule, and not in a ServiceEntry: Envoy's cluster outbound|%d||%s has nothing of the rule", [compiled[0].number, h.name]),
		"related": related(rules),
		"subject": subject(h, rules),
	},
) if {
	not entry.hidden
	not looked_up
	some h in entry.hosts
	short(h)
	rules := rules_for(completed(h))
}

findings contains result.with_more(
	result.at(
		["spec", "hosts", index(h)],
		sprintf("host %s has upper-case letters, so that DestinationRule %s for %s does not apply to it", [h.name, rules[0].name, lower(h.name)]),
	),
	{
		"effect": sprintf("Istio compares the hosts of DestinationRules letter by letter: Envoy's cluster outbound|%d||%s has nothing of the rule", [compiled[0].number, h.name]),
		"related": related(rules),
		"fixes": respell(h, lower(h.name)),
		"subject": subject(h, rules),
	},
) if {
	not entry.hidden
	some h in entry.hosts
	not dotted(h)
	rules := rules_for(lower(h.name))
}
