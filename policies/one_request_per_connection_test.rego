package meshvet.one_request_per_connection_test

import data.meshvet.one_request_per_connection
import rego.v1

port(mode, credential) := {"host": "a.example.com", "number": 80, "place": "port 80 (HTTP) of a.example.com", "beside": {"tls": mode, "tls.credentialName": credential}}

use(value, more) := object.union({"value": value, "whose": "", "path": ["x"], "known": true, "host": "a.example.com", "live": [port("SIMPLE", "none")]}, more)

found(u) := findings if {
	findings := one_request_per_connection.findings with mesh.uses as [u] with input as {"object": {"spec": {}}}
}

test_a_request_is_a_handshake if {
	{f.effect | some f in found(use(1, {}))} == {"Envoy closes each connection after one request (common_http_protocol_options.max_requests_per_connection is 1) and starts TLS anew on the next"}
}

# Sidecars do not load it, so that they start no TLS.
test_a_credential_is_for_gateways if {
	some f in found(use(1, {"live": [port("MUTUAL", "client")]}))
	startswith(f.effect, "Envoy of a gateway closes")
}

test_other_values_are_fine if {
	every value in [0, 2, "1", null] {
		count(found(use(value, {}))) == 0
	}
}

test_without_tls_it_is_fine if {
	every mode in ["plaintext", "ISTIO_MUTUAL", "Istio's automatic mutual TLS"] {
		count(found(use(1, {"live": [port(mode, "none")]}))) == 0
	}
}

test_a_host_that_is_not_in_view_is_passed_over if {
	{f.skip | some f in found(use(1, {"known": false, "live": []}))} == {"a.example.com is not in view, so the kind of its ports is not known"}
	count(found(use(2, {"known": false, "live": []}))) == 0
}
