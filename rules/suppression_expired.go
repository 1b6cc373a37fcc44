package rules

import (
	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MV905",
		Name:     "suppression-expired",
		Title:    "A suppression that has expired, lacks a reason, or has no effect for another fault of its own",
		Category: lint.CategoryInput,
		Severity: lint.Warning,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.ServiceEntry, object.DestinationRule},
		View:     lint.ViewFiles,
		Summary: "A comment `# meshvet:ignore` or an annotation `meshvet.dev/ignore` whose last day is over; that gives no reason; whose last day " +
			"cannot be read; that names what is no rule or category, or a rule that can never be suppressed, or one that the configuration does not " +
			"allow to be suppressed; or that stands where it is about nothing.",
		Why: "It silences nothing, or not all that it names, so the findings that its author accepted are reported, and fail runs. That is meant " +
			"where it has expired: somebody has promised to be done by then.\n\n" +
			"A day is over when it is over in UTC. At admission, where the annotation is all that is left, the same is said in a warning.",
		Remedy:         "Cure what it names and remove it, or correct it as the message says.",
		Fix:            lint.Unsafe,
		Proof:          lint.Proof{Kind: "input", Text: "a suppression holds until the end of its last day, and takes a reason and names of rules"},
		Unsuppressible: true,
		References:     []string{"https://github.com/meshvet/meshvet/blob/main/docs/guide/suppress.md"},
	},
	CheckSuppression: func(p *lint.SuppressionPass) error {
		for i := range p.Faults {
			f := &p.Faults[i]
			effect := "the findings that it names are reported"
			var extras []lint.Extra
			if f.Expired {
				effect = "the findings that it silenced are reported again"
				if fix, ok := p.RemovalOfAll(); ok {
					extras = append(extras, lint.Suggest(fix))
				}
			}
			p.ReportFault(f, f.Subject+" "+f.Message, append(extras, lint.Effect(effect))...)
		}
		return nil
	},
})
