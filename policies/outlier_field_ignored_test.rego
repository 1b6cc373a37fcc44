package meshvet.outlier_field_ignored_test

import data.meshvet.outlier_field_ignored
import rego.v1

effect(value, more) := e if {
	block := object.union({"path": ["spec", "trafficPolicy", "outlierDetection"], "value": value, "shadowed": false, "known": true, "ports": [{}]}, more)
	findings := outlier_field_ignored.findings with mesh.blocks as [block] with mesh.settings as {"istio_version": ""}
	some f in findings
	e := f.effect
}

test_says_what_is_in_force if {
	endswith(effect({"consecutiveErrors": 3}, {}), "as without it: consecutive_5xx keeps Envoy's default, 5")
	endswith(effect({"consecutiveErrors": 3, "consecutiveGatewayErrors": 2}, {}), "as without it: consecutive_5xx keeps Envoy's default, 5")
	endswith(effect({"consecutiveErrors": 3, "consecutive5xxErrors": 7}, {}), "as without it: consecutive_5xx is 7, as consecutive5xxErrors says")
	endswith(effect({"consecutiveErrors": 3, "consecutive5xxErrors": 0}, {}), "as without it: consecutive_5xx is not enforced, as consecutive5xxErrors 0 says")
	endswith(effect({"consecutiveErrors": 3}, {"known": false, "ports": []}), "as without it: consecutive_5xx keeps Envoy's default, 5")
}

test_no_cluster_has_the_block if {
	endswith(effect({"consecutiveErrors": 3}, {"ports": []}), "as without it")
	endswith(effect({"consecutiveErrors": 3}, {"shadowed": true}), "as without it")
}
