package meshvet.double_tls_test

import data.meshvet.double_tls
import rego.v1

port(more) := object.union(
	{
		"number": 443, "protocol": "TLS", "host": "a.example.com", "hosts": 1, "tls": true, "compiled": true, "cleartext": false,
		"cluster": "STRICT_DNS", "in_cluster_name": false, "subject_alt_names": [], "path": ["spec", "ports", 0],
		"target": {"kind": "ServiceEntry", "namespace": "n", "name": "a"},
	},
	more,
)

effect(tls, more) := e if {
	findings := double_tls.findings with input.object as {"spec": {"host": "a.example.com"}}
		with mesh.blocks as [{
			"level": "destination", "at": ["spec", "trafficPolicy"], "path": ["spec", "trafficPolicy", "tls"], "subset": "", "known": true,
			"shadowed": false, "alone": true, "value": object.union({"mode": "SIMPLE"}, tls), "ports": [port(more)],
		}]
		with mesh.reach as {"host": "a.example.com", "in_cluster": false}
		with mesh.complete as true
	some f in findings
	e := f.effect
}

nameless := "(transport_socket), which checks no name;"

test_neither if contains(effect({}, {}), "(transport_socket), which has neither SNI nor a check of the server's name;")

test_no_sni if contains(effect({"subjectAltNames": ["a"]}, {}), "(transport_socket), which has no SNI;")

test_no_name if contains(effect({"sni": "a"}, {}), nameless)

test_both if contains(effect({"sni": "a", "subjectAltNames": ["a"]}, {}), "(transport_socket);")

test_names_of_the_entry if {
	contains(effect({"sni": "a"}, {"subject_alt_names": ["a"]}), "(transport_socket);")
	contains(effect({}, {"subject_alt_names": ["a"]}), "(transport_socket), which has no SNI;")
}

test_names_of_the_entry_do_not_count_everywhere if {
	contains(effect({"sni": "a"}, {"subject_alt_names": ["a"], "cluster": "dynamic_forward_proxy"}), nameless)
	contains(effect({"sni": "a", "insecureSkipVerify": true}, {"subject_alt_names": ["a"]}), nameless)
}
