package meshvet.http2_field_dropped_test

import data.meshvet.http2_field_dropped
import rego.v1

upgrade_policy := "connectionPool.http.h2UpgradePolicy"

port(more) := object.union(
	{
		"host": "a.example.com", "number": 80, "place": "port 80 (HTTP) of a.example.com", "family": "L7", "http2": false, "carries_requests": true,
		"beside": {upgrade_policy: "DO_NOT_UPGRADE", "connectionPool.http.useClientProtocol": "false"},
	},
	more,
)

sniffed(upgrade, client) := port({"family": "sniffed", "beside": {upgrade_policy: upgrade, "connectionPool.http.useClientProtocol": client}})

use(name, value, more) := object.union(
	{
		"field": sprintf("connectionPool.http.%s", [name]), "name": name, "value": value, "text": "10", "path": ["http", name], "at": ["level"], "whose": "",
		"known": true, "lost": false, "host": "a.example.com", "envoy": "http2_protocol_options.x", "live": [], "dead": [port({})],
	},
	more,
)

found(uses) := findings if {
	findings := http2_field_dropped.findings with mesh.uses as uses with mesh.settings as {"mesh_config": false}
}

safeties(uses) := [fix.safety | some f in found(uses); some fix in f.fixes]

streams := use("maxConcurrentStreams", 10, {})

# The mesh may upgrade all HTTP ports.
test_what_the_mesh_may_decide_is_told if {
	some f in found([streams])
	f.effect == "Istio drops the value: it goes into http2_protocol_options.x, which the cluster does not have (unless meshConfig.h2UpgradePolicy, which is not in view, is UPGRADE)"
	[[fix.title, fix.safety] | some fix in f.fixes] == [["remove maxConcurrentStreams", "unsafe"]]
}

test_what_the_mesh_says_is_known if {
	known := http2_field_dropped.findings with mesh.uses as [streams] with mesh.settings as {"mesh_config": true}
	{f.effect | some f in known} == {"Istio drops the value: it goes into http2_protocol_options.x, which the cluster does not have"}
	{fix.safety | some f in known; some fix in f.fixes} == {"safe"}
}

policy(value, at) := use("h2UpgradePolicy", value, {"at": at, "live": [port({})], "dead": []})

test_the_rule_decides_before_the_mesh if {
	safeties([streams, policy("DO_NOT_UPGRADE", ["level"])]) == ["safe"]
	safeties([streams, policy("DEFAULT", ["level"])]) == ["unsafe"]
	safeties([streams, policy("DO_NOT_UPGRADE", ["other"])]) == ["unsafe"]
	safeties([streams, use("http2KeepAlive", "DO_NOT_UPGRADE", {"dead": []})]) == ["unsafe"]
}

test_the_mesh_upgrades_http_ports_only if {
	safeties([object.union(streams, {"dead": [port({"family": "L4"})]})]) == ["safe"]
	safeties([object.union(streams, {"dead": [sniffed("DO_NOT_UPGRADE", "false")]})]) == ["safe"]
}

test_gateways_upgrade_what_sidecars_do_not if {
	count(found([object.union(streams, {"dead": [sniffed("UPGRADE", "false")]})])) == 0
	count(found([object.union(streams, {"dead": [sniffed("UPGRADE", "true")]})])) == 1
	count(found([use("h2UpgradePolicy", "UPGRADE", {"dead": [sniffed("UPGRADE", "false")]})])) == 0
	count(found([use("h2UpgradePolicy", "UPGRADE", {"dead": [sniffed("UPGRADE", "false"), port({"http2": true})]})])) == 0
}

# On such a port the client's protocol is what both say.
test_an_http_port_that_follows_its_clients if {
	follows := port({"beside": {upgrade_policy: "UPGRADE", "connectionPool.http.useClientProtocol": "true"}})
	count(found([object.union(streams, {"dead": [follows]})])) == 1
}

# The mesh keeps the case of headers, for gateways too.
test_an_http_port_that_is_not_upgraded_after_all if {
	pinned := port({"beside": {upgrade_policy: "UPGRADE", "connectionPool.http.useClientProtocol": "false"}})
	count(found([object.union(streams, {"dead": [pinned]})])) == 1
}

severities(value, more) := {[f.severity, fix.title, fix.safety, f.effect] |
	some f in found([use("h2UpgradePolicy", value, {"dead": [port(more)]})])
	some fix in f.fixes
}

effect := "Istio looks at h2UpgradePolicy only where it has not chosen between HTTP/1.1 and HTTP/2 already; the cluster's explicit_http_config stays what it is"

test_a_contradiction_weighs_more_than_a_repetition if {
	severities("DO_NOT_UPGRADE", {"http2": true}) == {["warning", "remove h2UpgradePolicy", "safe", effect]}
	severities("UPGRADE", {}) == {["warning", "remove h2UpgradePolicy", "safe", effect]}
	severities("UPGRADE", {"http2": true}) == {["info", "remove h2UpgradePolicy", "safe", effect]}
	severities("DO_NOT_UPGRADE", {}) == set()
	severities("UPGRADE", {"http2": true, "beside": {"connectionPool.http.useClientProtocol": "true"}}) == set()
}

# Requests that a route sends to a port of another protocol are upgraded.
test_a_routed_port_is_none_that_the_mesh_pins if severities("UPGRADE", {"family": "L4"}) == set()

test_values_that_ask_for_nothing if {
	every value in [0, -1, "10", "UPGRADE", null, {}, {"x": 1}, [], true] {
		count(found([use("maxConcurrentStreams", value, {})])) == 0
	}
	every value in [{}, "30s", 1, null, ["x"]] {
		count(found([use("http2KeepAlive", value, {})])) == 0
	}
	every value in ["DEFAULT", "", 1, {"x": 1}, null] {
		count(found([use("h2UpgradePolicy", value, {"dead": [port({"http2": true})]})])) == 0
	}
}

test_the_least_that_asks_for_something if {
	count(found([use("maxConcurrentStreams", 1, {})])) == 1
	count(found([use("http2KeepAlive", {"interval": "30s"}, {})])) == 1
}

test_a_host_that_is_not_in_view_is_passed_over if {
	unknown := {"known": false, "dead": []}
	{f.skip | some f in found([use("maxConcurrentStreams", 1, unknown)])} == {"a.example.com is not in view, so the kind of its ports is not known"}
	count(found([use("maxConcurrentStreams", 0, unknown)])) == 0
	count(found([use("h2UpgradePolicy", "DEFAULT", unknown)])) == 0
	count(found([use("h2UpgradePolicy", "UPGRADE", unknown)])) == 1
}
