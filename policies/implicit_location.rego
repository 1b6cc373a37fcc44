# METADATA
# title: A ServiceEntry that does not say where its hosts are
# description: |-
#   A ServiceEntry without `location`.
#
#   An omitted location is MESH_EXTERNAL: Istio compiles the same with it and without it. A reader cannot tell whether the author meant
#   that or forgot it, and for hosts inside the mesh it costs the automatic mutual TLS. Written out, the one is visible in a review and the
#   other a mistake that somebody can find.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry-Location
# custom:
#   id: SE112
#   category: service-entry
#   severity: info
#   presets: [strict]
#   kinds: [ServiceEntry]
#   when:
#   - all:
#     - {path: spec.location, absent: true}
#   remedy: |-
#     Write location MESH_EXTERNAL, which is what its omission means, or MESH_INTERNAL if the hosts are in the mesh.
#   fix: safe
#   proof: {kind: ignored, text: "with location MESH_EXTERNAL Istio compiles the same as without any"}
#   observe:
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows the metadata \"external\": true"
package meshvet.implicit_location

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

entry := mesh.entry()

# A Service of the name decides instead of the entry.
names := [h.name | some h in entry.hosts; not h.may_have_pods]

findings contains result.with_more(
	result.at(["spec", "location"], sprintf("location is omitted for %s, which means MESH_EXTERNAL", [hosts.listed(names)])),
	{
		"effect": "Istio takes the hosts for outside the mesh: Envoy's clusters have the metadata istio.external, and no mutual TLS unless a DestinationRule asks for it",
		"fixes": [result.set("write location MESH_EXTERNAL, which is what is in effect", "safe", [{"path": ["spec", "location"], "value": "MESH_EXTERNAL"}])],
		"subject": {"hosts": names, "ports": [p.number | some p in entry.ports]},
	},
) if {
	object.get(input.object, ["spec", "location"], null) == null
	count(names) > 0
	not entry.hidden
}
