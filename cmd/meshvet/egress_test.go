package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/object"
)

// answerTold is what this test reads of `meshvet effective --format json`, by the names of its schema.
type answerTold struct {
	Scope   string
	Clients []string
	Ways    []struct {
		Port uint32
		Hops []struct {
			Cluster, Subset, Type string
			Absent, Panics        string
			Rules                 []placeTold
			Route                 *placeTold
			Fields, TCPProxy      []struct {
				Field                 string
				Value                 any
				Source, Envoy, Status string
			}
		}
	}
}

type placeTold struct {
	Object struct {
		Kind            object.Kind
		Namespace, Name string
	}
	Location struct {
		File string
		Line int
	}
}

func (p placeTold) String() string {
	return fmt.Sprintf("%s %s/%s at %s:%d", p.Object.Kind, p.Object.Namespace, p.Object.Name, p.Location.File, p.Location.Line)
}

func refText(r egress.Ref) string {
	ns := r.Key.Namespace
	if ns == "" {
		ns = "default"
	}
	return fmt.Sprintf("%s %s/%s at %s:%d", r.Key.Kind, ns, r.Key.Name, r.At.File, r.At.Range.Start.Line)
}

// toldByEffective writes answers as lines, a setting each.
func toldByEffective(t *testing.T, answers []answerTold) []string {
	t.Helper()
	var out []string
	for _, a := range answers {
		for _, w := range a.Ways {
			for i, h := range w.Hops {
				at := fmt.Sprintf("%s %v port %d hop %d %s", a.Scope, a.Clients, w.Port, i, h.Cluster)
				typ := h.Type
				if h.Absent != "" || h.Panics != "" {
					typ = ""
				}
				out = append(out, fmt.Sprintf("%s: subset %q, type %q, rules %v, route %v", at, h.Subset, typ, h.Rules, h.Route))
				if h.Panics != "" {
					continue
				}
				for _, f := range slices.Concat(h.Fields, h.TCPProxy) {
					value := envoy.Text(f.Value)
					if m, isMessage := f.Value.(map[string]any); isMessage {
						if len(m) > 0 {
							t.Errorf("%s: a value of %s", at, f.Field)
						}
						value = envoy.Empty
					}
					path := strings.TrimPrefix(f.Envoy, "typed_extension_protocol_options.")
					out = append(out, fmt.Sprintf("%s: %s = %s from %s -> %s inert %v ignored %v", at, f.Field, object.Abridge(value), f.Source, path,
						f.Status == "inert", f.Status == "ignored"))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// toldByMap writes a map as toldByEffective does. What makes a value count for nothing stands behind its source.
func toldByMap(m *egress.Map) []string {
	var out []string
	for _, s := range m.Scopes {
		for _, host := range s.Hosts {
			for _, p := range host.Ports {
				for _, v := range p.Views {
					for i, h := range v.Hops {
						at := fmt.Sprintf("%s %v port %d hop %d %s", s.Name, v.Clients, p.Number, i, h.Cluster)
						rules := make([]string, 0, len(h.Rules))
						for _, r := range h.Rules {
							rules = append(rules, refText(r))
						}
						route := "<nil>"
						if len(h.Routes) > 0 {
							route = refText(h.Routes[0])
						}
						out = append(out, fmt.Sprintf("%s: subset %q, type %q, rules %v, route %v", at, h.Subset, h.Type, rules, route))
						for _, f := range h.Fields {
							value := f.Value
							if number, unlimited := strings.CutPrefix(value, "unlimited ("); unlimited {
								value = strings.TrimSuffix(number, ")")
							}
							source, _, _ := strings.Cut(f.Source, ", ")
							out = append(out, fmt.Sprintf("%s: %s = %s from %s -> %s inert %v ignored %v", at, f.Name, value, source, f.Envoy, f.Inert, f.Ignored))
						}
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestMapAgreesWithEffective: of the fixtures of all rules, each file a mesh, the map says what `meshvet effective --all` does: for the same
// clients the same hops, rules and routes, and of every setting the value, the source, Envoy's path and whether it counts.
func TestMapAgreesWithEffective(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, pattern := range []string{"rules/testdata/*/bad*.yaml", "policies/testdata/*/bad*.yaml", "rules/testdata/*/good*.yaml"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, slices.DeleteFunc(found, func(f string) bool {
			return strings.Contains(f, ".fixed.") || strings.Contains(f, ".before.") || strings.Contains(f, ".config.") || strings.Contains(f, ".context.")
		})...)
	}
	told := 0
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ Hosts []answerTold }
		stdout, stderr, _ := runIn(t, root, "effective", "--all", "-f", name, "-c", os.DevNull, "--format", "json")
		if stdout != "" {
			if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
				t.Fatalf("%s: %v: %s", name, err, stderr)
			}
		}
		m := mapOf(t, root, name)
		if m.LeftOut > 0 {
			continue // a mesh made to be too large
		}
		want := toldByEffective(t, doc.Hosts)
		told += len(want)
		if diff := cmp.Diff(want, toldByMap(m)); diff != "" {
			t.Errorf("%s (- effective, + map):\n%.3000s", name, diff)
		}
	}
	if told < 20*len(files) {
		t.Errorf("%d settings of %d files: next to nothing was compared", told, len(files))
	}
}

// mapOf maps the meshes of a path, as a run in a folder reads them.
func mapOf(t *testing.T, dir, path string) *egress.Map {
	t.Helper()
	a := &app{process: process{stderr: io.Discard, getwd: func() (string, error) { return dir, nil }}}
	f := newLintFlags()
	f.config = os.DevNull
	r, err := a.newRun(t.Context(), f, []string{path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	meshes, _, err := r.meshes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := egress.Build(t.Context(), meshes, egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMapOfConfigurations: of files under two configurations each host is told once, as the configuration of its own files reads the mesh,
// and so is a rule that reaches nothing; what is context only is told by the first.
func TestMapOfConfigurations(t *testing.T) {
	dir := t.TempDir()
	entry := func(name string) string {
		return "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: " + name + ", namespace: shop}\n" +
			"spec: {hosts: [" + name + ".example.com], resolution: DNS, ports: [{number: 443, name: tls, protocol: TLS}]}\n"
	}
	rule := func(name, host string) string {
		return "---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: " + name + ", namespace: base}\n" +
			"spec: {host: " + host + ", trafficPolicy: {connectionPool: {tcp: {maxConnections: 7}}}}\n"
	}
	for name, text := range map[string]string{
		".git/HEAD":       "ref: refs/heads/main\n",
		"a/.meshvet.yaml": "istio: {rootNamespace: base}\n",
		"a/mesh.yaml":     entry("a") + rule("gone", "gone.example.com"),
		"b/mesh.yaml":     entry("b"),
		"c/mesh.yaml":     entry("c") + rule("all", "'*.example.com'"), // in the root namespace of a alone
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{process: process{stderr: io.Discard, getwd: func() (string, error) { return dir, nil }, getenv: func(string) string { return "" }}}
	r, err := a.newRun(t.Context(), newLintFlags(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if _, err := r.lint(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := r.egress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rules, unreached := map[string][]int{}, 0
	for _, s := range m.Scopes {
		for _, h := range s.Hosts {
			n := 0
			for _, v := range h.Ports[0].Views {
				if slices.Contains(v.Clients, "*") {
					n = len(v.Hops[0].Rules)
				}
			}
			rules[h.Name] = append(rules[h.Name], n)
		}
		unreached += len(s.Unreached)
	}
	if want := map[string][]int{"a.example.com": {1}, "b.example.com": {0}, "c.example.com": {0}}; !cmp.Equal(want, rules) || unreached != 1 {
		t.Errorf("rules for all clients of each host: %v, want %v; %d rules reach nothing", rules, want, unreached)
	}
}
