package meshvet.idle_timeout_twice_test

import data.meshvet.idle_timeout_twice
import rego.v1

port(family, http) := {"family": family, "beside": {"connectionPool.http.idleTimeout": http}}

use(more) := object.union(
	{
		"path": ["spec", "tcp", "idleTimeout"], "text": "30s", "shown": "30s", "whose": "", "known": true, "host": "a.example.com", "live": [],
		"dead": [port("L7", "5m")], "dead_on": "port 80 (HTTP) of a.example.com", "subject": {},
	},
	more,
)

found(u, http) := findings if {
	findings := idle_timeout_twice.findings with mesh.uses as [u] with input as {"object": {"spec": {"http": http}}}
}

test_one_of_the_two_counts if {
	some f in found(use({}), {"idleTimeout": "5m"})
	f.effect == "both are idle_timeout in the cluster's common_http_protocol_options, and Istio writes the one of http there"
	f.fixes == [{"title": "remove tcp.idleTimeout", "safety": "safe", "ops": [{"op": "remove", "path": ["spec", "tcp", "idleTimeout"]}]}]
}

test_the_same_twice_is_fine if count(found(use({"shown": "5m"}), {"idleTimeout": "300s"})) == 0

test_where_no_port_is_reached_nothing_is_said if count(found(use({"dead": []}), {"idleTimeout": "5m"})) == 0

test_a_host_that_is_not_in_view_is_passed_over if {
	unknown := use({"known": false, "dead": []})
	{f.skip | some f in found(unknown, {"idleTimeout": "5m"})} == {"a.example.com is not in view, so the kind of its ports is not known"}
	count(found(unknown, {"maxRetries": 3})) == 0
}
