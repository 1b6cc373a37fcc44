package meshvet.hash_without_input_test

import data.meshvet.hash_without_input
import rego.v1

use(level, value) := {
	"level": level, "path": ["spec", "trafficPolicy", "loadBalancer", "consistentHash"], "value": value,
	"known": false, "subset": "", "whose": "", "live": [], "dead": [],
}

skipped(u, in_cluster) := {f.skip |
	some f in hash_without_input.findings with mesh.uses as [u] with mesh.reach as {"host": "far.example.com", "in_cluster": in_cluster}
	f.skip
}

test_a_header_hangs_on_the_kind_of_port if {
	skipped(use("destination", {"httpHeaderName": "x"}), false) == {"far.example.com is not in view, so the kind of its ports is not known"}
}

test_the_address_of_the_client_does_in_entries_only if {
	count(skipped(use("destination", {"useSourceIp": true}), false)) == 0
	count(skipped(use("port", {"useSourceIp": true}), false)) == 1
	count(skipped(use("subset port", {"useSourceIp": true}), false)) == 1
}

test_hosts_of_the_mesh_are_passed_over_without_a_word if {
	count(skipped(use("destination", {"httpHeaderName": "x"}), true)) == 0
}

test_of_many_ports_two_are_named if {
	listed := [{"place": p} | some p in ["port 1", "port 2", "port 3", "port 4"]]
	hash_without_input.places(array.slice(listed, 0, 3)) == "port 1, port 2, port 3"
	hash_without_input.places(listed) == "port 1, port 2 and 2 more"
}

test_keys_are_named_by_what_they_are if {
	hash_without_input.keys({"httpHeaderName": "a", "httpQueryParameterName": "b", "httpCookie": {"name": "c"}}) == "header a and query parameter b and cookie c"
	hash_without_input.keys({"httpHeaderName": "", "httpQueryParameterName": 3, "httpCookie": "c"}) == ""
}
