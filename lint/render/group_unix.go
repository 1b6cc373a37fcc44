//go:build unix

package render

import (
	"os/exec"
	"syscall"
)

// endsWhole makes the end of a program that of all that it has started, too.
func endsWhole(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
