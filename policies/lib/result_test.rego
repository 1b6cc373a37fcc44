package meshvet.lib.result_test

import data.meshvet.lib.result
import rego.v1

test_more_wins if {
	finding := result.with_more(result.at(["spec"], "wrong"), {"severity": "info"})
	finding == {"path": ["spec"], "message": "wrong", "severity": "info"}
}

test_also_in_keeps_the_target if {
	related := result.also_in({"kind": "ServiceEntry", "namespace": "a", "name": "b"}, ["spec", "hosts"], "there")
	related.kind == "ServiceEntry"
	related.path == ["spec", "hosts"]
}

test_skip_is_no_finding if {
	result.skip("not in view").skip == "not in view"
}
