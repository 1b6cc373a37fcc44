package lint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest/configmistakes"
	"github.com/meshvet/meshvet/lint/object"
)

func TestReadConfig(t *testing.T) {
	cfg, problems := lint.ReadConfig(".meshvet.yaml", []byte(`version: 1
rules:
  DR204: off
  port-level-resets:
    severity: error
exclude: ["**/testdata/**"]
context:
  paths: [mesh]
  complete: [serviceentry, Service]
scopes:
- name: prod
  paths: [clusters/prod]
istio:
  version: "1.30"
  dataplane: sidecar
  dnsCapture: true
  autoAllocate: false
  gatewayNamespaces: [gw]
  clusterDomain: homelab.local
  rootNamespace: mesh-root
  meshConfig:
    connectTimeout: 5s
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := *cfg.Rules["DR204"].Severity; got != lint.Off {
		t.Errorf("DR204 is %s; YAML reads off as false", got)
	}
	if got := *cfg.Rules["port-level-resets"].Severity; got != lint.Error {
		t.Errorf("severity %s", got)
	}
	if diff := cmp.Diff([]object.Kind{object.ServiceEntry, object.Service}, cfg.Complete); diff != "" {
		t.Error(diff)
	}
	m := cfg.Mesh
	if m.IstioVersion != "1.30" || m.ClusterDomain != "homelab.local" || m.RootNamespace != "mesh-root" || !*m.DNSCapture || *m.AutoAllocate || m.Dataplane != "sidecar" {
		t.Errorf("settings %+v", m)
	}
	if got := m.MeshConfig.Get("connectTimeout").Str(); got != "5s" || m.MeshConfigSource != ".meshvet.yaml:21:3" {
		t.Errorf("connectTimeout %q from %s", got, m.MeshConfigSource)
	}
}

// TestReadConfigMistakes holds the reader to mistakes that the schema's test knows too.
func TestReadConfigMistakes(t *testing.T) {
	for _, c := range configmistakes.All() {
		t.Run(c.Name, func(t *testing.T) {
			_, problems := lint.ReadConfig("cfg", []byte(c.Text))
			if len(problems) == 0 {
				t.Fatal("no problem")
			}
			p := problems[0]
			if !strings.Contains(p.Message, c.Want) || !strings.HasPrefix(p.Location.String(), "cfg"+c.At) {
				t.Errorf("%s: %s\nwant %s: …%s…", p.Location, p.Message, c.At, c.Want)
			}
		})
	}
}

func TestReadConfigOfMesh(t *testing.T) {
	for _, c := range []struct{ name, text, at, want string }{
		{"unknown key", "connectTimout: 5s", "3:5", `unknown key "connectTimout" in istio.meshConfig; did you mean "connectTimeout"?`},
		{"unknown key far from any", "qqqqqqqqqqqq: 5s", "3:5", `unknown key "qqqqqqqqqqqq" in istio.meshConfig`},
		{"unknown key below", "defaultConfig: {holdApplicationUntilProxyStart: true}", "3:21", `in istio.meshConfig.defaultConfig; did you mean "holdApplicationUntilProxyStarts"?`},
		{"number for a duration", "connectTimeout: 5", "3:21", "istio.meshConfig.connectTimeout is 5, an integer; a duration in seconds, such as 1.5s, is wanted"},
		{"duration in minutes", "connectTimeout: 1m", "3:21", "istio.meshConfig.connectTimeout is 1m, a string; a duration in seconds, such as 1.5s, is wanted"},
		{"number for a mapping", "outboundTrafficPolicy: 7", "3:28", "istio.meshConfig.outboundTrafficPolicy is an integer; a mapping is wanted"},
		{"word for a mode", "outboundTrafficPolicy: {mode: REGISTRY}", "3:35", `"REGISTRY" is not one of REGISTRY_ONLY, ALLOW_ANY, ALLOW_ANY_DYNAMIC_DNS`},
		{"boolean", "enableTracing: 'yes'", "3:20", "istio.meshConfig.enableTracing is yes, a string; true or false is wanted"},
		{"wrapped boolean", "enableAutoMtls: 1", "3:21", "true or false is wanted"},
		{"string in a list", "defaultServiceExportTo: [1]", "3:30", "istio.meshConfig.defaultServiceExportTo[0] is 1, an integer; a string is wanted"},
		{"string for a list", "defaultServiceExportTo: '*'", "3:29", "a list is wanted"},
		{"string in a mapping", "defaultConfig: {proxyMetadata: {A: true}}", "3:40", "istio.meshConfig.defaultConfig.proxyMetadata.A is true, a boolean; a string is wanted"},
		{"word for a number", "defaultConfig: {concurrency: two}", "3:34", "a number is wanted"},
		{"list for a mapping", "defaultConfig: [1]", "3:5", "istio.meshConfig.defaultConfig is a list; a mapping is wanted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := lint.ReadConfig("cfg", []byte("istio:\n  meshConfig:\n    "+c.text+"\n"))
			if len(problems) != 1 {
				t.Fatalf("problems: %v", problems)
			}
			if p := problems[0]; !strings.HasSuffix(p.Message, c.want) || p.Location.String() != "cfg:"+c.at {
				t.Errorf("%s: %s\nwant cfg:%s: …%s", p.Location, p.Message, c.at, c.want)
			}
		})
	}
	for _, text := range []string{
		"connectTimeout: 0.5s", "connect_timeout: 10s", "enableAutoMtls: true", "rootNamespace:", "outboundTrafficPolicy: {mode: 1}",
		"trustDomain: cluster.local\n    defaultConfig: {concurrency: 2, proxyMetadata: {A: 'true'}, tracing: {sampling: '1.5'}, drainDuration: 45s}",
		"extensionProviders: [{name: x, envoyExtAuthzGrpc: {service: a, port: 9000, includeRequestBodyInCheck: {maxRequestBytes: 1}}}]",
		"serviceSettings: [{settings: {clusterLocal: true}, hosts: ['*']}]", "discoverySelectors: [{matchLabels: {a: b}}]",
		"accessLogFormat: ''\n    localityLbSetting: {distribute: [{from: a, to: {b: 100}}]}",
	} {
		if _, problems := lint.ReadConfig("cfg", []byte("istio:\n  meshConfig:\n    "+text+"\n")); len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

func TestReadConfigPatterns(t *testing.T) {
	for _, text := range []string{
		"exclude: ['" + strings.Repeat("{a,}", 8) + "']\n",
		`exclude: ['[{,}{,}{,}{,}{,}{,}{,}{,}{,}]', '\{a,\{a,\{a,\{a,\{a,\{a,\{a,\{a,\{a,', '[{{{{{{{{{\]{,,,,,]{a,b}']` + "\n",
		"exclude: [., ./, a/, ./a, a/../b, '**/x', '..a', 'a!']\n",
		"context: [../shared, 'x/*.yaml']\n",
	} {
		if _, problems := lint.ReadConfig("cfg", []byte(text)); len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

func TestReadConfigReportsAllMistakesAtOnce(t *testing.T) {
	_, problems := lint.ReadConfig("cfg", []byte("version: 3\nexlude: []\nistio:\n  dataplane: x\n"))
	if len(problems) != 3 {
		t.Errorf("%d problems: %v", len(problems), problems)
	}
}

func TestRulesOfTheConfiguration(t *testing.T) {
	withOption := simple("DR220", object.DestinationRule, finds(nil, "found"))
	withOption.Name = "slow-failure"
	withOption.Options = []lint.Option{{Name: "limitSeconds", Default: int64(6), Doc: "the limit"}, {Name: "hosts", Default: []string{}, Doc: "hosts"}}
	strict := simple("SE118", object.ServiceEntry, finds(nil, "found"))
	strict.Presets = []string{"strict"}
	strict.Options = []lint.Option{{Name: "also", Default: false, Strict: true, Doc: "more"}}
	rules := []lint.Rule{withOption, strict, simple("SE101", object.ServiceEntry, finds(nil, "found"))}
	for _, c := range []struct {
		name, text      string
		enable, disable []string
		selected        []string
		mistake         string
	}{
		{name: "defaults", selected: []string{"DR220", "SE101"}},
		{name: "off by name", text: "rules:\n  slow-failure: off\n", selected: []string{"SE101"}},
		{name: "case does not count", text: "rules:\n  se101: off\n", disable: []string{"Slow-Failure"}, enable: []string{"se118"}, selected: []string{"SE118"}},
		{name: "twice", text: "rules:\n  DR220: off\n  slow-failure: error\n", mistake: `cfg:3:3: rule DR220 is configured twice: as "DR220" and as "slow-failure"`},
		{name: "a severity switches on", text: "rules:\n  SE118: info\n", selected: []string{"DR220", "SE101", "SE118"}},
		{name: "flags outrank", text: "rules:\n  SE101: off\n", enable: []string{"SE101"}, disable: []string{"DR220"}, selected: []string{"SE101"}},
		{name: "options", text: "rules:\n  DR220:\n    options:\n      limitSeconds: 3\n      hosts: [a]\n", selected: []string{"DR220", "SE101"}},
		{name: "preset strict", text: "extends: [strict]\n", selected: []string{"DR220", "SE101", "SE118"}},
		{name: "no preset", text: "extends: []\nrules:\n  SE101: error\n", selected: []string{"SE101"}},
		{name: "both presets, one rule off", text: "extends: [recommended, strict]\nrules:\n  SE101: off\n", selected: []string{"DR220", "SE118"}},
		{name: "unknown rule", text: "rules:\n  SE110: off\n", mistake: `cfg:2:3: unknown rule "SE110"; did you mean "SE118"?`},
		{name: "unknown flag", disable: []string{"slow-failures"}, mistake: `--disable: unknown rule or category "slow-failures"; did you mean "slow-failure"?`},
		{name: "unknown option", text: "rules:\n  DR220:\n    options:\n      limit: 3\n", mistake: `cfg:4:14: DR220 has no option "limit"`},
		{name: "option of another type", text: "rules:\n  DR220:\n    options:\n      limitSeconds: x\n", mistake: `cfg:4:21: option "limitSeconds" of DR220 is x; its default is 6`},
		{name: "no options at all", text: "rules:\n  SE101:\n    options:\n      a: 1\n", mistake: "SE101 has no options"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, problems := lint.ReadConfig("cfg", []byte(c.text))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			cfg.Enable, cfg.Disable = c.enable, c.disable
			e, err := lint.New(rules, cfg)
			if c.mistake != "" {
				var ce *lint.ConfigError
				if !errors.As(err, &ce) || !strings.Contains(err.Error(), c.mistake) {
					t.Errorf("error %v, want %s", err, c.mistake)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range e.Rules() {
				got = append(got, m.ID)
			}
			if diff := cmp.Diff(c.selected, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOptionsReachTheRule(t *testing.T) {
	var got any
	r := simple("DR220", object.DestinationRule, func(p *lint.Pass) error { got = p.Option("limitSeconds"); return nil })
	r.Options = []lint.Option{{Name: "limitSeconds", Default: int64(6), Doc: "the limit"}}
	run(t, nil, []lint.Rule{r}, load(t, "a.yaml", rule))
	if got != int64(6) {
		t.Errorf("default %v", got)
	}
	cfg, _ := lint.ReadConfig("cfg", []byte("rules:\n  DR220:\n    options:\n      limitSeconds: 3\n"))
	run(t, cfg, []lint.Rule{r}, load(t, "a.yaml", rule))
	if got != int64(3) {
		t.Errorf("configured %v", got)
	}
}

// A preset may give a rule more weight and other options; what the configuration says of the rule itself still wins, and so does
// the weight that the rule gives one of its findings.
func TestStrictWeighsMore(t *testing.T) {
	var option any
	r := simple("DR231", object.DestinationRule, func(p *lint.Pass) error {
		option = p.Option("also")
		p.Report(object.Path{"spec"}, "one")
		p.Report(object.Path{"spec", "host"}, "two", lint.As(lint.Info))
		return nil
	})
	r.StrictSeverity = lint.Error
	r.Options = []lint.Option{{Name: "also", Default: false, Strict: true, Doc: "more"}}
	for _, c := range []struct {
		text   string
		want   []lint.Severity
		option bool
	}{
		{"version: 1\n", []lint.Severity{lint.Warning, lint.Info}, false},
		{"extends: [recommended]\n", []lint.Severity{lint.Warning, lint.Info}, false},
		{"extends: [strict]\n", []lint.Severity{lint.Error, lint.Info}, true},
		{"extends: [strict]\nrules: {DR231: warning}\n", []lint.Severity{lint.Warning, lint.Warning}, true},
		{"extends: [strict]\nrules: {DR231: {options: {also: false}}}\n", []lint.Severity{lint.Error, lint.Info}, false},
	} {
		cfg, problems := lint.ReadConfig("cfg", []byte(c.text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var got []lint.Severity
		for _, f := range run(t, cfg, []lint.Rule{r}, load(t, "a.yaml", rule)).Findings {
			got = append(got, f.Severity)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
		if option != c.option {
			t.Errorf("%s: the option is %v", c.text, option)
		}
	}
}

func TestSlip(t *testing.T) {
	names := []string{"text", "json", "sarif", "github"}
	for word, want := range map[string]string{
		"jsn": "json", "JSON": "json", "sarfi": "sarif", "jsonn": "json", "githab": "github",
		"gitlab": "", "junit": "", "": "", "x": "", "t": "",
	} {
		if got := lint.Slip(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
