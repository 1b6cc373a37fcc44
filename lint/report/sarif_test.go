package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// sarifLog is what these tests read of a log.
type sarifLog struct {
	Runs []struct {
		Tool struct {
			Driver struct {
				Name, Version, SemanticVersion string
				Rules                          []struct {
					ID, Name, HelpURI                       string
					ShortDescription, FullDescription, Help struct{ Text, Markdown string }
					DefaultConfiguration                    struct{ Level string }
					Properties                              map[string]any
				}
			}
		}
		Invocations []struct {
			ExecutionSuccessful        bool
			ToolExecutionNotifications []struct {
				Level   string
				Message struct{ Text string }
			}
		}
		Results []struct {
			RuleID           string
			RuleIndex        int
			Level            string
			Message          struct{ Text string }
			RelatedLocations []struct {
				ID      int
				Message struct{ Text string }
			}
			Suppressions json.RawMessage
			Locations    []struct {
				PhysicalLocation *struct {
					ArtifactLocation struct{ URI, URIBaseID string }
				}
			}
		}
	}
}

func sarifOf(t *testing.T, opt Options, r *lint.Report) sarifLog {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal(write(t, "sarif", opt, r), &log); err != nil {
		t.Fatal(err)
	}
	if len(log.Runs) != 1 {
		t.Fatalf("%d runs, want 1", len(log.Runs))
	}
	return log
}

func TestSARIFRules(t *testing.T) {
	rules := sarifOf(t, Options{DocsURL: "https://meshvet.example/rules"}, fixture(t)).Runs[0].Tool.Driver.Rules
	got := map[string]map[string]any{}
	for _, r := range rules {
		got[r.ID] = r.Properties
		if r.ShortDescription.Text == "" || r.FullDescription.Text == "" || r.Help.Text == "" || r.Help.Markdown == "" {
			t.Errorf("%s is described nowhere", r.ID)
		}
		if want := "https://meshvet.example/rules/" + r.ID + ".md"; r.HelpURI != want {
			t.Errorf("%s: help at %q, want %q", r.ID, r.HelpURI, want)
		}
	}
	want := map[string]map[string]any{
		"DR202": {"precision": "very-high", "problem.severity": "warning", "tags": []any{"istio", "traffic-policy"}},
		"DR204": {"precision": "medium", "problem.severity": "recommendation", "tags": []any{"istio", "traffic-policy"}},
		"DR231": {"precision": "high", "problem.severity": "error", "security-severity": "8.0", "tags": []any{"istio", "tls", "security"}},
		"MV903": {"precision": "medium", "problem.severity": "error", "tags": []any{"istio", "input"}},
		"SE101": {"precision": "very-high", "problem.severity": "warning", "tags": []any{"istio", "service-entry"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every result points at its own rule, also at one that was not in the list of those selected.
func TestSARIFRuleIndex(t *testing.T) {
	r := fixture(t)
	r.Rules = []*lint.Meta{notDNS}
	run := sarifOf(t, Options{}, r).Runs[0]
	if len(run.Results) != len(r.Findings) {
		t.Fatalf("%d results, want %d", len(run.Results), len(r.Findings))
	}
	for i, res := range run.Results {
		if res.RuleIndex < 0 || res.RuleIndex >= len(run.Tool.Driver.Rules) || run.Tool.Driver.Rules[res.RuleIndex].ID != res.RuleID {
			t.Errorf("result %d of %s has rule index %d", i, res.RuleID, res.RuleIndex)
		}
		if string(res.Suppressions) != "[]" {
			t.Errorf("result %d: suppressions %s, want none, and a list", i, res.Suppressions)
		}
		want := map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Info: "note"}[r.Findings[i].Severity]
		if res.Level != want {
			t.Errorf("result %d has level %s, want %s", i, res.Level, want)
		}
	}
}

func TestSARIFVersion(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3-rc.1", "devel": "", "": "", "1.2": ""} {
		d := sarifOf(t, Options{Version: version}, &lint.Report{}).Runs[0].Tool.Driver
		if d.Version != version || d.SemanticVersion != want {
			t.Errorf("%q: version %q, semantic %q", version, d.Version, d.SemanticVersion)
		}
	}
}

func TestSARIFInvocation(t *testing.T) {
	run := sarifOf(t, Options{}, fixture(t)).Runs[0]
	inv := run.Invocations[0]
	if inv.ExecutionSuccessful {
		t.Error("a run with problems is said to have succeeded")
	}
	var levels []string
	for _, n := range inv.ToolExecutionNotifications {
		levels = append(levels, n.Level)
	}
	if diff := cmp.Diff([]string{"error", "error", "error", "note", "note", "note"}, levels); diff != "" {
		t.Error(diff)
	}
	clean := sarifOf(t, Options{}, &lint.Report{}).Runs[0]
	if !clean.Invocations[0].ExecutionSuccessful || clean.Results == nil {
		t.Error("an empty run must succeed and have results")
	}
}

// GitHub refuses a run of too many results as a whole, so what is silenced and then the least severe are left out, and the log says so.
func TestSARIFLimit(t *testing.T) {
	f := func(i int, s lint.Severity) lint.Finding {
		return lint.Finding{Rule: notDNS, Severity: s, Message: fmt.Sprint("m", i), Location: object.Location{File: "a"}}
	}
	findings := []lint.Finding{f(0, lint.Info), f(1, lint.Error), f(3, lint.Warning), f(5, lint.Info), f(6, lint.Error)}
	silenced := []lint.SuppressedFinding{{Finding: f(2, lint.Error)}, {Finding: f(4, lint.Warning)}}
	for _, c := range []struct {
		name       string
		suppressed []lint.SuppressedFinding
		limit      int
		want       string
		left       string
	}{
		{"the least severe goes", nil, 4, "m0 m1 m3 m6", "1 finding left out"},
		{"what is silenced goes first", silenced, 6, "m0 m1 m2 m3 m5 m6", "1 finding left out"},
		{"then the least severe", silenced, 4, "m0 m1 m3 m6", "3 findings left out"},
		{"all fit", silenced, 7, "m0 m1 m2 m3 m4 m5 m6", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &lint.Report{Findings: findings, Suppressed: c.suppressed}
			var buf bytes.Buffer
			w := bufio.NewWriter(&buf)
			if err := writeSARIFUpTo(w, newView(r, Options{}), c.limit); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			var log sarifLog
			if err := json.Unmarshal(buf.Bytes(), &log); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, res := range log.Runs[0].Results {
				text, _, _ := strings.Cut(res.Message.Text, ".")
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
			notes := log.Runs[0].Invocations[0].ToolExecutionNotifications
			switch {
			case c.left == "" && len(notes) == 0:
			case len(notes) != 1 || notes[0].Level != "warning" || c.left == "" || !strings.HasPrefix(notes[0].Message.Text, c.left):
				t.Errorf("the log says %+v", notes)
			}
		})
	}
}

// Every result of a run says whether it is silenced, and those that are say why and where.
func TestSARIFSuppressions(t *testing.T) {
	r := suppressed(t)
	results := sarifOf(t, Options{}, r).Runs[0].Results
	if len(results) != len(r.Findings)+len(r.Suppressed) {
		t.Fatalf("%d results", len(results))
	}
	silenced := 0
	for i, res := range results {
		var list []struct {
			Kind, Justification string
			Location            struct {
				PhysicalLocation struct{ Region struct{ StartLine int } }
			}
		}
		if err := json.Unmarshal(res.Suppressions, &list); err != nil {
			t.Fatalf("result %d: %v", i, err)
		}
		if len(list) == 0 {
			continue
		}
		silenced++
		if x := list[0]; x.Kind != "inSource" || x.Justification != r.Suppressed[0].Suppression.Reason || x.Location.PhysicalLocation.Region.StartLine != 7 {
			t.Errorf("result %d: %+v", i, x)
		}
	}
	if silenced != len(r.Suppressed) {
		t.Errorf("%d results are silenced, want %d", silenced, len(r.Suppressed))
	}
}

func TestSARIFRelatedLimit(t *testing.T) {
	f := lint.Finding{Rule: notDNS, Severity: lint.Error, Message: "m", Location: object.Location{File: "a"}}
	for range maxRelated + 2 {
		f.Related = append(f.Related, lint.Related{Message: "here", Location: object.Location{File: "b"}})
	}
	res := sarifOf(t, Options{}, &lint.Report{Findings: []lint.Finding{f}}).Runs[0].Results[0]
	if n := len(res.RelatedLocations); n != maxRelated {
		t.Errorf("%d related places, want %d", n, maxRelated)
	}
	if !strings.HasSuffix(res.Message.Text, "[here](100) and 2 other places.") {
		t.Errorf("the message ends %q", res.Message.Text[len(res.Message.Text)-60:])
	}
	for i, l := range res.RelatedLocations {
		if l.ID != i+1 || l.Message.Text != "here" {
			t.Fatalf("related place %d is %+v", i, l)
		}
	}
}

// What came from a cluster has no file that a service could show; a file outside the repository has no relative name.
func TestSARIFArtifacts(t *testing.T) {
	opt := Options{Root: "/src", Dir: "/src/deploy"}
	for _, c := range []struct{ file, uri, base string }{
		{"a b.yaml", "deploy/a%20b.yaml", "%SRCROOT%"},
		{"/tmp/a.yaml", "file:///tmp/a.yaml", ""},
		{"cluster:ns/a", "", ""},
	} {
		f := lint.Finding{Rule: notDNS, Severity: lint.Error, Message: "m", Location: object.Location{File: c.file}}
		p := sarifOf(t, opt, &lint.Report{Findings: []lint.Finding{f}}).Runs[0].Results[0].Locations[0].PhysicalLocation
		switch {
		case p == nil && c.uri != "":
			t.Errorf("%s: no physical location", c.file)
		case p != nil && (p.ArtifactLocation.URI != c.uri || p.ArtifactLocation.URIBaseID != c.base):
			t.Errorf("%s: %+v", c.file, p.ArtifactLocation)
		}
	}
}
