package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestHTMLGuide runs the commands of the guide, each of which leaves a page.
func TestHTMLGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guide/html-report.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			commands++
			t.Run(strings.TrimSpace(line), func(t *testing.T) { // which returns to the folder that the test began in
				page := filepath.Join(t.TempDir(), "report.html")
				args := strings.Fields(strings.ReplaceAll(line, "report.html", page))
				out, code := runAtRoot(t, args[1:]...)
				if code != exitFindings {
					t.Errorf("%s exits with %d: %s", line, code, out)
				}
				written, err := os.ReadFile(page)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{"consecutiveErrors 5 is not read by Istio any more", "outbound|443||api.payments.example.com"} {
					if !strings.Contains(string(written), want) {
						t.Errorf("%s: the page lacks %q", line, want)
					}
				}
				if inText := strings.Contains(out, "consecutiveErrors 5 is not read"); inText != strings.Contains(line, "--format text") {
					t.Errorf("%s prints %q", line, out)
				}
			})
		}
	}
	if commands != 2 {
		t.Errorf("%d commands", commands)
	}
}
