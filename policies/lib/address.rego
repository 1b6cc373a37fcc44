# METADATA
# title: Addresses
# description: What the text of an address says of its form.
package meshvet.lib.address

import rego.v1

# METADATA
# description: Whether the text is an IPv4 or IPv6 address; a range or a name is not.
is_ip(text) if {
	regex.match(`^[0-9]{1,3}(\.[0-9]{1,3}){3}$`, text)
	net.cidr_is_valid(sprintf("%s/32", [text]))
}

is_ip(text) if {
	contains(text, ":")
	not startswith(text, "unix:")
	net.cidr_is_valid(sprintf("%s/128", [text]))
}

# METADATA
# description: Whether the text names a Unix domain socket, which Istio takes as an endpoint under STATIC.
is_socket(text) if startswith(text, "unix:")

# METADATA
# description: Whether the text is a range of addresses that holds more than one.
is_range(text) if {
	contains(text, "/")
	not endswith(text, "/32")
	not endswith(text, "/128")
}
