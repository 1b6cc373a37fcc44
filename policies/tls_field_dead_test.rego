package meshvet.tls_field_dead_test

import data.meshvet.tls_field_dead
import rego.v1

found(tls) := out if {
	out := tls_field_dead.findings with input.object as {"spec": {"host": "a.example.com"}}
		with mesh.blocks as [{
			"path": ["spec", "trafficPolicy", "tls"], "known": true, "shadowed": false, "value": tls,
			"ports": [{"host": "a.example.com", "number": 80, "hosts": 1, "compiled": true, "cluster": "STRICT_DNS"}],
		}]
}

effect(tls) := e if {
	some f in found(tls)
	e := f.effect
}

test_effects if {
	effect({"mode": "DISABLE", "sni": "a"}) == "the cluster for a.example.com:80 has no transport_socket either way, so Envoy starts no TLS"
	contains(effect({"mode": "SIMPLE", "privateKey": "/k"}), "Envoy presents no certificate")
	contains(effect({"mode": "ISTIO_MUTUAL", "caCrl": "/c"}), "that Istio gives each workload")
}

test_others_are_related if {
	some f in found({"mode": "SIMPLE", "clientCertificate": "/c", "privateKey": "/k"})
	f.related == [{"path": ["spec", "trafficPolicy", "tls", "privateKey"], "message": "privateKey is ignored too"}]
}

test_odd_values if {
	every tls in [
		{"mode": "DISABLE", "sni": 7}, {"mode": "DISABLE", "subjectAltNames": "a"}, {"mode": "DISABLE", "insecureSkipVerify": "true"},
		{"mode": "DISABLE", "caCertificates": null}, {"mode": ["DISABLE"], "sni": "a"}, {"mode": "OTHER", "sni": "a"}, {"sni": "a"},
	] {
		count(found(tls)) == 0
	}
}
