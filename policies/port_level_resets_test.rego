package meshvet.port_level_resets_test

import data.meshvet.port_level_resets
import rego.v1

manifest := {"spec": {"trafficPolicy": {"portLevelSettings": [{"port": {"number": 443}}]}}}

losses(extra) := object.union(
	{
		"fields": [{
			"field": "connectionPool.tcp.maxConnections", "from": "10", "to": "4294967295", "line": 7,
			"path": ["spec", "trafficPolicy", "connectionPool", "tcp", "maxConnections"], "envoy": "max_connections",
		}],
		"restate": [], "restate_tls": [], "unstatable": [], "hosts": ["a.example.com"], "grave": false,
	},
	extra,
)

test_a_limit_lost_is_a_warning if {
	found := port_level_resets.findings with input.object as manifest with mesh.port_losses as losses({})
	some f in found
	f.severity == "warning"
	contains(f.message, "connectionPool.tcp.maxConnections 10 (line 7) becomes 4294967295")
}

test_encryption_lost_is_an_error if {
	found := port_level_resets.findings with input.object as manifest
		with mesh.port_losses as losses({"grave": true, "unstatable": ["retryBudget"]})
	some f in found
	f.severity == "error"
	contains(f.effect, "cannot restate retryBudget")
}

test_silent_without_losses if {
	found := port_level_resets.findings with input.object as manifest with mesh.port_losses as losses({"fields": []})
	count(found) == 0
}
