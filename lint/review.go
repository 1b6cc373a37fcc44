package lint

import (
	"context"
	"fmt"
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Review is a change that is asked for at admission.
type Review struct {
	Object    *object.Object // as it is to be; nil for a DELETE
	Gone      *object.Object // what a DELETE removes, which is not in the mesh any more; else nil
	Old       *object.Object // as it was before an UPDATE, else nil
	Operation string         // "CREATE" or "UPDATE"; "" for the others
}

// Review judges the object of a change in the light of the mesh as it would be with it, and the objects around it in the same light:
// what is found there may supersede what is found on the object. The report is that of a run over these objects as files, but for
// rules whose View is files, which do not run, and for what concerns files and EnvoyFilters. An error wraps that of ctx if it ended first.
func (e *Engine) Review(ctx context.Context, ix *mesh.Index, r Review, around []*object.Object) (*Report, error) {
	var targets []target
	seen := map[*object.Object]bool{nil: true}
	add := func(t target) {
		if !seen[t.object] {
			seen[t.object] = true
			t.engine = e
			targets = append(targets, t)
		}
	}
	add(target{object: r.Object, old: r.Old, operation: r.Operation})
	for _, o := range around {
		add(target{object: o})
	}
	report, err := runTargets(ctx, ix, targets, nil, nil)
	if err != nil {
		return nil, err
	}
	if r.Gone != nil {
		if err := e.reviewGone(ctx, ix, r.Gone, report); err != nil {
			return nil, err
		}
	}
	tellApart(report)
	return report, nil
}

// reviewGone adds what the removal of an object leaves behind. Where a finding on another object is about the same place, that one says
// it.
func (e *Engine) reviewGone(ctx context.Context, ix *mesh.Index, gone *object.Object, report *Report) error {
	v := visit{engine: e, watch: e.stopwatch()}
	var err error
	if v.rules, err = e.rulesFor(gone); err != nil {
		return err
	}
	for _, a := range v.rules.byKind[gone.Kind] {
		if a.rule.CheckGone == nil || a.missing(ix) != "" {
			continue
		}
		p := &Pass{Context: ctx, Object: gone, Mesh: ix, rule: a, visit: &v}
		if err := guarded(func() error { return a.rule.CheckGone(p) }); err != nil && ctx.Err() == nil {
			v.failed(a, p, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lint: %w", err)
	}
	v.claim = e.annotated(gone)
	silence([]target{{engine: e, object: gone}}, []visit{v})
	told := slices.Clone(report.Findings)
	for _, s := range report.Suppressed { // what is accepted there is accepted here
		told = append(told, s.Finding)
	}
	left := slices.DeleteFunc(v.findings, func(f Finding) bool {
		return slices.ContainsFunc(told, func(other Finding) bool { return other.Rule.ID == f.Rule.ID && sharePlace(other, f) })
	})
	shown, suppressed := splitSuppressed(left)
	report.Findings, report.Suppressed = append(report.Findings, shown...), append(report.Suppressed, suppressed...)
	report.Problems = append(report.Problems, v.problems...)
	report.sort()
	return nil
}

// sharePlace says whether two findings name the same field of another object.
func sharePlace(a, b Finding) bool {
	return slices.ContainsFunc(a.Related, func(x Related) bool {
		return slices.ContainsFunc(b.Related, func(y Related) bool { return x.Object == y.Object && x.Path.String() == y.Path.String() })
	})
}
