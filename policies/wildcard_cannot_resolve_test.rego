package meshvet.wildcard_cannot_resolve_test

import data.meshvet.wildcard_cannot_resolve
import rego.v1

found(spec) := findings if {
	all := object.union({"hosts": ["*.example.com"], "resolution": "DNS", "ports": [{"number": 80}]}, spec)
	findings := wildcard_cannot_resolve.findings with input.object as {"spec": all}
}

selector := {"workloadSelector": {"labels": {"app": "a"}}}

test_with_and_without_a_selector if {
	every resolution in ["DNS", "DNS_ROUND_ROBIN"] {
		count(found({"resolution": resolution})) == 1
		count(found(object.union(selector, {"resolution": resolution}))) == 1
	}
}

test_what_has_nothing_to_look_up if {
	every more in [{}, selector] {
		count(found(object.union(more, {"resolution": "NONE"}))) == 0
		count(found(object.union(more, {"endpoints": [{"address": "a.example.com"}]}))) == 0
		count(found(object.union(more, {"hosts": ["a.example.com"]}))) == 0
	}
}
