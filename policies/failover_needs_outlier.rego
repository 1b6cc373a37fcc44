# METADATA
# title: Locality failover without outlier detection
# description: |-
#   `localityLbSetting.failover` or `failoverPriority` where no outlierDetection is in effect, neither the rule's own nor the mesh's
#   default.
#
#   To fail over, Envoy has to know which endpoints are well, and outlier detection is how it learns that. So Istio ignores both
#   lists without it: all endpoints of the cluster have one priority, and calls go to near and far localities alike, not only after
#   a failure. When Istio's webhook sees the rule it warns, and takes it.
#
#   `outlierDetection: {}` is enough, at any level where the load balancer is in effect, a subset that inherits it included.
#   `distribute` sets shares by locality and needs none. With `enabled: false` failover is off on purpose, and a zoneAwareLbSetting takes
#   the place of localityLbSetting. Hosts without a list of addresses have nothing to fail over to.
# related_resources:
# - https://istio.io/latest/docs/tasks/traffic-management/locality-load-balancing/failover/
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#LocalityLoadBalancerSetting
# custom:
#   id: DR254
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.loadBalancer.localityLbSetting}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].loadBalancer.localityLbSetting"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.loadBalancer.localityLbSetting"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].loadBalancer.localityLbSetting"}
#   levels:
#   - all: [{path: "loadBalancer.localityLbSetting.failover[*]"}]
#     port: {cluster: [STRICT_DNS, EDS]}
#   - all: [{path: "loadBalancer.localityLbSetting.failoverPriority[*]"}]
#     port: {cluster: [STRICT_DNS, EDS]}
#   supersedes:
#   - {rule: DR204, scope: port}
#   remedy: |-
#     Add outlierDetection beside the load balancer; `{}` takes Envoy's thresholds. For fixed shares by locality write distribute. Where
#     names are looked up (resolution DNS) in several localities use failover: failoverPriority makes Istio panic there.
#   fix: none
#   proof: {kind: ignored, text: "without failover or failoverPriority the clusters and their endpoints are the same"}
#   observe:
#     stats: [membership_healthy, lb_zone_routing_all_directly, upstream_cx_active]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows no outlierDetection; istioctl proxy-config endpoint POD --cluster CLUSTER -o json shows every locality with priority 0"
package meshvet.failover_needs_outlier

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

# The lists that ask for failover. Istio takes only one of them, failoverPriority if both are there.
asked(b) := [field |
	setting := object.get(b.value, "localityLbSetting", null)
	is_object(setting)
	object.get(setting, "enabled", true) in {true, null}
	not filled(setting, "distribute")
	some field in ["failoverPriority", "failover"]
	filled(setting, field)
]

filled(setting, field) if {
	is_array(setting[field])
	count(setting[field]) > 0
}

# Where there are addresses to choose from, as far as that is known.
listed(b) := [p | some p in b.ports; p.list]

chosen(b) if not b.known

chosen(b) if count(listed(b)) > 0

on(b) := "" if count(listed(b)) == 0

on(b) := sprintf(" on %s", [ports.named(listed(b))]) if count(listed(b)) > 0

whose(b) := "" if b.subset == ""

whose(b) := sprintf(" for subset %s", [b.subset]) if b.subset != ""

findings contains result.with_more(
	result.at(
		array.flatten([b.path, "localityLbSetting", fields[0]]),
		sprintf("localityLbSetting.%s does nothing%s%s: there is no outlierDetection", [fields[0], on(b), whose(b)]),
	),
	{
		"key": true,
		"effect": "Istio leaves all endpoints of the cluster at priority 0: Envoy sends calls to near and far localities alike, whether the near ones fail or not",
		"subject": ports.subject(listed(b)),
	},
) if {
	some b in mesh.blocks("loadBalancer")
	not b.shadowed
	is_object(b.value)
	object.get(b.value, "zoneAwareLbSetting", null) == null
	fields := asked(b)
	count(fields) > 0
	chosen(b)
	not mesh.meets(b.path, "outlierDetection")
}
