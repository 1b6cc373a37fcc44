package meshvet.l4_timeout_not_top_level_test

import data.meshvet.l4_timeout_not_top_level
import rego.v1

field(name) := sprintf("connectionPool.tcp.%s", [name])

port(bytes, idle, age) := {"forwards_bytes": bytes, "beside": {field("idleTimeout"): idle, field("maxConnectionDuration"): age}}

use(name, value, more) := object.union(
	{
		"field": field(name), "name": name, "value": value, "text": value, "shown": value, "level": "port", "port": 443, "subset": "",
		"at": ["entry"], "path": ["entry", name], "known": true, "host": "a.example.com", "live": [], "dead": [port(true, "1h", "none")],
		"dead_on": "port 443 (TLS) of a.example.com", "reaches_all": true, "subject": {},
	},
	more,
)

found(uses) := findings if {
	findings := l4_timeout_not_top_level.findings with mesh.uses as uses
}

fixes(uses) := [[fix.safety, fix.set] | some f in found(uses); some fix in f.fixes]

at_top(name, value) := {"path": ["spec", "trafficPolicy", "connectionPool", "tcp", name], "value": value}

test_what_holds_instead_is_told if {
	some f in found([use("idleTimeout", "5m", {}), use("maxConnectionDuration", "2h", {})])
	f.effect == concat("", [
		"Istio writes it into the cluster's HttpProtocolOptions, which tcp_proxy does not read; ",
		"tcp_proxy keeps idle_timeout 1h and has no max_downstream_connection_duration, so that no connection is ever too old",
	])
	[fix.title | some fix in f.fixes] == ["write it at the destination level, where it counts"]
}

test_the_destination_level_is_named_by_its_value if {
	some f in found([use("maxConnectionDuration", "2h", {"dead": [port(true, "1h", "8h")]})])
	endswith(f.effect, "tcp_proxy keeps max_downstream_connection_duration 8h")
}

test_the_only_port_may_have_it_at_the_top if {
	fixes([use("idleTimeout", "5m", {})]) == [["safe", [at_top("idleTimeout", "5m")]]]
}

test_what_others_would_get_is_not_safe if {
	fixes([use("idleTimeout", "5m", {"reaches_all": false})])[0][0] == "unsafe"
	fixes([use("idleTimeout", "5m", {"level": "subset", "subset": "v1"})])[0][0] == "unsafe"
	fixes([use("idleTimeout", "5m", {}), use("maxConnectionDuration", "2h", {"at": ["other"], "level": "subset port"})])[0][0] == "unsafe"
}

# What the author says for all ports is not for a tool to overrule.
test_what_is_written_at_the_top_is_not_overruled if {
	top := use("idleTimeout", "9m", {"level": "destination", "live": [port(true, "9m", "none")], "dead": []})
	fixes([top, use("idleTimeout", "5m", {"dead": [port(true, "9m", "none")]})])[0][0] == "unsafe"
	fixes([top, use("maxConnectionDuration", "5h", {})])[0][0] == "safe"
}

test_a_dispute_is_not_settled if {
	fixes([use("idleTimeout", "5m", {}), use("idleTimeout", "6m", {"at": ["other"]})]) == []
	count(found([use("idleTimeout", "5m", {}), use("idleTimeout", "6m", {"at": ["other"]})])) == 2
}

test_all_that_is_lost_is_written_at_once if {
	both := [use("idleTimeout", "5m", {}), use("maxConnectionDuration", "2h", {"at": ["other"]})]
	count(fixes(both)) == 2
	{set | some [_, set] in fixes(both)} == {[at_top("idleTimeout", "5m"), at_top("maxConnectionDuration", "2h")]}
}

test_a_port_that_reads_requests_is_enough if {
	count(found([use("idleTimeout", "5m", {"live": [port(false, "5m", "none")]})])) == 0
	count(found([use("idleTimeout", "5m", {"dead": [port(true, "1h", "none"), port(false, "1h", "none")]})])) == 0
}

test_no_port_no_finding if count(found([use("idleTimeout", "5m", {"dead": []})])) == 0

test_a_host_that_is_not_in_view_is_passed_over if {
	unknown := {"known": false, "dead": []}
	{f.skip | some f in found([use("idleTimeout", "5m", unknown)])} == {"a.example.com is not in view, so the kind of its ports is not known"}
	count(found([use("idleTimeout", "5m", object.union(unknown, {"level": "destination"}))])) == 0
}
