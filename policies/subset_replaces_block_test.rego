package meshvet.subset_replaces_block_test

import data.meshvet.subset_replaces_block
import rego.v1

losses(more) := object.union(
	{
		"path": ["spec", "subsets", 0, "trafficPolicy", "connectionPool"], "subset": "gold", "port": 0, "block": "connectionPool",
		"told": "connectionPool.tcp.maxConnections 10 (line 7) becomes 4294967295", "envoy": "max_connections", "related": [],
		"restate": [], "restate_tls": [], "unstatable": "", "grave": false, "safe": true, "no_mesh_config": false,
		"subject": {"hosts": ["a.example.com"], "ports": [443], "blocks": ["connectionPool"]},
	},
	more,
)

found(more) := f if {
	all := subset_replaces_block.findings with mesh.subset_losses as [losses(more)]
	count(all) == 1
	some f in all
}

test_a_block if {
	f := found({})
	f.severity == "warning"
	f.message == "connectionPool of subset gold discards values of the destination level: connectionPool.tcp.maxConnections 10 (line 7) becomes 4294967295"
	f.fixes == []
}

test_an_entry if {
	f := found({"block": "", "port": 443, "grave": true, "unstatable": "retryBudget"})
	f.severity == "error"
	startswith(f.message, "the entry for port 443 in subset gold discards values of the levels above it: ")
	contains(f.effect, "a port entry cannot restate retryBudget")
}

test_what_can_be_had_safely_is_offered_by_itself if {
	f := found({
		"restate": [{"path": ["spec", "a"], "value": 1}],
		"restate_tls": [{"path": ["spec", "b"], "value": 2}],
	})
	[[fix.safety, count(fix.set)] | some fix in f.fixes] == [["unsafe", 2], ["safe", 1]]
}

test_what_steers_is_no_safe_choice if {
	f := found({"safe": false, "restate": [{"path": ["spec", "a"], "value": 1}]})
	{fix.safety | some fix in f.fixes} == {"unsafe"}
}

test_silent_without_losses if {
	all := subset_replaces_block.findings with mesh.subset_losses as []
	count(all) == 0
}
