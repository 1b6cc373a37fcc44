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
