package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
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
		case err != nil && (q != query{} || err.Error() == ""):
			t.Errorf("%q: %v and %v", arg, q, err)
		case err == nil && (q.host == "" || len(q.host) > maxNameBytes || q.port > 65535 || !strings.Contains(arg, q.host)):
			t.Errorf("%q: %+v", arg, q)
		}
	})
}

// TestHostileEffective: what is small as text and large as a mesh is answered within bounds, or refused in words.
func TestHostileEffective(t *testing.T) {
	var wide, routes, namespaces strings.Builder
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
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mesh.yaml"), []byte(wide.String()+routes.String()+namespaces.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--all"}, {"one.example.com"}, {"ha.ua.example.com"}, {"one.example.com", "--subset", "s3999"}, {"--all", "--from", "shop", "--format", "envoy"}} {
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
