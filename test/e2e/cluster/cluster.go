package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
)

// startTimeout is how long etcd and the API server may take each. envtest's own 20 s are too few for two busy cores.
const startTimeout = 2 * time.Minute

// Cluster is a running API server.
type Cluster struct {
	Assets Assets
	// Folder is for files of the run; the reaper removes it.
	Folder string
	// Repository is the root folder of the repository.
	Repository string
	// Config is the administrator's, and Client speaks for the administrator.
	Config *rest.Config
	Client client.Client
	// Kubeconfig is the administrator's as a file.
	Kubeconfig string

	env    *envtest.Environment
	server *exec.Cmd // the API server that Restart started; nil while it is still envtest's
	args   []string  // of the API server
	audit  *auditLog
	mu     sync.Mutex
}

// Start starts etcd and an API server that knows Istio's kinds. The caller has to call Stop, and should have a Reaper,
// into whose folder all files go.
func Start(ctx context.Context, assets Assets, folder string) (*Cluster, error) {
	root, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Assets:     assets,
		Folder:     folder,
		Repository: root,
		Kubeconfig: filepath.Join(folder, "admin.kubeconfig"),
		audit:      &auditLog{path: filepath.Join(folder, "audit.log")},
	}
	crds, err := c.ModuleFolder(ctx, "istio.io/api")
	if err != nil {
		return nil, err
	}
	crlog.SetLogger(logr.Discard()) // controller-runtime asks for a logger, and has nothing to say here
	policy := filepath.Join(folder, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	c.env = &envtest.Environment{
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  time.Minute,
		CRDInstallOptions: envtest.CRDInstallOptions{
			Paths:              []string{filepath.Join(crds, "kubernetes", "customresourcedefinitions.gen.yaml")},
			ErrorIfPathMissing: true,
		},
	}
	server := c.env.ControlPlane.GetAPIServer()
	server.Path, c.env.ControlPlane.KubectlPath = assets.APIServer, assets.Kubectl
	c.env.ControlPlane.Etcd = new(envtest.Etcd)
	c.env.ControlPlane.Etcd.Path = assets.Etcd
	if server.CertDir, err = os.MkdirTemp(folder, "apiserver-"); err != nil {
		return nil, fmt.Errorf("make the API server's folder: %w", err)
	}
	logs, err := os.Create(filepath.Join(folder, "kube-apiserver.log"))
	if err != nil {
		return nil, fmt.Errorf("open the API server's log: %w", err)
	}
	server.Err = logs
	server.Configure().
		Set("service-cluster-ip-range", "10.0.0.0/16"). // the default has room for 254 Services
		Set("audit-log-path", c.audit.path).
		Set("audit-log-mode", "blocking"). // what has been answered is in the file
		Set("audit-policy-file", policy)

	if c.Config, err = c.env.Start(); err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	// Restart needs to know how envtest started it.
	if c.args, err = commandLine(c.serverPID()); err != nil {
		return nil, err
	}
	quiet := rest.CopyConfig(c.Config)
	quiet.WarningHandler = rest.NoWarnings{} // those that a test is about, it gets itself
	if c.Client, err = client.New(quiet, client.Options{}); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	if err := os.WriteFile(c.Kubeconfig, c.env.KubeConfig, 0o600); err != nil {
		return nil, fmt.Errorf("write the kubeconfig: %w", err)
	}
	return c, nil
}

// Stop ends the API server and etcd.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		_ = c.server.Process.Kill()
		_ = c.server.Wait()
	}
	if err := c.env.Stop(); err != nil {
		return fmt.Errorf("stop the API server and etcd: %w", err)
	}
	return nil
}

// KillAPIServer ends the API server with SIGKILL; etcd, and so all objects, stay. RestartAPIServer brings it back.
func (c *Cluster) KillAPIServer() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	pid := c.serverPID()
	if pid == 0 {
		return errors.New("kill the API server: it does not run")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the API server: %w", err)
	}
	if c.server != nil {
		_ = c.server.Wait()
	}
	return nil
}

// RestartAPIServer starts the API server as it was started first, at the same address, and returns when it answers.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = exec.Command(c.args[0], c.args[1:]...) //nolint:noctx // it lives until Stop
	c.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	logs, err := os.OpenFile(filepath.Join(c.Folder, "kube-apiserver.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open the API server's log: %w", err)
	}
	defer logs.Close() //nolint:errcheck // the child has its own
	c.server.Stderr = logs
	if err := c.server.Start(); err != nil {
		return fmt.Errorf("restart the API server: %w", err)
	}
	return Poll(ctx, startTimeout, "the API server answers again", func(ctx context.Context) error {
		return c.Client.Get(ctx, client.ObjectKey{Name: "default"}, new(corev1.Namespace))
	})
}

// serverPID returns the id of the API server's process, which envtest does not tell, or 0.
func (c *Cluster) serverPID() int {
	for _, pid := range marked(c.Folder) {
		if args, err := commandLine(pid); err == nil && args[0] == c.Assets.APIServer {
			return pid
		}
	}
	return 0
}

// ModuleFolder returns the folder of a Go module in the version that the repository's root module is built with, if it
// is among the requirements of that, else of this module.
func (c *Cluster) ModuleFolder(ctx context.Context, module string) (string, error) {
	for _, folder := range []string{c.Repository, filepath.Join(c.Repository, "test", "e2e")} {
		_, _ = output(ctx, folder, "go", "mod", "download", module)
		dir, err := output(ctx, folder, "go", "list", "-m", "-f", "{{.Dir}}", module)
		if err == nil && dir != "" {
			return dir, nil
		}
	}
	return "", fmt.Errorf("the module %s is not in the module cache", module)
}

// MakeNamespace creates a namespace, with labels given as name=value, and returns its name.
func (c *Cluster) MakeNamespace(ctx context.Context, name string, labels ...string) (string, error) {
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: make(map[string]string)}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		n.Labels[key] = value
	}
	if err := c.Client.Create(ctx, n); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("make the namespace %s: %w", name, err)
	}
	return name, nil
}

// InstallCRDs installs the CustomResourceDefinitions in the files and waits until they are served.
func (c *Cluster) InstallCRDs(files ...string) error {
	if _, err := envtest.InstallCRDs(c.Config, envtest.CRDInstallOptions{Paths: files, ErrorIfPathMissing: true}); err != nil {
		return fmt.Errorf("install CustomResourceDefinitions: %w", err)
	}
	return nil
}

// Poll calls done every 50 ms until it returns nil. After the timeout its last error is returned, with what was waited for.
func Poll(ctx context.Context, timeout time.Duration, what string, done func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last error
	for {
		err := done(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // an error because the time is up says less than the one before
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s until %s: %w", timeout, what, last)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// output runs a command in a folder and returns what it prints, without white space around.
func output(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}

// commandLine returns the arguments with which a process was started, its program first.
func commandLine(pid int) ([]string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil, fmt.Errorf("read the command line of process %d: %w", pid, err)
	}
	return strings.Split(strings.TrimRight(string(data), "\x00"), "\x00"), nil
}
