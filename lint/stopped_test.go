package lint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meshvet/meshvet/lint/object"
)

// A run that is stopped tells what it found in what it has judged, and concludes nothing from the rest.
func TestStopped(t *testing.T) {
	const all, stopAt = 40, 10
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var seen, judged atomic.Int64
	rule := Rule{
		Meta: Meta{ID: "SE901", Name: "every-entry", Severity: Warning, Kinds: []object.Kind{object.ServiceEntry}, Presets: []string{"recommended"}, Category: CategoryServiceEntry},
		Check: func(p *Pass) error {
			if seen.Add(1) == stopAt {
				stop()
			}
			p.Report(object.Path{"spec"}, "found")
			return nil
		},
	}
	unused := Rule{
		Meta: Meta{ID: "MV904", Name: "unused", Severity: Warning, Presets: []string{"recommended"}, Category: CategoryInput},
		CheckSuppression: func(p *SuppressionPass) error {
			p.Report("unused")
			return nil
		},
	}
	var b strings.Builder
	b.WriteString("# meshvet:ignore-file SE901 -- the first file is accepted\n")
	for i := range all {
		fmt.Fprintf(&b, "---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: e%d, namespace: shop}\nspec: {hosts: [e%d.example.com]}\n", i, i)
	}
	accepted, err := object.Load(t.Context(), "a.yaml", strings.NewReader(b.String()), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := object.Load(t.Context(), "b.yaml", strings.NewReader(strings.ReplaceAll(strings.SplitN(b.String(), "\n", 2)[1], "name: e", "name: f")), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := New([]Rule{rule, unused}, &Config{Judged: &judged})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := e.Lint(ctx, Input{Files: []*object.File{accepted, other}})
	if !errors.Is(err, context.Canceled) || rep == nil {
		t.Fatalf("%v, %v", rep, err)
	}
	n := rep.Stats.Judged
	if n == 0 || n >= all || int64(n) != judged.Load() {
		t.Errorf("%d judged, %d counted", n, judged.Load())
	}
	if len(rep.Findings)+len(rep.Suppressed) != n || len(rep.Suppressed) == 0 {
		t.Errorf("%d findings and %d silenced on %d objects", len(rep.Findings), len(rep.Suppressed), n)
	}
	for _, f := range rep.Findings {
		if f.Rule.ID != "SE901" {
			t.Errorf("%s: %s", f.Rule.ID, f.Message)
		}
	}
	// Stopped before it began, it has found nothing.
	rep, err = e.Lint(ctx, Input{Files: []*object.File{accepted}})
	if !errors.Is(err, context.Canceled) || rep == nil || len(rep.Findings)+len(rep.Suppressed) > 0 {
		t.Errorf("%v, %v", rep, err)
	}
}
