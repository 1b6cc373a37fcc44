package meshvet.outlier_detection_missing_test

import data.meshvet.outlier_detection_missing
import rego.v1

place(host, more) := object.union(
	{
		"on_entry": true, "at": ["spec", "hosts", 0], "host": host, "hosts": host, "several": false, "on": "port 443", "clients": "", "cluster": "STRICT_DNS",
		"family": "L4", "namespace": "shop", "single": true, "levels": [], "pool_from_mesh": false, "ruled_for_others": false,
		"subject": {"hosts": [host], "ports": [443], "blocks": ["outlierDetection"]},
	},
	more,
)

test_absence_of_a_rule_is_judged_from_what_was_given if {
	found := outlier_detection_missing.findings with mesh.unwatched as [place("a.example.com", {})]
		with mesh.complete as false
	some f in found
	contains(f.effect, "judged from the objects given")
}

test_with_every_rule_in_view_there_is_no_doubt if {
	found := outlier_detection_missing.findings with mesh.unwatched as [place("a.example.com", {})]
		with mesh.complete as true
	some f in found
	not contains(f.effect, "judged from")
}

test_the_proposed_rule_counts_responses_only_where_there_are_any if {
	found := outlier_detection_missing.findings with mesh.unwatched as [place("*.A_b.example.com", {})]
		with mesh.complete as true
	some f in found
	some fix in f.fixes
	manifest := fix.create.object
	manifest.metadata == {"name": "any.a-b.example.com", "namespace": "shop"}
	manifest.spec.host == "*.A_b.example.com"
	not manifest.spec.trafficPolicy.outlierDetection.consecutive5xxErrors
	manifest.spec.trafficPolicy.outlierDetection.splitExternalLocalOriginErrors
	manifest.spec.trafficPolicy.connectionPool.tcp.connectTimeout == "1s"
}

test_the_pool_of_the_mesh_is_left_in_force if {
	found := outlier_detection_missing.findings with mesh.unwatched as [place("a.example.com", {"family": "L7", "pool_from_mesh": true})]
		with mesh.complete as true
	some f in found
	some fix in f.fixes
	not fix.create.object.spec.trafficPolicy.connectionPool
	fix.create.object.spec.trafficPolicy.outlierDetection.consecutive5xxErrors == 5
}

level(more) := object.union({"at": ["spec", "trafficPolicy"], "family": "L4", "timeout_unset": true}, more)

test_a_rule_is_told_once_and_cured_at_every_level if {
	found := outlier_detection_missing.findings with mesh.unwatched as [place("a.example.com", {
		"on_entry": false, "at": ["spec", "trafficPolicy"], "hosts": "a.example.com and 1 more", "several": true,
		"levels": [level({}), level({"at": ["spec", "trafficPolicy", "portLevelSettings", 0], "family": "L7"})],
	})]
	some f in found
	f.path == ["spec", "trafficPolicy", "outlierDetection"]
	startswith(f.message, "a.example.com and 1 more have no outlier detection on port 443")
	some fix in f.fixes
	[s.path | some s in fix.set] == [
		["spec", "trafficPolicy", "connectionPool", "tcp", "connectTimeout"], ["spec", "trafficPolicy", "outlierDetection"],
		["spec", "trafficPolicy", "portLevelSettings", 0, "outlierDetection"],
	]
	count(found) == 1
}

test_a_timeout_that_is_set_is_left_alone if {
	found := outlier_detection_missing.findings with mesh.unwatched as [place("a.example.com", {
		"on_entry": false, "at": ["spec", "trafficPolicy"], "levels": [level({"timeout_unset": false})],
	})]
	some f in found
	some fix in f.fixes
	count(fix.set) == 1
}

test_no_second_rule_beside_one_for_others if {
	found := outlier_detection_missing.findings with mesh.unwatched as [place("a.example.com", {"ruled_for_others": true})]
		with mesh.complete as true
	{count(f.fixes) | some f in found} == {0}
}
