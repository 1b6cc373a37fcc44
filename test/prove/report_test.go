package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/istio"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/verify"
	"github.com/meshvet/meshvet/test/prove/oracle"
	"github.com/meshvet/meshvet/test/prove/predictor"
)

// folder writes files into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestReport: two sets, of which one has a file that is not taken, one that ends the oracle, one on which Istio panics, and files
// that are no manifests.
func TestReport(t *testing.T) {
	p := holder(t)
	p.oracle = &predictor.Predictor{Change: func(job *oracle.Job, _ *predictor.Answer) error {
		switch filepath.Base(job.ID) {
		case "odd.yaml":
			return &oracle.RefusedError{Job: "odd", Reason: "no"}
		case "deadly.yaml":
			return &oracle.DiedError{Job: "deadly"}
		}
		return nil
	}}
	one := folder(t, map[string]string{
		"dead.yaml": deadField, "stray.yml": strayRule, "odd.yaml": strayRule, "deadly.yaml": strayRule, "panicking.yaml": panicking,
		"README.md": "no manifest", "other.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
	})
	two := folder(t, map[string]string{"deaf.json": "", "deaf.yaml": deafField, "lost.yaml": lostValue})
	pages := t.TempDir()
	var texts, outputs []string
	for _, name := range []string{"a.md", "b.md"} {
		var out bytes.Buffer
		page := filepath.Join(pages, name)
		if err := p.corpora(t.Context(), &out, []string{"-seed", "3", "-random", "2", "-report", page, "one=" + one, "two=" + two + "," + filepath.Join(one, "dead.yaml")}); err != nil {
			t.Fatalf("%s\n%s", err, out.String())
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
		said, _, _ := strings.Cut(strings.ReplaceAll(out.String(), one, "ONE"), "0 contradictions, in ")
		outputs = append(outputs, said)
	}
	if texts[0] != texts[1] || outputs[0] != outputs[1] {
		t.Error("two runs differ")
	}
	// What else the page has is written in tables elsewhere.
	_, predictions, _ := strings.Cut(texts[0], "## Predictions\n")
	predictions, _, _ = strings.Cut(predictions, "Not compared,")
	_, claims, _ := strings.Cut(texts[0], "## Claims of findings\n")
	claims, _, _ = strings.Cut(claims, "## The inert table")
	got := outputs[0] + "=====\n" + predictions + "=====\n" + claims
	const golden = "testdata/report.golden"
	if *linttest.Update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s (-want +got), go test -update rewrites it:\n%s", golden, diff)
	}
	var rows []string
	for _, u := range verify.Uncompared {
		rows = append(rows, "| `"+u.Path+"` | "+u.Why+" |")
	}
	for _, i := range inertPaths() {
		rows = append(rows, "| `"+i.Path+"` | L4 | "+i.Why+" | "+i.Source+" |")
	}
	for _, c := range istio.Changes() {
		rows = append(rows, c.Field)
	}
	for _, row := range rows {
		if !strings.Contains(texts[0], row) {
			t.Errorf("the page lacks %s", row)
		}
	}
}

// A run fails with a reason, and writes no page then.
func TestFailingRuns(t *testing.T) {
	p := holder(t)
	manifests := folder(t, map[string]string{"a.yaml": strayRule})
	nothing := folder(t, map[string]string{"a.txt": strayRule, "b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"})
	page := filepath.Join(t.TempDir(), "page.md")
	for name, test := range map[string]struct {
		args   []string
		change func(*oracle.Job, *predictor.Answer) error
		want   string // of the error
		says   string
	}{
		"contradiction": {[]string{"a=" + manifests}, func(_ *oracle.Job, a *predictor.Answer) error { a.Clusters[first]["type"] = "EDS"; return nil },
			"contradict each other 4 times", `contradiction: ` + filepath.Join(manifests, "a.yaml") + `, sidecar in default: ` + first + `: type predicted "STRICT_DNS", compiled "EDS"`},
		"contradiction in a random mesh": {[]string{"-random", "1"}, func(_ *oracle.Job, a *predictor.Answer) error {
			a.Clusters["outbound|1||x"] = map[string]any{}
			return nil
		}, "contradict each other", "contradiction: random 0, "},
		"all refused": {[]string{"a=" + manifests}, func(*oracle.Job, *predictor.Answer) error { return &oracle.RefusedError{Job: "a", Reason: "no"} },
			"a: nothing of it was compared", "refused: "},
		"no answer":     {[]string{"a=" + manifests}, func(*oracle.Job, *predictor.Answer) error { return os.ErrDeadlineExceeded }, os.ErrDeadlineExceeded.Error(), ""},
		"no path":       {[]string{"a"}, nil, `"a" is not of the form NAME=PATH,PATH`, ""},
		"empty path":    {[]string{"a="}, nil, "no such file", ""},
		"no such path":  {[]string{"a=" + manifests + ",no/such/folder"}, nil, "no/such/folder", ""},
		"no manifests":  {[]string{"a=" + nothing}, nil, "a: nothing of it was compared", "a: 0 meshes"},
		"no input":      {nil, nil, "nothing to compare", ""},
		"unknown flag":  {[]string{"-seeds", "3"}, nil, "not defined: -seeds", ""},
		"seeds run out": {[]string{"-seed", "18446744073709551615", "-random", "2"}, nil, "nothing of it was compared", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p.oracle = &predictor.Predictor{Change: test.change}
			var out bytes.Buffer
			err := p.corpora(t.Context(), &out, append([]string{"-report", page}, test.args...))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(out.String(), test.says) {
				t.Errorf("%v, want %q\n%s", err, test.want, out.String())
			}
			if _, err := os.Stat(page); err == nil {
				t.Error("a page is written")
			}
		})
	}
	p.oracle = &predictor.Predictor{}
	if err := p.corpora(t.Context(), &bytes.Buffer{}, []string{"-report", filepath.Join(page, "below"), "a=" + manifests}); err == nil || !strings.Contains(err.Error(), "write the report") {
		t.Errorf("a page that cannot be written: %v", err)
	}
}
