package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// reviews makes n requests as an API server sends them: creates of new objects, edits and removals of those that there are, of both kinds in
// equal parts. The same seed gives the same requests.
func (m *mesh) reviews(n int, seed uint64) ([][]byte, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	out := make([][]byte, 0, n)
	for i := range n {
		from := m.entries
		if random.IntN(2) == 0 {
			from = m.rules
		}
		old := from[random.IntN(len(from))]
		var request admissionv1.AdmissionRequest
		switch share := random.IntN(10); {
		case share < 4: // a create
			o := old.DeepCopy()
			o.SetName(fmt.Sprintf("%s-new-%d", old.GetName(), i))
			o.SetUID(types.UID(fmt.Sprintf("new-%d", i)))
			request = requestOf(admissionv1.Create, o, nil)
		case share < 9: // an edit
			o := old.DeepCopy()
			edit(o, random)
			request = requestOf(admissionv1.Update, o, old)
		default:
			request = requestOf(admissionv1.Delete, nil, old)
		}
		request.UID = types.UID(fmt.Sprintf("review-%d", i))
		body, err := json.Marshal(admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &request,
		})
		if err != nil {
			return nil, fmt.Errorf("write a review: %w", err)
		}
		out = append(out, body)
	}
	return out, nil
}

// edit changes something of the spec.
func edit(o *unstructured.Unstructured, random *rand.Rand) {
	spec, _ := o.Object["spec"].(map[string]any)
	if o.GetKind() == "ServiceEntry" {
		spec["resolution"] = []string{"DNS", "NONE", "DNS_ROUND_ROBIN"}[random.IntN(3)]
		if random.IntN(2) == 0 {
			spec["exportTo"] = []any{"."}
		}
		return
	}
	policy, _ := spec["trafficPolicy"].(map[string]any)
	policy["connectionPool"] = map[string]any{"tcp": map[string]any{"maxConnections": random.Int64N(1000) + 1}}
}

func requestOf(operation admissionv1.Operation, now, old *unstructured.Unstructured) admissionv1.AdmissionRequest {
	about := now
	if about == nil {
		about = old
	}
	gvk, gvr := about.GroupVersionKind(), resources[about.GetKind()]
	dry := false
	r := admissionv1.AdmissionRequest{
		Kind:            metav1.GroupVersionKind(gvk),
		Resource:        metav1.GroupVersionResource(gvr),
		RequestKind:     (*metav1.GroupVersionKind)(&gvk),
		RequestResource: (*metav1.GroupVersionResource)(&gvr),
		Name:            about.GetName(),
		Namespace:       about.GetNamespace(),
		Operation:       operation,
		UserInfo:        authenticationv1.UserInfo{Username: "load", Groups: []string{"system:authenticated"}},
		DryRun:          &dry,
	}
	if now != nil {
		r.Object = runtime.RawExtension{Object: now}
	}
	if old != nil {
		r.OldObject = runtime.RawExtension{Object: old}
	}
	return r
}
