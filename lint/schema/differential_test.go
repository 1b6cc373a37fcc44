package schema

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

var (
	mutations    = flag.Int("mutations", 4000, "how many mutated objects TestMutatedObjects compares with the API server's libraries")
	mutationSeed = flag.Uint64("mutation-seed", 1, "seed of TestMutatedObjects")
)

// seeds are valid objects which between them have every field of the two kinds.
func seeds(t testing.TB) map[string][]map[string]any {
	t.Helper()
	const policy = `{
		"connectionPool": {
			"tcp": {"maxConnections": 100, "connectTimeout": "1m30s", "idleTimeout": "0s", "maxConnectionDuration": "1h",
				"tcpKeepalive": {"probes": 3, "time": "2h", "interval": "75s"}},
			"http": {"http1MaxPendingRequests": 10, "http2MaxRequests": 20, "maxRequestsPerConnection": 0, "maxRetries": 3, "idleTimeout": "1ms",
				"h2UpgradePolicy": "UPGRADE", "useClientProtocol": true, "maxConcurrentStreams": 5,
				"http2KeepAlive": {"interval": "30s", "timeout": ".5s"}}},
		"loadBalancer": {"simple": "LEAST_REQUEST", "warmupDurationSecs": "180s",
			"warmup": {"duration": "10s", "minimumPercent": 10.5, "aggression": 1},
			"localityLbSetting": {"enabled": null, "distribute": [{"from": "a/*", "to": {"b/*": 80, "c/*": 20}}],
				"failover": [{"from": "a", "to": "b"}], "failoverPriority": ["topology.istio.io/network"]},
			"zoneAwareLbSetting": {"enabled": true, "minClusterSize": 6, "failover": [{"from": "x", "to": "y"}], "failoverPriority": ["a"]}},
		"outlierDetection": {"consecutive5xxErrors": 5, "consecutiveGatewayErrors": null, "consecutiveLocalOriginFailures": 3, "consecutiveErrors": 7,
			"splitExternalLocalOriginErrors": true, "interval": "10s", "baseEjectionTime": "30s", "maxEjectionPercent": 100, "minHealthPercent": 0,
			"failurePercentageThreshold": 85, "outlierDetectionHttpErrorCodes": [500, 503]},
		"tls": {"mode": "MUTUAL", "clientCertificate": "/c", "privateKey": "/k", "caCertificates": "/ca", "caCrl": "/crl", "sni": "a.example.com",
			"subjectAltNames": ["a.example.com"], "insecureSkipVerify": false, "credentialName": "c", "caCertCredentialName": "ca"}}`
	top := strings.TrimSuffix(policy, "}") + `,
		"portLevelSettings": [{"port": {"number": 443}, "loadBalancer": {"backendUtilization": {"errorUtilizationPenaltyPercent": 5,
				"metricNamesForComputingUtilization": ["m"], "weightExpirationPeriod": "3m", "weightStabilizationPeriod": "10s", "weightUpdatePeriod": "1s"}}},
			{"port": {"number": 80}, "connectionPool": {"tcp": {}}, "outlierDetection": {}, "tls": {"mode": "DISABLE"}, "loadBalancer": {"consistentHash": {
				"httpCookie": {"name": "c", "path": "/", "ttl": "0s", "attributes": [{"name": "SameSite", "value": "Strict"}]},
				"minimumRingSize": 1024, "ringHash": {"minimumRingSize": 2048}}}},
			{"loadBalancer": {"consistentHash": {"httpHeaderName": "x-user"}}}, {"loadBalancer": {"consistentHash": {"httpQueryParameterName": "q"}}}],
		"tunnel": {"protocol": "CONNECT", "targetHost": "t", "targetPort": 443},
		"proxyProtocol": {"version": "V2"},
		"retryBudget": {"percent": 20, "minRetryConcurrency": 3, "budgetInterval": "10s"}}`
	texts := map[string][]string{
		"DestinationRule": {
			`{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "all", "namespace": "ns"}, "spec": {
				"host": "a.example.com", "exportTo": ["."], "workloadSelector": {"matchLabels": {"app.kubernetes.io/name": "x"}},
				"trafficPolicy": ` + top + `, "subsets": [{"name": "v1", "labels": {"version": "v1"}, "trafficPolicy": ` + policy + `}, {"name": "v2"}]}}`,
			`{"apiVersion": "networking.istio.io/v1beta1", "kind": "DestinationRule", "metadata": {"name": "small"}, "spec": {
				"host": "a", "trafficPolicy": {"outlierDetection": {}, "loadBalancer": {"consistentHash": {"useSourceIp": true, "maglev": {"tableSize": 101}}}}}}`,
			`{"apiVersion": "networking.istio.io/v1beta1", "kind": "DestinationRule", "metadata": {"generateName": "nothing-"}}`,
		},
		"ServiceEntry": {
			`{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "exported", "uid": "u", "resourceVersion": "1",
				"finalizers": ["example.com/f"], "deletionGracePeriodSeconds": 0,
				"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "n", "uid": "u", "controller": true}],
				"managedFields": [{"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "time": "2026-01-31T12:00:00Z", "fieldsType": "FieldsV1",
					"fieldsV1": {"f:spec": {".": {}}}}]}, "spec": {"hosts": ["a"]}}`,
			`{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "all", "namespace": "ns",
				"labels": {"app": "x", "istio.io/use-waypoint": "w", "empty": null}, "annotations": {"note": "any text", "a.b/C": ""},
				"creationTimestamp": null, "generation": 3},
				"spec": {"hosts": ["a.example.com", "*.b.example.com"], "addresses": ["10.0.0.0/8", "240.0.0.1"], "location": "MESH_EXTERNAL", "resolution": "STATIC",
				"ports": [{"number": 443, "name": "tls", "protocol": "TLS", "targetPort": 8443}, {"number": 80, "name": "http", "protocol": "HTTP"}],
				"endpoints": [{"address": "192.0.2.1", "ports": {"tls": 8443}, "labels": {"v": "1"}, "network": "n", "locality": "r/z", "weight": 2, "serviceAccount": "sa"},
					{"address": "unix:///var/run/s"}, {"network": "n2"}],
				"exportTo": ["*"], "subjectAltNames": ["spiffe://x"]}, "status": {"conditions": [{"type": "x", "anything": [1]}]}}`,
			`{"apiVersion": "networking.istio.io/v1alpha3", "kind": "ServiceEntry", "metadata": {"name": "a.b.c"}, "spec": {
				"hosts": ["a"], "resolution": "STATIC", "workloadSelector": {"labels": {"app": "x"}}, "ports": [{"number": 1, "name": "n"}]}}`,
			`{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "x"}, "spec": {"hosts": ["*.x.example.com"],
				"resolution": "DYNAMIC_DNS", "ports": [{"number": 443, "name": "tls", "protocol": "TLS"}]}}`,
			`{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "x"}, "spec": {"hosts": ["x.example.com"],
				"resolution": "DNS_ROUND_ROBIN", "endpoints": [{"address": "a.example.com"}], "ports": [{"number": 443, "name": "tls", "protocol": "TLS"}]}}`,
		},
	}
	out := map[string][]map[string]any{}
	for kind, list := range texts {
		for _, text := range list {
			out[kind] = append(out[kind], fromJSON(t, text))
		}
	}
	return out
}

func TestSeedsAreValid(t *testing.T) {
	v := newValidator(t, "")
	for kind, list := range seeds(t) {
		used := map[string]bool{}
		for i, raw := range list {
			if d := disagreement(t, v, kind, raw); d != "" {
				t.Errorf("%s %d: %s", kind, i, d)
			}
			if got, err := v.Validate(t.Context(), kind, raw); err != nil || len(got) > 0 {
				t.Errorf("%s %d: %v %v", kind, i, got, err)
			}
			// Finalizers and their like are left to the library, so only Validate answers.
			if meta := raw["metadata"].(map[string]any); meta["finalizers"] == nil && !hasFloat(raw) && !v.Valid(kind, Of(raw)) {
				t.Errorf("%s %d: Valid does not know", kind, i)
			}
			noteFields(raw["spec"], "spec", used)
		}
		// Mutating the seeds is only worth something if they have every field.
		k := v.kinds[kind]
		for _, places := range allFields(k) {
			if !used[places] {
				t.Errorf("no seed of %s has %s", kind, places)
			}
		}
	}
}

func hasFloat(v any) bool {
	switch v := v.(type) {
	case float64:
		return true
	case []any:
		return slices.ContainsFunc(v, hasFloat)
	case map[string]any:
		for _, x := range v {
			if hasFloat(x) {
				return true
			}
		}
	}
	return false
}

// noteFields notes the name of each field with the one it stands in.
func noteFields(v any, in string, used map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			noteFields(item, in, used)
		}
	case map[string]any:
		for k, x := range v {
			used[in+"."+k] = true
			noteFields(x, k, used)
		}
	}
}

func allFields(k *kindSchema) []string {
	var out []string
	var visit func(id nodeID, in string)
	visit = func(id nodeID, in string) {
		n := &k.crd.nodes[id]
		for _, p := range n.props {
			if in != "" || p.name == "spec" {
				if in != "" {
					out = append(out, in+"."+p.name)
				}
				visit(p.node, p.name)
			}
		}
		if n.items != 0 {
			visit(n.items, in)
		}
	}
	visit(k.crd.crdRoot, "")
	return out
}

// TestMutatedObjects changes valid objects at random places and holds Valid and Validate to the API server's libraries.
func TestMutatedObjects(t *testing.T) {
	v := newValidator(t, "")
	all := seeds(t)
	rng := rand.New(rand.NewPCG(*mutationSeed, 2))
	kinds := []string{"DestinationRule", "ServiceEntry"}
	valid, invalid, failed := 0, 0, 0
	for i := 0; i < *mutations && failed < 5; i++ {
		kind := kinds[i%2]
		raw := runtime.DeepCopyJSON(all[kind][rng.IntN(len(all[kind]))])
		for range 1 + rng.IntN(3) {
			mutate(rng, raw)
		}
		if d := disagreement(t, v, kind, raw); d != "" {
			t.Errorf("%s", d)
			failed++
		}
		if v.Valid(kind, Of(raw)) {
			valid++
		} else {
			invalid++
		}
	}
	if *mutations >= 1000 && (valid < *mutations/20 || invalid < *mutations/2) {
		t.Errorf("the mutations are lopsided: %d certainly valid, %d not", valid, invalid)
	}
}

// mutate changes one place of an object.
func mutate(rng *rand.Rand, root map[string]any) {
	type slot struct {
		get func() any
		set func(any)
		del func()
	}
	var slots []slot
	var maps []map[string]any
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			maps = append(maps, v)
			for _, k := range sortedKeys(v) {
				slots = append(slots, slot{func() any { return v[k] }, func(x any) { v[k] = x }, func() { delete(v, k) }})
				visit(v[k])
			}
		case []any:
			for i := range v {
				slots = append(slots, slot{func() any { return v[i] }, func(x any) { v[i] = x }, func() {}})
				visit(v[i])
			}
		}
	}
	visit(root)
	if len(slots) == 0 {
		return
	}
	s := slots[rng.IntN(len(slots))]
	switch rng.IntN(8) {
	case 0:
		s.del()
	case 1: // an unknown field, or a known one in the wrong place
		m := maps[rng.IntN(len(maps))]
		m[pick(rng, unlikelyKeys)] = randomValue(rng, 2)
	case 2: // a list or mapping twice as long
		switch x := s.get().(type) {
		case []any:
			s.set(append(slices.Clone(x), runtime.DeepCopyJSONValue(x).([]any)...))
		case map[string]any:
			s.set([]any{x})
		default:
			s.set([]any{x})
		}
	case 3:
		s.set(runtime.DeepCopyJSONValue(slots[rng.IntN(len(slots))].get()))
	case 4, 5:
		// A value of the same type.
		switch s.get().(type) {
		case string:
			s.set(pick(rng, strangeStrings))
		case int64:
			s.set(pick(rng, strangeInts))
		case bool:
			s.set(rng.IntN(2) == 0)
		default:
			s.set(randomValue(rng, 2))
		}
	default:
		s.set(randomValue(rng, 2))
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

var (
	unlikelyKeys = []string{"", "address", "spec", "metadata", "name", "host", "hosts", "endpoints", "workloadSelector", "resolution", "simple",
		"consistentHash", "keepAlive", "connect_timeout", "trafficPolicy", "labels", "a.b/c", "*", "x", "status", "ports", "number", "useSourceIp",
		"finalizers", "generateName", "caCertCredentialName", "日本", strings.Repeat("k", 100)}
	strangeStrings = []string{"", "*", "a*", "0s", "1ms", "999us", "1000us", "500us", "1h", "1d", "5", "5 s", "-1s", "+1s", "1e3s", ".5s", "1.s", "0", "1h1h",
		"9999999h", "unix://", "unix:///", "unix://a", "unix://@a", "unix:///a", "unix://日", "UNIX:///a/", "10.0.0.0/8", "NONE", "none", "STATIC", "DNS",
		"DNS_ROUND_ROBIN", "DYNAMIC_DNS", "SIMPLE", "A", "a_b", "a..b", "a.b", "-a", "a-", strings.Repeat("a", 63), strings.Repeat("a", 64),
		strings.Repeat("é", 64), strings.Repeat("a", 257), strings.Repeat("x", 3000), "true", "2026-01-31T12:00:00Z", "example.com/", "a/b/c", "\x00", "\xff"}
	strangeInts = []int64{0, 1, -1, 2, 99, 100, 101, 599, 600, 65535, 65536, math.MaxInt32, math.MaxInt32 + 1, math.MinInt32 - 1, math.MaxUint32,
		math.MaxUint32 + 1, math.MaxInt64, math.MinInt64, 1 << 53}
)

func randomValue(rng *rand.Rand, depth int) any {
	switch rng.IntN(10) {
	case 0:
		return nil
	case 1:
		return rng.IntN(2) == 0
	case 2, 3:
		return pick(rng, strangeStrings)
	case 4, 5:
		return pick(rng, strangeInts)
	case 6:
		return pick(rng, []float64{0, 1, 5, 80, 0.5, -1, 1e10, 1e300, 5.0000000001, 4294967295, 1 << 53, 1.5e-300})
	case 7:
		if depth == 0 {
			return []any{}
		}
		out := []any{}
		for range rng.IntN(3) {
			out = append(out, randomValue(rng, depth-1))
		}
		return out
	}
	out := map[string]any{}
	if depth > 0 {
		for range rng.IntN(3) {
			out[pick(rng, unlikelyKeys)] = randomValue(rng, depth-1)
		}
	}
	return out
}

func newValidator(t testing.TB, version string) *Validator {
	t.Helper()
	v, err := New(version)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
