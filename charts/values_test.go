package charts

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	valuesFile = chart + "/values.yaml"
	schemaFile = chart + "/values.schema.json"
)

// bundle looks like a CA, in a form that fits into YAML between double quotes.
const bundle = `-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n`

func valuesSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchema says what values.schema.json takes and what it refuses.
func TestSchema(t *testing.T) {
	schema := valuesSchema(t)
	if err := schema.Validate(decode(t, read(t, valuesFile))); err != nil {
		t.Errorf("the chart's own values: %v", err)
	}
	for _, s := range scenarios(t) {
		if err := schema.Validate(withoutNulls(decode(t, read(t, s.file)))); err != nil {
			t.Errorf("%s: %v", s.file, err)
		}
	}
	for _, values := range []string{
		`{global: {anything: 1}}`, // Helm hands it to every chart that is part of another
		`replicaCount: 1`,
		`webhook: {timeoutSeconds: 30}`,
		`webhook: {namespaceSelector: {matchExpressions: [{key: mesh, operator: Exists}]}}`,
		`image: {digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}`,
		`tls: {provided: {caBundle: "` + bundle + bundle + `"}}`,
		`resources: {limits: {cpu: 0.5, memory: 1Gi, ephemeral-storage: 1Gi}}`,
		`resources: {limits: null}`,
		`podSecurityContext: {runAsUser: null, seLinuxOptions: {level: "s0:c1"}}`,
		`goMemLimit: "off"`,
		`podDisruptionBudget: {maxUnavailable: 25%}`,
		`config: {rules: {SE999: "off"}, webhook: {actions: [{rules: [a-rule-of-a-newer-image], action: deny}]}}`,
	} {
		// Helm drops nulls before it asks the schema.
		if err := schema.Validate(withoutNulls(decode(t, values))); err != nil {
			t.Errorf("%s: refused: %v", values, err)
		}
	}
	for _, values := range []string{
		`replicas: 2`,
		`webhook: {mode: warn}`,
		`image: {repo: x}`,
		`image: {digest: "0123"}`,
		`image: {tag: "a b"}`,
		`image: {pullPolicy: Sometimes}`,
		`replicaCount: 0`,
		`replicaCount: "2"`,
		`webhook: {failurePolicy: ignore}`,
		`webhook: {timeoutSeconds: 0}`,
		`webhook: {timeoutSeconds: 31}`,
		`webhook: {port: 443}`, // a user that is not root cannot serve it
		`webhook: {port: 65536}`,
		`webhook: {namespaceSelector: {matchExpressions: [{key: mesh, operator: Is}]}}`,
		`webhook: {namespaceSelector: {mesh: strict}}`,
		`webhook: {matchConditions: [{name: x}]}`,
		`webhook: {exemptionLabel: {groups: ["it's"]}}`, // would end the CEL string
		`webhook: {exemptionLabel: {groups: ["a\\b"]}}`,
		`webhook: {annotations: {a: 1}}`,
		`tls: {mode: certmanager}`,
		`tls: {minVersion: 1.2}`,
		`tls: {certManager: {issuerRef: {kind: ClusterIssuer}}}`,
		`tls: {certManager: {duration: 90d}}`,
		`tls: {provided: {caBundle: LS0tLS1CRUdJTi}}`, // base64 is the chart's part
		`meshConfigMap: ""`,
		`shutdownDelaySeconds: -1`,
		`shutdownDelaySeconds: 10s`,
		`log: {level: warn}`,
		`extraArgs: [--webhook-cert-path, /tmp]`, // the chart could not tell which flag a word belongs to
		`metrics: {serviceMonitor: {interval: 30}}`,
		`resources: {limits: {memory: much}}`,
		`resources: {claims: []}`,
		`goMemLimit: 384Mi`, // Go's units end in B
		`tolerations: [{key: a, effect: Never}]`,
		`topologySpreadConstraints: [{topologyKey: zone}]`,
		`podDisruptionBudget: {maxUnavailable: 101%}`,
		`podDisruptionBudget: {minAvailable: 0}`,
		`networkPolicy: {metricsFrom: [{}]}`, // an empty peer
		`networkPolicy: {metricsFrom: [{namespaceSelektor: {}}]}`,
		`rbac: {create: "yes"}`,
		`test: {namespace: ""}`,
		`config: {rule: {}}`,
		`config: {version: 2}`,
		`config: {istio: {rootnamespace: x}}`,
		`config: {webhook: {actions: [{action: block}]}}`,
	} {
		if schema.Validate(decode(t, values)) == nil {
			t.Errorf("%s: not refused", values)
		}
	}
}

func withoutNulls(v any) any {
	m, _ := v.(map[string]any)
	for k, x := range m {
		if x == nil {
			delete(m, k)
		}
		withoutNulls(x)
	}
	return v
}

// TestConfigSchema holds the schema of `config` to that of .meshvet.yaml. Names of rules are not known to it, so
// that a chart does not refuse the rules of a newer image, and it extends no files.
func TestConfigSchema(t *testing.T) {
	var config map[string]any
	unmarshal(t, "../schemas/config.schema.json", &config)
	delete(config, "$id")
	delete(config, "$schema")
	properties := config["properties"].(map[string]any)
	properties["rules"] = map[string]any{
		"type":        "object",
		"description": properties["rules"].(map[string]any)["description"],
	}
	overrides := properties["overrides"].(map[string]any)["items"].(map[string]any)["properties"].(map[string]any)
	overrides["rules"] = map[string]any{"type": "object", "minProperties": 1.0, "description": overrides["rules"].(map[string]any)["description"]}
	extends := properties["extends"].(map[string]any) // a ConfigMap is in no repository
	extends["items"] = extends["items"].(map[string]any)["anyOf"].([]any)[0]
	openRuleNames(config)

	var values map[string]any
	unmarshal(t, schemaFile, &values)
	definitions := values["definitions"].(map[string]any)
	if *update {
		definitions["config"] = config
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(values); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(schemaFile, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(config, definitions["config"]); diff != "" {
		t.Errorf("%s is not up to date with schemas/config.schema.json; run go test ./charts -update (- the latter, + the former):\n%s", schemaFile, diff)
	}
}

// openRuleNames replaces each list of all rules by any text.
func openRuleNames(v any) {
	switch v := v.(type) {
	case map[string]any:
		if names, ok := v["enum"].([]any); ok && slices.Contains(names, any("SE101")) {
			delete(v, "enum")
			v["type"] = "string"
			v["minLength"] = 1.0
		}
		for _, x := range v {
			openRuleNames(x)
		}
	case []any:
		for _, x := range v {
			openRuleNames(x)
		}
	}
}

func unmarshal(t *testing.T, path string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, path)), v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestSchemaIsClosed: a misspelt value is refused everywhere, except in what Kubernetes or Prometheus judge themselves.
func TestSchemaIsClosed(t *testing.T) {
	open := map[string]bool{
		"global": true, "affinity": true, "podSecurityContext": true, "securityContext": true,
		"metrics.serviceMonitor.relabelings[]": true, "metrics.serviceMonitor.metricRelabelings[]": true,
		"networkPolicy.egress[]": true,
	}
	var root map[string]any
	unmarshal(t, schemaFile, &root)
	definitions := root["definitions"].(map[string]any)
	delete(definitions, "config") // closed as far as that of .meshvet.yaml is
	seen := map[string]bool{}
	var walk func(path string, s map[string]any)
	walk = func(path string, s map[string]any) {
		if _, described := s["description"]; !described && path != "" && s["$ref"] == nil && !strings.HasSuffix(path, "[]") && !strings.HasSuffix(path, "*") {
			t.Errorf("%s has no description", path)
		}
		properties, _ := s["properties"].(map[string]any)
		if s["type"] == "object" {
			switch more := s["additionalProperties"].(type) {
			case bool:
				if more {
					t.Errorf("%s takes any value", path)
				}
			case map[string]any:
				walk(path+".*", more)
			default:
				if !open[path] || properties != nil {
					t.Errorf("%s takes any value", path)
				}
				seen[path] = true
			}
		}
		for name, p := range properties {
			walk(strings.TrimPrefix(path+"."+name, "."), p.(map[string]any))
		}
		if items, ok := s["items"].(map[string]any); ok {
			walk(path+"[]", items)
		}
	}
	walk("", root)
	for name, d := range definitions {
		walk("definition "+name, d.(map[string]any))
	}
	if diff := cmp.Diff(sorted(open), sorted(seen)); diff != "" {
		t.Errorf("objects that take any value (- expected + there):\n%s", diff)
	}
}

// TestValuesAreDescribed: values.yaml, its schema and the README know the same values.
func TestValuesAreDescribed(t *testing.T) {
	var root map[string]any
	unmarshal(t, schemaFile, &root)
	readme := read(t, filepath.Join(chart, "README.md"))
	comments := strings.Split(read(t, valuesFile), "\n")

	// both walks what the schema and values.yaml say of the same place.
	var both func(path string, schema map[string]any, values map[string]any)
	both = func(path string, schema, values map[string]any) {
		properties := schema["properties"].(map[string]any)
		for _, name := range sorted(properties) {
			at := strings.TrimPrefix(path+"."+name, ".")
			value, there := values[name]
			if !there {
				if at != "global" {
					t.Errorf("%s is in the schema and not in values.yaml", at)
				}
				continue
			}
			if below, ok := value.(map[string]any); ok && len(below) > 0 && !documented(comments, at) {
				both(at, properties[name].(map[string]any), below)
				continue
			}
			if !documented(comments, at) {
				t.Errorf("%s has no comment in values.yaml", at)
			}
			if !strings.Contains(readme, "| "+at+" |") {
				t.Errorf("%s is not in the README", at)
			}
		}
		for _, name := range sorted(values) {
			if properties[name] == nil {
				t.Errorf("%s.%s is in values.yaml and not in the schema", path, name)
			}
		}
	}
	values := decode(t, read(t, valuesFile)).(map[string]any)
	both("", root, values)
}

// documented says whether a comment for the README stands above a value. Values are indented by two blanks a level.
func documented(lines []string, path string) bool {
	keys := strings.Split(path, ".")
	depth := 0
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		indent := (len(line) - len(text)) / 2
		if text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "-") || indent != depth {
			continue
		}
		if !strings.HasPrefix(text, keys[depth]+":") {
			continue
		}
		if depth++; depth < len(keys) {
			continue
		}
		for i--; i >= 0 && strings.HasPrefix(strings.TrimLeft(lines[i], " "), "#"); i-- {
			if strings.HasPrefix(strings.TrimLeft(lines[i], " "), "# -- ") {
				return true
			}
		}
		return false
	}
	return false
}
