package meshvet.tls_to_plaintext_port_test

import data.meshvet.tls_to_plaintext_port
import rego.v1

entry := {
	"external": true,
	"hosts": [{"name": "a.example.com", "in_cluster": false}],
	"ports": [{"index": 0, "number": 80, "name": "http", "protocol": "HTTP", "tls": false, "dials": [80]}],
}

originated := [{
	"host": "a.example.com", "number": 80, "mode": "SIMPLE", "used": true,
	"rule": {"kind": "DestinationRule", "namespace": "web", "name": "a"}, "path": ["spec", "trafficPolicy", "tls"],
}]

found := [f |
	some f in tls_to_plaintext_port.findings with mesh.entry as entry with mesh.originated as originated with input as {"object": {"spec": {}}}
]

test_leads_to_443 if found[0].fixes[0].set == [{"path": ["spec", "ports", 0, "targetPort"], "value": 443}]

test_names_the_rule if {
	found[0].related == [{
		"kind": "DestinationRule", "namespace": "web", "name": "a", "path": ["spec", "trafficPolicy", "tls", "mode"],
		"message": "tls mode SIMPLE is set here",
	}]
}
