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
