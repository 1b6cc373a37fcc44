package lint

import (
	"context"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Review is a change that is asked for at admission.
type Review struct {
	Object    *object.Object // as it is to be; nil for a DELETE
	Old       *object.Object // as it was before an UPDATE, else nil
	Operation string         // "CREATE" or "UPDATE"; "" for the others
}

// Review judges the object of a change in the light of the mesh as it would be with it, and the objects around it in the same light:
// what is found there may supersede what is found on the object. The report is that of a run over these objects as files, but for
// rules whose View is files, which do not run, and for what concerns files. An error wraps that of ctx if it ended first.
func (e *Engine) Review(ctx context.Context, ix *mesh.Index, r Review, around []*object.Object) (*Report, error) {
	var targets []target
	seen := map[*object.Object]bool{nil: true}
	add := func(t target) {
		if !seen[t.object] {
			seen[t.object] = true
			targets = append(targets, t)
		}
	}
	add(target{object: r.Object, old: r.Old, operation: r.Operation})
	for _, o := range around {
		add(target{object: o})
	}
	report, err := e.run(ctx, ix, targets)
	if err != nil {
		return nil, err
	}
	tellApart(report.Findings)
	return report, nil
}
