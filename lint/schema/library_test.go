package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/meshvet/meshvet/lint/istio"
	"github.com/meshvet/meshvet/lint/object"
)

// TestTablesSayWhatTheCRDSays writes the tables as a schema again and compares it with the CRD, descriptions and status apart.
func TestTablesSayWhatTheCRDSays(t *testing.T) {
	for kind, k := range newValidator(t, "").kinds {
		k.load()
		got, err := k.crd.props(k.crd.crdRoot)
		if err != nil {
			t.Fatal(err)
		}
		var gotJSON, wantJSON map[string]any
		gotJSON = fromJSON(t, toJSON(t, got))
		wantJSON = fromJSON(t, toJSON(t, referenceFor(t, kind).schema))
		undescribed(wantJSON)
		delete(gotJSON["properties"].(map[string]any), "status")
		delete(wantJSON["properties"].(map[string]any), "status")
		if diff := cmp.Diff(wantJSON, gotJSON); diff != "" {
			t.Errorf("%s: the tables differ from the CRD (-CRD +tables), run go generate ./lint/schema:\n%s", kind, diff)
		}
	}
}

// undescribed removes the descriptions from a schema, but no field that is called so.
func undescribed(schema map[string]any) {
	if _, ok := schema["description"].(string); ok {
		delete(schema, "description")
	}
	for key, v := range schema {
		m, ok := v.(map[string]any)
		switch {
		case ok && key == "properties":
			for _, p := range m {
				undescribed(p.(map[string]any))
			}
		case ok:
			undescribed(m)
		}
	}
}

// madeUp returns a Validator of ServiceEntry whose spec has one field more, with a schema of the test's making.
func madeUp(t *testing.T, name string, n node, rules map[string]decider) *Validator {
	t.Helper()
	v := newValidator(t, "")
	table := func() *crd {
		c := serviceEntryCRD()
		id := c.add(n)
		spec := c.nodes[c.root].props[0].node
		c.nodes[spec].props = append(slices.Clone(c.nodes[spec].props), prop{name: name, node: id})
		sortProps(c.nodes[spec].props)
		return c
	}
	v.kinds["ServiceEntry"] = newKind("ServiceEntry", table, istio.Release{}, rules)
	return v
}

// TestKeywordsOfTheLibrary has constraints that only the library knows.
func TestKeywordsOfTheLibrary(t *testing.T) {
	tests := []struct {
		name, spec string
		node       node
		want       []string
	}{
		{"a pattern that fits", `{"hosts": ["a"], "code": "abc"}`, node{typ: stringType, more: `{"pattern": "^[a-c]+$"}`}, nil},
		{"a pattern that does not", `{"hosts": ["a"], "code": "abd"}`, node{typ: stringType, more: `{"pattern": "^[a-c]+$"}`}, []string{
			`invalid value spec.code: code: should match '^[a-c]+$'`,
		}},
		{"beside a mistake of ours", `{"hosts": ["a", 5], "code": "abd"}`, node{typ: stringType, more: `{"pattern": "^[a-c]+$"}`}, []string{
			`invalid value spec.code: code: should match '^[a-c]+$'`,
			`invalid value spec.hosts[1]: hosts[1] is the number 5; a string is required, so put it in quotes: "5" -> 5`,
		}},
		{"properties too few", `{"hosts": ["a"], "code": {}}`, node{typ: objectType, values: 5, more: `{"minProperties": 1}`}, []string{
			`invalid value spec.code: code: should have at least 1 properties`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := madeUp(t, "code", tt.node, deciders())
			raw := fromJSON(t, se(tt.spec))
			if v.Valid("ServiceEntry", Of(raw)) {
				t.Error("Valid decides what it does not know")
			}
			got, err := v.Validate(t.Context(), "ServiceEntry", raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSettingsOfRules has rules as a later CRD might bring them.
func TestSettingsOfRules(t *testing.T) {
	pair := func(r rule) node { return node{typ: objectType, values: 11, rules: []rule{r}} }
	tests := []struct {
		name string
		node node
		spec string
		want []string
		err  string
	}{
		{"a message expression", pair(rule{text: "self.min <= self.max", more: `{"rule": "", "messageExpression": "'min ' + string(self.min) + ' is above max'"}`}),
			`{"hosts": ["a"], "pair": {"min": 5, "max": 3}}`, []string{`invalid value spec.pair: pair: min 5 is above max`}, ""},
		{"a rule without a message", pair(rule{text: "self.min <= self.max"}),
			`{"hosts": ["a"], "pair": {"min": 5, "max": 3}}`, []string{`invalid value spec.pair: pair: failed rule: self.min <= self.max`}, ""},
		{"a rule that holds", pair(rule{text: "self.min <= self.max"}), `{"hosts": ["a"], "pair": {"min": 1, "max": 3}}`, nil, ""},
		{"a rule that fails to run", pair(rule{text: "self.min <= self.max"}), `{"hosts": ["a"], "pair": {"min": 1}}`,
			[]string{`invalid value spec.pair: pair: no such key: max evaluating rule: self.min <= self.max`}, ""},
		{"a rule about changes", pair(rule{text: "self == oldSelf"}), `{"hosts": ["a"], "pair": {"min": 1}}`, nil, ""},
		{"a rule that is no CEL", pair(rule{text: "self.("}), `{"hosts": ["a"], "pair": {"min": 1}}`, nil, "compile"},
		{"a rule that costs too much", node{typ: arrayType, items: 5, rules: []rule{{text: "self.all(a, self.all(b, self.all(c, a + b != c)))", message: "dear"}}},
			`{"hosts": ["a"], "pair": ["` + strings.Repeat(`aaaaaaaaaaaaaaaaaaaaaa", "`, 300) + `"]}`, nil, "cost"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := madeUp(t, "pair", tt.node, nil)
			got, err := v.Validate(t.Context(), "ServiceEntry", fromJSON(t, se(tt.spec)))
			if err != nil {
				t.Fatal(err)
			}
			if tt.err != "" {
				// The API server refuses the object for a rule that it cannot evaluate, and so do we.
				if len(got) != 1 || !strings.Contains(got[0].Message, tt.err) {
					t.Errorf("want one violation that says %q, got %q", tt.err, lines(got))
				}
				return
			}
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReconcile(t *testing.T) {
	raw := fromJSON(t, se(`{"hosts": ["a"], "endpoints": [{"labels": {"a.b/c": "x", "a": "y"}}]}`))
	ours := func(from source, path string) finding {
		return finding{Violation{Path: object.ParsePath(path), Message: "ours"}, from}
	}
	errAt := func(path string) *field.Error {
		return &field.Error{Type: field.ErrorTypeInvalid, Field: path, Detail: path + " in body is wrong."}
	}
	tests := []struct {
		name    string
		found   []finding
		errs    field.ErrorList
		excused []object.Path
		want    []string
	}{
		{"the library accepts the object", []finding{ours(fromSchema, "spec.hosts"), ours(fromRule, "spec.ports"), ours(fromDecoding, "x")}, nil, nil,
			[]string{"spec.ports: ours", "x: ours"}},
		{"both find the same", []finding{ours(fromSchema, "spec.hosts")}, field.ErrorList{errAt("spec.hosts")}, nil, []string{"spec.hosts: ours"}},
		{"the library finds a consequence", []finding{ours(fromSchema, "spec.hosts[0]")}, field.ErrorList{errAt("spec.hosts"), errAt("<nil>")}, nil, []string{"spec.hosts[0]: ours"}},
		{"the library finds something below", []finding{ours(fromSchema, "spec")}, field.ErrorList{errAt("spec.hosts[0]")}, nil, []string{"spec: ours"}},
		{"the library alone finds something", []finding{ours(fromSchema, "spec.ports")}, field.ErrorList{errAt("spec.hosts[0]")}, nil,
			[]string{"spec.ports: ours", "spec.hosts[0]: hosts[0]: is wrong"}},
		{"a key with dots", nil, field.ErrorList{errAt("spec.endpoints[0].labels.a.b/c"), errAt("spec.endpoints[0].labels[a]")}, nil,
			[]string{`spec.endpoints[0].labels["a.b/c"]: labels["a.b/c"]: is wrong`, "spec.endpoints[0].labels.a: a: is wrong"}},
		{"a field that is not there", nil, field.ErrorList{field.Required(field.NewPath("spec", "ports").Index(3).Child("name"), "")}, nil,
			[]string{"spec.ports[3].name: ports[3] has no name, which is required"}},
		{"a field under a wrong name", []finding{ours(fromDecoding, "spec.host")}, field.ErrorList{field.Required(field.NewPath("spec", "hosts"), "")},
			[]object.Path{{"spec", "hosts"}}, []string{"spec.host: ours"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := walker{excused: tt.excused}
			var got []string
			for _, f := range w.reconcile(tt.found, fromSchema, tt.errs, raw) {
				got = append(got, f.Path.String()+": "+f.Message)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGuarded(t *testing.T) {
	err := guarded("the schema library", func() error { panic("no such schema") })
	if err == nil || err.Error() != "the schema library panicked: no such schema" {
		t.Errorf("error %v", err)
	}
	if err := guarded("the schema library", func() error { return nil }); err != nil {
		t.Errorf("error %v without a panic", err)
	}
}

// TestFailuresOfTheLibraries breaks the tables so that the libraries fail.
func TestFailuresOfTheLibraries(t *testing.T) {
	tests := []struct {
		name string
		node node
		want string
	}{
		{"keywords that the library refuses", node{typ: stringType, more: `{"$ref": "#/x"}`}, "validating a ServiceEntry: structural schema: OpenAPIV3Schema '$ref' is not supported"},
		{"unreadable keywords", node{typ: stringType, more: `{`}, "validating a ServiceEntry: reading {"},
		{"unreadable settings of a rule", node{typ: stringType, rules: []rule{{text: "true", more: `{`}}}, `validating a ServiceEntry: rule "true" at spec.code: reading {`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := madeUp(t, "code", tt.node, deciders())
			raw := fromJSON(t, se(`{"hosts": ["a", 5], "code": "x"}`))
			for range 2 { // the second time, what failed is not made again
				got, err := v.Validate(t.Context(), "ServiceEntry", raw)
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
					t.Errorf("error %v, want %s", err, tt.want)
				}
				if len(got) != 1 {
					t.Errorf("what the walk found is not kept: %v", lines(got))
				}
			}
		})
	}
}
