package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/render"
)

// TestHelmGuide runs the commands of the guide. Those with the values of production find what the guide shows, and only these do.
func TestHelmGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guide/helm.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^(examples/helm/.*?: warning: .*?) \[…\]$`).FindSubmatch(text)
	if shown == nil {
		t.Fatal("the guide shows no finding")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	reports := t.TempDir()
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
		for line := range strings.Lines(string(block[1])) {
			command, _, _ := strings.Cut(line, "#")
			command = strings.ReplaceAll(command, "sarif=", "sarif="+reports+"/")
			commands++
			var out, errs bytes.Buffer
			code := run(t.Context(), append(strings.Fields(command)[1:], "--color", "never"), process{
				stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
				getenv: func(name string) string { return map[string]string{"MESHVET_RENDER": theRenderer(t)}[name] },
				getwd:  func() (string, error) { return root, nil },
			})
			faulty := strings.Contains(command, "prod.yaml")
			if want := map[bool]int{false: exitClean, true: exitFindings}[faulty]; code != want {
				t.Errorf("%s: exit code %d, want %d\n%s%s", command, code, want, out.String(), errs.String())
			}
			if faulty && !strings.Contains(command, "sarif") && !strings.Contains(out.String(), string(shown[1])) {
				t.Errorf("%s\n%s\nthe guide shows\n%s", command, out.String(), shown[1])
			}
		}
	}
	if commands != 4 {
		t.Errorf("%d commands", commands)
	}
	sarif, err := os.ReadFile(filepath.Join(reports, "prod.sarif"))
	if err != nil || !bytes.Contains(sarif, []byte("examples/helm/egress/templates/services.yaml")) {
		t.Errorf("the report of the guide says %.200s (%v)", sarif, err)
	}
	limits := render.DefaultLimits()
	for what, want := range map[string]bool{
		"20 MiB": limits.Archive == 20<<20, "100 MiB": limits.Unpacked == 100<<20, "64 MiB": limits.Output == 64<<20,
		"30 seconds": limits.Timeout.Seconds() == 30, "2 GiB": limits.Memory == 2<<30,
	} {
		if !want || !bytes.Contains(text, []byte(what)) {
			t.Errorf("%s is not what holds, or not what the guide says", what)
		}
	}
}
