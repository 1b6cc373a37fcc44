package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

func TestNames(t *testing.T) {
	want := []string{"text", "compact", "json", "sarif", "junit", "github", "gitlab", "checkstyle", "markdown", "html"}
	if diff := cmp.Diff(want, Names()); diff != "" {
		t.Error(diff)
	}
	for _, name := range Names() {
		if _, err := Named(name, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamedUnknown(t *testing.T) {
	list := "the formats are " + strings.Join(Names(), ", ")
	for _, c := range []struct{ name, want string }{
		{"jsn", `unknown format "jsn": did you mean "json"? ` + list},
		{"JSON", `unknown format "JSON": did you mean "json"? ` + list},
		{"sarfi", `unknown format "sarfi": did you mean "sarif"? ` + list},
		{"teamcity", `unknown format "teamcity": ` + list},
		{"gitlba", `unknown format "gitlba": did you mean "gitlab"? ` + list},
		{"yaml", `unknown format "yaml": ` + list},
		{"", `unknown format "": ` + list},
		{strings.Repeat("x", 20), `unknown format "xxxxxxxxxxxxxxxxxxxx": ` + list},
	} {
		_, err := Named(c.name, Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.name, err, c.want)
		}
	}
}

// failing fails after some bytes, as a full disk or a closed pipe does.
type failing struct{ left int }

var errFull = errors.New("disk full")

func (w *failing) Write(p []byte) (int, error) {
	if len(p) > w.left {
		n := w.left
		w.left = 0
		return n, errFull
	}
	w.left -= len(p)
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	r := fixture(t)
	for _, name := range Names() {
		p, err := Named(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Report(&failing{left: 10}, r); !errors.Is(err, errFull) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Notes(&failing{left: 10}, r, Options{}); !errors.Is(err, errFull) {
		t.Errorf("notes: %v", err)
	}
}

func TestUnencodableFix(t *testing.T) {
	r := fixture(t)
	r.Findings[1].Fixes[0].Ops[0].Value = func() {}
	p, err := Named("json", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Report(&bytes.Buffer{}, r); err == nil {
		t.Error("a function was written as JSON")
	}
}

func TestMinSeverityHoldsInEveryFormat(t *testing.T) {
	r := fixture(t)
	before := len(r.Findings)
	for _, c := range []struct {
		format string
		count  func(out string) int
	}{
		{"text", func(out string) int {
			return strings.Count(out, "[MV") + strings.Count(out, "[DR2") + strings.Count(out, "[SE1")
		}},
		{"compact", func(out string) int { return strings.Count(out, "\n") }},
		{"json", func(out string) int { return strings.Count(out, `"fingerprint"`) }},
		{"sarif", func(out string) int { return strings.Count(out, `"ruleId"`) }},
		{"github", func(out string) int { return strings.Count(out, "\n") - strings.Count(out, "title=problem") }},
		{"junit", func(out string) int { return strings.Count(out, "&#xA;page: ") }},
		{"gitlab", func(out string) int { return strings.Count(out, `"check_name"`) - strings.Count(out, `"problem-`) }},
		{"checkstyle", func(out string) int { return strings.Count(out, "<error") - strings.Count(out, "meshvet.problem") }},
		{"markdown", func(out string) int { return strings.Count(out, "\n| [") }},
	} {
		for s, want := range map[lint.Severity]int{
			lint.Off: len(r.Findings), lint.Info: len(r.Findings),
			lint.Warning: len(r.Findings) - r.Count(lint.Info), lint.Error: r.Count(lint.Error),
		} {
			out := string(write(t, c.format, Options{MinSeverity: s, DocsURL: "https://meshvet.example"}, r))
			if got := c.count(out); got != want {
				t.Errorf("%s from %s: %d findings, want %d\n%s", c.format, s, got, want, out)
			}
		}
	}
	if len(r.Findings) != before {
		t.Error("the report itself was changed")
	}
	r = suppressed(t)
	before = len(r.Suppressed)
	if out := string(write(t, "json", Options{MinSeverity: lint.Error}, r)); strings.Count(out, `"fingerprint"`) != 1 || len(r.Suppressed) != before {
		t.Errorf("what is silenced is shown below the lowest severity, or lost:\n%s", out)
	}
}

func TestSummary(t *testing.T) {
	f := func(file string, s lint.Severity) lint.Finding {
		return lint.Finding{Rule: notDNS, Severity: s, Message: "m", Location: object.Location{File: file}}
	}
	for _, c := range []struct {
		name string
		r    lint.Report
		min  lint.Severity
		want string
	}{
		{"clean", lint.Report{Stats: lint.Stats{Judged: 14}}, lint.Off, "no findings; 14 objects judged"},
		{"one", lint.Report{Findings: []lint.Finding{f("a", lint.Error)}, Stats: lint.Stats{Judged: 1}}, lint.Off,
			"1 finding: 1 error in 1 file; 1 object judged"},
		{"each", lint.Report{Findings: []lint.Finding{f("a", lint.Error), f("b", lint.Warning), f("a", lint.Info)}, Stats: lint.Stats{Judged: 14}}, lint.Off,
			"3 findings: 1 error, 1 warning, 1 info in 2 files; 14 objects judged"},
		{"many", lint.Report{Findings: []lint.Finding{f("a", lint.Warning), f("a", lint.Warning)}}, lint.Off,
			"2 findings: 2 warnings in 1 file; 0 objects judged"},
		{"hidden", lint.Report{Findings: []lint.Finding{f("a", lint.Warning), f("b", lint.Info)}}, lint.Error,
			"no findings (2 below error not shown); 0 objects judged"},
		{"suppressed", lint.Report{Suppressed: []lint.SuppressedFinding{{Finding: f("a", lint.Error)}}, Stats: lint.Stats{Judged: 1}}, lint.Off,
			"no findings (1 suppressed); 1 object judged"},
		{"suppressed and hidden", lint.Report{
			Findings:   []lint.Finding{f("a", lint.Error), f("a", lint.Info)},
			Suppressed: []lint.SuppressedFinding{{Finding: f("b", lint.Error)}, {Finding: f("b", lint.Info)}},
		}, lint.Warning, "1 finding: 1 error in 1 file (1 below warning not shown, 1 suppressed); 0 objects judged"},
		{"problems", lint.Report{Problems: make([]object.Problem, 2)}, lint.Off, "no findings; 0 objects judged; 2 problems"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(write(t, "text", Options{MinSeverity: c.min}, &c.r)); !strings.HasSuffix(got, c.want+"\n") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Two outputs of one run may differ in colour, and neither may touch the other or a setting of the process.
func TestColourIsPerWriter(t *testing.T) {
	t.Setenv("NO_COLOR", "1") // the caller has decided already
	r := fixture(t)
	if out := write(t, "compact", Options{Color: true}, r); !bytes.Contains(out, []byte("\x1b[31;1merror\x1b[")) {
		t.Errorf("no colour where it was asked for: %q", out)
	}
	if out := write(t, "text", Options{}, r); bytes.ContainsRune(out, '\x1b') {
		t.Errorf("colour where none was asked for: %q", out)
	}
}

// The engine makes fingerprints; they must reach those who compare runs.
func TestFingerprints(t *testing.T) {
	meta := *notDNS
	meta.Presets = []string{"recommended"}
	rule := lint.Rule{Meta: meta, Check: func(p *lint.Pass) error {
		p.Report(object.ParsePath("spec.resolution"), "resolution NONE", lint.Effect("none"))
		return nil
	}}
	e, err := lint.New([]lint.Rule{rule}, nil)
	if err != nil {
		t.Fatal(err)
	}
	objects := load(t, "a.yaml", fixtureFiles["egress/payments.yaml"]).Objects
	store := mesh.NewStore(mesh.Settings{})
	store.Put(objects...)
	r, err := e.Run(t.Context(), store.Snapshot(), objects)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 1 {
		t.Fatalf("%d findings, want 1", len(r.Findings))
	}
	want := r.Findings[0].Fingerprint()
	if want == "" {
		t.Fatal("the engine made no fingerprint")
	}
	var doc struct {
		Findings []struct{ Fingerprint string }
	}
	if err := json.Unmarshal(write(t, "json", Options{}, r), &doc); err != nil {
		t.Fatal(err)
	}
	if got := doc.Findings[0].Fingerprint; got != want {
		t.Errorf("json: %q, want %q", got, want)
	}
	var log struct {
		Runs []struct {
			Results []struct{ PartialFingerprints map[string]string }
		}
	}
	if err := json.Unmarshal(write(t, "sarif", Options{}, r), &log); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"meshvet/v1": want}, log.Runs[0].Results[0].PartialFingerprints); diff != "" {
		t.Error(diff)
	}
}

func TestHelp(t *testing.T) {
	fix := func(s lint.Safety) lint.Fix { return lint.Fix{Title: "do it", Safety: s} }
	bare := &lint.Meta{ID: "XX900"}
	writes := func(title string, ops ...lint.Op) lint.Finding {
		return lint.Finding{Rule: bare, Fixes: []lint.Fix{{Title: title, Safety: lint.Safe, Ops: ops}}}
	}
	add := func(path string, value any) lint.Op {
		return lint.Op{Kind: lint.Add, Path: object.ParsePath(path), Value: value}
	}
	const more = " (safe fix; see meshvet explain XX900)"
	type m = map[string]any
	for _, c := range []struct {
		name string
		f    lint.Finding
		want string
	}{
		{"safe", lint.Finding{Rule: notDNS, Fixes: []lint.Fix{fix(lint.Safe)}}, "do it (safe fix; see meshvet explain SE101)"},
		{"several", lint.Finding{Rule: notDNS, Fixes: []lint.Fix{fix(lint.Unsafe), fix(lint.Show)}},
			"do it (unsafe fix; the first of 2; see meshvet explain SE101)"},
		{"show", lint.Finding{Rule: notDNS, Fixes: []lint.Fix{fix(lint.Show)}}, "do it (suggestion; see meshvet explain SE101)"},
		{"remedy", lint.Finding{Rule: notDNS}, "Write resolution: DNS. More: meshvet explain SE101"},
		{"remedy that is a sentence", lint.Finding{Rule: resets}, "Repeat in the entry what shall hold on the port. More: meshvet explain DR202"},
		{"nothing", lint.Finding{Rule: bare}, "see meshvet explain XX900"},
		{"setting", writes("do it", add("spec.host", "a.example.com")), "do it: host: a.example.com" + more},
		{"setting in the title", writes("set host to a.example.com", add("spec.host", "a.example.com")), "set host to a.example.com" + more},
		{"value in the title, at the place", lint.Finding{Rule: bare, Path: object.ParsePath("spec.host"), Fixes: []lint.Fix{
			{Title: "write a.example.com", Safety: lint.Safe, Ops: []lint.Op{add("spec.host", "a.example.com")}},
		}}, "write a.example.com" + more},
		{"emptied", writes("drop its fields", add("spec.tls", m{})), "drop its fields" + more},
		{"field at the end of the title", writes("write it as spec.addresses", add("spec.addresses", []any{"a"})), "write it as spec.addresses: [a]" + more},
		{"value in the title", writes("write DNS", add("spec.resolution", "DNS")), "write DNS: resolution: DNS" + more},
		{"name at the end of the title", writes("insert tls", add("spec.tls", m{"sni": "a", "mode": "SIMPLE"})), "insert tls: {mode: SIMPLE, sni: a}" + more},
		{"name within a word", writes("drop subtls", add("spec.tls", m{"mode": "SIMPLE"})), "drop subtls: tls: {mode: SIMPLE}" + more},
		{"several settings", writes("do it", add("spec.a", m{"b": m{"c": 1}, "d": []any{"1s", true}}), lint.Op{Kind: lint.Remove, Path: object.Path{"z"}}, add("spec.ports[1]", nil)),
			"do it: a: {b: {c: 1}, d: [1s, true]}; ports[1]: null" + more},
		{"words that YAML reads otherwise", writes("do it", add("a", []any{"yes", "1", "1.5s", "*.example.com", "a: b", "<x>"})),
			`do it: a: ["yes", "1", 1.5s, "*.example.com", "a: b", "<x>"]` + more},
		{"nothing and null", writes("do it", add("a", []any{"", "NULL", "~", "no"})), `do it: a: ["", "NULL", "~", "no"]` + more},
		{"many settings", writes("do it", add("spec.a", m{"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": m{"8": 8}, "7": []any{7, 9, 10}})),
			"do it (safe fix of 9 values, which --format json lists; see meshvet explain XX900)"},
		{"a long setting", writes("do it", add("spec.a", strings.Repeat("a", 240))),
			"do it (safe fix of 1 value, which --format json lists; see meshvet explain XX900)"},
		{"creation", lint.Finding{Rule: bare, Fixes: []lint.Fix{{Title: "create it", Safety: lint.Safe, Create: &lint.Create{}}}},
			"create it (safe fix; --format json has the manifest; see meshvet explain XX900)"},
		{"removal", writes("drop it", lint.Op{Kind: lint.Remove, Path: object.Path{"spec", "a"}}), "drop it" + more},
	} {
		if got := help(&c.f); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
