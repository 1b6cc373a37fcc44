package meshvet.panic_before_ejection_test

import data.meshvet.panic_before_ejection
import rego.v1

# Of n addresses, the ejection that leaves less than the threshold and less than 100/140 of all.
test_the_last_straw if {
	panic_before_ejection.straw(2, 50) == 2
	panic_before_ejection.straw(2, 51) == 1
	panic_before_ejection.straw(3, 66) == 2
	panic_before_ejection.straw(3, 67) == 1
	panic_before_ejection.straw(4, 100) == 2
	panic_before_ejection.straw(7, 100) == 3
	panic_before_ejection.straw(7, 10) == 7
	panic_before_ejection.straw(10, 60) == 5
}

test_what_may_be_ejected if {
	panic_before_ejection.allowed(3, 33) == 0
	panic_before_ejection.allowed(3, 34) == 1
	panic_before_ejection.limit({"value": {}}) == 10
	panic_before_ejection.limit({"value": {"maxEjectionPercent": 0}}) == 10
	panic_before_ejection.limit({"value": {"maxEjectionPercent": "50"}}) == 10
	panic_before_ejection.limit({"value": {"maxEjectionPercent": 50}}) == 50
}

skipped(value, in_cluster) := {f.skip |
	found := panic_before_ejection.findings with mesh.reach as {"host": "far.example.com", "in_cluster": in_cluster}
		with mesh.blocks as [{"path": ["spec", "trafficPolicy", "outlierDetection"], "shadowed": false, "known": false, "ports": [], "subset": "", "value": value}]
	some f in found
	f.skip
}

test_a_host_that_is_not_in_view_is_skipped if {
	skipped({"minHealthPercent": 50}, false) == {"far.example.com is not in view, so the number of its endpoints is not known"}
	count(skipped({"minHealthPercent": 50}, true)) == 0
	count(skipped({"minHealthPercent": 0}, false)) == 0
}
