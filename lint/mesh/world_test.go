package mesh

import (
	"context"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/object"
)

// load reads manifests as from a file.
func load(t *testing.T, manifests string) []*object.Object {
	t.Helper()
	f, err := object.Load(context.Background(), "mesh.yaml", strings.NewReader(manifests), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) > 0 {
		t.Fatalf("%s: %s", f.Problems[0].Location, f.Problems[0].Message)
	}
	return f.Objects
}

// world indexes manifests.
func world(t *testing.T, settings Settings, manifests string) *Index {
	t.Helper()
	return New(settings).With(load(t, manifests)...)
}

// named finds an object by name and kind.
func named(t *testing.T, ix *Index, kind object.Kind, ns, name string) *object.Object {
	t.Helper()
	o := ix.Get(object.Key{Kind: kind, Namespace: ns, Name: name})
	if o == nil {
		t.Fatalf("no %s %s/%s in the index", kind, ns, name)
	}
	return o
}

func entryOf(t *testing.T, ix *Index, ns, name string) *Target {
	t.Helper()
	return ix.Target(named(t, ix, object.ServiceEntry, ns, name))
}

// names lists the namespaces and names of targets.
func names(targets []*Target) []string {
	var out []string
	for _, t := range targets {
		out = append(out, t.Namespace()+"/"+t.Object.Name)
	}
	return out
}

func hostsOf(reached []Reached) []string {
	var out []string
	for _, r := range reached {
		out = append(out, string(r.Host))
	}
	return out
}

func rulesOf(m *Merged) string {
	if m == nil {
		return "none"
	}
	var out []string
	for _, r := range m.Rules {
		out = append(out, r.Namespace()+"/"+r.Object.Name)
	}
	return strings.Join(out, "+")
}

// entry writes a ServiceEntry in one line; rule a DestinationRule. spec and meta are further fields in flow style.
func entry(ns, name, hosts, meta, spec string) string {
	return "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {namespace: " + ns + ", name: " + name + meta +
		"}\nspec: {hosts: [" + hosts + "], resolution: NONE, ports: [{number: 443, name: tls, protocol: TLS}]" + spec + "}\n---\n"
}

func rule(ns, name, host, meta, spec string) string {
	return "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {namespace: " + ns + ", name: " + name + meta +
		"}\nspec: {host: '" + host + "'" + spec + "}\n---\n"
}

func created(when string) string { return ", creationTimestamp: " + when }

const pool = ", trafficPolicy: {connectionPool: {tcp: {maxConnections: 1}}}"
