package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// The manifests of the report that the golden files show.
var fixtureFiles = map[string]string{
	"egress/payments.yaml": `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata:
  name: payments
  namespace: shop
spec:
  hosts:
  - api.payments.example
  ports:
  - number: 443
    name: tls
    protocol: TLS
  resolution: NONE
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata:
  name: payments
  namespace: shop
spec:
  host: api.payments.example
  trafficPolicy:
    connectionPool:
      tcp:
        maxConnections: 50
    portLevelSettings:
    - port:
        number: 443
      tls:
        mode: SIMPLE
`,
	// Saved on Windows, with a tab and wide characters before the place that is pointed at.
	"egress/wide.yaml": strings.ReplaceAll(`apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: wide, annotations: {owner:	"決済チーム", tier: gold}}
spec:
  hosts: [wide.example]
  resolution: DNS
`, "\n", "\r\n"),
	"egress/line.json": `{"apiVersion":"networking.istio.io/v1","kind":"DestinationRule","metadata":{"name":"line","namespace":"shop","annotations":{"note":"` +
		strings.Repeat("long ", 40) + `"}},"spec":{"host":"line.example","trafficPolicy":{"connectionPool":{"http":{"maxRetries":3}},"tls":{"mode":"DISABLE"}}}}`,
	"egress/broken.yaml": `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata:
  name: broken
spec:
  hosts: [a.example
`,
}

var (
	notDNS = &lint.Meta{
		ID: "SE101", Name: "resolution-not-dns", Title: "Host names are not resolved",
		Summary:  "An entry for DNS names leaves it to the client to find addresses.",
		Why:      "Envoy connects to whatever address the client dialled, so it cannot balance or eject.",
		Remedy:   "Write resolution: DNS",
		Category: lint.CategoryServiceEntry, Severity: lint.Warning, Kinds: []object.Kind{object.ServiceEntry},
		Fix: lint.Unsafe, Proof: lint.Proof{Kind: "changes"},
		References: []string{"https://istio.io/latest/docs/reference/config/networking/service-entry/"}, Lang: "rego",
	}
	resets = &lint.Meta{
		ID: "DR202", Name: "port-level-resets", Title: "A port's entry drops the settings of the destination",
		Summary:  "Settings of the destination do not reach a port that has an entry of its own.",
		Why:      "Istio takes the entry of a port instead of the policy around it.",
		Remedy:   "Repeat in the entry what shall hold on the port.",
		Category: lint.CategoryPool, Severity: lint.Warning, Kinds: []object.Kind{object.DestinationRule},
		Fix: lint.Safe, Proof: lint.Proof{Kind: "changes"}, Lang: "rego",
	}
	notVerified = &lint.Meta{
		ID: "DR231", Name: "name-not-verified", Title: "The server's name is not verified",
		Summary:  "TLS is originated without the names that the certificate may have.",
		Why:      "Any certificate that chains to a trusted root is accepted.",
		Category: lint.CategoryTLS, Severity: lint.Error, Security: true, Kinds: []object.Kind{object.DestinationRule},
		Fix: lint.Unsafe, Proof: lint.Proof{Kind: "envoy"}, Lang: "rego",
	}
	noOutlier = &lint.Meta{
		ID: "DR204", Name: "outlier-detection-missing", Title: "Dead addresses stay in the pool",
		Category: lint.CategoryPool, Severity: lint.Info, Lang: "rego",
	}
	unreadable = &lint.Meta{
		ID: "MV903", Name: "unreadable-input", Title: "A document cannot be read",
		Remedy: "Correct the file", Category: lint.CategoryInput, Severity: lint.Error, View: lint.ViewFiles, Lang: "go",
	}
)

// load reads a manifest as the command would.
func load(t testing.TB, name, text string) *object.File {
	t.Helper()
	f, err := object.Load(t.Context(), name, strings.NewReader(text), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// finding makes a finding about a field as the engine does.
func finding(rule *lint.Meta, o *object.Object, path, message string) lint.Finding {
	p := object.ParsePath(path)
	return lint.Finding{Rule: rule, Severity: rule.Severity, Message: message, Object: o.Key, Path: p, Location: o.Locate(p)}
}

// fixture is a report with something of everything.
func fixture(t testing.TB) *lint.Report {
	t.Helper()
	r := &lint.Report{
		Rules:   []*lint.Meta{resets, noOutlier, notVerified, unreadable, notDNS},
		Sources: map[string]*object.File{},
		Scopes:  []lint.Scope{{Name: "egress", Files: []string{"egress/line.json", "egress/payments.yaml", "egress/wide.yaml"}}, {Name: ""}},
		Stats: lint.Stats{
			Files:     map[object.Class]int{object.Linted: 3, object.Template: 1, object.Broken: 1, object.Other: 2},
			Documents: 8, Objects: 5, Judged: 4,
		},
	}
	for name, text := range fixtureFiles {
		r.Sources[name] = load(t, name, text)
	}
	payments := r.Sources["egress/payments.yaml"].Objects
	if len(payments) != 2 {
		t.Fatalf("the fixture has %d objects, want 2", len(payments))
	}
	se, dr := payments[0], payments[1]
	wide := r.Sources["egress/wide.yaml"].Objects[0]
	line := r.Sources["egress/line.json"].Objects[0]

	// Said here rather than taken from the loader, whose words may change.
	broken := object.Problem{
		Kind: object.Syntax, Message: "document 1 cannot be read: the list is not closed",
		Location: object.Location{File: "egress/broken.yaml", Exact: true, Range: object.Range{
			Start: object.Pos{Line: 6, Col: 10}, End: object.Pos{Line: 6, Col: 11},
		}},
	}
	template := object.Notice{
		Message: "is a template: render it first",
		Location: object.Location{File: "charts/egress/templates/entry.yaml", Exact: true, Range: object.Range{
			Start: object.Pos{Line: 4, Col: 9}, End: object.Pos{Line: 4, Col: 11},
		}},
	}
	r.Sources[template.Location.File] = &object.File{Name: template.Location.File, Class: object.Template, Template: &template}
	r.Problems = append(r.Problems, broken, object.Problem{
		Kind: lint.RuleBroke, Message: "rule XX900 (made-up) failed on ServiceEntry shop/payments: index out of range", Location: se.Locate(nil),
	}, object.Problem{
		Kind: object.Unreadable, Message: "cannot be read: permission denied", Location: object.Location{File: "egress/secret.yaml"},
	})

	f := lint.Finding{
		Rule: unreadable, Severity: lint.Error, Message: broken.Message,
		Effect: "nothing in this document was judged", Location: broken.Location,
	}
	r.Findings = append(r.Findings, f)

	f = finding(resets, line, "spec.trafficPolicy.connectionPool.http.maxRetries", "maxRetries 3 does not reach port 443")
	f.Fixes = []lint.Fix{
		{Title: "repeat maxRetries for port 443", Safety: lint.Safe, Ops: []lint.Op{
			{Kind: lint.Add, Path: object.ParsePath(`spec.trafficPolicy.portLevelSettings[0].connectionPool`), Value: map[string]any{"http": map[string]any{"maxRetries": 3}}},
			{Kind: lint.Replace, Path: object.ParsePath(`metadata.annotations["example.com/a~b"]`), Value: nil},
			{Kind: lint.Remove, Path: object.ParsePath("spec.trafficPolicy.connectionPool")},
		}},
		{Title: "remove the entry of the port", Safety: lint.Show},
	}
	r.Findings = append(r.Findings, f)

	f = finding(notDNS, se, "spec.resolution", "resolution NONE for api.payments.example, a DNS name")
	f.Effect = "Envoy compiles an ORIGINAL_DST cluster and connects to whatever address the client dialled: there is no list of addresses, " +
		"so nothing is balanced, and nothing can be ejected when an address dies"
	f.Fixes = []lint.Fix{{Title: "set resolution to DNS", Safety: lint.Unsafe, Ops: []lint.Op{
		{Kind: lint.Replace, Path: object.ParsePath("spec.resolution"), Value: "DNS"},
	}}}
	r.Findings = append(r.Findings, f)

	f = finding(noOutlier, se, "spec.hosts[0]", "api.payments.example has no outlierDetection")
	f.Fixes = []lint.Fix{{Title: "create a DestinationRule with outlierDetection", Safety: lint.Unsafe, Create: &lint.Create{
		Object: map[string]any{
			"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule",
			"metadata": map[string]any{"name": "payments", "namespace": "shop"},
		},
		AfterFile: "egress/payments.yaml",
	}}}
	r.Findings = append(r.Findings, f)

	f = finding(resets, dr, "spec.trafficPolicy.portLevelSettings[0].connectionPool", "port 443 loses connectionPool.tcp.maxConnections 50")
	f.Effect = "max_connections of the cluster outbound|443||api.payments.example is 4294967295"
	pool := object.ParsePath("spec.trafficPolicy.connectionPool.tcp.maxConnections")
	f.Related = []lint.Related{
		{Message: "the destination-level pool [tcp] is set here", Object: dr.Key, Path: pool, Location: dr.Locate(pool)},
		{Message: "port 443 of the host", Object: se.Key, Path: object.ParsePath("spec.ports[0].number"), Location: se.Locate(object.ParsePath("spec.ports[0].number"))},
	}
	r.Findings = append(r.Findings, f)

	f = finding(notVerified, dr, "spec.trafficPolicy.portLevelSettings[0].tls", "mode SIMPLE {sni, subjectAltNames} names nobody")
	r.Findings = append(r.Findings, f)

	f = finding(notDNS, wide, "metadata.annotations.tier", "a place behind a tab and wide characters")
	r.Findings = append(r.Findings, f)
	f = finding(notDNS, wide, "metadata.annotations.owner", "決済チーム is a wide value")
	r.Findings = append(r.Findings, f)
	// A block: a range over several lines.
	f = finding(notDNS, wide, "spec", "a place of several lines")
	f.Location.Range = object.Range{Start: object.Pos{Line: 5, Col: 3}, End: object.Pos{Line: 6, Col: 18}}
	r.Findings = append(r.Findings, f)

	r.Findings = append(r.Findings, lint.Finding{
		Rule: notVerified, Severity: lint.Warning, Message: "an object that came from a cluster",
		Object:   object.Key{Kind: object.DestinationRule, Namespace: "shop", Name: "live"},
		Path:     object.ParsePath("spec.host"),
		Location: object.Location{File: "cluster:shop/live", Exact: true},
	})

	r.Skipped = []lint.Skip{
		{Rule: "MX301", Reason: "needs to know every ServiceEntry of the mesh; declare it with --complete or context.complete", Cause: lint.Incomplete},
		{File: template.Location.File, Reason: template.Message, Cause: lint.Templated},
		{Rule: "DR201", File: "egress/payments.yaml", Object: dr.Key, Reason: "the host is not in view", Cause: lint.Undecided},
		{Rule: "DR201", File: "egress/line.json", Object: line.Key, Reason: "the host is not in view", Cause: lint.Undecided},
		{File: "filters.yaml", Object: object.Key{Kind: object.EnvoyFilter, Namespace: "shop", Name: "patch"}, Reason: "not modelled: EnvoyFilter patch", Cause: lint.NotModelled},
		{File: "other.yaml", Reason: "document 1 cannot be read", Cause: lint.Unread, Around: true},
	}
	r.Context = lint.Context{From: lint.FromRepository, Files: []string{"filters.yaml", "other.yaml"}}
	return r
}

// edits stands for what turns fixes into replacements: what a finding points at is replaced by the value of the first operation, and objects are
// written behind the first line. Fixes of several operations are refused.
func edits(f *lint.Finding, x *lint.Fix) ([]Edit, error) {
	switch e := (Edit{File: f.Location.File, Range: f.Location.Range}); {
	case x.Create != nil:
		second := object.Pos{Line: 2, Col: 1}
		e.Start, e.End, e.Range, e.Text = 41, 41, object.Range{Start: second, End: second}, "---\r\nkind: {決済}\n"
		return []Edit{e}, nil
	case len(x.Ops) == 1:
		e.Start, e.End, e.Text = 210, 214, fmt.Sprint(x.Ops[0].Value)
		return []Edit{e}, nil
	}
	return nil, errors.New("the value stands behind *an alias*")
}

// empty is a report on nothing.
func empty(testing.TB) *lint.Report { return &lint.Report{} }

// suppressed is a report of which all findings but one, in the middle, are silenced.
func suppressed(t testing.TB) *lint.Report {
	t.Helper()
	f := load(t, "egress/payments.yaml", strings.Replace(fixtureFiles["egress/payments.yaml"], "  namespace: shop\n", `  namespace: shop
  annotations:
    meshvet.dev/ignore: SE101, tls
    meshvet.dev/ignore-reason: "\x1b[31mthe partner's {address} list [changes](https://x.example) hourly"
`, 1))
	se, dr := f.Objects[0], f.Objects[1]
	r := &lint.Report{
		Rules:   []*lint.Meta{resets},
		Sources: map[string]*object.File{f.Name: f},
		Scopes:  []lint.Scope{{Name: "egress", Files: []string{f.Name}}},
		Stats:   lint.Stats{Files: map[object.Class]int{object.Linted: 1}, Documents: 2, Objects: 2, Judged: 2},
		Findings: []lint.Finding{
			finding(noOutlier, se, "spec.hosts[0]", "api.payments.example has no outlierDetection"),
		},
		Skipped: []lint.Skip{{File: f.Name, Object: se.Key, Reason: `meshvet.dev/ignore (line 7) names "nonsense", which is no rule or category`, Cause: lint.Unheeded}},
	}
	at := object.Path{"metadata", "annotations", lint.IgnoreAnnotation}
	why := lint.Suppression{Reason: se.Annotation(lint.ReasonAnnotation), Where: se.Locate(at)}
	for _, x := range []lint.Finding{
		finding(notDNS, se, "metadata.name", "the name tells nothing"),
		finding(notDNS, se, "spec.resolution", "resolution NONE for api.payments.example, a DNS name"),
		finding(notVerified, dr, "spec.trafficPolicy.portLevelSettings[0].tls", "mode SIMPLE names nobody"),
		finding(noOutlier, dr, "spec.host", "api.payments.example has no outlierDetection"),
	} {
		r.Suppressed = append(r.Suppressed, lint.SuppressedFinding{Finding: x, Suppression: why})
	}
	return r
}

// baselined is suppressed with the first two of its findings in a baseline, of which other entries are stale.
func baselined(t testing.TB) *lint.Report {
	t.Helper()
	r := suppressed(t)
	for i := range r.Suppressed[:2] {
		line := object.Pos{Line: 4 + 5*i, Col: 1}
		r.Suppressed[i].Suppression = lint.Suppression{
			Kind: lint.ByBaseline, Reason: "in the baseline",
			Where: object.Location{File: "ci/baseline.yaml", Range: object.Range{Start: line, End: line}, Exact: true},
		}
	}
	r.Baselines = []lint.BaselineUse{{Name: "ci/baseline.yaml", Findings: 2, Rewrite: "ci/baseline.yaml ci", Stale: []lint.StaleEntry{
		{BaselineEntry: lint.BaselineEntry{
			Rule: "SE101", Object: "ServiceEntry shop/old", Message: "the name tells nothing", File: "../old.yaml", Count: 1, Line: 14,
		}, Gone: 1, Reason: "the object is gone"},
		{BaselineEntry: lint.BaselineEntry{
			Rule: "DR201", Object: "DestinationRule shop/a\x1b[31m", Path: "spec.host", Message: "port N loses it", File: "a.yaml", Count: 3, Line: 18,
		}, Gone: 2, Reason: "it is not found any more"},
	}}, {Name: "egress/baseline.yaml", Stale: []lint.StaleEntry{
		{BaselineEntry: lint.BaselineEntry{
			Rule: "SE101", Object: "ServiceEntry shop/new", Message: "the name tells nothing", File: "new.yaml", Count: 1, Line: 4,
		}, Gone: 1, Reason: "the object is gone"},
	}}}
	return r
}

// changed is a report of what a change brings in: one finding in a file of its own, and one in another.
func changed(t testing.TB) *lint.Report {
	t.Helper()
	f := load(t, "egress/payments.yaml", fixtureFiles["egress/payments.yaml"])
	se, dr := f.Objects[0], f.Objects[1]
	r := &lint.Report{
		Rules:   []*lint.Meta{notDNS, notVerified},
		Sources: map[string]*object.File{f.Name: f},
		Scopes:  []lint.Scope{{Name: "egress", Files: []string{f.Name}}},
		Since:   &lint.Since{Revision: "::stop::\x1b[31mmain{0}", Commit: "0123456789abcdef0123456789abcdef01234567", Known: 7},
		Stats:   lint.Stats{Files: map[object.Class]int{object.Linted: 1}, Documents: 2, Objects: 2, Judged: 2},
		Findings: []lint.Finding{
			finding(notDNS, se, "spec.resolution", "resolution NONE for api.payments.example, a DNS name"),
			finding(notVerified, dr, "spec.host", "the name is not verified"),
		},
	}
	r.Findings[1].Caused = true
	return r
}
