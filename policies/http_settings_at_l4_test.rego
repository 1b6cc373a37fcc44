package meshvet.http_settings_at_l4_test

import data.meshvet.http_settings_at_l4
import rego.v1

block := ["spec", "trafficPolicy", "connectionPool", "http"]

nowhere := {"count": 0, "bare": "", "places": "", "subject": {"hosts": [], "ports": []}}

tls := {
	"count": 1, "bare": "port 443 (TLS)", "places": "port 443 (TLS) of a.example.com",
	"subject": {"hosts": ["a.example.com"], "ports": [443]},
}

http := {
	"count": 1, "bare": "port 80 (HTTP)", "places": "port 80 (HTTP) of a.example.com",
	"subject": {"hosts": ["a.example.com"], "ports": [80]},
}

# A field that the destination level sets; all ports on which it is dead are L4.
use(name, value, live, dead) := {
	"level": "destination", "at": ["spec", "trafficPolicy"], "subset": "", "name": name, "path": array.concat(block, [name]),
	"block": "spec.trafficPolicy.connectionPool.http", "value": value, "text": sprintf("%v", [value]),
	"live": live, "dead": dead, "l4": dead,
}

rule(pool) := {"spec": {"trafficPolicy": {"connectionPool": pool, "loadBalancer": {"simple": "RANDOM"}}}}

reach := {"host": "a.example.com", "known": true, "wildcard": false, "ports": [{"number": 443, "family": "L4"}]}

no_pool := {"default_pool": false}

test_a_host_with_both_kinds_of_port_is_told_at_level_info if {
	found := http_settings_at_l4.findings with input.object as rule({"http": {"maxRetries": 3}})
		with mesh.http_uses as [use("maxRetries", 3, http, tls)]
		with mesh.reach as reach
	{f.severity | some f in found} == {"info"}
}

test_the_same_field_on_an_L4_port_has_the_severity_of_the_rule if {
	found := http_settings_at_l4.findings with input.object as rule({"http": {"maxRetries": 3}})
		with mesh.http_uses as [use("maxRetries", 3, nowhere, tls)]
		with mesh.reach as reach
		with mesh.settings as no_pool
	{f | some f in found; not f.severity} == found
	count(found) == 1
}

# Applied together, the fixes must not remove a block twice, nor a field of a block that is gone.
test_one_finding_carries_the_removal_of_a_block if {
	found := http_settings_at_l4.findings with input.object as rule({"tcp": {}, "http": {"maxRetries": 3, "http2MaxRequests": 4}})
		with mesh.http_uses as [use("maxRetries", 3, nowhere, tls), use("http2MaxRequests", 4, nowhere, tls)]
		with mesh.reach as reach
		with mesh.settings as no_pool
	[op | some f in found; some fix in f.fixes; some op in fix.ops] == [{"op": "remove", "path": block}]
	some f in found
	contains(f.effect, "it goes with the fix for http.maxRetries")
}

test_a_pool_that_holds_nothing_else_goes if {
	found := http_settings_at_l4.findings with input.object as rule({"http": {"maxRetries": 3}})
		with mesh.http_uses as [use("maxRetries", 3, nowhere, tls)]
		with mesh.reach as reach
		with mesh.settings as no_pool
	[op | some f in found; some fix in f.fixes; some op in fix.ops] == [{"op": "remove", "path": ["spec", "trafficPolicy", "connectionPool"]}]
}

test_a_pool_that_keeps_the_default_of_the_mesh_out_stays if {
	found := http_settings_at_l4.findings with input.object as rule({"http": {"maxRetries": 3}})
		with mesh.http_uses as [use("maxRetries", 3, nowhere, tls)]
		with mesh.reach as reach
		with mesh.settings as {"default_pool": true}
	[op | some f in found; some fix in f.fixes; some op in fix.ops] == [{"op": "replace", "path": block, "value": {}}]
}

test_a_host_that_is_not_in_view_is_passed_over if {
	found := http_settings_at_l4.findings with input.object as rule({"http": {"maxRetries": 3}})
		with mesh.http_uses as [use("maxRetries", 3, nowhere, nowhere)]
		with mesh.reach as {"host": "a.example.com", "known": false, "wildcard": false, "ports": []}
	{f.skip | some f in found} == {"a.example.com is not in view, so the kind of its ports is not known"}
}
