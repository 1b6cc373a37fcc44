package meshvet.no_server_name_test

import data.meshvet.no_server_name
import rego.v1

port(more) := object.union(
	{
		"number": 5671, "host": "a.example.com", "hosts": 1, "family": "L4", "tls": false, "cleartext": false, "compiled": true, "in_cluster_name": false,
		"cluster": "STRICT_DNS", "subject_alt_names": [], "target": {"kind": "ServiceEntry", "namespace": "n", "name": "a"},
	},
	more,
)

found(tls, more) := out if {
	out := no_server_name.findings with input.object as {"spec": {"host": "a.example.com"}}
		with mesh.blocks as [{
			"path": ["spec", "trafficPolicy", "tls"], "known": true, "shadowed": false, "value": object.union({"mode": "SIMPLE"}, tls),
			"ports": [port(more)],
		}]
		with mesh.cleartext_routes as []
}

told(tls, more) := [f.severity, f.effect] if {
	some f in found(tls, more)
}

test_neither if told({}, {}) == ["warning", "Envoy sends no SNI, and accepts any certificate that chains to the system CAs: the cluster has no match_subject_alt_names"]

test_no_names if told({"sni": "a"}, {}) == ["warning", "Envoy accepts any certificate that chains to the system CAs: the cluster has no match_subject_alt_names"]

test_no_sni if {
	told({"subjectAltNames": ["a"]}, {}) == ["info", "Envoy sends no SNI, so a server with several certificates has to guess which one is wanted"]
	told({"insecureSkipVerify": true}, {})[0] == "info"
}

forward := {"family": "L7", "cluster": "dynamic_forward_proxy"}

effect(tls) := e if {
	some f in found(tls, forward)
	e := f.effect
}

test_one_name_for_all if {
	endswith(effect({"sni": "a"}), "chooses its certificate by that name, while auto_san_validation checks it for the host of the request")
	endswith(effect({"sni": "a", "insecureSkipVerify": true}), "chooses its certificate by that name")
}

test_odd_values if {
	count(found({"sni": 7}, forward)) == 0
	count(found({"sni": 7, "subjectAltNames": "a"}, {})) == 1
}
