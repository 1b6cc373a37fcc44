package meshvet.client_protocol_beats_upgrade_test

import data.meshvet.client_protocol_beats_upgrade
import rego.v1

found(http) := findings if {
	findings := client_protocol_beats_upgrade.findings with mesh.blocks as [{"path": ["pool"], "subset": "", "value": {"http": http}}]
}

test_both_places_are_told if {
	some f in found({"useClientProtocol": true, "h2UpgradePolicy": "UPGRADE"})
	f.path == ["pool", "http", "h2UpgradePolicy"]
	f.related == [{"path": ["pool", "http", "useClientProtocol"], "message": "useClientProtocol is set here"}]
	f.subject == {"blocks": ["connectionPool"]}
	f.effect == concat("", [
		"istiod's webhook rejects the object; where the webhook does not run, useClientProtocol wins: ",
		"the cluster has use_downstream_protocol_config, and Envoy speaks HTTP/1.1 for clients that do",
	])
}

test_anything_else_is_fine if {
	every http in [{}, {"useClientProtocol": "true", "h2UpgradePolicy": "UPGRADE"}, {"useClientProtocol": true}, {"h2UpgradePolicy": "UPGRADE"}, "x", null] {
		count(found(http)) == 0
	}
}
