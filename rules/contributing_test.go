package rules_test

import (
	"go/format"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/policies"
	"github.com/meshvet/meshvet/rules"
)

var printedFile = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```\\w+\n(.*?)```")

// The rule that CONTRIBUTING.md prints passes with the fixture beside it. Of the form in Go, only the layout is checked.
func TestPrintedRule(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "policies"), policies.FS); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	name := ""
	for _, m := range printedFile.FindAllStringSubmatch(string(guide), -1) {
		write(m[1], m[2])
		switch path.Ext(m[1]) {
		case ".go":
			if formatted, err := format.Source([]byte(m[2])); err != nil || string(formatted) != m[2] {
				t.Errorf("%s is not formatted: %v", m[1], err)
			}
		case ".yaml":
			name = path.Base(path.Dir(m[1]))
			clean := regexp.MustCompile(" # want .*").ReplaceAllString(m[2], "")
			write(path.Join(path.Dir(m[1]), "good.yaml"), strings.Replace(clean, "192.0.2.10", "rates-1.example.com", 1))
			write(path.Join(path.Dir(m[1]), "bad.fixed.yaml"), strings.Replace(clean, "resolution: DNS", "resolution: STATIC", 1))
		}
	}
	fromRego, err := policy.Load(t.Context(), os.DirFS(filepath.Join(dir, "policies")))
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	linttest.Run(t, filepath.Join(dir, "testdata"), append(rules.All(), fromRego...), func(m *lint.Meta) bool {
		ran = ran || m.Name == name
		return m.Name == name
	})
	if !ran {
		t.Errorf("CONTRIBUTING.md prints no rule %q", name)
	}
}
