package agree

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// Mesh is what is compiled at one time.
type Mesh struct {
	Name    string // for messages: the file, or the seed
	Objects []*object.Object
	// MeshConfig is the mesh configuration in JSON or YAML, "" for the defaults.
	MeshConfig string
}

// workload are the labels of the sidecar's workload, and gateway those of the gateway's.
var (
	workload = map[string]string{"app": "app", "version": "v1"}
	gateway  = map[string]string{"istio": "egressgateway"}
)

// locality of all proxies: without one Istio's compiler dereferences a missing locality, which no real proxy lacks.
const locality = "r1/z1/s1"

// compiled are the kinds that the oracle is given, the older ones of equal age first. Others take no part in what is compared, or, like EnvoyFilter and Sidecar,
// change what meshvet does not claim to predict.
var compiled = []object.Kind{
	object.Service, object.ServiceEntry, object.DestinationRule, object.VirtualService, object.Gateway, object.WorkloadEntry,
}

// Compiles says whether the mesh has anything that Istio compiles.
func (m *Mesh) Compiles() bool {
	return slices.ContainsFunc(m.Objects, func(o *object.Object) bool { return slices.Contains(compiled, o.Kind) })
}

// With is the mesh with an object in the place of another, or without it if there is none. nil in place of the other adds one.
func (m *Mesh) With(old, changed *object.Object) *Mesh {
	out := &Mesh{Name: m.Name, MeshConfig: m.MeshConfig}
	for _, o := range m.Objects {
		switch {
		case o != old:
			out.Objects = append(out.Objects, o)
		case changed != nil:
			out.Objects = append(out.Objects, changed)
		}
	}
	if old == nil && changed != nil {
		out.Objects = append(out.Objects, changed)
	}
	return out
}

// Compile has the configuration of a proxy compiled.
func (m *Mesh) Compile(ctx context.Context, c Compiler, proxy effective.Proxy) (*oracle.Result, error) {
	texts, err := m.texts()
	if err != nil {
		return nil, err
	}
	res, err := c.Compile(ctx, m.job(texts, asked(proxy)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	return res, nil
}

// Predict lists what meshvet expects a proxy to get for all hosts in view, by the name of the cluster.
func (m *Mesh) Predict(proxy effective.Proxy) (map[string]*effective.Cluster, error) {
	ix, err := m.index()
	if err != nil {
		return nil, err
	}
	return predict(ix, proxy), nil
}

// index is meshvet's view of the mesh.
func (m *Mesh) index() (*mesh.Index, error) {
	var settings mesh.Settings
	if m.MeshConfig != "" {
		doc, problem := object.ParseDocument("meshConfig", []byte(m.MeshConfig), object.Limits{})
		if problem != nil {
			return nil, fmt.Errorf("%s: meshConfig: %s", m.Name, problem.Message)
		}
		settings.MeshConfig = doc.Root()
	}
	store := mesh.NewStore(settings)
	for _, o := range m.Objects {
		if slices.Contains(compiled, o.Kind) {
			store.Put(o)
		}
	}
	return store.Snapshot(), nil
}

// texts are the objects as the API server would hold them: each with a namespace, and with a time of creation of its own. meshvet
// orders objects without one by name, Istio by what it happens to read first, so they are given times in the order of names.
func (m *Mesh) texts() (map[*object.Object]string, error) {
	out := map[*object.Object]string{}
	var young []*object.Object
	for _, o := range m.Objects {
		if slices.Contains(compiled, o.Kind) && o.Root().At("metadata", "creationTimestamp").Str() == "" {
			young = append(young, o)
		}
	}
	slices.SortStableFunc(young, func(a, b *object.Object) int {
		an, bn := mesh.NamespaceOf(a), mesh.NamespaceOf(b)
		if a.Kind == object.DestinationRule && b.Kind == object.DestinationRule {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(an, bn))
		}
		return cmp.Or(slices.Index(compiled, a.Kind)-slices.Index(compiled, b.Kind), strings.Compare(an, bn), strings.Compare(a.Name, b.Name))
	})
	times := map[*object.Object]string{}
	for i, o := range young {
		times[o] = time.Date(2030, 1, 1, 0, 0, i, 0, time.UTC).Format(time.RFC3339)
	}
	for _, o := range m.Objects {
		if !slices.Contains(compiled, o.Kind) {
			continue
		}
		root, ok := o.Root().Any().(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: %s is not a mapping", m.Name, o)
		}
		meta, ok := root["metadata"].(map[string]any)
		if !ok {
			meta = map[string]any{}
			root["metadata"] = meta
		}
		meta["namespace"] = mesh.NamespaceOf(o)
		if t, isYoung := times[o]; isYoung {
			meta["creationTimestamp"] = t
		}
		text, err := json.Marshal(root)
		if err != nil {
			return nil, fmt.Errorf("%s: write %s: %w", m.Name, o, err)
		}
		out[o] = string(text)
	}
	return out, nil
}

// job is what the oracle is asked.
func (m *Mesh) job(texts map[*object.Object]string, proxy oracle.Proxy) *oracle.Job {
	var b strings.Builder
	for _, o := range m.Objects {
		if t, ok := texts[o]; ok {
			b.WriteString("---\n" + t + "\n")
		}
	}
	return &oracle.Job{ID: m.Name, Objects: b.String(), Mesh: m.MeshConfig, Proxy: proxy, Want: map[string]string{oracle.CDS: "^outbound", oracle.LDS: "", oracle.RDS: ""}}
}

// namespaces are those of the objects, and one that has none of them.
func (m *Mesh) namespaces() []string {
	out := []string{"default"}
	for _, o := range m.Objects {
		if slices.Contains(compiled, o.Kind) {
			out = append(out, mesh.NamespaceOf(o))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
