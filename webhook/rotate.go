package webhook

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/go-logr/logr"
	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// The times of a CA that the server makes itself.
const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 365 * 24 * time.Hour
	leafRenewal  = 90 * 24 * time.Hour // before its end
	// caRenewal is longer than the look-ahead at which cert-controller would replace a CA without keeping the old one.
	caRenewal = leafRenewal + 30*24*time.Hour
	// caOverlap is how long the old CA stays in the bundle beside the new one. A kubelet hands a changed Secret to its Pods within two
	// minutes or so, and certificates are read again within ten seconds of that.
	caOverlap = 24 * time.Hour
	caCheck   = time.Hour
	// clockSkew is how far in the past a certificate begins to be valid.
	clockSkew  = time.Hour
	caName     = "meshvet-ca"
	caCertFile = "ca.crt"
	caKeyFile  = "ca.key"
)

// rotation makes and renews the certificates in a Secret and puts the CA into the webhook configuration. Only the replica that holds the
// Lease does.
type rotation struct {
	config    *rest.Config
	namespace string
	secret    string
	service   string
	webhook   string // the ValidatingWebhookConfiguration
	dir       string // where the Secret is mounted
	cert, key string // names of files
	log       logr.Logger
}

// run rotates until ctx ends. It has a manager of its own, since losing a Lease ends a manager, and no server may stop answering because
// it lost one.
func (r *rotation) run(ctx context.Context) error {
	const pause = 5 * time.Second
	for attempt := 1; ctx.Err() == nil; attempt++ {
		if err := r.once(ctx, attempt); err != nil && ctx.Err() == nil {
			r.log.Error(err, "the rotation of certificates stopped; it starts again", "in", pause.String())
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

func (r *rotation) once(ctx context.Context, attempt int) error {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("set up the client: %w", err)
	}
	cfg := rest.CopyConfig(r.config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &narrowed{next: next, names: map[string]string{"secrets": r.secret, "validatingwebhookconfigurations": r.webhook}}
	})
	mgr, err := manager.New(cfg, manager.Options{
		Scheme:                  scheme,
		Logger:                  r.log,
		LeaderElection:          true,
		LeaderElectionID:        r.secret,
		LeaderElectionNamespace: r.namespace,
		// Whoever held the Lease stops writing before it is given back: manager.Start returns only then.
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return fmt.Errorf("set up the rotation of certificates: %w", err)
	}
	made := r.rotator(attempt)
	if err := rotator.AddRotator(mgr, made); err != nil {
		return fmt.Errorf("set up the rotation of certificates: %w", err)
	}
	succession := &succession{
		client: mgr.GetClient(), reader: mgr.GetAPIReader(), rotator: made, now: time.Now, log: r.log,
		key: types.NamespacedName{Namespace: r.namespace, Name: r.secret}, certFile: r.cert, keyFile: r.key,
	}
	if err := mgr.Add(succession); err != nil {
		return fmt.Errorf("set up the rotation of certificates: %w", err)
	}
	return mgr.Start(ctx)
}

func (r *rotation) rotator(attempt int) *rotator.CertRotator {
	host := r.service + "." + r.namespace + ".svc"
	return &rotator.CertRotator{
		SecretKey:              types.NamespacedName{Namespace: r.namespace, Name: r.secret},
		CertDir:                r.dir,
		CertName:               r.cert,
		KeyName:                r.key,
		CAName:                 caName,
		CAOrganization:         "meshvet",
		DNSName:                host,
		ExtraDNSNames:          []string{host + ".cluster.local", r.service + "." + r.namespace},
		IsReady:                make(chan struct{}),
		Webhooks:               []rotator.WebhookInfo{{Name: r.webhook, Type: rotator.Validating}},
		FieldOwner:             "meshvet",
		RequireLeaderElection:  true,
		CaCertDuration:         caLifetime,
		ServerCertDuration:     leafLifetime,
		LookaheadInterval:      leafRenewal,
		RotationCheckFrequency: caCheck,
		// A name may be used once in a process.
		ControllerName: fmt.Sprintf("meshvet-certificates-%d", attempt),
	}
}

// narrowed asks only for the object of a known name, of resources of which the server may read one. Authorization by resource name
// covers list and watch only with such a field selector, and cert-controller's cache sends none.
type narrowed struct {
	next  http.RoundTripper
	names map[string]string // by resource
}

// RoundTrip is part of http.RoundTripper.
func (n *narrowed) RoundTrip(req *http.Request) (*http.Response, error) {
	if name := n.names[path.Base(req.URL.Path)]; name != "" && req.Method == http.MethodGet {
		req = req.Clone(req.Context())
		query := req.URL.Query()
		query.Set("fieldSelector", fields.OneTermEqualSelector("metadata.name", name).String())
		req.URL.RawQuery = query.Encode()
	}
	return n.next.RoundTrip(req)
}

// succession replaces a CA before its end, so that no moment comes at which the API server does not trust what a replica serves: the new
// CA stands in the bundle first and signs from then on, the old one stays beside it until every replica serves a certificate of the new
// one. cert-controller, which does the rest, would put the new one in the place of the old one.
type succession struct {
	client            client.Writer
	reader            client.Reader
	rotator           *rotator.CertRotator
	key               types.NamespacedName
	certFile, keyFile string
	now               func() time.Time
	log               logr.Logger
}

// Start is part of manager.Runnable. By default a runnable needs the Lease.
func (s *succession) Start(ctx context.Context) error {
	ticker := time.NewTicker(caCheck)
	defer ticker.Stop()
	for {
		if err := s.step(ctx); err != nil {
			s.log.Error(err, "the CA could not be looked after; that is tried again", "in", caCheck.String())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// step does what is due.
func (s *succession) step(ctx context.Context) error {
	secret := &corev1.Secret{}
	if err := s.reader.Get(ctx, s.key, secret); err != nil {
		return fmt.Errorf("read Secret %s: %w", s.key, err)
	}
	bundle, rest := firstCertificate(secret.Data[caCertFile])
	if bundle == nil {
		return nil // cert-controller makes the first one
	}
	ca, err := x509.ParseCertificate(bundle.Bytes)
	if err != nil {
		return nil //nolint:nilerr // cert-controller replaces what it cannot read
	}
	now := s.now()
	older, _ := firstCertificate(rest)
	switch {
	case older != nil && now.Sub(ca.NotBefore) > caOverlap+clockSkew:
		secret.Data[caCertFile] = pem.EncodeToMemory(bundle)
		s.log.Info("the old CA leaves the bundle: every replica serves a certificate of the new one by now")
	case older == nil && now.Add(caRenewal).After(ca.NotAfter):
		next, err := s.rotator.CreateCACert(now.Add(-clockSkew), now.Add(caLifetime))
		if err != nil {
			return fmt.Errorf("make a CA: %w", err)
		}
		cert, key, err := s.rotator.CreateCertPEM(next, now.Add(-clockSkew), now.Add(leafLifetime))
		if err != nil {
			return fmt.Errorf("make a certificate: %w", err)
		}
		secret.Data[caCertFile] = append(append([]byte{}, next.CertPEM...), pem.EncodeToMemory(bundle)...)
		secret.Data[caKeyFile], secret.Data[s.certFile], secret.Data[s.keyFile] = next.KeyPEM, cert, key
		s.log.Info("a new CA takes over; the old one stays in the bundle", "for", caOverlap.String())
	default:
		return nil
	}
	if err := s.client.Update(ctx, secret); err != nil {
		return fmt.Errorf("write Secret %s: %w", s.key, err)
	}
	return nil
}

// firstCertificate returns the first PEM block and what follows it.
func firstCertificate(text []byte) (*pem.Block, []byte) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, nil
	}
	return block, rest
}
