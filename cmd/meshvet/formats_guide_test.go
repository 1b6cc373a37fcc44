package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/report"
)

// The guide has each format in its table, in their order, and runs each: every command in it works in a repository, also those in
// configurations of CI services, and writes what it says.
func TestFormatsGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guide/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile("../../examples/bad/tls-origination.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllSubmatch(guide, -1) {
		table = append(table, string(m[1]))
	}
	if diff := cmp.Diff(report.Names(), table); diff != "" {
		t.Errorf("-formats +guide\n%s", diff)
	}

	dir := t.TempDir()
	for name, text := range map[string][]byte{"egress/catalogue.yaml": manifest, ".git/HEAD": []byte("ref: refs/heads/main\n")} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	getenv := func(name string) string {
		if name == "GITHUB_STEP_SUMMARY" {
			return filepath.Join(dir, "step.md")
		}
		return ""
	}
	used := map[string]bool{}
	commands := regexp.MustCompile(`(?m)^[ -]*(?:run: )?(meshvet lint .*)$`).FindAllSubmatch(guide, -1)
	if len(commands) < 10 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, c := range commands {
		line := string(c[1])
		t.Run(line, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(os.Expand(line, getenv), `"`, ""))[1:]
			var files []string
			for i, arg := range args {
				if arg == "--format" {
					format, file, _ := strings.Cut(args[i+1], "=")
					used[format] = true
					if file != "" {
						files = append(files, file)
					}
				}
			}
			var out, errs bytes.Buffer
			code := run(context.Background(), args, process{
				stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: getenv, getwd: func() (string, error) { return dir, nil },
			})
			want := exitFindings
			if slices.Contains(args, "never") {
				want = exitClean
			}
			if code != want {
				t.Errorf("exit code %d, want %d: %s", code, want, errs.String())
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Error(err)
				}
				for _, s := range []string{"DR202", "egress/catalogue.yaml"} {
					if !bytes.Contains(text, []byte(s)) {
						t.Errorf("%s does not have %s", file, s)
					}
				}
				if err := os.Remove(file); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, name := range report.Names() {
		if !used[name] {
			t.Errorf("no command of the guide writes %s", name)
		}
	}
}
