# METADATA
# title: A subset discards what the destination level sets
# description: |-
#   A block in the trafficPolicy of a subset, or a `portLevelSettings` entry in it, through which a value is lost: the destination
#   level sets a field, the subset's block does not, and what is in effect in the subset's cluster differs because of the block.
#
#   Subsets inherit by block, not by field. A subset that says nothing of `connectionPool` has that of the destination level, but one
#   that sets a single field of it has nothing else of it: `connectTimeout` is 10s again, and every circuit breaker 4294967295. An
#   entry for a port in a subset goes further: `connectionPool`, `loadBalancer`, `outlierDetection` and `tls` come from the entry
#   alone, so that whichever of them it does not hold is lost, be it the destination level's or the subset's own. Where TLS or a
#   retryBudget is lost it is an error, other losses are warnings.
#
#   What the destination level's entry for a port replaces is not the subset's doing. Values that come out the same are not
#   reported, nor are those that a subset chooses itself, such as another load balancer. idleTimeout and maxConnectionDuration on TLS
#   and TCP ports are not lost: tcp_proxy reads them from the destination level. A subset of which Istio compiles no cluster is
#   not judged.
# related_resources:
# - https://istio.io/latest/docs/reference/config/networking/destination-rule/#Subset
# - https://istio.io/latest/docs/concepts/traffic-management/#destination-rules
# custom:
#   id: DR224
#   category: traffic-policy
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [DestinationRule]
#   when:
#   - all:
#     - {path: "spec.subsets[*].trafficPolicy"}
#   supersedes:
#   - {rule: DR203, scope: block}
#   - {rule: DR203, scope: path}
#   facts: [subset-losses]
#   remedy: |-
#     Restate in the block, or in the entry, every value that should hold for the subset too.
#   fix: safe
#   proof: {kind: changes, text: "the cluster of the subset has the destination level's value with it restated in the block and the default without"}
#   observe:
#     stats: [upstream_cx_overflow, upstream_cx_connect_timeout, outlier_detection.ejections_active]
#     configDump: "istioctl proxy-config cluster POD --fqdn HOST --subset SUBSET -o json beside the same without --subset: circuitBreakers, connectTimeout, outlierDetection, transportSocket"
package meshvet.subset_replaces_block

import data.meshvet.lib.result
import rego.v1

severity := {true: "error", false: "warning"}

# Values that have their way in what Envoy does, or that the mesh's block would have, are not for a tool to choose.
safety := {true: "safe", false: "unsafe"}

which(losses) := sprintf("%s of subset %s discards values of the destination level", [losses.block, losses.subset]) if losses.block != ""

which(losses) := sprintf("the entry for port %d in subset %s discards values of the levels above it", [losses.port, losses.subset]) if losses.block == ""

replaced(losses) := sprintf("Istio lets the %s of a subset replace the destination level's as a whole", [losses.block]) if losses.block != ""

replaced(losses) := "Istio takes connectionPool, loadBalancer, outlierDetection and tls of the subset from the entry alone for this port" if losses.block == ""

stuck(losses) := sprintf("; a port entry cannot restate %s, which the destination level can set", [losses.unstatable]) if losses.unstatable != ""

stuck(losses) := "" if losses.unstatable == ""

copies(losses) := [result.set("restate the lost values in the subset", safety[losses.safe], losses.restate) | count(losses.restate) > 0]

# The whole cure comes first; what of it is safe can be had by itself.
tls_copies(losses) := [result.set("restate the lost values in the subset, tls among them", "unsafe", array.concat(losses.restate, losses.restate_tls)) |
	count(losses.restate_tls) > 0
]

findings contains {
	"path": losses.path,
	"severity": severity[losses.grave],
	"message": sprintf("%s: %s", [which(losses), losses.told]),
	"effect": sprintf("%s, so Envoy's cluster for the subset has other values for %s%s", [replaced(losses), losses.envoy, stuck(losses)]),
	"related": losses.related,
	"fixes": array.concat(tls_copies(losses), copies(losses)),
	"subject": losses.subject,
} if {
	some losses in mesh.subset_losses()
}
