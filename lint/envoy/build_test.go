package envoy_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/envoy"
)

// TestBuildIsTheInverseOfFlatten: a cluster as istioctl prints it comes back leaf by leaf.
func TestBuildIsTheInverseOfFlatten(t *testing.T) {
	for name, text := range map[string]string{
		"breakers and times": `{"name": "outbound|443||api.example.com", "type": "STRICT_DNS", "connectTimeout": "10s", "respectDnsTtl": true,
			"circuitBreakers": {"thresholds": [{"maxConnections": 4294967295, "retryBudget": {"budgetPercent": {"value": 12.5}}}]}}`,
		"empty messages":    `{"commonLbConfig": {"healthyPanicThreshold": {}, "localityWeightedLbConfig": {}}}`,
		"names with digits": `{"outlierDetection": {"consecutive5xx": 3, "enforcingConsecutive5xx": 100, "consecutiveGatewayFailure": 0}}`,
		"packed messages": `{"typedExtensionProtocolOptions": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
			"explicitHttpConfig": {"http2ProtocolOptions": {"maxConcurrentStreams": 64}}, "commonHttpProtocolOptions": {}}}}`,
		"lists of messages and of scalars": `{"transportSocketMatches": [{"name": "tlsMode-istio", "match": {"tlsMode": "istio"}}, {"name": "tlsMode-disabled", "match": {}}],
			"alpnProtocols": ["istio-peer-exchange", "istio"]}`,
		"more than ten items":      `{"names": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]}`,
		"texts that are no number": `{"crl": "/etc/crl.pem", "version": "1.2.3", "name": "t", "hex": "0x10", "infinite": "Inf", "none": "-"}`,
		"nothing":                  `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			leaves := envoy.Flatten(decode(t, text))
			built := envoy.Build(leaves)
			if diff := cmp.Diff(leaves, envoy.Flatten(built)); diff != "" {
				t.Errorf("flattened again (-want +got):\n%s", diff)
			}
			js, err := json.Marshal(built)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, text), decode(t, string(js))); diff != "" {
				t.Errorf("as JSON (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBuildTakesAnyLeaves: leaves come from files, and need not be those of a message.
func TestBuildTakesAnyLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		leaves envoy.Leaves
		want   string
	}{
		"a message that is empty and is not":   {envoy.Leaves{"a": "{}", "a.b": "1"}, `{"a": {"b": 1}}`},
		"a list with a gap":                    {envoy.Leaves{"a[0]": "x", "a[7]": "y"}, `{"a": ["x", "y"]}`},
		"an index that is none":                {envoy.Leaves{"a[x]": "y"}, `{"a": ["y"]}`},
		"no name":                              {envoy.Leaves{"": "x"}, `{"": "x"}`},
		"truth":                                {envoy.Leaves{"a": "true", "b": "t", "c": "F"}, `{"a": true, "b": "t", "c": "F"}`},
		"numbers":                              {envoy.Leaves{"a": "-1.5", "b": "5s", "c": "1e3"}, `{"a": -1.5, "b": "5s", "c": "1e3"}`},
		"what JSON does not count as a number": {envoy.Leaves{"a": "007", "b": "5.", "c": ".5", "d": "-"}, `{"a": "007", "b": "5.", "c": ".5", "d": "-"}`},
	} {
		t.Run(name, func(t *testing.T) {
			js, err := json.Marshal(envoy.Build(c.leaves))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, c.want), decode(t, string(js))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
