package linttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// goldenName is the file that holds all that a rule says of its bad cases, and of removals. A `want` says where a finding stands and what it is about;
// this file has its weight, its effect, its related places and its fixes, for a person to read.
const goldenName = "findings.golden"

// told writes down what a rule says of one case.
func told(r *lint.Rule, report *lint.Report) string {
	var b strings.Builder
	for _, f := range report.Findings {
		if f.Rule.ID != r.ID {
			continue
		}
		at := f.Location
		fmt.Fprintf(&b, "%d:%d %s %s %s\n", at.Range.Start.Line, at.Range.Start.Col, f.Severity, f.Object, f.Path)
		fmt.Fprintf(&b, "  %s\n  effect: %s\n", f.Message, f.Effect)
		for _, rel := range f.Related {
			fmt.Fprintf(&b, "  see %s %s: %s\n", rel.Object, rel.Path, rel.Message)
		}
		for _, x := range f.Fixes {
			fmt.Fprintf(&b, "  %s fix: %s\n", x.Safety, x.Title)
			for _, op := range x.Ops {
				fmt.Fprintf(&b, "    %s %s%s\n", op.Kind, op.Path, compactJSON(" ", op.Value))
			}
			if x.Create != nil {
				fmt.Fprintf(&b, "    create%s\n", compactJSON(" ", x.Create.Object))
			}
		}
	}
	return b.String()
}

// compactJSON writes a value after a separator; nothing at all for nil.
func compactJSON(before string, v any) string {
	if v == nil {
		return ""
	}
	js, err := json.Marshal(v)
	if err != nil {
		return before + err.Error()
	}
	return before + string(js)
}

// goldenOf reads what the golden file of a case's folder says of it.
func goldenOf(c Case) (string, error) {
	path := filepath.Join(filepath.Dir(c.Path), goldenName)
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read what the rule is to say: %w; run the test with -update", err)
	}
	for section := range strings.SplitSeq("\n"+string(data), "\n== ") {
		name, text, _ := strings.Cut(section, "\n")
		if name == filepath.Base(c.Path) {
			if text = strings.TrimSpace(text); text == "" { // of a removal that nothing misses
				return "", nil
			}
			return text + "\n", nil
		}
	}
	return "", fmt.Errorf("%s has no section %s; run the test with -update", path, filepath.Base(c.Path))
}

// writeGolden writes what a rule says of its bad cases.
func writeGolden(dir string, rules []lint.Rule, r *lint.Rule, cases []Case) error {
	var b strings.Builder
	for _, c := range cases {
		if !c.Bad && !c.Gone {
			continue
		}
		file, err := Load(c.Path)
		if err != nil {
			return err
		}
		judge := c.Lint
		if c.Gone {
			judge = func(rules []lint.Rule, files ...*object.File) (*lint.Report, error) {
				return c.Removal(rules, files[0])
			}
		}
		report, err := judge(rules, file)
		if err != nil {
			return err
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "== %s\n%s", filepath.Base(c.Path), told(r, report))
	}
	if err := os.WriteFile(filepath.Join(dir, r.Name, goldenName), []byte(b.String()), 0o644); err != nil { //nolint:gosec // read by everybody
		return fmt.Errorf("write what %s says: %w", r.ID, err)
	}
	return nil
}
