package rules

import (
	"fmt"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/schema"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:         "MV902",
		Name:       "invalid-value",
		Title:      "A value that the API server refuses",
		Category:   lint.CategoryInput,
		Severity:   lint.Error,
		Presets:    []string{"recommended", "strict"},
		Kinds:      []object.Kind{object.ServiceEntry, object.DestinationRule},
		Yields:     true,
		Supersedes: []lint.Supersede{{Rule: "MV907", Scope: lint.ScopePath}},
		Summary: "A value that the CustomResourceDefinition, its CEL rules or Kubernetes' rules for metadata refuse: a wrong type, an unknown enum " +
			"word, a duration without unit or below its minimum, a number out of range, fields that exclude one another, a missing required field.",
		Why: "The object never enters the cluster, so what is in force is its previous version or nothing. The API server names one fault at a " +
			"time or buries several in one line; here each has its place in the file.\n\n" +
			"YAML itself produces some of these: an unquoted `n`, `y`, `on` or `off` is a boolean to Kubernetes, and `1.30` a number.\n\n" +
			"A variable such as `${PORT}`, which something replaces before the manifest is applied, is listed as not judged.",
		Remedy:     "Write a value of the type and range that the message names.",
		Fix:        lint.Unsafe,
		Proof:      lint.Proof{Kind: "input", Text: "the Kubernetes libraries refuse the object under the schema and CEL rules that ship in istio.io/api"},
		References: []string{"https://istio.io/latest/docs/reference/config/networking/"},
	},
	Check: func(p *lint.Pass) error {
		violations, err := p.SchemaViolations()
		if err != nil {
			return fmt.Errorf("validate against the schema: %w", err)
		}
		for _, v := range violations {
			if v.Kind != schema.InvalidValue && v.Kind != schema.MissingField {
				continue
			}
			if at := p.Object.Lookup(v.Path); v.Kind == schema.InvalidValue && at.Type() == object.String && object.HasPlaceholder(at.Str()) {
				p.Skip(fmt.Sprintf("%s is %q, to be replaced before the manifest is applied: lint the output of what replaces it", v.Path, at.Str()))
				continue
			}
			extras := []lint.Extra{lint.Effect("the API server refuses the object; what was in force before stays in force")}
			if v.Kind == schema.InvalidValue && v.Replacement != nil {
				extras = append(extras, lint.Suggest(lint.Fix{
					Title: fmt.Sprintf("write %v", v.Replacement), Safety: lint.Unsafe,
					Ops: []lint.Op{{Kind: lint.Replace, Path: v.Path, Value: v.Replacement}},
				}))
			}
			p.Report(v.Path, v.Message, extras...)
		}
		return nil
	},
})
