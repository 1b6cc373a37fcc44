package live

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/meshvet/meshvet/lint/object"
)

// userInDenial is how the API server's RBAC names who asked.
var userInDenial = regexp.MustCompile(`User "([^"]*)" cannot`)

// missing says which right is not there, and for whom.
func missing(k ReadKind, verb, ns string, err error) string {
	who := "there is no permission"
	if m := userInDenial.FindStringSubmatch(err.Error()); m != nil {
		who = fmt.Sprintf("user %q has no permission", object.Abridge(m[1]))
	}
	where := "in all namespaces"
	switch {
	case ns != "" && k.Resource == "namespaces":
		where = ns
	case ns != "":
		where = "in namespace " + ns
	case k.Resource == "namespaces":
		where = "of the cluster"
	}
	return fmt.Sprintf("%s to %s %s %s", who, verb, k, where)
}

// unreachable says why the API server cannot be asked, and what to do.
func (r *reader) unreachable(err error) error {
	return fmt.Errorf("the API server at %s cannot be asked: %w", r.Cluster.Host, &unreachableError{r.reason(err), err})
}

// unreachableError is an error in words for whoever ran the program.
type unreachableError struct {
	text  string
	cause error
}

func (e *unreachableError) Error() string { return e.text }
func (e *unreachableError) Unwrap() error { return e.cause }

// reason is what an error means to whoever ran the program.
func (r *reader) reason(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	var timeout net.Error
	var status apierrors.APIStatus
	var unasked *unaskedError
	if to, redirects := asRedirect(err); redirects {
		return to.Error()
	}
	var plugin *pluginError
	switch {
	case errors.As(err, &plugin):
		return plugin.Error()
	case errors.Is(err, errTooLarge):
		return errTooLarge.Error()
	case errors.Is(err, errTooManyParts):
		return errTooManyParts.Error()
	case errors.As(err, &unasked):
		return unasked.Error()
	case apierrors.IsUnauthorized(err):
		return "it does not accept the credentials" + r.expiredCertificate() + "; log in again, or name another context with --kube-context"
	case errors.Is(err, errEndless), errors.Is(err, errUnreadable):
		return err.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("it did not answer within %s (--request-timeout)", r.RequestTimeout)
	case errors.As(err, &dns):
		return fmt.Sprintf("there is no address for %s; is the cluster still there, and the network (VPN) up?", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there (connection refused); is the cluster up, and the context the right one?"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("its certificate has expired, or the clock is wrong (%s)", invalid.Error())
	case errors.As(err, &unknown):
		return "its certificate is signed by an authority that the kubeconfig does not name (certificate-authority)"
	case errors.As(err, &name), errors.As(err, &record):
		return plain(innermost(err).Error())
	case errors.As(err, &status):
		return fmt.Sprintf("it answered with status %d: %s", status.Status().Code, plain(status.Status().Message))
	}
	return plain(innermost(err).Error())
}

// plain is text of others in one line, without what a terminal would obey, and not longer than anybody reads.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' ' // control characters, such as line ends, and those that change the direction of writing
	}, text)
	return object.Abridge(strings.Join(strings.Fields(text), " "))
}

// expiredCertificate says of a client certificate that it has expired, which the API server does not.
func (r *reader) expiredCertificate() string {
	cfg, err := tlsCertificate(r)
	if err != nil || cfg == nil || time.Now().Before(cfg.NotAfter) {
		return ""
	}
	return ": the client certificate expired on " + cfg.NotAfter.UTC().Format(time.DateOnly)
}

func tlsCertificate(r *reader) (*x509.Certificate, error) {
	c := r.Cluster.TLSClientConfig
	pair := tls.Certificate{}
	var err error
	switch {
	case len(c.CertData) > 0 && len(c.KeyData) > 0:
		pair, err = tls.X509KeyPair(c.CertData, c.KeyData)
	case c.CertFile != "" && c.KeyFile != "":
		pair, err = tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	}
	if err != nil || len(pair.Certificate) == 0 {
		return nil, err
	}
	return x509.ParseCertificate(pair.Certificate[0])
}

// innermost drops what was being done from an error of net/http: the address is told anyway.
func innermost(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
