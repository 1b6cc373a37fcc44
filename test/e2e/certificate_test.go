package e2e

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/meshvet/meshvet/test/e2e/release"
)

// TestRotate: in the mode rotate the server makes its certificate itself and tells the API server of its CA, with no more rights
// than the chart gives. A second replica serves the same certificate.
func TestRotate(t *testing.T) {
	t.Parallel()
	r := install(t, release.Options{Name: "rotating", Pods: 2, Rotate: true, Values: "webhook: {failurePolicy: Fail}\n"})
	ns := namespace(t, r)
	warns(t, apply(t, ns, passthrough), "SE101")
	c := server(t)

	bundle := func(ctx context.Context) ([]byte, error) {
		v := new(admissionregistrationv1.ValidatingWebhookConfiguration)
		if err := c.Client.Get(ctx, client.ObjectKey{Name: r.FullName}, v); err != nil {
			return nil, err
		}
		return v.Webhooks[0].ClientConfig.CABundle, nil
	}
	secret := func(ctx context.Context) (*corev1.Secret, error) {
		list := new(corev1.SecretList)
		if err := c.Client.List(ctx, list, client.InNamespace(r.Namespace)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if len(list.Items[i].Data["tls.crt"]) > 0 {
				return &list.Items[i], nil
			}
		}
		return nil, errors.New("no Secret has a certificate")
	}
	first, err := secret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old := parse(t, first.Data["tls.crt"])
	for _, p := range r.Pods() {
		if serial, err := served(t.Context(), p); err != nil || serial.Cmp(old.SerialNumber) != 0 {
			t.Errorf("%s serves %v (%v), the Secret has %s", p.Name, serial, err, old.SerialNumber)
		}
	}

	t.Run("a certificate that was lost is made again", func(t *testing.T) {
		// Whoever empties the Secret gets a new CA: the bundle has to follow, and until then creates are refused.
		first.Data = nil
		if err := c.Client.Update(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a new certificate is served, and the API server trusts it", func(ctx context.Context) error {
			now, err := secret(ctx)
			if err != nil {
				return err
			}
			leaf := parse(t, now.Data["tls.crt"])
			if leaf.SerialNumber.Cmp(old.SerialNumber) == 0 && bytes.Equal(leaf.Raw, old.Raw) {
				return errors.New("it is the old one")
			}
			for _, p := range r.Pods() {
				if serial, err := served(ctx, p); err != nil || serial.Cmp(leaf.SerialNumber) != 0 {
					return fmt.Errorf("%s serves %v: %w", p.Name, serial, err)
				}
			}
			ca, err := bundle(ctx)
			if err != nil {
				return err
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(ca)
			_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: r.FullName + "." + r.Namespace + ".svc"})
			return err
		})
		if err := r.Await(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a bundle that was lost is written again", func(t *testing.T) {
		s := kubectl(t, "", "patch", "validatingwebhookconfiguration", r.FullName, "--type=json", `-p=[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)
		if s.Refused() {
			t.Fatal(s)
		}
		eventually(t, "the bundle is back", func(ctx context.Context) error {
			ca, err := bundle(ctx)
			if err == nil && len(ca) == 0 {
				err = errors.New("it is empty")
			}
			return err
		})
		if err := r.Await(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	})
}

func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no certificate: %q", text)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
