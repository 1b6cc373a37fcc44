package meshvet.proxy_protocol_external_test

import data.meshvet.proxy_protocol_external
import rego.v1

found(known, in_cluster) := {f.skip |
	some f in proxy_protocol_external.findings with mesh.reach as {"host": "a.example.com", "in_cluster": in_cluster}
		with mesh.blocks as [{"path": ["spec", "trafficPolicy", "proxyProtocol"], "value": {}, "known": known, "ports": []}]
}

test_a_host_not_in_view_is_skipped if {
	found(false, false) == {"a.example.com is not in view, so the kind of its ports is not known"}
}

test_but_not_one_that_is_in_view_or_in_the_mesh if {
	count(found(true, false)) == 0
	count(found(false, true)) == 0
}
