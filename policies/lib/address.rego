# METADATA
# title: Addresses
# description: What the text of an address says of its form. None of these holds for anything but a string.
package meshvet.lib.address

import rego.v1

# METADATA
# description: |-
#   Whether the text is an IPv4 or IPv6 address, as Go's netip.ParseAddr takes it: with a zone, but without leading zeros or
#   brackets. A range or a name is none.
is_ip(text) if {
	is_string(text)
	not contains(text, "/")
	net.cidr_is_valid(sprintf("%s/32", [regex.replace(text, `%.+$`, "")]))
}

# METADATA
# description: |-
#   Whether the text names a Unix domain socket. Istio takes one as an endpoint under STATIC, by an absolute path or, after @, by
#   an abstract name.
is_socket(text) if {
	is_string(text)
	strings.any_prefix_match(text, ["unix:///", "unix://@"])
}

# METADATA
# description: Whether the text is a range of addresses that holds more than one.
is_range(text) if {
	is_string(text)
	net.cidr_is_valid(text)
	not holds_one(text)
}

holds_one(text) if {
	endswith(text, "/32")
	not contains(text, ":")
}

holds_one(text) if endswith(text, "/128")
