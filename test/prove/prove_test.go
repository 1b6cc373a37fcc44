package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/proof"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// standIn compiles a DestinationRule in a manner of its own: its cluster carries the pool, and what the objects are told to say.
type standIn struct{}

func (standIn) Version() string { return "v0" }

func (standIn) Compile(_ context.Context, job *oracle.Job) (*oracle.Result, error) {
	res := &oracle.Result{CDS: map[string]json.RawMessage{}, LDS: map[string]json.RawMessage{
		"l": json.RawMessage(`{"filter_chains": [{"filters": [{"typed_config": {"cluster": "c"}}]}]}`),
	}}
	retries, requests, connect := "4294967295", "4294967295", "10s"
	for decoder := json.NewDecoder(strings.NewReader(job.Objects)); decoder.More(); {
		var o struct {
			Metadata struct{ CreationTimestamp string }
			Spec     struct {
				TrafficPolicy struct {
					ConnectionPool struct {
						TCP  struct{ ConnectTimeout string }
						HTTP struct {
							MaxRetries      json.Number
							HTTP2MaxRequest json.Number `json:"http2MaxRequests"`
							Idle            string      `json:"idleTimeout"`
						}
					}
				}
			}
		}
		if err := decoder.Decode(&o); err != nil {
			return nil, err
		}
		pool := o.Spec.TrafficPolicy.ConnectionPool
		if n := pool.HTTP.MaxRetries; n != "" {
			retries = n.String()
		}
		if n := pool.HTTP.HTTP2MaxRequest; n != "" {
			requests = n.String()
		}
		if t := pool.TCP.ConnectTimeout; t != "" {
			connect = t
		}
		switch pool.HTTP.Idle {
		case "1s":
			res.Objects = []oracle.Review{{Object: "DestinationRule a/x", Error: "idle\ntoo short"}}
		case "2s":
			res.NACK = []string{"cluster c: broken"}
		case "3s":
			return &oracle.Result{Panic: "nil in f"}, nil
		case "4s":
			res.LDS["m"] = json.RawMessage(`{}`)
		}
	}
	res.CDS["c"] = json.RawMessage(`{"connect_timeout": "` + connect + `", "metadata": {"filter_metadata": {"istio": {"config": ` + string(mustJSON(retries+requests)) + `}}},
		"circuit_breakers": {"thresholds": [{"max_retries": ` + retries + `, "max_requests": ` + requests + `}]}}`)
	return res, nil
}

func mustJSON(v any) []byte {
	js, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return js
}

const rule = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: x, namespace: a}
spec:
  host: x.example.com
  trafficPolicy: {connectionPool: {POOL}}
`

// fixtures lays out a rule's folder: a bad file with one pool, the fixed one with another.
func fixtures(t *testing.T, bad, fixed, claims string) *prover {
	t.Helper()
	root := t.TempDir()
	folder := filepath.Join(root, "rules", "testdata", "x")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"bad.yaml": strings.Replace(rule, "POOL", bad, 1), "bad.fixed.yaml": strings.Replace(rule, "POOL", fixed, 1), proof.ClaimsName: claims,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &prover{oracle: standIn{}, root: root}
}

// proved runs a proof of one kind and returns what it says against it.
func proved(t *testing.T, p *prover, kind string) (*proof.Golden, string) {
	t.Helper()
	g, faults, err := p.prove(t.Context(), &lint.Rule{Meta: lint.Meta{ID: "DR1", Name: "x", Proof: lint.Proof{Kind: kind}}})
	if err != nil {
		return nil, err.Error()
	}
	return g, strings.Join(faults, "\n")
}

func TestKinds(t *testing.T) {
	const (
		retries = "http: {maxRetries: 3, http2MaxRequests: 9}"
		none    = "tcp: {connectTimeout: 1s}"
		cases   = "cases:\n- case: bad\n  proxy: {namespace: a, labels: {app: w}}\n"
		without = "  without: DestinationRule/x spec.trafficPolicy.connectionPool.http.maxRetries\n"
	)
	for name, test := range map[string]struct {
		bad, fixed, kind, claims string
		fault                    string // "" = proven
	}{
		"changes":           {retries, none, "changes", cases + "  changes: {cluster c: {connect_timeout: 10s -> 1s}}\n", ""},
		"not from that":     {retries, none, "changes", cases + "  changes: {cluster c: {connect_timeout: 2s -> 1s}}\n", "before, cluster c does not have connect_timeout: 2s but connect_timeout: 10s"},
		"not to that":       {retries, none, "changes", cases + "  changes: {cluster c: {connect_timeout: 10s -> 2s}}\n", "after, cluster c does not have connect_timeout: 2s"},
		"no such cluster":   {retries, none, "changes", cases + "  changes: {cluster d: present -> absent}\n", "before, cluster d does not have : present but absent"},
		"says nothing":      {retries, none, "changes", cases, "says too little"},
		"no arrow":          {retries, none, "changes", cases + "  changes: {cluster c: {connect_timeout: 1s}}\n", "BEFORE -> AFTER"},
		"other kind":        {retries, none, "ignored", cases + "  shows: {cluster c: present}\n", `metadata "ignored"`},
		"no case":           {retries, none, "changes", "", "neither among the cases nor under unproven"},
		"all unproven":      {retries, none, "changes", "unproven: {bad: why not}\n", "no case is of the rule's kind"},
		"unknown case":      {retries, none, "changes", cases + "  changes: {cluster c: {connect_timeout: 10s -> 1s}}\n- case: worse\n", "no bad fixture worse.yaml"},
		"unknown key":       {retries, none, "changes", cases + "  change: {}\n", `unknown field "change"`},
		"ignored":           {"http: {idleTimeout: 7s}", none, "ignored", cases + "  without: DestinationRule/x spec.trafficPolicy\n  shows: {cluster c: present}\n", ""},
		"not ignored":       {retries, none, "ignored", cases + without + "  shows: {cluster c: present}\n", "max_retries: 3 becomes 4294967295"},
		"not there":         {"http: {idleTimeout: 7s}", none, "ignored", cases + "  without: DestinationRule/x spec.trafficPolicy\n  shows: {cluster c: {max: 7}}\n", "does not show max: 7"},
		"inert":             {retries, none, "inert", cases + without + "  shows: {cluster c: {\"circuit_breakers.thresholds[*].max_retries\": 3}}\n", ""},
		"not inert":         {"tcp: {connectTimeout: 3s}", none, "inert", cases + "  without: DestinationRule/x spec.trafficPolicy.connectionPool.tcp\n  shows: {cluster c: present}\n", "connect_timeout is not inert"},
		"a listener too":    {"http: {idleTimeout: 4s}", none, "inert", cases + "  without: DestinationRule/x spec.trafficPolicy.connectionPool.http\n  shows: {cluster c: present}\n", "listener m changes too"},
		"nothing to remove": {retries, none, "inert", cases + "  without: DestinationRule/x spec.subsets\n  shows: {cluster c: present}\n", "has no spec.subsets"},
		"rejects":           {"http: {idleTimeout: 1s}", none, "rejects", cases + "  rejects: idle too\n", ""},
		"does not reject":   {retries, none, "rejects", cases + "  rejects: idle too\n", "no refusal"},
		"fixed is refused":  {"http: {idleTimeout: 1s}", "http: {idleTimeout: 1s}", "rejects", cases + "  rejects: idle\n", "what is fixed is refused too"},
		"nacks":             {"http: {idleTimeout: 2s}", none, "rejects", cases + "  nack: broken\n", ""},
		"does not nack":     {retries, none, "rejects", cases + "  nack: broken\n", "no break"},
		"panics":            {"http: {idleTimeout: 3s}", none, "panics", cases + "  panics: nil in\n", ""},
		"does not panic":    {retries, none, "panics", cases + "  panics: nil in\n", "no panic"},
		"fixed panics":      {"http: {idleTimeout: 3s}", "http: {idleTimeout: 3s}", "panics", cases + "  panics: nil in\n", "on the other side too"},
		"panics by mistake": {"http: {idleTimeout: 3s}", none, "changes", cases + "  changes: {cluster c: absent -> present}\n", "Istio panics"},
		"envoy":             {retries, none, "envoy", "says: It is so.\nsource: https://example.com\n" + cases + "  shows: {cluster c: {connect_timeout: 10s}}\n", ""},
		"envoy, no source":  {retries, none, "envoy", cases + "  shows: {cluster c: {connect_timeout: 10s}}\n", "names the source"},
		"input":             {retries, none, "input", "says: Istio never sees it.\n", ""},
		"input with cases":  {retries, none, "input", "says: Istio never sees it.\n" + cases, "has no cases"},
		"swapped":           {retries, none, "ignored", cases + "  against: swapped\n  shows: {cluster c: present}\n", ""},
		"against what":      {retries, none, "changes", cases + "  against: nothing\n  changes: {cluster c: {connect_timeout: 10s -> 1s}}\n", "not one of fixed, without, swapped"},
	} {
		t.Run(name, func(t *testing.T) {
			kind := test.kind
			if name == "other kind" {
				kind = "changes"
			}
			g, fault := proved(t, fixtures(t, test.bad, test.fixed, "kind: "+kind+"\n"+test.claims), test.kind)
			switch {
			case test.fault == "" && fault != "":
				t.Error(fault)
			case !strings.Contains(fault, test.fault):
				t.Errorf("%q is not in %q", test.fault, fault)
			case test.fault == "" && kind != "input" && len(g.Cases) != 1:
				t.Errorf("%+v", g)
			}
		})
	}
}

func TestGolden(t *testing.T) {
	p := fixtures(t, "http: {maxRetries: 3, idleTimeout: 4s}", "tcp: {connectTimeout: 1s}", `kind: changes
cases:
- case: bad
  note: What it is about.
  proxy: {type: router, namespace: a, labels: {b: c, a: b}, locality: r/z, dnsCapture: true}
  shows:
    cluster c: {"circuit_breakers.thresholds[0].max_requests": 4294967295}
  changes:
    cluster c: {connect_timeout: 10s -> 1s}
`)
	p.rules = []lint.Rule{{Meta: lint.Meta{ID: "DR1", Name: "x", Proof: lint.Proof{Kind: "changes"}}}}
	var out bytes.Buffer
	if err := p.proveAll(t.Context(), &out, nil, true); err != nil {
		t.Fatalf("%s: %s", err, out.String())
	}
	name := filepath.Join(p.root, "rules", "testdata", "x", proof.GoldenName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "\n\n")
	want := `bad.yaml, router in namespace a labelled a=b, b=c at r/z with DNS capture
  What it is about.
  cluster c
    circuit_breakers.thresholds[0].max_requests: 4294967295
-   circuit_breakers.thresholds[0].max_retries: 3
+   circuit_breakers.thresholds[0].max_retries: 4294967295
-   connect_timeout: 10s
+   connect_timeout: 1s
  listener m
-   present
`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	if err := p.proveAll(t.Context(), &out, []string{"x"}, false); err != nil {
		t.Errorf("the proof that was just written: %s", err)
	}
	if err := os.WriteFile(name, bytes.Replace(text, []byte("10s"), []byte("11s"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := p.proveAll(t.Context(), &out, nil, false); err == nil || !strings.Contains(out.String(), "11s") || !strings.Contains(out.String(), "make prove") {
		t.Errorf("a proof that says something else: %v\n%s", err, out.String())
	}
	if err := p.proveAll(t.Context(), &out, []string{"y"}, false); err == nil {
		t.Error("rule y was found")
	}
	out.Reset()
	if err := p.show(t.Context(), &out, "DR1", nil); err != nil || !strings.Contains(out.String(), "connect_timeout: 10s -> 1s") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestFamilies(t *testing.T) {
	all := resources{
		"listener 0.0.0.0_443": envoy.Leaves{"filter_chains[0].filters[0].typed_config.cluster": "outbound|443||a", "name": "outbound|1||a"},
		"listener 0.0.0.0_80":  envoy.Leaves{"default_filter_chain.filters[0].typed_config.weighted_clusters.clusters[0].name": "outbound|80||a"},
		"route 80":             envoy.Leaves{"virtual_hosts[0].routes[0].route.cluster": "outbound|80||a", "virtual_hosts[1].routes[0].route.weighted_clusters.clusters[1].name": "outbound|81||a"},
	}
	for cluster, want := range map[string]family{
		"outbound|443||a": l4, "outbound|443|v1|a": l4, "outbound|80||a": sniffed, "outbound|81||a": l7, "outbound|1||a": unused,
	} {
		if got := familyOf(all, cluster); got != want {
			t.Errorf("%s has %s, want %s", cluster, got, want)
		}
	}
	for _, row := range inertPaths() {
		path := strings.ReplaceAll(row.Path, "[*]", "[0]") + ".value"
		if !inert(path, l4) || inert(path, l7) || inert(path, sniffed) || !inert(path, unused) {
			t.Errorf("%s is not inert on L4 alone", path)
		}
	}
	if inert("circuit_breakers.thresholds[0].max_pending_requests", l4) {
		t.Error("max_pending_requests limits connections too")
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		path, pattern string
		want          bool
	}{
		{"a.b[0].c", "a.b[*].c", true},
		{"a.b[0].c", "a.b[*]", true},
		{"a.b[0].c", "a.b", true},
		{"a.b[0].c", "", true},
		{"a.b[10].c.d", "a.b[*].c", true},
		{"a.b[0].cd", "a.b[*].c", false},
		{"a.bc[0]", "a.b", false},
		{"a.b", "a.b[*]", false},
	} {
		if got := matches(test.path, test.pattern); got != test.want {
			t.Errorf("matches(%q, %q) = %t", test.path, test.pattern, got)
		}
	}
}
