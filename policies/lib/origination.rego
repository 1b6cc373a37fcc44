# METADATA
# title: TLS that Envoy starts
# description: Whether a tls block of a DestinationRule makes Envoy start TLS, and in which proxies.
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
#   Whether a tls block makes Envoy verify servers as their clients do. MUTUAL without a certificate and its key is refused by
#   Istio, and starts no TLS where it comes past it.
starts(tls) if tls.mode == "SIMPLE"

starts(tls) if {
	tls.mode == "MUTUAL"
	given(tls, "credentialName")
}

starts(tls) if {
	tls.mode == "MUTUAL"
	given(tls, "clientCertificate")
	given(tls, "privateKey")
}

# METADATA
# description: Whether a field of a tls block holds text.
given(tls, field) if {
	is_string(tls[field])
	tls[field] != ""
}

# METADATA
# description: The CAs of which one must have issued the server's certificate, in words.
trusted(tls) := sprintf("the CAs in ConfigMap %s", [trim_prefix(tls.credentialName, "configmap://")]) if {
	startswith(object.get(tls, "credentialName", ""), "configmap://")
} else := sprintf("the CAs in Secret %s", [tls.credentialName]) if {
	object.get(tls, "credentialName", "") != ""
} else := sprintf("the CAs in %s", [tls.caCertificates]) if {
	not object.get(tls, "caCertificates", "") in {"", "system"}
} else := "the system CAs"

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
