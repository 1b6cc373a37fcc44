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

found(more, of_port, in_cluster) := findings if {
	port := object.union(
		{
			"number": 80, "host": "a.example.com", "hosts": 1, "family": "L7", "compiled": true, "external": true, "selector": false,
			"cluster": "STRICT_DNS", "in_cluster_name": false, "clients": {"in": [], "elsewhere": true, "except": []},
			"target": {"kind": "ServiceEntry", "namespace": "n", "name": "a"},
		},
		of_port,
	)
	block := object.union(
		{
			"at": ["spec", "trafficPolicy"], "path": ["spec", "trafficPolicy", "tls"], "subset": "", "known": true,
			"shadowed": false, "value": {"mode": "ISTIO_MUTUAL"}, "ports": [port],
		},
		more,
	)
	findings := mesh_mtls_to_external.findings with input.object as {"spec": {"host": "a.example.com"}, "metadata": {"name": "a"}}
		with mesh.blocks as [block]
		with mesh.reach as {"host": "a.example.com", "wildcard": false, "in_cluster": in_cluster}
		with mesh.settings as {"cluster_domain": "cluster.local"}
}

test_what_is_silent_whoever_asks if {
	count(found({}, {}, false)) == 1
	count(found({"shadowed": true}, {}, false)) == 0
	count(found({}, {"external": false}, false)) == 0
	count(found({}, {"in_cluster_name": true}, false)) == 0
	count(found({"ports": []}, {}, false)) == 0
}

test_a_host_not_in_view_is_skipped if {
	{f.skip | some f in found({"known": false, "ports": []}, {}, false)} == {"a.example.com is not in view, so the kind of its ports is not known"}
	count(found({"known": false, "ports": []}, {}, true)) == 0
}

test_where_the_rule_is_in_force if {
	mesh_mtls_to_external.place("default") == "the rule's own namespace" with input.object as {"metadata": {}}
	mesh_mtls_to_external.place("default") == "namespace default" with input.object as {"metadata": {"namespace": "default"}}
	mesh_mtls_to_external.place("web") == "namespace web" with input.object as {"metadata": {}}
	mesh_mtls_to_external.whose({"in": [], "elsewhere": true, "except": ["web"]}) == "in every namespace but namespace web, " with input.object as {"metadata": {}}
}

# *.local takes in the services of a mesh whose domain ends in it.
test_the_services_of_the_mesh if {
	mesh_mtls_to_external.mesh_wide == "*.local" with mesh.settings as {"cluster_domain": "cluster.local"}
	mesh_mtls_to_external.mesh_wide == "*.corp.example" with mesh.settings as {"cluster_domain": "corp.example"}
	not mesh_mtls_to_external.for_mesh with mesh.reach as {"wildcard": false, "in_cluster": true}
}
