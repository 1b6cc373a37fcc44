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

found(tls, more, in_cluster) := findings if {
	block := object.union(
		{
			"level": "destination", "at": ["spec", "trafficPolicy"], "path": ["spec", "trafficPolicy", "tls"], "subset": "", "known": true,
			"shadowed": false, "alone": true, "value": tls, "ports": [port({})],
		},
		more,
	)
	findings := double_tls.findings with input.object as {"spec": {"host": "a.example.com"}}
		with mesh.blocks as [block]
		with mesh.reach as {"host": "a.example.com", "in_cluster": in_cluster}
		with mesh.complete as true
}

test_what_is_silent_whoever_asks if {
	count(found({"mode": "SIMPLE"}, {}, false)) == 1
	count(found({"mode": "ISTIO_MUTUAL"}, {}, false)) == 0
	count(found({"mode": "SIMPLE"}, {"shadowed": true}, false)) == 0
	count(found({"mode": "SIMPLE"}, {"ports": []}, false)) == 0
}

test_a_host_not_in_view_is_skipped if {
	{f.skip | some f in found({"mode": "SIMPLE"}, {"known": false, "ports": []}, false)} == {"a.example.com is not in view, so the kind of its ports is not known"}
	count(found({"mode": "SIMPLE"}, {"known": false, "ports": []}, true)) == 0
}

# Each of the two kinds of route may make it a note.
test_a_route_may_be_elsewhere if {
	double_tls.unless_routed == "" with mesh.complete as true
	double_tls.unless_routed != "" with mesh.complete as false
}
