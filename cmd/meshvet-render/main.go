// Command meshvet-render makes manifests of a kustomization or a Helm chart, for meshvet, which runs it.
//
// It reads a render.Request as JSON from standard input and writes a render.Answer to standard output. It has no flags but --version.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/meshvet/meshvet/cmd/internal/build"
	"github.com/meshvet/meshvet/lint/render"
)

// version is set by the linker for releases.
var version string

const (
	exitAnswered = 0 // with an answer, which may be that it failed
	exitFailed   = 2 // without one

	// maxRequest bounds a request, most of which is files of values.
	maxRequest = 64 << 20
	// grace is how long the program outlives its deadline, at which the one that started it ends it.
	grace = 2 * time.Second
)

func main() {
	// No signal is caught: neither renderer can be told to stop, and nothing is left behind by ending at once.
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == "--version" {
		fmt.Fprintln(stdout, render.Program, build.Version(version))
		return exitAnswered
	}
	if len(args) > 0 {
		fmt.Fprintf(stderr, "%s: takes no arguments; `meshvet lint --kustomize DIR` and `meshvet lint --helm CHART` run it\n", render.Program)
		return exitFailed
	}
	request, err := readRequest(stdin)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", render.Program, err)
		return exitFailed
	}
	out := json.NewEncoder(stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(answer(ctx, request)); err != nil {
		fmt.Fprintf(stderr, "%s: write the answer: %v\n", render.Program, err)
		return exitFailed
	}
	return exitAnswered
}

// readRequest reads a request. Of one that another version wrote only the version is read.
func readRequest(r io.Reader) (*render.Request, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxRequest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the request: %w", err)
	case len(text) > maxRequest:
		return nil, fmt.Errorf("the request is larger than %d MiB", maxRequest>>20)
	}
	var from struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &from); err != nil {
		return nil, fmt.Errorf("the request is no JSON that meshvet writes: %w", err)
	}
	if from.Version != build.Version(version) {
		return &render.Request{Version: from.Version}, nil
	}
	request := &render.Request{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(request); err != nil {
		return nil, fmt.Errorf("the request is none that meshvet writes: %w", err)
	}
	return request, nil
}

// answer renders what is asked for.
func answer(ctx context.Context, request *render.Request) *render.Answer {
	own := build.Version(version)
	if request.Version != own {
		return &render.Answer{Version: own, Error: &render.Failure{
			Message: fmt.Sprintf("%s is of version %s, and was asked by meshvet %s; install both of the same", render.Program, own, request.Version),
		}}
	}
	bound(request.Limits)
	got, err := dispatch(ctx, request)
	if err != nil {
		var failure *render.Failure
		if !errors.As(err, &failure) {
			failure = &render.Failure{Message: err.Error()}
		}
		return &render.Answer{Version: own, Error: failure}
	}
	got.Version = own
	return got
}

// dispatch gives a request to its renderer.
func dispatch(ctx context.Context, request *render.Request) (*render.Answer, error) {
	switch {
	case request.Kustomize != nil && request.Helm == nil:
		return renderKustomize(ctx, request.Kustomize, request.Limits)
	case request.Helm != nil && request.Kustomize == nil:
		return renderHelm(ctx, request.Helm, request.Limits)
	default:
		return nil, errors.New("a request is for a kustomization or for a chart")
	}
}

// bound bounds the process: it ends by itself if nobody ends it, and what it takes of memory has a limit.
func bound(l render.Limits) {
	if l.Timeout > 0 {
		time.AfterFunc(l.Timeout+grace, func() { os.Exit(exitFailed) })
	}
	if l.Memory > 0 {
		debug.SetMemoryLimit(l.Memory / 4 * 3)
		limitMemory(l.Memory)
	}
}
