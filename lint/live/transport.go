package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// mostBytes bounds one answer of the API server, unpacked. A page of 500 objects is rarely more than 5 MiB.
const mostBytes = 64 << 20

// mostParts bounds the mappings and lists in it: {} is two bytes in an answer and hundreds in memory. A page of 500 objects rarely has more
// than 100,000.
const mostParts = 1_000_000

var (
	errTooLarge     = fmt.Errorf("its answer is larger than %d MiB; --chunk-size asks for fewer objects at a time", mostBytes>>20)
	errTooManyParts = fmt.Errorf("its answer has more than %d mappings and lists; --chunk-size asks for fewer objects at a time", mostParts)
)

// newClient makes a client for an API server that may be hostile: it follows no redirect, since credentials would go to where that
// leads, and reads at most so many bytes of an answer.
func newClient(cfg *rest.Config, most int64) (*http.Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &boundedTransport{rt, most} })
	made, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	client := *made
	client.CheckRedirect = func(r *http.Request, _ []*http.Request) error { return &redirectError{to: r.URL} }
	return &client, nil
}

// redirectError is a redirect that is not followed.
type redirectError struct{ to *url.URL }

func (e *redirectError) Error() string {
	return fmt.Sprintf("it redirects to %s, which is not followed, since the credentials would go there; "+
		"let the kubeconfig name the API server itself", plain(e.to.Redacted()))
}

// boundedTransport gives the answers of another bodies that end with an error where they get too large.
type boundedTransport struct {
	next http.RoundTripper
	most int64
}

// RoundTrip asks, and bounds the answer.
func (t *boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil && resp.Body != nil {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: t.most}
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *boundedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

type boundedBody struct {
	io.ReadCloser
	left  int64
	parts int // so far
}

// Read reads up to the bound, and fails if there is more.
func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		b.left = 0
		return n, errTooLarge
	}
	b.left -= int64(n)
	if b.parts += bytes.Count(p[:n], []byte{'{'}) + bytes.Count(p[:n], []byte{'['}); b.parts > mostParts {
		return 0, errTooManyParts
	}
	return n, err
}

// asRedirect finds the redirect that an error is about.
func asRedirect(err error) (*redirectError, bool) {
	var to *redirectError
	return to, errors.As(err, &to)
}
