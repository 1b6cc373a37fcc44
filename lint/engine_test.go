package lint_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// load reads manifests as a file of the given name.
func load(t testing.TB, name, text string) *object.File {
	t.Helper()
	f, err := object.Load(context.Background(), name, strings.NewReader(text), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const entry = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata:
  name: api
  namespace: shop
spec:
  hosts:
  - api.example.com
  ports:
  - number: 443
    name: tls
    protocol: TLS
`

const rule = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata:
  name: api
  namespace: shop
spec:
  host: api.example.com
  trafficPolicy:
    connectionPool:
      tcp:
        maxConnections: 10
`

// simple is a rule that reports one finding on every object of its kind.
func simple(id string, kind object.Kind, check func(*lint.Pass) error) lint.Rule {
	return lint.Rule{
		Meta:  lint.Meta{ID: id, Name: strings.ToLower(id), Severity: lint.Warning, Kinds: []object.Kind{kind}, Presets: []string{"recommended", "strict"}},
		Check: check,
	}
}

func finds(at object.Path, msg string, extras ...lint.Extra) func(*lint.Pass) error {
	return func(p *lint.Pass) error {
		p.Report(at, msg, extras...)
		return nil
	}
}

func run(t *testing.T, cfg *lint.Config, rules []lint.Rule, files ...*object.File) *lint.Report {
	t.Helper()
	e, err := lint.New(rules, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Lint(context.Background(), lint.Input{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ids(r *lint.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.Rule.ID+"@"+f.Object.Name)
	}
	return out
}

func TestFindingHasItsPlace(t *testing.T) {
	r := run(t, nil, []lint.Rule{simple("SE101", object.ServiceEntry, finds(object.Path{"spec", "resolution"}, "resolution is omitted"))}, load(t, "a.yaml", entry))
	if len(r.Findings) != 1 {
		t.Fatalf("findings %v", ids(r))
	}
	f := r.Findings[0]
	if got := f.Location.String(); got != "a.yaml:6:1" || f.Location.Exact {
		t.Errorf("a missing field is at %s, exact %v; its parent is at a.yaml:6:1", got, f.Location.Exact)
	}
	if f.Fingerprint() == "" {
		t.Error("no fingerprint")
	}
}

func TestBrokenRuleIsAProblemThatNamesIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		check func(*lint.Pass) error
		want  string
	}{
		{"panic", func(p *lint.Pass) error { return fmt.Errorf("%v", make([]int, 0)[p.Object.Spec().Len()]) }, "index out of range"},
		{"error", func(*lint.Pass) error { return errors.New("no idea") }, "no idea"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, nil, []lint.Rule{
				simple("SE101", object.ServiceEntry, c.check),
				simple("SE102", object.ServiceEntry, finds(object.Path{"spec"}, "found all the same")),
			}, load(t, "a.yaml", entry))
			if len(r.Problems) != 1 || r.Problems[0].Kind != lint.RuleBroke || !strings.Contains(r.Problems[0].Message, "SE101") || !strings.Contains(r.Problems[0].Message, c.want) {
				t.Errorf("problems %v", r.Problems)
			}
			if diff := cmp.Diff([]string{"SE102@api"}, ids(r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A rule may stumble over a manifest that no API server takes, but that is no excuse for a panic or for taking too long.
func TestRulesMayStumbleOverMalformedManifests(t *testing.T) {
	malformed := strings.Replace(entry, "hosts:", "hosts: 1\n  x:", 1)
	for _, c := range []struct {
		name     string
		check    func(*lint.Pass) error
		problems int
	}{
		{"error", func(*lint.Pass) error { return errors.New("no idea") }, 0},
		{"too long", func(*lint.Pass) error { return fmt.Errorf("%w: an hour", lint.ErrTooLong) }, 1},
		{"panic", func(*lint.Pass) error { panic("here") }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, nil, []lint.Rule{simple("SE101", object.ServiceEntry, c.check)}, load(t, "a.yaml", malformed))
			if len(r.Problems) != c.problems || len(r.Skipped) != 1-c.problems {
				t.Errorf("problems %v, skipped %v", r.Problems, r.Skipped)
			}
		})
	}
}

func TestPanicSiteIsNamed(t *testing.T) {
	r := run(t, nil, []lint.Rule{simple("SE101", object.ServiceEntry, func(*lint.Pass) error { panic("here") })}, load(t, "a.yaml", entry))
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "engine_test.go:") {
		t.Errorf("problems %v", r.Problems)
	}
}

func TestNeedsSkipOnceWithAReason(t *testing.T) {
	needy := simple("MX301", object.DestinationRule, finds(object.Path{"spec", "host"}, "nothing there"))
	needy.Needs = []object.Kind{object.ServiceEntry}
	second := strings.Replace(rule, "name: api", "name: other", 1)
	file := load(t, "a.yaml", rule+"---\n"+second)
	r := run(t, nil, []lint.Rule{needy}, file)
	if len(r.Findings) > 0 || len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0].Reason, "every ServiceEntry") {
		t.Errorf("findings %v, skipped %v", ids(r), r.Skipped)
	}
	r = run(t, &lint.Config{Complete: []object.Kind{object.ServiceEntry}}, []lint.Rule{needy}, file)
	if len(r.Findings) != 2 || len(r.Skipped) != 0 {
		t.Errorf("with completeness: findings %v, skipped %v", ids(r), r.Skipped)
	}
}

func TestFindingsThatReadAlikeHaveFingerprintsOfTheirOwn(t *testing.T) {
	twice := simple("SE101", object.ServiceEntry, func(p *lint.Pass) error {
		p.Report(object.Path{"spec"}, "the same")
		p.Report(object.Path{"spec"}, "the same")
		return nil
	})
	r := run(t, nil, []lint.Rule{twice}, load(t, "a.yaml", entry))
	if len(r.Findings) != 2 || r.Findings[0].Fingerprint() == r.Findings[1].Fingerprint() {
		t.Errorf("findings %v", r.Findings)
	}
}

// What could not be read may hold what a rule would miss.
func TestUnreadFilesLeaveKindsIncomplete(t *testing.T) {
	needy := simple("MX301", object.DestinationRule, finds(object.Path{"spec", "host"}, "nothing there"))
	needy.Needs = []object.Kind{object.ServiceEntry}
	cfg := &lint.Config{Complete: lint.AllKinds()}
	for _, c := range []struct {
		name, text, why string
		finds           bool
	}{
		{"a template of the kind", "kind: ServiceEntry\nmetadata: {name: {{ .x }}}\napiVersion: networking.istio.io/v1\n", "other.yaml names one that could not be read", false},
		{"a broken one", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nspec: {hosts: [\n", "other.yaml names one that could not be read", false},
		{"a template of another kind", "kind: DestinationRule\nmetadata: {name: {{ .x }}}\napiVersion: networking.istio.io/v1\n", "", true},
		{"something else", "a: 1\n", "", true},
	} {
		for _, focused := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, judged: %v", c.name, focused), func(t *testing.T) {
				e, err := lint.New([]lint.Rule{needy}, cfg)
				if err != nil {
					t.Fatal(err)
				}
				in := lint.Input{Files: []*object.File{load(t, "a.yaml", rule)}}
				if other := load(t, "other.yaml", c.text); focused {
					in.Files = append(in.Files, other)
				} else {
					in.Around = append(in.Around, other)
				}
				r, err := e.Lint(context.Background(), in)
				if err != nil {
					t.Fatal(err)
				}
				if (len(r.Findings) > 0) != c.finds {
					t.Errorf("findings %v, skipped %v", r.Findings, r.Skipped)
				}
				if !slices.ContainsFunc(r.Skipped, func(s lint.Skip) bool { return strings.Contains(s.Reason, c.why) }) && c.why != "" {
					t.Errorf("skipped %v, want %q", r.Skipped, c.why)
				}
				if !focused && !strings.HasPrefix(c.name, "something") && !slices.ContainsFunc(r.Skipped, func(s lint.Skip) bool { return s.File == "other.yaml" }) {
					t.Errorf("nothing is said of the file: %v", r.Skipped)
				}
			})
		}
	}
}

func TestSupersession(t *testing.T) {
	pool := object.Path{"spec", "trafficPolicy", "connectionPool"}
	subject := func(ports ...uint32) lint.Extra {
		return lint.About(lint.Subject{Hosts: []string{"api.example.com"}, Ports: ports})
	}
	for _, c := range []struct {
		name  string
		scope lint.SupersedeScope
		// where and about what the weak rule finds; the strong one is at connectionPool.tcp, port 443
		kind object.Kind
		at   object.Path
		more lint.Extra
		drop bool
	}{
		{"same path", lint.ScopePath, object.DestinationRule, pool.Child("tcp"), subject(), true},
		{"below", lint.ScopePath, object.DestinationRule, pool.Child("tcp", "maxConnections"), subject(), true},
		{"above", lint.ScopePath, object.DestinationRule, pool, subject(), false},
		{"same block", lint.ScopeBlock, object.DestinationRule, pool.Child("http"), subject(), true},
		{"other block", lint.ScopeBlock, object.DestinationRule, object.Path{"spec", "trafficPolicy", "tls"}, subject(), false},
		{"same port on the entry", lint.ScopePort, object.ServiceEntry, object.Path{"spec", "ports", 0}, subject(443), true},
		{"more ports than accounted for", lint.ScopePort, object.ServiceEntry, object.Path{"spec", "ports", 0}, subject(443, 80), false},
		{"no port in particular", lint.ScopePort, object.ServiceEntry, object.Path{"spec"}, subject(), false},
		{"the host's entry", lint.ScopeObject, object.ServiceEntry, object.Path{"spec", "hosts"}, subject(), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			strong := simple("DR202", object.DestinationRule, finds(pool.Child("tcp"), "strong", subject(443)))
			strong.Supersedes = []lint.Supersede{{Rule: "XX999", Scope: c.scope}}
			weak := simple("XX999", c.kind, finds(c.at, "weak", c.more))
			got := len(run(t, nil, []lint.Rule{strong, weak}, load(t, "a.yaml", entry+"---\n"+rule)).Findings)
			if want := map[bool]int{true: 1, false: 2}[c.drop]; got != want {
				t.Errorf("%d findings, want %d", got, want)
			}
		})
	}
}

func TestPortScopeKeepsToBlocks(t *testing.T) {
	about := func(blocks ...string) lint.Extra {
		return lint.About(lint.Subject{Hosts: []string{"api.example.com"}, Ports: []uint32{443}, Blocks: blocks})
	}
	for _, c := range []struct {
		name         string
		strong, weak lint.Extra
		drop         bool
	}{
		{"a common block", about("tls", "connectionPool"), about("connectionPool"), true},
		{"none in common", about("connectionPool"), about("outlierDetection"), false},
		{"the weak one concerns all", about("connectionPool"), about(), true},
		{"the strong one concerns all", about(), about("outlierDetection"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			strong := simple("DR202", object.DestinationRule, finds(object.Path{"spec", "trafficPolicy"}, "strong", c.strong))
			strong.Supersedes = []lint.Supersede{{Rule: "DR204", Scope: lint.ScopePort}}
			weak := simple("DR204", object.DestinationRule, finds(object.Path{"spec"}, "weak", c.weak))
			got := len(run(t, nil, []lint.Rule{strong, weak}, load(t, "a.yaml", rule)).Findings)
			if want := map[bool]int{true: 1, false: 2}[c.drop]; got != want {
				t.Errorf("%d findings, want %d", got, want)
			}
		})
	}
}

// What is wrong with one DestinationRule concerns its clients, what is wrong with another those of that one.
func TestOneRuleDoesNotAnswerForAnother(t *testing.T) {
	about := lint.About(lint.Subject{Hosts: []string{"api.example.com"}, Ports: []uint32{443}})
	for _, scope := range []lint.SupersedeScope{lint.ScopePath, lint.ScopeBlock, lint.ScopePort, lint.ScopeObject} {
		strong := simple("DR202", object.DestinationRule, func(p *lint.Pass) error {
			if p.Object.Namespace == "other" {
				p.Report(object.Path{"spec"}, "strong", about)
			}
			return nil
		})
		strong.Supersedes = []lint.Supersede{{Rule: "DR204", Scope: scope}}
		weak := simple("DR204", object.DestinationRule, func(p *lint.Pass) error {
			if p.Object.Namespace != "other" {
				p.Report(object.Path{"spec"}, "weak", about)
			}
			return nil
		})
		other := strings.Replace(rule, "namespace: shop", "namespace: other", 1)
		got := ids(run(t, nil, []lint.Rule{strong, weak}, load(t, "a.yaml", rule+"---\n"+other)))
		if diff := cmp.Diff([]string{"DR204@api", "DR202@api"}, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
			t.Errorf("scope %s (-want +got):\n%s", scope, diff)
		}
	}
}

func TestYieldingRule(t *testing.T) {
	at := object.Path{"spec", "host"}
	weak := simple("MV902", object.DestinationRule, finds(at, "refused"))
	weak.Yields = true
	named := simple("DR201", object.DestinationRule, finds(at, "explained"))
	if diff := cmp.Diff([]string{"DR201@api"}, ids(run(t, nil, []lint.Rule{weak, named}, load(t, "a.yaml", rule)))); diff != "" {
		t.Error(diff)
	}
	weak.Severity = lint.Error // and what is said of a value that is refused does not matter
	if diff := cmp.Diff([]string{"MV902@api"}, ids(run(t, nil, []lint.Rule{weak, named}, load(t, "a.yaml", rule)))); diff != "" {
		t.Error(diff)
	}
	named.Kinds = []object.Kind{object.ServiceEntry}
	if diff := cmp.Diff([]string{"MV902@api"}, ids(run(t, nil, []lint.Rule{weak, named}, load(t, "a.yaml", rule)))); diff != "" {
		t.Error(diff)
	}
}

func TestObjectsOfIstiodAreContextOnly(t *testing.T) {
	generated := strings.Replace(entry, "  namespace: shop\n", "  namespace: shop\n  annotations:\n    internal.istio.io/parents: HTTPRoute/api.shop\n", 1)
	r := run(t, nil, []lint.Rule{simple("SE101", object.ServiceEntry, finds(nil, "found"))}, load(t, "a.yaml", generated))
	if len(r.Findings) != 0 || len(r.Skipped) != 1 {
		t.Errorf("findings %v, skipped %v", ids(r), r.Skipped)
	}
}

func TestAmbientHosts(t *testing.T) {
	ambient := "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  labels:\n    istio.io/dataplane-mode: ambient\n"
	sidecarOnly := simple("SE111", object.ServiceEntry, finds(nil, "found"))
	sidecarOnly.SidecarOnly = true
	about := simple("DR201", object.DestinationRule, finds(nil, "found", lint.Effect("Envoy does it")))
	r := run(t, nil, []lint.Rule{sidecarOnly, about}, load(t, "a.yaml", entry+"---\n"+rule+ambient))
	if diff := cmp.Diff([]string{"DR201@api"}, ids(r)); diff != "" {
		t.Fatal(diff)
	}
	if !strings.Contains(r.Findings[0].Effect, "sidecar and gateway clients only") {
		t.Errorf("effect %q", r.Findings[0].Effect)
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Rule != "SE111" {
		t.Errorf("skipped %v", r.Skipped)
	}
}

func TestBackendTLSPolicySilencesTLSRules(t *testing.T) {
	policy := "---\napiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata:\n  name: api-tls\n  namespace: shop\nspec:\n  targetRefs:\n  - group: networking.istio.io\n    kind: ServiceEntry\n    name: api\n"
	tls := simple("DR231", object.DestinationRule, finds(nil, "found"))
	tls.Category = lint.CategoryTLS
	pool := simple("DR203", object.DestinationRule, finds(nil, "found"))
	r := run(t, nil, []lint.Rule{tls, pool}, load(t, "a.yaml", entry+"---\n"+rule+policy))
	if diff := cmp.Diff([]string{"DR203@api"}, ids(r)); diff != "" {
		t.Error(diff)
	}
	if len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0].Reason, "api-tls") {
		t.Errorf("skipped %v", r.Skipped)
	}
}

func TestEnvoyFilterIsNamed(t *testing.T) {
	filter := "---\napiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata:\n  name: patch\n  namespace: shop\nspec:\n  configPatches:\n  - applyTo: CLUSTER\n"
	r := run(t, nil, []lint.Rule{simple("DR201", object.DestinationRule, finds(nil, "found"))}, load(t, "a.yaml", rule+filter))
	if len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0].Reason, "not modelled: EnvoyFilter patch") {
		t.Errorf("skipped %v", r.Skipped)
	}
}

func TestSeverities(t *testing.T) {
	rules := []lint.Rule{simple("SE101", object.ServiceEntry, finds(nil, "found", lint.As(lint.Info)))}
	file := load(t, "a.yaml", entry)
	if got := run(t, nil, rules, file).Worst(); got != lint.Info {
		t.Errorf("the finding's own severity: %s", got)
	}
	e := lint.Error
	cfg := &lint.Config{Rules: map[string]lint.RuleConfig{"SE101": {Severity: &e}}}
	if got := run(t, cfg, rules, file).Worst(); got != lint.Error {
		t.Errorf("the configured severity wins: %s", got)
	}
}

func TestFingerprintsSurviveEdits(t *testing.T) {
	rules := []lint.Rule{simple("SE109", object.ServiceEntry, func(p *lint.Pass) error {
		for i, port := range p.Object.Spec().Get("ports").Items() {
			if port.Get("number").Int() == 443 {
				p.Report(object.Path{"spec", "ports", i, "protocol"}, "port on line 10 has no protocol")
			}
		}
		return nil
	})}
	before := run(t, nil, rules, load(t, "a.yaml", entry)).Findings[0]
	moved := strings.Replace("# a comment\n"+entry, "  ports:\n", "  ports:\n  - number: 80\n    name: http\n    protocol: HTTP\n", 1)
	after := run(t, nil, rules, load(t, "a.yaml", moved)).Findings[0]
	if before.Path.Equal(after.Path) {
		t.Fatal("the port did not move")
	}
	if before.Fingerprint() != after.Fingerprint() {
		t.Error("moving lines and inserting a port changed the fingerprint")
	}
	other := run(t, nil, rules, load(t, "a.yaml", strings.Replace(entry, "name: api", "name: other", 1))).Findings[0]
	if other.Fingerprint() == before.Fingerprint() {
		t.Error("another object has the same fingerprint")
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	e, err := lint.New([]lint.Rule{simple("SE101", object.ServiceEntry, func(p *lint.Pass) error {
		cancel()
		<-p.Context.Done()
		return p.Context.Err()
	})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := load(t, "a.yaml", entry)
	done := make(chan error, 1)
	go func() {
		_, err := e.Run(ctx, mesh.New(mesh.Settings{}).With(file.Objects...), file.Objects)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still running")
	}
}

func TestEveryFileIsAccountedFor(t *testing.T) {
	r := run(t, nil, nil,
		load(t, "linted.yaml", entry),
		load(t, "other.yaml", "kind: Deployment\n"),
		load(t, "template.yaml", strings.Replace(entry, "api.example.com", "{{ .Values.host }}", 1)),
		load(t, "broken.yaml", entry+"  hosts: []\n"),
	)
	want := map[object.Class]int{object.Linted: 1, object.Other: 1, object.Template: 1, object.Broken: 1}
	if diff := cmp.Diff(want, r.Stats.Files); diff != "" {
		t.Error(diff)
	}
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "hosts") {
		t.Errorf("problems %v", r.Problems)
	}
}

func TestFileRules(t *testing.T) {
	fileRule := lint.Rule{
		Meta: lint.Meta{ID: "MV903", Name: "not-loadable", Severity: lint.Error, Presets: []string{"recommended"}},
		CheckFile: func(p *lint.FilePass) error {
			p.Report(p.File.Problems[0].Location, "broken", "nothing was judged")
			return nil
		},
	}
	r := run(t, nil, []lint.Rule{fileRule}, load(t, "broken.yaml", entry+"  hosts: []\n"), load(t, "good.yaml", rule))
	if len(r.Findings) != 1 || r.Findings[0].Location.File != "broken.yaml" || r.Findings[0].Fingerprint() == "" {
		t.Errorf("findings %v", r.Findings)
	}
}

// What a finding quotes is cut, and two findings that differ only there are still two.
func TestFindingsAreShort(t *testing.T) {
	prints := map[string]bool{}
	for _, tail := range []string{"a", "b"} {
		long := strings.Repeat("x", 50_000) + tail + strings.Repeat("x", 50_000)
		rules := []lint.Rule{simple("SE109", object.ServiceEntry, func(p *lint.Pass) error {
			p.Report(nil, "host "+long+" is long", lint.Effect("so is "+long), lint.Also(p.Object, nil, long), lint.Suggest(lint.Fix{Title: long}))
			return nil
		})}
		f := run(t, nil, rules, load(t, "a.yaml", entry)).Findings[0]
		for _, text := range []string{f.Message, f.Effect, f.Related[0].Message, f.Fixes[0].Title} {
			if len(text) > 1000 {
				t.Errorf("%d bytes", len(text))
			}
		}
		if !strings.HasSuffix(f.Message, "xxx is long") {
			t.Errorf("message %q", f.Message)
		}
		prints[f.Fingerprint()] = true
	}
	if len(prints) != 2 {
		t.Error("different findings have one fingerprint")
	}
}
