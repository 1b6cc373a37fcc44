package meshvet.outlier_detection_missing_test

import data.meshvet.outlier_detection_missing
import rego.v1

port(number, family, more) := object.union(
	{
		"number": number, "family": family, "cluster": "STRICT_DNS", "endpoints": null, "at": ["spec", "trafficPolicy"],
		"connect_timeout": false, "pool_from_mesh": false,
	},
	more,
)

unwatched(host, ports) := {"host": host, "client": "shop", "governed": false, "ports": ports, "target": {"kind": "ServiceEntry", "namespace": "shop", "name": "e"}}

entry(host) := {"kind": "ServiceEntry", "spec": {"hosts": [host]}}

test_absence_of_a_rule_is_judged_from_what_was_given if {
	found := outlier_detection_missing.findings with input.object as entry("a.example.com")
		with mesh.unwatched as [unwatched("a.example.com", [port(443, "L4", {})])]
		with mesh.complete as false
	some f in found
	contains(f.effect, "judged from the objects given")
}

test_with_every_rule_in_view_there_is_no_doubt if {
	found := outlier_detection_missing.findings with input.object as entry("a.example.com")
		with mesh.unwatched as [unwatched("a.example.com", [port(443, "L4", {})])]
		with mesh.complete as true
	some f in found
	not contains(f.effect, "judged from")
}

test_the_proposed_rule_counts_responses_only_where_there_are_any if {
	found := outlier_detection_missing.findings with input.object as entry("*.A_b.example.com")
		with mesh.unwatched as [unwatched("*.A_b.example.com", [port(443, "L4", {})])]
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
	found := outlier_detection_missing.findings with input.object as entry("a.example.com")
		with mesh.unwatched as [unwatched("a.example.com", [port(80, "L7", {"pool_from_mesh": true})])]
		with mesh.complete as true
	some f in found
	some fix in f.fixes
	not fix.create.object.spec.trafficPolicy.connectionPool
	fix.create.object.spec.trafficPolicy.outlierDetection.consecutive5xxErrors == 5
}

test_one_finding_for_each_level_of_a_rule if {
	found := outlier_detection_missing.findings with input.object as {"kind": "DestinationRule", "spec": {}}
		with mesh.unwatched as [
			unwatched("a.example.com", [port(443, "L4", {}), port(80, "L7", {"at": ["spec", "trafficPolicy", "portLevelSettings", 0]})]),
			unwatched("b.example.com", [port(443, "L4", {})]),
		]
	{f.subject.ports | some f in found} == {[443], [80]}
	{f.subject.hosts | some f in found} == {["a.example.com", "b.example.com"], ["a.example.com"]}
}
