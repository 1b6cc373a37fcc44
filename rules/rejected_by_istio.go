package rules

import (
	"fmt"
	"regexp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/validation"
)

// filledInLater recognises words such as ${POD_IP} or <IP>, which stand for a value that is not known yet.
var filledInLater = regexp.MustCompile("[$<{%]")

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MV907",
		Name:     "rejected-by-istio",
		Title:    "Istio's validating webhook refuses the object",
		Category: lint.CategoryInput,
		Severity: lint.Error,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.ServiceEntry, object.DestinationRule},
		Summary: "A value, or two that do not go together, which the schema of the kind lets pass and Istio's validating webhook does not; named " +
			"where it stands, and all of them at once.",
		Why: "The webhook istiod-validator answers kubectl apply with a text that names neither the field nor, often, the value. A GitOps controller " +
			"keeps trying, and what is in the cluster stays as it was. Where the webhook is not installed, or cannot be reached while its " +
			"failurePolicy is Ignore, the object gets in, and Istio makes of it what it can: some of it crashes istiod's generator, some of it is " +
			"compiled into what Envoy refuses.\n\n" +
			"What the schema itself refuses is MV902's. Where another rule explains the fault at the same field better, that one speaks.",
		Remedy: "Write the value as the message wants it.",
		Proof:  lint.Proof{Kind: "rejects", Text: "Istio's own validation refuses the bad manifest and takes the fixed one"},
		References: []string{
			"https://istio.io/latest/docs/ops/configuration/mesh/validation/",
			"https://istio.io/latest/docs/ops/common-problems/validation/",
		},
	},
	Check: func(p *lint.Pass) error {
		for _, r := range validation.Refusals(p.Object) {
			if v := p.Object.Lookup(r.Path); filledInLater.MatchString(v.Str()) {
				p.Skip(fmt.Sprintf("%s is %q, to be replaced before the manifest is applied: lint the output of what replaces it", r.Path, v.Str()))
				continue
			}
			at := r.Path
			if r.Missing != "" {
				at = at.Child(r.Missing)
			}
			effect := "istiod's webhook rejects the object, and kubectl apply fails with it; what was in force before stays in force"
			if r.Sometimes {
				effect = "istiod's webhook rejects the object on some attempts and takes it on others, since it compares the localities in a random order"
			}
			p.Report(at, r.Message, lint.Effect(effect))
		}
		return nil
	},
})
