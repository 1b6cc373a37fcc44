package meshvet.first_ip_only_test

import data.meshvet.first_ip_only
import rego.v1

entry := {
	"resolution": "DNS_ROUND_ROBIN", "selector": false, "hidden": false,
	"hosts": [{"name": "a.example.com", "wildcard": false, "address": false, "may_have_pods": false}], "ports": [{"number": 443, "family": "L4"}],
}

found(governing) := findings if {
	findings := first_ip_only.findings with input.object as {"spec": {"resolution": "DNS_ROUND_ROBIN"}}
		with mesh.entry as entry
		with mesh.governing as governing
}

block(value, host) := {"value": value, "rule_host": host, "path": ["spec", "trafficPolicy"], "rule": {"kind": "DestinationRule", "namespace": "a", "name": "a"}}

test_it_is_a_recommendation if {
	some f in found([])
	f.severity == "info"
}

test_what_needs_a_list_makes_it_a_warning if {
	every value in [{"simple": "RANDOM"}, {"consistentHash": {}}, {"localityLbSetting": {}}, {"warmup": {}}, {"warmupDurationSecs": "3s"}] {
		some f in found([block(value, "a.example.com")])
		f.severity == "warning"
		count(f.related) == 1
	}
}

test_what_says_the_default_does_not if {
	every value in [{"simple": "LEAST_REQUEST"}, {"simple": "LEAST_CONN"}, {"simple": "UNSPECIFIED"}, {"warmup": null}, {}] {
		some f in found([block(value, "a.example.com")])
		f.severity == "info"
	}
}
