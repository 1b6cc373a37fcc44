package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// ErrOtherVersion is the error of Run if the program is of another version than the one that asks.
var ErrOtherVersion = errors.New("the program that renders is of another version")

// ErrNoProgram is the error of Find if there is no program that renders.
var ErrNoProgram = errors.New("there is no program that renders")

// Find returns the path of the program that renders: the one named, if name is not empty; else the one beside the running executable, or
// that which lookPath finds (exec.LookPath).
func Find(name, executable string, lookPath func(string) (string, error)) (string, error) {
	if name != "" {
		path, err := lookPath(name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, plain(err))
		}
		return path, nil
	}
	if executable != "" {
		beside := filepath.Join(filepath.Dir(executable), Program)
		if runtime.GOOS == "windows" {
			beside += ".exe"
		}
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := lookPath(Program)
	if err != nil {
		return "", ErrNoProgram
	}
	return path, nil
}

// plain drops what an error says of the program, which the caller does.
func plain(err error) error {
	var ee *exec.Error
	if errors.As(err, &ee) {
		return ee.Err
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

const (
	maxComplaints = 16 << 10 // of what a program writes to standard error, in bytes
	// overhead is how much longer than its documents an answer may be, beside their escapes.
	overhead = 16 << 20
	// started is the time that a program gets to start, on top of the time to render.
	started = 5 * time.Second
)

// Run has a program answer a request. It ends with ctx, and when the time that the request allows is over; then the program is killed. An
// answer that is an error of the renderer is returned as it is: its Error is set. The program gets nothing of the environment.
func Run(ctx context.Context, program string, request Request) (*Answer, error) {
	input, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	limits := request.Limits
	late, cancel := context.WithTimeout(ctx, limits.Timeout+started)
	defer cancel()
	cmd := exec.CommandContext(late, program)
	endsWhole(cmd)
	cmd.Env = environment()
	cmd.Stdin = bytes.NewReader(input)
	cmd.WaitDelay = time.Second // whoever has taken over its output is not waited for
	out := &capped{most: int(min(2*limits.Output+overhead, 1<<40)), over: cancel}
	complaints := &capped{most: maxComplaints}
	cmd.Stdout, cmd.Stderr = out, complaints
	begun := time.Now()
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.full:
		return nil, fmt.Errorf("%s wrote more than %d MiB; render less at a time", program, out.most>>20)
	case late.Err() != nil || time.Since(begun) > limits.Timeout && err != nil:
		return nil, fmt.Errorf("took longer than %s and was stopped; render less at a time, or run the renderer and `| meshvet lint -`", limits.Timeout)
	case err != nil && outOfMemory(complaints.text.String()):
		return nil, fmt.Errorf("needs more than %d MiB of memory; render less at a time", limits.Memory>>20)
	case err != nil:
		return nil, fmt.Errorf("run %s: %w%s", program, plain(err), lastWords(complaints.text.String()))
	}
	answer := &Answer{}
	if err := json.Unmarshal(out.text.Bytes(), answer); err != nil {
		return nil, fmt.Errorf("%s gave no answer of %s: %w", program, Program, err)
	}
	if answer.Version != request.Version {
		return nil, fmt.Errorf("%w: %s is %s, and meshvet is %s", ErrOtherVersion, program, orNone(answer.Version), request.Version)
	}
	for line := range strings.Lines(complaints.text.String()) {
		if line = strings.TrimSpace(line); line != "" {
			answer.Notes = append(answer.Notes, line)
		}
	}
	return answer, nil
}

func orNone(version string) string {
	if version == "" {
		return "no known number"
	}
	return version
}

// environment is what a program needs to start at all: nothing, but on Windows. Renderers must not find out, or write into manifests,
// what is in the environment of whoever judges them.
func environment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"SYSTEMROOT", "TMPDIR", "TEMP"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// outOfMemory says whether Go's runtime ended the program because it got no more memory.
func outOfMemory(complaints string) bool {
	return strings.Contains(complaints, "out of memory") || strings.Contains(complaints, "cannot allocate memory")
}

// lastWords are what a program said at the end, as the end of a message.
func lastWords(complaints string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(complaints), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}

// capped keeps what is written up to a length. What is more calls over, if there is one, and is dropped. It must not embed the buffer, whose
// ReadFrom io.Copy would call instead of Write.
type capped struct {
	text bytes.Buffer
	most int
	full bool
	over func()
}

func (c *capped) Write(p []byte) (int, error) {
	if room := c.most - c.text.Len(); len(p) > room {
		c.text.Write(p[:max(room, 0)])
		if c.full = true; c.over != nil {
			c.over()
		}
		return len(p), nil
	}
	return c.text.Write(p)
}

var _ io.Writer = (*capped)(nil)
