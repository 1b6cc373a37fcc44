package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Path is where reviews are posted.
const Path = "/validate"

// TLSMode is where the certificate comes from.
type TLSMode string

// The modes. The first two are one to the server, which reads files; they differ in the chart.
const (
	CertManager TLSMode = "certManager" // from cert-manager
	Provided    TLSMode = "provided"    // from whoever installs the chart
	Rotate      TLSMode = "rotate"      // made and renewed by the server itself
)

// Options is what a server is told.
type Options struct {
	Rules      []lint.Rule
	ConfigFile string       // a .meshvet.yaml; "" = the defaults
	Cluster    *rest.Config // the API server
	Log        logr.Logger
	DocsURL    string // folder of the rules' pages
	Version    string

	Port          int
	HTTP2         bool
	TLSMinVersion uint16 // of crypto/tls; 0 = 1.2
	CertDir       string
	CertName      string
	KeyName       string
	TLSMode       TLSMode

	// Namespace and Pod are where the server runs; Pod may be "", and then there are no Events.
	Namespace, Pod string
	// Secret, Service and WebhookConfiguration are the names that Rotate needs.
	Secret, Service, WebhookConfiguration string

	MetricsAddress string // "0" = off
	HealthAddress  string // "0" = off
	PprofAddress   string // "" = off
	// ShutdownDelay is how long the server goes on answering after it has stopped being ready, so that no request is sent to a server
	// that is gone.
	ShutdownDelay time.Duration
	// MeshConfigMap is the name of the ConfigMap with Istio's mesh configuration, in the root namespace.
	MeshConfigMap string
}

// check says what is missing.
func (o *Options) check() error {
	if o.TLSMode != Rotate {
		return nil
	}
	for _, need := range [...]struct{ value, flag string }{
		{o.Namespace, "--namespace"}, {o.Secret, "--tls-secret"}, {o.Service, "--service"}, {o.WebhookConfiguration, "--webhook-configuration"},
	} {
		if need.value == "" {
			return fmt.Errorf("--tls-mode rotate needs %s", need.flag)
		}
	}
	return nil
}

// server is a running server.
type server struct {
	Options
	index    *Index
	watches  []*watch
	handler  *Handler
	metrics  *metrics
	cert     *certificate
	config   *reloader
	draining atomic.Bool
}

// Run serves until ctx ends, and then as long as ShutdownDelay and the requests in flight need.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	log.SetLogger(o.Log)
	klog.SetLogger(o.Log.WithName("client-go")) // or it writes lines that are no JSON
	s := &server{Options: o, metrics: newMetrics(), index: NewIndex(mesh.Settings{})}
	s.metrics.build.WithLabelValues(o.Version).Set(1)
	s.handler = &Handler{index: s.index, wording: Wording{DocsURL: o.DocsURL}, metrics: s.metrics, log: o.Log.WithName("admission")}

	mgr, err := s.manager()
	if err != nil {
		return fmt.Errorf("set up the server: %w", err)
	}
	s.config = &reloader{file: o.ConfigFile, rules: o.Rules, log: o.Log.WithName("config"), metrics: s.metrics, use: s.use, tell: s.teller(mgr)}
	if err := s.config.load(); err != nil {
		return err
	}
	cluster, err := newCluster(o.Cluster)
	if err != nil {
		return err
	}
	s.handler.namespace = cluster.namespace
	s.watches = newWatches(cluster, s.index, o.Log.WithName("index"), s.root(), o.MeshConfigMap)
	if err := s.metrics.register(crmetrics.Registry, newWatchCollector(s.index, s.watches)); err != nil {
		return err
	}
	if err := s.add(mgr); err != nil {
		return fmt.Errorf("set up the server: %w", err)
	}

	serve, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() {
		select {
		case <-serve.Done():
			return
		case <-ctx.Done():
		}
		s.draining.Store(true)
		o.Log.Info("shutting down: not ready any more, still answering", "for", o.ShutdownDelay.String())
		select {
		case <-serve.Done():
		case <-time.After(o.ShutdownDelay):
		}
		stop()
	}()
	if err := mgr.Start(serve); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// root is the namespace in which the mesh configuration is looked for.
func (s *server) root() string {
	rs := s.handler.rules.Load()
	return rootNamespace(&rs.config.Mesh)
}

// use takes over a configuration.
func (s *server) use(rs *ruleset) {
	s.handler.use(rs)
	s.index.Configure(rs.config.Mesh)
	for _, w := range s.watches {
		if w.Kind == object.ConfigMap {
			w.move(s.root())
		}
	}
}

// manager makes the manager with its HTTP servers. It caches nothing: the index has informers of its own.
func (s *server) manager() (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	s.cert = newCertificate(s.CertDir, s.CertName, s.KeyName, s.Log.WithName("certificate"), func(leaf *x509.Certificate) {
		s.metrics.expiry.Set(float64(leaf.NotAfter.Unix()))
	})
	forever := time.Duration(-1) // the requests in flight have deadlines of their own
	return manager.New(s.Cluster, manager.Options{
		Scheme:                  scheme,
		Logger:                  s.Log,
		Metrics:                 metricsserver.Options{BindAddress: s.MetricsAddress},
		HealthProbeBindAddress:  s.HealthAddress,
		PprofBindAddress:        s.PprofAddress,
		GracefulShutdownTimeout: &forever,
		WebhookServer: crwebhook.NewServer(crwebhook.Options{Port: s.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = max(s.TLSMinVersion, tls.VersionTLS12)
			c.GetCertificate = s.cert.get
			if !s.HTTP2 { // CVE-2023-44487 and its kin; the API server does without
				c.NextProtos = []string{"http/1.1"}
			}
		}}}),
	})
}

// add hands the manager what it runs.
func (s *server) add(mgr manager.Manager) error {
	for _, w := range s.watches {
		if err := mgr.Add(always(func(ctx context.Context) error { w.run(ctx); return nil })); err != nil {
			return err
		}
	}
	if err := mgr.Add(always(s.cert.run)); err != nil {
		return err
	}
	if err := mgr.Add(always(s.config.run)); err != nil {
		return err
	}
	if s.TLSMode == Rotate {
		r := &rotation{
			config: s.Cluster, namespace: s.Namespace, secret: s.Secret, service: s.Service, webhook: s.WebhookConfiguration,
			dir: s.CertDir, cert: s.CertName, key: s.KeyName, log: s.Log.WithName("rotation"),
		}
		if err := mgr.Add(always(r.run)); err != nil {
			return err
		}
	}
	hook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: s.handler}, admission.StandaloneOptions{Logger: s.Log.WithName("http")})
	if err != nil {
		return err
	}
	web := mgr.GetWebhookServer()
	web.Register(Path, limited(hook, func(reason string) { s.metrics.shed.WithLabelValues(reason).Inc() }, s.draining.Load))
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	started := web.StartedChecker()
	for name, check := range map[string]healthz.Checker{
		"index": func(*http.Request) error {
			for _, w := range s.watches {
				if !w.settled() {
					return fmt.Errorf("not in view yet: %s", describe(s.watches))
				}
			}
			return nil
		},
		"certificate": func(r *http.Request) error {
			if err := s.cert.check(time.Now()); err != nil {
				return err
			}
			return started(r)
		},
		"shutdown": func(*http.Request) error {
			if s.draining.Load() {
				return errors.New("shutting down")
			}
			return nil
		},
	} {
		if err := mgr.AddReadyzCheck(name, check); err != nil {
			return err
		}
	}
	return nil
}

// always is a runnable of every replica, whoever holds a Lease.
type always func(context.Context) error

// Start is part of manager.Runnable.
func (f always) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection is part of manager.LeaderElectionRunnable.
func (always) NeedLeaderElection() bool { return false }

// teller makes Events about the Pod that the server runs in.
func (s *server) teller(mgr manager.Manager) func(warning bool, reason, message string) {
	if s.Pod == "" || s.Namespace == "" {
		return func(bool, string, string) {}
	}
	recorder := mgr.GetEventRecorder("meshvet")
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Pod},
	}
	return func(warning bool, reason, message string) {
		kind := corev1.EventTypeNormal
		if warning {
			kind = corev1.EventTypeWarning
		}
		recorder.Eventf(pod, nil, kind, reason, "Reload", "%s", message)
	}
}
