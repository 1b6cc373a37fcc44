# METADATA
# title: A workloadSelector that has no say in where calls go
# description: |-
#   A workloadSelector beside endpoints, which Istio refuses; or one with a resolution that takes no endpoints: NONE, also if the resolution
#   is omitted, and DYNAMIC_DNS.
#
#   A ServiceEntry has its endpoints from one place. Where the webhook does not run and both are written, Istio takes the workloads that
#   the selector chooses and none of the endpoints that are listed. With NONE Envoy forwards to the address that the client dialled, and
#   with DYNAMIC_DNS it looks up the name that the client asks for: clients get the same configuration with the selector and
#   without it. What is left of it is a listener on the chosen workloads themselves.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry
# - https://istio.io/latest/docs/reference/config/networking/workload-entry/
# custom:
#   id: SE116
#   category: service-entry
#   severity: error
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   when:
#   - all:
#     - {path: spec.workloadSelector}
#   remedy: |-
#     Keep either `endpoints` or `workloadSelector`. For workloads that are chosen by labels write resolution STATIC.
#   supersedes:
#   - {rule: MV907, scope: path}
#   fix: unsafe
#   proof: {kind: rejects, text: "Istio's validation refuses endpoints beside a selector, and compiles the chosen workloads alone; with NONE and DYNAMIC_DNS clients get the same without the selector"}
#   observe:
#     configDump: "istioctl proxy-config endpoint POD --cluster 'outbound|PORT||HOST' lists the chosen workloads, or with NONE nothing"
package meshvet.selector_conflict

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

spec := input.object.spec

entry := mesh.entry()

names := [h.name | some h in entry.hosts]

ports := [p.number | some p in entry.ports; p.family != "none"]

compiles if {
	not entry.hidden
	count(ports) > 0
}

unchecked := "; where the webhook does not run, Envoy forwards to the address that the client dialled and has neither" if {
	compiles
	entry.resolution == "NONE"
} else := sprintf("; where the webhook does not run, Envoy gets the workloads that the labels choose, and none of the endpoints that are listed (%d)", [entry.endpoints]) if {
	compiles
} else := ""

subject := {"hosts": names, "ports": ports}

# Endpoints beside DYNAMIC_DNS are refused anyway, and the selector does nothing there.
both if {
	entry.selector
	entry.endpoints > 0
	entry.resolution != "DYNAMIC_DNS"
}

findings contains result.with_more(
	result.at(["spec", "workloadSelector"], sprintf("workloadSelector and endpoints are both set for %s, and Istio allows one of them", [hosts.listed(names)])),
	{
		"effect": concat("", ["istiod's webhook rejects the object", unchecked]),
		"related": [result.also(["spec", "endpoints"], "the endpoints are listed here")],
		"subject": subject,
	},
) if {
	both
}

says := "resolution DYNAMIC_DNS looks up the name that the client asks for" if {
	entry.resolution == "DYNAMIC_DNS"
} else := "resolution NONE forwards to the address that the client dialled" if {
	object.get(input.object, ["spec", "resolution"], null) == "NONE"
} else := "resolution is omitted, which means NONE: Envoy forwards to the address that the client dialled"

cluster := {"NONE": "ORIGINAL_DST", "DYNAMIC_DNS": "dynamic_forward_proxy"}

findings contains result.with_more(
	result.at(["spec", "workloadSelector"], sprintf("%s, so that workloadSelector does not decide where calls to %s go", [says, hosts.listed(names)])),
	{
		"severity": "warning",
		"effect": sprintf("Envoy's cluster is of type %s and has no endpoints; all that the selector does is to open the port on the workloads that it chooses", [cluster[entry.resolution]]),
		"related": [result.also(["spec", "resolution"], "the resolution is set here") | spec.resolution],
		"fixes": [result.set("set resolution to STATIC", "unsafe", [{"path": ["spec", "resolution"], "value": "STATIC"}]) | entry.resolution == "NONE"],
		"subject": subject,
	},
) if {
	entry.selector
	not both
	compiles
}
