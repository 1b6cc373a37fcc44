# METADATA
# title: A deprecated field or name
# description: |-
#   In a `loadBalancer`: `simple: LEAST_CONN`, `warmupDurationSecs`, and `minimumRingSize` directly under `consistentHash`. With the option
#   apiVersions, or under the preset strict, also the API versions v1alpha3 and v1beta1.
#
#   Istio still takes them, and marks them as deprecated in its API: one day they are gone. LEAST_CONN has long been another name of
#   LEAST_REQUEST, which is the default too. `warmup` and `ringHash` say what the two other fields say, and more. A
#   `warmupDurationSecs` beside `warmup` is not looked at.
#
#   A `warmupDurationSecs` under a balancer that knows no warm-up, RANDOM, PASSTHROUGH or consistentHash, is not reported here, nor is a
#   `minimumRingSize` of 0, which is the same as none, or beside `ringHash` or `maglev`, which Istio refuses.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#LoadBalancerSettings
# custom:
#   id: DR255
#   category: traffic-policy
#   severity: info
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   options:
#   - {name: apiVersions, default: false, strict: true, doc: "whether the API versions v1alpha3 and v1beta1 are reported, which Istio reads as it reads v1"}
#   when:
#   - all: [{path: spec.trafficPolicy.loadBalancer.simple, values: [LEAST_CONN]}]
#   - all: [{path: "spec.trafficPolicy.portLevelSettings[*].loadBalancer.simple", values: [LEAST_CONN]}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.loadBalancer.simple", values: [LEAST_CONN]}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].loadBalancer.simple", values: [LEAST_CONN]}]
#   - all: [{path: spec.trafficPolicy.loadBalancer.warmupDurationSecs}]
#   - all: [{path: "spec.trafficPolicy.portLevelSettings[*].loadBalancer.warmupDurationSecs"}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.loadBalancer.warmupDurationSecs"}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].loadBalancer.warmupDurationSecs"}]
#   - all: [{path: spec.trafficPolicy.loadBalancer.consistentHash.minimumRingSize}]
#   - all: [{path: "spec.trafficPolicy.portLevelSettings[*].loadBalancer.consistentHash.minimumRingSize"}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.loadBalancer.consistentHash.minimumRingSize"}]
#   - all: [{path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].loadBalancer.consistentHash.minimumRingSize"}]
#   - option: apiVersions
#     all: [{path: apiVersion, values: [networking.istio.io/v1alpha3, networking.istio.io/v1beta1]}]
#   remedy: |-
#     Write LEAST_REQUEST for LEAST_CONN, `warmup.duration` for `warmupDurationSecs`, `ringHash.minimumRingSize` for `minimumRingSize`, and
#     `networking.istio.io/v1` for older API versions.
#   fix: safe
#   proof: {kind: changes, text: "LEAST_CONN and LEAST_REQUEST, and the two places of minimumRingSize, compile to the same cluster; warmup adds aggression and min_weight_percent to slow_start_config"}
#   observe:
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows lbPolicy LEAST_REQUEST for LEAST_CONN, slowStartConfig for warmup and ringHashLbConfig for minimumRingSize"
package meshvet.deprecated_field

import data.meshvet.lib.result
import rego.v1

blocks := [b | some b in mesh.blocks("loadBalancer"); not b.shadowed]

findings contains result.with_more(
	result.at(array.concat(b.path, ["simple"]), "simple is LEAST_CONN, an old name of LEAST_REQUEST"),
	{
		"effect": "Istio compiles both names to lb_policy LEAST_REQUEST, its default",
		"fixes": [result.fix("write LEAST_REQUEST", "safe", [{"op": "replace", "path": array.concat(b.path, ["simple"]), "value": "LEAST_REQUEST"}])],
	},
) if {
	some b in blocks
	b.value.simple == "LEAST_CONN"
}

# Of the others Istio drops the warm-up.
warms_up(lb) if {
	object.get(lb, "consistentHash", null) == null
	not object.get(lb, "simple", "") in {"RANDOM", "PASSTHROUGH"}
}

warming := [b |
	some b in blocks
	is_string(b.value.warmupDurationSecs)
	warms_up(b.value)
]

findings contains result.with_more(
	result.at(path, sprintf("warmupDurationSecs is %s, an old form of warmup.duration", [b.value.warmupDurationSecs])),
	{
		"effect": sprintf("slow_start_config has a slow_start_window of %s; with warmup Istio writes Envoy's defaults, aggression 1 and min_weight_percent 10, beside it", [b.value.warmupDurationSecs]),
		"key": true,
		"fixes": [result.fix("write warmup.duration", "unsafe", [
			{"op": "remove", "path": path},
			{"op": "add", "path": array.concat(b.path, ["warmup"]), "value": {"duration": b.value.warmupDurationSecs}},
		])],
	},
) if {
	some b in warming
	object.get(b.value, "warmup", null) == null
	path := array.concat(b.path, ["warmupDurationSecs"])
}

findings contains result.with_more(
	result.at(path, sprintf("warmupDurationSecs is %s, an old form of the warmup beside it", [b.value.warmupDurationSecs])),
	{
		"effect": "slow_start_config is what warmup says; warmupDurationSecs does nothing",
		"key": true,
		"fixes": [result.fix("drop warmupDurationSecs", "safe", [{"op": "remove", "path": path}])],
	},
) if {
	some b in warming
	object.get(b.value, "warmup", null) != null
	path := array.concat(b.path, ["warmupDurationSecs"])
}

findings contains result.with_more(
	result.at(path, sprintf("minimumRingSize is %v directly under consistentHash, an old place of ringHash.minimumRingSize", [hash.minimumRingSize])),
	{
		"effect": sprintf("ring_hash_lb_config has minimum_ring_size %v from either place", [hash.minimumRingSize]),
		"key": true,
		"fixes": [result.fix("write it under ringHash", "safe", [
			{"op": "remove", "path": path},
			{"op": "add", "path": array.concat(b.path, ["consistentHash", "ringHash"]), "value": {"minimumRingSize": hash.minimumRingSize}},
		])],
	},
) if {
	some b in blocks
	hash := b.value.consistentHash
	is_number(hash.minimumRingSize)
	hash.minimumRingSize > 0
	every other in ["ringHash", "maglev"] {
		object.get(hash, other, null) == null
	}
	path := array.concat(b.path, ["consistentHash", "minimumRingSize"])
}

findings contains result.with_more(
	result.at(["apiVersion"], sprintf("apiVersion is %s, which v1 has taken the place of", [input.object.apiVersion])),
	{
		"effect": "Istio reads all versions alike; v1 is there since 1.22",
		"fixes": [result.fix("write networking.istio.io/v1", "unsafe", [{"op": "replace", "path": ["apiVersion"], "value": "networking.istio.io/v1"}])],
	},
) if {
	input.options.apiVersions
	input.object.apiVersion in {"networking.istio.io/v1alpha3", "networking.istio.io/v1beta1"}
}
