package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/clientcmd"
)

// Pod is one process of a release.
type Pod struct {
	Name string
	// The ports that the process was given, all on this machine.
	WebhookPort, MetricsPort, HealthPort int
	// Log is the path of all that it printed.
	Log string

	cmd         *exec.Cmd
	probe       *corev1.Probe
	stopVolumes context.CancelFunc
	volumes     sync.WaitGroup
	terminating atomic.Bool
	ended       chan struct{}
}

// startPod does what the Deployment's controller and a kubelet do: it creates the Pod, which the API server holds
// against the Pod security standard of the namespace, makes its volumes, and starts its process. It does not wait for the process
// to be ready.
func (r *Release) startPod(ctx context.Context) (*Pod, error) {
	template := r.deployment.Spec.Template
	object := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	object.Name, object.Namespace = r.deployment.Name+"-"+rand.String(5), r.Namespace
	if err := r.cluster.Client.Create(ctx, object); err != nil {
		return nil, fmt.Errorf("create the Pod: %w", err)
	}
	p := &Pod{Name: object.Name, ended: make(chan struct{})}
	folder := filepath.Join(r.folder, p.Name)
	if err := os.MkdirAll(filepath.Join(folder, "work"), 0o700); err != nil {
		return nil, fmt.Errorf("make the Pod's folder: %w", err)
	}
	p.Log = filepath.Join(folder, "log")
	if len(object.Spec.Containers) != 1 {
		return nil, fmt.Errorf("the Pod has %d containers", len(object.Spec.Containers))
	}
	container := &object.Spec.Containers[0]
	if p.probe = container.ReadinessProbe; p.probe == nil || p.probe.HTTPGet == nil {
		return nil, errors.New("the container has no readiness probe over HTTP")
	}

	mounts, err := p.mount(ctx, r, object, container, filepath.Join(folder, "volumes"))
	if err != nil {
		return nil, err
	}
	args, err := p.arguments(container, mounts)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := r.impersonate(kubeconfig, object.Spec.ServiceAccountName); err != nil {
		return nil, err
	}
	env, err := environment(object, container)
	if err != nil {
		return nil, err
	}
	logs, err := os.Create(p.Log)
	if err != nil {
		return nil, fmt.Errorf("open the Pod's log: %w", err)
	}
	defer logs.Close()                                                          //nolint:errcheck // the child has its own
	p.cmd = exec.Command(r.binary, append(args, "--kubeconfig="+kubeconfig)...) //nolint:noctx // it ends with the Pod
	p.cmd.Dir = filepath.Join(folder, "work")
	p.cmd.Env = slices.Concat(env, r.marks())
	p.cmd.Stdout, p.cmd.Stderr = logs, logs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the Pod's process: %w", err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// marks are what a process has of the environment of the tests, by which the reaper knows it.
func (r *Release) marks() []string {
	var marks []string
	for _, name := range []string{"MESHVET_E2E_RUN", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			marks = append(marks, name+"="+value)
		}
	}
	return marks
}

// mount makes the volumes of the Pod and keeps them up to date. It returns the folder for each mountPath.
func (p *Pod) mount(ctx context.Context, r *Release, object *corev1.Pod, container *corev1.Container, folder string) (map[string]string, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.stopVolumes = cancel
	mounts := make(map[string]string)
	for i := range object.Spec.Volumes {
		v := &object.Spec.Volumes[i]
		at := filepath.Join(folder, v.Name)
		kept, err := newVolume(r.cluster.Client, at, r.Namespace, v)
		if err != nil {
			return nil, err
		}
		for _, m := range container.VolumeMounts {
			if m.Name != v.Name {
				continue
			}
			if m.SubPath != "" || m.SubPathExpr != "" {
				return nil, fmt.Errorf("the mount of %s has a subPath: kubelet never updates one", m.Name)
			}
			mounts[m.MountPath] = at
		}
		if kept == nil {
			continue
		}
		for waited := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			filled, err := kept.fill(ctx)
			if err != nil {
				return nil, err
			}
			if filled {
				break
			}
			if time.Since(waited) > 30*time.Second {
				return nil, fmt.Errorf("the object of the volume %s is not there", v.Name)
			}
		}
		p.volumes.Go(func() { kept.keep(running) })
	}
	return mounts, nil
}

// arguments are the container's, with ports that are free on this machine and the folders of the volumes.
func (p *Pod) arguments(container *corev1.Container, mounts map[string]string) ([]string, error) {
	if len(container.Command) > 0 {
		return nil, fmt.Errorf("the container has a command, %q, the tests know only its image's", container.Command)
	}
	args := slices.Clone(container.Args)
	for i, arg := range args {
		if strings.Contains(arg, "$(") {
			return nil, fmt.Errorf("the argument %s refers to a variable, which the tests do not expand", arg)
		}
		for path, folder := range mounts {
			flag, value, ok := strings.Cut(arg, "=")
			if rest, inside := strings.CutPrefix(value, path); ok && inside && (rest == "" || rest[0] == '/') {
				args[i] = flag + "=" + folder + rest
			}
		}
	}
	if folder, ok := mounts["/certs"]; ok && !hasFlag(args, "--webhook-cert-path") {
		args = append(args, "--webhook-cert-path="+folder) // it is the default
	}
	for flag, to := range map[string]struct {
		port   *int
		prefix string
	}{
		"--webhook-port":              {&p.WebhookPort, ""},
		"--metrics-bind-address":      {&p.MetricsPort, "127.0.0.1:"},
		"--health-probe-bind-address": {&p.HealthPort, "127.0.0.1:"},
	} {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		*to.port = port
		args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, flag+"=") })
		args = append(args, flag+"="+to.prefix+strconv.Itoa(port))
	}
	return args, nil
}

func hasFlag(args []string, flag string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, flag+"=") })
}

// FreePort returns a port that nobody listened on a moment ago.
func FreePort() (int, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", ":0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close() //nolint:errcheck // it carried nothing
	return portOf(l), nil
}

// environment is the container's, as kubelet fills it in.
func environment(pod *corev1.Pod, container *corev1.Container) ([]string, error) {
	if len(container.EnvFrom) > 0 {
		return nil, errors.New("the container has envFrom, of which the tests know nothing")
	}
	var env []string
	for _, e := range container.Env {
		value := e.Value
		switch from := e.ValueFrom; {
		case from == nil:
		case from.FieldRef != nil:
			fields := map[string]string{
				"metadata.name":           pod.Name,
				"metadata.namespace":      pod.Namespace,
				"metadata.uid":            string(pod.UID),
				"spec.serviceAccountName": pod.Spec.ServiceAccountName,
			}
			var known bool
			if value, known = fields[from.FieldRef.FieldPath]; !known {
				return nil, fmt.Errorf("the variable %s is of the field %s, which the tests do not know", e.Name, from.FieldRef.FieldPath)
			}
		case from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory":
			value = strconv.FormatInt(container.Resources.Limits.Memory().Value(), 10)
		default:
			return nil, fmt.Errorf("the variable %s is of a source that the tests do not know", e.Name)
		}
		env = append(env, e.Name+"="+value)
	}
	return env, nil
}

// impersonate writes a kubeconfig whose user is the administrator in the role of a ServiceAccount of the release.
func (r *Release) impersonate(path, account string) error {
	config, err := clientcmd.LoadFromFile(r.cluster.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + r.Namespace + ":" + account
		user.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + r.Namespace, "system:authenticated"}
	}
	for _, c := range config.Contexts {
		c.Namespace = r.Namespace
	}
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write the ServiceAccount's kubeconfig: %w", err)
	}
	return nil
}

// PID is the id of the process.
func (p *Pod) PID() int { return p.cmd.Process.Pid }

// Alive tells whether the process has not ended.
func (p *Pod) Alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Ready asks the readiness probe.
func (p *Pod) Ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	code, _, err := p.Get(ctx, p.HealthPort, p.probe.HTTPGet.Path)
	return err == nil && code == http.StatusOK
}

// Kill ends the process with SIGKILL and waits for that.
func (p *Pod) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	p.terminating.Store(true)
	p.stopVolumes()
	p.volumes.Wait()
}

// Terminate ends the process as kubelet does: the Pod leaves the endpoints (a moment later), the process is sent
// SIGTERM, and SIGKILL if it is not gone after the grace period. It returns the exit code, or an error if it had to be killed.
func (p *Pod) Terminate(grace time.Duration) (int, error) {
	p.terminating.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	defer func() {
		p.stopVolumes()
		p.volumes.Wait()
	}()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(grace):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return -1, fmt.Errorf("the process had not ended %s after SIGTERM", grace)
	}
}

// Memory is the resident set of the process in bytes.
func (p *Pod) Memory() (int64, error) {
	return p.status("VmRSS")
}

// PeakMemory is the largest resident set that the process has had, in bytes.
func (p *Pod) PeakMemory() (int64, error) {
	return p.status("VmHWM")
}

func (p *Pod) status(field string) (int64, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/status")
	if err != nil {
		return 0, fmt.Errorf("read the memory of the process: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && name == field {
			kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read the memory of the process: %w", err)
			}
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("the status of the process has no %s", field)
}

// Line is a line of the log: an object of JSON.
type Line map[string]any

// Lines reads the log. A line that is no JSON object is an error: logs are JSON from the first to the last line.
func (p *Pod) Lines() ([]Line, error) {
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
		data = data[:i+1] // what has no line end yet is being written
	}
	var lines []Line
	for text := range bytes.Lines(data) {
		var l Line
		if err := json.Unmarshal(text, &l); err != nil {
			return lines, fmt.Errorf("line %d of the log is no JSON object: %s", len(lines)+1, text)
		}
		lines = append(lines, l)
	}
	return lines, nil
}
