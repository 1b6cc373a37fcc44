package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// regexpOverstrike is how mandoc makes letters bold: each is followed by a backspace and itself; underlined ones follow a line.
var regexpOverstrike = regexp.MustCompile(`.\x08`)

// generated runs `meshvet docs` into a folder and returns the folder.
func generated(t *testing.T, getenv func(string) string, flag string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	var errs bytes.Buffer
	code := run(t.Context(), []string{"docs", flag, dir}, process{
		stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs,
		getenv: getenv, getwd: os.Getwd,
	})
	if code != exitClean {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	return dir
}

// oneSpace is a text on one line, since where lines end, and that a sentence ends there, is up to the one who shows it.
func oneSpace(text string) string { return strings.Join(strings.Fields(text), " ") }

func epoch(name string) string {
	if name == "SOURCE_DATE_EPOCH" {
		return "1767225600"
	}
	return ""
}

// Every command that help shows has a page, with every flag and variable, and mandoc finds no fault with it, of style neither.
func TestManuals(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is not installed; .ci/packages installs it")
	}
	dir := generated(t, epoch, "--man")
	var pages []string
	root := (&app{color: newChoice("auto", "auto")}).newRoot()
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		page := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		if cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
			return
		}
		pages = append(pages, page)
		text, err := exec.CommandContext(t.Context(), mandoc, "-T", "utf8", "-O", "width=1000", page).Output()
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		shown := oneSpace(string(regexpOverstrike.ReplaceAll(text, nil)))
		for _, want := range []string{"NAME", "SYNOPSIS", cmd.CommandPath(), cmd.Short, "2026-01-01"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s does not have %q", page, want)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			if _, usage := pflag.UnquoteUsage(f); !strings.Contains(shown, "--"+f.Name) || !strings.Contains(shown, oneSpace(usage)) {
				t.Errorf("%s does not have --%s with %q", page, f.Name, usage)
			}
		})
		for line := range strings.Lines(cmd.Example) {
			if !strings.Contains(shown, oneSpace(line)) {
				t.Errorf("%s does not have the example %q", page, line)
			}
		}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && c.Name() != "help" {
				visit(c)
			}
		}
	}
	visit(root)
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(found) != len(pages) || len(pages) < 10 {
		t.Errorf("%d pages of %d commands: %v", len(found), len(pages), err)
	}
	if said, err := exec.CommandContext(t.Context(), mandoc, append([]string{"-T", "lint", "-W", "style"}, pages...)...).CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("mandoc: %v\n%s", err, said)
	}
}

// Text of help that roff would take for something else comes out as it is.
func TestManualEscapes(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is not installed; .ci/packages installs it")
	}
	const hostile = `.so /etc/passwd 'quoted' "double" \fBbold\fR \n(.g a-b --flag ~user ^x *.example.com _x_ <b> 100% … ` + "\u202e"
	cmd := &cobra.Command{
		Use: "odd", Short: "Odd " + hostile, Run: func(*cobra.Command, []string) {},
		Long:    hostile + "\n\n    .de indented\n    " + hostile + "\n\n`one backtick\n\n'leading\n\n.leading",
		Example: "  " + hostile,
	}
	cmd.Flags().String("name", `a\b`, hostile)
	page := filepath.Join(t.TempDir(), "odd.1")
	var text bytes.Buffer
	if err := writeManual(&text, cmd, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	shown, err := exec.CommandContext(t.Context(), mandoc, "-T", "utf8", "-O", "width=1000", page).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, shown)
	}
	shown = regexpOverstrike.ReplaceAll(shown, nil)
	for want, times := range map[string]int{hostile: 5, ".de indented": 1, "`one backtick": 1, "'leading": 1, ".leading": 1, `(default a\b)`: 1} {
		if got := bytes.Count(shown, []byte(want)); got != times {
			t.Errorf("%q stands %d times in the page, want %d:\n%s", want, got, times, shown)
		}
	}
}

// The day of a page is that of SOURCE_DATE_EPOCH; without it there is none, and with nonsense in it nothing is written.
func TestManualDay(t *testing.T) {
	for value, want := range map[string]string{"1767225600": `.TH "MESHVET" "1" "2026-01-01" `, "": `.TH "MESHVET" "1" "" `} {
		text, err := os.ReadFile(filepath.Join(generated(t, func(name string) string {
			if name == "SOURCE_DATE_EPOCH" {
				return value
			}
			return ""
		}, "--man"), "meshvet.1"))
		if err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%q: %v\n%.60s", value, err, text)
		}
	}
	for _, value := range []string{"yesterday", "-1"} {
		if _, err := manualDay(func(string) string { return value }); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
			t.Errorf("%s: %v", value, err)
		}
	}
}
