package meshvet.too_many_round_robin_endpoints_test

import data.meshvet.too_many_round_robin_endpoints
import rego.v1

two := [{"address": "a.example.com"}, {"network": "n"}]

found(spec) := findings if {
	findings := too_many_round_robin_endpoints.findings with input.object as {"spec": object.union({"hosts": ["x.example.com"]}, spec)}
}

test_an_endpoint_without_address_counts if {
	some f in found({"resolution": "DNS_ROUND_ROBIN", "endpoints": two, "ports": [{"number": 80}]})
	endswith(f.message, "there are 2: a.example.com, one without address")
	contains(f.effect, "LOGICAL_DNS cluster gets a.example.com")
}

test_without_ports_there_is_no_cluster if {
	some f in found({"resolution": "DNS_ROUND_ROBIN", "endpoints": two, "ports": []})
	f.effect == "istiod's webhook rejects the object"
}

test_other_resolutions_take_them if {
	count(found({"resolution": "DNS", "endpoints": two, "ports": [{"number": 80}]})) == 0
}
