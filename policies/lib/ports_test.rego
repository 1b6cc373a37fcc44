package meshvet.lib.ports_test

import data.meshvet.lib.ports
import rego.v1

a := {"host": "a.example.com", "number": 443, "hosts": 1}

b := {"host": "b.example.com", "number": 443, "hosts": 3}

test_one_port_is_named_alone if ports.named([a]) == "a.example.com:443"

test_others_are_counted_by_host if ports.named([a, b]) == "a.example.com:443 (and 3 more)"

test_subjects_name_each_once if ports.subject([a, b, a]) == {"hosts": ["a.example.com", "b.example.com"], "ports": [443]}

test_few_ports_are_all_listed if ports.listed([a, a, a]) == "a.example.com:443, a.example.com:443, a.example.com:443"

test_of_many_ports_two_are_listed if ports.listed([a, a, a, a]) == "a.example.com:443, a.example.com:443 and 2 more"

test_other_hosts_of_a_port_are_not_listed if {
	ports.listed([b]) == "b.example.com:443 and 2 more"
	ports.listed([a, b]) == "a.example.com:443, b.example.com:443 and 2 more"
}
