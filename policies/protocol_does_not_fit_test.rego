package meshvet.protocol_does_not_fit_test

import data.meshvet.protocol_does_not_fit
import rego.v1

entry := {
	"resolution": "DNS", "external": true, "hidden": false, "backend_tls": false,
	"hosts": [{"name": "a.example.com", "in_cluster": false}],
	"ports": [{"index": 0, "number": 443, "name": "web", "named": "", "protocol": "HTTP", "family": "L7", "dials": [443]}],
}

plain := [f |
	some f in protocol_does_not_fit.findings with mesh.entry as entry with mesh.originated as [] with mesh.complete as false
]

test_another_rule_may_start_tls if {
	contains(plain[0].effect, "a DestinationRule elsewhere may start TLS")
	some f in protocol_does_not_fit.findings with mesh.entry as entry with mesh.originated as [] with mesh.complete as true
	not contains(f.effect, "elsewhere")
}

test_about_the_port if plain[0].subject == {"hosts": ["a.example.com"], "ports": [443]}
