package meshvet.connect_timeout_implicit_test

import data.meshvet.connect_timeout_implicit
import rego.v1

found(reach, tcp) := {f.skip |
	some f in connect_timeout_implicit.findings with mesh.reach as object.union({"host": "a.example.com", "known": false, "in_cluster": false}, reach)
		with mesh.implicit_timeouts as []
		with input.object as {"spec": {"trafficPolicy": {"connectionPool": {"tcp": tcp}}}}
}

test_a_host_not_in_view_is_skipped if {
	found({}, {"maxConnections": 10}) == {"a.example.com is not in view, so whether it is outside the mesh is not known"}
}

test_but_not_where_nothing_would_be_found if {
	count(found({"known": true}, {})) == 0
	count(found({"in_cluster": true}, {})) == 0
	count(found({}, {"connectTimeout": "2s"})) == 0
}
