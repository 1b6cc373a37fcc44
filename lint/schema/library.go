package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/meshvet/meshvet/lint/object"
)

// library is what the API server makes of a CRD to validate a kind.
type library struct {
	once       sync.Once
	validator  validation.SchemaValidator
	structural *structuralschema.Structural
	err        error
}

// judge returns what the walk found in an object and the libraries agree to.
func (w *walker) judge(raw map[string]any) ([]Violation, error) {
	found, err := w.found, w.err
	if !w.full() { // else they are not needed, and what they take for many errors grows with the square of these
		var libErr error
		if found, libErr = w.consult(raw); err == nil {
			err = libErr
		}
	}
	var out []Violation
	for _, f := range found {
		out = append(out, f.Violation)
	}
	return out, err
}

// consult lets the libraries have the last word on what the walk found: an object that they accept is not accused, and what only
// they find is added. The error tells what kept them from it; the findings are then those of the walk.
func (w *walker) consult(raw map[string]any) ([]finding, error) {
	schema, metadata := w.unsure || w.holds(fromSchema), w.unsureMeta || w.holds(fromMetadata)
	if !schema && !metadata {
		return w.found, nil
	}
	left := maxCopied + 1 // what is left of it shows that nothing was cut off
	root, _ := w.k.prune(w.k.crd.root, Of(raw), &left).(map[string]any)
	switch {
	case left > 0:
	case w.unsure || w.unsureMeta:
		return w.found, fmt.Errorf("it has more than %d values, so it is not validated to the end", maxCopied)
	default:
		return w.found, nil
	}
	delete(root, "status")
	found := w.found
	var failed error
	if schema {
		errs, err := w.k.schemaErrors(root)
		if failed = err; err == nil {
			found = w.reconcile(found, fromSchema, errs, raw)
		}
	}
	if metadata {
		errs, err := metadataErrors(root)
		if err == nil {
			found = w.reconcile(found, fromMetadata, errs, raw)
		} else if failed == nil {
			failed = err
		}
	}
	return found, failed
}

func (w *walker) holds(from source) bool {
	for _, f := range w.found {
		if f.from == from {
			return true
		}
	}
	return false
}

// reconcile compares the findings of one source with the errors of the library for it.
func (w *walker) reconcile(found []finding, from source, errs field.ErrorList, raw map[string]any) []finding {
	var out []finding
	for _, f := range found {
		if f.from != from || len(errs) > 0 {
			out = append(out, f)
		}
	}
	for _, e := range errs {
		at := resolve(raw, e.Field)
		excused := slices.ContainsFunc(w.excused, func(p object.Path) bool { return p.Equal(at) })
		if !excused && !covered(at, out) {
			out = append(out, finding{reworded(at, e), from})
		}
	}
	return out
}

// covered says whether a finding is about the field that an error names, or about one above or below it: the libraries report
// consequences too, such as an alternative of a oneOf that a bad value fails.
func covered(at object.Path, found []finding) bool {
	return slices.ContainsFunc(found, func(f finding) bool { return f.Path.HasPrefix(at) || at.HasPrefix(f.Path) })
}

// resolve finds the path that an error names in the object. The libraries write a key as .key or [key], dots and all.
func resolve(v any, at string) object.Path {
	path := object.Path{}
	if at == "<nil>" {
		return path
	}
	for at != "" {
		switch m := v.(type) {
		case map[string]any:
			key, rest, ok := cutKey(m, at)
			if !ok {
				return append(path, object.ParsePath(at)...)
			}
			path, v, at = append(path, key), m[key], strings.TrimPrefix(rest, ".")
			if rest == "." {
				path = append(path, "") // an empty key
			}
		case []any:
			inner, rest, _ := strings.Cut(strings.TrimPrefix(at, "["), "]")
			i, err := strconv.Atoi(inner)
			if err != nil || i < 0 || i >= len(m) {
				return append(path, object.ParsePath(at)...)
			}
			path, v, at = append(path, i), m[i], strings.TrimPrefix(rest, ".")
			if rest == "." {
				path = append(path, "")
			}
		default:
			return append(path, object.ParsePath(at)...)
		}
	}
	return path
}

// cutKey cuts the longest key of a mapping that a path starts with off the path.
func cutKey(m map[string]any, at string) (key, rest string, ok bool) {
	for k := range m {
		after, found := strings.CutPrefix(at, "["+k+"]")
		if !found {
			after, found = strings.CutPrefix(at, k)
			found = found && (after == "" || after[0] == '.' || after[0] == '[')
		}
		if found && (!ok || len(k) > len(key)) {
			key, rest, ok = k, after, true
		}
	}
	return key, rest, ok
}

// reworded makes a violation of a library's error.
func reworded(at object.Path, e *field.Error) Violation {
	if e.Type == field.ErrorTypeRequired && len(at) > 0 {
		return Violation{Path: at, Kind: MissingField, Message: fmt.Sprintf("%s has no %s, which is required", label(at.Parent(), -1), label(at, -1))}
	}
	detail := strings.TrimPrefix(e.Detail, e.Field+" in body ")
	if detail == "" {
		detail = strings.ToLower(e.Type.String())
	}
	return Violation{Path: at, Message: label(at, -1) + ": " + strings.TrimSuffix(detail, ".")}
}

// schemaErrors validates with the schema, as a CRD's registry strategy does on creation before it comes to the CEL rules.
func (k *kindSchema) schemaErrors(root map[string]any) (errs field.ErrorList, err error) {
	k.library.once.Do(func() {
		k.library.err = guarded("the schema library", func() (err error) {
			k.library.validator, k.library.structural, err = k.crd.compile(k.crd.crdRoot)
			return err
		})
	})
	if k.library.err != nil {
		return nil, k.library.err
	}
	err = guarded("the schema library", func() error {
		errs = validation.ValidateCustomResource(nil, root, k.library.validator)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.library.structural, root)...)
		return nil
	})
	return errs, err
}

// metadataErrors decodes and validates metadata, as the API server does on creation once it has filled in what it fills in.
func metadataErrors(root map[string]any) (errs field.ErrorList, err error) {
	at := field.NewPath("metadata")
	err = guarded("the metadata library", func() error {
		meta, found, decodeErr := objectmeta.GetObjectMeta(root, false)
		switch {
		case decodeErr != nil:
			errs = field.ErrorList{field.Invalid(at, nil, decodeErr.Error())}
			return nil
		case !found:
			errs = field.ErrorList{field.Required(at.Child("name"), "")}
			return nil
		}
		if meta.Namespace == "" {
			meta.Namespace = "default"
		}
		if meta.Name == "" && meta.GenerateName != "" {
			meta.Name = "generated"
		}
		errs = apivalidation.ValidateObjectMeta(meta, true, apivalidation.NameIsDNSSubdomain, at)
		return nil
	})
	return errs, err
}

// guarded turns a panic of a library into an error.
func guarded(what string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s panicked: %v", what, r)
		}
	}()
	return f()
}

// maxCopied bounds how many values of an object are handed to the libraries: of a larger one they get nothing, since they would
// judge what is cut off. The walk looks at all values.
const maxCopied = 100_000

// prune copies a value the way the API server decodes it: without the fields that the schema does not have, and without nulls where the
// schema has none. What has the wrong type is copied without what is in it. left counts down to where the copy ends.
func (k *kindSchema) prune(id nodeID, v Value, left *int) any {
	*left--
	n := &k.crd.nodes[id]
	switch v.Type() {
	case Bool:
		return v.Bool()
	case Int:
		return v.Int()
	case Float:
		return v.Float()
	case String:
		return v.Str()
	case List:
		out := []any{}
		if n.items == 0 {
			return out
		}
		for item := v.First(); item != nil && *left > 0; item = item.Next() {
			out = append(out, k.prune(n.items, item, left))
		}
		return out
	case Map:
		out := map[string]any{}
		for f := v.First(); f != nil && *left > 0; f = f.Next() {
			child := n.values
			if i := n.find(f.Key()); i >= 0 && !n.props[i].newer {
				child = n.props[i].node
			}
			if child == 0 || f.Type() == Null && !k.crd.nodes[child].nullable {
				continue
			}
			out[f.Key()] = k.prune(child, f, left)
		}
		return out
	}
	return nil
}

// compile brings the schema of a node into the forms that the libraries validate with.
func (c *crd) compile(id nodeID) (validation.SchemaValidator, *structuralschema.Structural, error) {
	internal, err := c.internal(id)
	if err != nil {
		return nil, nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, nil, fmt.Errorf("structural schema: %w", err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, nil, fmt.Errorf("schema validator: %w", err)
	}
	return validator, structural, nil
}

func (c *crd) internal(id nodeID) (*apiextensions.JSONSchemaProps, error) {
	props, err := c.props(id)
	if err != nil {
		return nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, fmt.Errorf("converting a schema: %w", err)
	}
	return internal, nil
}

// props writes a node as it stood in the CRD.
func (c *crd) props(id nodeID) (*apiextensionsv1.JSONSchemaProps, error) {
	n := &c.nodes[id]
	s := &apiextensionsv1.JSONSchemaProps{
		Type:     [...]string{"", "string", "integer", "number", "boolean", "array", "object"}[n.typ],
		Nullable: n.nullable,
		Format:   n.format,
		Required: n.required,
	}
	if n.minimum.set {
		s.Minimum = &n.minimum.value
	}
	if n.maximum.set {
		s.Maximum = &n.maximum.value
	}
	s.MaxLength, s.MinItems, s.MaxItems, s.MaxProperties = count(n.maxLength), count(n.minItems), count(n.maxItems), count(n.maxProperties)
	for _, e := range n.enum {
		raw, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: raw})
	}
	if n.open {
		s.XPreserveUnknownFields = &n.open
	}
	if n.listMapKey != "" {
		kind := "map"
		s.XListType, s.XListMapKeys = &kind, []string{n.listMapKey}
	}
	for _, p := range n.props {
		child, err := c.props(p.node)
		if err != nil {
			return nil, err
		}
		if s.Properties == nil {
			s.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		s.Properties[p.name] = *child
	}
	if n.items != 0 {
		child, err := c.props(n.items)
		if err != nil {
			return nil, err
		}
		s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: child}
	}
	if n.values != 0 {
		child, err := c.props(n.values)
		if err != nil {
			return nil, err
		}
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: child}
	}
	for _, group := range n.atMostOne {
		none := &apiextensionsv1.JSONSchemaProps{}
		oneOf := []apiextensionsv1.JSONSchemaProps{{Not: none}}
		for _, name := range group {
			one := apiextensionsv1.JSONSchemaProps{Required: []string{name}}
			none.AnyOf = append(none.AnyOf, one)
			oneOf = append(oneOf, one)
		}
		if len(n.atMostOne) == 1 {
			s.OneOf = oneOf
		} else {
			s.AllOf = append(s.AllOf, apiextensionsv1.JSONSchemaProps{OneOf: oneOf})
		}
	}
	for i := range n.rules {
		r, err := n.rules[i].validation()
		if err != nil {
			return nil, err
		}
		s.XValidations = append(s.XValidations, r)
	}
	if n.more != "" {
		if err := json.Unmarshal([]byte(n.more), s); err != nil {
			return nil, fmt.Errorf("reading %s: %w", n.more, err)
		}
	}
	return s, nil
}

func count(n int) *int64 {
	if n == 0 {
		return nil
	}
	i := int64(n)
	return &i
}

// validation writes a rule as it stood in the CRD.
func (r *rule) validation() (apiextensionsv1.ValidationRule, error) {
	var v apiextensionsv1.ValidationRule
	if r.more != "" {
		if err := json.Unmarshal([]byte(r.more), &v); err != nil {
			return v, fmt.Errorf("reading %s: %w", r.more, err)
		}
	}
	v.Rule, v.Message = r.text, r.message
	return v, nil
}

// celPrograms holds the compiled CEL rules that have no decider.
type celPrograms struct {
	mu       sync.Mutex
	programs map[ruleID]*celProgram
}

type ruleID struct {
	node nodeID
	rule int
}

type celProgram struct {
	once      sync.Once
	validator *cel.Validator
	err       error
}

// evaluate asks the CEL library about one rule of a node. It is called for rules without a decider, in a walk that is not quick.
func (w *walker) evaluate(id nodeID, i int, v Value) bool {
	if w.quick || w.err != nil {
		return false
	}
	r := &w.k.crd.nodes[id].rules[i]
	errs, budget, err := w.k.cel.evaluate(w.ctx, w.k, ruleID{id, i}, v, w.celBudget)
	w.celBudget = budget
	if err != nil {
		w.err = fmt.Errorf("rule %q at %s: %w", r.text, w.path, err)
		return false
	}
	for _, e := range errs {
		rel := object.ParsePath(strings.TrimPrefix(strings.TrimPrefix(e.Field, celRoot), "."))
		message := e.Detail
		if r.message != "" && e.Detail == r.message {
			message = "the rule of the CustomResourceDefinition is broken: " + r.message
		}
		w.report(fromRule, InvalidValue, rel, v, fmt.Sprintf("%s: %s", label(w.path.Child(rel...), w.free), message))
	}
	return len(errs) == 0
}

// celRoot stands for the value at hand in the paths of CEL errors.
const celRoot = "self"

func (c *celPrograms) evaluate(ctx context.Context, k *kindSchema, id ruleID, v Value, budget int64) (errs field.ErrorList, left int64, err error) {
	c.mu.Lock()
	if c.programs == nil {
		c.programs = map[ruleID]*celProgram{}
	}
	p := c.programs[id]
	if p == nil {
		p = &celProgram{}
		c.programs[id] = p
	}
	c.mu.Unlock()
	p.once.Do(func() {
		p.err = guarded("the CEL library", func() (err error) {
			p.validator, err = k.crd.program(id)
			return err
		})
	})
	if p.err != nil {
		return nil, budget, p.err
	}
	copied := maxCopied
	value := k.prune(id.node, v, &copied)
	err = guarded("the CEL library", func() error {
		errs, left = p.validator.Validate(ctx, field.NewPath(celRoot), nil, value, nil, budget)
		return ctx.Err()
	})
	return errs, left, err
}

// program compiles one rule.
func (c *crd) program(id ruleID) (*cel.Validator, error) {
	internal, err := c.internal(id.node)
	if err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("structural schema: %w", err)
	}
	rule := structural.XValidations[id.rule]
	dropRules(structural)
	structural.XValidations = apiextensionsv1.ValidationRules{rule}
	return cel.NewValidator(structural, id.node == c.crdRoot, celconfig.PerCallLimit), nil
}

// dropRules removes every rule from a schema, so that only the one that is put back is compiled.
func dropRules(s *structuralschema.Structural) {
	s.XValidations = nil
	if s.Items != nil {
		dropRules(s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		dropRules(s.AdditionalProperties.Structural)
	}
	for name, p := range s.Properties {
		dropRules(&p)
		s.Properties[name] = p
	}
}
