package report

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// manyFindings is a report of n findings with excerpts, effects and related places.
func manyFindings(tb testing.TB, n int) *lint.Report {
	tb.Helper()
	const name = "egress/payments.yaml"
	file := load(tb, name, fixtureFiles[name])
	se, dr := file.Objects[0], file.Objects[1]
	r := &lint.Report{Rules: []*lint.Meta{notDNS, resets}, Sources: map[string]*object.File{name: file}}
	for i := range n {
		f := finding(resets, dr, "spec.trafficPolicy.portLevelSettings[0].connectionPool", fmt.Sprintf("port %d loses maxConnections", i))
		f.Effect = strings.Repeat("max_connections of the cluster is 4294967295, ", 5)
		f.Related = []lint.Related{{Message: "set here", Object: se.Key, Location: se.Locate(nil)}}
		f.Fixes = []lint.Fix{{Title: "repeat it", Safety: lint.Safe, Ops: []lint.Op{{Kind: lint.Add, Path: f.Path, Value: map[string]any{"a": i}}}}}
		r.Findings = append(r.Findings, f)
	}
	return r
}

// oneLine is a report of n findings in a file of a single line, as a compiler of manifests may write it.
func oneLine(tb testing.TB, n int) *lint.Report {
	tb.Helper()
	const name = "all.json"
	var b strings.Builder
	b.WriteString(`{"kind":"List","items":[`)
	starts := make([]int, n)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		starts[i] = b.Len() + 1
		fmt.Fprintf(&b, `{"apiVersion":"networking.istio.io/v1","kind":"ServiceEntry","metadata":{"name":"e%d"},"spec":{"hosts":["h%d.example"]}}`, i, i)
	}
	b.WriteString("]}")
	r := &lint.Report{Rules: []*lint.Meta{notDNS}, Sources: map[string]*object.File{name: load(tb, name, b.String())}}
	for _, s := range starts {
		r.Findings = append(r.Findings, lint.Finding{
			Rule: notDNS, Severity: lint.Warning, Message: "m", Object: object.Key{Kind: object.ServiceEntry, Name: "e"},
			Location: object.Location{File: name, Exact: true, Range: object.Range{Start: object.Pos{Line: 1, Col: s}, End: object.Pos{Line: 1, Col: s + 8}}},
		})
	}
	return r
}

func BenchmarkReport(b *testing.B) {
	for _, n := range []int{500, 5000} {
		for _, c := range []struct {
			name, format string
			r            *lint.Report
		}{
			{"text", "text", manyFindings(b, n)},
			{"text-one-line", "text", oneLine(b, n)},
			{"json", "json", manyFindings(b, n)},
			{"sarif", "sarif", manyFindings(b, n)},
			{"github", "github", manyFindings(b, n)},
			{"junit", "junit", manyFindings(b, n)},
			{"gitlab", "gitlab", manyFindings(b, n)},
			{"checkstyle", "checkstyle", manyFindings(b, n)},
			{"markdown", "markdown", manyFindings(b, n)},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				p, err := Named(c.format, Options{})
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := p.Report(io.Discard, c.r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
