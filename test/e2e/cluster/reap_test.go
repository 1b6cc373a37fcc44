package cluster

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if Reap() {
		return
	}
	if os.Getenv("CLUSTER_TEST_VICTIM") != "" {
		victim()
	}
	os.Exit(m.Run())
}

// victim is a run that starts a process which outlives it, says its id and the run's folder, and hangs.
func victim() {
	r, err := StartReaper()
	if err != nil {
		panic(err)
	}
	child := exec.Command("sleep", "600") //nolint:noctx // the point is that nothing ends it but the reaper
	if err := child.Start(); err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(strconv.Itoa(child.Process.Pid) + " " + r.Folder + "\n")
	select {}
}

// TestReaperOutlivesTheRun kills a run with SIGKILL, which leaves it no time for anything.
func TestReaperOutlivesTheRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), self)
	run.Env = append(os.Environ(), "CLUSTER_TEST_VICTIM=1")
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	id, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, err := strconv.Atoi(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the child of the run is not there: %v", err)
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(folder)
		if !alive(pid) && errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Errorf("10 s after its run the child is alive: %v, and its folder %s: %v", alive(pid), folder, exists(folder))
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// alive tells a running process from one that has ended and whom nobody has waited for yet.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
