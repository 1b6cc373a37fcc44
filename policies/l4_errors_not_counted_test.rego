package meshvet.l4_errors_not_counted_test

import data.meshvet.l4_errors_not_counted
import rego.v1

found(value, in_cluster) := f if {
	f := l4_errors_not_counted.findings with mesh.reach as {"host": "far.example.com", "in_cluster": in_cluster}
		with mesh.blocks as [{"path": ["spec", "trafficPolicy", "outlierDetection"], "shadowed": false, "known": false, "ports": [], "value": value}]
}

split(more) := object.union({"splitExternalLocalOriginErrors": true}, more)

test_a_host_not_in_view_is_skipped if {
	{f.skip | some f in found(split({"consecutive5xxErrors": 5}), false)} == {"far.example.com is not in view, so the kind of its ports is not known"}
}

test_but_not_where_nothing_is_asked if {
	count(found(split({"consecutive5xxErrors": 0}), false)) == 0
	count(found({"consecutive5xxErrors": 5}, false)) == 0
	count(found(split({"consecutiveGatewayErrors": "5"}), false)) == 0
}

test_nor_for_hosts_of_the_mesh if {
	count(found(split({"consecutive5xxErrors": 5}), true)) == 0
}

test_what_ejects_instead if {
	l4_errors_not_counted.local_origin({"value": {"consecutiveLocalOriginFailures": 9}}) == 9
	l4_errors_not_counted.local_origin({"value": {"consecutiveLocalOriginFailures": 0}}) == 5
	l4_errors_not_counted.local_origin({"value": {}}) == 5
	l4_errors_not_counted.local_origin({"value": {"consecutiveLocalOriginFailures": "x"}}) == 5
}
