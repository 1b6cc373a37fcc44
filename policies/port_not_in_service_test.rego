package meshvet.port_not_in_service_test

import data.meshvet.port_not_in_service
import rego.v1

reach := {"host": "a.example.com", "wildcard": false, "in_cluster": false, "known": true, "numbers": [80, 443, 8080, 9090]}

entry := {"path": ["spec", "trafficPolicy", "portLevelSettings", 0], "subset": "", "port": 8443, "reached": 0, "shadowed": false, "first": null, "target_port_of": [443]}

test_the_target_port_is_told if {
	all := port_not_in_service.findings with mesh.reach as reach with mesh.entries as [entry]
	count(all) == 1
	some f in all
	f.effect == "Istio looks for entries by the number of a port (80, 443 and 2 more), so that no cluster gets what this one says; 8443 is the targetPort of port 443, by which no entry is looked up"
}

test_a_port_that_is_there if {
	all := port_not_in_service.findings with mesh.reach as reach with mesh.entries as [object.union(entry, {"port": 443, "reached": 1})]
	count(all) == 0
}

test_what_is_no_whole_number_is_for_the_schema if {
	every number in ["443", 1.5, true] {
		all := port_not_in_service.findings with mesh.reach as reach with mesh.entries as [object.union(entry, {"port": 0})]
			with input as {"object": {"spec": {"trafficPolicy": {"portLevelSettings": [{"port": {"number": number}}]}}}}
		count(all) == 0
	}
}

skips(of_reach, of_entry, complete) := {f.skip |
	some f in port_not_in_service.findings with mesh.reach as object.union(reach, of_reach)
		with mesh.entries as [object.union(entry, of_entry)]
		with mesh.complete as complete
	f.skip
}

test_a_host_not_in_view_is_skipped if {
	skips({"known": false, "numbers": []}, {}, true) == {"a.example.com is not in view, so its ports are not known"}
	count(skips({"known": false, "numbers": [], "in_cluster": true}, {}, true)) == 0
}

test_of_a_wildcard_more_hosts_may_turn_up if {
	skips({"wildcard": true, "host": "*.example.com"}, {}, false) == {"*.example.com may take in hosts that are not in view"}
	count(skips({"wildcard": true, "host": "*.example.com"}, {}, true)) == 0
	count(skips({"wildcard": true, "host": "*.example.com", "known": false, "in_cluster": true}, {}, false)) == 0
}

test_nothing_is_skipped_where_nothing_would_be_found if {
	every of_entry in [{"port": 0}, {"reached": 1}, {"shadowed": true}] {
		count(skips({"known": false, "numbers": []}, of_entry, true)) == 0
	}
}

test_port_1_is_a_port if {
	skips({"known": false, "numbers": []}, {"port": 1}, true) != set()
	all := port_not_in_service.findings with mesh.reach as reach with mesh.entries as [object.union(entry, {"port": 1})]
	count(all) == 1
}

# The other finding says all there is to say.
test_an_entry_that_is_not_the_first_is_told_once if {
	all := port_not_in_service.findings with mesh.reach as reach with mesh.entries as [object.union(entry, {"shadowed": true, "first": entry.path})]
	count(all) == 1
}
