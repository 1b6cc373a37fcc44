# METADATA
# title: Addresses that fail are not taken out
# description: |-
#   A host outside the mesh for which Envoy keeps a list of addresses, because its ServiceEntry resolves it by DNS or lists two or
#   more static endpoints, and no outlierDetection in effect on one of its ports. Where a DestinationRule applies, the finding is
#   on the rule; where none does, on the ServiceEntry, with a DestinationRule as proposal.
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

import data.meshvet.lib.result
import rego.v1

unwatched := mesh.unwatched()

single(u) if {
	every p in u.ports {
		p.endpoints == null
	}
}

# A name may have one address only; of listed endpoints there are at least two.
use(u) := "; no use if the name has a single address" if single(u)

use(u) := "" if not single(u)

measured(u) := sprintf("measured on Istio 1.30.0 with two addresses, one dead: 15 of 29 attempts failed without it, 6 of 2,905 with it%s", [use(u)])

family(ports) := "L4" if {
	every p in ports {
		p.family == "L4"
	}
}

family(ports) := "L7" if {
	every p in ports {
		p.family != "L4"
	}
}

family(ports) := "both" if {
	"L4" in {p.family | some p in ports}
	count({p.family | some p in ports} - {"L4"}) > 0
}

# At L4 the only failures are failures to connect, so counting responses would be dead weight there.
connect_failures := {
	"splitExternalLocalOriginErrors": true, "consecutiveLocalOriginFailures": 3, "interval": "5s", "baseEjectionTime": "30s",
	"maxEjectionPercent": 50, "minHealthPercent": 0,
}

responses := {"consecutive5xxErrors": 5, "consecutiveGatewayErrors": 3}

block(ports) := connect_failures if family(ports) == "L4"

block(ports) := object.union(connect_failures, responses) if family(ports) != "L4"

where(u) := "" if u.client == u.target.namespace

where(u) := "" if {
	u.target.namespace == ""
	u.client == "default"
}

where(u) := sprintf(" for clients in namespace %s", [u.client]) if {
	u.client != u.target.namespace
	not at_home(u)
}

at_home(u) if {
	u.target.namespace == ""
	u.client == "default"
}

list_of(u) := sprintf("list of %s addresses", [u.ports[0].cluster])

doubt := "" if mesh.complete("DestinationRule")

doubt := "; this is judged from the objects given, and a DestinationRule elsewhere may cover the host" if not mesh.complete("DestinationRule")

stays(u) := sprintf("Envoy leaves an address that fails in its %s and keeps giving it its share of the connections", [list_of(u)])

numbers(ports) := [n | some n in {p.number | some p in ports}]

named_ports(ports) := sprintf("port %d", [numbers(ports)[0]]) if count(numbers(ports)) == 1

named_ports(ports) := sprintf("ports %s", [concat(", ", [format_int(n, 10) | some n in numbers(ports)])]) if count(numbers(ports)) > 1

# Names of Kubernetes objects cannot hold a star or what else a host may be misspelt with.
object_name(host) := trim(regex.replace(replace(lower(host), "*", "any"), `[^a-z0-9.-]+`, "-"), "-.")

metadata(u) := {"name": object_name(u.host)} if u.target.namespace == ""

metadata(u) := {"name": object_name(u.host), "namespace": u.target.namespace} if u.target.namespace != ""

manifest(u) := {
	"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": metadata(u),
	"spec": {"host": u.host, "trafficPolicy": object.union(pool(u), {"outlierDetection": block(u.ports)})},
}

# A pool of the rule's own would take the place of the mesh's default pool.
pool(u) := {} if u.ports[0].pool_from_mesh

pool(u) := {"connectionPool": {"tcp": {"connectTimeout": "1s"}}} if not u.ports[0].pool_from_mesh

host_index(u) := i if {
	some i, h in input.object.spec.hosts
	h == u.host
}

# No DestinationRule at all: the ServiceEntry is where its author looks.
findings contains result.with_more(
	result.at(
		["spec", "hosts", host_index(u)],
		sprintf("no DestinationRule gives %s outlier detection%s (%s)", [u.host, where(u), measured(u)]),
	),
	{
		"effect": concat("", [stays(u), doubt]),
		"fixes": [result.create(sprintf("create a DestinationRule with outlierDetection for %s", [u.host]), manifest(u))],
		"subject": {"hosts": [u.host], "ports": numbers(u.ports)},
	},
) if {
	input.object.kind == "ServiceEntry"
	some u in unwatched
}

# Under a DestinationRule: one finding for each level that would have to say it.
levels contains p.at if {
	input.object.kind == "DestinationRule"
	some u in unwatched
	some p in u.ports
}

at_level(level) := [object.union(u, {"ports": ports}) |
	some u in unwatched
	ports := [p | some p in u.ports; p.at == level]
	count(ports) > 0
]

ports_at(level) := [p | some u in at_level(level); some p in u.ports]

hosts_at(level) := sprintf("%s has", [at_level(level)[0].host]) if count(at_level(level)) == 1

hosts_at(level) := sprintf("%s and %d more have", [at_level(level)[0].host, count(at_level(level)) - 1]) if count(at_level(level)) > 1

needs_timeout(level) if {
	family(ports_at(level)) != "L7"
	every p in ports_at(level) {
		not p.connect_timeout
		not p.pool_from_mesh
	}
}

timeout(level) := [{"path": array.concat(level, ["connectionPool", "tcp", "connectTimeout"]), "value": "1s"}] if needs_timeout(level)

timeout(level) := [] if not needs_timeout(level)

findings contains result.with_more(
	result.at(
		array.concat(level, ["outlierDetection"]),
		sprintf("%s no outlier detection on %s%s (%s)", [hosts_at(level), named_ports(ports_at(level)), where(u), measured(u)]),
	),
	{
		"effect": stays(u),
		"fixes": [result.set("insert outlierDetection", "unsafe", array.concat(timeout(level), [{"path": array.concat(level, ["outlierDetection"]), "value": block(ports_at(level))}]))],
		"subject": {"hosts": [x.host | some x in at_level(level)], "ports": numbers(ports_at(level))},
	},
) if {
	some level in levels
	u := at_level(level)[0]
}
