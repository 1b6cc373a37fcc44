package mesh

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func sidecar(ns, name, spec string) string {
	return "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {namespace: " + ns + ", name: " + name + "}\nspec: {" + spec + "}\n---\n"
}

func TestHidingSidecar(t *testing.T) {
	egress := func(hosts string) string { return "egress: [{hosts: [" + hosts + "]}]" }
	chosen := "workloadSelector: {labels: {app: a}}, "
	for _, c := range []struct {
		name, sidecars string
		host           Host
		want           string // what hides it from namespace web
	}{
		{"none", "", "api.example.com", ""},
		{"another namespace's", sidecar("app", "default", egress("'./*'")), "api.example.com", ""},
		{"its own hosts only", sidecar("web", "default", egress("'./*'")), "api.example.com", "web/default"},
		{"nothing at all", sidecar("web", "default", egress("'~/*'")), "api.example.com", "web/default"},
		{"its own host", sidecar("web", "default", egress("'./*'")), "own.example.com", ""},
		{"the namespace", sidecar("web", "default", egress("'./*', 'egress/*'")), "api.example.com", ""},
		{"every namespace", sidecar("web", "default", egress("'*/*'")), "api.example.com", ""},
		{"the host", sidecar("web", "default", egress("'*/api.example.com'")), "api.example.com", ""},
		{"a wildcard", sidecar("web", "default", egress("'egress/*.example.com'")), "api.example.com", ""},
		{"part of a label", sidecar("web", "default", egress("'egress/*pi.example.com'")), "api.example.com", ""},
		{"part of another label", sidecar("web", "default", egress("'egress/*-api.example.com'")), "api.example.com", "web/default"},
		{"another host", sidecar("web", "default", egress("'egress/x.example.com'")), "api.example.com", "web/default"},
		{"the host in another namespace", sidecar("web", "default", egress("'app/api.example.com'")), "api.example.com", "web/default"},
		{"no namespace", sidecar("web", "default", egress("'api.example.com'")), "api.example.com", "web/default"},
		{"a host below a wildcard", sidecar("web", "default", egress("'egress/a.wild.example.com'")), "*.wild.example.com", ""},
		{"none below a wildcard", sidecar("web", "default", egress("'egress/a.example.com', 'app/b.wild.example.com'")), "*.wild.example.com", "web/default"},
		{"the port", sidecar("web", "default", "egress: [{port: {number: 443}, hosts: ['egress/*']}, {hosts: ['./*']}]"), "api.example.com", ""},
		{"another port", sidecar("web", "default", "egress: [{port: {number: 80}, hosts: ['egress/*']}, {hosts: ['./*']}]"), "api.example.com", "web/default"},
		{"no word about egress", sidecar("web", "default", "outboundTrafficPolicy: {mode: ALLOW_ANY}"), "api.example.com", ""},
		{"some workloads", sidecar("web", "some", chosen+egress("'./*'")), "api.example.com", ""},
		{"some workloads see it", sidecar("web", "default", egress("'./*'")) + sidecar("web", "some", chosen+egress("'egress/*'")), "api.example.com", ""},
		{"some workloads do not either", sidecar("web", "default", egress("'./*'")) + sidecar("web", "some", chosen+egress("'~/*'")), "api.example.com", "web/default"},
		{"one of two", sidecar("web", "a", egress("'./*'")) + sidecar("web", "b", egress("'*/*'")), "api.example.com", ""},
		{"both of two", sidecar("web", "b", egress("'./*'")) + sidecar("web", "a", egress("'./*'")), "api.example.com", "web/a"},
		{"the mesh's", sidecar("istio-system", "default", egress("'./*'")), "api.example.com", "istio-system/default"},
		{"the mesh's, and its own host", sidecar("istio-system", "default", egress("'./*'")), "own.example.com", ""},
		{"its own before the mesh's", sidecar("istio-system", "default", egress("'./*'")) + sidecar("web", "default", egress("'egress/*'")), "api.example.com", ""},
		{"the mesh's for some workloads", sidecar("istio-system", "default", chosen+egress("'./*'")), "api.example.com", ""},
		{"one of two entries", sidecar("web", "default", egress("'app/*'")), "twice.example.com", ""},
		{"what is not exported to it", sidecar("web", "default", egress("'./*'")), "private.example.com", ""},
		{"an entry that it does not see", sidecar("web", "default", egress("'app/*'")), "hidden.example.com", "web/default"},
	} {
		ix := world(t, Settings{}, entry("egress", "api", "api.example.com", "", "")+entry("web", "own", "own.example.com", "", "")+entry("egress", "wild", "'*.wild.example.com'", "", "")+
			entry("egress", "twice", "twice.example.com", "", "")+entry("app", "twice", "twice.example.com", "", "")+
			entry("app", "private", "private.example.com", "", ", exportTo: ['.']")+entry("egress", "hidden", "hidden.example.com", "", "")+entry("app", "hidden", "hidden.example.com", "", ", exportTo: ['.']")+c.sidecars)
		got := ""
		if o := ix.HidingSidecar(c.host, "web"); o != nil {
			got = o.Namespace + "/" + o.Name
		}
		if got != c.want {
			t.Errorf("%s: %s is hidden by %q, not by %q", c.name, c.host, got, c.want)
		}
	}
}

func TestManyImports(t *testing.T) {
	var hosts []string
	for i := range manyImports + 1 {
		hosts = append(hosts, fmt.Sprintf("egress/h%d.example.org", i))
	}
	ix := world(t, Settings{}, entry("egress", "api", "api.example.com", "", "")+entry("egress", "wild", "'*.wild.example.com'", "", "")+
		sidecar("web", "default", "egress: [{hosts: ["+strings.Join(hosts, ", ")+"]}]")+sidecar("app", "some", "workloadSelector: {labels: {app: a}}"))
	if ix.HidingSidecar("api.example.com", "web") == nil {
		t.Error("a name is looked up")
	}
	if ix.HidingSidecar("*.wild.example.com", "web") != nil {
		t.Error("a wildcard is not gone through")
	}
	if got := ix.SidecarNamespaces(); !slices.Equal(got, []string{"app", "web"}) {
		t.Errorf("Sidecars are in %v", got)
	}
	if ix.Sidecars("app") != 1 || ix.Sidecars("none") != 0 {
		t.Error("Sidecars are counted wrongly")
	}
}
