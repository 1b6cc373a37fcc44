package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/lint/object"
)

// reference is an API server with Istio's CRDs, as far as creating an object goes: the same library calls in the same order, on the CRD
// text of the Go module and not on our tables.
type reference struct {
	kind       string
	schema     *apiextensionsv1.JSONSchemaProps
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	cel        *cel.Validator
}

var references = sync.OnceValues(func() (map[string]*reference, error) {
	out, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "istio.io/api").Output()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "kubernetes", "customresourcedefinitions.gen.yaml"))
	if err != nil {
		return nil, err
	}
	refs := map[string]*reference{}
	for doc := range bytes.SplitSeq(text, []byte("\n---")) {
		for _, kind := range []string{"ServiceEntry", "DestinationRule"} {
			if !bytes.Contains(doc, []byte("kind: "+kind+"\n")) {
				continue
			}
			var crd apiextensionsv1.CustomResourceDefinition
			if err := yaml.UnmarshalStrict(doc, &crd); err != nil {
				return nil, err
			}
			if crd.Spec.Names.Kind != kind {
				continue
			}
			r := &reference{kind: kind, schema: crd.Spec.Versions[0].Schema.OpenAPIV3Schema}
			internal := &apiextensions.JSONSchemaProps{}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(r.schema, internal, nil); err != nil {
				return nil, err
			}
			if r.structural, err = structuralschema.NewStructural(internal); err != nil {
				return nil, err
			}
			if r.validator, _, err = validation.NewSchemaValidator(internal); err != nil {
				return nil, err
			}
			r.cel = cel.NewValidator(r.structural, true, celconfig.PerCallLimit)
			refs[kind] = r
		}
	}
	return refs, nil
})

func referenceFor(t testing.TB, kind string) *reference {
	t.Helper()
	refs, err := references()
	if err != nil {
		t.Fatalf("building the reference: %v", err)
	}
	return refs[kind]
}

// admit creates an object: it returns the unknown fields that strict decoding reports and the errors of validation.
func (r *reference) admit(ctx context.Context, raw map[string]any) (unknown []string, errs field.ErrorList) {
	obj := runtime.DeepCopyJSON(raw)
	for _, name := range []string{"apiVersion", "kind"} {
		if _, ok := obj[name].(string); !ok {
			errs = append(errs, field.Invalid(field.NewPath(name), obj[name], "not a string"))
		}
	}
	if obj["kind"] != r.kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), obj["kind"], "another kind"))
	}
	if v, _ := obj["apiVersion"].(string); !slices.Contains([]string{
		"networking.istio.io/v1", "networking.istio.io/v1beta1", "networking.istio.io/v1alpha3",
	}, v) {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), obj["apiVersion"], "no match"))
	}
	meta, _, metaUnknown, err := objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return unknown, append(errs, field.Invalid(field.NewPath("metadata"), nil, err.Error()))
	}
	for _, u := range metaUnknown {
		unknown = append(unknown, strings.TrimPrefix(u, "<nil>."))
	}
	obj["status"] = map[string]any{} // not ours to judge: what people apply has none, and on creation it is dropped
	unknown = append(unknown, pruning.PruneWithOptions(obj, r.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, r.structural)
	delete(obj, "status")
	if meta == nil {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), ""))
	} else {
		if meta.Namespace == "" {
			meta.Namespace = "default"
		}
		if meta.Name == "" && meta.GenerateName != "" {
			meta.Name = "generated"
		}
		errs = append(errs, apivalidation.ValidateObjectMeta(meta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	}
	errs = append(errs, validation.ValidateCustomResource(nil, obj, r.validator)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.structural, obj)...)
	for _, e := range errs {
		switch e.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return unknown, errs // the CEL rules are not run
		}
	}
	celErrs, _ := r.cel.Validate(ctx, nil, r.structural, obj, nil, celconfig.RuntimeCELCostBudget)
	return unknown, append(errs, celErrs...)
}

// fromJSON decodes an object as the API server does.
func fromJSON(t testing.TB, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := utiljson.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// disagreement compares a Validator with the reference on one object. It returns "" if they agree on whether the object is valid, on its
// unknown fields, and on which fields are wrong.
func disagreement(t testing.TB, v *Validator, kind string, raw map[string]any) string {
	t.Helper()
	before := toJSON(t, raw)
	ref := referenceFor(t, kind)
	unknown, errs := ref.admit(t.Context(), raw)
	valid := v.Valid(kind, Of(raw))
	got, err := v.Validate(t.Context(), kind, raw)
	var b strings.Builder
	if after := toJSON(t, raw); after != before {
		b.WriteString("Validate changed the object to " + after + "\n")
	}
	if err != nil {
		b.WriteString("Validate failed: " + err.Error() + "\n")
	}
	if valid && len(got) > 0 {
		b.WriteString("Valid says yes, Validate no\n")
	}
	found := make([]finding, len(got))
	invalid := 0
	for i, x := range got {
		found[i].Violation = x
		if x.Kind != UnknownField {
			invalid++
		}
		if x.Message == "" || strings.HasSuffix(x.Message, ".") {
			b.WriteString("message is empty or ends in a full stop: " + x.Message + "\n")
		}
	}
	if invalid > 0 && len(errs) == 0 || len(errs) > 0 && len(got) == 0 {
		b.WriteString("the API server and Validate disagree on whether a value is invalid\n")
	}
	// Below a value of the wrong type, the API server lists unknown fields that are no more than a consequence.
	for _, u := range unknown {
		at := unknownPath(raw, u)
		if len(got) < maxViolations && !slices.ContainsFunc(got, func(x Violation) bool {
			return x.Kind == UnknownField && x.Path.Equal(at) || x.Kind == InvalidValue && at.HasPrefix(x.Path)
		}) {
			b.WriteString("the API server alone finds the unknown field " + u + "\n")
		}
	}
	for _, x := range got {
		if x.Kind == UnknownField && !metaFailed(errs) &&
			!slices.ContainsFunc(unknown, func(u string) bool { return x.Path.Equal(unknownPath(raw, u)) }) {
			b.WriteString("only Validate finds the unknown field " + x.Path.String() + "\n")
		}
	}
	for _, e := range errs {
		at := resolve(raw, e.Field)
		excused := slices.ContainsFunc(got, func(x Violation) bool {
			return x.Kind == UnknownField && x.Suggestion != "" && x.Path.Parent().Child(x.Suggestion).Equal(at)
		})
		if len(got) < maxViolations && !excused && !covered(at, found) {
			b.WriteString("the API server alone finds " + e.Error() + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	b.WriteString("object: " + before + "\n")
	for _, x := range got {
		b.WriteString("  Validate: " + x.Path.String() + ": " + x.Message + "\n")
	}
	for _, e := range errs {
		b.WriteString("  API server: " + e.Error() + "\n")
	}
	return b.String()
}

// metaFailed says whether metadata could not be decoded, so that the API server never got to the unknown fields.
func metaFailed(errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Field == "metadata" })
}

func unknownPath(raw map[string]any, u string) object.Path {
	if u == "" {
		return object.Path{""}
	}
	return resolve(raw, u)
}
