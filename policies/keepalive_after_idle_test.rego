package meshvet.keepalive_after_idle_test

import data.meshvet.keepalive_after_idle
import rego.v1

port(idle, more) := object.union(
	{
		"host": "a.example.com", "number": 443, "place": "port 443 (TLS) of a.example.com", "forwards_bytes": true, "external": true,
		"beside": {"connectionPool.tcp.idleTimeout": idle},
	},
	more,
)

use(value, ports) := {"path": ["tcpKeepalive"], "value": value, "whose": "", "known": true, "host": "a.example.com", "live": ports}

found(u) := findings if {
	findings := keepalive_after_idle.findings with mesh.uses as [u] with input as {"options": {"middleboxIdle": "5m"}}
}

test_who_closes_the_connection_is_told if {
	{f.effect | some f in found(use({"time": "1h"}, [port("1h", {})]))} == {"tcp_proxy closes a connection on which nothing is sent after 1h, before the kernel sends the first probe (upstream_connection_options.tcp_keepalive.keepalive_time)"}
	some f in found(use({"time": "2m"}, [port("1m", {"forwards_bytes": false})]))
	startswith(f.effect, "Envoy closes a connection that waits for requests after 1m, ")
}

test_what_is_on_the_way_is_told if {
	{f.effect | some f in found(use({"time": "6m"}, [port("1h", {})]))} == {concat("", [
		"the kernel sends the first probe (upstream_connection_options.tcp_keepalive.keepalive_time) after the connection may have been forgotten ",
		"on the way; the next request on it fails",
	])}
}

test_an_early_probe_is_fine if {
	count(found(use({"time": "5m"}, [port("1h", {})]))) == 0
	count(found(use({"time": "6m"}, [port("1h", {"external": false})]))) == 0
	count(found(use({"time": "1s"}, [port("0s", {})]))) == 0
}

# The longest that is not taken for none.
test_the_shortest_idle_timeout if count(found(use({"time": "1s"}, [port("1ms", {})]))) == 1

test_no_time_is_no_concern if {
	every value in [{}, {"time": 5}, {"time": "soon"}, "x", null, {"interval": "2h"}] {
		count(found(use(value, [port("1h", {})]))) == 0
	}
}

unknown(value) := object.union(use(value, []), {"known": false})

test_a_host_that_is_not_in_view_is_passed_over if {
	{f.skip | some f in found(unknown({"time": "1h"}))} == {"a.example.com is not in view, so what ends an idle connection to it is not known"}
	count(found(unknown({"interval": "1h"}))) == 0
}
