package egress_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/object"
)

var update = flag.Bool("update", false, "rewrite golden files")

// world reads manifests as meshes.
func world(t testing.TB, manifests string) []lint.Mesh {
	t.Helper()
	f, err := object.Load(t.Context(), "mesh.yaml", strings.NewReader(manifests), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := lint.New(nil, &lint.Config{})
	if err != nil {
		t.Fatal(err)
	}
	meshes, _, err := engine.Meshes(lint.Input{Files: []*object.File{f}})
	if err != nil {
		t.Fatal(err)
	}
	return meshes
}

func build(t testing.TB, manifests string, opt egress.Options) *egress.Map {
	t.Helper()
	m, err := egress.Build(t.Context(), world(t, manifests), opt)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// textOf writes all of a map, for people to compare.
func textOf(m *egress.Map) string {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		fmt.Fprintln(&b, strings.TrimRight(strings.Repeat("  ", indent)+fmt.Sprintf(format, args...), " "))
	}
	refs := func(list []egress.Ref) (out []string) {
		for _, r := range list {
			out = append(out, fmt.Sprintf("%s (%s)", r.Key, r.At))
		}
		return out
	}
	for _, s := range m.Scopes {
		line(0, "scope %q, notes %q", s.Name, s.Notes)
		for _, h := range s.Hosts {
			line(1, "%s %q, seen from %q, notes %q", h.Name, refs(h.Entries), h.Namespaces, h.Notes)
			for _, p := range h.Ports {
				line(2, "port %d %s %s", p.Number, p.Protocol, p.Name)
				for _, v := range p.Views {
					line(3, "clients in %q %s", v.Clients, v.Note)
					for _, hop := range v.Hops {
						line(4, "%s -> %s, subset %q, %s, TLS %s, rules %q, routes %q, caveats %q", hop.Proxy, hop.Cluster, hop.Subset, hop.Type, hop.TLS, refs(hop.Rules), refs(hop.Routes), hop.Caveats)
						for _, f := range hop.Facts {
							line(5, "* %s", f)
						}
						for _, f := range hop.Fields {
							line(5, "%s = %s [%s] %s inert=%v ignored=%v %s", f.Name, f.Value, f.Source, f.At, f.Inert, f.Ignored, f.Envoy)
						}
					}
				}
			}
		}
		for _, r := range s.Unreached {
			line(1, "unreached: %s for %s (%s)", r.Key, r.Host, r.At)
		}
	}
	return b.String()
}

// TestBuild: a host with a policy for some namespaces, one behind an egress gateway, one that is kept from all but a namespace, a Service, and
// a rule that reaches nothing.
func TestBuild(t *testing.T) {
	manifests, err := os.ReadFile(filepath.Join("testdata", "mesh.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got := textOf(build(t, string(manifests), egress.Options{}))
	golden := filepath.Join("testdata", "mesh.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(- golden, + now):\n%s", diff)
	}
}

// TestBound: what is over the bound is counted, and hosts that matter stay.
func TestBound(t *testing.T) {
	var text strings.Builder
	for _, n := range []string{"a", "b", "c", "d"} {
		text.WriteString("---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: " + n + ", namespace: shop}\nspec: {hosts: [" + n + ".example.com], resolution: DNS, ports: [{number: 443, name: tls, protocol: TLS}]}\n")
	}
	text.WriteString("---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: c, namespace: shop}\nspec: {host: c.example.com}\n")
	first := map[object.Key]bool{{Kind: object.ServiceEntry, Namespace: "shop", Name: "d"}: true}
	m := build(t, text.String(), egress.Options{MaxHosts: 3, First: first})
	var names []string
	for _, h := range m.Scopes[0].Hosts {
		names = append(names, h.Name)
	}
	if diff := cmp.Diff([]string{"a.example.com", "c.example.com", "d.example.com"}, names); diff != "" || m.LeftOut != 1 {
		t.Errorf("%d left out, hosts\n%s", m.LeftOut, diff)
	}
}

// TestStop: a run that is stopped makes no map.
func TestStop(t *testing.T) {
	meshes := world(t, "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: a, namespace: shop}\nspec: {hosts: [a.example.com], resolution: DNS, ports: [{number: 443, name: tls, protocol: TLS}]}\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := egress.Build(ctx, meshes, egress.Options{}); err == nil {
		t.Errorf("%+v", m)
	}
}

// crowd is a mesh in which a host is open to all, and n namespaces have a rule of their own for it.
func crowd(n int) string {
	var b strings.Builder
	b.WriteString("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: api, namespace: shop}\nspec: {hosts: [api.example.com], resolution: DNS, ports: [{number: 443, name: tls, protocol: TLS}]}\n")
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: api, namespace: n%04d}\nspec: {host: api.example.com, exportTo: [.], trafficPolicy: {connectionPool: {tcp: {maxConnections: %d}}}}\n", i, i+1)
	}
	return b.String()
}

// allowed is a mesh in which a host is exported to n namespaces, all of which get the same.
func allowed(n int) string {
	var b, namespaces strings.Builder
	b.WriteString("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: api, namespace: shop}\nspec:\n  hosts: [api.example.com]\n  resolution: DNS\n  ports: [{number: 443, name: tls, protocol: TLS}]\n  exportTo:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - n%04d\n", i)
		fmt.Fprintf(&namespaces, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: n%04d}\n", i)
	}
	return b.String() + namespaces.String()
}

// TestManyNamespaces: what namespaces get alike is told once; what each of a thousand gets by a rule of its own is told up to a bound, of
// which a note tells. Clients elsewhere are told in any case.
func TestManyNamespaces(t *testing.T) {
	for _, c := range []struct {
		name         string
		mesh         string
		views, named int
		others       bool
		note         string
	}{
		{"different", crowd(1000), 300, 300, true, "what clients of 702 more namespaces get is left out"},
		{"within the bound", crowd(200), 201, 202, true, ""},
		{"alike", allowed(1000), 1, 1000, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := build(t, c.mesh, egress.Options{}).Scopes[0].Hosts[0]
			views := h.Ports[0].Views
			if len(views) != c.views || len(h.Namespaces) != c.named {
				t.Errorf("%d views, %d namespaces", len(views), len(h.Namespaces))
			}
			if last := views[len(views)-1].Clients; (last[len(last)-1] == "*") != c.others {
				t.Errorf("the last view is that of %v", last)
			}
			if notes := strings.Join(h.Notes, "\n"); !strings.Contains(notes, c.note) || (c.note == "") != (notes == "") {
				t.Errorf("notes: %s", notes)
			}
		})
	}
}

// TestHops: hosts after the bound on hops are counted, and a host of more ways than are told says so.
func TestHops(t *testing.T) {
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, "---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: e%d, namespace: shop}\nspec:\n  hosts: [h%d.example.com]\n  resolution: DNS\n  ports:\n", i, i)
		for port := range 200 {
			fmt.Fprintf(&text, "  - {number: %d, name: p%d, protocol: TCP}\n", port+1, port)
		}
	}
	// Clients of the namespace other have a rule of their own.
	text.WriteString("---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: own, namespace: other}\nspec: {host: h0.example.com, exportTo: [.], trafficPolicy: {connectionPool: {tcp: {maxConnections: 7}}}}\n")
	m := build(t, text.String(), egress.Options{MaxHops: 500})
	if hosts := m.Scopes[0].Hosts; len(hosts) != 2 || m.LeftOut != 3 {
		t.Fatalf("%d hosts, %d left out", len(hosts), m.LeftOut)
	}
	h := m.Scopes[0].Hosts[0]
	told := 0
	for _, p := range h.Ports {
		for _, v := range p.Views {
			told += len(v.Hops)
		}
	}
	if want := "100 more ways to the host are left out; meshvet effective h0.example.com tells them"; told != 300 || !strings.Contains(strings.Join(h.Notes, "\n"), want) {
		t.Errorf("%d hops, notes %q", told, h.Notes)
	}
}

// TestLimits: what is in the mesh and not applied is noted.
func TestLimits(t *testing.T) {
	m := build(t, "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: narrow, namespace: shop}\nspec: {egress: [{hosts: [./*]}]}\n---\n"+crowd(0), egress.Options{})
	if want := []string{"Sidecar shop/narrow limits what the proxies of shop see, and is not applied"}; !cmp.Equal(want, m.Scopes[0].Notes) {
		t.Errorf("notes %q, want %q", m.Scopes[0].Notes, want)
	}
}
