// Command meshvet lints Istio ServiceEntry and DestinationRule manifests.
//
// It is the only package that prints and ends the process. It puts the rules, the policies, the engine and the reports
// together; none of them knows it.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes, the same for every command and format. The higher one wins.
const (
	exitClean    = 0 // nothing at or above --fail-on
	exitFindings = 1 // findings at or above --fail-on
	exitFailed   = 2 // the run itself failed: bad flag or configuration, unreadable input, broken rule
)

func main() {
	tuneMemory(os.Getenv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], process{
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		getenv:  os.Getenv,
		environ: os.Environ,
		getwd:   os.Getwd,
	})
	stop()
	os.Exit(code)
}

// process is what the surroundings of a run are.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	environ        func() []string // for programs that are run
	getwd          func() (string, error)
}
