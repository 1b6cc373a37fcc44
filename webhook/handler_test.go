package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

const plainEntry = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: web}
spec:
  hosts: [api.example.com]
  ports: [{number: 443, name: tls, protocol: TLS}]`

// slowRule takes until it is told to go on, or for as long as its context lasts if patient is false.
func slowRule(patient bool, release <-chan struct{}) lint.Rule {
	return lint.Rule{
		Meta: lint.Meta{ID: "TT001", Name: "slow", Kinds: []object.Kind{object.ServiceEntry}, Severity: lint.Warning, Presets: []string{lint.Recommended}},
		Check: func(p *lint.Pass) error {
			if patient {
				<-release
				return nil
			}
			select {
			case <-release:
			case <-p.Context.Done():
			}
			return p.Context.Err()
		},
	}
}

// handlerWith answers with the given rules only.
func handlerWith(t *testing.T, config string, all ...lint.Rule) *Handler {
	t.Helper()
	h := testHandler(t, "", "")
	cfg, problems := lint.ReadConfig("config.yaml", []byte(config))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	rs, err := newRuleset(all, cfg, "test")
	if err != nil {
		t.Fatal(err)
	}
	h.use(rs)
	return h
}

func TestDeadline(t *testing.T) {
	for _, c := range []struct {
		config  string
		patient bool
		allowed bool
	}{
		{"version: 1", false, true},
		{"version: 1", true, true},
		{"webhook: {onError: deny}", true, false},
	} {
		t.Run(fmt.Sprintf("%s patient %v", c.config, c.patient), func(t *testing.T) {
			release := make(chan struct{})
			defer close(release)
			h := handlerWith(t, c.config, slowRule(c.patient, release))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			began := time.Now()
			r := h.Handle(ctx, requestOf(t, admissionv1.Create, nil, document(t, plainEntry)))
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("answered after %s", took)
			}
			if r.Allowed != c.allowed {
				t.Errorf("allowed %v, want %v", r.Allowed, c.allowed)
			}
			said := strings.Join(r.Warnings, "\n") + r.Result.Message
			if !strings.Contains(said, "could not judge") {
				t.Errorf("it does not say that it did not judge: %q", said)
			}
		})
	}
}

// TestMaxInFlight holds all slots and asks once more: the request waits for a slot, as long as there is time to use it.
func TestMaxInFlight(t *testing.T) {
	release := make(chan struct{})
	h := handlerWith(t, "webhook: {maxInFlight: 2}", slowRule(true, release))
	req := requestOf(t, admissionv1.Create, nil, document(t, plainEntry))
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() { h.Handle(t.Context(), req) })
	}
	for testutil.ToFloat64(h.metrics.inFlight) < 2 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	r := h.Handle(ctx, req)
	if ctx.Err() != nil {
		t.Error("it waited for a slot until there was no time left to use it")
	}
	if !r.Allowed || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "too many requests at once") {
		t.Errorf("a request without a slot: allowed %v, warnings %q", r.Allowed, r.Warnings)
	}
	if n := testutil.ToFloat64(h.metrics.shed.WithLabelValues("busy")); n != 1 {
		t.Errorf("%v requests were shed", n)
	}
	close(release)
	running.Wait()
	if r := h.Handle(t.Context(), req); len(r.Warnings) != 0 {
		t.Errorf("with free slots: %q", r.Warnings)
	}
	// A slot is given back when the judging has ended, which may be a little after the answer.
	for began := time.Now(); testutil.ToFloat64(h.metrics.inFlight) != 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%v slots are still held", testutil.ToFloat64(h.metrics.inFlight))
		}
	}
}

func TestBrokenRule(t *testing.T) {
	broken := slowRule(false, nil)
	broken.Check = func(*lint.Pass) error { panic("secret-of-the-object") }
	for config, allowed := range map[string]bool{"version: 1": true, "webhook: {onError: deny}": false} {
		var logged bytes.Buffer
		h := handlerWith(t, config, broken)
		h.log = funcr.New(func(prefix, args string) { fmt.Fprintln(&logged, prefix, args) }, funcr.Options{Verbosity: 9})
		r := h.Handle(t.Context(), requestOf(t, admissionv1.Create, nil, document(t, plainEntry)))
		if r.Allowed != allowed {
			t.Errorf("%s: allowed %v", config, r.Allowed)
		}
		if n := testutil.ToFloat64(h.metrics.ruleErrors.WithLabelValues("TT001")); n != 1 {
			t.Errorf("%s: %v errors of the rule", config, n)
		}
		if !strings.Contains(strings.Join(r.Warnings, " ")+r.Result.Message, "TT001") {
			t.Errorf("%s: the answer does not name the rule: %q %q", config, r.Warnings, r.Result.Message)
		}
	}
}

// TestMalformed sends what no API server would: it is answered as onError says, and never panics.
func TestMalformed(t *testing.T) {
	good, err := json.Marshal(document(t, plainEntry))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		op       admissionv1.Operation
		now, old string
	}{
		"no object":          {admissionv1.Create, "", ""},
		"null":               {admissionv1.Create, "null", ""},
		"not JSON":           {admissionv1.Create, "{", ""},
		"a list":             {admissionv1.Create, "[]", ""},
		"a number":           {admissionv1.Create, "1", ""},
		"another kind":       {admissionv1.Create, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`, ""},
		"no kind":            {admissionv1.Create, `{"metadata":{"name":"x"}}`, ""},
		"update without old": {admissionv1.Update, string(good), ""},
		"delete without old": {admissionv1.Delete, "", ""},
		"very deep":          {admissionv1.Create, `{"apiVersion":"networking.istio.io/v1","kind":"ServiceEntry","spec":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000) + `}`, ""},
		"connect":            {admissionv1.Connect, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for config, allowed := range map[string]bool{"": true, "webhook: {onError: deny}": false} {
				h := testHandler(t, config, "")
				req := requestOf(t, c.op, nil, document(t, plainEntry))
				req.Object.Raw, req.OldObject.Raw = []byte(c.now), []byte(c.old)
				r := h.Handle(t.Context(), req)
				if r.Allowed != allowed {
					t.Errorf("%q: allowed %v, %q %q", config, r.Allowed, r.Warnings, r.Result.Message)
				}
				if len(r.Warnings) == 0 && r.Result.Message == "" {
					t.Errorf("%q: it does not say why", config)
				}
			}
		})
	}
}

// TestHTTP talks to the handler as an API server does, and as one never would.
func TestHTTP(t *testing.T) {
	h := testHandler(t, "", "")
	hook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: h}, admission.StandaloneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(limited(hook, func(string) {}, func() bool { return false }))
	defer server.Close()
	request := requestOf(t, admissionv1.Create, nil, document(t, plainEntry)).AdmissionRequest
	review := admissionv1.AdmissionReview{Request: &request}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	good, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	post := func(body []byte) (*http.Response, admissionv1.AdmissionReview) {
		t.Helper()
		resp, err := http.Post(server.URL+"?timeout=5s", "application/json", bytes.NewReader(body)) //nolint:noctx // a test with a timeout of its own
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() //nolint:errcheck // it was only read
		var out admissionv1.AdmissionReview
		if resp.StatusCode == http.StatusOK {
			if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
				t.Fatal(err)
			}
		}
		return resp, out
	}
	if resp, out := post(good); resp.StatusCode != http.StatusOK || !out.Response.Allowed || out.Response.UID != "uid" || len(out.Response.Warnings) != 1 {
		t.Errorf("a good request: %s %+v", resp.Status, out.Response)
	}
	for name, body := range map[string][]byte{
		"empty": nil, "garbage": []byte("\x00\xff{{{"), "truncated": good[:len(good)/2], "empty object": []byte("{}"),
	} {
		if resp, out := post(body); resp.StatusCode == http.StatusOK && out.Response.Allowed && out.Response.UID == "uid" {
			t.Errorf("%s: was allowed", name)
		}
	}
	if resp, _ := post(make([]byte, mostBody+1)); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %s", resp.Status)
	}
	resp, err := http.Get(server.URL) //nolint:noctx // a test with a timeout of its own
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() //nolint:errcheck // it was only read
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %s", resp.Status)
	}
	if resp, out := post(good); resp.StatusCode != http.StatusOK || !out.Response.Allowed {
		t.Errorf("afterwards a good request: %s", resp.Status)
	}
}

// TestSlowClient sends the head of a request and nothing more: the server gives the connection up when the time is over.
func TestSlowClient(t *testing.T) {
	h := testHandler(t, "", "")
	hook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: h}, admission.StandaloneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	inner := limited(hook, func(string) {}, func() bool { return false })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()                                                                                                               //nolint:errcheck // the test is over
	fmt.Fprintf(conn, "POST /?timeout=200ms HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{") //nolint:errcheck // the answer shows it
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the server still waits for the rest of the request")
	}
}

// TestSlowClientsLeaveRoom has many clients that announce the largest body there may be and send a byte of it.
func TestSlowClientsLeaveRoom(t *testing.T) {
	h := testHandler(t, "", "")
	hook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: h}, admission.StandaloneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(limited(hook, func(string) {}, func() bool { return false }))
	t.Cleanup(server.Close) // once the connections below are closed
	for i := range 50 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() }) //nolint:errcheck // the test is over
		length := "Content-Length: " + strconv.Itoa(mostBody)
		if i%2 == 0 {
			length = "Transfer-Encoding: chunked"
		}
		fmt.Fprintf(conn, "POST /?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s\r\n\r\n1\r\n{", length) //nolint:errcheck // what is sent does not matter
	}
	time.Sleep(200 * time.Millisecond) // until all of them are being read
	good := requestOf(t, admissionv1.Create, nil, document(t, plainEntry))
	review := admissionv1.AdmissionReview{Request: &good.AdmissionRequest}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/?timeout=5s", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Response == nil || !answer.Response.Allowed || len(answer.Response.Warnings) == 0 {
		t.Errorf("%s: %+v (%v)", response.Status, answer.Response, err)
	}
}

// TestLargeRequestsTakeTurns sends more large requests than there is room for at a time.
func TestLargeRequestsTakeTurns(t *testing.T) {
	var inside atomic.Int64
	server := httptest.NewServer(limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if n := inside.Add(1); n > mostLarge {
			t.Errorf("%d at a time", n)
		}
		time.Sleep(20 * time.Millisecond)
		inside.Add(-1)
	}), func(reason string) { t.Error("shed:", reason) }, func() bool { return false }))
	defer server.Close()
	body := make([]byte, mostBody)
	var running sync.WaitGroup
	for range 12 {
		running.Go(func() {
			resp, err := http.Post(server.URL+"?timeout=30s", "application/json", bytes.NewReader(body)) //nolint:noctx // it has a timeout
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close() //nolint:errcheck // it is only read
			if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s (%v)", resp.Status, text, err)
			}
		})
	}
	running.Wait()
}

// TestSmallBesideLarge has large requests that stall in all the places there are for them, and a small one.
func TestSmallBesideLarge(t *testing.T) {
	hook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: testHandler(t, "", "")}, admission.StandaloneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(limited(hook, func(string) {}, func() bool { return false }))
	defer server.Close()
	for range 8 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		head := fmt.Sprintf("POST /?timeout=3s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", mostBody)
		go func() { _, _ = conn.Write(append([]byte(head), make([]byte, mostBody-1)...)) }()
	}
	time.Sleep(300 * time.Millisecond) // until as much of them is read as can be
	good := requestOf(t, admissionv1.Create, nil, document(t, plainEntry))
	review := admissionv1.AdmissionReview{Request: &good.AdmissionRequest}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	text, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(server.URL+"/?timeout=2s", "application/json", bytes.NewReader(text)) //nolint:noctx // it has a timeout
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it is only read
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Response == nil || len(answer.Response.Warnings) == 0 {
		t.Errorf("%s: %+v (%v)", resp.Status, answer.Response, err)
	}
}

func TestTimeout(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"": defaultTimeout, "timeout=3s": 3 * time.Second, "timeout=1h": mostTimeout, "timeout=-1s": defaultTimeout, "timeout=x": defaultTimeout,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/validate?"+query, nil)
		if got := timeoutOf(r); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

// TestNothingOfTheObjectIsLogged looks for a value of the object in all that is logged about its denial.
func TestNothingOfTheObjectIsLogged(t *testing.T) {
	var logged bytes.Buffer
	h := testHandler(t, "webhook: {actions: [{severities: [error, warning, info], action: deny}]}", "")
	h.log = funcr.New(func(prefix, args string) { fmt.Fprintln(&logged, prefix, args) }, funcr.Options{Verbosity: 9})
	r := h.Handle(t.Context(), requestOf(t, admissionv1.Create, nil, document(t, plainEntry)))
	if r.Allowed {
		t.Fatal("it was to be denied")
	}
	if !strings.Contains(logged.String(), "SE101") || strings.Contains(logged.String(), "api.example.com") {
		t.Errorf("the log has no line for the denial, or one that quotes the object:\n%s", logged.String())
	}
}
