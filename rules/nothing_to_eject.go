package rules

import (
	"fmt"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "DR207",
		Name:     "nothing-to-eject",
		Title:    "Outlier detection on a host without a second address",
		Category: lint.CategoryPool,
		Severity: lint.Warning,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.DestinationRule},
		When:     whereOutlierDetection,
		Summary: "outlierDetection whose every port belongs to a ServiceEntry of resolution NONE or DNS_ROUND_ROBIN, or to one with a single " +
			"fixed address: there is no other address to which calls could go instead.",
		Why: "Ejecting an address helps if others in Envoy's list can take its share. With NONE (ORIGINAL_DST) there is no list: Envoy " +
			"forwards to the address that the client dialled, counts failures, and goes on sending there. With DNS_ROUND_ROBIN (LOGICAL_DNS) " +
			"and with one fixed endpoint the list has one entry. With max_ejection_percent below 100 that one is never ejected; at 100 it is, " +
			"and then every call fails with 503 UH until it comes back.\n\n" +
			"A host of resolution DNS is not reported, since only the resolver knows how many addresses it has. Neither is a wildcard rule " +
			"that also takes in a host with several. In a subset only the endpoints with its labels count.",
		Remedy: "Drop outlierDetection and rely on a short connectTimeout and on retries. Or, if the host is one name with several addresses, " +
			"write resolution: DNS or list them as endpoints; for a wildcard host neither works.",
		Proof: lint.Proof{Kind: "envoy", Text: "Istio copies outlier_detection onto ORIGINAL_DST and LOGICAL_DNS clusters; that it can move no traffic there follows from Envoy's cluster types"},
		Observe: lint.Observe{
			Stats:      []string{"membership_total", "outlier_detection.ejections_active", "outlier_detection.ejections_overflow"},
			Flags:      []string{"UH"},
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows outlierDetection beside \"type\": \"ORIGINAL_DST\" or \"LOGICAL_DNS\"; istioctl proxy-config endpoint shows one address",
		},
		Supersedes: []lint.Supersede{
			{Rule: "DR205", Scope: lint.ScopeBlock}, {Rule: "DR206", Scope: lint.ScopeBlock},
			{Rule: "DR210", Scope: lint.ScopeBlock}, {Rule: "DR212", Scope: lint.ScopeBlock}, {Rule: "SE102", Scope: lint.ScopePort},
		},
		References: []string{
			"https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/outlier",
			"https://istio.io/latest/docs/reference/config/networking/destination-rule/#OutlierDetection",
		},
	},
	Check: func(p *lint.Pass) error {
		reach := p.EachPort()
		if !reach.Known() {
			skipUnknownHost(p)
			return nil
		}
		for _, w := range effective.WrittenIn(p.Object, "outlierDetection", reach) {
			if w.Level.Shadowed || len(w.Level.Ports) == 0 {
				continue
			}
			lone, all := loneAddresses(p.Mesh, w.Level.Ports, w.Level.SubsetLabels(p.Object))
			if !all || len(lone) == 0 {
				continue
			}
			first := lone[0]
			p.Report(w.Path,
				fmt.Sprintf("outlierDetection has nothing to eject on %s%s: %s", portName(first.port), andMore(len(lone)-1), first.reason),
				lint.Effect(first.effect(w.Value)),
				lint.Also(first.port.Target.Object, first.at, first.note),
				lint.About(lint.SubjectOf(w.Level.Ports)),
			)
		}
		return nil
	},
})

// whereOutlierDetection are the places where a DestinationRule can hold outlierDetection.
var whereOutlierDetection = []lint.Gate{
	{Kind: object.DestinationRule, All: []lint.Condition{{Path: "spec.trafficPolicy.outlierDetection"}}},
	{Kind: object.DestinationRule, All: []lint.Condition{{Path: "spec.trafficPolicy.portLevelSettings[*].outlierDetection"}}},
	{Kind: object.DestinationRule, All: []lint.Condition{{Path: "spec.subsets[*].trafficPolicy.outlierDetection"}}},
	{Kind: object.DestinationRule, All: []lint.Condition{{Path: "spec.subsets[*].trafficPolicy.portLevelSettings[*].outlierDetection"}}},
}

// loneAddress is a port for which Envoy has no second address.
type loneAddress struct {
	port   effective.Port
	reason string
	at     object.Path // what makes it so, in the ServiceEntry
	note   string
}

// loneAddresses picks the ports for which Envoy has no second address. all says that none of the ports has one. Ports of
// DYNAMIC_DNS hosts count as without and are not returned: what outlierDetection does there is another fault. subset holds the labels
// of the endpoints that count.
func loneAddresses(ix *mesh.Index, ports []effective.Port, subset object.Value) (lone []loneAddress, all bool) {
	for _, port := range ports {
		if port.Family == mesh.NoProxy {
			continue
		}
		if port.Target.IsService() || port.InCluster && ix.Settings().InCluster(port.Host) {
			return nil, false // the addresses of services in the mesh come and go
		}
		l := loneAddress{port: port, at: object.Path{"spec", "resolution"}, note: "the resolution is written here"}
		switch port.Cluster {
		case effective.DynamicDNS:
			return nil, false
		case effective.OriginalDst:
			l.reason = "with resolution NONE Envoy has no list of addresses"
		case effective.LogicalDNS:
			l.reason = "with resolution DNS_ROUND_ROBIN Envoy uses one address at a time"
		default:
			n, known := effective.EndpointCount(ix, port.Host, port.Target, port.Port, subset)
			if !known || n != 1 {
				return nil, false
			}
			l.reason = "it has a single address"
			if subset.Len() > 0 {
				l.reason = "the subset has a single address"
			}
			l.at, l.note = object.Path{"spec", "endpoints"}, "the only endpoint"
		}
		lone = append(lone, l)
	}
	return lone, true
}

func (l loneAddress) effect(block object.Value) string {
	if l.port.Cluster == effective.OriginalDst {
		return "Envoy forwards to whatever address the client dialled (cluster type ORIGINAL_DST): failures are counted, and the calls go on to the same address"
	}
	if block.Get("maxEjectionPercent").Int() >= 100 {
		return "Envoy ejects the only address, and every call fails with 503 UH until baseEjectionTime is over"
	}
	return "Envoy never ejects the only address, since that would exceed max_ejection_percent, and has no other to send calls to"
}
