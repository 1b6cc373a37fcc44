# METADATA
# title: A port entry discards what the destination level sets
# description: |-
#   A `portLevelSettings` entry through which a value of the destination level is lost: the destination level sets a field, the
#   entry does not, and what is in effect on the port differs because of the entry.
#
#   An entry does not add to the destination level, it replaces it. `connectionPool`, `loadBalancer`, `outlierDetection` and `tls`
#   of the destination level are all dropped for the port, whichever of them the entry sets; `proxyProtocol` and `retryBudget` go
#   too, and an entry cannot even restate those. What falls away is filled from the mesh's defaultTrafficPolicy where there is one,
#   else with Istio's defaults: 4294967295 for every circuit breaker, 10s for connectTimeout, no outlier detection, LEAST_REQUEST,
#   and plaintext. A loss of TLS, proxyProtocol or retryBudget is an error, other losses are warnings.
#
#   Values that the reset does not change are not reported, nor are idleTimeout and maxConnectionDuration on TLS and TCP ports:
#   tcp_proxy reads these from the destination level whatever an entry says. Neither is `tunnel`. Entries inside subsets are another
#   rule's.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#TrafficPolicy-PortTrafficPolicy
# custom:
#   id: DR202
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: "spec.trafficPolicy.portLevelSettings[*].port.number"}
#   supersedes:
#   - {rule: DR203, scope: port}
#   - {rule: DR204, scope: port}
#   - {rule: DR219, scope: port}
#   facts: [port-losses]
#   remedy: |-
#     Restate in the entry every value that should hold on the port too. If the port needs proxyProtocol or retryBudget, drop the
#     entry, or give the port a ServiceEntry and DestinationRule of its own.
#   fix: safe
#   proof: {kind: changes, text: "the cluster of the port has the destination level's value without the entry and the default with it"}
#   observe:
#     stats: [upstream_cx_overflow, upstream_rq_pending_overflow, outlier_detection.ejections_active]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST --port PORT -o json shows circuitBreakers with 4294967295, connectTimeout 10s, no outlierDetection or no transportSocket"
package meshvet.port_level_resets

import data.meshvet.lib.result
import rego.v1

severity := {true: "error", false: "warning"}

# What the mesh sets for all hosts would fill in, but the mesh configuration is not in view.
unless := {true: " (unless meshConfig.defaultTrafficPolicy, which is not in view, sets it)", false: ""}

stuck(losses) := [sprintf("; a port entry cannot restate %s", [losses.unstatable]) | losses.unstatable != ""]

# A block of the entry's own drops the mesh's block, with values that the rule's author never named; and what the port speaks, or
# where it goes, is not for a tool to change.
safety := {true: "safe", false: "unsafe"}

copies(losses) := [result.set("restate the lost values in the entry", safety[losses.safe], losses.restate) | count(losses.restate) > 0]

# The whole cure comes first; what of it is safe can be had by itself.
tls_copies(losses) := [result.set("restate the lost values in the entry, tls among them", "unsafe", array.concat(losses.restate, losses.restate_tls)) |
	count(losses.restate_tls) > 0
]

findings contains {
	"path": losses.path,
	"severity": severity[losses.grave],
	"message": sprintf("the entry for port %d discards values of the destination level: %s", [losses.port, losses.told]),
	"effect": concat("", array.concat(
		["Istio replaces the destination level by the entry for this port, so Envoy's cluster gets the default for ", losses.envoy, unless[losses.no_mesh_config]],
		stuck(losses),
	)),
	"related": losses.related,
	"fixes": array.concat(tls_copies(losses), copies(losses)),
	"subject": losses.subject,
} if {
	some losses in mesh.port_losses()
}
