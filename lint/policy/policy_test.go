package policy_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/policy"
)

const header = `# METADATA
# title: A title
# description: |-
#   What it flags.
#
#   Why it matters.
# related_resources:
# - https://istio.io/
# custom:
#   id: SE901
#   category: service-entry
#   severity: warning
#   presets: [recommended, strict]
#   kinds: [ServiceEntry]
#   remedy: Do better.
#   fix: none
#   proof: {kind: changes, text: "it changes"}
`

func policyFile(meta, name, body string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(meta + "package meshvet." + name + "\n\nimport rego.v1\n\n" + body)}
}

const manifest = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata:
  name: api
  namespace: shop
spec:
  hosts:
  - api.example.com
  resolution: NONE
`

// judge runs the policies of a file system on the manifest.
func judge(t *testing.T, fsys fstest.MapFS, cfg *lint.Config) *lint.Report {
	t.Helper()
	return judgeText(t, fsys, cfg, manifest)
}

// judgeText is judge for other manifests.
func judgeText(t *testing.T, fsys fstest.MapFS, cfg *lint.Config, text string) *lint.Report {
	t.Helper()
	rules, err := policy.LoadWithin(context.Background(), fsys, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	file, err := object.Load(context.Background(), "a.yaml", strings.NewReader(text), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := lint.New(rules, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Lint(context.Background(), lint.Input{Files: []*object.File{file}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPolicyFindsByRawManifest(t *testing.T) {
	meta := strings.Replace(header, "#   fix: none\n", "#   fix: unsafe\n#   options:\n#   - {name: word, default: NONE, doc: the word}\n", 1)
	fsys := fstest.MapFS{"a_rule.rego": policyFile(meta, "a_rule", `findings contains {
	"path": ["spec", "resolution"], "message": "found", "effect": "it does", "severity": "error",
	"related": [{"path": ["spec", "hosts", 0], "message": "the host"}],
	"fixes": [{"title": "set DNS", "safety": "unsafe", "set": [{"path": ["spec", "resolution"], "value": "DNS"}]}],
	"subject": {"hosts": ["api.example.com"], "ports": [443]},
} if {
	input.object.spec.resolution == input.options.word
}
`)}
	r := judge(t, fsys, nil)
	if len(r.Problems) > 0 || len(r.Findings) != 1 {
		t.Fatalf("findings %v, problems %v", r.Findings, r.Problems)
	}
	f := r.Findings[0]
	if f.Location.String() != "a.yaml:9:15" || f.Severity != lint.Error || f.Effect != "it does" || f.Rule.Summary != "What it flags." || f.Rule.Why != "Why it matters." {
		t.Errorf("finding %+v", f)
	}
	if len(f.Related) != 1 || f.Related[0].Location.Range.Start.Line != 8 {
		t.Errorf("related %v", f.Related)
	}
	if len(f.Fixes) != 1 || f.Fixes[0].Ops[0].Kind != lint.Replace || f.Fixes[0].Ops[0].Value != "DNS" {
		t.Errorf("fixes %v", f.Fixes)
	}
	cfg, problems := lint.ReadConfig("cfg", []byte("rules:\n  SE901:\n    options:\n      word: OTHER\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if r := judge(t, fsys, cfg); len(r.Findings) != 0 {
		t.Errorf("the option was not used: %v", r.Findings)
	}
}

// One policy that breaks or does not end is a problem that names it; the others are heard.
func TestPoliciesDoNotSilenceOneAnother(t *testing.T) {
	good := strings.Replace(header, "SE901", "SE902", 1)
	for name, c := range map[string]struct{ body, want string }{
		"unknown key":      {`findings contains {"path": [], "message": "x", "wrong": 1}`, `unknown key "wrong"`},
		"wrong type":       {`findings contains {"path": "spec", "message": "x"}`, "is no array"},
		"no message":       {`findings contains {"path": ["spec"]}`, "has no message"},
		"not a set":        {`findings := [{"path": [], "message": "x"}]`, "is no set"},
		"negative index":   {`findings contains {"path": ["spec", -1], "message": "x"}`, "-1 is no index"},
		"key is a word":    {`findings contains {"path": [], "message": "x", "key": "true"}`, `"true" is neither true nor false`},
		"port is a word":   {`findings contains {"path": [], "message": "x", "subject": {"ports": ["http"]}}`, `"http" is no port`},
		"object is a word": {`findings contains {"path": [], "message": "x", "subject": {"objects": ["api"]}}`, "an object is string, not an object"},
		"object has more":  {`findings contains {"path": [], "message": "x", "subject": {"objects": [{"uid": "1"}]}}`, `an object has an unknown key "uid"`},
		"port too large":   {`findings contains {"path": [], "message": "x", "subject": {"ports": [4294967296]}}`, "4294967296 is no port"},
		"unknown op":       {`findings contains {"path": [], "message": "x", "fixes": [{"title": "t", "safety": "safe", "ops": [{"op": "move", "path": ["spec"], "value": 1}]}]}`, `is "move"; it can be ["add" "replace" "remove"]`},
		"op in a set":      {`findings contains {"path": [], "message": "x", "fixes": [{"title": "t", "safety": "safe", "set": [{"op": "add", "path": ["spec", "x"], "value": 1}]}]}`, `not which operation: "add"`},
		"op without path":  {`findings contains {"path": [], "message": "x", "fixes": [{"title": "t", "safety": "safe", "ops": [{"op": "add", "value": 1}]}]}`, "has no path"},
		"op without value": {`findings contains {"path": [], "message": "x", "fixes": [{"title": "t", "safety": "safe", "ops": [{"op": "add", "path": ["spec", "x"]}]}]}`, "has a value"},
		"unknown safety":   {`findings contains {"path": [], "message": "x", "fixes": [{"title": "t", "safety": "sure", "ops": []}]}`, `safety "sure"`},
		"bad severity":     {`findings contains {"path": [], "message": "x", "severity": "fatal"}`, `severity "fatal"`},
		"built-in":         {`findings contains {"path": [], "message": m} if m := mesh.http_uses()`, "mesh.http_uses"},
		"no such function": {`findings contains {"path": [], "message": m} if m := undefined(1)`, "undefined function undefined"},
		"takes forever":    {"findings contains {\"path\": [], \"message\": \"x\"} if {\n\tn := [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n\tcount({[a, b, c, d, e, f, g] | some a in n; some b in n; some c in n; some d in n; some e in n; some f in n; some g in n}) > 0\n}", "took too long"},
	} {
		t.Run(name, func(t *testing.T) {
			r := judge(t, fstest.MapFS{
				"broken.rego": policyFile(header, "broken", c.body+"\n"),
				"good.rego":   policyFile(good, "good", `findings contains {"path": ["spec"], "message": "heard"}`+"\n"),
			}, nil)
			if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "SE901") || !strings.Contains(r.Problems[0].Message, c.want) {
				t.Errorf("problems %v, want %s", r.Problems, c.want)
			}
			if len(r.Findings) != 1 || r.Findings[0].Rule.ID != "SE902" {
				t.Errorf("findings %v", r.Findings)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	empty := "findings := set()\n"
	for name, c := range map[string]struct {
		file *fstest.MapFile
		want string
	}{
		"another policy":    {policyFile(header, "x", "findings contains f if some f in data.meshvet.y.findings\n"), "x.rego:22: data.meshvet.y.findings refers to another policy"},
		"all policies":      {policyFile(header, "x", "findings contains f if {\n\tsome n, p in data.meshvet\n\tn != \"x\"\n\tsome f in p.findings\n}\n"), "refers to another policy"},
		"no metadata":       {policyFile("", "x", empty), "x.rego:1: no METADATA annotation"},
		"package":           {policyFile(header, "y", empty), "belongs in a file y.rego"},
		"unknown key":       {policyFile(strings.Replace(header, "#   fix:", "#   fixx: 1\n#   fix:", 1), "x", empty), "unknown key custom.fixx"},
		"missing key":       {policyFile(strings.Replace(header, "#   remedy: Do better.\n", "", 1), "x", empty), "custom.remedy is missing"},
		"bad severity":      {policyFile(strings.Replace(header, "warning", "grave", 1), "x", empty), `severity "grave"`},
		"bad category":      {policyFile(strings.Replace(header, "service-entry", "entry", 1), "x", empty), `custom.category is "entry"`},
		"no reason":         {policyFile(strings.Replace(header, "#\n#   Why it matters.\n", "", 1), "x", empty), "second paragraph"},
		"unknown gate key":  {policyFile(header+"#   when: [{any: []}]\n", "x", empty), "unknown key custom.when[0].any"},
		"bad proof":         {policyFile(strings.Replace(header, "kind: changes", "kind: trust", 1), "x", empty), "custom.proof.kind"},
		"syntax":            {policyFile(header, "x", "findings contains {\n"), "rego_parse_error"},
		"too large":         {&fstest.MapFile{Data: make([]byte, 2<<20)}, "larger than"},
		"wrong option type": {policyFile(header+"#   options: 5\n", "x", empty), "custom.options is 5"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Load(context.Background(), fstest.MapFS{"x.rego": c.file})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// What is not on the allow-list cannot be compiled.
func TestBuiltinsAreAnAllowList(t *testing.T) {
	for _, call := range []string{
		`http.send({"method": "get", "url": "http://localhost"})`, `net.lookup_ip_addr("localhost")`, `opa.runtime()`, `time.now_ns()`, `rand.intn("a", 5)`,
		`uuid.rfc4122("a")`, `io.jwt.decode("a")`, `crypto.sha256("a")`, `rego.parse_module("a", "package a")`, `numbers.range(1, 1000000000)`,
	} {
		r := judge(t, fstest.MapFS{"x.rego": policyFile(header, "x", `findings contains {"path": [], "message": sprintf("%v", [`+call+`])}`+"\n")}, nil)
		if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "undefined function") {
			t.Errorf("%s: problems %v", call, r.Problems)
		}
	}
}

func TestSkipIsNoFinding(t *testing.T) {
	r := judge(t, fstest.MapFS{"x.rego": policyFile(header, "x", `findings contains {"path": [], "message": "", "skip": "not in view"}`+"\n")}, nil)
	if len(r.Findings) != 0 || len(r.Skipped) != 1 || r.Skipped[0].Reason != "not in view" {
		t.Errorf("findings %v, skipped %v", r.Findings, r.Skipped)
	}
}
