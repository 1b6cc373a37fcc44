package meshvet.in_mesh_host_test

import data.meshvet.in_mesh_host
import rego.v1

service(ports) := {"target": {"kind": "Service", "namespace": "data", "name": "db"}, "ports": ports}

effects(namespace, ports) := {f.effect |
	some f in in_mesh_host.findings with mesh.settings as {"cluster_domain": "cluster.local"}
		with input as {"object": {"spec": {"hosts": ["db.data.svc.cluster.local"]}}}
		with mesh.entry as {
			"external": true, "hidden": false, "resolution": "DNS", "namespace": namespace,
			"hosts": [{"name": "db.data.svc.cluster.local", "service": service(ports)}],
			"ports": [{"number": 80, "name": "http", "family": "L7"}],
		}
}

http := {"number": 80, "name": "http"}

grpc := {"number": 9090, "name": "grpc"}

test_ports_without_a_cluster if {
	some told in effects("data", [grpc])
	endswith(told, ", and what comes to port 80, which only the entry has, finds no cluster")
	some silent in effects("data", [http, grpc])
	not contains(silent, "finds no cluster")
}

test_ports_that_are_hidden if {
	some told in effects("web", [http, grpc])
	endswith(told, "they are the entry's, without port 9090 of the Service")
	some silent in effects("web", [http])
	endswith(silent, "they are the entry's")
}
