package meshvet.deprecated_field_test

import data.meshvet.deprecated_field
import rego.v1

found(lb) := out if {
	out := deprecated_field.findings with input as {"object": {"apiVersion": "networking.istio.io/v1beta1"}, "options": {"apiVersions": false}}
		with mesh.blocks as [{"path": ["lb"], "shadowed": false, "value": lb}]
}

test_the_size_may_be_a_text if {
	some f in found({"consistentHash": {"minimumRingSize": "64"}})
	f.fixes[0].ops == [
		{"op": "remove", "path": ["lb", "consistentHash", "minimumRingSize"]},
		{"op": "add", "path": ["lb", "consistentHash", "ringHash"], "value": {"minimumRingSize": "64"}},
	]
}

test_odd_values if {
	every lb in [
		{"simple": ["LEAST_CONN"]}, {"simple": "least_conn"}, {"warmupDurationSecs": 30}, {"warmupDurationSecs": null}, {"consistentHash": "x"},
		{"consistentHash": {"minimumRingSize": "many"}}, {"consistentHash": {"minimumRingSize": "0"}}, {"consistentHash": {"minimumRingSize": ""}},
		{"consistentHash": {"minimumRingSize": -1}}, {"consistentHash": {"minimumRingSize": [1]}}, {},
	] {
		count(found(lb)) == 0
	}
}
