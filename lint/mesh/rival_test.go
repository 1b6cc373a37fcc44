package mesh

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rivals(ix *Index, e *Target, h Host) []string {
	var out []string
	for other, n := range ix.Rivals(e, h) {
		out = append(out, fmt.Sprintf("%s/%s x%d", other.Namespace(), other.Object.Name, n))
	}
	return out
}

func TestRivals(t *testing.T) {
	const host = "api.example.com"
	ix := world(t, Settings{},
		entry("a", "one", host, "", "")+entry("a", "two", host, "", "")+entry("a", "other", host, "", ", location: MESH_INTERNAL")+
			entry("b", "same", host, "", "")+entry("c", "new", host, "", ", location: MESH_INTERNAL, addresses: [192.0.2.1]")+
			entry("d", "mine", host, "", ", exportTo: ['.']")+entry("e", "lent", host, "", ", exportTo: [d, f]")+entry("f", "mine", host, "", ", exportTo: ['.', d]")+
			entry("g", "hidden", host, "", ", exportTo: ['~']")+entry("a", "labelled", host, ", labels: {app: x}", "")+entry("z", "elsewhere", "z.example.com", "", "")+
			"apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: a}\nspec: {ports: [{port: 443}]}\n")
	for _, c := range []struct {
		ns, name string
		want     []string
	}{
		{"a", "one", []string{"a/labelled x1", "a/two x1", "a/other x1", "c/new x1", "b/same x1", "d/mine x1", "e/lent x1", "f/mine x1"}},
		{"a", "two", []string{"a/labelled x1", "a/one x1", "a/other x1", "c/new x1", "b/same x1", "d/mine x1", "e/lent x1", "f/mine x1"}},
		{"b", "same", []string{"a/labelled x1", "a/one x2", "a/other x1", "c/new x1", "d/mine x1", "e/lent x1", "f/mine x1"}},
		{"d", "mine", []string{"a/labelled x1", "a/one x2", "a/other x1", "c/new x1", "b/same x1", "e/lent x1", "f/mine x1"}},
		{"e", "lent", []string{"a/labelled x1", "a/one x2", "a/other x1", "c/new x1", "b/same x1", "d/mine x1", "f/mine x1"}},
		{"g", "hidden", nil},
		{"z", "elsewhere", nil},
	} {
		e := entryOf(t, ix, c.ns, c.name)
		if diff := cmp.Diff(c.want, rivals(ix, e, e.Hosts[0])); diff != "" {
			t.Errorf("%s/%s (-want +got):\n%s", c.ns, c.name, diff)
		}
	}
	// Every pair that shares a client is found, and no other.
	for _, a := range ix.Targets(host) {
		found := map[string]bool{}
		for other := range ix.Rivals(a, host) {
			found[other.Namespace()+"/"+other.Object.Name] = true
		}
		for _, b := range ix.Targets(host) {
			meet := len(slices.Collect(ix.CommonClients(a, b))) > 0
			if name := b.Namespace() + "/" + b.Object.Name; a != b && name != "a/two" && name != "a/one" && meet != found[name] {
				t.Errorf("%s and %s: a common client %v, rivals %v", a.Object.Key, b.Object.Key, meet, found[name])
			}
		}
	}
	// Another index answers for itself.
	more := ix.With(load(t, entry("z", "late", "z.example.com", "", ""))...)
	if got := rivals(more, entryOf(t, more, "z", "elsewhere"), "z.example.com"); len(got) != 1 || len(rivals(ix, entryOf(t, ix, "z", "elsewhere"), "z.example.com")) != 0 {
		t.Errorf("the later entry is %v", got)
	}
}

func TestCommonClients(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "", "a b *"},
		{"['*']", "", "a b *"},
		{"['.']", "", "a"},
		{"['.']", "['.']", ""},
		{"[c]", "", "c"},
		{"[c, d, '.']", "[d, e, c]", "c d"},
		{"[b]", "['.', a]", "b"},
		{"['~']", "", ""},
	} {
		exported := func(list string) string {
			if list == "" {
				return ""
			}
			return ", exportTo: " + list
		}
		ix := world(t, Settings{}, entry("a", "one", "x.example.com", "", exported(c.a))+entry("b", "two", "x.example.com", "", exported(c.b)))
		a, b := entryOf(t, ix, "a", "one"), entryOf(t, ix, "b", "two")
		if got := strings.Join(slices.Collect(ix.CommonClients(a, b)), " "); got != c.want {
			t.Errorf("exportTo %q and %q: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestFirst(t *testing.T) {
	const old, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
	for _, c := range []struct {
		name           string
		metaA, specA   string
		metaB, specB   string
		want           string
		byExport       bool
		defaultExports []string
	}{
		{name: "files"},
		{name: "one is from a file", metaA: created(old)},
		{name: "the older", metaA: created(late), metaB: created(old), want: "b"},
		{name: "made in the same second", metaA: created(old), metaB: created(old)},
		{name: "the younger but chosen", metaA: created(late), specA: ", exportTo: ['.']", metaB: created(old), want: "a", byExport: true},
		{name: "chosen against all", specA: ", exportTo: ['*']", specB: ", exportTo: [a, b]", want: "b", byExport: true},
		{name: "both chosen", metaA: created(old), specA: ", exportTo: ['.']", metaB: created(late), specB: ", exportTo: [a]", want: "a"},
		{name: "chosen by default", specA: ", exportTo: ['*']", defaultExports: []string{"."}, want: "b", byExport: true},
	} {
		ix := world(t, Settings{DefaultServiceExportTo: c.defaultExports}, entry("q", "a", "x.example.com", c.metaA, c.specA)+entry("q", "b", "x.example.com", c.metaB, c.specB))
		first, byExport := ix.First(entryOf(t, ix, "q", "a"), entryOf(t, ix, "q", "b"))
		got := ""
		if first != nil {
			got = first.Object.Name
		}
		if got != c.want || byExport != c.byExport {
			t.Errorf("%s: %q by exportTo %v", c.name, got, byExport)
		}
	}
}

func TestSeparate(t *testing.T) {
	for _, c := range []struct{ metaA, specA, metaB, specB, want string }{
		{"", "", "", "", ""},
		{", labels: {app: x}", "", "", "", "metadata.labels"},
		{", labels: {app: x}", "", ", labels: {app: y}", "", "metadata.labels"},
		{", labels: {app: x, v: '1'}", "", ", labels: {v: '1', app: x}", "", ""},
		{", labels: {}", "", "", "", ""},
		{", annotations: {app: x}", "", "", "", ""},
		{"", ", workloadSelector: {labels: {app: x}}", "", "", "workloadSelector"},
		{"", ", exportTo: ['*']", "", "", "exportTo"},
		{"", ", exportTo: [a, b]", "", ", exportTo: [b, a]", ""},
		{"", ", location: MESH_INTERNAL, addresses: [192.0.2.1], subjectAltNames: [x]", "", "", ""},
	} {
		ix := world(t, Settings{}, entry("q", "a", "x.example.com", c.metaA, c.specA)+entry("q", "b", "x.example.com", c.metaB, c.specB)+
			strings.Replace(entry("q", "dns", "x.example.com", c.metaA, c.specA), "NONE", "DNS", 1))
		a, b := entryOf(t, ix, "q", "a"), entryOf(t, ix, "q", "b")
		if got := strings.Join(Separate(a, b), " "); got != c.want || strings.Join(Separate(b, a), " ") != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		if got := Separate(a, entryOf(t, ix, "q", "dns")); len(got) != 1 || got[0] != "resolution" {
			t.Errorf("DNS against NONE: %q", got)
		}
	}
}

func TestListenerRivals(t *testing.T) {
	tcp := func(ns, name, host, spec string) string {
		return "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {namespace: " + ns + ", name: " + name + "}\nspec: {hosts: [" + host + "], resolution: DNS, ports: [{number: 5432, name: db, protocol: TCP}]" + spec + "}\n---\n"
	}
	tls := func(ns, name, host, spec string) string {
		return strings.Replace(tcp(ns, name, host, spec), "protocol: TCP", "protocol: TLS", 1)
	}
	allocated := strings.Replace(tcp("a", "allocated", "nine.example.com", ""), "\n---", "\nstatus: {addresses: [{value: 240.240.0.1, host: nine.example.com}]}\n---", 1)
	passing := func(ns, name, host, addresses string) string {
		return strings.Replace(tcp(ns, name, host, ", addresses: ["+addresses+"]"), "resolution: DNS", "resolution: NONE", 1)
	}
	ix := world(t, Settings{}, tcp("a", "one", "one.example.com", "")+tcp("b", "two", "two.example.com", "")+
		tcp("a", "same-host", "one.example.com", "")+tcp("c", "hidden", "three.example.com", ", exportTo: ['.'], addresses: [192.0.2.1]")+
		tcp("a", "addressed", "four.example.com", ", addresses: [192.0.2.1]")+tcp("c", "seen", "five.example.com", ", addresses: [192.0.2.1/32, 192.0.2.2]")+
		tls("d", "tls", "six.example.com", ", addresses: [192.0.2.1, 192.0.2.0/24]")+tls("d", "named", "seven.example.com", "")+
		tls("d", "range", "eight.example.com", ", addresses: [192.0.2.0/24]")+allocated+
		passing("e", "passing", "ten.example.com", "198.51.100.1, 198.51.100.2")+passing("e", "alike", "eleven.example.com", "198.51.100.1")+
		tcp("e", "worse", "twelve.example.com", ", addresses: [198.51.100.2]"))
	for _, c := range []struct{ ns, name, rival, address string }{
		{"a", "one", "b/two", ""},
		{"b", "two", "a/one", ""},
		{"c", "hidden", "c/seen", "192.0.2.1"},
		{"a", "addressed", "c/seen", "192.0.2.1"},
		{"c", "seen", "c/hidden", "192.0.2.1"},
		{"d", "tls", "a/addressed", "192.0.2.1"}, // on one address Istio does not look at the server name
		{"d", "named", "", ""},
		{"d", "range", "", ""},
		{"a", "allocated", "", ""},
		{"e", "passing", "e/worse", "198.51.100.2"}, // two that pass connections on to where they were going do each other no harm
		{"e", "alike", "e/passing", "198.51.100.1"},
	} {
		found := ix.ListenerRivals(entryOf(t, ix, c.ns, c.name))
		if c.rival == "" {
			if len(found) > 0 {
				t.Errorf("%s/%s has rivals %+v", c.ns, c.name, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Target.Namespace()+"/"+found[0].Target.Object.Name != c.rival || found[0].Address != c.address || found[0].Port.Number != 5432 {
			t.Errorf("%s/%s has rivals %+v, want %s at %q", c.ns, c.name, found, c.rival, c.address)
		}
	}
}
