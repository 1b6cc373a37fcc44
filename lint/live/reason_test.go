package live

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An API server that refuses a certificate does not say that it has expired; the kubeconfig does.
func TestExpiredCertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		end  time.Time
		want string
	}{
		"expired": {time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "it does not accept the credentials: the client certificate expired on 2026-03-01; log in again"},
		"valid":   {time.Now().Add(time.Hour), "it does not accept the credentials; log in again"},
	} {
		t.Run(name, func(t *testing.T) {
			template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bob"}, NotBefore: time.Unix(0, 0), NotAfter: c.end}
			der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
			if err != nil {
				t.Fatal(err)
			}
			private, err := x509.MarshalECPrivateKey(key)
			if err != nil {
				t.Fatal(err)
			}
			cfg := newServer(t, &apiServer{answer: func(w http.ResponseWriter, _ *http.Request) bool {
				deny(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
				return true
			}})
			cfg.CertData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
			cfg.KeyData = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})
			if _, err := Read(t.Context(), Options{Cluster: cfg}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
