package agree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/agree"
	"github.com/meshvet/meshvet/test/prove/oracle"
	"github.com/meshvet/meshvet/test/prove/predictor"
)

const manifests = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: shop}
spec:
  hosts: [api.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 80, name: http, protocol: HTTP}, {number: 443, name: tls, protocol: TLS}, {number: 53, name: dns, protocol: UDP}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: shop}
spec:
  host: api.example.com
  trafficPolicy:
    connectionPool: {tcp: {maxConnections: 7, connectTimeout: 2s, idleTimeout: 90s}}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: api, namespace: shop}
spec:
  hosts: [api.example.com]
  http: [{route: [{destination: {host: api.example.com, port: {number: 80}}}], retries: {attempts: 3}, timeout: 4s}]
`

// panicking makes Istio panic.
const panicking = `---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: any, namespace: shop}
spec:
  hosts: ["*.wild.example.com"]
  location: MESH_EXTERNAL
  resolution: DYNAMIC_DNS
  ports: [{number: 80, name: http, protocol: HTTP}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: any, namespace: shop}
spec:
  host: "*.wild.example.com"
  trafficPolicy: {outlierDetection: {consecutive5xxErrors: 3}}
`

const (
	http = "outbound|80||api.example.com"
	tls  = "outbound|443||api.example.com"
)

func meshOf(t *testing.T, text string) *agree.Mesh {
	t.Helper()
	f, err := object.Load(t.Context(), "mesh.yaml", strings.NewReader(text), object.Limits{})
	if err != nil || len(f.Problems) > 0 {
		t.Fatal(err, f.Problems)
	}
	return &agree.Mesh{Name: "mesh.yaml", Objects: f.Objects, File: f}
}

var sidecar = []effective.Proxy{{Type: effective.Sidecar, Namespace: "shop"}}

// at follows field names and indexes into an answer, and panics where there is nothing.
func at(v any, path ...any) map[string]any {
	for _, step := range path {
		if i, isIndex := step.(int); isIndex {
			v = v.([]any)[i]
		} else {
			v = v.(map[string]any)[step.(string)]
		}
	}
	return v.(map[string]any)
}

func filter(a *predictor.Answer) map[string]any {
	return at(a.Listeners[tls], "filterChains", 0, "filters", 0, "typedConfig")
}

func route(a *predictor.Answer) map[string]any {
	return at(a.Routes[http], "virtualHosts", 0, "routes", 0, "route")
}

func TestAgreement(t *testing.T) {
	m := meshOf(t, manifests)
	out, err := agree.Compare(t.Context(), &predictor.Predictor{}, m, m.Proxies())
	if err != nil || len(out.Contradictions)+len(out.Died)+out.Panics > 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	// A sidecar and a gateway in shop and in default; routes are not compared for gateways.
	if out.Meshes != 1 || out.Proxies != 4 || out.Clusters != 8 || out.Filters != 4 || out.Routes != 2 || out.Leaves < 80 {
		t.Errorf("%+v", out)
	}
	for seed := range uint64(40) {
		m, err := agree.Random(seed)
		if err != nil {
			t.Fatal(err)
		}
		out, err := agree.Compare(t.Context(), &predictor.Predictor{}, m, m.Proxies())
		if err != nil || len(out.Contradictions) > 0 {
			t.Errorf("seed %d: %q, %v", seed, out.Contradictions, err)
		}
	}
}

// Each change of an answer is one contradiction, and named.
func TestContradictions(t *testing.T) {
	for name, test := range map[string]struct {
		more   string // manifests
		change func(*predictor.Answer)
		want   string
	}{
		"leaf changed": {"", func(a *predictor.Answer) { a.Clusters[tls]["connectTimeout"] = "3s" },
			tls + `: connect_timeout predicted "2s", compiled "3s"`},
		"leaf removed": {"", func(a *predictor.Answer) { delete(a.Clusters[tls], "connectTimeout") },
			tls + `: connect_timeout predicted "2s", compiled ""`},
		"leaf added": {"", func(a *predictor.Answer) { a.Clusters[tls]["maxRequestsPerConnection"] = 1 },
			tls + `: max_requests_per_connection predicted "", compiled "1"`},
		"empty message added": {"", func(a *predictor.Answer) { a.Clusters[tls]["outlierDetection"] = map[string]any{} },
			tls + `: outlier_detection predicted "", compiled "{}"`},
		"cluster missing": {"", func(a *predictor.Answer) { delete(a.Clusters, tls) },
			"cluster " + tls + " is predicted and not there"},
		"cluster too much": {"", func(a *predictor.Answer) { a.Clusters["outbound|81||api.example.com"] = a.Clusters[tls] },
			"cluster outbound|81||api.example.com is not predicted"},
		"cluster predicted absent": {"", func(a *predictor.Answer) { a.Clusters["outbound|53||api.example.com"] = a.Clusters[tls] },
			"cluster outbound|53||api.example.com is there; predicted: Istio compiles nothing for UDP ports"},
		"timeout of tcp_proxy changed": {"", func(a *predictor.Answer) { filter(a)["idleTimeout"] = "91s" },
			"listener " + tls + " to " + tls + `: idle_timeout predicted "90s", compiled "91s"`},
		"timeout of tcp_proxy removed": {"", func(a *predictor.Answer) { delete(filter(a), "idleTimeout") },
			"listener " + tls + " to " + tls + `: idle_timeout predicted "90s", compiled ""`},
		"timeout of tcp_proxy added": {"", func(a *predictor.Answer) { filter(a)["maxDownstreamConnectionDuration"] = "1s" },
			"listener " + tls + " to " + tls + `: max_downstream_connection_duration predicted "", compiled "1s"`},
		"retries": {"", func(a *predictor.Answer) { route(a)["retryPolicy"] = map[string]any{"numRetries": 2} },
			"routes to " + http + `: route.retry_policy predicted "3 retries, timeout 4s", compiled "2 retries, timeout 4s"`},
		"no retries": {"", func(a *predictor.Answer) { delete(route(a), "retryPolicy") },
			"routes to " + http + `: route.retry_policy predicted "3 retries, timeout 4s", compiled "0 retries, timeout 4s"`},
		"timeout of a route": {"", func(a *predictor.Answer) { route(a)["timeout"] = "0s" },
			"routes to " + http + `: route.retry_policy predicted "3 retries, timeout 4s", compiled "3 retries, timeout 0s"`},
		"panic of Istio's alone":   {"", func(a *predictor.Answer) { a.Panic = "nil in f" }, `Istio panics: "nil in f"; predicted: ""`},
		"panic of meshvet's alone": {panicking, func(a *predictor.Answer) { a.Panic = "" }, `Istio panics: ""; predicted: "outlierDetection for a DYNAMIC_DNS host`},
	} {
		t.Run(name, func(t *testing.T) {
			m := meshOf(t, manifests+test.more)
			change := func(_ *oracle.Job, a *predictor.Answer) error { test.change(a); return nil }
			out, err := agree.Compare(t.Context(), &predictor.Predictor{Change: change}, m, sidecar)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Contradictions) != 1 || !strings.HasPrefix(out.Contradictions[0], "mesh.yaml, sidecar in shop: "+test.want) {
				t.Errorf("%q, want %q", out.Contradictions, test.want)
			}
		})
	}
}

func TestAgreedPanic(t *testing.T) {
	out, err := agree.Compare(t.Context(), &predictor.Predictor{}, meshOf(t, manifests+panicking), sidecar)
	if err != nil || out.Panics != 1 || out.Proxies != 1 || out.Clusters != 0 || len(out.Contradictions) > 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// What Envoy never gets is no contradiction: the second cluster of a name, and those of an empty host.
func TestPassedOver(t *testing.T) {
	change := func(_ *oracle.Job, a *predictor.Answer) error {
		a.Clusters[tls+"#2"] = map[string]any{"name": tls}
		a.Clusters["outbound|80||"] = map[string]any{}
		a.Listeners["other"] = map[string]any{"typedConfig": map[string]any{"@type": "x.TcpProxy", "cluster": "BlackHoleCluster", "idleTimeout": "1s"}}
		return nil
	}
	out, err := agree.Compare(t.Context(), &predictor.Predictor{Change: change}, meshOf(t, manifests), sidecar)
	if err != nil || len(out.Contradictions) > 0 || out.Clusters != 2 {
		t.Errorf("%+v, %v", out, err)
	}
}

// No failure of the oracle passes for agreement.
func TestFailures(t *testing.T) {
	m := meshOf(t, manifests)
	refused := errors.New("refused")
	fail := func(err error) *predictor.Predictor {
		return &predictor.Predictor{Change: func(*oracle.Job, *predictor.Answer) error { return err }}
	}
	if _, err := agree.Compare(t.Context(), fail(refused), m, sidecar); !errors.Is(err, refused) || !strings.Contains(err.Error(), "mesh.yaml") {
		t.Errorf("got %v", err)
	}
	out, err := agree.Compare(t.Context(), fail(&oracle.DiedError{Job: "x"}), m, sidecar)
	if err != nil || !slices.Equal(out.Died, []string{"mesh.yaml, sidecar in shop"}) || out.Proxies != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	m.MeshConfig = "{"
	if _, err := agree.Compare(t.Context(), &predictor.Predictor{}, m, sidecar); err == nil || !strings.Contains(err.Error(), "meshConfig") {
		t.Errorf("got %v", err)
	}
}

func TestAdd(t *testing.T) {
	out := agree.Outcome{Meshes: 1, Proxies: 2, Clusters: 3, Filters: 4, Routes: 5, Leaves: 6, Panics: 7, Died: []string{"a"}, Contradictions: []string{"b"}}
	out.Add(out)
	if out.Meshes != 2 || out.Proxies != 4 || out.Clusters != 6 || out.Filters != 8 || out.Routes != 10 || out.Leaves != 12 || out.Panics != 14 ||
		len(out.Died) != 2 || len(out.Contradictions) != 2 {
		t.Errorf("%+v", out)
	}
}
