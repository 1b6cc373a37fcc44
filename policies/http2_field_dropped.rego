# METADATA
# title: A setting for HTTP/2 where Envoy speaks none, or speaks it anyway
# description: |-
#   `maxConcurrentStreams` or `http2KeepAlive` that reaches no port on which Istio sets HTTP/2 for Envoy, or `h2UpgradePolicy` on ports
#   of protocol HTTP2, GRPC or GRPC-WEB, or where the mesh keeps the case of HTTP/1 headers.
#
#   Both settings go into the HTTP/2 options of the cluster, and Istio makes these only for ports whose protocol is HTTP/2, and for HTTP
#   ports with h2UpgradePolicy UPGRADE. Elsewhere it drops the values without a word. useClientProtocol and ports without protocol have
#   no place for them either, not even while clients speak HTTP/2: Envoy's default of 1024 streams holds.
#
#   h2UpgradePolicy is looked at only where the protocol leaves open what is spoken. A GRPC port stays HTTP/2 under DO_NOT_UPGRADE. UPGRADE
#   is superfluous there, at level info.
#
#   A value that counts on one of the ports it reaches is not reported, nor UPGRADE on a port without protocol: sidecars ignore it there,
#   gateways do not.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings-HTTPSettings
# - https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/upstreams/http/v3/http_protocol_options.proto
# custom:
#   id: DR216
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.connectionPool.http}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].connectionPool.http"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.connectionPool.http"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].connectionPool.http"}
#   levels:
#   - all:
#     - {path: connectionPool.http.maxConcurrentStreams}
#     port: {family: [L7, sniffed]}
#   - all:
#     - {path: connectionPool.http.http2KeepAlive}
#     port: {family: [L7, sniffed]}
#   - all:
#     - {path: connectionPool.http.h2UpgradePolicy, values: [UPGRADE, DO_NOT_UPGRADE]}
#     port: {family: [L7]}
#   remedy: |-
#     If the server speaks HTTP/2, say so: protocol HTTP2 or GRPC on the port, or `h2UpgradePolicy: UPGRADE` beside the setting. Otherwise
#     remove it. A port that should speak HTTP/1.1 needs protocol HTTP.
#   fix: safe
#   proof: {kind: inert, text: "without the field at most HttpProtocolOptions of clusters change that only tcp_proxy uses"}
#   observe:
#     stats: [upstream_cx_http1_total, upstream_cx_http2_total]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows HttpProtocolOptions without http2ProtocolOptions, or with them empty"
package meshvet.http2_field_dropped

import data.meshvet.lib.hosts
import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

upgrade_policy := "connectionPool.http.h2UpgradePolicy"

client_protocol := "connectionPool.http.useClientProtocol"

uses := mesh.uses(["connectionPool.http.maxConcurrentStreams", "connectionPool.http.http2KeepAlive", upgrade_policy], [upgrade_policy, client_protocol])

asks(u) if {
	u.name == "maxConcurrentStreams"
	is_number(u.value)
	u.value > 0
}

asks(u) if {
	u.name == "http2KeepAlive"
	is_object(u.value)
	count(u.value) > 0
}

asks(u) if {
	u.name == "h2UpgradePolicy"
	u.value in {"UPGRADE", "DO_NOT_UPGRADE"}
}

# Fields that do nothing anywhere, with the ports whose requests Envoy reads. Where it reads none, that is the cause, and another finding.
idle := [{"use": u, "ports": hit} |
	some u in uses
	asks(u)
	count(u.live) == 0
	not u.lost
	hit := [p | some p in u.dead; p.carries_requests]
	count(hit) > 0
]

# Envoy speaks what each client speaks.
follows(p) if p.beside[client_protocol] == "true"

follows(p) if p.family == "sniffed"

# To a gateway a port without protocol is one of HTTP, which it upgrades.
upgraded_by_gateways(p) if {
	p.family == "sniffed"
	p.beside[upgrade_policy] == "UPGRADE"
	p.beside[client_protocol] != "true"
}

spoken(hit) := "HTTP/1.1" if {
	every p in hit {
		not follows(p)
	}
} else := "what the client speaks" if {
	every p in hit {
		follows(p)
	}
} else := "HTTP/1.1 or what the client speaks"

in_words(u) := sprintf("maxConcurrentStreams %s", [u.text]) if u.name == "maxConcurrentStreams"

in_words(u) := "http2KeepAlive" if u.name == "http2KeepAlive"

# What the mesh says of upgrades holds where the rule does not.
decided_here(_, p) if follows(p)

decided_here(_, p) if p.family == "L4"

decided_here(u, _) if {
	some other in uses
	other.field == upgrade_policy
	other.at == u.at
	other.value == "DO_NOT_UPGRADE"
}

certain(_, _) if mesh.settings().mesh_config

certain(u, hit) if {
	every p in hit {
		decided_here(u, p)
	}
}

unless(u, hit) := "" if certain(u, hit)

unless(u, hit) := " (unless meshConfig.h2UpgradePolicy, which is not in view, is UPGRADE)" if not certain(u, hit)

safety(u, hit) := "safe" if certain(u, hit)

safety(u, hit) := "unsafe" if not certain(u, hit)

findings contains result.with_more(
	result.at(u.path, sprintf("%s%s does nothing on %s, where Envoy speaks %s", [in_words(u), u.whose, places(hit), spoken(hit)])),
	{
		"effect": sprintf("Istio drops the value: it goes into %s, which the cluster does not have%s", [u.envoy, unless(u, hit)]),
		"fixes": [result.fix(sprintf("remove %s", [u.name]), safety(u, hit), [{"op": "remove", "path": u.path}])],
		"subject": ports.subject(hit),
	},
) if {
	some i in idle
	u := i.use
	u.name != "h2UpgradePolicy"
	hit := i.ports
	every p in hit {
		not upgraded_by_gateways(p)
	}
}

places(hit) := hosts.listed([p.place | some p in hit])

# What is spoken on the port, where that is not what the field says.
against(u, p) := "HTTP/2 is spoken there all the same" if {
	u.value == "DO_NOT_UPGRADE"
	p.http2
}

against(u, p) := "the mesh keeps the case of headers (preserveHttp1HeaderCase), for which it takes HTTP/1.1" if {
	u.value == "UPGRADE"
	p.family == "L7"
	not p.http2
}

findings contains upgrade_finding(u, hit, against(u, hit[0]), "warning") if {
	some i in idle
	u := i.use
	u.name == "h2UpgradePolicy"
	not some_follow(i.ports)
	hit := [p | some p in i.ports; against(u, p)]
	count(hit) > 0
}

findings contains upgrade_finding(u, i.ports, "HTTP/2 is spoken there anyway", "info") if {
	some i in idle
	u := i.use
	u.value == "UPGRADE"
	not some_follow(i.ports)
	every p in i.ports {
		p.http2
	}
}

some_follow(hit) if {
	some p in hit
	follows(p)
}

upgrade_finding(u, hit, why, severity) := result.with_more(
	result.at(u.path, sprintf("h2UpgradePolicy %s%s does nothing on %s: %s", [u.value, u.whose, places(hit), why])),
	{
		"severity": severity,
		"effect": "Istio looks at h2UpgradePolicy only where it has not chosen between HTTP/1.1 and HTTP/2 already; the cluster's explicit_http_config stays what it is",
		"fixes": [result.fix("remove h2UpgradePolicy", "safe", [{"op": "remove", "path": u.path}])],
		"subject": ports.subject(hit),
	},
)

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [u.host])) if {
	some u in uses
	asks(u)
	not u.known
}
