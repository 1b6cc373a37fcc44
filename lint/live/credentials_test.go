package live

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const execV1 = "client.authentication.k8s.io/v1"

// plugin is a kubeconfig's credential plugin that is a shell script.
func plugin(t *testing.T, script string) *clientcmdapi.ExecConfig {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	file := filepath.Join(t.TempDir(), "get-token")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return &clientcmdapi.ExecConfig{
		Command: file, Args: []string{"a b"}, Env: []clientcmdapi.ExecEnvVar{{Name: "WHO", Value: "bob"}},
		APIVersion: execV1, InteractiveMode: clientcmdapi.IfAvailableExecInteractiveMode, ProvideClusterInfo: true,
	}
}

// What a plugin gives is used for each request; what it says is shown in lines that do nothing to a terminal.
func TestLogin(t *testing.T) {
	for _, version := range []string{execV1, execV1 + "beta1"} {
		t.Run(version, func(t *testing.T) {
			srv := &apiServer{answer: func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Authorization") == "Bearer bob-a b" {
					return false
				}
				deny(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
				return true
			}}
			cfg := newServer(t, srv)
			cfg.ExecProvider = plugin(t, `printf 'open \033[31mhttps://login\n::error::x\rz\n' >&2
case "$KUBERNETES_EXEC_INFO" in *'"kind":"ExecCredential","apiVersion":"`+version+`"'*'"server":"`+cfg.Host+`"'*'"interactive":false'*) ;; *) echo "$KUBERNETES_EXEC_INFO" >&2; exit 1;; esac
echo '{"kind": "ExecCredential", "apiVersion": "`+version+`", "status": {"token": "'"$WHO-$1"'"}}'`)
			cfg.ExecProvider.APIVersion = version
			var said []string
			mustRead(t, Options{Cluster: cfg, Say: func(line string) { said = append(said, line) }})
			if diff := cmp.Diff([]string{"credential plugin get-token: open [31mhttps://login", "credential plugin get-token: ::error::x z"}, said); diff != "" {
				t.Error(diff)
			}
			if cfg.BearerToken != "" || cfg.ExecProvider == nil {
				t.Error("the configuration of the caller was changed")
			}
		})
	}
}

// A plugin that gives nothing of use is told, with what it said last, and never with what may be a credential.
func TestLoginFails(t *testing.T) {
	printing := func(json string) string { return "echo '" + json + "'" }
	for name, c := range map[string]struct {
		script, want string
		change       func(*clientcmdapi.ExecConfig)
	}{
		"exit code":   {"echo no session >&2\nprintf '\\033[1mrun login\\n' >&2\nexit 3", "failed: exit status 3: [1mrun login", nil},
		"never ends":  {"exec sleep 60", "did not end within 400ms (--request-timeout)", nil},
		"leaves one":  {"sleep 60 &\nexit 3", "failed: exit status 3", nil},
		"never stops": {"yes secret", "prints more than 1 MiB", nil},
		"no JSON":     {"echo secret", "does not print an ExecCredential", nil},
		"other kind":  {printing(`{"kind": "Secret", "apiVersion": "v1"}`), `prints a "Secret" of "v1", not an ExecCredential of ` + execV1, nil},
		"nothing":     {printing(`{"kind": "ExecCredential", "apiVersion": "` + execV1 + `", "status": {}}`), "gives no credentials", nil},
		"no key": {
			printing(`{"kind": "ExecCredential", "apiVersion": "` + execV1 + `", "status": {"clientCertificateData": "secret"}}`), "gives a certificate without its key", nil,
		},
		"not there": {"", "cannot be run: ", func(e *clientcmdapi.ExecConfig) { e.Command, e.InstallHint = "/no/get-token", "brew\ninstall it" }},
		"asks":      {"", "wants to ask for something", func(e *clientcmdapi.ExecConfig) { e.InteractiveMode = clientcmdapi.AlwaysExecInteractiveMode }},
		"version":   {"", `is of apiVersion "v7"`, func(e *clientcmdapi.ExecConfig) { e.APIVersion = "v7" }},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &rest.Config{Host: "http://127.0.0.1:1", ExecProvider: plugin(t, c.script)}
			if c.change != nil {
				c.change(cfg.ExecProvider)
			}
			timeout := 10 * time.Second
			if name == "never ends" {
				timeout = 400 * time.Millisecond
			}
			began := time.Now()
			_, err := Read(t.Context(), Options{Cluster: cfg, RequestTimeout: timeout})
			if err == nil || !strings.Contains(err.Error(), "cannot be asked: the credential plugin get-token of the kubeconfig "+c.want) {
				t.Fatalf("%v; want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "secret") || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q", err)
			}
			if name == "not there" && !strings.HasSuffix(err.Error(), ": brew install it") {
				t.Errorf("no hint: %v", err)
			}
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// The run ends when it is told to, also while a plugin does not.
func TestLoginStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := &rest.Config{Host: "http://127.0.0.1:1", ExecProvider: plugin(t, "echo waiting >&2\nsleep 60\necho")}
	began := time.Now()
	_, err := Read(ctx, Options{Cluster: cfg, Say: func(string) { cancel() }})
	if took := time.Since(began); !errors.Is(err, context.Canceled) || took > 8*time.Second {
		t.Errorf("%v after %s", err, took)
	}
}

// A plugin may give a certificate instead of a token.
func TestLoginCertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bob"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := json.Marshal(clientauthentication.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: execV1, Kind: "ExecCredential"},
		Status: &clientauthentication.ExecCredentialStatus{
			ClientCertificateData: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
			ClientKeyData:         string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	api := &apiServer{answer: func(w http.ResponseWriter, r *http.Request) bool {
		if certs := r.TLS.PeerCertificates; len(certs) == 1 && certs[0].Subject.CommonName == "bob" {
			return false
		}
		deny(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return true
	}}
	newServer(t, api) // fills in what it serves
	srv := httptest.NewUnstartedServer(api)
	srv.TLS = &tls.Config{ClientAuth: tls.RequestClientCert} //nolint:gosec // a test's server
	srv.StartTLS()
	t.Cleanup(srv.Close)
	cfg := &rest.Config{Host: srv.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	cfg.ExecProvider = plugin(t, "cat <<'END'\n"+string(answer)+"\nEND")
	mustRead(t, Options{Cluster: cfg})
}
