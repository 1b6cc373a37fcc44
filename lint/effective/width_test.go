package effective_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/effective"
)

func TestTooWide(t *testing.T) {
	many := func(hosts, ports int) []string {
		var out []string
		for i := range hosts {
			var list []string
			for p := range ports {
				list = append(list, fmt.Sprintf("%d TLS", p+1))
			}
			out = append(out, entry(fmt.Sprint("e", i), fmt.Sprintf("h%d.example.com", i), "DNS", "", list...))
		}
		return out
	}
	subsets := func(n int) string {
		var b strings.Builder
		b.WriteString("subsets:\n")
		for i := range n {
			fmt.Fprintf(&b, "- {name: s%d}\n", i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name  string
		rule  string
		hosts int
		more  int // other wildcard rules
		most  int
		wide  bool
	}{
		{"one host", rule("d", "h1.example.com", ""), 200, 0, 100_000, false},
		{"a wildcard", rule("d", "*.example.com", ""), 200, 0, 100_000, false},
		{"subsets times ports", rule("d", "*.example.com", subsets(99)), 200, 0, 10_000, false},
		{"too many of them", rule("d", "*.example.com", subsets(199)), 200, 0, 5_000, true},
		{"rules times ports", rule("d", "*.example.com", ""), 200, 3_000, 20_000_000 / 3_002, false},
		{"too many of those", rule("d", "*.example.com", ""), 200, 10_000, 2_000, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs := append(many(c.hosts, 30), c.rule)
			for i := range c.more {
				docs = append(docs, rule(fmt.Sprint("other", i), "*.example.org", ""))
			}
			ix, objects := world(t, "", docs...)
			if most, wide := effective.TooWide(ix, objects[c.hosts]); most != c.most || wide != c.wide {
				t.Errorf("%d, %v, want %d, %v", most, wide, c.most, c.wide)
			}
		})
	}
}
