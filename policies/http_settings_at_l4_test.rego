package meshvet.http_settings_at_l4_test

import data.meshvet.http_settings_at_l4
import rego.v1

subject := {"hosts": ["a.example.com"], "ports": [443]}

path(name) := ["spec", "trafficPolicy", "connectionPool", "http", name]

use(name, more) := object.union(
	{
		"fate": "inert", "name": name, "path": path(name), "text": "3", "whose": "", "places": "port 443 (TLS) of a.example.com",
		"subject": subject, "moves": false, "pending_beside": false, "carrier": "", "whole": false, "http2": false,
		"removal": {"op": "remove", "path": path(name)},
	},
	more,
)

test_a_host_with_both_kinds_of_port_is_told_at_level_info if {
	found := http_settings_at_l4.findings with mesh.http_uses as [{
		"fate": "half", "path": path("maxRetries"), "names": "maxRetries", "whose": "", "host": "a.example.com",
		"live": "port 80 (HTTP)", "dead": "port 443 (TLS)", "subject": subject,
	}]
	{f.severity | some f in found} == {"info"}
}

test_the_same_field_on_an_L4_port_has_the_severity_of_the_rule if {
	found := http_settings_at_l4.findings with mesh.http_uses as [use("maxRetries", {})]
	{f | some f in found; not f.severity} == found
	count(found) == 1
}

# Applied together, the fixes must not remove a block twice, nor a field of a block that is gone.
test_one_finding_carries_the_removal_of_a_block if {
	block := {"op": "remove", "path": ["spec", "trafficPolicy", "connectionPool", "http"]}
	carried := object.remove(use("http2MaxRequests", {"carrier": "maxRetries"}), ["removal", "whole"])
	found := http_settings_at_l4.findings with mesh.http_uses as [use("maxRetries", {"whole": true, "removal": block}), carried]
	[op | some f in found; some fix in f.fixes; some op in fix.ops] == [block]
	some f in found
	contains(f.effect, "it goes with the fix for http.maxRetries")
}

test_an_idle_timeout_moves_to_where_it_counts if {
	moving := object.remove(use("idleTimeout", {"moves": true, "value": "5m"}), ["removal", "whole"])
	found := http_settings_at_l4.findings with mesh.http_uses as [moving]
	some f in found
	some fix in f.fixes
	fix.safety == "show"
	fix.set == [{"path": ["spec", "trafficPolicy", "connectionPool", "tcp", "idleTimeout"], "value": "5m"}]
}

test_a_host_that_is_not_in_view_is_passed_over if {
	found := http_settings_at_l4.findings with mesh.http_uses as [{"fate": "unknown", "host": "a.example.com"}]
	{f.skip | some f in found} == {"a.example.com is not in view, so the kind of its ports is not known"}
}

# Beside h2UpgradePolicy UPGRADE the cluster has HTTP/2 options, so that nothing is dropped.
test_what_the_cluster_holds_is_not_called_dropped if {
	dropped := http_settings_at_l4.findings with mesh.http_uses as [use("maxConcurrentStreams", {})]
	kept := http_settings_at_l4.findings with mesh.http_uses as [use("maxConcurrentStreams", {"http2": true})]
	some f in dropped
	startswith(f.effect, "Istio drops the value")
	some g in kept
	contains(g.effect, "is never read")
}

test_each_fate_is_told_once_and_as_what_it_is if {
	every fate in ["inert", "unreached", "half", "unknown", "live"] {
		all := object.union(
			use("maxRetries", {"fate": fate}),
			{"host": "a.example.com", "names": "maxRetries", "live": "port 80 (HTTP)", "dead": "port 443 (TLS)"},
		)
		found := http_settings_at_l4.findings with mesh.http_uses as [all]
		count(found) == count({fate} - {"live"})
	}
}
