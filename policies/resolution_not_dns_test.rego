package meshvet.resolution_not_dns_test

import data.meshvet.resolution_not_dns
import rego.v1

host(name) := {"name": name, "wildcard": startswith(name, "*"), "address": false, "in_cluster": false}

entry(hosts) := {"external": true, "selector": false, "hosts": [host(h) | some h in hosts], "ports": [{"number": 443, "family": "L4"}]}

found(spec, hosts) := findings if {
	findings := resolution_not_dns.findings with input.object as {"spec": spec} with mesh.entry as entry(hosts)
}

test_what_istio_refuses_is_an_error if {
	some f in found({"resolution": "NONE", "endpoints": [{"address": "192.0.2.1"}]}, ["a.example.com"])
	f.severity == "error"
}

test_wildcard_beside_a_name_is_a_note if {
	some f in found({}, ["a.example.com", "*.a.example.com"])
	f.severity == "info"
	not f.fixes
}

test_fix_follows_the_endpoints if {
	fix_of({"endpoints": [{"address": "192.0.2.1"}, {"address": "unix:///a.sock"}]}) == ["set resolution to STATIC"]
	fix_of({"endpoints": [{"address": "192.0.2.1"}, {"address": "b.example.com"}]}) == ["set resolution to DNS"]
	fix_of({"endpoints": [{"address": "b.example.com"}, {"address": "unix:///a.sock"}]}) == []
	fix_of({"endpoints": [{"address": "b.example.com"}], "addresses": ["192.0.2.0/24"]}) == []
	fix_of({"endpoints": [{"network": "n"}]}) == ["set resolution to DNS"]
}

fix_of(spec) := titles if {
	some f in found(spec, ["a.example.com"])
	titles := [x.title | some x in f.fixes]
}
