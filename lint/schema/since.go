package schema

import "slices"

// newer lists the fields and enum values of the CRDs that older versions of Istio do not have, from comparing the CRDs in the releases of
// istio.io/api. first is the first minor version known to have it; for the entries at 1.25 that is only known not to be 1.24, so no
// version between is accused. A field is named by the one it stands in.
var newer = []struct {
	kind, in, name string
	value          bool // name is a value of the enum field in
	first          release
}{
	{kind: "DestinationRule", in: "httpCookie", name: "attributes", first: release{1, 25}},
	{kind: "DestinationRule", in: "trafficPolicy", name: "retryBudget", first: release{1, 25}},
	{kind: "ServiceEntry", in: "resolution", name: "DYNAMIC_DNS", value: true, first: release{1, 25}},
	{kind: "DestinationRule", in: "http", name: "http2KeepAlive", first: release{1, 31}},
	{kind: "DestinationRule", in: "loadBalancer", name: "zoneAwareLbSetting", first: release{1, 31}},
	{kind: "DestinationRule", in: "outlierDetection", name: "outlierDetectionHttpErrorCodes", first: release{1, 31}},
	{kind: "DestinationRule", in: "retryBudget", name: "budgetInterval", first: release{1, 31}},
	{kind: "DestinationRule", in: "loadBalancer", name: "backendUtilization", first: release{1, 32}},
	{kind: "DestinationRule", in: "outlierDetection", name: "failurePercentageThreshold", first: release{1, 32}},
	{kind: "DestinationRule", in: "tls", name: "caCertCredentialName", first: release{1, 32}},
}

// markNewer marks what the configured version does not know.
func (k *kindSchema) markNewer() {
	for _, e := range newer {
		if e.kind != k.kind || !k.version.before(e.first) {
			continue
		}
		for i := range k.crd.nodes {
			for _, p := range k.crd.nodes[i].props {
				if p.name != e.in {
					continue
				}
				n := &k.crd.nodes[p.node]
				if e.value && !slices.Contains(n.newerEnum, e.name) {
					n.newerEnum = append(n.newerEnum, e.name)
				} else if j := n.find(e.name); !e.value && j >= 0 {
					n.props[j].newer = true
				}
			}
		}
	}
}

// without returns the words that are not in drop.
func without(words, drop []string) []string {
	if len(drop) == 0 {
		return words
	}
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(drop, w) })
}
