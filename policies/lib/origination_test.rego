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
