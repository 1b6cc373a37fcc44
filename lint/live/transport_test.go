package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meshvet/meshvet/lint/object"
)

// A redirect would take the token to where it leads.
func TestReadRedirected(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	redirect := func(only string) *apiServer {
		return &apiServer{answer: func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, only) {
				return false
			}
			http.Redirect(w, r, other.URL+"/trap?a=b", http.StatusTemporaryRedirect)
			return true
		}}
	}
	want := "it redirects to " + other.URL + "/trap?a=b, which is not followed"
	cfg := newServer(t, redirect(""))
	cfg.BearerToken = "secret"
	if _, err := Read(t.Context(), Options{Cluster: cfg}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	cfg = newServer(t, redirect("/serviceentries"))
	cfg.BearerToken = "secret"
	if k := mustRead(t, Options{Cluster: cfg}).Of(object.ServiceEntry); k.Outcome != Failed || !strings.Contains(k.Reason, want) {
		t.Errorf("%s: %s", k.Outcome, k.Reason)
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

// An answer has an end, also if the server knows none.
func TestReadTooLarge(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1<<10)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	cfg := newServer(t, &apiServer{})
	for most, cut := range map[int64]bool{0: true, 10_000: true} {
		client, err := newClient(cfg, most)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Get(srv.URL) //nolint:noctx // the body ends by itself, which is the test
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		if errors.Is(err, errTooLarge) != cut || int64(len(data)) != most {
			t.Errorf("%d bytes: %d read, %v", most, len(data), err)
		}
		resp.Body.Close() //nolint:errcheck // it was only read
	}
	// What is exactly as large as is read is whole.
	whole, err := io.ReadAll(&boundedBody{ReadCloser: io.NopCloser(strings.NewReader("1234")), left: 4})
	if err != nil || string(whole) != "1234" {
		t.Errorf("%q, %v", whole, err)
	}
	r := &reader{}
	if got := r.reason(fmt.Errorf("unexpected error: %w", errTooLarge)); !strings.Contains(got, "larger than 64 MiB; --chunk-size") {
		t.Error(got)
	}
}

// What is small in an answer and large in memory is counted.
func TestReadTooManyParts(t *testing.T) {
	srv := &apiServer{answer: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/serviceentries") {
			return false
		}
		_, _ = io.WriteString(w, `{"kind": "ServiceEntryList", "apiVersion": "networking.istio.io/v1", "items": [`+strings.Repeat("{},", mostParts)+`{}]}`)
		return true
	}}
	k := mustRead(t, Options{Cluster: newServer(t, srv)}).Of(object.ServiceEntry)
	if k.Outcome != Failed || !strings.Contains(k.Reason, "its answer has more than 1000000 mappings and lists; --chunk-size") {
		t.Errorf("%s: %s", k.Outcome, k.Reason)
	}
}

// What is no list is not an empty one.
func TestReadUnasked(t *testing.T) {
	for body, want := range map[string]string{
		`{"kind": "Secret", "apiVersion": "v1", "data": {}}`:                                          "the API server answered with a Secret, not a list",
		`{"kind": "ServiceEntry", "apiVersion": "networking.istio.io/v1", "metadata": {}}`:            "the API server answered with a ServiceEntry, not a list",
		`{"kind": "EndpointsList", "apiVersion": "v1", "items": []}`:                                  "the API server answered with an EndpointsList, not a ServiceEntryList",
		`{"kind": "ServiceEntryList", "apiVersion": "evil.io/v1", "items": []}`:                       "with a ServiceEntryList of evil.io/v1, not one of networking.istio.io/v1",
		`{"kind": "\u001b[31m\n::error::", "apiVersion": "v1"}`:                                       "the API server answered with a [31m ::error::, not a list",
		`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500, "message": "a\nb"}`: "the API server answered with a Status, not a list",
	} {
		srv := &apiServer{answer: func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/serviceentries") {
				return false
			}
			writeText(w, body)
			return true
		}}
		if k := mustRead(t, Options{Cluster: newServer(t, srv)}).Of(object.ServiceEntry); k.Outcome != Failed || k.Complete() || !strings.Contains(k.Reason, want) {
			t.Errorf("%s: %s: %s; want %q", body, k.Outcome, k.Reason, want)
		}
	}
	srv := &apiServer{objects: map[string][]string{"istio-system/configmaps/istio": {`{"kind": "Secret", "apiVersion": "v1", "data": {}}`}}}
	if k := mustRead(t, Options{Cluster: newServer(t, srv)}).Of(object.ConfigMap); k.Outcome != Failed || k.Reason != "the API server answered with a Secret, not a ConfigMap" {
		t.Errorf("%s: %s", k.Outcome, k.Reason)
	}
}

// Objects that nobody asked for are counted like others.
func TestReadEndlessOthers(t *testing.T) {
	item := `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}`
	body := `{"kind": "ServiceEntryList", "apiVersion": "networking.istio.io/v1", "metadata": {"continue": "more"}, "items": [` +
		strings.Repeat(item+", ", 99) + item + `]}`
	var asked atomic.Int64
	srv := &apiServer{answer: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/serviceentries") {
			return false
		}
		asked.Add(1)
		writeText(w, body)
		return true
	}}
	k := mustRead(t, Options{Cluster: newServer(t, srv)}).Of(object.ServiceEntry)
	if k.Outcome != Failed || !strings.Contains(k.Reason, "lists more than 1000 objects that are not what was asked for") || asked.Load() != 11 {
		t.Errorf("%s: %s, %d pages", k.Outcome, k.Reason, asked.Load())
	}
}

// What a server says of its failure is one line that does nothing to a terminal.
func TestReadHostileErrors(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"status": func(w http.ResponseWriter) {
			deny(w, http.StatusInternalServerError, "InternalError", "first\n::error::second\r\x1b]0;t\a\u202ethird"+strings.Repeat("x", 100_000))
		},
		"text": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusInternalServerError)
			writeText(w, "first\n::error::second\r\x1b]0;t\a\u202ethird")
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := &apiServer{answer: func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/serviceentries") {
					return false
				}
				answer(w)
				return true
			}}
			k := mustRead(t, Options{Cluster: newServer(t, srv)}).Of(object.ServiceEntry)
			if k.Outcome != Failed || !strings.HasPrefix(k.Reason, "it answered with status 500: ") || !strings.Contains(k.Reason, "first") {
				t.Errorf("%s: %.300q", k.Outcome, k.Reason)
			}
			if strings.ContainsAny(k.Reason, "\n\r\x1b\a\u202e") || len(k.Reason) > 10_000 {
				quoted, _ := json.Marshal(k.Reason)
				t.Errorf("%.300s, %d bytes", quoted, len(k.Reason))
			}
		})
	}
}
