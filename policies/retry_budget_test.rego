package meshvet.retry_budget_test

import data.meshvet.retry_budget
import rego.v1

bytes := {"forwards_bytes": true, "carries_requests": false, "place": "port 443 (TLS) of a.example.com"}

requests := {"forwards_bytes": false, "carries_requests": true, "place": "port 80 (HTTP) of a.example.com"}

budget(value, live, dead) := {
	"field": "retryBudget", "name": "retryBudget", "value": value, "path": ["spec", "retryBudget"], "at": ["spec"], "whose": "", "known": true, "lost": false,
	"host": "a.example.com", "live": live, "dead": dead, "dead_on": "port 443 (TLS) of a.example.com", "subject": {},
}

retries(value, live, dead) := object.union(budget(value, live, dead), {
	"field": "connectionPool.http.maxRetries", "name": "maxRetries", "text": "3", "path": ["maxRetries"],
})

found(u) := findings if {
	findings := retry_budget.findings with mesh.uses as [u] with input as {"object": {"spec": {"retryBudget": {}, "tls": {}}}}
}

test_an_impossible_percentage_is_an_error_on_any_port if {
	effect := concat("", [
		"Istio writes it into the cluster's circuit_breakers.thresholds[0].retry_budget, which breaks Envoy's constraint: ",
		"the proxy rejects the update of its clusters (NACK) and keeps what it had",
	])
	every u in [budget({"percent": 101}, [requests], []), budget({"percent": -1}, [], [bytes])] {
		{[f.severity, f.effect] | some f in found(u)} == {["error", effect]}
		count(found(u)) == 1
	}
}

test_percentages_that_are_no_numbers_are_for_others if {
	every value in [{"percent": "200"}, {"percent": null}, {}, "x", null] {
		count(found(budget(value, [requests], []))) == 0
	}
}

test_bytes_are_not_retried if {
	{[f.effect, fix.title, fix.safety, fix.ops] | some f in found(budget({}, [], [bytes])); some fix in f.fixes} == {[
		"the cluster's circuit_breakers.thresholds[0].retry_budget is for the HTTP router; tcp_proxy does not ask for it",
		"remove retryBudget", "safe", [{"op": "remove", "path": ["spec", "retryBudget"]}],
	]}
	count(found(budget({}, [requests], [bytes]))) == 0
	count(found(budget({}, [], []))) == 0
	count(found(budget({}, [], [bytes, requests]))) == 0
	count(found(budget(3, [], [requests]))) == 0
}

# A port entry has taken it away from where it counts.
test_what_is_lost_is_another_finding if count(found(object.union(budget({}, [], [bytes]), {"lost": true}))) == 0

test_max_retries_beside_a_budget if {
	{[f.effect, fix.title, fix.safety] | some f in found(retries(3, [], [requests])); some fix in f.fixes} == {[
		"Envoy takes the cluster's circuit_breakers.thresholds[0].retry_budget for the limit of retries in flight, and max_retries beside it for nothing",
		"remove maxRetries", "unsafe",
	]}
	count(found(retries(1, [], [requests]))) == 1
	count(found(retries(3, [requests], [requests]))) == 0
	count(found(retries(3, [], [bytes]))) == 0
	every value in [0, "3", null, {"percent": 200}] {
		count(found(retries(value, [], [requests]))) == 0
	}
}

test_a_host_that_is_not_in_view_is_passed_over if {
	{f.skip | some f in found(object.union(budget({}, [], []), {"known": false}))} == {"a.example.com is not in view, so the kind of its ports is not known"}
	count(found(object.union(retries(3, [], []), {"known": false}))) == 0
}
