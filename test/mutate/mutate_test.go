package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPolicyMutants(t *testing.T) {
	const text = `# METADATA
# title: a == b
package meshvet.some_rule

import rego.v1

severity(n) := "error" if n > 2

# not a comment == either
findings contains {"path": [], "message": "a == b", "severity": "warning"} if {
	some p in input.ports
	p.protocol in {"TCP", "TLS"}
	not p.known
	count(p.hosts) == 0
}
`
	var got []string
	for _, m := range policyMutants(text) {
		before, after := strings.Split(text, "\n"), strings.Split(m.text, "\n")
		if len(before) != len(after) {
			t.Fatalf("%s: the number of lines has changed", m.what)
		}
		for i := range before {
			if (before[i] != after[i]) != (i+1 == m.line) {
				t.Errorf("%s: line %d is %q", m.what, i+1, after[i])
			}
		}
		got = append(got, strings.TrimSpace(after[m.line-1]))
	}
	want := []string{
		`severity(n) := "error" if n <= 2`,
		`severity(n) := "error" if true`,
		`severity(n) := "error" if n > 3`,
		`severity(n) := "info" if n > 2`,
		`findings contains {"path": [], "message": "a == b", "severity": "info"} if {`,
		`true`,
		`p.protocol in {"TLS"}`,
		`p.protocol in {"TCP"}`,
		`p.known`,
		`true`,
		`count(p.hosts) != 0`,
		`true`,
		`count(p.hosts) == 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGoMutants(t *testing.T) {
	const text = `package rules

func check(a, b int, ok bool) bool {
	for a < b && ok {
		a++
	}
	if a == 1 && !ok || b > 2 {
		report(lint.As(lint.Error))
	}
	switch {
	case has(a):
	}
	switch a {
	case 3:
	}
	return a != b
}
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "a.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	changes := conditionsOf(fset, file, []byte(text), &n)
	got, err := rewritten([]byte(text), changes)
	if err != nil {
		t.Fatal(err)
	}
	want := `package rules

func check(a, b int, ok bool) bool {
	for a < b && ok {
		a++
	}
	if mutateCondition(1, a == 1) && !mutateCondition(2, ok) || mutateCondition(3, b > 2) {
		report(lint.As(mutateSeverity(4, lint.Error)))
	}
	switch {
	case mutateCondition(5, has(a)):
	}
	switch a {
	case 3:
	}
	return mutateCondition(6, a != b)
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestReportFailsForWhatIsNotHeld(t *testing.T) {
	held := verdict{rule: "SE101", killed: 3, survivors: []string{"policies/a.rego:1: == becomes !="}}
	var b strings.Builder
	if err := report(&b, []verdict{held}, true, 75); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"SE101  4        3        75 %\n", "not noticed: policies/a.rego:1: == becomes !=\n", "3 of 4 mutants of 1 rules noticed\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
	if err := report(&b, []verdict{held}, false, 76); err == nil || !strings.Contains(err.Error(), "SE101") {
		t.Errorf("a rule below the least share: %v", err)
	}
	if err := report(&b, []verdict{held, {rule: "SE102", survivors: []string{"x"}}, {rule: "SE103"}}, false, 0); err == nil || !strings.Contains(err.Error(), "SE102, SE103") {
		t.Errorf("rules of which nothing is noticed: %v", err)
	}
}
