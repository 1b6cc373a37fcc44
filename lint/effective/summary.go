package effective

import (
	"math"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Target is what the proxy reaches under a host, nil if it sees no such host.
func (p Proxy) Target(ix *mesh.Index, host mesh.Host) *mesh.Target { return p.resolve(ix, host) }

// PortNumbers lists the ports of a host for a proxy, in the order in which Istio has them. It is empty if the proxy sees no such host.
func PortNumbers(ix *mesh.Index, proxy Proxy, host mesh.Host) []uint32 {
	t := proxy.resolve(ix, host)
	if t == nil {
		return nil
	}
	var out []uint32
	for _, p := range portsOf(ix, proxy, host, t) {
		if p.Number <= math.MaxUint16 { // the API server refuses others
			out = append(out, p.Number)
		}
	}
	return out
}

// SubsetNames lists the subsets that the DestinationRules in force give a host, nil if there are none.
func SubsetNames(ix *mesh.Index, proxy Proxy, host mesh.Host) []string {
	t := proxy.resolve(ix, host)
	if t == nil {
		return nil
	}
	rule := ix.RuleFor(t, host, proxy.Namespace, proxy.Labels)
	if rule == nil {
		return nil
	}
	var out []string
	seen := map[string]bool{"": true}
	for _, s := range rule.Subsets {
		if !seen[s.Name] {
			seen[s.Name] = true
			out = append(out, s.Name)
		}
	}
	return out
}

// RuleReason says why a DestinationRule is in force for a cluster.
type RuleReason string

// The reasons, in the order in which Istio asks. Source: Istio's pilot/pkg/model, PushContext.destinationRule.
const (
	OfClient RuleReason = "client" // it is in the namespace of the client
	OfHost   RuleReason = "host"   // in that of the ServiceEntry or Service
	OfRoot   RuleReason = "root"   // in the root namespace
)

// RuleReason says in which of the namespaces that Istio asks it found the rule in force, "" if there is none.
func (c *Cluster) RuleReason(ix *mesh.Index) RuleReason {
	if c.Rule == nil || len(c.Rule.Rules) == 0 {
		return ""
	}
	switch c.Rule.Rules[0].Namespace() {
	case c.Proxy.Namespace:
		return OfClient
	case c.Port.Target.Namespace():
		return OfHost
	case ix.Settings().RootNamespace:
		return OfRoot
	}
	return ""
}

// envoyMaxEjectionPercent is Envoy's max_ejection_percent where Istio writes none.
const envoyMaxEjectionPercent = 10

// Ejection is what outlierDetection can do to a cluster with a list of addresses.
type Ejection struct {
	// Percent is the max_ejection_percent in force; Envoy's default is 10.
	Percent int64
	Origin  Origin
	// Endpoints is how many addresses Envoy holds; Known is false if the manifests do not say, as for DNS names and pods.
	Endpoints int
	Known     bool
	// List says whether Envoy keeps a list of addresses, without which there is nothing to eject.
	List bool
}

// Ejection returns what outlierDetection can do; ok is false if the cluster has none.
func (c *Cluster) Ejection(ix *mesh.Index) (e Ejection, ok bool) {
	if c.Absent != "" || !c.Policy.Block("outlierDetection").Set() {
		return Ejection{}, false
	}
	e = Ejection{Percent: envoyMaxEjectionPercent, Origin: byEnvoy, List: c.Type.HasList()}
	for _, s := range c.Settings {
		if n, isNumber := s.Value.(int64); isNumber && s.Envoy == "outlier_detection.max_ejection_percent" {
			e.Percent, e.Origin = n, s.Origin
		}
	}
	if e.List {
		var labels object.Value
		if c.Subset != "" {
			if s, found := c.Rule.Subset(c.Subset); found {
				labels = s.Value().Get("labels")
			}
		}
		if t := c.Port.Target; !t.IsService() {
			e.Endpoints, e.Known = EndpointCount(ix, c.Port.Host, t, c.Port.Port, labels)
		}
	}
	return e, true
}

// AtOnce is how many of the addresses can be ejected at one time: Envoy ejects one more only while the share of ejected ones, this
// one included, stays within the percentage. Source: Envoy's source/common/upstream/outlier_detection_impl.cc, ejectHost.
func (e Ejection) AtOnce() int { return int(min(e.Percent, 100)) * e.Endpoints / 100 }

// Fewest is how many addresses there must be for one to be ejected; 0 = never.
func (e Ejection) Fewest() int64 {
	if e.Percent <= 0 {
		return 0
	}
	return (100 + min(e.Percent, 100) - 1) / min(e.Percent, 100)
}
