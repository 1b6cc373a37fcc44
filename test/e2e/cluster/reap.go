package cluster

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// The environment variables by which the processes of a run are told from all others, and by which a run of the test
// binary knows that it is to be the reaper.
const (
	runVariable    = "MESHVET_E2E_RUN"    // the folder of the run; all processes that it starts inherit it
	reaperVariable = "MESHVET_E2E_REAPER" // the same, for the reaper only
)

// Reaper ends what a run left behind, however the run ended: a test that panics, a `go test` that runs into its timeout
// and a SIGKILL all orphan etcd and kube-apiserver, since no deferred call runs.
//
// It is the test binary itself, started once more. It waits for its standard input to end, which happens when the run is
// gone, then kills the processes that have the run's mark in their environment, and removes the run's folder.
type Reaper struct {
	// Folder is the folder of the run. TMPDIR points into it, so that what others leave there goes with it.
	Folder string

	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// Reap does the reaper's work and returns true if this process was started to be one. Programs that call StartReaper
// have to call it before anything else.
func Reap() bool {
	folder := os.Getenv(reaperVariable)
	if folder == "" {
		return false
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // ends when the run does
	for range 50 {
		if len(killMarked(folder)) == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond) // until the killed are gone, and for children born meanwhile
	}
	_ = os.RemoveAll(folder)
	return true
}

// StartReaper makes the folder of the run, marks this process's environment so that children inherit the mark, and
// starts the reaper.
func StartReaper() (*Reaper, error) {
	folder, err := os.MkdirTemp("", "meshvet-e2e-")
	if err != nil {
		return nil, fmt.Errorf("make the folder of the run: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	r := &Reaper{Folder: folder, cmd: exec.Command(self)} //nolint:noctx // it outlives all that could cancel it
	r.cmd.Env = append(os.Environ(), reaperVariable+"="+folder)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is not for it
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	temporary := filepath.Join(folder, "tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the run: %w", err)
	}
	for name, value := range map[string]string{runVariable: folder, "TMPDIR": temporary} {
		if err := os.Setenv(name, value); err != nil {
			return nil, fmt.Errorf("mark the run: %w", err)
		}
	}
	return r, nil
}

// Stop lets the reaper do its work now and waits for it. It returns how many processes had been left to it.
func (r *Reaper) Stop() (left int, err error) {
	left = len(marked(r.Folder))
	if err := r.stdin.Close(); err != nil {
		return left, fmt.Errorf("stop the reaper: %w", err)
	}
	if err := r.cmd.Wait(); err != nil {
		return left, fmt.Errorf("wait for the reaper: %w", err)
	}
	return left, nil
}

func killMarked(folder string) []int {
	pids := marked(folder)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return pids
}

// marked returns the living processes that inherited the mark of the run in folder. They are found in /proc; a system
// that has none has no reaper's work done.
func marked(folder string) []int {
	mark := []byte(runVariable + "=" + folder)
	entries, _ := filepath.Glob("/proc/[0-9]*/environ")
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		environment, err := os.ReadFile(entry) // empty for a process that has ended, denied for those of others
		if err != nil {
			continue
		}
		for variable := range bytes.SplitSeq(environment, []byte{0}) {
			if bytes.Equal(variable, mark) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
