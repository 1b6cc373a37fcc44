package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A ServiceEntry for HTTPS traffic, and the head of a DestinationRule for it that lacks its trafficPolicy.
const (
	passthrough = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: payments}
spec:
  hosts: [api.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}]
---
`
	rule = `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: payments}
spec:
  host: api.example.com
  trafficPolicy: `
	apiCluster = "outbound|443||api.example.com"
)

func TestMain(m *testing.M) {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// answers runs jobs through the protocol.
func answers(t *testing.T, jobs ...*Job) []Result {
	t.Helper()
	var in bytes.Buffer
	for _, j := range jobs {
		if err := json.NewEncoder(&in).Encode(j); err != nil {
			t.Fatal(err)
		}
	}
	return served(t, in.String())
}

func served(t *testing.T, in string) []Result {
	t.Helper()
	var out bytes.Buffer
	if err := serve(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var all []Result
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var r Result
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestCompile(t *testing.T) {
	job := &Job{ID: "pool", Objects: passthrough + rule + `{connectionPool: {tcp: {maxConnections: 7}}}`, Proxy: Proxy{Namespace: "payments"}}
	job.Want = map[string]string{"cds": "^outbound", "lds": "_443$", "rds": "^80$"}
	got := answers(t, job)[0]
	if got.Error != "" || got.Panic != "" || len(got.NACK) > 0 || len(got.Objects) > 0 || got.ID != "pool" {
		t.Fatalf("%+v", got)
	}
	if len(got.CDS) != 1 || len(got.LDS) != 1 || len(got.RDS) > 0 || got.EDS != nil {
		t.Errorf("%d clusters, %d listeners, %d routes", len(got.CDS), len(got.LDS), len(got.RDS))
	}
	for what, in := range map[string]json.RawMessage{`"max_connections":7`: got.CDS[apiCluster], `"server_names":["api.example.com"]`: got.LDS["0.0.0.0_443"]} {
		if !strings.Contains(string(in), what) {
			t.Errorf("%s is not in %s", what, in)
		}
	}
}

func TestEverythingUnlessWanted(t *testing.T) {
	entry := strings.ReplaceAll(passthrough, "resolution: DNS", "resolution: STATIC\n  endpoints: [{address: 192.0.2.7, locality: r1/z1}]")
	got := answers(t, &Job{Objects: entry, Proxy: Proxy{Type: "sidecar", Locality: "r1/z1", DNSCapture: true}})[0]
	if len(got.CDS) < 2 || len(got.LDS) < 2 || !strings.Contains(string(got.EDS[apiCluster]), "192.0.2.7") {
		t.Errorf("%d clusters, %d listeners, endpoints %s", len(got.CDS), len(got.LDS), got.EDS[apiCluster])
	}
}

func TestServicesAndShortHosts(t *testing.T) {
	const objects = `
apiVersion: v1
kind: Service
metadata: {name: db, namespace: payments}
spec: {ports: [{name: tcp, port: 5432}]}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: db, namespace: payments}
spec: {host: db, trafficPolicy: {connectionPool: {tcp: {maxConnections: 7}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: payments}
`
	got := answers(t, &Job{Objects: objects, Domain: "lab.example.com"}, &Job{Objects: objects, Mesh: "outboundTrafficPolicy: {mode: REGISTRY_ONLY}"})
	for i, host := range []string{"db.payments.svc.lab.example.com", "db.payments.svc.cluster.local"} {
		if c := string(got[i].CDS["outbound|5432||"+host]); !strings.Contains(c, `"max_connections":7`) {
			t.Errorf("%s: %q, %s", host, c, got[i].Error)
		}
		if len(got[i].Objects) != 1 || !got[i].Objects[0].Ignored {
			t.Errorf("the Namespace is not said to be ignored: %+v", got[i].Objects)
		}
		if _, open := got[i].CDS["PassthroughCluster"]; !open {
			t.Error("no PassthroughCluster")
		}
	}
	if l := string(got[0].LDS["10.96.0.1_5432"]); !strings.Contains(l, "tcp_proxy") {
		t.Errorf("the Service was given no address: %s", l)
	}
}

func TestRouter(t *testing.T) {
	const objects = passthrough + `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: egress, namespace: payments}
spec:
  selector: {istio: egressgateway}
  servers: [{port: {number: 443, name: tls, protocol: TLS}, tls: {mode: PASSTHROUGH}, hosts: ["*"]}]
`
	got := answers(t, &Job{Objects: objects, Proxy: Proxy{Type: "router", Namespace: "payments"}})[0]
	if _, ok := got.CDS[apiCluster]; !ok || got.Error != "" || len(got.LDS) > 1 {
		t.Errorf("%+v", got)
	}
}

func TestIstioSays(t *testing.T) {
	for name, test := range map[string]struct {
		objects string
		said    func(Result) string
		want    string
	}{
		"a panic": {
			strings.ReplaceAll(strings.ReplaceAll(passthrough, "resolution: DNS", "resolution: DYNAMIC_DNS"), "[api.example.com]", `["*.example.com"]`) +
				strings.ReplaceAll(rule, "host: api.example.com", `host: "*.example.com"`) + `{outlierDetection: {consecutive5xxErrors: 5}}`,
			func(r Result) string { return r.Panic }, "nil pointer dereference in pilot/pkg/networking/core.",
		},
		"a break of Envoy's constraints": {
			passthrough + rule + `{retryBudget: {percent: 200}}`,
			func(r Result) string { return strings.Join(r.NACK, "\n") }, "cluster " + apiCluster + ": ",
		},
		"a refusal": {
			passthrough + rule + `{outlierDetection: {maxEjectionPercent: 101}}`,
			func(r Result) string { return r.Objects[0].Error }, "percentage 101 is not in range",
		},
		"a field that is not known": {
			passthrough + rule + `{outlierDetection: {maxEjection: 10}}`,
			func(r Result) string { return r.Objects[0].Unknown }, `unknown field "maxEjection"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := answers(t, &Job{Objects: test.objects})[0]
			if got.Error != "" {
				t.Fatal(got.Error)
			}
			if said := test.said(got); !strings.Contains(said, test.want) {
				t.Errorf("%q is not in %q", test.want, said)
			}
			if got.Panic != "" && got.CDS != nil {
				t.Error("a panic beside clusters")
			}
		})
	}
}

func TestBadJobs(t *testing.T) {
	long := `{"objects": "` + strings.Repeat("x", maxLine) + `"}`
	lines := []string{
		"no JSON", `{"object": "kind: Pod"}`, `{}`, `{"objects": "a", "proxy": {"type": "waypoint"}}`, `{"objects": "a", "want": {"xds": ""}}`,
		`{"objects": "a", "want": {"cds": "("}}`, `{"objects": "a: [", "id": "7"}`, `{"objects": "kind: Pod\napiVersion: v1", "mesh": "rootNamespace: {}"}`,
		`{"objects": "kind: ServiceEntry\napiVersion: networking.istio.io/v1\nspec: {hosts: 7}"}`, long,
	}
	want := []string{
		"not a job", `unknown field "object"`, "nothing to compile", "waypoint", "want.xds", "want.cds", "document 1", "mesh:",
		"ServiceEntry default/", "longer than 16 MiB",
	}
	got := served(t, strings.Join(lines, "\n")+"\n\n"+`{"id": "last", "objects": "kind: Pod\napiVersion: v1", "want": {}}`)
	if len(got) != len(want)+1 {
		t.Fatalf("%d answers", len(got))
	}
	for i, w := range want {
		if !strings.Contains(got[i].Error, w) {
			t.Errorf("%q is not in %q", w, got[i].Error)
		}
	}
	if last := got[len(want)]; last.ID != "last" || last.Error != "" {
		t.Errorf("after bad jobs: %+v", last)
	}
}

// A process answers any number of jobs: what one has needed is gone when the next begins.
func TestJobsLeaveNothingBehind(t *testing.T) {
	heap := func(jobs int) uint64 {
		for range jobs {
			if r := compile(&Job{Objects: passthrough, Want: map[string]string{"cds": ""}}); r.Error != "" {
				t.Fatal(r.Error)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	first := heap(20)
	if second := heap(60); second > first+10<<20 {
		t.Errorf("the heap grew from %d to %d MiB with 60 jobs", first>>20, second>>20)
	}
}

// Istio's order of filter chains varies; that of the answers does not. Manifests may be JSON, too.
func TestSameAnswerEachTime(t *testing.T) {
	var objects strings.Builder
	for _, name := range []string{"a", "b", "c", "d"} {
		fmt.Fprintf(&objects, `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": %q},
			"spec": {"hosts": [%q], "resolution": "DNS", "ports": [{"number": 443, "name": "tls", "protocol": "TLS"}]}}`+"\n", name, name+".example.com")
	}
	job := &Job{Objects: objects.String(), Want: map[string]string{"lds": "0_443$"}}
	first := compile(job)
	if len(first.LDS) != 1 || first.Error != "" {
		t.Fatalf("%+v", first)
	}
	for range 10 {
		a, b := listenerOf(t, first), listenerOf(t, compile(job))
		if !slices.Equal(a, b) {
			t.Fatalf("%s, then %s", a, b)
		}
	}
}

// listenerOf lists the names that the filter chains of the one listener match.
func listenerOf(t *testing.T, r *Result) []string {
	t.Helper()
	var l struct {
		Chains []struct {
			Match struct {
				Names []string `json:"server_names"`
			} `json:"filter_chain_match"`
		} `json:"filter_chains"`
	}
	if err := json.Unmarshal(r.LDS["0.0.0.0_443"], &l); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range l.Chains {
		out = append(out, c.Match.Names...)
	}
	if len(out) != 4 {
		t.Fatalf("names %s", out)
	}
	return out
}
