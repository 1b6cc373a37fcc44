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
