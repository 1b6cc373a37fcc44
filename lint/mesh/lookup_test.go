package mesh

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

const service = `
apiVersion: v1
kind: Service
metadata: {name: foo, namespace: back}
spec: {ports: [{port: 443, name: tls}]}
---
`

// Which of several objects of one host clients get.
func TestResolve(t *testing.T) {
	const host = "api.example.com"
	old, young := created("2026-01-01T00:00:00Z"), created("2026-02-01T00:00:00Z")
	for _, c := range []struct {
		name, objects string
		settings      Settings
		from          string
		host          Host
		want          string
	}{
		{name: "none", objects: entry("a", "e", "other.example.com", "", ""), want: ""},
		{name: "the only one", objects: entry("a", "e", host, "", ""), want: "a/e"},
		{name: "that of the client's namespace", from: "b", objects: entry("a", "e", host, old, "") + entry("b", "e", host, young, ""), want: "b/e"},
		{name: "else the oldest", objects: entry("a", "e", host, young, "") + entry("b", "e", host, old, ""), want: "b/e"},
		{name: "of equal age by namespace", objects: entry("b", "a", host, old, "") + entry("a", "z", host, old, ""), want: "a/z"},
		{name: "of those that are seen", objects: entry("a", "e", host, old, ", exportTo: ['.']") + entry("b", "e", host, young, ""), want: "b/e"},
		{name: "hidden by ~", objects: entry("a", "e", host, old, ", exportTo: ['~', app]") + entry("b", "e", host, young, ""), want: "b/e"},
		{name: "exported to the client before exported to all", objects: entry("a", "e", host, old, "") + entry("b", "e", host, young, ", exportTo: [app]"), want: "b/e"},
		{name: "the default counts as written", settings: Settings{DefaultServiceExportTo: []string{"."}},
			objects: entry("a", "e", host, old, "") + entry("b", "e", host, young, ", exportTo: ['*']"), want: "b/e"},
		{name: "the oldest if none is seen", objects: entry("a", "e", host, young, ", exportTo: ['.']") + entry("b", "e", host, old, ", exportTo: ['.']"), want: "b/e"},
		{name: "a Service before entries elsewhere", host: "foo.back.svc.cluster.local",
			objects: entry("a", "e", "foo.back.svc.cluster.local", old, "") + service, want: "back/foo"},
		{name: "the client's own entry before a Service elsewhere", host: "foo.back.svc.cluster.local", from: "a",
			objects: entry("a", "e", "foo.back.svc.cluster.local", young, "") + service, want: "a/e"},
		{name: "in one namespace the Service", host: "foo.back.svc.cluster.local", from: "back",
			objects: entry("back", "e", "foo.back.svc.cluster.local", old, "") + service, want: "back/foo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, c.settings, c.objects)
			from, h := c.from, c.host
			if from == "" {
				from = "app"
			}
			if h == "" {
				h = host
			}
			got := ""
			if target := ix.Resolve(h, from); target != nil {
				got = target.Namespace() + "/" + target.Object.Name
			}
			if got != c.want {
				t.Errorf("clients in %s reach %q, want %q", from, got, c.want)
			}
		})
	}
}

func TestMergedTargets(t *testing.T) {
	const host = "api.example.com"
	ix := world(t, Settings{}, entry("a", "one", host, created("2026-02-01T00:00:00Z"), "")+entry("a", "two", host, created("2026-01-01T00:00:00Z"), "")+
		entry("a", "hidden", host, "", ", exportTo: ['.']")+entry("b", "other", host, "", "")+entry("a", "elsewhere", "x.example.com", "", ""))
	one := entryOf(t, ix, "a", "one")
	for from, want := range map[string][]string{"app": {"a/two", "a/one"}, "a": {"a/two", "a/one", "a/hidden"}} {
		if diff := cmp.Diff(want, names(ix.Merged(host, one, from))); diff != "" {
			t.Errorf("clients in %s (-want +got):\n%s", from, diff)
		}
	}
	// A target that nobody there sees stands for itself.
	hidden := entryOf(t, ix, "a", "hidden")
	lone := world(t, Settings{}, entry("a", "hidden", host, "", ", exportTo: ['.']"))
	if diff := cmp.Diff([]string{"a/hidden"}, names(lone.Merged(host, hidden, "app"))); diff != "" {
		t.Error(diff)
	}
}

func TestReach(t *testing.T) {
	ix := world(t, Settings{}, entry("e", "one", "'b.example.com', 'a.example.com'", "", "")+
		entry("e", "deep", "x.y.example.com", "", "")+entry("e", "wild", "'*.y.example.com'", "", "")+
		entry("e", "odd", "'*-api.example.com', 'v1-api.example.com'", "", "")+entry("e", "top", "example.com", "", "")+
		entry("f", "twice", "a.example.com", "", "")+service)
	all := []string{
		"*-api.example.com", "*.y.example.com", "a.example.com", "b.example.com", "example.com", "foo.back.svc.cluster.local", "v1-api.example.com", "x.y.example.com",
	}
	for _, c := range []struct {
		host Host
		want []string
	}{
		{"a.example.com", []string{"a.example.com"}},
		{"none.example.com", nil},
		{"*.example.com", []string{"*-api.example.com", "*.y.example.com", "a.example.com", "b.example.com", "v1-api.example.com", "x.y.example.com"}},
		{"*.y.example.com", []string{"*.y.example.com", "x.y.example.com"}},
		{"*-api.example.com", []string{"*-api.example.com", "v1-api.example.com"}},
		{"*1-api.example.com", []string{"v1-api.example.com"}},
		{"*example.com", []string{"*-api.example.com", "*.y.example.com", "a.example.com", "b.example.com", "example.com", "v1-api.example.com", "x.y.example.com"}},
		{"*.local", []string{"foo.back.svc.cluster.local"}},
		{"*cal", []string{"foo.back.svc.cluster.local"}},
		{"*", all},
		{"*.nowhere", nil},
	} {
		if diff := cmp.Diff(c.want, hostsOf(ix.Reach(c.host, "app"))); diff != "" {
			t.Errorf("reach of %s (-want +got):\n%s", c.host, diff)
		}
	}
	if hit := ix.Reach("a.example.com", "f")[0]; hit.Target.Namespace() != "f" {
		t.Errorf("from f the target is that of %s", hit.Target.Namespace())
	}
	// A host stays in reach until its last target goes.
	y := ix.Without(object.Key{Kind: object.ServiceEntry, Namespace: "f", Name: "twice"})
	if diff := cmp.Diff(all, hostsOf(y.Reach("*", "app"))); diff != "" {
		t.Error(diff)
	}
	y = y.Without(object.Key{Kind: object.ServiceEntry, Namespace: "e", Name: "one"})
	if got := hostsOf(y.Reach("*.example.com", "app")); len(got) != 4 {
		t.Errorf("still in reach: %v", got)
	}
}

func TestRulesReaching(t *testing.T) {
	ix := world(t, Settings{}, rule("a", "exact", "v1-api.example.com", "", "")+rule("b", "label", "*.example.com", "", "")+
		rule("a", "odd", "*-api.example.com", "", "")+rule("c", "all", "*", "", "")+rule("a", "other", "*.example.org", "", ""))
	var got []string
	for _, r := range ix.RulesReaching("v1-api.example.com") {
		got = append(got, r.Object.Name)
	}
	if diff := cmp.Diff([]string{"exact", "odd", "label", "all"}, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	for _, r := range ix.RulesReaching("*-api.example.com") {
		got = append(got, r.Object.Name)
	}
	if diff := cmp.Diff([]string{"odd", "label", "all"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTargetsCovering(t *testing.T) {
	ix := world(t, Settings{}, entry("a", "exact", "api.example.com", "", "")+entry("a", "wild", "'*.example.com'", "", "")+entry("b", "wider", "'*.com'", "", ""))
	if diff := cmp.Diff([]string{"*.example.com", "*.com"}, hostsOf(ix.TargetsCovering("api.example.com"))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"*.com"}, hostsOf(ix.TargetsCovering("*.example.com"))); diff != "" {
		t.Error(diff)
	}
}

// Objects that are not in the index can be asked about all the same, as the one under review may be.
func TestObjectsOutsideTheIndex(t *testing.T) {
	ix := world(t, Settings{}, entry("a", "in", "api.example.com", "", ""))
	out := load(t, entry("a", "out", "api.example.com", "", "")+rule("a", "d", "api", "", "")+"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
	if target := ix.Target(out[0]); target == nil || target.Object != out[0] || len(ix.Targets("api.example.com")) != 1 {
		t.Error("the entry has no target, or was entered")
	}
	if r := ix.Rule(out[1]); r == nil || r.Host != "api.a.svc.cluster.local" {
		t.Errorf("the rule is %+v", r)
	}
	if ix.Target(out[2]) != nil || ix.Rule(out[2]) != nil || ix.Rule(out[0]) != nil {
		t.Error("kinds are mixed up")
	}
}

func TestClientNamespaces(t *testing.T) {
	const host = "api.example.com"
	others := entry("z", "x", "z.example.com", "", "") + entry("m", "x", "m.example.com", "", "") + entry("istio-system", "x", "r.example.com", "", "")
	for _, c := range []struct {
		name, objects string
		want          []string
		byDefault     []string // whom entries without exportTo are exported to
	}{
		{"its own, the root and one for the rest", entry("egress", "api", host, "", ""), []string{"egress", "istio-system", "m"}, nil},
		{"those with a rule that reaches it", entry("egress", "api", host, "", "") + rule("z", "d", "*.com", "", pool), []string{"egress", "z", "istio-system", "m"}, nil},
		{"those that a rule is exported to", entry("egress", "api", host, "", "") + rule("egress", "d", host, "", ", exportTo: [z]"), []string{"egress", "z", "istio-system", "m"}, nil},
		{"only its own if it is private", entry("egress", "api", host, "", ", exportTo: ['.']") + rule("z", "d", host, "", pool), []string{"egress"}, nil},
		{"its own and those it is exported to", entry("egress", "api", host, "", ", exportTo: ['.', z, gone]"), []string{"egress", "z"}, nil},
		{"its own though it is hidden from it", entry("egress", "api", host, "", ", exportTo: [z]"), []string{"egress", "z"}, nil},
		{"its own though nobody sees it", entry("egress", "api", host, "", ", exportTo: ['~']"), []string{"egress"}, nil},
		{"its own and those the mesh exports it to", entry("egress", "api", host, "", ""), []string{"egress", "z"}, []string{"z", "."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, Settings{DefaultServiceExportTo: c.byDefault}, c.objects+others)
			if diff := cmp.Diff(c.want, ix.ClientNamespaces(entryOf(t, ix, "egress", "api"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSees(t *testing.T) {
	for _, c := range []struct {
		exportTo   string
		byDefault  []string
		own, other bool
	}{
		{"", nil, true, true},
		{"['*']", nil, true, true},
		{"['.']", nil, true, false},
		{"[egress]", nil, true, false},
		{"[app]", nil, false, true},
		{"['.', app]", nil, true, true},
		{"['~']", nil, false, false},
		{"['~', '*']", nil, true, true},
		{"", []string{"."}, true, false},
		{"", []string{"~"}, false, false},
		{"['*']", []string{"."}, true, true},
	} {
		spec := ""
		if c.exportTo != "" {
			spec = ", exportTo: " + c.exportTo
		}
		ix := world(t, Settings{DefaultServiceExportTo: c.byDefault}, entry("egress", "api", "api.example.com", "", spec))
		target := entryOf(t, ix, "egress", "api")
		if own, other := ix.Sees(target, "egress"), ix.Sees(target, "app"); own != c.own || other != c.other {
			t.Errorf("exportTo %s, default %v: seen at home %v, elsewhere %v", c.exportTo, c.byDefault, own, other)
		}
		if hidden := ix.Hidden(target); hidden != (!c.own && !c.other) {
			t.Errorf("exportTo %s, default %v: hidden %v", c.exportTo, c.byDefault, hidden)
		}
	}
	// A Service says so by annotation.
	ix := world(t, Settings{}, "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: a, annotations: {networking.istio.io/exportTo: 'b, .'}}\nspec: {ports: [{port: 80}]}\n")
	target := ix.Target(named(t, ix, object.Service, "a", "s"))
	if !ix.Sees(target, "a") || !ix.Sees(target, "b") || ix.Sees(target, "c") {
		t.Errorf("a Service exported to %v", target.ExportTo)
	}
}

// RuleBehind asks for what a rule keeps from clients: that with another host or of another namespace.
func TestRuleBehind(t *testing.T) {
	const host = "api.example.com"
	all := rule("app", "mine", host, "", "") + rule("app", "wide", "*.example.com", "", "") + rule("egress", "exact", host, "", "") +
		rule("egress", "subsets", host, "", "") + rule("istio-system", "default", "*", "", "")
	for _, c := range []struct{ name, rules, of, client, want string }{
		{"a wider one of the namespace", all, "app/mine", "app", "app/wide"},
		{"the more specific one stays", all, "app/wide", "app", "app/mine"},
		{"those beside it are left out too", all, "egress/exact", "other", "istio-system/default"},
		{"nothing", all, "istio-system/default", "other", "egress/exact+egress/subsets"},
		{"the owner's", rule("app", "mine", host, "", "") + rule("egress", "exact", host, "", ""), "app/mine", "app", "egress/exact"},
		{"none", rule("app", "mine", host, "", ""), "app/mine", "app", "none"},
		{"one for chosen workloads hides what is behind it", rule("app", "mine", host, "", "") + rule("app", "some", "*.example.com", "", ", workloadSelector: {matchLabels: {app: a}}") +
			rule("egress", "exact", host, "", ""), "app/mine", "app", "none"},
	} {
		ix := world(t, Settings{}, entry("egress", "api", host, "", "")+c.rules)
		ns, name, _ := strings.Cut(c.of, "/")
		r := ix.Rule(named(t, ix, object.DestinationRule, ns, name))
		if got := rulesOf(ix.RuleBehind(r, entryOf(t, ix, "egress", "api"), host, c.client, nil)); got != c.want {
			t.Errorf("%s: behind %s clients in %s get %s, want %s", c.name, c.of, c.client, got, c.want)
		}
	}
}
