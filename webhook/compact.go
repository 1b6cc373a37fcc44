package webhook

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/meshvet/meshvet/lint/object"
)

// tracked is what an informer keeps of an object: what it needs to tell versions apart, and the object as the index holds it.
// The unstructured form, several times as large, is garbage once it has been read.
type tracked struct {
	metav1.ObjectMeta
	object *object.Object // nil if it could not be read
	err    error
}

func (t *tracked) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the object itself: it never changes.
func (t *tracked) DeepCopyObject() runtime.Object { return t }

// track is the transform of every informer. Informers may apply it twice.
func track(in any) (any, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	t := &tracked{ObjectMeta: metav1.ObjectMeta{
		Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
	}}
	t.object, t.err = read(u.Object)
	return t, nil
}

// read makes an object of the index of what the API server sent.
func read(raw map[string]any) (*object.Object, error) {
	o, err := object.FromMap(compact(raw))
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, fmt.Errorf("%v of %v is not a kind that is read", raw["kind"], raw["apiVersion"])
	}
	return o, nil
}

// keptOfSpec are the fields of a spec that are looked at, for kinds of which that is a small part.
var keptOfSpec = map[object.Kind][]string{
	object.Service:   {"type", "externalName", "clusterIP", "ports", "selector"},
	object.Namespace: nil,
}

// compact returns an object without what no rule looks at. The parts that are kept are shared with raw.
func compact(raw map[string]any) map[string]any {
	kind, _ := raw["kind"].(string)
	out := map[string]any{"apiVersion": raw["apiVersion"], "kind": raw["kind"]}
	if meta, ok := raw["metadata"].(map[string]any); ok {
		out["metadata"] = compactMeta(meta)
	}
	switch object.Kind(kind) {
	case object.ConfigMap:
		if data, ok := raw["data"].(map[string]any); ok {
			out["data"] = pick(data, "mesh")
		}
	case object.ServiceEntry:
		// istiod's allocator writes the addresses that it gives to hosts there.
		if status, ok := raw["status"].(map[string]any); ok && status["addresses"] != nil {
			out["status"] = pick(status, "addresses")
		}
	}
	if spec, ok := raw["spec"].(map[string]any); ok {
		if fields, partly := keptOfSpec[object.Kind(kind)]; partly {
			spec = pick(spec, fields...)
		}
		out["spec"] = spec
	}
	return out
}

func compactMeta(meta map[string]any) map[string]any {
	out := pick(meta, "name", "namespace", "generateName", "labels", "creationTimestamp", "deletionTimestamp")
	annotations, ok := meta["annotations"].(map[string]any)
	if !ok {
		return out
	}
	kept := make(map[string]any, len(annotations))
	for k, v := range annotations {
		// What kubectl last applied repeats the whole object; no annotation of Kubernetes' own means anything to Istio.
		if !strings.HasPrefix(k, "kubectl.kubernetes.io/") {
			kept[k] = v
		}
	}
	out["annotations"] = kept
	return out
}

// pick copies some fields of a mapping.
func pick(m map[string]any, fields ...string) map[string]any {
	out := make(map[string]any, len(fields))
	for _, f := range fields {
		if v, ok := m[f]; ok {
			out[f] = v
		}
	}
	return out
}
