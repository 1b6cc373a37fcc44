# METADATA
# title: A choice of addresses, or a tunnel, where Envoy has no use for it
# description: |-
#   `loadBalancer` that reaches only hosts of which Envoy has no list of addresses: of resolution NONE, DYNAMIC_DNS or
#   DNS_ROUND_ROBIN; `warmup` beside RANDOM or consistentHash; and `tunnel` on a host that has HTTP ports only.
#
#   With NONE, Envoy forwards to the address that the client dialled, and with DYNAMIC_DNS it looks up the name that it finds in the
#   request or in SNI: Istio writes CLUSTER_PROVIDED for the load balancer, whatever the rule says. With DNS_ROUND_ROBIN
#   (LOGICAL_DNS) Istio writes the load balancer, but there is one address at a time. The name of the resolution says how DNS answers
#   are used, not that Envoy takes turns.
#
#   A slow start is known to ROUND_ROBIN and LEAST_REQUEST only, and Istio drops warmup beside the others. tunnel is a setting of
#   tcp_proxy, and requests on HTTP ports do not pass through one.
#
#   PASSTHROUGH on a NONE host says what happens anyway, and LEAST_REQUEST is only the default written out. A wildcard rule is fine as long as one of its hosts has a list. A tunnel is
#   used if one of the ports is of another protocol or none, or if a tcp or tls route of a VirtualService leads to one.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#LoadBalancerSettings
# - https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery
# custom:
#   id: DR253
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: spec.trafficPolicy.loadBalancer}
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].loadBalancer"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.loadBalancer"}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].loadBalancer"}
#   - all:
#     - {path: spec.trafficPolicy.tunnel}
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy.tunnel"}
#   levels:
#   - all: [{path: loadBalancer}]
#     port: {cluster: [ORIGINAL_DST, LOGICAL_DNS, dynamic_forward_proxy]}
#   - all: [{path: loadBalancer.warmup}]
#   - all: [{path: loadBalancer.warmupDurationSecs}]
#   - all: [{path: tunnel}]
#   remedy: |-
#     Drop what has no effect. To balance over the addresses of a name, write resolution: DNS. For a slow start choose ROUND_ROBIN or
#     LEAST_REQUEST. To tunnel, give the port a protocol that Envoy does not read, TCP or TLS.
#   fix: safe
#   proof: {kind: envoy, text: "without warmup, tunnel, or loadBalancer on ORIGINAL_DST and dynamic_forward_proxy clusters, a sidecar's configuration is the same; of a LOGICAL_DNS cluster Envoy uses the first address of the newest answer"}
#   observe:
#     stats: [membership_total]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows \"lbPolicy\": \"CLUSTER_PROVIDED\", or \"type\": \"LOGICAL_DNS\"; no slowStartConfig; istioctl proxy-config listener POD --port PORT -o json shows no tunnelingConfig"
package meshvet.balancing_ignored

import data.meshvet.lib.ports
import data.meshvet.lib.result
import rego.v1

balancers := [b |
	some b in mesh.blocks("loadBalancer")
	not b.shadowed
	is_object(b.value)
]

simple(b) := object.get(b.value, "simple", null)

has(b, field) if object.get(b.value, field, null) != null

# What a block asks for, other than the default.
asked(b) := concat(", ", array.flatten([
	[sprintf("simple %s", [s]) | s := simple(b); is_string(s); not s in {"UNSPECIFIED", "LEAST_REQUEST", "LEAST_CONN", ""}],
	[field | some field in ["consistentHash", "warmup", "warmupDurationSecs"]; has(b, field)],
	[sprintf("localityLbSetting.%s", [field]) |
		some field in ["distribute", "failover", "failoverPriority"]
		list := object.get(b.value, ["localityLbSetting", field], [])
		is_array(list)
		count(list) > 0
	],
]))

# What Envoy has in the place of a list.
lacks := {
	"ORIGINAL_DST": "Envoy has no list of addresses",
	"dynamic_forward_proxy": "Envoy looks up the name in each request or SNI",
	"LOGICAL_DNS": "Envoy uses one address at a time",
}

does := {
	"ORIGINAL_DST": "the cluster is ORIGINAL_DST with lb_policy CLUSTER_PROVIDED: Envoy forwards to whatever address the client dialled",
	"dynamic_forward_proxy": "the cluster is a dynamic_forward_proxy with lb_policy CLUSTER_PROVIDED: Envoy connects to what the name of each request stands for",
	"LOGICAL_DNS": "the cluster is LOGICAL_DNS: a new connection goes to the first address of the newest answer, whatever lb_policy says",
}

# Ports for which Istio compiles a cluster at all.
compiled(b) := [p | some p in b.ports; p.compiled]

clusters(b) := {p.cluster | some p in compiled(b)}

# Envoy has no list of addresses on any port.
listless(b) if {
	count(compiled(b)) > 0
	every p in compiled(b) {
		lacks[p.cluster]
		p.target.kind == "ServiceEntry"
		not p.in_cluster_name
	}
}

# To forward to the address that the client dialled is all that such a cluster does.
honest(b) if {
	simple(b) == "PASSTHROUGH"
	clusters(b) != {"dynamic_forward_proxy"}
}

# A gateway's cluster for a NONE host is of another type and shows the load balancer, though it has no address to choose. The key of a
# hash gets into routes.
safety(b) := "unsafe" if {
	"ORIGINAL_DST" in clusters(b)
	b.path[count(b.path) - 1] == "loadBalancer"
} else := "unsafe" if {
	has(b, "consistentHash")
} else := "unsafe" if {
	some p in b.ports
	p.elsewhere
} else := "safe"

# A level that would be left empty goes with the block. Istio refuses an entry that is.
removals(b) := [result.fix(sprintf("drop %s", [b.path[count(b.path) - 1]]), safety(b), [{"op": "remove", "path": b.path}])] if {
	not b.alone
} else := [result.fix("drop trafficPolicy, which holds nothing else", safety(b), [{"op": "remove", "path": b.at}])] if {
	b.level in {"destination", "subset"}
} else := []

# Of one address at a time the load balancer is written, though to no effect.
drops(b) := [] if {
	"LOGICAL_DNS" in clusters(b)
} else := removals(b)

findings contains result.with_more(
	result.at(b.path, sprintf("loadBalancer (%s) does nothing on %s: with resolution %s %s", [asked(b), ports.named(hit), hit[0].resolution, lacks[hit[0].cluster]])),
	{
		"effect": does[hit[0].cluster],
		"related": [result.also_in(hit[0].target, ["spec", "resolution"], "the resolution is written here")],
		"fixes": drops(b),
		"subject": ports.subject(hit),
	},
) if {
	some b in balancers
	listless(b)
	not honest(b)
	asked(b) != ""
	hit := compiled(b)
}

warmups(b) := [field | some field in ["warmup", "warmupDurationSecs"]; has(b, field)]

# Under which load balancer nothing is left of a slow start. A hash without a size leaves it in the cluster, if to no effect.
cold(b) := "RANDOM" if simple(b) == "RANDOM"

cold(b) := "consistentHash" if sized(object.get(b.value, "consistentHash", null))

sized(hash) if {
	is_object(hash)
	not own_size(hash)
}

sized(hash) if {
	is_object(hash)
	positive(object.get(hash, ["maglev", "tableSize"], 0))
}

sized(hash) if {
	is_object(hash)
	object.get(hash, "maglev", null) == null
	positive(object.get(hash, ["ringHash", "minimumRingSize"], 0))
}

own_size(hash) if {
	some field in ["maglev", "ringHash"]
	object.get(hash, field, null) != null
}

positive(n) if {
	is_number(n)
	n > 0
}

balanced(b) if not b.known

balanced(b) if {
	some p in b.ports
	p.list
}

of(b) := "" if count(b.ports) == 0

of(b) := sprintf(" on %s", [ports.named(b.ports)]) if count(b.ports) > 0

findings contains result.with_more(
	result.at(array.concat(b.path, [fields[0]]), sprintf("%s does nothing beside %s%s: only ROUND_ROBIN and LEAST_REQUEST start slowly", [fields[0], kind, of(b)])),
	{
		"effect": "Istio writes no slow_start_config into the cluster: a new address gets its full share of calls at once",
		"key": true,
		"fixes": [result.fix("drop the slow start", "safe", [{"op": "remove", "path": array.concat(b.path, [field])} | some field in fields])],
		"subject": ports.subject(b.ports),
	},
) if {
	some b in balancers
	fields := warmups(b)
	count(fields) > 0
	kind := cold(b)
	balanced(b)
}

# Requests on these ports pass through no tcp_proxy. More than one host under a port is too many to look for routes to.
read_only(b) if {
	hit := compiled(b)
	count(hit) > 0
	every p in hit {
		p.family == "L7"
		p.hosts == 1
		count(mesh.byte_routes(p.host, p.number)) == 0
	}
}

findings contains result.with_more(
	result.at(b.path, sprintf("tunnel does nothing on %s, where Envoy reads requests", [ports.named(hit)])),
	{
		"effect": "tunneling_config is a setting of tcp_proxy, and Istio compiles none for these ports: requests go to the host itself and not through the tunnel",
		"key": true,
		"fixes": removals(b),
		"subject": ports.subject(hit),
	},
) if {
	some b in mesh.blocks("tunnel")
	b.level in {"destination", "subset"}
	read_only(b)
	hit := compiled(b)
}

hangs_on_port contains b if {
	some b in balancers
	asked(b) != ""
}

hangs_on_port contains b if some b in mesh.blocks("tunnel")

findings contains result.skip(sprintf("%s is not in view, so the kind of its ports is not known", [reach.host])) if {
	some b in hangs_on_port
	not b.known
	reach := mesh.reach()
	not reach.in_cluster
}
