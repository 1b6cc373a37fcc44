package meshvet.other_limits_unlimited_test

import data.meshvet.other_limits_unlimited
import rego.v1

pool := {"host": "a.example.com", "known": false, "reading": 0}

test_a_host_not_in_view_is_skipped if {
	all := other_limits_unlimited.findings with mesh.partial_pools as [pool]
	{f.skip | some f in all} == {"a.example.com is not in view, so the kind of its ports is not known"}
}

test_a_pool_that_no_request_comes_to if {
	all := other_limits_unlimited.findings with mesh.partial_pools as [object.union(pool, {"known": true})]
	count(all) == 0
}
