package meshvet.lib.origination_test

import data.meshvet.lib.origination
import rego.v1

test_a_secret_without_selector_is_for_gateways if {
	origination.proxy({"spec": {}}, {"credentialName": "partner"}) == "Envoy of a gateway"
}

test_others_are_for_all if {
	origination.proxy({"spec": {"workloadSelector": {"matchLabels": {"app": "a"}}}}, {"credentialName": "partner"}) == "Envoy"
	origination.proxy({"spec": {}}, {"credentialName": "configmap://partner"}) == "Envoy"
	origination.proxy({"spec": {}}, {"mode": "SIMPLE"}) == "Envoy"
}

test_what_starts_tls if {
	origination.starts({"mode": "SIMPLE"})
	origination.starts({"mode": "MUTUAL", "credentialName": "partner"})
	origination.starts({"mode": "MUTUAL", "clientCertificate": "/cert", "privateKey": "/key"})
}

test_what_starts_none if {
	every tls in [
		{"mode": "DISABLE"}, {"mode": "ISTIO_MUTUAL"}, {}, {"mode": "MUTUAL"}, {"mode": "MUTUAL", "credentialName": ""}, {"mode": "MUTUAL", "credentialName": 7},
		{"mode": "MUTUAL", "clientCertificate": "/cert"}, {"mode": "MUTUAL", "privateKey": "/key"},
	] {
		not origination.starts(tls)
	}
}

test_who_is_trusted if {
	origination.trusted({"credentialName": "configmap://partner"}) == "the CAs in ConfigMap partner"
	origination.trusted({"credentialName": "partner", "caCertificates": "/ca"}) == "the CAs in Secret partner"
	origination.trusted({"caCertificates": "/ca"}) == "the CAs in /ca"
	origination.trusted({"caCertificates": "system"}) == "the system CAs"
	origination.trusted({}) == "the system CAs"
}

a := {"host": "b.example.com", "mode": "SIMPLE", "path": ["spec", "trafficPolicy", "tls"], "rule": {"kind": "DestinationRule", "namespace": "web", "name": "a"}}

b := object.union(a, {"host": "a.example.com", "rule": {"kind": "DestinationRule", "namespace": "web", "name": "b"}})

test_rules_are_named_once if {
	origination.starting([a, a]) == "DestinationRule a starts"
	origination.starting([b, a]) == "DestinationRules a, b start"
}

test_hosts_are_named_once if origination.started_for([a, b, a]) == ["a.example.com", "b.example.com"]

test_the_place_of_tls if {
	origination.set_at([a]) == [{
		"kind": "DestinationRule", "namespace": "web", "name": "a", "path": ["spec", "trafficPolicy", "tls", "mode"],
		"message": "tls mode SIMPLE is set here",
	}]
}
