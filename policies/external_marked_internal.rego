# METADATA
# title: A host outside the mesh that is declared to be in it
# description: |-
#   A ServiceEntry with location MESH_INTERNAL whose hosts are public DNS names that Envoy looks up itself, with nothing that places
#   them in the mesh: no endpoints, no workloadSelector, no DestinationRule with tls.
#
#   MESH_INTERNAL says that the host is a workload of the mesh. Istio then leaves out the metadata `istio.external` of the cluster, by
#   which proxies tell hosts outside: in mode IN_MESH of `proxyHeaders.metadataExchangeHeaders` they send such a host the headers that
#   describe the workload. And the cluster is prepared for Istio's mutual TLS, which is never used: an endpoint asks for it by its
#   serviceAccount or its label `security.istio.io/tlsMode`, and a name that is looked up has neither. So calls leave as they are, while
#   the manifest says that they stay inside.
#
#   Entries with endpoints are not judged, since these may be virtual machines or the gateway of another cluster. Neither are names
#   of the cluster's domain, names with the label `svc`, and names under local, internal, global and other endings that no public DNS has.
#   With resolution NONE, where a DestinationRule has tls for the host, and where the mesh configuration says `enableAutoMtls: false`, only
#   the metadata differs, and the rule is silent.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry-Location
# - https://istio.io/latest/docs/reference/config/istio.mesh.v1alpha1/#ProxyConfig-ProxyHeaders-MetadataExchangeHeaders
# custom:
#   id: SE113
#   category: service-entry
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   sidecarOnly: true
#   when:
#   - all:
#     - {path: spec.location, values: [MESH_INTERNAL]}
#     - {path: spec.resolution, values: [DNS, DNS_ROUND_ROBIN, DYNAMIC_DNS]}
#     - {path: "spec.endpoints[*]", absent: true}
#   remedy: |-
#     Write location MESH_EXTERNAL. If the host is in the mesh, list its endpoints with their serviceAccount, or write a
#     DestinationRule with tls mode ISTIO_MUTUAL.
#   fix: unsafe
#   proof: {kind: changes, text: "with MESH_EXTERNAL the cluster has metadata istio.external and no transport_socket_matches"}
#   observe:
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows transportSocketMatches with tlsMode-istio and no metadata \"external\""
package meshvet.external_marked_internal

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

entry := mesh.entry()

names := [h.name | some h in entry.hosts]

ports := [p.number | some p in entry.ports; p.family != "none"]

# Endings that no public DNS has, as far as meshes use them.
private := {
	"local", "internal", "global", "mesh", "svc", "cluster", "consul", "localhost", "localdomain", "lan", "home", "corp", "private", "intranet", "test",
	"invalid", "arpa",
}

labels(h) := split(trim_suffix(lower(h.name), "."), ".")

public(h) if {
	not h.may_have_pods
	not h.address
	count(h.endpoint_ports) == 0
	count(labels(h)) > 1
	not labels(h)[count(labels(h)) - 1] in private
	not "svc" in labels(h)
}

# What Istio refuses has a finding of its own.
looked_up if {
	entry.resolution in {"DNS", "DNS_ROUND_ROBIN"}
	every h in entry.hosts {
		not h.wildcard
	}
}

looked_up if {
	entry.resolution == "DYNAMIC_DNS"
	every h in entry.hosts {
		h.wildcard
	}
}

# A tls block of a DestinationRule decides in place of the mesh: with ISTIO_MUTUAL the host is inside, with the others only the metadata
# of the cluster tells.
decided if count(mesh.governing("tls")) > 0

findings contains result.with_more(
	result.at(
		["spec", "location"],
		sprintf("location is MESH_INTERNAL for %s, which Envoy looks up in DNS and nothing places in the mesh", [hosts.listed(names)]),
	),
	{
		"effect": "Envoy's cluster lacks the metadata istio.external, which marks hosts outside the mesh, and has the transport_socket_matches of Istio's mutual TLS, of which the one without TLS applies: calls leave as the client sends them",
		"fixes": [result.set("set location to MESH_EXTERNAL", "unsafe", [{"path": ["spec", "location"], "value": "MESH_EXTERNAL"}])],
		"subject": {"hosts": names, "ports": ports},
	},
) if {
	spec.location == "MESH_INTERNAL"
	entry.endpoints == 0
	not entry.selector
	not entry.hidden
	count(names) > 0
	count(ports) > 0
	looked_up
	every h in entry.hosts {
		public(h)
	}
	mesh.settings().auto_mtls
	not decided
}
