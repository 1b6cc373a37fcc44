package rules

import (
	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MV909",
		Name:     "gate-changed",
		Title:    "A change to what decides about the change",
		Category: lint.CategoryInput,
		Severity: lint.Info,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.ServiceEntry, object.DestinationRule},
		View:     lint.ViewFiles,
		Summary: "With --since or --config-from: the configuration, or a file that it extends, says something else than at that revision; the " +
			"baseline holds findings that it did not hold; what git is to ignore differs; or an annotation or a comment accepts findings that nothing accepted, or for longer.",
		Why: "Whoever changes manifests can change in the same breath what judges them. That is often right, and a reviewer should see it. " +
			"With --config-from the configuration and the baseline of the revision count, whatever the change does to them; a suppression counts " +
			"at once.\n\nComments, the order of keys and the like make no difference, and what makes a baseline shorter is welcome.",
		Remedy:         "Nothing, if it is meant: agree on it in the review. Otherwise take it back.",
		Proof:          lint.Proof{Kind: "input", Text: "the file differs from that of the revision in what meshvet reads of it"},
		Unsuppressible: true,
		References:     []string{"https://github.com/meshvet/meshvet/blob/main/docs/guide/pull-requests.md"},
	},
	CheckChange: func(p *lint.ChangePass) error {
		p.Report(p.Change.Message, lint.Effect(p.Change.Effect))
		return nil
	},
})
