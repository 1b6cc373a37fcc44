package effective_test

import (
	"context"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// world loads manifests and, if meshConfig is not empty, the mesh configuration.
func world(t *testing.T, meshConfig string, manifests ...string) (*mesh.Index, []*object.Object) {
	t.Helper()
	f, err := object.Load(context.Background(), "test.yaml", strings.NewReader(strings.Join(manifests, "\n---\n")), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) > 0 {
		t.Fatalf("%s: %s", f.Problems[0].Location, f.Problems[0].Message)
	}
	var settings mesh.Settings
	if meshConfig != "" {
		doc, problem := object.ParseDocument("mesh.yaml", []byte(meshConfig), object.Limits{})
		if problem != nil {
			t.Fatal(problem.Message)
		}
		settings.MeshConfig = doc.Root()
	}
	store := mesh.NewStore(settings)
	store.Put(f.Objects...)
	return store.Snapshot(), f.Objects
}

// entry is a ServiceEntry for a host; ports are written "443 TLS"; rest is more of the spec, in flow style.
func entry(name, host, resolution, rest string, ports ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: " + name + ", namespace: shop}\nspec:\n")
	b.WriteString("  hosts: ['" + host + "']\n  ports:\n")
	for _, p := range ports {
		number, protocol, _ := strings.Cut(p, " ")
		b.WriteString("  - {number: " + number + ", name: p" + number)
		if protocol != "" {
			b.WriteString(", protocol: " + protocol)
		}
		b.WriteString("}\n")
	}
	b.WriteString("  resolution: " + resolution + "\n")
	for line := range strings.SplitSeq(rest, "\n") {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

// rule is a DestinationRule for a host; spec is the rest of its spec.
func rule(name, host, spec string) string {
	var b strings.Builder
	b.WriteString("apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: " + name + ", namespace: shop}\nspec:\n  host: '" + host + "'\n")
	for line := range strings.SplitSeq(spec, "\n") {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

func field(t *testing.T, name string) *effective.Field {
	t.Helper()
	for _, f := range effective.Fields() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no field %s", name)
	return nil
}

// sidecarIn is the sidecar of a workload without labels in a namespace.
func sidecarIn(namespace string) effective.Proxy {
	return effective.Proxy{Type: effective.Sidecar, Namespace: namespace}
}
