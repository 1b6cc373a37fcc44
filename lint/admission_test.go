package lint_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// readAdmission reads the configuration of a webhook that has no mistake.
func readAdmission(t *testing.T, text string) *lint.Admission {
	t.Helper()
	cfg, problems := lint.ReadConfig("cfg", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &cfg.Admission
}

func TestReadAdmission(t *testing.T) {
	a := readAdmission(t, `webhook:
  actions:
  - rules: [DR202, tls]
    severities: [error, warning]
    namespaceSelector:
      matchLabels: {env: prod}
      matchExpressions:
      - {key: team, operator: In, values: [a, b]}
      - {key: tier, operator: NotIn, values: [sandbox]}
      - {key: mesh, operator: Exists}
      - {key: frozen, operator: DoesNotExist}
    action: deny
  - action: audit
  onError: deny
  maxInFlight: 1024
  exempt:
    users: ["system:serviceaccount:flux-system:*"]
    groups: [break-glass]
    namespaces: [kube-system]
  suppressible: [DR204]
  denyCaused: true
`)
	want := &lint.Admission{
		Actions: []lint.ActionFor{
			{Rules: []string{"DR202", "tls"}, Severities: []lint.Severity{lint.Error, lint.Warning}, Action: lint.Deny},
			{Action: lint.Audit},
		},
		DenyOnError: true, MaxInFlight: 1024, DenyCaused: true, Suppressible: []string{"DR204"},
		Exempt: lint.Exempt{
			Users: []string{"system:serviceaccount:flux-system:*"}, Groups: []string{"break-glass"}, Namespaces: []string{"kube-system"},
		},
	}
	ignore := cmp.Options{cmpopts.IgnoreUnexported(lint.Admission{}, lint.ActionFor{}), cmpopts.IgnoreFields(lint.ActionFor{}, "Namespaces")}
	if diff := cmp.Diff(want, a, ignore); diff != "" {
		t.Error(diff)
	}
	if got, want := a.Actions[0].Namespaces.String(), "env=prod,!frozen,mesh,team in (a,b),tier notin (sandbox)"; got != want {
		t.Errorf("selector %s, want %s", got, want)
	}
	if a.Actions[1].Namespaces != nil {
		t.Errorf("selector %s, want none", a.Actions[1].Namespaces)
	}
}

// Without the key, or with nothing under it, everything warns.
func TestAdmissionDefaults(t *testing.T) {
	for _, text := range []string{"", "version: 1\n", "webhook:\n", "webhook: {}\n", "webhook: {actions: [], exempt: {}, suppressible: []}\n"} {
		a := readAdmission(t, text)
		m := &lint.Meta{ID: "DR202", Name: "port-level-resets", Category: lint.CategoryPool}
		if got := a.ActionOf(m, lint.Error, nil); got != lint.Warn {
			t.Errorf("%q: an error has action %s", text, got)
		}
		if a.DenyOnError || a.DenyCaused || a.MaxInFlight != 0 || a.MaySuppress(m) || a.Exempt.Covers("admin", []string{"system:masters"}, "shop") != "" {
			t.Errorf("%q: %+v", text, a)
		}
	}
}

func TestActionOf(t *testing.T) {
	a := readAdmission(t, `webhook:
  actions:
  - {rules: [dr202], severities: [info], action: audit}
  - {rules: [Port-Level-Resets], namespaceSelector: {matchLabels: {env: prod}}, action: deny}
  - {rules: [tls], action: deny}
  - {severities: [error], namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [dev]}]}, action: deny}
  - {severities: [info], namespaceSelector: {}, action: audit}
`)
	resets := &lint.Meta{ID: "DR202", Name: "port-level-resets", Category: lint.CategoryPool}
	verified := &lint.Meta{ID: "DR231", Name: "name-not-verified", Category: lint.CategoryTLS}
	prod, dev := map[string]string{"env": "prod", "team": "a"}, map[string]string{"env": "dev"}
	for _, c := range []struct {
		name     string
		rule     *lint.Meta
		severity lint.Severity
		labels   map[string]string
		want     lint.Action
	}{
		{"the first entry wins over the second, which matches too", resets, lint.Info, prod, lint.Audit},
		{"by name and label", resets, lint.Warning, prod, lint.Deny},
		{"another namespace", resets, lint.Warning, dev, lint.Warn},
		{"no labels", resets, lint.Warning, nil, lint.Warn},
		{"by category", verified, lint.Info, dev, lint.Deny},
		{"by severity, any rule", resets, lint.Error, map[string]string{"env": "test"}, lint.Deny},
		{"a label that is not there is not among values", resets, lint.Error, nil, lint.Deny},
		{"by severity, but not there", resets, lint.Error, dev, lint.Warn},
		{"a selector of nothing selects all", &lint.Meta{ID: "SE101"}, lint.Info, dev, lint.Audit},
		{"nothing matches", &lint.Meta{ID: "SE101"}, lint.Warning, prod, lint.Warn},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := a.ActionOf(c.rule, c.severity, c.labels); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestMaySuppress(t *testing.T) {
	a := &lint.Admission{Suppressible: []string{"dr204", "name-not-verified", "input"}}
	for _, c := range []struct {
		rule lint.Meta
		want bool
	}{
		{lint.Meta{ID: "DR204", Name: "outlier-detection-missing"}, true},
		{lint.Meta{ID: "DR231", Name: "name-not-verified"}, true},
		{lint.Meta{ID: "MV902", Category: lint.CategoryInput}, true},
		{lint.Meta{ID: "MV901", Category: lint.CategoryInput, Unsuppressible: true}, false},
		{lint.Meta{ID: "DR202", Name: "port-level-resets", Category: lint.CategoryPool}, false},
	} {
		if got := a.MaySuppress(&c.rule); got != c.want {
			t.Errorf("%s: %v", c.rule.ID, got)
		}
	}
}

func TestExemptCovers(t *testing.T) {
	e := &lint.Exempt{
		Users:      []string{"alice", "system:serviceaccount:flux-system:*"},
		Groups:     []string{"break-glass", "ops:*"},
		Namespaces: []string{"kube-system", "infra-*"},
	}
	for _, c := range []struct {
		name, user string
		groups     []string
		namespace  string
		want       string
	}{
		{"user", "alice", nil, "shop", `webhook.exempt.users has "alice"`},
		{"beginning of a user", "alice2", nil, "shop", ""},
		{"case counts", "Alice", nil, "shop", ""},
		{"user by its beginning", "system:serviceaccount:flux-system:kustomize", nil, "shop", `webhook.exempt.users has "system:serviceaccount:flux-system:*"`},
		{"user with another beginning", "system:serviceaccount:flux:kustomize", nil, "shop", ""},
		{"the beginning alone", "system:serviceaccount:flux-system:", nil, "shop", `webhook.exempt.users has "system:serviceaccount:flux-system:*"`},
		{"group", "bob", []string{"dev", "break-glass"}, "shop", `webhook.exempt.groups has "break-glass"`},
		{"group by its beginning", "bob", []string{"ops:eu"}, "shop", `webhook.exempt.groups has "ops:*"`},
		{"a user named as a group", "break-glass", []string{"dev"}, "shop", ""},
		{"namespace", "bob", nil, "kube-system", `webhook.exempt.namespaces has "kube-system"`},
		{"namespace by its beginning", "bob", nil, "infra-dns", `webhook.exempt.namespaces has "infra-*"`},
		{"nobody", "bob", []string{"dev"}, "shop", ""},
		{"nothing known", "", nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := e.Covers(c.user, c.groups, c.namespace); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	all := &lint.Exempt{Users: []string{"*"}, Namespaces: []string{"*"}}
	if all.Covers("bob", nil, "") == "" || (&lint.Exempt{Namespaces: all.Namespaces}).Covers("bob", nil, "") != "" {
		t.Error("a star is everybody, and every namespace that there is")
	}
}

func TestReadAdmissionMistakes(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("a,", lint.MostEntries+1), ",")
	for _, c := range []struct{ name, text, at, want string }{
		{"unknown key", "webhook:\n  onErr: deny\n", ":2:3", `unknown key "onErr" in webhook; did you mean "onError"?`},
		{"not a mapping", "webhook: deny\n", ":1:10", "webhook is a string; a mapping is wanted"},
		{"actions as a mapping", "webhook:\n  actions: {action: deny}\n", ":2:3", "webhook.actions is a mapping; a list is wanted"},
		{"an action as a word", "webhook:\n  actions: [deny]\n", ":2:13", "webhook.actions[0] is a string; a mapping is wanted"},
		{"no action", "webhook:\n  actions:\n  - rules: [a]\n", ":3:5", "takes an action: deny, warn or audit"},
		{"null action", "webhook:\n  actions:\n  - action:\n", ":3:5", "takes an action: deny, warn or audit"},
		{"null entry", "webhook:\n  actions: [~]\n", ":2:13", "takes an action: deny, warn or audit"},
		{"null expression", "webhook:\n  actions: [{namespaceSelector: {matchExpressions: [~]}, action: deny}]\n", ":2:53", "takes a key and an operator"},
		{"unknown action", "webhook:\n  actions:\n  - action: Deny\n", ":3:13", `webhook.actions[0].action "Deny" is not one of deny, warn, audit`},
		{"action as a number", "webhook:\n  actions:\n  - action: 1\n", ":3:13", "a string is wanted"},
		{"unknown key of an action", "webhook:\n  actions:\n  - {rule: [a], action: deny}\n", ":3:6", `did you mean "rules"?`},
		{"no rules", "webhook:\n  actions:\n  - {rules: [], action: deny}\n", ":3:6", "webhook.actions[0].rules is empty, so the entry is for nothing; leave rules out if all are meant"},
		{"rule as a number", "webhook:\n  actions:\n  - {rules: [202], action: deny}\n", ":3:14", "webhook.actions[0].rules[0] is 202, an integer; a string is wanted"},
		{"severity", "webhook:\n  actions:\n  - {severities: [error, fatal], action: deny}\n", ":3:26", `severity "fatal" is not one of info, warning, error`},
		{"severity off", "webhook:\n  actions:\n  - {severities: ['off'], action: deny}\n", ":3:19", `severity "off" is not one of`},
		{"severity as a word", "webhook:\n  actions:\n  - {severities: error, action: deny}\n", ":3:18", "a list is wanted"},
		{"selector as a list", "webhook:\n  actions:\n  - {namespaceSelector: [a], action: deny}\n", ":3:6", "a mapping is wanted"},
		{"labels without matchLabels", "webhook:\n  actions:\n  - {namespaceSelector: {env: prod}, action: deny}\n", ":3:26", `unknown key "env" in webhook.actions[0].namespaceSelector; known are matchExpressions, matchLabels`},
		{"label as a number", "webhook:\n  actions:\n  - {namespaceSelector: {matchLabels: {env: 1}}, action: deny}\n", ":3:45", "a string is wanted"},
		{"no label's key", "webhook:\n  actions:\n  - {namespaceSelector: {matchLabels: {'a b': c}}, action: deny}\n", ":3:47", "name part must consist of alphanumeric characters"},
		{"no label's value", "webhook:\n  actions:\n  - {namespaceSelector: {matchLabels: {a: 'b c'}}, action: deny}\n", ":3:43", "a valid label must be"},
		{"labels as a list", "webhook:\n  actions:\n  - {namespaceSelector: {matchLabels: [a]}, action: deny}\n", ":3:26", "a mapping from label to value is wanted"},
		{"expressions as a mapping", "webhook:\n  actions:\n  - {namespaceSelector: {matchExpressions: {key: a}}, action: deny}\n", ":3:26", "a list is wanted"},
		{"operator", "webhook:\n  actions:\n  - {namespaceSelector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}, action: deny}\n", ":3:64", `"Gt" is not one of In, NotIn, Exists, DoesNotExist`},
		{"no operator", "webhook:\n  actions:\n  - {namespaceSelector: {matchExpressions: [{key: a}]}, action: deny}\n", ":3:45", "matchExpressions[0] takes a key and an operator"},
		{"no values", "webhook:\n  actions:\n  - {namespaceSelector: {matchExpressions: [{key: a, operator: In}]}, action: deny}\n", ":3:45", "values set can't be empty"},
		{"values to no use", "webhook:\n  actions:\n  - {namespaceSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}, action: deny}\n", ":3:45", "values set must be empty"},
		{"onError", "webhook:\n  onError: warn\n", ":2:12", `webhook.onError "warn" is not one of allow, deny`},
		{"none in flight", "webhook:\n  maxInFlight: 0\n", ":2:16", "webhook.maxInFlight is 0; a number from 1 to 1024 is wanted"},
		{"too many in flight", "webhook:\n  maxInFlight: 1025\n", ":2:16", "a number from 1 to 1024 is wanted"},
		{"less than none in flight", "webhook:\n  maxInFlight: -4\n", ":2:16", "a number from 1 to 1024 is wanted"},
		{"half a request", "webhook:\n  maxInFlight: 1.5\n", ":2:16", "a number from 1 to 1024 is wanted"},
		{"number as text", "webhook:\n  maxInFlight: '4'\n", ":2:16", "a number from 1 to 1024 is wanted"},
		{"exempt as a list", "webhook:\n  exempt: [alice]\n", ":2:3", "webhook.exempt is a list; a mapping is wanted"},
		{"unknown exemption", "webhook:\n  exempt: {user: [alice]}\n", ":2:12", `did you mean "users"?`},
		{"star in the middle", "webhook:\n  exempt: {users: [a, 'system:*:x']}\n", ":2:23", `"system:*:x" has a star that is not at its end`},
		{"two stars", "webhook:\n  exempt: {users: ['a**']}\n", ":2:20", "a star that is not at its end"},
		{"empty name", "webhook:\n  exempt: {groups: ['']}\n", ":2:21", "webhook.exempt.groups[0] is empty; a name is wanted"},
		{"user as a number", "webhook:\n  exempt: {users: [1]}\n", ":2:20", "a string is wanted"},
		{"too many names", "webhook:\n  exempt: {users: [" + many + "]}\n", ":2:12", "webhook.exempt.users has 1001 entries, and 1000 are the most"},
		{"too many rules", "webhook:\n  suppressible: [" + many + "]\n", ":2:3", "webhook.suppressible has 1001 entries, and 1000 are the most"},
		{"suppressible as a word", "webhook:\n  suppressible: DR204\n", ":2:17", "a list is wanted"},
		{"denyCaused", "webhook:\n  denyCaused: sometimes\n", ":2:15", "true or false is wanted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := lint.ReadConfig("cfg", []byte(c.text))
			if len(problems) != 1 {
				t.Fatalf("%d problems: %v", len(problems), problems)
			}
			p := problems[0]
			if !strings.Contains(p.Message, c.want) || p.Location.String() != "cfg"+c.at {
				t.Errorf("%s: %s\nwant %s: …%s…", p.Location, p.Message, c.at, c.want)
			}
		})
	}
}

// Which rules there are New knows, and says where a word is none of them.
func TestAdmissionRulesAreKnown(t *testing.T) {
	pool := simple("DR202", object.DestinationRule, finds(nil, "m"))
	pool.Name, pool.Category = "port-level-resets", lint.CategoryPool
	field := simple("MV901", object.ServiceEntry, finds(nil, "m"))
	field.Name, field.Category, field.Unsuppressible = "unknown-field", lint.CategoryInput, true
	rules := []lint.Rule{pool, field}
	for _, c := range []struct{ name, text, want string }{
		{"all known", "webhook:\n  actions:\n  - {rules: [dr202, Unknown-Field, TRAFFIC-policy], action: deny}\n  suppressible: [input, traffic-policy]\n", ""},
		{"unknown in actions", "webhook:\n  actions:\n  - {rules: [DR202, port-level-reset], action: deny}\n",
			`cfg:3:21: unknown rule or category "port-level-reset"; did you mean "port-level-resets"?`},
		{"unknown to be suppressed", "webhook:\n  suppressible: [DR202, nonsense-of-its-own]\n",
			"cfg:2:25: unknown rule or category \"nonsense-of-its-own\"; `meshvet rules` lists them"},
		{"never to be suppressed", "webhook:\n  suppressible: [unknown-field]\n", "cfg:2:18: MV901 (unknown-field) can never be suppressed"},
		{"several", "rules: {XX1: off}\nwebhook:\n  actions:\n  - {rules: [XX2], action: deny}\n  suppressible: [XX3]\n",
			"cfg:1:9: unknown rule \"XX1\"; `meshvet rules` lists them\n" +
				"cfg:4:14: unknown rule or category \"XX2\"; `meshvet rules` lists them\n" +
				"cfg:5:18: unknown rule or category \"XX3\"; `meshvet rules` lists them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, problems := lint.ReadConfig("cfg", []byte(c.text))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			_, err := lint.New(rules, cfg)
			got := ""
			if wrong := new(lint.ConfigError); errors.As(err, &wrong) {
				got = wrong.Error()
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A configuration that a program makes has no places, and is checked like one that is read.
func TestAdmissionWithoutPlaces(t *testing.T) {
	cfg := &lint.Config{Admission: lint.Admission{
		Actions:      []lint.ActionFor{{Rules: []string{"XX1"}, Namespaces: labels.Everything(), Action: lint.Deny}},
		Suppressible: []string{"XX2"},
	}}
	_, err := lint.New(nil, cfg)
	if err == nil || !strings.Contains(err.Error(), `"XX1"`) || !strings.Contains(err.Error(), `"XX2"`) {
		t.Errorf("error %v", err)
	}
}

// A list at its bound is read in no time.
func TestAdmissionAtItsBounds(t *testing.T) {
	var b strings.Builder
	b.WriteString("webhook:\n  suppressible:\n")
	for i := range lint.MostEntries {
		fmt.Fprintf(&b, "  - R%d\n", i)
	}
	if a := readAdmission(t, b.String()); len(a.Suppressible) != lint.MostEntries {
		t.Errorf("%d entries", len(a.Suppressible))
	}
}
