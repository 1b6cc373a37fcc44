package live

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func execConfig(command string, args ...string) *clientcmdapi.ExecConfig {
	return &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: command, Args: args, InteractiveMode: clientcmdapi.IfAvailableExecInteractiveMode,
	}
}

// rank is 0 for what an administrator does, 1 for meshvet lint, 2 for what else meshvet does.
func rank(command string) int {
	switch {
	case strings.Contains(command, "meshvet lint"):
		return 1
	case strings.Contains(command, "meshvet "):
		return 2
	}
	return 0
}

// shell runs a command of the guide as a person does: kubectl as the administrator, meshvet as the user of the kubeconfig.
func shell(t *testing.T, folder, kubeconfig, command string) (code int, out string) {
	t.Helper()
	bin := t.TempDir()
	for name, target := range map[string]string{"meshvet": binary, "kubectl": server(t).Assets.Kubectl} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	if rank(command) == 0 {
		kubeconfig = server(t).Kubeconfig
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir(), "PATH="+bin+":"+os.Getenv("PATH"))
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}
