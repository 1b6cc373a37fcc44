package meshvet.lib.hosts_test

import data.meshvet.lib.hosts
import rego.v1

test_of_leaves_out_what_is_no_name if {
	hosts.of({"spec": {"hosts": ["a.example.com", 1, null, "", "*.b.example.com"]}}) == ["a.example.com", "*.b.example.com"]
	hosts.of({"spec": {"hosts": "a.example.com"}}) == []
	hosts.of({"spec": "x"}) == []
	hosts.of({}) == []
}

test_wildcards if {
	hosts.wildcards(["a.example.com", "*.b.example.com", "*"]) == ["*.b.example.com", "*"]
}

test_listed if {
	hosts.listed(["a", "b", "c"]) == "a, b, c"
	hosts.listed(["a", "b", "c", "d"]) == "a, b and 2 more"
}

test_object_name if {
	hosts.object_name("*.B.example.com") == "any.b.example.com"
	hosts.object_name("-a_b.example.com.") == "a-b.example.com"
}
