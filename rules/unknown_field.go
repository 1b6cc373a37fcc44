package rules

import (
	"fmt"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/schema"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MV901",
		Name:     "unknown-field",
		Title:    "A field that Istio does not have",
		Category: lint.CategoryInput,
		Severity: lint.Error,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.ServiceEntry, object.DestinationRule},
		View:     lint.ViewFiles,
		Summary:  "A field, anywhere in a ServiceEntry or DestinationRule, that the CustomResourceDefinition or Kubernetes' metadata does not have.",
		Why: "kubectl refuses such an object, but most GitOps controllers apply without strict validation: then the API server drops the field " +
			"and stores the rest, no webhook ever sees it, and the setting that was meant never exists. Istio's own parser drops unknown fields " +
			"in silence as well, so `istioctl analyze` and a running mesh say nothing.\n\n" +
			"The snake_case names of Istio's protobuf definitions are dropped in the same way; they are a warning, since tools that read the " +
			"protobuf form do take them.",
		Remedy:         "Write the field's name as the reference has it.",
		Fix:            lint.Unsafe,
		Proof:          lint.Proof{Kind: "input", Text: "the structural schema of the CustomResourceDefinition in istio.io/api does not have the field"},
		Unsuppressible: true,
		References: []string{
			"https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation",
			"https://istio.io/latest/docs/reference/config/networking/",
		},
	},
	Check: func(p *lint.Pass) error {
		violations, err := p.SchemaViolations()
		if err != nil {
			return fmt.Errorf("validate against the schema: %w", err)
		}
		for _, v := range violations {
			if v.Kind != schema.UnknownField && v.Kind != schema.NewerField {
				continue
			}
			extras := []lint.Extra{
				lint.OnKey(p.Object),
				lint.Effect("kubectl refuses the object; a GitOps controller that applies without strict validation loses the field, and the rest is in force without it"),
			}
			if v.SnakeCase {
				extras = append(extras, lint.As(lint.Warning))
			}
			if fix, ok := renameFix(p.Object, v); ok {
				extras = append(extras, lint.Suggest(fix))
			}
			p.Report(v.Path, v.Message, extras...)
		}
		return nil
	},
})

// renameFix moves the value of an unknown field to where it was most likely meant, if nothing stands there.
func renameFix(o *object.Object, v schema.Violation) (lint.Fix, bool) {
	to := v.Belongs
	if to == nil && v.Suggestion != "" {
		to = v.Path.Parent().Child(v.Suggestion)
	}
	if to == nil || o.Lookup(to).Exists() || to.HasPrefix(v.Path) {
		return lint.Fix{}, false
	}
	ops := lint.SetOps(o, []lint.Setting{{Path: to, Value: o.Lookup(v.Path).Any()}})
	ops = append(ops, lint.Op{Kind: lint.Remove, Path: v.Path})
	return lint.Fix{Title: fmt.Sprintf("write it as %s", to), Safety: lint.Unsafe, Ops: ops}, true
}
