package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// User is somebody with kubectl.
type User struct {
	Name   string // "" is the administrator
	Groups []string

	cluster *Cluster
}

// Admin is the user who may do everything.
func (c *Cluster) Admin() User { return User{cluster: c} }

// As is the user of that name and of the groups; both have to be given rights with RBAC.
func (c *Cluster) As(name string, groups ...string) User {
	return User{Name: name, Groups: groups, cluster: c}
}

// KubeconfigOf makes a user with a certificate and returns the kubeconfig of it.
func (c *Cluster) KubeconfigOf(name string, groups ...string) (string, error) {
	u, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return "", fmt.Errorf("make the user %s: %w", name, err)
	}
	text, err := u.KubeConfig()
	if err != nil {
		return "", fmt.Errorf("make the kubeconfig of %s: %w", name, err)
	}
	path := filepath.Join(c.Folder, name+".kubeconfig")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", name, err)
	}
	return path, nil
}

// Said is what kubectl did.
type Said struct {
	Stdout, Stderr string
	Code           int
	// Warnings are the lines that kubectl prints as `Warning: …`, without that word.
	Warnings []string
}

// Refused tells that kubectl failed.
func (s Said) Refused() bool { return s.Code != 0 }

func (s Said) String() string {
	return fmt.Sprintf("exit code %d\n%s%s", s.Code, s.Stdout, s.Stderr)
}

// Kubectl runs kubectl, with stdin for `-f -`. Only an inability to run it is an error; a refusal is in Said.
func (u User) Kubectl(ctx context.Context, stdin string, args ...string) (Said, error) {
	all := []string{"--kubeconfig=" + u.cluster.Kubeconfig, "--request-timeout=60s"}
	if u.Name != "" {
		all = append(all, "--as="+u.Name)
	}
	for _, g := range u.Groups {
		all = append(all, "--as-group="+g)
	}
	cmd := exec.CommandContext(ctx, u.cluster.Assets.Kubectl, append(all, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Dir = u.cluster.Folder
	// kubectl keeps what it discovered in $HOME/.kube.
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(u.cluster.Folder, "home"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() < 0) {
		return Said{}, fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.Bytes())
	}
	s := Said{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
	for line := range strings.Lines(s.Stderr) {
		if w, ok := strings.CutPrefix(line, "Warning: "); ok {
			s.Warnings = append(s.Warnings, strings.TrimSuffix(w, "\n"))
		}
	}
	return s, nil
}
