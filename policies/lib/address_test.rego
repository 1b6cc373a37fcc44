package meshvet.lib.address_test

import data.meshvet.lib.address
import rego.v1

test_ip if {
	every text in {"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "fe80::1%eth0"} {
		address.is_ip(text)
	}
}

test_not_ip if {
	every text in {
		"api.example.com", "192.0.2.0/24", "999.0.2.1", "010.0.2.1", "1.2.3", "1.2.3.4.5", "[2001:db8::1]", " 192.0.2.1", "",
		"unix:///var/run/a.sock", "${POD_IP}", 19, null,
	} {
		not address.is_ip(text)
	}
}

test_range if {
	every text in {"192.0.2.0/24", "2001:db8::/32", "0.0.0.0/0", "192.0.2.1/24"} {
		address.is_range(text)
	}
}

test_not_range if {
	every text in {"192.0.2.1/32", "2001:db8::1/128", "192.0.2.1", "a/b", "192.0.2.0/33", 24} {
		not address.is_range(text)
	}
}

test_socket if {
	address.is_socket("unix:///var/run/a.sock")
	address.is_socket("unix://@abstract")
}

test_not_socket if {
	every text in {"unix:/var/run/a.sock", "unix://relative", "/var/run/a.sock", true} {
		not address.is_socket(text)
	}
}
