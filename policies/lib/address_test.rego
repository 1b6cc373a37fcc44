package meshvet.lib.address_test

import data.meshvet.lib.address
import rego.v1

test_ip if {
	address.is_ip("192.0.2.1")
	address.is_ip("2001:db8::1")
}

test_not_ip if {
	not address.is_ip("api.example.com")
	not address.is_ip("192.0.2.0/24")
	not address.is_ip("999.0.2.1")
	not address.is_ip("unix:///var/run/a.sock")
	not address.is_ip("1.2.3.4.5")
}

test_range if {
	address.is_range("192.0.2.0/24")
	not address.is_range("192.0.2.1/32")
	not address.is_range("192.0.2.1")
}

test_socket if address.is_socket("unix:///var/run/a.sock")
