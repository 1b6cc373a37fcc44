package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MV908",
		Name:     "wrong-group",
		Title:    "A ServiceEntry or DestinationRule under a misspelt API group or kind",
		Category: lint.CategoryInput,
		Severity: lint.Warning,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.Stray},
		Summary: "An object of kind ServiceEntry or DestinationRule whose apiVersion is missing or is a typing error away from networking.istio.io; " +
			"or one of that group whose kind is one of the two but for case, white space, a plural or a typing error.",
		Why: "No CustomResourceDefinition has such a group or kind, so the API server refuses the object; and a tool that selects by group or kind " +
			"passes it over, so nothing else in the pipeline says a word. Other products that use the same kinds under a group of their own are not " +
			"reported.",
		Remedy:     "Write `apiVersion: networking.istio.io/v1`, and the kind as `ServiceEntry` or `DestinationRule`.",
		Fix:        lint.Unsafe,
		Proof:      lint.Proof{Kind: "input", Text: "the CustomResourceDefinitions of Istio are in the group networking.istio.io"},
		References: []string{"https://istio.io/latest/docs/reference/config/networking/"},
	},
	Check: func(p *lint.Pass) error {
		if written := p.Object.Lookup(object.Path{"kind"}); written.Exists() && written.Str() != string(p.Object.Kind) {
			message := fmt.Sprintf("kind %q of %s is none of Istio's; did you mean %s?", written.Str(), p.Object.Key, p.Object.Kind)
			if written.Type() != object.String {
				message = fmt.Sprintf("the kind of %s is a %s; did you mean %s?", p.Object.Key, written.Type(), p.Object.Kind)
			}
			p.Report(object.Path{"kind"}, message,
				lint.Effect("the API server does not know the kind, so the object never exists and Istio never sees it"),
				lint.Suggest(lint.Fix{Title: "write " + string(p.Object.Kind), Safety: lint.Unsafe, Ops: []lint.Op{
					{Kind: lint.Replace, Path: object.Path{"kind"}, Value: string(p.Object.Kind)},
				}}),
			)
			return nil
		}
		_, version, _ := strings.Cut(p.Object.APIVersion, "/")
		if !slices.Contains([]string{"v1", "v1beta1", "v1alpha3"}, version) {
			version = "v1"
		}
		want := object.IstioGroup + "/" + version
		kind := lint.Add
		message := fmt.Sprintf("%s has no apiVersion; did you mean %s?", p.Object.Key, want)
		if p.Object.Lookup(object.Path{"apiVersion"}).Exists() {
			kind = lint.Replace
			message = fmt.Sprintf("apiVersion %q of %s is no group of Istio's; did you mean %s?", p.Object.APIVersion, p.Object.Key, want)
		}
		p.Report(object.Path{"apiVersion"}, message,
			lint.Effect("the API server does not know the kind under this group, so the object never exists and Istio never sees it"),
			lint.Suggest(lint.Fix{Title: "write " + want, Safety: lint.Unsafe, Ops: []lint.Op{{Kind: kind, Path: object.Path{"apiVersion"}, Value: want}}}),
		)
		return nil
	},
})
