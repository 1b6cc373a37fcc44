package meshvet.port_without_protocol_test

import data.meshvet.port_without_protocol
import rego.v1

found(port) := findings if {
	findings := port_without_protocol.findings with input.object as {"spec": {"hosts": ["a.example.com"], "ports": [port]}}
		with mesh.entry as {"hidden": false}
}

test_what_is_no_port_is_for_the_schema if {
	count(found({"number": 80, "name": 5})) == 1
	count(found({"number": "80"})) == 0
	count(found("80")) == 0
	count(found({})) == 0
}

test_a_name_that_is_no_text_says_nothing if {
	some f in found({"number": 80, "name": 5})
	f.message == "port 80 of a.example.com has no protocol"
}
