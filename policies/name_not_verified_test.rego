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

found(tls, more, of_port) := findings if {
	port := object.union(
		{
			"number": 80, "host": "a.example.com", "hosts": 1, "family": "L7", "cleartext": false, "cluster": "STRICT_DNS",
			"in_cluster_name": false, "subject_alt_names": [], "target": {"kind": "ServiceEntry"},
		},
		of_port,
	)
	block := object.union(
		{"path": ["spec", "trafficPolicy", "tls"], "shadowed": false, "known": true, "ports": [port], "value": object.union({"mode": "SIMPLE", "sni": "a.example.com"}, tls)},
		more,
	)
	findings := name_not_verified.findings with input.object as {"spec": {}}
		with mesh.blocks as [block]
		with mesh.reach as {"host": "a.example.com", "in_cluster": false}
}

test_what_is_silent_whoever_asks if {
	count(found({}, {}, {})) == 1
	count(found({"mode": "ISTIO_MUTUAL"}, {}, {})) == 0
	count(found({"sni": ""}, {}, {})) == 0
	count(found({"insecureSkipVerify": true}, {}, {})) == 0
	count(found({}, {"shadowed": true}, {})) == 0
	count(found({}, {}, {"target": {"kind": "Service"}})) == 0
}

test_a_host_not_in_view_is_skipped if {
	{f.skip | some f in found({}, {"known": false, "ports": []}, {})} == {"a.example.com is not in view, so the kind of its ports is not known"}
	count(found({}, {"ports": []}, {})) == 0
	in_mesh := name_not_verified.findings with input.object as {"spec": {}}
		with mesh.blocks as [{"path": [], "shadowed": false, "known": false, "ports": [], "value": {"mode": "SIMPLE", "sni": "a"}}]
		with mesh.reach as {"host": "a.mesh.svc.cluster.local", "in_cluster": true}
	count(in_mesh) == 0
}
