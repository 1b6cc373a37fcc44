package rules

import (
	"fmt"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MV903",
		Name:     "not-loadable",
		Title:    "A document that cannot be read",
		Category: lint.CategoryInput,
		Severity: lint.Error,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.ServiceEntry, object.DestinationRule},
		View:     lint.ViewFiles,
		Summary: "A document that names a ServiceEntry or DestinationRule and cannot be read: a syntax error, a key that is set twice, aliases that " +
			"multiply the document, or a size, depth or length beyond the limits. And a file that cannot be opened or read.",
		Why: "Nothing can be said of such a document, so the run fails with exit code 2 even if nothing else is wrong; the other documents of the " +
			"file are judged all the same. Kubernetes' reader refuses most of these too, but of a key that is set twice kubectl keeps the last " +
			"value without a word.\n\n" + bounds(),
		Remedy:         "Correct what the message names. A file with template syntax is no fault: render it first.",
		Proof:          lint.Proof{Kind: "input", Text: "the YAML reader that kubectl uses refuses the document, or a limit of meshvet's is exceeded"},
		Unsuppressible: true,
		References:     []string{"https://yaml.org/spec/1.2.2/"},
	},
	CheckFile: func(p *lint.FilePass) error {
		for _, problem := range p.File.Problems {
			if problem.Kind == object.Missing {
				continue // a path that leads nowhere is no fault of a document
			}
			effect := "none of this document was judged, so the run fails with exit code 2"
			if !problem.Location.Range.Start.IsValid() {
				effect = "none of this file was judged, so the run fails with exit code 2"
			}
			p.Report(problem.Location, problem.Message, effect)
		}
		return nil
	},
})

// bounds says how much is read. What asks for more than this is a mistake, or meant to take a checker down.
func bounds() string {
	l := object.Limits{}.WithDefaults()
	return fmt.Sprintf("The limits: %d MiB for a file and %d for a document, %d levels, %d values in a document and %d times as many through aliases as are "+
		"written, %d documents in a file, %d items in a `kind: List`, %d in any list of a ServiceEntry or DestinationRule.",
		l.FileBytes>>20, l.DocumentBytes>>20, l.Depth, l.Nodes, l.AliasFactor, l.Documents, l.ListItems, l.ObjectItems)
}
