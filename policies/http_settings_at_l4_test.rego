package meshvet.http_settings_at_l4_test

import data.meshvet.http_settings_at_l4
import rego.v1

block := ["spec", "trafficPolicy", "connectionPool", "http"]

tls := {"number": 443, "protocol": "TLS", "family": "L4", "host": "a.example.com"}

http := {"number": 80, "protocol": "HTTP", "family": "L7", "host": "a.example.com"}

use(name, value, live, dead) := {
	"level": "destination", "at": ["spec", "trafficPolicy"], "subset": "", "field": sprintf("connectionPool.http.%s", [name]),
	"block": "connectionPool", "path": array.concat(block, [name]), "value": value, "text": sprintf("%v", [value]),
	"live": live, "dead": dead, "envoy": "",
}

rule(pool) := {"spec": {"trafficPolicy": {"connectionPool": pool, "loadBalancer": {"simple": "RANDOM"}}}}

reach(ports) := {"host": "a.example.com", "known": true, "wildcard": false, "ports": ports}

no_pool := {"default_pool": false}

test_a_host_with_both_kinds_of_port_is_told_at_level_info if {
	found := http_settings_at_l4.findings with input.object as rule({"http": {"maxRetries": 3}})
		with mesh.uses as [use("maxRetries", 3, [http], [tls])]
		with mesh.reach as reach([http, tls])
	{f.severity | some f in found} == {"info"}
}

test_the_same_field_on_an_L4_port_has_the_severity_of_the_rule if {
	found := http_settings_at_l4.findings with input.object as rule({"http": {"maxRetries": 3}})
		with mesh.uses as [use("maxRetries", 3, [], [tls])]
		with mesh.reach as reach([tls])
		with mesh.settings as no_pool
	{f | some f in found; not f.severity} == found
	count(found) == 1
}

# Applied together, the fixes must not remove a block twice, nor a field of a block that is gone.
test_one_finding_carries_the_removal_of_a_block if {
	found := http_settings_at_l4.findings with input.object as rule({"tcp": {}, "http": {"maxRetries": 3, "http2MaxRequests": 4}})
		with mesh.uses as [use("maxRetries", 3, [], [tls]), use("http2MaxRequests", 4, [], [tls])]
		with mesh.reach as reach([tls])
		with mesh.settings as no_pool
	[op | some f in found; some fix in f.fixes; some op in fix.ops] == [{"op": "remove", "path": block}]
	some f in found
	contains(f.effect, "it goes with the fix for http.maxRetries")
}

test_a_pool_that_holds_nothing_else_goes if {
	found := http_settings_at_l4.findings with input.object as rule({"http": {"maxRetries": 3}})
		with mesh.uses as [use("maxRetries", 3, [], [tls])]
		with mesh.reach as reach([tls])
		with mesh.settings as no_pool
	[op | some f in found; some fix in f.fixes; some op in fix.ops] == [{"op": "remove", "path": ["spec", "trafficPolicy", "connectionPool"]}]
}

test_a_pool_that_keeps_the_default_of_the_mesh_out_stays if {
	found := http_settings_at_l4.findings with input.object as rule({"http": {"maxRetries": 3}})
		with mesh.uses as [use("maxRetries", 3, [], [tls])]
		with mesh.reach as reach([tls])
		with mesh.settings as {"default_pool": true}
	[op | some f in found; some fix in f.fixes; some op in fix.ops] == [{"op": "replace", "path": block, "value": {}}]
}

test_a_host_that_is_not_in_view_is_passed_over if {
	found := http_settings_at_l4.findings with input.object as rule({"http": {"maxRetries": 3}})
		with mesh.uses as [use("maxRetries", 3, [], [])]
		with mesh.reach as {"host": "a.example.com", "known": false, "wildcard": false, "ports": []}
	{f.skip | some f in found} == {"a.example.com is not in view, so the kind of its ports is not known"}
}
