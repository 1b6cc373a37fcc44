package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/policies"
	"github.com/meshvet/meshvet/rules"
)

// all is the whole rule set: rules supersede one another, so no rule is tested alone.
func all(t testing.TB) []lint.Rule {
	t.Helper()
	fromRego, err := policy.Load(context.Background(), policies.FS)
	if err != nil {
		t.Fatal(err)
	}
	return append(rules.All(), fromRego...)
}

func TestFixtures(t *testing.T) {
	linttest.Run(t, "testdata", all(t), func(m *lint.Meta) bool { return m.Lang == "go" })
}

func TestRego(t *testing.T) {
	linttest.Run(t, "../policies/testdata", all(t), func(m *lint.Meta) bool { return m.Lang == "rego" })
}

func TestProofs(t *testing.T) {
	linttest.Proofs(t, "testdata", all(t), func(m *lint.Meta) bool { return m.Lang == "go" })
	linttest.Proofs(t, "../policies/testdata", all(t), func(m *lint.Meta) bool { return m.Lang == "rego" })
}

// judged lints manifests with the rules written in Go and returns the findings of one.
func judged(t *testing.T, id, manifests string) []lint.Finding {
	t.Helper()
	f, err := object.Load(context.Background(), "mesh.yaml", strings.NewReader(manifests), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := lint.New(rules.All(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Lint(t.Context(), lint.Input{Files: []*object.File{f}})
	if err != nil {
		t.Fatal(err)
	}
	var out []lint.Finding
	for _, f := range r.Findings {
		if f.Rule.ID == id {
			out = append(out, f)
		}
	}
	return out
}

// entry is a ServiceEntry for x.example.com.
func entry(ns, name, meta, ports, spec string) string {
	return fmt.Sprintf("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {namespace: %s, name: %s%s}\nspec: {hosts: [x.example.com], location: MESH_EXTERNAL, ports: [%s]%s}\n---\n", ns, name, meta, ports, spec)
}

const (
	dns, none, static, one = ", resolution: DNS", ", resolution: NONE", ", resolution: STATIC", ", resolution: DNS_ROUND_ROBIN"
	tls443                 = "{number: 443, name: tls, protocol: TLS}"
	http80                 = "{number: 80, name: http, protocol: HTTP}"
	first, last            = `, creationTimestamp: "2026-01-01T00:00:00Z"`, `, creationTimestamp: "2026-02-01T00:00:00Z"`
)
