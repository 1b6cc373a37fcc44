package report

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

const reportSchema = "../../schemas/report.schema.json"

func TestJSONMeetsSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	schema, err := c.Compile(reportSchema)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range goldens {
		if g.format == "json" {
			t.Run(g.name, func(t *testing.T) { validate(t, schema, write(t, g.format, g.opt, g.report(t))) })
		}
	}
}

// A report that is not as the schema says must not pass, or passing means nothing.
func TestSchemaRefuses(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(reportSchema)
	if err != nil {
		t.Fatal(err)
	}
	good := string(write(t, "json", Options{}, fixture(t)))
	for _, c := range []struct{ name, old, new string }{
		{"unknown field", `"version": "1"`, `"version": "1", "more": 1`},
		{"unknown field of a finding", `"suppressed": null`, `"suppressed": null, "docs": ""`},
		{"other version", `"version": "1"`, `"version": "2"`},
		{"null list", `"related": []`, `"related": null`},
		{"unknown severity", `"severity": "warning"`, `"severity": "note"`},
		{"remove with a value", `"op": "remove"`, `"value": 1, "op": "remove"`},
		{"dotted path of an operation", `"path": "/spec/resolution"`, `"path": "spec.resolution"`},
		{"missing field", `"suppressed": null`, `"fingerprint": ""`},
		{"suppressed without a reason", `"suppressed": null`, `"suppressed": {"reason": "", "where": "a.yaml:1:1", "until": ""}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(good, c.old, c.new, 1)
			if bad == good {
				t.Fatalf("the report has no %s", c.old)
			}
			if schema.Validate(decode(t, []byte(bad))) == nil {
				t.Errorf("passes with %s instead of %s", c.new, c.old)
			}
		})
	}
}

// The contract of the JSON report is also an order of fields, which people see.
func TestJSONFieldOrder(t *testing.T) {
	f := finding(notDNS, load(t, "a.yaml", fixtureFiles["egress/payments.yaml"]).Objects[0], "spec.resolution", "m")
	r := &lint.Report{Findings: []lint.Finding{f}, Problems: []object.Problem{{Kind: object.Syntax, Message: "m"}}}
	got := topKeys(t, write(t, "json", Options{}, r))
	want := "version findings problems skipped scopes context baselines since stats"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("fields of the report: %s, want %s", s, want)
	}
	var doc struct{ Findings []json.RawMessage }
	if err := json.Unmarshal(write(t, "json", Options{}, r), &doc); err != nil {
		t.Fatal(err)
	}
	want = "id name severity message effect object path location related fixes fingerprint suppressed caused rendered"
	if s := strings.Join(topKeys(t, doc.Findings[0]), " "); s != want {
		t.Errorf("fields of a finding: %s, want %s", s, want)
	}
}

// topKeys lists the keys of a JSON object as they stand.
func topKeys(t *testing.T, doc []byte) []string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(doc))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func TestSARIFMeetsOfficialSchema(t *testing.T) {
	schema := officialSARIFSchema(t)
	for _, g := range goldens {
		if g.format == "sarif" {
			t.Run(g.name, func(t *testing.T) { validate(t, schema, write(t, g.format, g.opt, g.report(t))) })
		}
	}
	// A log that is not as the schema says must not pass, also in its fixes and related places, or passing means nothing.
	for _, c := range []struct{ old, new string }{
		{`"columnKind": "unicodeCodePoints"`, `"columnKind": "bytes"`},
		{`"artifactChanges": [`, `"changes": [`},
		{`"deletedRegion": {`, `"deleted": {`},
		{`"insertedContent": {`, `"insertedContent": {"line": 1, `},
		{"\"relatedLocations\": [\n", "\"relatedLocations\": [1,\n"},
		{`"id": 1,`, `"id": -2,`},
	} {
		t.Run("refuses "+c.new, func(t *testing.T) {
			good := string(write(t, "sarif", Options{Edits: edits}, fixture(t)))
			bad := strings.Replace(good, c.old, c.new, 1)
			if bad == good {
				t.Fatalf("the log has no %s", c.old)
			}
			if schema.Validate(decode(t, []byte(bad))) == nil {
				t.Errorf("passes with %s instead of %s", c.new, c.old)
			}
		})
	}
}

// officialSARIFSchema takes the schema of OASIS from the source of the SARIF library, which carries it unchanged but does not
// export it. The library's own check cannot take its place: it looks at the library's values, not at what was written.
func officialSARIFSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3").Output()
	if err != nil {
		t.Fatalf("find the module of the SARIF library: %v", err)
	}
	file := filepath.Join(strings.TrimSpace(string(dir)), "pkg", "report", "v210", "sarif", "schema.go")
	src, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	ast.Inspect(src, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 && spec.Names[0].Name == "schema" {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				text, err = strconv.Unquote(lit.Value)
			}
		}
		return true
	})
	if err != nil || text == "" {
		t.Fatalf("%s holds no schema: %v", file, err)
	}
	doc := decode(t, []byte(text))
	m, ok := doc.(map[string]any)
	if !ok || m["id"] != sarifSchema {
		t.Fatalf("%s is not the schema that reports name, %s", file, sarifSchema)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(sarifSchema, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(sarifSchema)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func decode(t *testing.T, doc []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func validate(t *testing.T, schema *jsonschema.Schema, doc []byte) {
	t.Helper()
	if err := schema.Validate(decode(t, doc)); err != nil {
		t.Errorf("%v\n%s", err, doc)
	}
}
