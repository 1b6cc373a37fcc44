package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/test/e2e/cluster"
)

// Label is the label of namespaces that says which release reviews them; its value is the namespace of the release.
const Label = "e2e.meshvet.dev/release"

// Options say what is installed.
type Options struct {
	// Name of the release, and of the namespace that is made for it.
	Name string
	// Values for the chart, as YAML. They go over those that every release has here: provided certificates, one Pod,
	// and namespaces with Label only.
	Values string
	// Pods is how many are started, 1 if it is 0. The Deployment says the same.
	Pods int
	// Rotate has the server make its certificate itself (tls.mode rotate).
	Rotate bool
}

// Release is an installed chart.
type Release struct {
	Name, Namespace string
	// FullName is that of the Deployment, which is that of most objects.
	FullName string
	// Probe is a namespace that the release reviews, and that no test looks at.
	Probe string
	// CA is what signs the certificates. Leaf is the one that the Secret has; nil in the mode rotate.
	CA   *CA
	Leaf *Leaf
	// Secret is the name of the Secret with the certificate.
	Secret string
	// Service is what the API server talks to.
	Service *Service
	// Objects is what helm rendered, before anything was replaced.
	Objects []*unstructured.Unstructured

	test []*unstructured.Unstructured // what `helm test` makes

	cluster    *cluster.Cluster
	binary     string
	folder     string
	deployment *appsv1.Deployment

	mu   sync.Mutex
	pods []*Pod
}

// Binary builds the program from the repository, as `make build` does, and returns its path.
func Binary(ctx context.Context, c *cluster.Cluster) (string, error) {
	path := filepath.Join(c.Folder, "meshvet")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w -X main.version=e2e", "-o", path, "./cmd/meshvet")
	cmd.Dir = c.Repository
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build meshvet: %w: %s", err, out)
	}
	return path, nil
}

// values that every release has.
func (r *Release) values(pods int, rotate bool) (string, error) {
	v := map[string]any{
		"replicaCount": pods,
		"test":         map[string]any{"namespace": r.Probe},
		// With the kube-proxy of these tests a change of the endpoints takes less than a second.
		"shutdownDelaySeconds": 3,
		"webhook": map[string]any{
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{Label: r.Namespace}},
			// A review takes milliseconds, but two busy cores may take their time.
			"timeoutSeconds": 10,
		},
		"tls": map[string]any{
			"mode":     "provided",
			"provided": map[string]any{"secretName": r.Secret, "caBundle": string(r.CA.PEM)},
		},
	}
	if rotate {
		v["tls"] = map[string]any{"mode": "rotate"}
	}
	text, err := yaml.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("write the values: %w", err)
	}
	return string(text), nil
}

// Install renders the chart, applies it with kubectl, starts the Pods, and returns when the API server gets warnings from
// them. The caller has to call Uninstall, also after an error if the Release is not nil.
func Install(ctx context.Context, c *cluster.Cluster, binary string, o Options) (*Release, error) {
	pods := max(o.Pods, 1)
	r := &Release{
		Name: o.Name, Namespace: o.Name, Secret: o.Name + "-tls",
		cluster: c, binary: binary, folder: filepath.Join(c.Folder, "release-"+o.Name),
	}
	var err error
	if err = os.MkdirAll(r.folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the release: %w", err)
	}
	if r.CA, err = NewCA(); err != nil {
		return nil, err
	}
	// The restricted standard, since the chart says that its Pods meet it.
	if _, err := c.MakeNamespace(ctx, r.Namespace, "pod-security.kubernetes.io/enforce=restricted"); err != nil {
		return nil, err
	}
	if r.Probe, err = c.MakeNamespace(ctx, r.Namespace+"-probe", Label+"="+r.Namespace); err != nil {
		return nil, err
	}
	base, err := r.values(pods, o.Rotate)
	if err != nil {
		return nil, err
	}
	if r.Objects, r.test, err = Render(ctx, c, o.Name, r.Namespace, base, o.Values); err != nil {
		return nil, err
	}
	if r.Service, err = newService(ctx); err != nil {
		return nil, err
	}
	if err := r.apply(ctx); err != nil {
		return r, err
	}
	for range pods {
		if _, err := r.Start(ctx); err != nil {
			return r, err
		}
	}
	return r, r.Await(ctx, pods)
}

// apply applies what helm rendered, with the Service and the port replaced, and the certificate if it is provided.
func (r *Release) apply(ctx context.Context) error {
	deployment, err := ofKind(r.Objects, "Deployment")
	if err != nil {
		return err
	}
	r.deployment = new(appsv1.Deployment)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(deployment.Object, r.deployment); err != nil {
		return fmt.Errorf("read the Deployment: %w", err)
	}
	r.FullName = r.deployment.Name
	var apply []*unstructured.Unstructured
	service := ""
	for _, o := range r.Objects {
		o = o.DeepCopy()
		switch o.GetKind() {
		case "Service":
			service = o.GetName()
			o.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "ValidatingWebhookConfiguration":
			if err := r.redirect(o); err != nil {
				return err
			}
		}
		apply = append(apply, o)
	}
	if r.provides() {
		if r.Leaf, err = r.CA.Leaf(service+"."+r.Namespace+".svc", "localhost"); err != nil {
			return err
		}
		if err := r.PutCertificate(ctx, r.Leaf); err != nil {
			return err
		}
	}
	text, err := manifest(apply)
	if err != nil {
		return err
	}
	// Roles may be for a namespace that the mesh has and this cluster has not.
	if _, err := r.cluster.MakeNamespace(ctx, "istio-system"); err != nil {
		return err
	}
	said, err := r.cluster.Admin().Kubectl(ctx, text, "apply", "-f", "-")
	if err != nil {
		return err
	}
	if said.Refused() {
		return fmt.Errorf("apply the chart: %s", said)
	}
	if len(said.Warnings) > 0 {
		return fmt.Errorf("the API server warns of the chart: %s", said)
	}
	return nil
}

// redirect has the API server call the port where the Service listens.
func (r *Release) redirect(configuration *unstructured.Unstructured) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("read the ValidatingWebhookConfiguration: %w", err)
	}
	if len(webhooks) == 0 {
		return errors.New("the ValidatingWebhookConfiguration has no webhooks")
	}
	for _, w := range webhooks {
		w, ok := w.(map[string]any)
		if !ok {
			return errors.New("a webhook is no object")
		}
		if err := unstructured.SetNestedField(w, int64(r.Service.Port), "clientConfig", "service", "port"); err != nil {
			return fmt.Errorf("replace the port of the webhook: %w", err)
		}
	}
	if err := unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks"); err != nil {
		return fmt.Errorf("replace the port of the webhook: %w", err)
	}
	return nil
}

// provides tells whether a Pod mounts the Secret with the certificate of the tests.
func (r *Release) provides() bool {
	for i := range r.deployment.Spec.Template.Spec.Volumes {
		if s := r.deployment.Spec.Template.Spec.Volumes[i].Secret; s != nil && s.SecretName == r.Secret {
			return true
		}
	}
	return false
}

// PutCertificate writes the certificate into the Secret, from where it reaches the Pods after a while.
func (r *Release) PutCertificate(ctx context.Context, l *Leaf) error {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: r.Secret, Namespace: r.Namespace},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{"tls.crt": l.Cert, "tls.key": l.Key},
	}
	if r.Leaf == l { // the first one
		if err := r.cluster.Client.Create(ctx, s); err != nil {
			return fmt.Errorf("create the Secret with the certificate: %w", err)
		}
		return nil
	}
	if err := r.cluster.Client.Update(ctx, s); err != nil {
		return fmt.Errorf("update the Secret with the certificate: %w", err)
	}
	r.Leaf = l
	return nil
}

// Start starts a further Pod.
func (r *Release) Start(ctx context.Context) (*Pod, error) {
	p, err := r.startPod(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.pods = append(r.pods, p)
	r.mu.Unlock()
	r.Service.add(p)
	return p, nil
}

// Pods are those that were started, also those that have ended.
func (r *Release) Pods() []*Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*Pod(nil), r.pods...)
}

// Pod is the one that was started last.
func (r *Release) Pod() *Pod {
	pods := r.Pods()
	return pods[len(pods)-1]
}

// Await waits until the Service has that many endpoints and the API server gets answers from them.
func (r *Release) Await(ctx context.Context, pods int) error {
	err := cluster.Poll(ctx, time.Minute, fmt.Sprintf("%s has %d endpoints", r.Name, pods), func(ctx context.Context) error {
		for _, p := range r.Pods() {
			if !p.Alive() && !p.terminating.Load() {
				return fmt.Errorf("the process has ended with code %d", p.cmd.ProcessState.ExitCode())
			}
		}
		if n := r.Service.Endpoints(); n != pods {
			code, body, err := r.Pod().Get(ctx, r.Pod().HealthPort, r.Pod().probe.HTTPGet.Path+"?verbose=1")
			return fmt.Errorf("it has %d; readiness: %d %s %w", n, code, body, err)
		}
		return nil
	})
	if err != nil {
		return r.withLog(err)
	}
	// The API server learns of the configuration and of the Service through watches.
	var warnings WarningList
	config := rest.CopyConfig(r.cluster.Config)
	config.WarningHandler = &warnings
	user, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	objects, err := Objects(faulty)
	if err != nil {
		return err
	}
	err = cluster.Poll(ctx, time.Minute, "the API server gets answers from "+r.Name, func(ctx context.Context) error {
		_, err := user.Resource(ServiceEntries).Namespace(r.Probe).Create(ctx, objects[0], metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		said := warnings.Take()
		if apierrors.IsInvalid(err) || err == nil && len(said) > 0 { // refused by the webhook, or warned
			return nil
		}
		if err == nil {
			err = errors.New("no warning came")
		}
		return err
	})
	if err != nil {
		return r.withLog(err)
	}
	return nil
}

// withLog adds the end of the newest Pod's log to an error.
func (r *Release) withLog(err error) error {
	return fmt.Errorf("%w\nlog of %s:\n%s", err, r.Pod().Name, r.Pod().Tail(30))
}

// Tail returns the last lines of the log.
func (p *Pod) Tail(lines int) string {
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	all := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// Uninstall ends the Pods and removes what would go on to concern the API server.
func (r *Release) Uninstall(ctx context.Context) error {
	for _, p := range r.Pods() {
		if p.Alive() {
			p.Kill()
		}
	}
	if r.Service != nil {
		r.Service.stop()
	}
	var failed []error
	for _, o := range r.Objects {
		if strings.HasPrefix(o.GetKind(), "Validating") || strings.HasPrefix(o.GetKind(), "ClusterRole") {
			if err := r.cluster.Client.Delete(ctx, o.DeepCopy()); err != nil {
				failed = append(failed, fmt.Errorf("remove %s %s: %w", o.GetKind(), o.GetName(), err))
			}
		}
	}
	return errors.Join(failed...)
}

// Port is a port of this machine as an address.
func Port(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// faulty is a ServiceEntry that a recommended rule warns of.
const faulty = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: probe}
spec:
  exportTo: [.]
  hosts: [probe.example.com]
  location: MESH_EXTERNAL
  ports:
  - {number: 443, name: tls, protocol: TLS}
`
