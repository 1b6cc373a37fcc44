# METADATA
# title: TLS that Envoy starts
# description: Which proxies start the TLS of a DestinationRule.
package meshvet.lib.origination

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
