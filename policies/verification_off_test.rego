package meshvet.verification_off_test

import data.meshvet.verification_off
import rego.v1

effect(tls) := e if {
	findings := verification_off.findings with input.object as {"spec": {"host": "a.example.com"}}
		with mesh.blocks as [{
			"path": ["spec", "trafficPolicy", "tls"], "known": true, "shadowed": false, "value": object.union({"insecureSkipVerify": true}, tls),
			"ports": [{"host": "a.example.com", "number": 80, "hosts": 1, "tls": false, "cleartext": false, "compiled": true}],
		}]
	some f in findings
	e := f.effect
}

test_simple if startswith(effect({"mode": "SIMPLE"}), "Envoy takes any certificate, be it an attacker's: the cluster's")

test_mutual if contains(effect({"mode": "MUTUAL", "clientCertificate": "/c", "privateKey": "/k"}), "attacker's, and presents the client's own to whoever answers: the")

test_gateways if startswith(effect({"mode": "SIMPLE", "credentialName": "partner"}), "Envoy of a gateway takes")
