package meshvet.credential_not_loaded_test

import data.meshvet.credential_not_loaded
import rego.v1

port(number) := {
	"host": "rates.example.com", "number": number, "hosts": 1, "tls": false, "cleartext": false, "compiled": true,
}

block := {
	"level": "destination", "at": ["spec", "trafficPolicy"], "path": ["spec", "trafficPolicy", "tls"], "shadowed": false, "known": true,
	"value": {"mode": "SIMPLE", "credentialName": "rates-ca"}, "ports": [port(80)],
}

found(complete, blocks, clients) := out if {
	out := credential_not_loaded.findings with input as {"object": {"metadata": {}, "spec": {}}}
		with mesh.blocks as blocks
		with mesh.direct_clients as clients
		with mesh.settings as {"unread": {}}
		with mesh.complete as complete
}

all := {"in": ["shop"], "elsewhere": true, "except": []}

only(result) := r if {
	count(result) == 1
	some r in result
}

test_all_routes_are_known if {
	f := only(found(true, [block], all))
	endswith(f.effect, "only gateways load the Secret")
	f.subject == {"hosts": ["rates.example.com"], "ports": [80]}
}

test_a_route_may_be_missing if {
	endswith(only(found(false, [block], all)).effect, "unless a VirtualService that is not in view leads them through a gateway")
}

test_clients_of_another_namespace if {
	f := only(found(true, [block], {"in": ["default", "shop"], "elsewhere": false, "except": []}))
	contains(f.message, "so a sidecar in the rule's own namespace or namespace shop starts no TLS")
}

test_two_ports if {
	f := only(found(true, [object.union(block, {"ports": [port(80), port(8080)]})], all))
	endswith(f.message, "rates.example.com:80 (and 1 more)")
}

test_no_clients if {
	count(found(true, [block], {"in": [], "elsewhere": false, "except": []})) == 0
}

test_odd_values if {
	every name in ["", 7, ["a"], null, {"a": "b"}] {
		b := object.union(block, {"value": {"mode": "SIMPLE", "credentialName": name}})
		count(found(true, [b], all)) == 0
	}
}
