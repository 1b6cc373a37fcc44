package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestKustomizeGuide runs the commands of the guide, and compares the finding that it shows with what the program says.
func TestKustomizeGuide(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "guide", "kustomize.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```text\n(examples/kustomize/.*?)```").FindSubmatch(text)
	if shown == nil {
		t.Fatal("the guide shows no finding")
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
		for line := range strings.Lines(string(block[1])) {
			command, _, _ := strings.Cut(line, "#")
			commands++
			var out, errs bytes.Buffer
			code := run(t.Context(), append(strings.Fields(strings.ReplaceAll(command, "'", ""))[1:], "--color", "never", "--no-excerpt"), process{
				stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
				getenv: func(name string) string { return map[string]string{"MESHVET_RENDER": theRenderer(t)}[name] },
				getwd:  func() (string, error) { return root, nil },
			})
			faulty := strings.Contains(command, "*")
			if want := map[bool]int{false: exitClean, true: exitFindings}[faulty]; code != want {
				t.Errorf("%s: exit code %d, want %d\n%s%s", command, code, want, out.String(), errs.String())
			}
			if strings.Contains(out.String(), string(shown[1])) != faulty {
				t.Errorf("%s\n%s\nthe guide shows\n%s", command, out.String(), shown[1])
			}
		}
	}
	if commands != 2 {
		t.Errorf("%d commands", commands)
	}
}
