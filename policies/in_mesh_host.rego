# METADATA
# title: A ServiceEntry for a name of the cluster's own
# description: |-
#   A ServiceEntry with the host of a Service that is in view, for which at least some clients get the Service; or, as an info, a
#   MESH_EXTERNAL one with another host under the cluster domain.
#
#   A host has one owner for a client. Beside a Service of the same namespace the entry has none of its own: Istio compiles the
#   Service's ports, mixes addresses among the endpoints of the entry into those of the same name, and leaves the listener of a port that only the
#   entry has without a cluster. An entry in another namespace counts for the clients of that namespace alone, and hides the Service's
#   other ports from them; all others get the Service as if there were no entry.
#
#   An entry for something inside the mesh whose STATIC endpoints join a Service's ports, as those of virtual machines do, does what it
#   says, and so does one that is exported to its own namespace alone. MESH_INTERNAL without such a Service is the way to write down a
#   workload that has none.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/
# custom:
#   id: SE114
#   category: service-entry
#   severity: error
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   facts: [cluster-host]
#   remedy: |-
#     Write location MESH_INTERNAL if the host is a workload of the mesh. Give what is outside the mesh a host that does not lie under the cluster domain. To add endpoints to a Service, create
#     WorkloadEntries with the labels that it selects; to replace a Service for one namespace, export the entry to "." alone.
#   fix: none
#   proof: {kind: changes, text: "the cluster of the host is the Service's (EDS, automatic mTLS) and not the entry's; a port that only the entry has gets a listener and no cluster"}
#   observe:
#     stats: [upstream_cx_total, membership_total]
#     flags: [NC]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST shows the Service's ports and type EDS; istioctl proxy-config endpoint POD shows the entry's endpoints among the pods"
package meshvet.in_mesh_host

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

entry := mesh.entry()

compiled := [p | not entry.hidden; some p in entry.ports; p.family != "none"]

at(name) := ["spec", "hosts", min({i | some i, h in input.object.spec.hosts; h == name})]

beside(h) if h.service.target.namespace == entry.namespace

# Ports of the entry for which the Service has one of the same number and name, into which its endpoints go.
shared(h, p) if {
	some q in h.service.ports
	q.number == p.number
	q.name == p.name
}

unshared(h) := [p | some p in compiled; not shared(h, p)]

# Endpoints of the mesh that join a Service.
joins(h) if {
	beside(h)
	not entry.external
	entry.resolution == "STATIC"
	count(unshared(h)) == 0
}

owned := [h | count(compiled) > 0; some h in entry.hosts; h.service != null; not joins(h)]

numbers(list) := hosts.listed([sprintf("%d", [p.number]) | some p in list])

lacking(h) := [p | some p in compiled; not p.number in {q.number | some q in h.service.ports}]

stranded(h) := sprintf(", and what comes to port %s, which only the entry has, finds no cluster", [numbers(lacking(h))]) if {
	count(lacking(h)) > 0
} else := ""

vanished(h) := [q | some q in h.service.ports; not q.number in {p.number | some p in compiled}]

hides(h) := sprintf(", without port %s of the Service", [numbers(vanished(h))]) if {
	count(vanished(h)) > 0
} else := ""

findings contains result.with_more(
	result.at(
		at(h.name),
		sprintf("host %s is that of Service %s/%s, which Istio takes instead of the entry", [h.name, h.service.target.namespace, h.service.target.name]),
	),
	{
		"effect": sprintf("Envoy's clusters for the host are the Service's: location and resolution of the entry do not count, addresses among its endpoints are mixed into the Service's ports of the same name%s", [stranded(h)]),
		"related": [result.also_in(h.service.target, ["metadata", "name"], "the Service")],
		"subject": {"hosts": [h.name], "ports": [p.number | some p in compiled]},
	},
) if {
	some h in owned
	beside(h)
}

findings contains result.with_more(
	result.at(
		at(h.name),
		sprintf("host %s is that of Service %s/%s, which clients outside namespace %s get instead of the entry", [h.name, h.service.target.namespace, h.service.target.name, entry.namespace]),
	),
	{
		"effect": sprintf("Envoy's clusters for the host are the Service's, as if there were no entry; in namespace %s they are the entry's%s", [entry.namespace, hides(h)]),
		"related": [result.also_in(h.service.target, ["metadata", "name"], "the Service")],
		"subject": {"hosts": [h.name], "ports": [p.number | some p in compiled]},
	},
) if {
	some h in owned
	not beside(h)
}

domain := mesh.settings().cluster_domain

# A wildcard such as *.local lies above the domain.
free := [h.name |
	entry.external
	count(compiled) > 0
	some h in entry.hosts
	h.service == null
	endswith(h.name, sprintf(".%s", [domain]))
]

outside := "location is MESH_EXTERNAL" if {
	input.object.spec.location == "MESH_EXTERNAL"
} else := "location is omitted, which means MESH_EXTERNAL"

lie(names) := "lies" if count(names) == 1

lie(names) := "lie" if count(names) > 1

findings contains result.with_more(
	result.at(
		at(free[0]),
		sprintf("%s %s under the cluster domain %s, but %s", [hosts.listed(free), lie(free), domain, outside]),
	),
	{
		"severity": "info",
		"effect": "a Service of that name takes the place of the entry in other namespaces as soon as there is one, and DestinationRules for all services of the mesh apply to the host's cluster as well",
		"subject": {"hosts": free, "ports": [p.number | some p in compiled]},
	},
)
