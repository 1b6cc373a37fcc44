package meshvet.static_without_endpoints_test

import data.meshvet.static_without_endpoints
import rego.v1

effect(address) := e if {
	spec := {"resolution": "STATIC", "endpoints": [{"address": address}]}
	findings := static_without_endpoints.findings with input.object as {"spec": spec}
		with mesh.entry as {"hosts": [{"name": "a.example.com"}], "ports": [], "selector": false, "hidden": false}
	some f in findings
	e := f.effect
}

test_what_is_no_address_is_left_out if {
	endswith(effect("b.example.com"), "Envoy's EDS cluster for a.example.com lacks the endpoint")
	endswith(effect("unix:a.sock"), "Envoy's EDS cluster for a.example.com lacks the endpoint")
}

test_a_relative_socket_is_not if endswith(effect("unix://a.sock"), "Envoy takes it for the socket a.sock in its own working directory")

found(resolution, host, endpoints) := findings if {
	full := object.union({"name": "a.example.com", "may_have_pods": false, "endpoint_ports": []}, host)
	findings := static_without_endpoints.findings with input.object as {"spec": {"resolution": resolution, "endpoints": endpoints}}
		with mesh.entry as {
			"hosts": [full], "selector": false, "hidden": false,
			"ports": [{"index": 0, "number": 80, "name": "http", "family": "L7"}, {"index": 1, "number": 81, "name": "other", "family": "L7"}],
		}
}

test_pods_may_be_the_endpoints if {
	{f.skip | some f in found("STATIC", {"may_have_pods": true}, [])} == {"pods of a Service may be the endpoints of a.example.com"}
	{f.skip | some f in found("STATIC", {"may_have_pods": true, "endpoint_ports": ["http"]}, [])} == {"pods of a Service may be the endpoints of a.example.com"}
	count(found("STATIC", {"may_have_pods": true, "endpoint_ports": ["http", "other"]}, [])) == 0
	count(found("STATIC", {"may_have_pods": true}, [{"address": "192.0.2.1"}])) == 0
}

test_other_resolutions_and_endpoints_that_are_no_text if {
	count(found("STATIC", {}, [])) == 1
	count(found("DNS", {}, [])) == 0
	count(found("DNS", {}, [{"address": "b.example.com"}])) == 0
	count(found("STATIC", {}, [{"address": 5}])) == 0
	count(found("STATIC", {}, [{"address": ""}])) == 0
}
