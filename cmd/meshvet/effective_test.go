package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/meshvet/meshvet/lint/egress"
)

// runIn runs the program in a folder, as a person does.
func runIn(t testing.TB, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, process{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" },
		getwd:  func() (string, error) { return dir, nil },
	})
	return out.String(), errs.String(), code
}

func effectiveSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var text bytes.Buffer
	if err := writeEffectiveSchema(&text); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(&text)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("effective.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("effective.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEffectiveMeetsSchema: every answer about the manifests of the stories, and about the fixtures of all rules, is as the schema
// says; and what --format envoy prints is JSON with a name for each item.
func TestEffectiveMeetsSchema(t *testing.T) {
	schema := effectiveSchema(t)
	dir := t.TempDir()
	for _, story := range []string{"effective", "effective-errors"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", "script", story+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if filepath.Ext(f.Name) != ".yaml" {
				continue
			}
			file := filepath.Join(dir, story, filepath.FromSlash(f.Name))
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{dir, filepath.Join(root, "rules", "testdata"), filepath.Join(root, "policies"), filepath.Join(root, "examples")} {
		for _, proxy := range []string{"sidecar", "gateway"} {
			stdout, stderr, _ := runIn(t, root, "effective", "--all", "-f", folder, "-c", os.DevNull, "--format", "json", "--proxy", proxy)
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
			if err != nil {
				t.Fatalf("%s: %v: %s", folder, err, stderr)
			}
			if err := schema.Validate(doc); err != nil {
				t.Errorf("%s, %s: %v", folder, proxy, err)
			}
			if proxy == "sidecar" && strings.Count(stdout, `"cluster": `) < 3 {
				t.Errorf("%s: next to nothing is answered", folder)
			}
			stdout, stderr, _ = runIn(t, root, "effective", "--all", "-f", folder, "-c", os.DevNull, "--format", "envoy", "--proxy", proxy)
			var clusters []struct{ Name string }
			if err := json.Unmarshal([]byte(stdout), &clusters); err != nil {
				t.Fatalf("%s: %v: %s", folder, err, stderr)
			}
			for _, c := range clusters {
				if c.Name == "" {
					t.Errorf("%s: a cluster has no name", folder)
				}
			}
		}
	}
}

// An answer that is not as the schema says must not pass, or passing means nothing.
func TestEffectiveSchemaRefuses(t *testing.T) {
	schema := effectiveSchema(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	good, stderr, code := runIn(t, root, "effective", "--all", "-f", "examples", "-c", os.DevNull, "--format", "json")
	if code != exitClean {
		t.Fatal(stderr)
	}
	for _, c := range []struct{ old, new string }{
		{`"version": "1"`, `"version": "2"`},
		{`"notes": []`, `"notes": null`},
		{`"scope": `, `"scopes": `},
		{`"status": "active"`, `"status": "on"`},
		{`"value": 4294967295`, `"value": null`},
		{`"type": "sidecar"`, `"type": "router"`},
		{`"state": `, `"status": `},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(bad))
		if err != nil {
			t.Fatal(err)
		}
		if bad == good || schema.Validate(doc) == nil {
			t.Errorf("passes with %s instead of %s", c.new, c.old)
		}
	}
}

// hostileHosts are what a person, or a program, may hand over as HOST.
var hostileHosts = []string{
	"", ":", "::", ":::", "a:", ":1", "a:b", "a:b:c", "[", "]", "[]", "[]:", "[::1", "[::1]", "[::1]:", "[::1]:443", "[::1]443", "[a]:1", "::1", "fe80::1%eth0",
	"*", "*:443", "*.example.com:443", "**", "*.", ".", "..", "a.", ".a", "a..b", "a b", "a\nb", "\x1b[31m", "\x00", "\xff\xfe", "::error::x", "-", "--", "a:0", "a:-1", "a:65536",
	"a:4294967739", "a:1e3", "a:443:", "A.EXAMPLE.COM", "bücher.example", "xn--", "127.0.0.1:80", "1.2.3", "api.example.com:443",
}

func TestHostileHosts(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	long := append([]string{}, hostileHosts...)
	for _, s := range []string{"a", "a.", ":", "[", "\x1b", "é"} {
		long = append(long, strings.Repeat(s, 1<<20/len(s)))
	}
	for _, host := range long {
		start := time.Now()
		stdout, stderr, code := runIn(t, root, "effective", "-f", "examples", "-c", os.DevNull, "--", host)
		if code != exitClean && code != exitFailed {
			t.Errorf("%.40q: exit code %d", host, code)
		}
		if code == exitFailed && (stderr == "" || strings.Count(stderr, "\n") > 3 || len(stderr) > 2000) {
			t.Errorf("%.40q: %.500s", host, stderr)
		}
		for _, text := range []string{stdout, stderr} {
			if strings.ContainsAny(text, "\x1b\x00") || strings.HasPrefix(text, "::") || strings.Contains(text, "\n::") {
				t.Errorf("%.40q: %.500q", host, text)
			}
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%.40q took %v", host, took)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, host := range hostileHosts {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		q, err := parseQuery(arg)
		switch {
		case err != nil && (q != egress.Query{} || err.Error() == ""):
			t.Errorf("%q: %v and %v", arg, q, err)
		case err == nil && (q.Host == "" || len(q.Host) > maxNameBytes || q.Port > 65535 || !strings.Contains(arg, q.Host)):
			t.Errorf("%q: %+v", arg, q)
		}
	})
}

// TestHostileEffective: what is small as text and large as a mesh is answered within bounds, or refused in words.
func TestHostileEffective(t *testing.T) {
	var wide, routes, namespaces, gateways strings.Builder
	wide.WriteString("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: wide, namespace: shop}\nspec:\n  resolution: DNS\n  hosts:\n")
	for i := range 256 {
		wide.WriteString("  - h" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + ".u" + string(rune('a'+i/26)) + ".example.com\n")
	}
	wide.WriteString("  ports:\n")
	for i := range 256 {
		wide.WriteString("  - {number: " + strconv.Itoa(i+1) + ", name: p" + strconv.Itoa(i) + ", protocol: TCP}\n")
	}
	routes.WriteString("---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: v, namespace: shop}\nspec:\n  hosts: [hxa.ua.example.com, one.example.com]\n  tcp:\n  - route:\n")
	for i := range 4000 {
		routes.WriteString("    - {destination: {host: one.example.com, subset: s" + strconv.Itoa(i) + ", port: {number: 443}}, weight: 1}\n")
	}
	routes.WriteString("---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: one, namespace: shop}\nspec:\n  resolution: DNS\n  hosts: [one.example.com]\n  ports: [{number: 443, name: tls, protocol: TLS}]\n")
	routes.WriteString("---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: one, namespace: shop}\nspec:\n  host: one.example.com\n  subsets:\n")
	for i := range 4000 {
		routes.WriteString("  - {name: s" + strconv.Itoa(i) + "}\n")
	}
	for i := range 100 {
		namespaces.WriteString("---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: d, namespace: n" + strconv.Itoa(i) +
			"}\nspec: {host: one.example.com, trafficPolicy: {connectionPool: {tcp: {maxConnections: " + strconv.Itoa(i+1) + "}}}}\n")
	}
	// Each of many ports leads through each of many gateways that are out of view, and thousands of entries share a host.
	gateways.WriteString("---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: gateways, namespace: shop}\nspec:\n  hosts: [many.example.com]\n  gateways: [mesh, out]\n  http:\n")
	for i := range 1000 {
		gateways.WriteString("  - {match: [{uri: {prefix: /" + strconv.Itoa(i) + "}}], route: [{destination: {host: out" + strconv.Itoa(i) + ".shop.svc.cluster.local, port: {number: 80}}}]}\n")
	}
	gateways.WriteString("---\napiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {name: out, namespace: shop}\nspec: {selector: {istio: egress}}\n")
	gateways.WriteString("---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: many, namespace: shop}\nspec:\n  resolution: DNS\n  hosts: [many.example.com]\n  ports:\n")
	for i := range 256 {
		gateways.WriteString("  - {number: " + strconv.Itoa(i+1) + ", name: p" + strconv.Itoa(i) + ", protocol: HTTP}\n")
	}
	for i := range 3000 {
		gateways.WriteString("---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: e" + strconv.Itoa(i) +
			", namespace: shop}\nspec: {resolution: DNS, hosts: [shared.example.com], ports: [{number: " + strconv.Itoa(i%256+1) + ", name: p, protocol: HTTP}, {number: 443, name: s, protocol: HTTP}]}\n")
	}
	gateways.WriteString("---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: shared, namespace: shop}\nspec: {host: shared.example.com, trafficPolicy: {tls: {mode: SIMPLE}}}\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mesh.yaml"), []byte(wide.String()+routes.String()+namespaces.String()+gateways.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--all"}, {"one.example.com"}, {"ha.ua.example.com"}, {"one.example.com", "--subset", "s3999"}, {"many.example.com"}, {"shared.example.com"}, {"--all", "--from", "shop", "--format", "envoy"}} {
		start := time.Now()
		var errs bytes.Buffer
		code := run(t.Context(), append([]string{"effective", "-c", os.DevNull}, args...), process{
			stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs,
			getenv: func(string) string { return "" },
			getwd:  func() (string, error) { return dir, nil },
		})
		t.Logf("%v: %v, exit code %d, %.300s", args, time.Since(start), code, errs.String())
		if took := time.Since(start); took > time.Minute || code != exitClean {
			t.Errorf("%v: took %v, exit code %d: %.500s", args, took, code, errs.String())
		}
	}
}

// TestWaysOfHostAreBounded: ports beyond the bound are named, and each of them is answered when it is asked for.
func TestWaysOfHostAreBounded(t *testing.T) {
	var mesh strings.Builder
	mesh.WriteString("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: many, namespace: shop}\nspec:\n  resolution: DNS\n  hosts: [many.example.com]\n  ports:\n")
	for i := range 12 {
		mesh.WriteString("  - {number: " + strconv.Itoa(i+1) + ", name: p" + strconv.Itoa(i) + ", protocol: HTTP}\n")
	}
	mesh.WriteString("---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: many, namespace: shop}\nspec:\n  hosts: [many.example.com]\n  http:\n  - route:\n")
	for i := range 150 {
		mesh.WriteString("    - {destination: {host: many.example.com, subset: s" + strconv.Itoa(i) + "}, weight: 1}\n")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mesh.yaml"), []byte(mesh.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := runIn(t, dir, "effective", "-c", os.DevNull, "many.example.com")
	if want := "more than 1000 ways lead to the host, and its ports 11, 12 are left out; ask for one of them"; code != exitClean || !strings.Contains(strings.Join(strings.Fields(stdout), " "), want) {
		t.Errorf("exit code %d, %s: no %q in %.3000s", code, stderr, want, stdout)
	}
	stdout, stderr, code = runIn(t, dir, "effective", "-c", os.DevNull, "many.example.com:12")
	if code != exitClean || !strings.Contains(stdout, "port 12, way 100 of 100") {
		t.Errorf("exit code %d, %s: %.3000s", code, stderr, stdout)
	}
}

// TestEjectionAgreesWithRule holds the arithmetic of the answer to that of the rule DR205, which is written in Rego.
func TestEjectionAgreesWithRule(t *testing.T) {
	var manifest strings.Builder
	type host struct{ endpoints, percent int }
	hosts := map[string]host{}
	for _, n := range []int{2, 3, 4, 5, 9, 10, 11, 20, 50} {
		for _, percent := range []int{0, 1, 5, 9, 10, 11, 25, 33, 34, 49, 50, 99, 100} {
			name := fmt.Sprintf("e%d-p%d", n, percent)
			hosts[name+".example.com"] = host{n, percent}
			fmt.Fprintf(&manifest, "---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: %s, namespace: shop}\nspec:\n  hosts: [%s.example.com]\n"+
				"  location: MESH_EXTERNAL\n  resolution: STATIC\n  ports: [{number: 443, name: tls, protocol: TLS}]\n  endpoints:\n", name, name)
			for i := range n {
				fmt.Fprintf(&manifest, "  - address: 192.0.2.%d\n", i+1)
			}
			fmt.Fprintf(&manifest, "---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: %s, namespace: shop}\nspec:\n  host: %s.example.com\n"+
				"  trafficPolicy: {outlierDetection: {maxEjectionPercent: %d}}\n", name, name, percent)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mesh.yaml"), []byte(manifest.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	found, stderr, code := runIn(t, dir, "lint", "-c", os.DevNull, "--format", "json")
	if code == exitFailed {
		t.Fatal(stderr)
	}
	var report struct {
		Findings []struct {
			ID     string
			Object struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(found), &report); err != nil {
		t.Fatal(err)
	}
	stuck := map[string]bool{}
	for _, f := range report.Findings {
		if f.ID == "DR205" {
			stuck[f.Object.Name+".example.com"] = true
		}
	}
	told, stderr, code := runIn(t, dir, "effective", "--all", "-c", os.DevNull, "--format", "json")
	if code != exitClean {
		t.Fatal(stderr)
	}
	var doc effectiveDoc
	if err := json.Unmarshal([]byte(told), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Hosts) != len(hosts) {
		t.Fatalf("%d answers, want %d", len(doc.Hosts), len(hosts))
	}
	for _, a := range doc.Hosts {
		o, h := a.Ways[0].Hops[0].Outlier, hosts[a.Host]
		switch {
		case o == nil || o.AtOnce == nil || *o.Endpoints != h.endpoints:
			t.Errorf("%s: %+v", a.Host, o)
		case (*o.AtOnce == 0) != stuck[a.Host] || (int64(h.endpoints) < o.Fewest) != stuck[a.Host]:
			t.Errorf("%s: %d at once, from %d on; DR205 finds that none can go: %v", a.Host, *o.AtOnce, o.Fewest, stuck[a.Host])
		}
	}
}
