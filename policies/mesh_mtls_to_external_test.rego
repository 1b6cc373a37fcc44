package meshvet.mesh_mtls_to_external_test

import data.meshvet.mesh_mtls_to_external
import rego.v1

effect(tls, subset, more) := e if {
	port := object.union(
		{
			"number": 80, "host": "a.example.com", "hosts": 1, "family": "L7", "compiled": true, "external": true, "selector": false,
			"cluster": "STRICT_DNS", "in_cluster_name": false, "clients": {"in": [], "elsewhere": true, "except": []},
			"target": {"kind": "ServiceEntry", "namespace": "n", "name": "a"},
		},
		more,
	)
	findings := mesh_mtls_to_external.findings with input.object as {"spec": {"host": "a.example.com"}, "metadata": {"name": "a"}}
		with mesh.blocks as [{
			"at": ["spec", "trafficPolicy"], "path": ["spec", "trafficPolicy", "tls"], "subset": subset, "known": true,
			"shadowed": false, "value": object.union({"mode": "ISTIO_MUTUAL"}, tls), "ports": [port],
		}]
		with mesh.reach as {"host": "a.example.com", "wildcard": false, "in_cluster": false}
		with mesh.settings as {"cluster_domain": "cluster.local"}
	some f in findings
	e := f.effect
}

dynamic(family) := {"cluster": "dynamic_forward_proxy", "family": family}

test_name_of_the_cluster if {
	contains(effect({}, "", {}), "sends SNI outbound_.80_._.a.example.com and")
	contains(effect({"sni": ""}, "blue", {}), "sends SNI outbound_.80_.blue_.a.example.com and")
}

test_name_of_the_rule if {
	contains(effect({"sni": "x"}, "", {}), "sends SNI x and")
	contains(effect({"sni": "x"}, "", dynamic("L4")), "sends SNI x and")
}

test_a_dynamic_forward_proxy_takes_it_from_requests if {
	contains(effect({}, "", dynamic("L7")), "sends the host of each request as SNI and")
	contains(effect({}, "", dynamic("L4")), "sends no SNI and")
}

# The clients of one host are not those of another.
test_of_several_ports_it_speaks_of_the_one_that_is_named if {
	startswith(effect({}, "", {"hosts": 2, "clients": {"in": ["x"], "elsewhere": false, "except": []}}), "towards a.example.com:80, in namespace x, Envoy presents")
	startswith(effect({}, "", {"clients": {"in": ["x"], "elsewhere": false, "except": []}}), "in namespace x, Envoy presents")
}
