# METADATA
# title: Ports in messages
# description: How policies name the ports that a block of a traffic policy governs, as mesh.blocks gives them.
package meshvet.lib.ports

import rego.v1

# METADATA
# description: |-
#   The first of some ports as host:port, and how many others there are. A port that stands for several hosts counts for each.
named(ports) := sprintf("%s:%d%s", [ports[0].host, ports[0].number, more(sum([p.hosts | some p in ports]) - 1)])

# METADATA
# description: |-
#   Up to three of some ports as host:port, or two and the number of the others. A port that stands for several hosts counts for
#   each.
listed(ports) := concat(", ", names(ports)) if {
	count(ports) <= 3
	sum([p.hosts | some p in ports]) == count(ports)
} else := sprintf("%s and %d more", [concat(", ", first), sum([p.hosts | some p in ports]) - count(first)]) if {
	first := array.slice(names(ports), 0, 2)
}

names(ports) := [sprintf("%s:%d", [p.host, p.number]) | some p in ports]

# METADATA
# description: How many others there are beside one that is named.
more(0) := ""

more(n) := sprintf(" (and %d more)", [n]) if n > 0

# METADATA
# description: What a finding about some ports is about, by which one finding supersedes another.
subject(ports) := {
	"hosts": [h | some h in {p.host | some p in ports}],
	"ports": [n | some n in {p.number | some p in ports}],
}
