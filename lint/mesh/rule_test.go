package mesh

import (
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/object"
)

// Which DestinationRule reaches clients. Each answer was compared with the clusters that Istio's own compiler makes of the input.
func TestRuleFor(t *testing.T) {
	const host = "api.example.com"
	se := entry("egress", "api", host, "", "")
	old, young := created("2026-01-01T00:00:00Z"), created("2026-02-01T00:00:00Z")
	for _, c := range []struct {
		name, rules string
		client      string // namespace, "app" if empty
		labels      map[string]string
		settings    Settings
		want        string // the rules merged, "none"
		policy      string // name of the rule whose policy applies; that of the first of want if empty
	}{
		{name: "nobody's", want: "none"},
		{name: "of the entry's namespace", rules: rule("egress", "d", host, "", pool), want: "egress/d"},
		{name: "of the root namespace", rules: rule("istio-system", "d", host, "", pool), want: "istio-system/d"},
		{name: "of the client's namespace", rules: rule("app", "d", host, "", pool), want: "app/d"},
		{name: "of a third namespace", rules: rule("third", "d", host, "", pool), want: "none"},
		{name: "a third namespace's export does not count", rules: rule("third", "d", host, "", ", exportTo: ['*']"+pool), want: "none"},
		{
			name:  "the client's comes first",
			rules: rule("app", "c", host, "", pool) + rule("egress", "s", host, "", pool) + rule("istio-system", "r", host, "", pool),
			want:  "app/c",
		},
		{name: "then the entry's", rules: rule("egress", "s", host, "", pool) + rule("istio-system", "r", host, "", pool), want: "egress/s"},
		{
			name:  "a client's wildcard beats the entry's exact rule",
			rules: rule("app", "wild", "*.example.com", "", pool) + rule("egress", "exact", host, "", pool), want: "app/wild",
		},
		{
			name:  "within a namespace the most specific host wins whole",
			rules: rule("egress", "all", "*", "", pool) + rule("egress", "com", "*.com", "", pool) + rule("egress", "ex", "*.example.com", "", pool), want: "egress/ex",
		},
		{
			name:  "a star within a label is as specific as it is long",
			rules: rule("egress", "label", "*.example.com", "", pool) + rule("egress", "odd", "*pi.example.com", "", pool), want: "egress/odd",
		},
		{
			name:  "exact beats wildcard even without a policy",
			rules: rule("egress", "exact", host, "", ", subsets: [{name: a}]") + rule("egress", "wild", "*.com", "", pool), want: "egress/exact", policy: "none",
		},
		{name: "the short name of another host", rules: rule("egress", "d", "api", "", pool), want: "none"},
		{name: "letters are not folded", rules: rule("egress", "d", "API.example.com", "", pool), want: "none"},
		{name: "a trailing dot makes another name", rules: rule("egress", "d", "api.example.com.", "", pool), want: "none"},

		{name: "private to the entry's namespace", rules: rule("egress", "d", host, "", ", exportTo: ['.']"+pool), want: "none"},
		{name: "private and at home", rules: rule("egress", "d", host, "", ", exportTo: ['.']"+pool), client: "egress", want: "egress/d"},
		{name: "exported to the client", rules: rule("egress", "d", host, "", ", exportTo: [app]"+pool), want: "egress/d"},
		{name: "exported to the client, not at home", rules: rule("egress", "d", host, "", ", exportTo: [app]"+pool), client: "egress", want: "none"},
		{name: "exported to others", rules: rule("egress", "d", host, "", ", exportTo: [third]"+pool), want: "none"},
		{name: "private in the root namespace", rules: rule("istio-system", "d", host, "", ", exportTo: ['.']"+pool), want: "none"},
		{
			name:  "a hidden exact rule lets the wildcard of its namespace through to nobody",
			rules: rule("egress", "exact", host, "", ", exportTo: [third]"+pool) + rule("egress", "wild", "*.com", "", pool), want: "none",
		},
		{
			name:  "a hidden rule of the entry's namespace leaves the root's",
			rules: rule("egress", "d", host, "", ", exportTo: ['.']"+pool) + rule("istio-system", "r", "*", "", pool), want: "istio-system/r",
		},
		{
			name:  "the mesh's default hides rules without exportTo",
			rules: rule("egress", "d", host, "", pool), settings: Settings{DefaultRuleExportTo: []string{"."}}, want: "none",
		},
		{
			name:  "the mesh's default does not touch an explicit exportTo",
			rules: rule("egress", "d", host, "", ", exportTo: ['*']"+pool), settings: Settings{DefaultRuleExportTo: []string{"."}}, want: "egress/d",
		},

		{name: "clients in the root namespace look at the entry's rules first", client: "istio-system",
			rules: rule("istio-system", "r", host, "", pool) + rule("egress", "s", host, "", pool), want: "egress/s"},
		{name: "but private rules of the root namespace are for them", client: "istio-system",
			rules: rule("istio-system", "r", host, "", ", exportTo: ['.']"+pool) + rule("egress", "s", host, "", pool), want: "istio-system/r"},
		{name: "a root of another name", settings: Settings{RootNamespace: "mesh-root"}, rules: rule("mesh-root", "r", host, "", pool), want: "mesh-root/r"},

		{name: "two rules of equal export merge, the oldest policy whole",
			rules: rule("egress", "b", host, old, pool) + rule("egress", "a", host, young, pool), want: "egress/b+egress/a"},
		{name: "by name if the times are equal", rules: rule("egress", "b", host, old, pool) + rule("egress", "a", host, old, pool), want: "egress/a+egress/b"},
		{name: "a rule without a time is the youngest",
			rules: rule("egress", "a", host, "", pool) + rule("egress", "b", host, old, pool), want: "egress/b+egress/a"},
		{name: "without a policy the next one's is taken", policy: "b",
			rules: rule("egress", "a", host, old, ", subsets: [{name: v1}]") + rule("egress", "b", host, young, pool), want: "egress/a+egress/b"},
		{name: "the order of exportTo does not matter",
			rules: rule("egress", "a", host, old, ", exportTo: [app, third]"+pool) + rule("egress", "b", host, young, ", exportTo: [third, app, app]"+pool),
			want:  "egress/a+egress/b"},
		{name: "different exportTo keeps them apart, and the youngest wins",
			rules: rule("egress", "a", host, old, pool) + rule("egress", "b", host, young, ", exportTo: ['*']"+pool), want: "egress/b"},
		{name: "whichever of the two is exported explicitly",
			rules: rule("egress", "a", host, old, ", exportTo: ['*']"+pool) + rule("egress", "b", host, young, pool), want: "egress/b"},
		{name: "a younger rule of wider export is merged into the older",
			rules: rule("egress", "a", host, old, ", exportTo: [app]"+pool) + rule("egress", "b", host, young, ", exportTo: [app, third]"+pool), want: "egress/a+egress/b"},
		{name: "and is lost where only it is exported", client: "third",
			rules: rule("egress", "a", host, old, ", exportTo: [app]"+pool) + rule("egress", "b", host, young, ", exportTo: [app, third]"+pool), want: "none"},

		{name: "a selector that matches", client: "egress", labels: map[string]string{"app": "x", "v": "1"},
			rules: rule("egress", "general", host, old, pool) + rule("egress", "sel", host, young, ", workloadSelector: {matchLabels: {app: x}}"+pool), want: "egress/sel"},
		{name: "a selector that does not", client: "egress", labels: map[string]string{"app": "y"},
			rules: rule("egress", "general", host, old, pool) + rule("egress", "sel", host, young, ", workloadSelector: {matchLabels: {app: x}}"+pool), want: "egress/general"},
		{name: "a selector and a workload without labels", client: "egress",
			rules: rule("egress", "sel", host, young, ", workloadSelector: {matchLabels: {app: x}}"+pool), want: "none"},
		{name: "an empty selector takes everybody", client: "egress",
			rules: rule("egress", "sel", host, young, ", workloadSelector: {}"+pool), want: "egress/sel"},
		{name: "a selector never leaves its namespace", labels: map[string]string{"app": "x"},
			rules: rule("egress", "sel", host, young, ", exportTo: ['*'], workloadSelector: {matchLabels: {app: x}}"+pool), want: "none"},
		{name: "not even from the root namespace", labels: map[string]string{"app": "x"},
			rules: rule("istio-system", "sel", host, young, ", workloadSelector: {matchLabels: {app: x}}"+pool), want: "none"},
		{name: "a selector that does not match hides what lies behind its namespace", labels: map[string]string{"app": "y"},
			rules: rule("app", "sel", host, young, ", workloadSelector: {matchLabels: {app: x}}"+pool) + rule("egress", "s", host, "", pool), want: "none"},
		{name: "equal selectors merge", client: "egress", labels: map[string]string{"app": "x"},
			rules: rule("egress", "a", host, old, ", workloadSelector: {matchLabels: {app: x}}"+pool) + rule("egress", "b", host, young, ", workloadSelector: {matchLabels: {app: x}}"+pool),
			want:  "egress/a+egress/b"},
		{name: "other selectors do not", client: "egress", labels: map[string]string{"app": "x", "v": "1"},
			rules: rule("egress", "a", host, old, ", workloadSelector: {matchLabels: {app: x}}"+pool) + rule("egress", "b", host, young, ", workloadSelector: {matchLabels: {v: '1'}}"+pool),
			want:  "egress/a"},
		{name: "a private general rule is swallowed by a selector beside it", client: "egress", labels: map[string]string{"app": "y"},
			rules: rule("egress", "general", host, old, ", exportTo: ['.']"+pool) + rule("egress", "sel", host, young, ", workloadSelector: {matchLabels: {app: x}}"+pool), want: "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, c.settings, se+c.rules)
			client := c.client
			if client == "" {
				client = "app"
			}
			m := ix.RuleFor(entryOf(t, ix, "egress", "api"), host, client, c.labels)
			if got := rulesOf(m); got != c.want {
				t.Fatalf("%s applies, want %s", got, c.want)
			}
			if m == nil {
				return
			}
			policy := c.policy
			if policy == "" {
				policy = m.Rules[0].Object.Name
			}
			got := "none"
			if m.Policy != nil {
				got = m.Policy.Object.Name
			}
			if got != policy {
				t.Errorf("the policy is that of %s, want %s", got, policy)
			}
		})
	}
}

func TestMergedSubsets(t *testing.T) {
	ix := world(t, Settings{}, entry("egress", "api", "api.example.com", "", "")+
		rule("egress", "a", "api.example.com", created("2026-01-01T00:00:00Z"), ", subsets: [{name: v1, labels: {from: a}}, {name: v2}]")+
		rule("egress", "b", "api.example.com", created("2026-02-01T00:00:00Z"), ", subsets: [{name: v3}, {name: v1, labels: {from: b}}]"))
	m := ix.RuleFor(entryOf(t, ix, "egress", "api"), "api.example.com", "app", nil)
	var got []string
	for _, s := range m.Subsets {
		got = append(got, s.Name+"="+s.Rule.Object.Name)
	}
	if want := "v1=a v2=a v3=b"; strings.Join(got, " ") != want {
		t.Errorf("subsets %v, want %s", got, want)
	}
	v1, ok := m.Subset("v1")
	if from := v1.Value().At("labels", "from").Str(); !ok || from != "a" {
		t.Errorf("subset v1 is that of %q", from)
	}
	if _, ok := m.Subset("v4"); ok {
		t.Error("there is a subset v4")
	}
	if m.Host() != "api.example.com" || m.Selector() != nil {
		t.Errorf("host %s, selector %v", m.Host(), m.Selector())
	}
	if !m.Has(named(t, ix, object.DestinationRule, "egress", "b")) || m.Has(named(t, ix, object.ServiceEntry, "egress", "api")) {
		t.Error("Has does not tell what went into the merge")
	}
}

// A wildcard ServiceEntry has a cluster for its own name only, so an exact rule below it meets nothing.
func TestRuleForWildcardHost(t *testing.T) {
	ix := world(t, Settings{}, entry("egress", "wild", "'*.example.com'", "", "")+
		rule("egress", "exact", "api.example.com", "", pool)+rule("egress", "wider", "*.com", "", pool)+rule("egress", "narrower", "*.api.example.com", "", pool))
	if got := rulesOf(ix.RuleFor(entryOf(t, ix, "egress", "wild"), "*.example.com", "app", nil)); got != "egress/wider" {
		t.Errorf("%s applies", got)
	}
}

func TestApplies(t *testing.T) {
	const host = "api.example.com"
	ix := world(t, Settings{}, entry("egress", "api", host, "", "")+
		rule("egress", "exact", host, "", pool)+rule("egress", "wild", "*.com", "", pool)+
		rule("app", "own", "*", "", pool)+rule("egress", "sel", host, "", ", workloadSelector: {matchLabels: {app: x}}"+pool)+
		rule("third", "beside-a", host, "", pool)+rule("third", "beside-b", host, "", ", exportTo: ['*']"+pool))
	target := entryOf(t, ix, "egress", "api")
	for _, c := range []struct {
		ns, name, client string
		want             bool
	}{
		{"egress", "exact", "egress", true},
		{"egress", "exact", "other", true},
		{"egress", "exact", "app", false}, // a rule of its own
		{"egress", "wild", "egress", false},
		{"app", "own", "app", true},
		{"app", "own", "egress", false},
		{"egress", "sel", "egress", true}, // for some workloads
		{"egress", "sel", "other", false},
		{"third", "beside-a", "third", true}, // which of the two wins is a matter of age
		{"third", "beside-b", "third", true},
	} {
		r := ix.Rule(named(t, ix, object.DestinationRule, c.ns, c.name))
		if got := ix.Applies(r, target, host, c.client); got != c.want {
			t.Errorf("%s/%s for clients in %s: %v", c.ns, c.name, c.client, got)
		}
	}
}

// What Meet says is what the merge of Istio comes to, whichever of two rules is older.
func TestMeet(t *testing.T) {
	const host, old, late = "api.example.com", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
	for _, c := range []struct {
		a, b    string
		meeting Meeting
		narrow  string
	}{
		{"", "", Merge, ""},
		{"[x, v]", "[v, x, x]", Merge, ""},
		{"", "['*']", Displace, ""},
		{"['.']", "", Displace, ""},
		{"['.']", "['*']", Displace, ""},
		{"['.']", "[egress]", Displace, ""},
		{"[x]", "['*']", Displace, ""},
		{"[x, z]", "[v, z]", Displace, ""},
		{"['.']", "['.', x]", Swallow, "a"},
		{"[x, v]", "[x]", Swallow, "b"},
		{"['.', x]", "['.', x, v]", Swallow, "a"},
		{"[x]", "[v]", Strangers, ""},
		{"['.']", "[x]", Strangers, ""},
	} {
		exported := func(list string) string {
			if list == "" {
				return pool
			}
			return ", exportTo: " + list + pool
		}
		for _, ages := range [][2]string{{old, late}, {late, old}} {
			ix := world(t, Settings{}, entry("egress", "api", host, "", "")+
				rule("egress", "a", host, created(ages[0]), exported(c.a))+rule("egress", "b", host, created(ages[1]), exported(c.b)))
			a, b := ix.Rule(named(t, ix, object.DestinationRule, "egress", "a")), ix.Rule(named(t, ix, object.DestinationRule, "egress", "b"))
			meeting, narrow := ix.Meet(a, b)
			back, narrowBack := ix.Meet(b, a)
			if meeting != c.meeting || back != meeting || narrow != narrowBack || (narrow != nil) != (c.narrow != "") || narrow != nil && narrow.Object.Name != c.narrow {
				t.Fatalf("exportTo %s and %s: %s, %+v", c.a, c.b, meeting, narrow)
			}
			older, younger := a, b
			if ages[0] == late {
				older, younger = b, a
			}
			for _, client := range []string{"egress", "x", "v", "z"} {
				sees := func(r *DestinationRule) bool {
					alone := world(t, Settings{}, entry("egress", "api", host, "", "")+rule("egress", "r", host, "", exported(map[bool]string{true: c.a, false: c.b}[r == a])))
					return alone.RuleFor(entryOf(t, alone, "egress", "api"), host, client, nil) != nil
				}
				want := "none"
				switch sa, sb := sees(older), sees(younger); {
				case sa && sb && meeting == Merge:
					want = older.Object.Name
				case sa && sb && meeting == Swallow:
					want = narrow.Object.Name
				case sa && sb && meeting == Displace:
					want = younger.Object.Name
				case sa && sb:
					t.Fatalf("exportTo %s and %s: %s sees both", c.a, c.b, client)
				case sb && meeting == Swallow && older == narrow && !ix.Private(narrow):
				case sa:
					want = older.Object.Name
				case sb:
					want = younger.Object.Name
				}
				got := "none"
				if m := ix.RuleFor(entryOf(t, ix, "egress", "api"), host, client, nil); m != nil {
					got = m.Policy.Object.Name
				}
				if got != want {
					t.Errorf("exportTo %s and %s, %s the older, for %s: %s, want %s", c.a, c.b, older.Object.Name, client, got, want)
				}
			}
		}
	}
	// A selector keeps a rule at home whatever its exportTo says; in the root namespace private rules come first.
	const selector = ", workloadSelector: {matchLabels: {app: x}}"
	ix := world(t, Settings{}, rule("a", "a", host, "", selector+", exportTo: [x]"+pool)+rule("a", "b", host, "", selector+pool)+
		rule("istio-system", "a", host, "", ", exportTo: ['.']"+pool)+rule("istio-system", "b", host, "", pool))
	for ns, want := range map[string]Meeting{"a": Merge, "istio-system": Strangers} {
		if got, _ := ix.Meet(ix.Rule(named(t, ix, object.DestinationRule, ns, "a")), ix.Rule(named(t, ix, object.DestinationRule, ns, "b"))); got != want {
			t.Errorf("in %s: %s", ns, got)
		}
	}
}
