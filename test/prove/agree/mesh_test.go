package agree_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/agree"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// recorder keeps the job that it is asked.
type recorder struct{ job *oracle.Job }

func (r *recorder) Compile(_ context.Context, job *oracle.Job) (*oracle.Result, error) {
	r.job = job
	return &oracle.Result{}, nil
}

// sent lists the objects of a job as "KIND NAMESPACE/NAME TIME".
func sent(t *testing.T, m *agree.Mesh, proxy effective.Proxy) (*oracle.Job, []string) {
	t.Helper()
	var r recorder
	if _, err := m.Compile(t.Context(), &r, proxy); err != nil {
		t.Fatal(err)
	}
	var out []string
	for doc := range strings.SplitSeq(r.job.Objects, "---\n") {
		if doc == "" {
			continue
		}
		var o struct {
			Kind     string
			Metadata struct{ Namespace, Name, CreationTimestamp string }
		}
		if err := json.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s/%s %s", o.Kind, o.Metadata.Namespace, o.Metadata.Name, o.Metadata.CreationTimestamp))
	}
	return r.job, out
}

// What is sent has namespaces and times: of rules in the order of names, of others namespace by namespace. Times that are there stay.
func TestTexts(t *testing.T) {
	const kind = "apiVersion: networking.istio.io/v1\nkind: "
	m := meshOf(t, kind+"DestinationRule\nmetadata: {name: b, namespace: a}\nspec: {host: x.example.com}\n---\n"+
		kind+"DestinationRule\nmetadata: {name: a, namespace: b}\nspec: {host: x.example.com}\n---\n"+
		kind+"ServiceEntry\nmetadata: {name: a, namespace: b}\nspec: {hosts: [x.example.com]}\n---\n"+
		kind+"ServiceEntry\nmetadata: {name: b, namespace: a}\nspec: {hosts: [x.example.com]}\n---\n"+
		kind+"ServiceEntry\nmetadata: {name: c, creationTimestamp: \"2020-02-02T00:00:00Z\"}\nspec: {hosts: [y.example.com]}\n---\n"+
		kind+"Sidecar\nmetadata: {name: d}\nspec: {}\n")
	m.MeshConfig = "connectTimeout: 3s"
	job, got := sent(t, m, effective.Proxy{Type: effective.Gateway, Namespace: "a", Labels: map[string]string{"istio": "gw"}})
	if diff := cmp.Diff([]string{
		"DestinationRule a/b 2030-01-01T00:00:03Z",
		"DestinationRule b/a 2030-01-01T00:00:02Z",
		"ServiceEntry b/a 2030-01-01T00:00:01Z",
		"ServiceEntry a/b 2030-01-01T00:00:00Z",
		"ServiceEntry default/c 2020-02-02T00:00:00Z",
	}, got); diff != "" {
		t.Error(diff)
	}
	want := oracle.Job{ID: "mesh.yaml", Objects: job.Objects, Mesh: "connectTimeout: 3s", Want: map[string]string{oracle.CDS: "^outbound", oracle.LDS: "", oracle.RDS: ""},
		Proxy: oracle.Proxy{Type: oracle.Router, Namespace: "a", Labels: map[string]string{"istio": "gw"}, Locality: "r1/z1/s1"}}
	if diff := cmp.Diff(want, *job); diff != "" {
		t.Error(diff)
	}
	var proxies []string
	for _, p := range m.Proxies() {
		proxies = append(proxies, string(p.Type)+" "+p.Namespace)
	}
	if got := strings.Join(proxies, ", "); got != "sidecar a, gateway a, sidecar b, gateway b, sidecar default, gateway default" {
		t.Errorf("proxies: %s", got)
	}
}

func TestWith(t *testing.T) {
	m := meshOf(t, manifests)
	m.MeshConfig = "{}"
	other := meshOf(t, strings.ReplaceAll(manifests, "name: api,", "name: other,")).Objects[0]
	names := func(m *agree.Mesh) string {
		var out []string
		for _, o := range m.Objects {
			out = append(out, string(o.Kind)[:1]+"/"+o.Name)
		}
		return strings.Join(out, " ")
	}
	for what, test := range map[string]struct {
		old, changed *object.Object
		want         string
	}{
		"replaced": {m.Objects[0], other, "S/other D/api V/api"},
		"removed":  {m.Objects[1], nil, "S/api V/api"},
		"added":    {nil, other, "S/api D/api V/api S/other"},
		"same":     {nil, nil, "S/api D/api V/api"},
	} {
		got := m.With(test.old, test.changed)
		if names(got) != test.want || got.MeshConfig != "{}" || got.Name != m.Name || names(m) != "S/api D/api V/api" {
			t.Errorf("%s: %s, want %s", what, names(got), test.want)
		}
	}
	for _, o := range m.Objects {
		m = m.With(o, nil)
	}
	if m.Compiles() {
		t.Error("a mesh without objects compiles")
	}
}

func TestPredict(t *testing.T) {
	m := meshOf(t, manifests)
	timeout := func() string {
		predicted, err := m.Predict(sidecar[0])
		if err != nil {
			t.Fatal(err)
		}
		return effective.Leaves(predicted[tls].Settings)["connect_timeout"]
	}
	if got := timeout(); got != "2s" {
		t.Errorf("with the rule: %s", got)
	}
	m = m.With(m.Objects[1], nil)
	if got := timeout(); got != "10s" {
		t.Errorf("without the rule: %s", got)
	}
	m.MeshConfig = "connectTimeout: 3s"
	if got := timeout(); got != "3s" {
		t.Errorf("with a mesh configuration: %s", got)
	}
}
