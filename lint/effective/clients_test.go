package effective_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
)

func TestClientsOf(t *testing.T) {
	in := func(namespace, manifest string) string {
		return strings.Replace(manifest, "namespace: shop", "namespace: "+namespace, 1)
	}
	const tls = "trafficPolicy: {tls: {mode: SIMPLE}}"
	for _, c := range []struct {
		name string
		rule string
		more string
		want effective.Clients
	}{
		{"a rule beside the entry is for all", rule("r", "a.example.com", tls), "", effective.Clients{In: []string{"shop"}, Elsewhere: true}},
		{"but those with a rule of their own", rule("r", "a.example.com", tls), in("desk", rule("own", "a.example.com", tls)),
			effective.Clients{In: []string{"shop"}, Elsewhere: true, Except: []string{"desk"}}},
		{"a private one is for its namespace", rule("r", "a.example.com", "exportTo: ['.']\n"+tls), in("desk", rule("x", "b.example.com", tls)),
			effective.Clients{In: []string{"shop"}, Except: []string{"desk"}}},
		{"so is one in a third namespace", in("desk", rule("r", "a.example.com", tls)), "",
			effective.Clients{In: []string{"desk"}, Except: []string{"shop"}}},
		{"one of the root namespace is for those without", in("istio-system", rule("r", "*", tls)), in("desk", rule("own", "a.example.com", tls)),
			effective.Clients{In: []string{"istio-system", "shop"}, Elsewhere: true, Except: []string{"desk"}}},
		{"one with a selector stays at home", rule("r", "a.example.com", "workloadSelector: {matchLabels: {app: a}}\n"+tls), "",
			effective.Clients{In: []string{"shop"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix, objects := world(t, "", entry("a", "a.example.com", "DNS", "", "80 HTTP"), c.rule, c.more)
			target := ix.Resolve("a.example.com", "shop")
			if diff := cmp.Diff(c.want, effective.ClientsOf(ix, find(t, objects, "r"), "a.example.com", target)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
