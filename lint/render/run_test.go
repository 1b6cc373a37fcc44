package render

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script makes a program of a shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), Program)
	if err := os.WriteFile(path, []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+text+"\n"), 0o755); err != nil { //nolint:gosec // it has to be a program
		t.Fatal(err)
	}
	return path
}

// TestRun: whatever the program does, the answer is one that was asked for, or an error that says what happened.
func TestRun(t *testing.T) {
	tests := []struct {
		name, script, want string // want is what the error says, "" for an answer
	}{
		{"answer", `cat >/dev/null; echo 'a warning' >&2; echo '{"version":"v1","documents":[{"text":"kind: A"}]}'`, ""},
		{"failure", `echo '{"version":"v1","error":{"message":"no"}}'`, ""},
		{"another version", `echo '{"version":"v2"}'`, "is v2, and meshvet is v1"},
		{"no version", `echo '{}'`, "is no known number, and meshvet is v1"},
		{"nothing", `true`, "gave no answer of meshvet-render"},
		{"no JSON", `echo hello`, "gave no answer of meshvet-render"},
		{"it fails", `echo 'something is wrong' >&2; exit 3`, "exit status 3: something is wrong"},
		{"no memory", `echo 'fatal error: runtime: out of memory' >&2; exit 2`, "needs more than 2048 MiB of memory"},
		{"it hangs", `sleep 60`, "took longer than"},
		{"a child holds its output", `sleep 60 & sleep 60`, "took longer than"},
		{"output without end", `yes`, "wrote more than 18 MiB"},
		{"complaints without end", `yes >&2 & sleep 60`, "took longer than"},
	}
	for _, tt := range tests {
		// Before any of them runs: a program that another process has inherited while it is written cannot be run.
		program := script(t, tt.script)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			limits := DefaultLimits()
			limits.Timeout, limits.Output = 200*time.Millisecond, 1<<20
			if strings.HasPrefix(tt.want, "took") {
				limits.Timeout -= started // the program gets that time on top
			}
			begun := time.Now()
			answer, err := Run(t.Context(), program, Request{Version: "v1", Limits: limits})
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			if tt.want == "" {
				if err != nil || answer.Version != "v1" || (len(answer.Documents) == 1) == (answer.Error != nil) {
					t.Fatalf("%+v, %v", answer, err)
				}
				if answer.Error == nil && (len(answer.Notes) != 1 || answer.Notes[0] != "a warning") {
					t.Errorf("notes %q", answer.Notes)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v, error %v, want %s", answer, err, tt.want)
			}
		})
	}
}

// TestRunGetsNoEnvironment: a renderer cannot write into manifests what the environment of whoever judges them holds.
func TestRunGetsNoEnvironment(t *testing.T) {
	t.Setenv("MESHVET_SECRET", "swordfish")
	answer, err := Run(t.Context(), script(t, `cat >/dev/null; env | grep -c swordfish >&2; echo '{"version":"v1"}'`), Request{Version: "v1", Limits: DefaultLimits()})
	if err != nil || len(answer.Notes) != 1 || answer.Notes[0] != "0" {
		t.Errorf("%+v, %v", answer, err)
	}
}

// TestRunStops: a run that is stopped ends the program.
func TestRunStops(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for { // until the program runs
			if _, err := os.Stat(filepath.Join(dir, "pid")); err == nil {
				cancel()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	_, err := Run(ctx, script(t, `sleep 60 & echo $! > `+dir+`/child; echo $$ > `+dir+`/pid.part; mv `+dir+`/pid.part `+dir+`/pid; sleep 60`), Request{Version: "v1", Limits: DefaultLimits()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return // no way to see processes
	}
	for _, name := range []string{"pid", "child"} {
		pid, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			// What has ended and is not yet taken notice of, Z, has ended.
			stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
			if err != nil || strings.Contains(string(stat), ") Z ") {
				break
			}
			if time.Since(begun) > 10*time.Second {
				t.Fatalf("%s is still there: %s", name, stat)
			}
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	beside := filepath.Join(dir, Program)
	nowhere := func(name string) (string, error) { return "", &exec.Error{Name: name, Err: exec.ErrNotFound} }
	inPath := func(name string) (string, error) { return "/path/" + name, nil }
	if _, err := Find("", filepath.Join(dir, "meshvet"), nowhere); !errors.Is(err, ErrNoProgram) {
		t.Errorf("nowhere: %v", err)
	}
	if got, err := Find("", filepath.Join(dir, "meshvet"), inPath); err != nil || got != "/path/"+Program {
		t.Errorf("in PATH: %s, %v", got, err)
	}
	if err := os.WriteFile(beside, nil, 0o755); err != nil { //nolint:gosec // it has to be a program
		t.Fatal(err)
	}
	if got, err := Find("", filepath.Join(dir, "meshvet"), inPath); err != nil || got != beside {
		t.Errorf("beside: %s, %v", got, err)
	}
	if got, err := Find("mine", filepath.Join(dir, "meshvet"), inPath); err != nil || got != "/path/mine" {
		t.Errorf("named: %s, %v", got, err)
	}
	if _, err := Find("mine", "", nowhere); err == nil || !strings.Contains(err.Error(), "mine: ") {
		t.Errorf("named, and not there: %v", err)
	}
}
