package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/test/e2e/release"
)

// memoryBound is the limit of the chart's Pods.
const memoryBound = 512 << 20

// TestHostileRequests sends what no API server would, straight at the port: it is answered or given up on, whoever behaves is answered all
// the while, the memory stays within bounds, and the process is the same afterwards.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	r := install(t, release.Options{Name: "attacked"})
	p := r.Pod()
	pid := p.PID()

	for _, test := range []struct {
		name, body, kind string
		status           int // 0 = any
	}{
		{name: "empty"},
		{name: "no JSON", body: "\x00\xff garbage \x16\x03\x01"},
		{name: "wrong media type", body: "a: b", kind: "application/yaml"},
		{name: "another object", body: `{"apiVersion":"v1","kind":"Pod"}`},
		{name: "no request", body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`},
		{name: "request is null", body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`},
		{name: "object is a string", body: review(t, `"x"`)},
		{name: "object is a list", body: review(t, `[]`)},
		{name: "object is empty", body: review(t, `{}`)},
		{name: "spec is a string", body: review(t, `{"apiVersion":"networking.istio.io/v1","kind":"ServiceEntry","metadata":{"name":"x"},"spec":"x"}`)},
		{name: "every type is wrong", body: review(t, `{"apiVersion":"networking.istio.io/v1","kind":"ServiceEntry","metadata":{"name":[],"annotations":7},"spec":{"hosts":{"a":1},"ports":"x","endpoints":[null,[],7]}}`)},
		{name: "deep", body: review(t, strings.Repeat(`{"spec":`, 5000)+"1"+strings.Repeat("}", 5000))},
		{name: "deeper than JSON may be", body: review(t, strings.Repeat("[", 100000)+strings.Repeat("]", 100000))},
		{name: "wide", body: review(t, `{"apiVersion":"networking.istio.io/v1","kind":"ServiceEntry","metadata":{"name":"x","namespace":"shop"},"spec":{"hosts":[`+
			strings.TrimSuffix(strings.Repeat(`"a.example.com",`, 100000), ",")+`],"ports":[{"number":443,"name":"tls","protocol":"TLS"}]}}`)},
		{name: "huge", body: `{"request":"` + strings.Repeat("x", 20<<20) + `"}`, status: http.StatusRequestEntityTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, _, err := post(t.Context(), p, strings.NewReader(test.body), test.kind)
			if err != nil && test.status == 0 {
				t.Errorf("it is not answered: %v", err)
			}
			// A server that does not read on may close before the client has sent all, and the client then sees no answer.
			if err == nil && test.status != 0 && status != test.status {
				t.Errorf("it is answered with %d", status)
			}
			answers(t, p)
		})
	}
	t.Run("other methods and paths", func(t *testing.T) {
		for _, what := range []string{"GET /validate", "PUT /validate", "DELETE /", "POST /validate/../../etc/passwd", "CONNECT /validate", "GET /metrics", "GET /debug/pprof/heap"} {
			conn := dial(t, p)
			_, _ = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", what)
			answer, _ := io.ReadAll(conn)
			if !bytes.HasPrefix(answer, []byte("HTTP/1.1 4")) && !bytes.HasPrefix(answer, []byte("HTTP/1.1 3")) {
				t.Errorf("%s is answered with %.80q", what, answer)
			}
		}
		answers(t, p)
	})
	t.Run("plain text on the port", func(t *testing.T) {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", release.Port(p.WebhookPort))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // nothing is expected of it
		noise := make([]byte, 1<<16)
		_, _ = rand.Read(noise)
		_, _ = conn.Write(noise)
		answers(t, p)
	})
	t.Run("truncated", func(t *testing.T) {
		body := review(t, `{}`)
		for range 200 {
			conn := dial(t, p)
			_, _ = fmt.Fprintf(conn, "POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:len(body)/2])
			_ = conn.Close()
		}
		answers(t, p)
	})
	t.Run("slow", func(t *testing.T) { slow(t, p) })

	if n, err := p.PeakMemory(); err != nil || n > memoryBound {
		t.Errorf("the process had %d MiB: %v", n>>20, err)
	} else {
		t.Logf("the process had at most %d MiB", n>>20)
	}
	if !p.Alive() || p.PID() != pid {
		t.Error("the process was restarted")
	}
	warns(t, apply(t, namespace(t, r), passthrough), "SE101")
}

// slow has many clients that send a byte now and then, some without a length and some with a large one: each would hold what a large request may
// take. Meanwhile whoever behaves is answered, and after a while the slow ones are given up on.
func slow(t *testing.T, p *release.Pod) {
	t.Helper()
	heads := []string{"Content-Length: 1000", "Content-Length: 7000000", "Transfer-Encoding: chunked"}
	const clients = 60
	ended := make(chan error, clients)
	var all sync.WaitGroup
	began := time.Now()
	for i := range clients {
		conn := dial(t, p)
		all.Go(func() {
			defer conn.Close() //nolint:errcheck // it is at its end
			head := heads[i%len(heads)]
			// ?timeout= is what an API server says that it waits.
			_, _ = fmt.Fprintf(conn, "POST /validate?timeout=5s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s\r\n\r\n", head)
			for time.Since(began) < time.Minute {
				drop := "{"
				if strings.HasPrefix(head, "Transfer") {
					drop = "1\r\n{\r\n"
				}
				if _, err := io.WriteString(conn, drop); err != nil {
					ended <- nil
					return
				}
				_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
				if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
					ended <- nil // it is answered
					return
				} else if e := net.Error(nil); !errors.As(err, &e) || !e.Timeout() {
					ended <- nil // it is closed
					return
				}
			}
			ended <- errors.New("a slow request was still served after a minute")
		})
	}
	time.Sleep(500 * time.Millisecond) // all of them are being read by now
	answers(t, p)
	all.Wait()
	close(ended)
	for err := range ended {
		if err != nil {
			t.Error(err)
			break
		}
	}
	t.Logf("the slow clients were rid of after %.1f s", time.Since(began).Seconds())
	answers(t, p)
}

// answers fails the test if a proper request is not judged within three seconds.
func answers(t *testing.T, p *release.Pod) {
	t.Helper()
	object, err := yaml.YAMLToJSON([]byte(strings.Replace(passthrough, "{name: payments}", "{name: payments, namespace: shop}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	status, body, err := post(ctx, p, strings.NewReader(review(t, string(object))), "")
	if err != nil {
		t.Errorf("a proper request is not answered: %v", err)
		return
	}
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK || answer.Response == nil {
		t.Errorf("a proper request is answered with %d %.200s (%v)", status, body, err)
		return
	}
	if !answer.Response.Allowed || len(answer.Response.Warnings) == 0 || !strings.HasPrefix(answer.Response.Warnings[0], "SE101 ") {
		t.Errorf("a proper request is answered with %+v", answer.Response)
	}
}

// review is a request to create an object, which is JSON.
func review(t *testing.T, object string) string {
	t.Helper()
	data, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       types.UID("705ab4f5-6393-11e8-b7cc-42010a800002"),
			Kind:      metav1.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "ServiceEntry"},
			Resource:  metav1.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "serviceentries"},
			Name:      "payments",
			Namespace: "shop",
			Operation: admissionv1.Create,
			Object:    runtime.RawExtension{Raw: []byte(`"OBJECT"`)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(data), `"OBJECT"`, object, 1)
}

var insecure = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
}}

// post sends a body to the webhook, with a media type if it is not JSON.
func post(ctx context.Context, p *release.Pod, body io.Reader, kind string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+release.Port(p.WebhookPort)+"/validate?timeout=5s", body)
	if err != nil {
		return 0, nil, fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	response, err := insecure.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// dial opens a TLS connection that is closed with the test.
func dial(t *testing.T, p *release.Pod) net.Conn {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}
	conn, err := dialer.DialContext(t.Context(), "tcp", release.Port(p.WebhookPort))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}
