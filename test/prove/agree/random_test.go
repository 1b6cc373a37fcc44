package agree_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	networking "istio.io/api/networking/v1alpha3"

	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/agree"
)

func TestSameSeed(t *testing.T) {
	text := func(seed uint64) string {
		m, err := agree.Random(seed)
		if err != nil {
			t.Fatal(err)
		}
		var all []any
		for _, o := range m.Objects {
			all = append(all, o.Root().Any())
		}
		js, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return string(js) + m.MeshConfig
	}
	seen := map[string]bool{}
	for seed := range uint64(100) {
		one := text(seed)
		if one != text(seed) {
			t.Errorf("seed %d gives two meshes", seed)
		}
		seen[one] = true
	}
	if len(seen) != 100 {
		t.Errorf("100 seeds give %d meshes", len(seen))
	}
}

// unmade are fields of the API that random meshes do not have.
var unmade = []string{
	"loadBalancer.consistentHash.httpCookie.attributes",                                                 // in the route alone
	"loadBalancer.backendUtilization", "outlierDetection.failurePercentage", "tls.caCertCredentialName", // of a later version
	"outlierDetection.outlierDetectionHttpErrorCodes", // dropped by Istio
}

// Every field that the API has for a traffic policy, and every value of its enums, occurs among a few hundred seeds; at the levels of
// subsets every block.
func TestEveryFieldOccurs(t *testing.T) {
	const seeds = 400
	have := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, item := range v {
				have[path+k] = true
				walk(path+k+".", item)
			}
		case []any:
			for _, item := range v {
				walk(path, item)
			}
		default:
			have[strings.TrimSuffix(path, ".")+"="+fmt.Sprint(v)] = true
		}
	}
	configured := 0
	for seed := range uint64(seeds) {
		m, err := agree.Random(seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.File.Problems) > 0 || !m.Compiles() {
			t.Fatalf("seed %d: %v", seed, m.File.Problems)
		}
		if m.MeshConfig != "" {
			configured++
		}
		for _, o := range m.Objects {
			have[string(o.Kind)] = true
			walk(string(o.Kind)+".", o.Spec().Any())
		}
	}
	if configured < seeds/5 || configured > seeds/2 {
		t.Errorf("%d of %d meshes have a configuration", configured, seeds)
	}
	want := map[string]bool{}
	const policy = "DestinationRule.trafficPolicy."
	fieldsOf((&networking.TrafficPolicy{}).ProtoReflect().Descriptor(), policy, want)
	for _, level := range []string{"DestinationRule.subsets.trafficPolicy.", policy + "portLevelSettings.", "DestinationRule.subsets.trafficPolicy.portLevelSettings."} {
		for _, block := range []string{"connectionPool", "loadBalancer", "outlierDetection", "tls"} {
			want[level+block] = true
		}
	}
	for _, kind := range []object.Kind{object.Service, object.ServiceEntry, object.DestinationRule, object.VirtualService, object.WorkloadEntry, object.Gateway} {
		want[string(kind)] = true
	}
	for _, field := range []string{
		"VirtualService.tls", "VirtualService.tcp", "VirtualService.gateways", "VirtualService.exportTo",
		"ServiceEntry.exportTo", "ServiceEntry.workloadSelector", "ServiceEntry.addresses", "ServiceEntry.subjectAltNames", "DestinationRule.exportTo", "DestinationRule.workloadSelector",
	} {
		want[field] = true
	}
	for _, resolution := range []string{"NONE", "STATIC", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS"} {
		want["ServiceEntry.resolution="+resolution] = true
	}
	if len(want) < 80 {
		t.Errorf("the API has only %d fields", len(want))
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		field := strings.TrimPrefix(strings.TrimPrefix(path, policy), "portLevelSettings.")
		left := slices.ContainsFunc(unmade, func(u string) bool { return strings.HasPrefix(field, u) })
		if left == have[path] {
			t.Errorf("%s: occurs %t, is unmade %t", path, have[path], left)
		}
	}
}

// fieldsOf lists the fields below a message, and for enums their values.
func fieldsOf(m protoreflect.MessageDescriptor, path string, into map[string]bool) {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		at := path + f.JSONName()
		into[at] = true
		switch {
		case f.IsMap():
		case f.Message() != nil && strings.HasPrefix(string(f.Message().FullName()), "istio."):
			fieldsOf(f.Message(), at+".", into)
		case f.Enum() != nil:
			for j := range f.Enum().Values().Len() {
				into[at+"="+string(f.Enum().Values().Get(j).Name())] = true
			}
		}
	}
}
