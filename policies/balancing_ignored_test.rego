package meshvet.balancing_ignored_test

import data.meshvet.balancing_ignored
import rego.v1

block(value) := {
	"path": ["spec", "trafficPolicy", "loadBalancer"], "at": ["spec", "trafficPolicy"], "level": "destination", "subset": "",
	"shadowed": false, "alone": true, "known": false, "ports": [], "value": value,
}

skipped(value, in_cluster) := {f.skip |
	found := balancing_ignored.findings with mesh.blocks as [block(value)]
		with mesh.reach as {"host": "far.example.com", "in_cluster": in_cluster}
	some f in found
	f.skip
}

test_what_is_asked_hangs_on_the_kind_of_port if {
	skipped({"simple": "RANDOM"}, false) == {"far.example.com is not in view, so the kind of its ports is not known"}
}

test_hosts_of_the_mesh_are_passed_over_without_a_word if {
	count(skipped({"simple": "RANDOM"}, true)) == 0
}

test_of_a_hash_with_a_size_no_slow_start_is_left if {
	balancing_ignored.sized({})
	balancing_ignored.sized({"maglev": {"tableSize": 7}})
	balancing_ignored.sized({"ringHash": {"minimumRingSize": 7}})
	not balancing_ignored.sized(null)
	not balancing_ignored.sized({"maglev": {}})
	not balancing_ignored.sized({"maglev": {}, "ringHash": {"minimumRingSize": 7}})
	not balancing_ignored.sized({"ringHash": {"minimumRingSize": "7"}})
	not balancing_ignored.sized({"ringHash": 7})
}
