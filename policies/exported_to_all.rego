# METADATA
# title: A host outside the mesh is opened to every namespace
# description: |-
#   A ServiceEntry for a host outside the mesh that clients of all namespaces see, since it has no exportTo, or one with "*", and the mesh
#   sets no narrower default. An entry in the root namespace is meant for all and is not reported.
#
#   Istio compiles the host's clusters, listeners and routes into every sidecar of the mesh. Under outboundTrafficPolicy REGISTRY_ONLY
#   the entry is what opens the host, so one team's exception is everybody's; a TCP port takes the traffic of the port in every namespace;
#   and a second entry for the host, in another namespace, meets this one.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry
# - https://istio.io/latest/docs/ops/best-practices/traffic-management/#cross-namespace-configuration
# custom:
#   id: SE118
#   category: service-entry
#   severity: info
#   presets: [strict]
#   kinds: [ServiceEntry]
#   sidecarOnly: true
#   when:
#   - all:
#     - {path: "spec.exportTo[*]", absent: true}
#   - all:
#     - {path: "spec.exportTo[*]", values: ["*"]}
#   remedy: |-
#     List under exportTo the namespaces whose clients need the host, "." for the entry's own. Put what everybody needs into the root
#     namespace, or set defaultServiceExportTo in meshConfig.
#   fix: none
#   proof: {kind: changes, text: "clients of other namespaces have the host's cluster before, and not when exportTo is \".\""}
#   observe:
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST shows the cluster for a pod of any namespace"
package meshvet.exported_to_all

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

entry := mesh.entry()

# The mesh's own names are seen by all unless somebody says otherwise.
outside := [h.name | entry.external; some h in entry.hosts; not h.in_cluster]

carried := [p.number | some p in entry.ports; p.family != "none"]

exported := [to | some to in input.object.spec.exportTo]

says := "there is no exportTo" if {
	count(exported) == 0
} else := "exportTo has *"

findings contains result.with_more(
	result.at(
		["spec", "exportTo"],
		sprintf("%s, so every namespace sees %s", [says, hosts.listed(outside)]),
	),
	{
		"effect": sprintf("every sidecar of the mesh gets the clusters of %s, and may send there under outboundTrafficPolicy REGISTRY_ONLY too", [hosts.listed(outside)]),
		"subject": {"hosts": outside, "ports": carried},
	},
) if {
	entry.public
	entry.namespace != mesh.settings().root_namespace
	count(outside) > 0
	count(carried) > 0
}
