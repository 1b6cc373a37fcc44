package rules

import (
	"fmt"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MV906",
		Name:     "duplicate-object",
		Title:    "The same object is defined twice in one mesh",
		Category: lint.CategoryInput,
		Severity: lint.Warning,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.ServiceEntry, object.DestinationRule},
		View:     lint.ViewFiles,
		Summary:  "A second definition of an object with the same kind, namespace and name among the files of one mesh scope.",
		Why: "The cluster holds one object of a name. Whichever file is applied last wins whole, and the other has no effect; two GitOps " +
			"applications that own one file each overwrite one another for ever.\n\n" +
			"Files of different meshes in one repository, such as overlays for staging and production, are different scopes and do not count.",
		Remedy:     "Delete one definition, or give it another name. If the files belong to different meshes, name the meshes under `scopes:` in .meshvet.yaml.",
		Proof:      lint.Proof{Kind: "input", Text: "Kubernetes identifies an object by kind, namespace and name"},
		References: []string{"https://kubernetes.io/docs/concepts/overview/working-with-objects/names/"},
	},
	Check: func(p *lint.Pass) error {
		all := p.Mesh.Duplicates(p.Object.Key)
		if len(all) < 2 || all[0] == p.Object {
			return nil
		}
		first := all[0]
		same := "with other content"
		if sameValue(first.Root(), p.Object.Root()) {
			same = "with the same content"
		}
		p.Report(object.Path{"metadata", "name"},
			fmt.Sprintf("%s is already defined at %s, %s", p.Object.Key, first.Locate(object.Path{"metadata", "name"}), same),
			lint.Effect("the cluster keeps the definition that is applied last; the other has no effect"),
			lint.Also(first, object.Path{"metadata", "name"}, "the first definition"),
		)
		return nil
	},
})
