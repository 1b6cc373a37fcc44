//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// console is the program on a pseudo-terminal.
type console struct {
	cmd    *exec.Cmd
	output strings.Builder
	from   *os.File
}

// onConsole starts the program with standard error, and with it standard output if that is not given, on a terminal.
func onConsole(t *testing.T, folder string, stdout io.Writer, env []string, args ...string) *console {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	terminal, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close() //nolint:errcheck // the program has its own
	t.Cleanup(func() { _ = terminal.Close() })
	c := &console{cmd: exec.CommandContext(t.Context(), self, args...), from: terminal}
	c.cmd.Dir = folder
	c.cmd.Env = append([]string{asProgram + "=1", "TERM=xterm", "HOME=" + folder, "NO_COLOR=1"}, env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	if stdout != nil {
		c.cmd.Stdout = stdout
	}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // so that Ctrl-C is a signal to it
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// until reads from the terminal until the text matches, or the program is gone.
func (c *console) until(t *testing.T, pattern string) bool {
	t.Helper()
	re := regexp.MustCompile(pattern)
	buf := make([]byte, 4096)
	if err := c.from.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for !re.MatchString(c.output.String()) {
		n, err := c.from.Read(buf)
		c.output.Write(buf[:n])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			t.Fatalf("no %q in %q", pattern, c.output.String())
		case err != nil: // EIO: the other side is closed
			return re.MatchString(c.output.String())
		}
	}
	return true
}

// wait reads what is left, and returns the exit code.
func (c *console) wait(t *testing.T) int {
	t.Helper()
	c.until(t, "^\x00$")
	var exit *exec.ExitError
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.cmd.ProcessState.ExitCode()
}

// screen is what is left to see of a terminal's output, line by line, for as much of its language as a meter uses.
func screen(output string) string {
	var lines []string
	for _, line := range strings.Split(strings.ReplaceAll(output, "\r\n", "\n"), "\n") {
		shown := ""
		for _, part := range strings.Split(line, "\r") {
			text, erases := strings.CutSuffix(part, "\x1b[K")
			switch {
			case strings.HasPrefix(part, "\x1b[K"):
				shown = strings.TrimPrefix(part, "\x1b[K")
			case erases:
				shown = text
			case part != "":
				shown = part + shown[min(len(part), len(shown)):]
			}
		}
		lines = append(lines, shown)
	}
	return strings.Join(lines, "\n")
}

// faulty writes a manifest of so many ServiceEntries, each with a fault.
func faulty(t *testing.T, folder string, n int) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: e%d, namespace: shop}
spec:
  hosts: [e%d.example.com]
  resolution: NONE
  location: MESH_EXTERNAL
  ports: [{number: 443, name: tls, protocol: TLS}, {number: 80, name: http, protocol: HTTP}]
`, i, i)
	}
	if err := os.WriteFile(filepath.Join(folder, "many.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// On a terminal a long run shows how far it is, and leaves nothing of that behind. Ctrl-C ends it with what was found.
func TestLongRunOnTerminal(t *testing.T) {
	for n := 8000; ; n *= 2 {
		folder := t.TempDir()
		faulty(t, folder, n)
		c := onConsole(t, folder, nil, nil, "lint", "--format", "compact", "-c", os.DevNull, "many.yaml")
		judging := c.until(t, `judging objects: [1-9][0-9]* of `)
		if _, err := c.from.Write([]byte{3}); err != nil && judging { // Ctrl-C
			t.Fatal(err)
		}
		code := c.wait(t)
		text := c.output.String()
		if strings.Contains(text, fmt.Sprintf("; %d objects judged", n)) && n < 100_000 {
			continue // it was over before it could be stopped
		}
		if !judging {
			t.Fatalf("nothing shows how far it is: %q", text)
		}
		seen := screen(text)
		if code != exitFailed || strings.Contains(seen, "judging objects:") || strings.Contains(seen, "reading files:") {
			t.Errorf("exit code %d, on the screen:\n%s", code, seen)
		}
		found := strings.Count(seen, "SE101")
		m := regexp.MustCompile(`problem: the run was stopped by a signal when (\d+) of (\d+) objects were judged`).FindStringSubmatch(seen)
		if len(m) < 3 || m[1] == "0" || m[2] != fmt.Sprint(n) || fmt.Sprint(found) != m[1] {
			t.Errorf("%d findings, %v, on the screen:\n%s", found, m, seen[max(0, len(seen)-2000):])
		}
		return
	}
}

// A run that waits shows that, unless nobody may be looking; a second signal ends it at once.
func TestProgressHidden(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env   []string
		args  []string
		shows bool
	}{
		"shown":    {shows: true},
		"quiet":    {args: []string{"--quiet"}},
		"CI":       {env: []string{"CI=true"}},
		"dumb":     {env: []string{"TERM=dumb"}},
		"no TERM":  {env: []string{"TERM="}},
		"no color": {args: []string{"--color=never"}, shows: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout strings.Builder
			p := onConsole(t, folder, &stdout, c.env, append([]string{"lint", "-c", os.DevNull, "pipe"}, c.args...)...)
			if c.shows {
				p.until(t, `\rreading files: 0 of 1\x1b\[K`)
			} else {
				time.Sleep(meterDelay + 3*meterPause)
			}
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			code := p.wait(t)
			if text := p.output.String(); code != exitFailed || strings.Contains(text, "reading files") != c.shows ||
				strings.TrimSpace(screen(text)) != "problem: the run was stopped by a signal while its input was read, so nothing was judged" {
				t.Errorf("exit code %d: %q", code, text)
			}
			if strings.ContainsAny(stdout.String(), "\r\x1b") {
				t.Errorf("%q on standard output", stdout.String())
			}
		})
	}
}

// Reading a cluster shows how many objects there are, and ends with Ctrl-C although the API server does not answer.
func TestProgressLive(t *testing.T) {
	folder := t.TempDir()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/v1":
			fmt.Fprint(w, `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "services", "kind": "Service"}, {"name": "namespaces", "kind": "Namespace"}]}`)
		case "/api/v1/namespaces":
			fmt.Fprint(w, `{"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": [{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}}]}`)
		case "/api/v1/services":
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
		}
	}))
	t.Cleanup(srv.Close)
	config := `{"apiVersion": "v1", "kind": "Config", "current-context": "prod", "clusters": [{"name": "c", "cluster": {"server": "` + srv.URL + `"}}],
"contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]}`
	if err := os.WriteFile(filepath.Join(folder, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c := onConsole(t, folder, nil, []string{"KUBECONFIG=config"}, "lint", "--live")
	c.until(t, `reading cluster prod: 1 object\x1b`)
	if _, err := c.from.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	code := c.wait(t)
	if seen := screen(c.output.String()); code != exitFailed || strings.Contains(seen, "reading cluster") || !strings.Contains(seen, "problem: the run was stopped by a signal while its input was read, so nothing was judged") {
		t.Errorf("exit code %d: %q", code, c.output.String())
	}
}

// Where standard error is no terminal, there is not a byte of progress.
func TestLongRunPiped(t *testing.T) {
	folder := t.TempDir()
	faulty(t, folder, 6000)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "lint", "--format", "compact", "-c", os.DevNull, "many.yaml")
	cmd.Dir = folder
	cmd.Env = []string{asProgram + "=1", "TERM=xterm", "HOME=" + folder}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFindings {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if time.Since(began) < meterDelay {
		t.Logf("the run took %s only", time.Since(began))
	}
	if stderr.Len() > 0 || strings.ContainsAny(stdout.String(), "\r\x1b") {
		t.Errorf("%q on standard error", stderr.String())
	}
}

// A fix that is stopped leaves the files as they are.
func TestLongRunFixing(t *testing.T) {
	folder := t.TempDir()
	faulty(t, folder, 8000)
	before, err := os.ReadFile(filepath.Join(folder, "many.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := onConsole(t, folder, nil, nil, "fix", "--unsafe", "-c", os.DevNull, "many.yaml")
	c.until(t, `judging objects: `)
	if _, err := c.from.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	code := c.wait(t)
	const want = "meshvet: the run was stopped by a signal before the fixes were worked out; nothing is written"
	if seen := strings.TrimSpace(screen(c.output.String())); code != exitFailed || seen != want && seen != "^C\n"+want {
		t.Errorf("exit code %d: %q", code, c.output.String())
	}
	after, err := os.ReadFile(filepath.Join(folder, "many.yaml"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the file has changed: %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
