# METADATA
# title: Addresses that fail are not taken out
# description: |-
#   A host outside the mesh for which Envoy keeps a list of addresses, because its ServiceEntry resolves it by DNS or lists two or
#   more static endpoints, and no outlierDetection in effect on one of its ports. Where a DestinationRule applies, the finding is
#   on the rule, and the fix writes the block into each level that needs one of its own: a port entry does not inherit it. Where no
#   rule applies the finding is on the ServiceEntry, with a DestinationRule as proposal.
#
#   Without outlier detection Envoy keeps giving an address that fails its share of the connections. Measured on Istio 1.30.0 with
#   two addresses of which one was dead: 15 of 29 attempts failed without outlier detection, and 6 of 2,905 with it; the six are
#   those before the third failure in a row. The block that was measured also sets connectTimeout 1s.
#
#   It needs a living alternative in the list. It is of no use for a name that has one address, and neither looks the name up
#   again nor saves the request that failed. That is why this is a recommendation. Hosts for which Envoy keeps no list (NONE,
#   DNS_ROUND_ROBIN, DYNAMIC_DNS) or a list of one are not reported, nor are hosts of the mesh itself. A meshConfig with an
#   outlierDetection in its defaultTrafficPolicy serves all hosts.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#OutlierDetection
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/outlier
# custom:
#   id: DR204
#   category: traffic-policy
#   severity: info
#   presets: [recommended, strict]
#   kinds: [ServiceEntry, DestinationRule]
#   sidecarOnly: true
#   when:
#   - kind: ServiceEntry
#     all:
#     - {path: spec.resolution, values: [DNS, STATIC]}
#   - kind: DestinationRule
#     all:
#     - {path: spec.trafficPolicy.outlierDetection, absent: true}
#   - kind: DestinationRule
#     all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].port"}
#     - {path: "spec.trafficPolicy.portLevelSettings[*].outlierDetection", absent: true}
#   facts: [unwatched-host]
#   remedy: |-
#     Write an outlierDetection block. On TLS and TCP ports count failures to connect, with `splitExternalLocalOriginErrors: true`
#     and consecutiveLocalOriginFailures, and set a short connectTimeout; on HTTP ports count 5xx and gateway errors as well. Raise
#     maxEjectionPercent, or nothing is ejected from fewer than ten addresses.
#   fix: unsafe
#   proof: {kind: changes, text: "the cluster gains outlier_detection"}
#   observe:
#     stats: [outlier_detection.ejections_active, outlier_detection.ejections_enforced_total, upstream_cx_connect_fail, membership_total]
#     flags: [UF]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows no outlierDetection; istioctl proxy-config endpoint POD has the addresses"
package meshvet.outlier_detection_missing

import data.meshvet.lib.hosts
import data.meshvet.lib.result
import rego.v1

# A name may have one address only; of listed endpoints there are at least two.
measured := {
	true: " (measured on Istio 1.30.0 with two addresses, one dead: 15 of 29 attempts failed without it, 6 of 2,905 with it; no use if the name has a single address)",
	false: " (measured on Istio 1.30.0 with two addresses, one dead: 15 of 29 attempts failed without it, 6 of 2,905 with it)",
}

stays(cluster) := concat("", ["Envoy leaves an address that fails in the list of its ", cluster, " cluster and keeps giving it its share of the connections"])

# At L4 the only failures are failures to connect, so counting responses would be dead weight there.
connect_failures := {
	"splitExternalLocalOriginErrors": true, "consecutiveLocalOriginFailures": 3, "interval": "5s", "baseEjectionTime": "30s",
	"maxEjectionPercent": 50, "minHealthPercent": 0,
}

all_failures := {
	"splitExternalLocalOriginErrors": true, "consecutiveLocalOriginFailures": 3, "interval": "5s", "baseEjectionTime": "30s",
	"maxEjectionPercent": 50, "minHealthPercent": 0, "consecutive5xxErrors": 5, "consecutiveGatewayErrors": 3,
}

block := {"L4": connect_failures, "L7": all_failures, "both": all_failures}

doubt := "" if mesh.complete("DestinationRule")

doubt := "; this is judged from the objects given, and a DestinationRule elsewhere may cover the host" if not mesh.complete("DestinationRule")

metadata(u) := {"name": hosts.object_name(u.host)} if u.namespace == ""

metadata(u) := {"name": hosts.object_name(u.host), "namespace": u.namespace} if u.namespace != ""

# A pool of the rule's own would take the place of the mesh's default pool.
traffic_policy(u) := {"outlierDetection": block[u.family]} if u.pool_from_mesh

traffic_policy(u) := {"connectionPool": {"tcp": {"connectTimeout": "1s"}}, "outlierDetection": block[u.family]} if not u.pool_from_mesh

brings := {true: "outlierDetection", false: "outlierDetection and connectTimeout 1s"}

# A second rule for the host would fight with the one that its namespace has for others.
creations(u) := [result.create(concat("", ["create a DestinationRule with ", brings[u.pool_from_mesh], " for ", u.host]), {
	"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": metadata(u),
	"spec": {"host": u.host, "trafficPolicy": traffic_policy(u)},
}) |
	not u.ruled_for_others
]

# No DestinationRule at all: the ServiceEntry is where its author looks.
findings contains {
	"path": u.at,
	"message": concat("", ["no DestinationRule gives ", u.host, " outlier detection", u.clients, measured[u.single]]),
	"effect": concat("", [stays(u.cluster), doubt]),
	"fixes": creations(u),
	"subject": u.subject,
} if {
	some u in mesh.unwatched()
	u.on_entry
}

verb := {true: " have", false: " has"}

timeouts(levels) := [{"path": array.concat(l.at, ["connectionPool", "tcp", "connectTimeout"]), "value": "1s"} |
	some l in levels
	l.timeout_unset
	l.family != "L7"
]

# Under a DestinationRule: at the outermost level that would have to say it, for all levels together.
findings contains {
	"path": array.concat(u.at, ["outlierDetection"]),
	"message": concat("", [u.hosts, verb[u.several], " no outlier detection on ", u.on, u.clients, measured[u.single]]),
	"effect": stays(u.cluster),
	"fixes": [result.set(concat(" ", ["insert", brings[times == []]]), "unsafe", array.concat(times, blocks))],
	"subject": u.subject,
} if {
	some u in mesh.unwatched()
	not u.on_entry
	times := timeouts(u.levels)
	blocks := [{"path": array.concat(l.at, ["outlierDetection"]), "value": block[l.family]} | some l in u.levels]
}
