package meshvet.port_level_resets_test

import data.meshvet.port_level_resets
import rego.v1

losses(more) := object.union(
	{
		"path": ["spec", "trafficPolicy", "portLevelSettings", 0], "port": 443,
		"told": "connectionPool.tcp.maxConnections 10 (line 7) becomes 4294967295", "envoy": "max_connections", "related": [],
		"restate": [], "restate_tls": [], "unstatable": "", "grave": false, "safe": true, "no_mesh_config": false,
		"subject": {"hosts": ["a.example.com"], "ports": [443], "blocks": ["connectionPool"]},
	},
	more,
)

test_a_limit_lost_is_a_warning if {
	found := port_level_resets.findings with mesh.port_losses as [losses({})]
	some f in found
	f.severity == "warning"
	contains(f.message, "the entry for port 443 discards values of the destination level: connectionPool.tcp.maxConnections 10 (line 7)")
}

test_encryption_lost_is_an_error if {
	found := port_level_resets.findings with mesh.port_losses as [losses({"grave": true, "unstatable": "retryBudget"})]
	some f in found
	f.severity == "error"
	contains(f.effect, "cannot restate retryBudget")
}

test_what_can_be_had_safely_is_offered_by_itself if {
	found := port_level_resets.findings with mesh.port_losses as [losses({
		"restate": [{"path": ["spec", "a"], "value": 1}],
		"restate_tls": [{"path": ["spec", "b"], "value": 2}],
	})]
	some f in found
	[[fix.safety, count(fix.set)] | some fix in f.fixes] == [["unsafe", 2], ["safe", 1]]
}

test_the_block_of_the_mesh_makes_restating_a_choice if {
	found := port_level_resets.findings with mesh.port_losses as [losses({"safe": false, "restate": [{"path": ["spec", "a"], "value": 1}]})]
	some f in found
	{fix.safety | some fix in f.fixes} == {"unsafe"}
}

test_silent_without_losses if {
	found := port_level_resets.findings with mesh.port_losses as []
	count(found) == 0
}
