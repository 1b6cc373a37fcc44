# METADATA
# title: TLS that Envoy starts
# description: Which proxies start the TLS of a DestinationRule.
package meshvet.lib.origination

import data.meshvet.lib.hosts
import rego.v1

# METADATA
# description: |-
#   The proxies that start the TLS of a tls block of a DestinationRule. Sidecars load no credential from a Secret without a
#   workloadSelector, and then start none at all.
proxy(manifest, tls) := "Envoy of a gateway" if {
	name := object.get(tls, "credentialName", "")
	name != ""
	not startswith(name, "configmap://")
	object.get(manifest.spec, "workloadSelector", null) == null
} else := "Envoy"

# METADATA
# description: |-
#   The subject and verb of a sentence about the DestinationRules of some items of mesh.originated: "DestinationRule a starts".
starting(started) := sprintf("DestinationRule %s starts", [rules(started)[0]]) if count(rules(started)) == 1

starting(started) := sprintf("DestinationRules %s start", [hosts.listed(rules(started))]) if count(rules(started)) > 1

rules(started) := sort({o.rule.name | some o in started})

# METADATA
# description: The hosts of some items of mesh.originated.
started_for(started) := sort({o.host | some o in started})

# METADATA
# description: Where the tls of some items of mesh.originated is set.
set_at(started) := [object.union(o.rule, {"path": array.concat(o.path, ["mode"]), "message": sprintf("tls mode %s is set here", [o.mode])}) | some o in started]
