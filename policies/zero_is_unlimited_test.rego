package meshvet.zero_is_unlimited_test

import data.meshvet.zero_is_unlimited
import rego.v1

use(field, value, more) := object.union(
	{
		"field": field, "name": "it", "value": value, "whose": "", "path": [field], "known": true, "everywhere": false, "host": "a.example.com",
		"live": [{}], "envoy": "circuit_breakers.thresholds[0].it", "subject": {},
	},
	more,
)

found(u) := findings if {
	findings := zero_is_unlimited.findings with mesh.uses as [u]
}

effects(u) := {f.effect | some f in found(u)}

connections := "connectionPool.tcp.maxConnections"

retries := "connectionPool.http.maxRetries"

test_what_istio_writes_is_told if {
	effects(use(connections, 0, {})) == {"Istio writes 4294967295 into the cluster's circuit_breakers.thresholds[0].it, as it does where the field is not set"}
	effects(use(retries, 0, {})) == {"Istio writes 4294967295 into the cluster's circuit_breakers.thresholds[0].it, as it does where the field is not set; how often a request is tried again is up to its route"}
	effects(use("outlierDetection.maxEjectionPercent", 0, {})) == {"Istio writes no outlier_detection.max_ejection_percent into the cluster, so that Envoy's default holds and addresses are ejected"}
}

test_only_zero_is_zero if {
	every value in [1, -1, 0.5, "0", null, false, {}, []] {
		count(found(use(connections, value, {}))) == 0
	}
	count(found(use(connections, 0.0, {}))) == 1
}

test_a_host_that_is_not_in_view if {
	unknown := {"known": false, "live": []}
	{f.skip | some f in found(use(retries, 0, unknown))} == {"a.example.com is not in view, so the kind of its ports is not known"}
	count(found(use(retries, 1, unknown))) == 0
	{f.path | some f in found(use(connections, 0, object.union(unknown, {"everywhere": true})))} == {[connections]}
}

test_where_it_does_nothing_it_is_not_told if count(found(use(connections, 0, {"live": [], "everywhere": true}))) == 0
