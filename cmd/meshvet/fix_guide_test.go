package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFixGuide fixes the manifest that the guide shows: the diff is the one below it. The other commands run without a mistake.
func TestFixGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guide/fix.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```.*?```diff\n(.*?)```").FindStringSubmatch(string(text))
	if shown == nil {
		t.Fatal("the guide shows no manifest and diff")
	}
	dir := t.TempDir()
	runs := func(args ...string) (stdout string, code int) {
		t.Helper()
		var out, errs bytes.Buffer
		code = run(t.Context(), args, process{
			stdin: strings.NewReader(shown[1]), stdout: &out, stderr: &errs,
			getenv: func(string) string { return "" },
			getwd:  func() (string, error) { return dir, nil },
		})
		if code == exitFailed {
			t.Errorf("meshvet %s: %s", strings.Join(args, " "), errs.String())
		}
		return out.String(), code
	}
	for _, name := range []string{"geo.yaml", "manifests/geo.yaml"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "geo.yaml"), shown[1])
	diff, _ := runs("fix", "--diff")
	if d := cmp.Diff(shown[2], diff); d != "" {
		t.Errorf("-guide +now:\n%s", d)
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			command, _, _ := strings.Cut(line, "#")
			command, _, _ = strings.Cut(command, "<")
			commands++
			if out, _ := runs(strings.Fields(command)[1:]...); strings.Contains(command, " - ") && !strings.Contains(out, "maxConnections: 100\n") {
				t.Errorf("%s gives\n%s", command, out)
			}
		}
	}
	if commands != 3 {
		t.Errorf("%d commands", commands)
	}
}
