package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestSuccession lets a CA come near its end, and checks at each step that the bundle of that moment trusts what any replica may still
// serve, since replicas learn of a new certificate some minutes late.
func TestSuccession(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "meshvet", Name: "certs"}
	made := (&rotation{namespace: "meshvet", secret: "certs", service: "meshvet", cert: "tls.crt", key: "tls.key"}).rotator(1)
	made.ExtKeyUsages = &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	start := time.Now()
	ca, err := made.CreateCACert(start, start.Add(caLifetime))
	if err != nil {
		t.Fatal(err)
	}
	cert, private, err := made.CreateCertPEM(ca, start, start.Add(caLifetime))
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Data:       map[string][]byte{caCertFile: ca.CertPEM, caKeyFile: ca.KeyPEM, "tls.crt": cert, "tls.key": private},
	}).Build()
	now := start
	s := &succession{client: c, reader: c, rotator: made, key: key, certFile: "tls.crt", keyFile: "tls.key", now: func() time.Time { return now }, log: logr.Discard()}

	served := map[string][]byte{"first": cert} // by replicas, the last one being the newest
	bundleAt := func(at time.Time) []byte {
		t.Helper()
		now = at
		if err := s.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		secret := &corev1.Secret{}
		if err := c.Get(context.Background(), key, secret); err != nil {
			t.Fatal(err)
		}
		if _, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"]); err != nil {
			t.Fatalf("at %s: %v", at, err)
		}
		served["newest"] = secret.Data["tls.crt"]
		return secret.Data[caCertFile]
	}
	trusted := func(bundle []byte, who string, at time.Time) bool {
		t.Helper()
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(bundle)
		block, _ := firstCertificate(served[who])
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "meshvet.meshvet.svc", CurrentTime: at})
		return err == nil
	}
	succeeds := start.Add(caLifetime - caRenewal + time.Hour)
	for _, at := range []struct {
		when         time.Time
		first, newer bool // whether the old and the new leaf are to be trusted, and whether they differ
	}{
		{start.Add(time.Hour), true, false},
		{succeeds.Add(-2 * time.Hour), true, false},
		{succeeds, true, true},
		{succeeds.Add(caCheck), true, true},
		{succeeds.Add(caOverlap - time.Hour), true, true},
		{succeeds.Add(caOverlap + 2*time.Hour), false, true},
		{succeeds.Add(caOverlap + 24*time.Hour), false, true},
	} {
		bundle := bundleAt(at.when)
		if got := trusted(bundle, "first", at.when); got != at.first {
			t.Errorf("after %s: the first certificate is trusted: %v", at.when.Sub(start), got)
		}
		if !trusted(bundle, "newest", at.when) {
			t.Errorf("after %s: the newest certificate is not trusted", at.when.Sub(start))
		}
		if got := string(served["newest"]) != string(cert); got != at.newer {
			t.Errorf("after %s: there is a newer certificate: %v", at.when.Sub(start), got)
		}
	}
}

// TestSuccessionOfNothing leaves a Secret alone that cert-controller has yet to fill, or that it has to replace.
func TestSuccessionOfNothing(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "not PEM": "x", "not a certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}, Data: map[string][]byte{caCertFile: []byte(text)}}
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(secret).Build()
		s := &succession{client: c, reader: c, key: client.ObjectKeyFromObject(secret), now: time.Now, log: logr.Discard()}
		if err := s.step(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNarrowed checks which requests get a field selector.
func TestNarrowed(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.RequestURI() }))
	defer server.Close()
	n := &narrowed{next: http.DefaultTransport, names: map[string]string{"secrets": "mine"}}
	for _, c := range []struct{ method, uri, want string }{
		{http.MethodGet, "/api/v1/namespaces/a/secrets?watch=true", "/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dmine&watch=true"},
		{http.MethodGet, "/api/v1/namespaces/a/secrets", "/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dmine"},
		{http.MethodGet, "/api/v1/namespaces/a/secrets/mine", "/api/v1/namespaces/a/secrets/mine"},
		{http.MethodPut, "/api/v1/namespaces/a/secrets", "/api/v1/namespaces/a/secrets"},
		{http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/a/leases", "/apis/coordination.k8s.io/v1/namespaces/a/leases"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.uri, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := n.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close() //nolint:errcheck // it was only read
		if asked != c.want {
			t.Errorf("%s %s asks for %s, want %s", c.method, c.uri, asked, c.want)
		}
	}
}
