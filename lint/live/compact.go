package live

import (
	"fmt"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Object makes an object of what the API server sent, in the form of unstructured.Unstructured, without what no rule looks at.
func Object(raw map[string]any) (*object.Object, error) {
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
