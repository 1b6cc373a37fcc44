package meshvet.name_not_verified_test

import data.meshvet.name_not_verified
import rego.v1

effect(tls, spec) := e if {
	port := {
		"number": 80, "host": "a.example.com", "hosts": 1, "family": "L7", "cleartext": false, "cluster": "STRICT_DNS",
		"in_cluster_name": false, "subject_alt_names": [], "target": {"kind": "ServiceEntry"},
	}
	findings := name_not_verified.findings with input.object as {"spec": spec}
		with mesh.blocks as [{
			"path": ["spec", "trafficPolicy", "tls"], "shadowed": false, "known": true, "ports": [port],
			"value": object.union({"mode": "SIMPLE", "sni": "a.example.com"}, tls),
		}]
		with mesh.reach as {"host": "a.example.com", "in_cluster": false}
	some f in findings
	e := f.effect
}

selector := {"workloadSelector": {"matchLabels": {"app": "a"}}}

# A sidecar starts no TLS at all with a credential that it may not load.
test_whose_envoy_it_is if {
	startswith(effect({}, {}), "Envoy accepts any certificate that chains to the system CAs:")
	startswith(effect({"credentialName": "ca"}, {}), "Envoy of a gateway accepts any certificate that chains to the CAs in Secret ca:")
	startswith(effect({"credentialName": "ca"}, selector), "Envoy accepts any certificate that chains to the CAs in Secret ca:")
	startswith(effect({"credentialName": "configmap://ca"}, {}), "Envoy accepts any certificate that chains to the CAs in ConfigMap ca:")
}
