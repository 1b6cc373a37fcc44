# METADATA
# title: Hosts of a ServiceEntry
# description: How policies read and name the hosts of a ServiceEntry.
package meshvet.lib.hosts

import rego.v1

# METADATA
# description: The hosts that a manifest writes; what is no string is left to the rule on invalid values.
of(manifest) := [h | some h in manifest.spec.hosts; is_string(h); h != ""]

# METADATA
# description: Those of some hosts that are wildcards.
wildcards(hosts) := [h | some h in hosts; startswith(h, "*")]

# METADATA
# description: |-
#   A name for an object that is created for a host. Names of Kubernetes objects cannot hold a star or what else a host may be
#   misspelt with.
object_name(host) := trim(regex.replace(replace(lower(host), "*", "any"), `[^a-z0-9.-]+`, "-"), "-.")

# METADATA
# description: Up to three of some hosts, or two and the number of the others, as a sentence wants them.
listed(hosts) := concat(", ", hosts) if count(hosts) <= 3

listed(hosts) := sprintf("%s and %d more", [concat(", ", array.slice(hosts, 0, 2)), count(hosts) - 2]) if count(hosts) > 3
