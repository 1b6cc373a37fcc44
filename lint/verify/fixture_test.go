package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/dump"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/verify"
)

var oracle = flag.String("oracle", "", "program of test/oracle with which to make testdata/*.json anew")

// world is a mesh with what Istio compiles from it for one proxy: testdata/NAME.yaml, and NAME.json, which holds a resource a line.
// The latter was made by istio.io/istio at eed52ebb66ad (August 2026); go test -oracle PROGRAM makes it anew.
type world struct {
	name       string
	meshConfig string // file in testdata
	proxy      effective.Proxy
}

var worlds = []world{
	{name: "tls", proxy: effective.Proxy{Type: effective.Sidecar, Namespace: "shop", Labels: map[string]string{"app": "app"}}},
	{name: "pool", proxy: effective.Proxy{Type: effective.Sidecar, Namespace: "shop"}},
	{name: "balance", proxy: effective.Proxy{Type: effective.Sidecar, Namespace: "shop"}},
	{name: "mesh", meshConfig: "meshconfig.yaml", proxy: effective.Proxy{Type: effective.Sidecar, Namespace: "shop"}},
	{name: "gateway", proxy: effective.Proxy{Type: effective.Gateway, Namespace: "shop", Labels: map[string]string{"istio": "egressgateway"}}},
}

// compiled are the resources that Istio compiles, with field names in camel case.
type compiled struct{ Clusters, Listeners, Routes []map[string]any }

func (w world) compile(t *testing.T) {
	t.Helper()
	args := []string{"-f", w.name + ".yaml", "-ns", w.proxy.Namespace, "-cds", "-lds", "-rds"}
	if w.meshConfig != "" {
		args = append(args, "-mesh", w.meshConfig)
	}
	if w.proxy.Type == effective.Gateway {
		args = append(args, "-proxy", "router")
	}
	cmd := exec.CommandContext(t.Context(), *oracle, args...)
	cmd.Dir = "testdata"
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Err           string
		CDS, LDS, RDS map[string]json.RawMessage
	}
	if err := json.Unmarshal(out, &got); err != nil || got.Err != "" {
		t.Fatal(err, got.Err)
	}
	delete(got.LDS, "virtualInbound") // large, and about what comes in
	var b bytes.Buffer
	b.WriteString("{")
	for i, kind := range []struct {
		name string
		of   map[string]json.RawMessage
	}{{"clusters", got.CDS}, {"listeners", got.LDS}, {"routes", got.RDS}} {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n\"" + kind.name + "\": [")
		for j, name := range slices.Sorted(maps.Keys(kind.of)) {
			if j > 0 {
				b.WriteString(",")
			}
			b.WriteString("\n")
			if err := json.Compact(&b, kind.of[name]); err != nil {
				t.Fatal(err)
			}
		}
		b.WriteString("]")
	}
	b.WriteString("}\n")
	if err := os.WriteFile(filepath.Join("testdata", w.name+".json"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// load returns fresh resources, which a test may change.
func (w world) load(t testing.TB) compiled {
	t.Helper()
	return parse(t, w.text(t))
}

func (w world) text(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", w.name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parse(t testing.TB, text []byte) compiled {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var c compiled
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// index reads the manifests. edit changes their text; nil = as they are.
func (w world) index(t testing.TB, edit func(string) string) *mesh.Index {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", w.name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var settings mesh.Settings
	if w.meshConfig != "" {
		data, err := os.ReadFile(filepath.Join("testdata", w.meshConfig))
		if err != nil {
			t.Fatal(err)
		}
		doc, problem := object.ParseDocument(w.meshConfig, data, object.Limits{})
		if problem != nil {
			t.Fatal(problem.Message)
		}
		settings.MeshConfig = doc.Root()
	}
	s := string(text)
	if edit != nil {
		s = edit(s)
	}
	f, err := object.Load(context.Background(), w.name+".yaml", strings.NewReader(s), object.Limits{})
	if err != nil || len(f.Problems) > 0 {
		t.Fatal(err, f.Problems)
	}
	return mesh.New(settings).With(f.Objects...)
}

// compare runs a comparison over resources.
func compare(t testing.TB, ix *mesh.Index, proxy effective.Proxy, c compiled) *verify.Report {
	t.Helper()
	v := verify.New(ix, proxy)
	for _, of := range []struct {
		kind dump.Kind
		list []map[string]any
	}{{dump.Cluster, c.Clusters}, {dump.Listener, c.Listeners}, {dump.Route, c.Routes}} {
		for _, body := range of.list {
			name, _ := body["name"].(string)
			_ = v.Visit(dump.Resource{Kind: of.kind, State: dump.Active, Name: name, Body: body})
		}
	}
	r, err := v.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
