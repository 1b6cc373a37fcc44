package rules

import (
	"fmt"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MV904",
		Name:     "suppression-unused",
		Title:    "A suppression that silences nothing",
		Category: lint.CategoryInput,
		Severity: lint.Warning,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.ServiceEntry, object.DestinationRule},
		View:     lint.ViewFiles,
		Summary: "A rule or category in a comment `# meshvet:ignore`, or in the annotation `meshvet.dev/ignore`, that finds nothing in what the " +
			"suppression is about.",
		Why: "What was accepted is gone, or never stood there. The next fault of that rule will be silenced unseen, for a reason that was given " +
			"for another one.\n\n" +
			"A word counts as unused only if each rule that it stands for ran on all that the suppression is about. Of a rule that is off, that was " +
			"filtered by a flag, or that could not judge the object, nothing is said, nor of one that relates the object to others while some " +
			"of them may not be in view, so runs that know more and less of the mesh do not contradict one another; nor of files that are templates, or of which a part cannot be read. A finding that is left out because another one names " +
			"the same cause counts as found.",
		Remedy:         "Remove the word, and the comment or annotation with the last one. If the finding is elsewhere, move it there.",
		Fix:            lint.Unsafe,
		Proof:          lint.Proof{Kind: "input", Text: "each rule that is named ran on what the suppression is about, and found nothing"},
		Unsuppressible: true,
		References:     []string{"https://github.com/meshvet/meshvet/blob/main/docs/guide/suppress.md"},
	},
	CheckSuppression: func(p *lint.SuppressionPass) error {
		if len(p.Unused) == 0 {
			return nil
		}
		finds, what := "finds", "it"
		if len(p.Unused) > 1 {
			finds, what = "find", "them"
		}
		advice := fmt.Sprintf("take %s out of %s", what, p.Subject)
		if len(p.Unused) == p.Said() {
			advice = "remove " + p.Subject
		}
		extras := []lint.Extra{lint.Effect("the next fault of that sort is silenced, whatever its reason")}
		if fix, ok := p.Removal(p.Unused); ok {
			extras = append(extras, lint.Suggest(fix))
		}
		p.Report(fmt.Sprintf("%s names %s, which %s nothing %s; %s", p.Subject, lint.Enumerate(p.Unused), finds, p.Extent(), advice), extras...)
		return nil
	},
})
