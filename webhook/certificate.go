package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// certificate is the certificate that is served: two files, read again whenever they change. Until they are there, connections are
// refused and the server is not ready, which is how it waits for cert-manager or for its own rotator.
type certificate struct {
	file, key string
	log       logr.Logger
	changed   func(*x509.Certificate)

	watcher atomic.Pointer[certwatcher.CertWatcher]
	leaf    atomic.Pointer[x509.Certificate]
}

func newCertificate(dir, file, key string, log logr.Logger, changed func(*x509.Certificate)) *certificate {
	return &certificate{file: filepath.Join(dir, file), key: filepath.Join(dir, key), log: log, changed: changed}
}

var errNoCertificate = errors.New("there is no certificate yet")

// get is tls.Config.GetCertificate.
func (c *certificate) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if w := c.watcher.Load(); w != nil {
		return w.GetCertificate(hello)
	}
	return nil, errNoCertificate
}

// run reads the files until ctx ends. Files that cannot be used leave the last good certificate in place.
func (c *certificate) run(ctx context.Context) error {
	const soon = time.Second
	told := ""
	for {
		w, err := certwatcher.New(c.file, c.key)
		if err == nil {
			w.RegisterCallback(c.loaded) // calls it at once
			c.watcher.Store(w)
			c.follow(ctx, w, certificatePoll)
			return nil
		}
		if err.Error() != told {
			told = err.Error()
			c.log.Info("waiting for the certificate", "reason", told)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(soon):
		}
	}
}

// certificatePoll is the time between two looks at files that cannot be watched. Those that can be are looked at as often, too.
const certificatePoll = 10 * time.Second

// follow reads the files again until ctx ends. They cannot be watched where the node is out of inotify watches, for example: that must not
// end a server that has a good certificate.
func (c *certificate) follow(ctx context.Context, w interface {
	Start(ctx context.Context) error
	ReadCertificate() error
}, every time.Duration,
) {
	err := w.Start(ctx)
	if ctx.Err() != nil {
		return
	}
	c.log.Error(err, "the certificate cannot be watched; it is read again now and then", "every", every.String())
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := w.ReadCertificate(); err != nil {
			c.log.Error(err, "the certificate cannot be read; the one before is served on")
		}
	}
}

// loaded notes a certificate that has just been read.
func (c *certificate) loaded(cert tls.Certificate) {
	leaf := cert.Leaf
	if leaf == nil {
		parsed, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil { // tls.X509KeyPair has parsed it before
			c.log.Error(err, "the certificate cannot be read", "file", c.file)
			return
		}
		leaf = parsed
	}
	if before := c.leaf.Swap(leaf); before != nil && before.Equal(leaf) {
		return
	}
	c.log.Info("certificate loaded", "serial", leaf.SerialNumber.String(), "notAfter", leaf.NotAfter, "dnsNames", leaf.DNSNames)
	c.changed(leaf)
}

// check says what is wrong with the certificate that is served.
func (c *certificate) check(now time.Time) error {
	leaf := c.leaf.Load()
	switch {
	case leaf == nil:
		return errNoCertificate
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("the certificate is valid from %s only", leaf.NotBefore.Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return fmt.Errorf("the certificate ended at %s", leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}
