package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// mostCredentials bounds what a credential plugin prints, in bytes.
	mostCredentials = 1 << 20
	// mostSaid and mostOfLine bound what is shown of what a plugin says, in lines and in bytes of each.
	mostSaid   = 50
	mostOfLine = 1000
	// pipesLeft is how long programs that a plugin has left behind may keep its output open.
	pipesLeft = 500 * time.Millisecond
)

// Login runs the credential plugin of a configuration, if it has one, and puts what that gives in its place. The plugin has so long; what it
// says on standard error is told line by line. The error says in one line why there are no credentials, or is that of ctx.
//
// client-go would run it too, but without a time limit or a context, with the terminal as its standard error, and would keep whatever it
// prints. A plugin is run once: what it gives has to be good for as long as a cluster is read.
func Login(ctx context.Context, cfg *rest.Config, timeout time.Duration, say func(line string)) error {
	e := cfg.ExecProvider
	switch {
	case e == nil:
		return nil
	case cfg.BearerToken != "", cfg.BearerTokenFile != "", cfg.Username != "", len(cfg.CertData) > 0, cfg.CertFile != "":
		cfg.ExecProvider = nil // what is given outranks what a plugin would give
		return nil
	}
	name := plain(filepath.Base(e.Command))
	status, err := runPlugin(ctx, cfg, timeout, func(line string) {
		if say != nil {
			say("credential plugin " + name + ": " + line)
		}
	})
	if err != nil {
		return &pluginError{name, err}
	}
	cfg.ExecProvider = nil
	cfg.BearerToken = status.Token
	if status.ClientCertificateData != "" {
		cfg.CertData, cfg.KeyData = []byte(status.ClientCertificateData), []byte(status.ClientKeyData)
	}
	return nil
}

// pluginError says why a plugin gave no credentials.
type pluginError struct {
	name  string
	cause error
}

func (e *pluginError) Error() string {
	return fmt.Sprintf("the credential plugin %s of the kubeconfig %s", e.name, e.cause)
}
func (e *pluginError) Unwrap() error { return e.cause }

func runPlugin(ctx context.Context, cfg *rest.Config, timeout time.Duration, say func(line string)) (*clientauthentication.ExecCredentialStatus, error) {
	e := cfg.ExecProvider
	if e.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode {
		return nil, errors.New("wants to ask for something (interactiveMode: Always), which it cannot here; log in first, or use another context")
	}
	if !supported(e.APIVersion) {
		return nil, fmt.Errorf("is of apiVersion %q, which is neither client.authentication.k8s.io/v1 nor v1beta1", plain(e.APIVersion))
	}
	info, err := execInfo(cfg)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	said := &lineWriter{say: say}
	printed := &boundedBuffer{most: mostCredentials, full: cancel}
	cmd := exec.CommandContext(limited, e.Command, e.Args...) //nolint:gosec // to run it is what the kubeconfig asks for
	cmd.Env = os.Environ()
	for _, v := range e.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Env = append(cmd.Env, "KUBERNETES_EXEC_INFO="+string(info))
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = printed, said, pipesLeft
	err = cmd.Run()
	said.flush()
	var start *exec.Error
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case printed.over:
		return nil, fmt.Errorf("prints more than %d MiB", mostCredentials>>20)
	case limited.Err() != nil:
		return nil, fmt.Errorf("did not end within %s (--request-timeout)", timeout)
	case errors.As(err, &start), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		hint := ""
		if e.InstallHint != "" {
			hint = ": " + plain(e.InstallHint)
		}
		return nil, fmt.Errorf("cannot be run: %s%s", plain(err.Error()), hint)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		last := ""
		if said.last != "" {
			last = ": " + said.last
		}
		return nil, fmt.Errorf("failed: %s%s", plain(err.Error()), last)
	}
	return pluginAnswer(printed.data.Bytes(), e.APIVersion)
}

func supported(apiVersion string) bool {
	return apiVersion == clientauthentication.SchemeGroupVersion.String() || apiVersion == clientauthentication.GroupName+"/v1beta1"
}

// execInfo is what a plugin is told. Both versions look the same.
func execInfo(cfg *rest.Config) ([]byte, error) {
	e := cfg.ExecProvider
	tell := clientauthentication.ExecCredential{TypeMeta: metav1.TypeMeta{APIVersion: e.APIVersion, Kind: "ExecCredential"}}
	if e.ProvideClusterInfo {
		c, err := rest.ConfigToExecCluster(cfg)
		if err != nil {
			return nil, fmt.Errorf("cannot be told of the cluster: %w", err)
		}
		tell.Spec.Cluster = &clientauthentication.Cluster{
			Server: c.Server, TLSServerName: c.TLSServerName, InsecureSkipTLSVerify: c.InsecureSkipTLSVerify,
			CertificateAuthorityData: c.CertificateAuthorityData, ProxyURL: c.ProxyURL, DisableCompression: c.DisableCompression,
			Config: runtime.RawExtension{Object: c.Config},
		}
	}
	info, err := json.Marshal(tell)
	if err != nil {
		return nil, fmt.Errorf("cannot be told of the cluster: %w", err)
	}
	return info, nil
}

// pluginAnswer reads what a plugin printed. Its text is not quoted, since it may hold a credential.
func pluginAnswer(text []byte, apiVersion string) (*clientauthentication.ExecCredentialStatus, error) {
	var got clientauthentication.ExecCredential
	switch err := json.Unmarshal(text, &got); {
	case err != nil:
		return nil, errors.New("does not print an ExecCredential: what it prints is not JSON of that form")
	case got.Kind != "ExecCredential" || got.APIVersion != apiVersion:
		return nil, fmt.Errorf("prints a %q of %q, not an ExecCredential of %s", plain(got.Kind), plain(got.APIVersion), apiVersion)
	case got.Status == nil, got.Status.Token == "" && got.Status.ClientCertificateData == "" && got.Status.ClientKeyData == "":
		return nil, errors.New("gives no credentials: no token, and no certificate with its key")
	case (got.Status.ClientCertificateData == "") != (got.Status.ClientKeyData == ""):
		return nil, errors.New("gives a certificate without its key, or a key without its certificate")
	}
	return got.Status, nil
}

// boundedBuffer keeps what is written, and calls full once that is more than so many bytes.
type boundedBuffer struct {
	data bytes.Buffer
	most int
	over bool
	full func()
}

// Write keeps p, if it is not too much.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.over || b.data.Len()+len(p) > b.most {
		b.over = true
		b.full()
		return len(p), nil
	}
	return b.data.Write(p)
}

// lineWriter says what is written line by line, without what a terminal would obey.
type lineWriter struct {
	mu   sync.Mutex
	say  func(line string)
	line []byte
	said int
	last string // that was said
}

// Write says each line that is complete.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range p {
		switch {
		case c == '\n':
			w.end()
		case len(w.line) < mostOfLine:
			w.line = append(w.line, c)
		}
	}
	return len(p), nil
}

func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

// end says the line, if anything is on it.
func (w *lineWriter) end() {
	line := plain(string(w.line))
	w.line = w.line[:0]
	if line == "" {
		return
	}
	w.last = line
	switch w.said++; {
	case w.said <= mostSaid:
		w.say(line)
	case w.said == mostSaid+1:
		w.say("… (it says more, which is left out)")
	}
}
