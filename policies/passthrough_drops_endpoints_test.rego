package meshvet.passthrough_drops_endpoints_test

import data.meshvet.passthrough_drops_endpoints
import rego.v1

block := {"path": ["spec", "trafficPolicy", "loadBalancer"], "value": {"simple": "PASSTHROUGH"}, "shadowed": false, "known": false, "ports": []}

reach(in_cluster) := {"host": "far.example.com", "in_cluster": in_cluster}

test_host_not_in_view_is_skipped if {
	found := passthrough_drops_endpoints.findings with mesh.blocks as [block] with mesh.reach as reach(false)
	{f.skip | some f in found} == {"far.example.com is not in view, so the kind of its ports is not known"}
}

test_no_word_of_hosts_of_the_mesh if {
	count(passthrough_drops_endpoints.findings) == 0 with mesh.blocks as [block] with mesh.reach as reach(true)
}

test_no_word_of_other_values if {
	other := object.union(block, {"value": {"simple": "RANDOM"}})
	count(passthrough_drops_endpoints.findings) == 0 with mesh.blocks as [other] with mesh.reach as reach(false)
}
