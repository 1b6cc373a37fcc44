package meshvet.port_captures_mesh_test

import data.meshvet.port_captures_mesh
import rego.v1

port(number, protocol) := {"index": 0, "number": number, "protocol": protocol}

entry(resolution, ports) := {"resolution": resolution, "endpoints": 0, "hosts": [{"name": "db.example.com"}], "ports": ports}

found(manifest, resolution, ports) := findings if {
	findings := port_captures_mesh.findings with input.object as manifest
		with mesh.entry as entry(resolution, ports)
}

severities(resolution, ports) := {f.severity | some f in found({"spec": {}}, resolution, ports)}

test_error_where_everybody_goes if {
	severities("DNS", [port(443, "TCP")]) == {"error"}
	severities("STATIC", [port(80, "TCP")]) == {"error"}
	severities("STATIC", [port(443, "")]) == {"error"}
}

test_warning_elsewhere if {
	severities("DNS", [port(5432, "TCP")]) == {"warning"}
	severities("DNS", [port(8080, "TCP")]) == {"warning"}
	severities("DNS", [port(80, "")]) == {"warning"}
}

test_warning_with_none if severities("NONE", [port(443, "TCP"), port(6379, "REDIS")]) == {"warning"}

test_ranges_are_a_warning if {
	found_on_80 := found({"spec": {"addresses": ["198.51.100.0/24"]}}, "NONE", [port(80, "TCP")])
	{f.severity | some f in found_on_80} == {"warning"}
}

test_silent_on_protocols_that_name_a_host if count(found({"spec": {}}, "DNS", [port(443, "TLS"), port(80, "HTTP"), port(53, "UDP")])) == 0

effect(to) := e if {
	some f in found({"spec": {"exportTo": to}}, "DNS", [port(9092, "TCP")])
	e := f.effect
}

test_says_whose_clients if {
	startswith(effect(["*"]), "in every namespace that sees the entry, ")
	startswith(effect(["a", "b"]), "in every namespace that sees the entry, ")
	startswith(effect(["."]), "in the entry's own namespace, ")
	startswith(effect(["a"]), "in namespace a, ")
}

test_http_gets_through_where_envoy_sniffs if {
	some f in found({"spec": {}}, "DNS", [port(7000, "")])
	contains(f.effect, "every connection that is not HTTP and")
}

test_ports_that_read_alike_are_one_finding if {
	found_on_four := found({"spec": {}}, "DNS", [port(9092, "TCP"), port(9093, "TCP"), port(443, "TCP"), port(9094, "")])
	{f.subject.ports | some f in found_on_four} == {[9092, 9093], [443], [9094]}
}

test_of_several_hosts_the_first_by_name_has_the_chain if {
	hosts := [{"name": "b.example.com"}, {"name": "a.example.com"}]
	findings := port_captures_mesh.findings with input.object as {"spec": {}}
		with mesh.entry as object.union(entry("DNS", [port(9092, "TCP")]), {"hosts": hosts})
	some f in findings
	endswith(f.effect, "to cluster outbound|9092||a.example.com, whichever host was meant")
}

# A host with an address of its own has a listener there.
test_hosts_with_an_address_are_left_out if {
	hosts := [{"name": "a.example.com", "allocated": true}, {"name": "b.example.com", "allocated": false}]
	findings := port_captures_mesh.findings with input.object as {"spec": {}}
		with mesh.entry as object.union(entry("DNS", [port(9092, "TCP")]), {"hosts": hosts})
	some f in findings
	f.subject.hosts == ["b.example.com"]
	none := port_captures_mesh.findings with input.object as {"spec": {}}
		with mesh.entry as object.union(entry("DNS", [port(9092, "TCP")]), {"hosts": [hosts[0]]})
	count(none) == 0
}
