package main

import (
	"io"
	"os"
	"testing"

	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/linttest/meshcorpus"
)

// BenchmarkEgress compares the map of a mesh of 10,000 documents, which the html format alone asks for, with what it takes to read and judge
// them. The bound on hosts is lifted, so that the map has all of them.
func BenchmarkEgress(b *testing.B) {
	dir := b.TempDir()
	documents, _, err := meshcorpus.Write(dir, meshcorpus.Spec{Documents: 10_000})
	if err != nil {
		b.Fatal(err)
	}
	a := &app{process: process{stderr: io.Discard, getwd: func() (string, error) { return dir, nil }}}
	judged := func() *lintRun {
		f := newLintFlags()
		f.config = os.DevNull
		r, err := a.newRun(b.Context(), f, []string{dir})
		if err != nil {
			b.Fatal(err)
		}
		rep, err := r.lint(b.Context())
		if err != nil || len(rep.Findings) == 0 {
			b.Fatal(err, len(rep.Findings))
		}
		return r
	}
	var r *lintRun
	b.Run("lint", func(b *testing.B) {
		for b.Loop() {
			r = judged()
		}
		b.ReportMetric(float64(documents), "documents")
	})
	b.Run("map", func(b *testing.B) {
		var m *egress.Map
		for b.Loop() {
			if m, err = r.egress(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		hosts, hops := 0, 0
		for _, s := range m.Scopes {
			hosts += len(s.Hosts)
			for _, h := range s.Hosts {
				for _, p := range h.Ports {
					for _, v := range p.Views {
						hops += len(v.Hops)
					}
				}
			}
		}
		b.ReportMetric(float64(hosts), "hosts")
		b.ReportMetric(float64(hops), "hops")
	})
}
