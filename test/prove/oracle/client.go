package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// DefaultTimeout is how long Compile waits for an answer when its context sets no limit.
const DefaultTimeout = time.Minute

// DiedError says that the process ended on a job, twice: on its own a job that is answered is never at fault for another.
type DiedError struct {
	Job    string // its ID
	Stderr string // the end of what the process said
}

func (e *DiedError) Error() string {
	return fmt.Sprintf("the oracle died on job %q: %s", e.Job, e.Stderr)
}

// RefusedError says that the program does not take a job, and why.
type RefusedError struct {
	Job    string // its ID
	Reason string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("job %s: %s", e.Job, e.Reason) }

// Client runs the program. It may be used by several goroutines, which wait for each other: for more speed, start more clients.
type Client struct {
	path    string
	version string

	mu    sync.Mutex
	child *child
}

// child is a running process.
type child struct {
	cmd    *exec.Cmd
	kill   context.CancelFunc
	stdin  io.WriteCloser
	answer *json.Decoder
	stderr *tail
}

// Start makes a client of the program at a path, and asks the program for its version, so that a wrong path fails here.
func Start(ctx context.Context, path string) (*Client, error) {
	out, err := exec.CommandContext(ctx, path, "-version").Output()
	if err != nil {
		return nil, fmt.Errorf("run the oracle (make oracle builds it): %w", err)
	}
	return &Client{path: path, version: strings.TrimSpace(string(out))}, nil
}

// Version is that of the istio.io/istio module that the program is built with.
func (c *Client) Version() string { return c.version }

// Close ends the process.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.child == nil {
		return nil
	}
	ended := c.child
	c.child = nil
	_ = ended.stdin.Close() // the process ends when its input does
	defer ended.kill()
	return ended.cmd.Wait()
}

// Compile has one job done. A panic of Istio's is an answer. Errors are a *RefusedError, a *DiedError, and the context's end, at the
// latest after DefaultTimeout; the process is then started afresh for the next job.
func (c *Client) Compile(ctx context.Context, job *Job) (*Result, error) {
	line, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("write job %s: %w", job.ID, err)
	}
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultTimeout)
		defer cancel()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// A goroutine that an earlier job left behind could have ended the process: only a fresh one shows that it was this job.
	for fresh := c.child == nil; ; fresh = true {
		res, said, err := c.ask(ctx, append(line, '\n'))
		switch {
		case err == nil && res.Error != "":
			return nil, &RefusedError{job.ID, res.Error}
		case err == nil:
			return res, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("job %s: the oracle gave no answer: %w", job.ID, context.Cause(ctx))
		case fresh:
			return nil, &DiedError{job.ID, said}
		}
	}
}

// ask hands a line to the process. When that fails the process is gone.
func (c *Client) ask(ctx context.Context, line []byte) (res *Result, said string, err error) {
	if c.child == nil {
		if c.child, err = launch(c.path); err != nil {
			return nil, err.Error(), err
		}
	}
	p := c.child
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	res = &Result{}
	if _, err = p.stdin.Write(line); err == nil {
		err = p.answer.Decode(res)
	}
	if err == nil {
		return res, "", nil
	}
	c.child = nil
	p.kill()
	if end := p.cmd.Wait(); end != nil {
		err = errors.Join(err, end)
	}
	return nil, p.stderr.String(), err
}

func launch(path string) (*child, error) {
	// The process outlives the call that needs it first.
	ctx, kill := context.WithCancel(context.Background())
	p := &child{cmd: exec.CommandContext(ctx, path), kill: kill, stderr: &tail{}}
	p.cmd.Stderr = p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err == nil {
		var stdout io.ReadCloser
		if stdout, err = p.cmd.StdoutPipe(); err == nil {
			p.stdin, p.answer = stdin, json.NewDecoder(stdout)
			err = p.cmd.Start()
		}
	}
	if err != nil {
		kill()
		return nil, fmt.Errorf("run the oracle: %w", err)
	}
	return p, nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailLength = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - tailLength; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
