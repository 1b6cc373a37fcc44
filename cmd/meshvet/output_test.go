package main

import (
	"io"
	"os"
	"testing"
)

func TestColored(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	pipe, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = pipe.Close(), end.Close() })

	cases := []struct {
		name  string
		flag  string
		env   map[string]string
		out   io.Writer
		toOut bool // false: into a file of --format
		want  bool
	}{
		{"terminal", "auto", nil, terminal, true, true},
		{"pipe", "auto", nil, end, true, false},
		{"no file at all", "auto", nil, io.Discard, true, false},
		{"file of a report", "auto", nil, terminal, false, false},
		{"dumb terminal", "auto", map[string]string{"TERM": "dumb"}, terminal, true, false},
		{"NO_COLOR", "auto", map[string]string{"NO_COLOR": "1"}, terminal, true, false},
		{"CLICOLOR_FORCE", "auto", map[string]string{"CLICOLOR_FORCE": "1"}, end, true, true},
		{"CLICOLOR_FORCE=0", "auto", map[string]string{"CLICOLOR_FORCE": "0"}, end, true, false},
		{"both", "auto", map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, terminal, true, false},
		{"forced, dumb", "auto", map[string]string{"CLICOLOR_FORCE": "1", "TERM": "dumb"}, end, true, true},
		{"always", "always", map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, end, false, true},
		{"never", "never", map[string]string{"CLICOLOR_FORCE": "1"}, terminal, true, false},
	}
	for _, c := range cases {
		a := &app{color: newChoice(c.flag, "auto", "always", "never")}
		a.getenv = func(name string) string { return c.env[name] }
		if got := a.colored(c.toOut, c.out); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
