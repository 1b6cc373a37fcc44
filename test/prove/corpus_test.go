package main

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/agree"
	"github.com/meshvet/meshvet/test/prove/oracle"
	"github.com/meshvet/meshvet/test/prove/predictor"
)

// Two ports of L4, and DR201 about the first: the second has a pool of its own.
const deadField = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: shop}
spec:
  hosts: [api.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  exportTo: ["."]
  ports: [{number: 443, name: tls, protocol: TLS}, {number: 8443, name: tls-admin, protocol: TLS}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: shop}
spec:
  host: api.example.com
  trafficPolicy:
    portLevelSettings:
    - port: {number: 443}
      connectionPool: {tcp: {maxConnections: 7}, http: {maxRetries: 3}}
    - port: {number: 8443}
      connectionPool: {tcp: {maxConnections: 7}}
`

// MX301: no host of this name.
const strayRule = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: shop}
spec:
  hosts: [api.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: stray, namespace: shop}
spec:
  host: stray.example.com
  trafficPolicy: {connectionPool: {tcp: {connectTimeout: 2s}}}
`

// DR211: a field that Istio does not read.
const deafField = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: shop}
spec:
  hosts: [api.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: shop}
spec:
  host: api.example.com
  trafficPolicy: {outlierDetection: {consecutiveErrors: 7, consecutive5xxErrors: 3, maxEjectionPercent: 100}}
`

// DR202: the entry drops connectTimeout, and the fix restates it.
const lostValue = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: shop}
spec:
  hosts: [api.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}, {number: 8443, name: tls-admin, protocol: TLS}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: shop}
spec:
  host: api.example.com
  trafficPolicy:
    connectionPool: {tcp: {connectTimeout: 2s}}
    portLevelSettings:
    - port: {number: 8443}
      loadBalancer: {simple: ROUND_ROBIN}
`

// DR208: Istio panics, and the fix takes the cause away.
const panicking = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: shop}
spec:
  hosts: ["*.wild.example.com"]
  location: MESH_EXTERNAL
  resolution: DYNAMIC_DNS
  ports: [{number: 80, name: http, protocol: HTTP}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: api, namespace: shop}
spec:
  host: "*.wild.example.com"
  trafficPolicy: {outlierDetection: {consecutive5xxErrors: 3}}
`

const (
	first  = "outbound|443||api.example.com"
	second = "outbound|8443||api.example.com"
)

// changed says whether a job is the one after the field is removed or the fix applied, of each of the manifests above.
func changed(job *oracle.Job) bool {
	has := func(text string) bool { return strings.Contains(job.Objects, text) }
	switch {
	case has("8443") && has("ROUND_ROBIN"):
		return strings.Count(job.Objects, "connectTimeout") > 1
	case has("8443"):
		return !has("maxRetries")
	case has("DYNAMIC_DNS"):
		return !has("consecutive5xxErrors")
	case has("maxEjectionPercent"):
		return !has("consecutiveErrors")
	}
	return !has("stray.example.com")
}

func holder(t *testing.T) *prover {
	t.Helper()
	all, err := ruleSet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &prover{rules: all}
}

// held holds manifests for one sidecar against an oracle that predicts, but for a change to what comes after the removal or the fix.
func (p *prover) held(t *testing.T, manifests, namespace string, change func(*predictor.Answer)) *tally {
	t.Helper()
	f, err := object.Load(t.Context(), "x.yaml", strings.NewReader(manifests), object.Limits{})
	if err != nil || len(f.Problems) > 0 {
		t.Fatal(err, f.Problems)
	}
	p.oracle = &predictor.Predictor{Change: func(job *oracle.Job, a *predictor.Answer) error {
		if change != nil && changed(job) {
			change(a)
		}
		return nil
	}}
	result := newTally("x")
	m := &agree.Mesh{Name: "x.yaml", Objects: f.Objects, File: f}
	if err := p.hold(t.Context(), result, m, []effective.Proxy{{Type: effective.Sidecar, Namespace: namespace}}); err != nil {
		t.Fatal(err)
	}
	return result
}

// set changes a field of a cluster.
func set(cluster, field string, value any) func(*predictor.Answer) {
	return func(a *predictor.Answer) {
		if a.Clusters[cluster] == nil {
			panic("no cluster " + cluster)
		}
		a.Clusters[cluster][field] = value
	}
}

func thresholds(more map[string]any) map[string]any {
	out := map[string]any{"maxConnections": 7, "maxPendingRequests": 4294967295, "maxRequests": 4294967295, "maxRetries": 4294967295}
	maps.Copy(out, more)
	return map[string]any{"thresholds": []any{out}}
}

func TestClaims(t *testing.T) {
	p := holder(t)
	const inertField, wholeRule, ignoredField = "DR201 calls spec.trafficPolicy.portLevelSettings[0].connectionPool.http.maxRetries inert", "MX301 calls spec.host ignored", "DR211 calls spec.trafficPolicy.outlierDetection.consecutiveErrors ignored"
	const fixed = "the safe fix of DR202 at spec.trafficPolicy.portLevelSettings[0] changes cluster " + second
	for name, test := range map[string]struct {
		manifests string
		change    func(*predictor.Answer)
		want      []string // beginnings of the contradictions, in order; what a fix of DR201 does too is not among them
	}{
		"inert":                   {deadField, nil, nil},
		"inert, inside the table": {deadField, set(first, "circuitBreakers", thresholds(map[string]any{"maxRequests": 1})), nil},
		"inert, options of HTTP": {deadField, set(first, "typedExtensionProtocolOptions", map[string]any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": map[string]any{"commonHttpProtocolOptions": map[string]any{"idleTimeout": "1s"}},
		}), nil},
		"inert, outside the table": {deadField, set(first, "connectTimeout", "3s"),
			[]string{inertField + ", yet cluster " + first + " connect_timeout goes from 10s to 3s without it"}},
		"inert, limits connections too": {deadField, set(first, "circuitBreakers", thresholds(map[string]any{"maxPendingRequests": 1})),
			[]string{inertField + ", yet cluster " + first + " circuit_breakers.thresholds[0].max_pending_requests goes from 4294967295 to 1 without it"}},
		"inert, on another port": {deadField, set(second, "connectTimeout", "3s"), nil},
		"inert, no cluster left": {deadField, func(a *predictor.Answer) { delete(a.Clusters, first) },
			[]string{inertField + ", yet cluster " + first + " goes from present to absent without it"}},
		"inert, a listener": {deadField, func(a *predictor.Answer) { a.Listeners[first]["x"] = 1 }, []string{inertField + ", yet listener " + first + " x goes from absent to 1 without it"}},
		"inert, panics":     {deadField, func(a *predictor.Answer) { a.Panic = "nil" }, []string{inertField + ", yet a panic goes from absent to present without it"}},
		"whole rule":        {strayRule, nil, nil},
		"whole rule, cluster": {strayRule, set(first, "connectTimeout", "3s"),
			[]string{wholeRule + ", yet cluster " + first + " connect_timeout goes from 10s to 3s without it"}},
		"whole rule, what is inert": {strayRule, set(first, "circuitBreakers", thresholds(map[string]any{"maxConnections": 4294967295, "maxRequests": 1})),
			[]string{wholeRule + ", yet cluster " + first + " circuit_breakers.thresholds[0].max_requests goes from 4294967295 to 1 without it"}},
		"whole rule, new cluster": {strayRule, func(a *predictor.Answer) { a.Clusters["outbound|1||a"] = map[string]any{} },
			[]string{wholeRule + ", yet cluster outbound|1||a goes from absent to present without it"}},
		"ignored": {deafField, nil, nil},
		"ignored, cluster": {deafField, set(first, "connectTimeout", "3s"),
			[]string{ignoredField + ", yet cluster " + first + " connect_timeout goes from 10s to 3s without it"}},
		"fix":                 {lostValue, nil, nil},
		"fix, what is inert":  {lostValue, set(second, "circuitBreakers", thresholds(map[string]any{"maxConnections": 4294967295, "maxRequests": 1})), nil},
		"fix, other type":     {lostValue, set(second, "type", "EDS"), []string{fixed + " type from STRICT_DNS to EDS"}},
		"fix, TLS":            {lostValue, set(second, "transportSocket", map[string]any{"name": "tls"}), []string{fixed + " transport_socket.name from absent to tls"}},
		"fix, unnamed":        {lostValue, set(second, "outlierDetection", map[string]any{"interval": "1s"}), []string{fixed + " outlier_detection.interval from absent to 1s"}},
		"fix, other value":    {lostValue, set(second, "connectTimeout", "3s"), []string{fixed + " connect_timeout from 10s to 3s"}},
		"fix, no cluster":     {lostValue, func(a *predictor.Answer) { delete(a.Clusters, second) }, []string{fixed + " from present to absent"}},
		"fix, other cluster":  {lostValue, set(first, "connectTimeout", "3s"), []string{strings.Replace(fixed, second, first, 1) + " connect_timeout from 2s to 3s"}},
		"fix, panics":         {lostValue, func(a *predictor.Answer) { a.Panic = "nil" }, []string{strings.Replace(fixed, "cluster "+second, "a panic", 1) + " from absent to present"}},
		"cure":                {panicking, nil, nil},
		"cure, other cluster": {panicking, set("outbound|80||*.wild.example.com", "connectTimeout", "3s"), []string{`outbound|80||*.wild.example.com: connect_timeout predicted "10s", compiled "3s"`}},
	} {
		t.Run(name, func(t *testing.T) {
			result := p.held(t, test.manifests, "shop", test.change)
			if sum(result.Claims)+sum(result.Fixes) == 0 || sum(result.Unshown) > 0 && name != "inert, panics" || len(result.Refused)+len(result.Outcome.Died) > 0 {
				t.Fatalf("%+v", result)
			}
			var got []string
			for _, c := range result.Outcome.Contradictions {
				if !strings.Contains(c, "the safe fix of DR201") && !strings.Contains(c, together) && !slices.Contains(got, c) {
					got = append(got, c)
				}
			}
			if len(got) != len(test.want) {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(got[i], "x.yaml, sidecar in shop: "+want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}

// A safe fix is held against all ports, also those that the finding is not about.
func TestFixOnOtherPort(t *testing.T) {
	result := holder(t).held(t, deadField, "shop", set(second, "connectTimeout", "3s"))
	if got := result.Outcome.Contradictions; len(got) != 2 || !strings.Contains(got[0], "the safe fix of DR201") || !strings.Contains(got[0], second) {
		t.Errorf("%q", got)
	}
	if result.Claims["DR201"] != 1 || result.Fixes["DR201"] != 1 {
		t.Errorf("%+v", result)
	}
}

// together is how a contradiction of all safe fixes of a file begins.
const together = "all safe fixes together change "

// All safe fixes of a file are applied to its text and held against Istio at once, and each path that changes has to be one that some of them
// accounts for.
func TestFixesTogether(t *testing.T) {
	manifests := deadField + "---\n" + strings.NewReplacer("api.example.com", "b.example.com", "name: api", "name: b").Replace(lostValue)
	p := holder(t)
	for name, test := range map[string]struct {
		change func(*predictor.Answer)
		want   string // the end of the contradiction
	}{
		"as they say":     {nil, ""},
		"what is inert":   {set(first, "circuitBreakers", thresholds(map[string]any{"maxRequests": 1})), ""},
		"another cluster": {set("outbound|443||b.example.com", "connectTimeout", "3s"), "cluster outbound|443||b.example.com connect_timeout from 2s to 3s"},
		"another type":    {set("outbound|8443||b.example.com", "type", "EDS"), "cluster outbound|8443||b.example.com type from STRICT_DNS to EDS"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := object.Load(t.Context(), "x.yaml", strings.NewReader(manifests), object.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			p.oracle = &predictor.Predictor{Change: func(job *oracle.Job, a *predictor.Answer) error {
				if test.change != nil && !strings.Contains(job.Objects, "maxRetries") && strings.Count(job.Objects, "connectTimeout") > 1 {
					test.change(a) // both are fixed
				}
				return nil
			}}
			result := newTally("x")
			m := &agree.Mesh{Name: "x.yaml", Objects: f.Objects, File: f}
			if err := p.hold(t.Context(), result, m, []effective.Proxy{{Type: effective.Sidecar, Namespace: "shop"}}); err != nil {
				t.Fatal(err)
			}
			if result.Together != 1 || result.Applied != 2 {
				t.Errorf("%d fixes in %d meshes", result.Applied, result.Together)
			}
			switch got := result.Outcome.Contradictions; {
			case test.want == "" && len(got) > 0:
				t.Errorf("%q", got)
			case test.want != "" && (len(got) != 1 || got[0] != "x.yaml, sidecar in shop: "+together+test.want):
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A claim about what the proxy does not get is counted as not shown.
func TestUnshown(t *testing.T) {
	result := holder(t).held(t, deadField, "elsewhere", nil)
	if result.Claims["DR201"] != 1 || result.Unshown["DR201"] != 1 {
		t.Errorf("%+v", result)
	}
}

// A rule that is alone in its mesh leaves nothing to compile.
func TestLoneRule(t *testing.T) {
	_, alone, _ := strings.Cut(strayRule, "---\n")
	p := holder(t)
	result := p.held(t, alone, "shop", nil)
	if result.Claims["MX301"] != 1 || len(result.Outcome.Contradictions) > 0 {
		t.Errorf("%+v", result)
	}
	result = p.held(t, alone, "shop", set("outbound|60000||filler.invalid", "connectTimeout", "3s"))
	if len(result.Outcome.Contradictions) != 1 {
		t.Errorf("%+v", result)
	}
}

// A remark says that a field is of use on some port: there anything may change, and it shows nothing of the claim.
func TestRemarks(t *testing.T) {
	all := resources{
		"listener a": {"filters[0].typed_config.cluster": first},
		"route b":    {"routes[0].route.cluster": second},
	}
	for severity, want := range map[lint.Severity]bool{lint.Info: false, lint.Warning: true} {
		f := &lint.Finding{Rule: &lint.Meta{Proof: lint.Proof{Kind: "inert"}}, Severity: severity, Subject: lint.Subject{Ports: []uint32{443, 8443}}}
		if !about(f, first, all) || about(f, second, all) != want || about(f, "outbound|80||api.example.com", all) {
			t.Errorf("%s: %t, %t", severity, about(f, first, all), about(f, second, all))
		}
	}
}

// The second of a name, and what says what holds anyway, are no differences.
func TestDifferences(t *testing.T) {
	const plain = options + ".explicit_http_config.http_protocol_options"
	before := resources{"cluster a": {"x": "1", plain: "{}"}, "cluster a#2": {"x": "1"}}
	after := resources{"cluster a": {"x": "2"}, "cluster a#2": {"x": "2"}}
	got := differences(pair{before, after})
	if len(got) != 1 || got[0] != (change{"cluster a", "x", "1", "2"}) {
		t.Errorf("%v", got)
	}
	const filter = "filter_chains[0].filters[0].typed_config."
	before["listener a"] = map[string]string{filter + "cluster": "outbound|1||a", filter + "idle_timeout": "1s"}
	after["listener a"] = map[string]string{filter + "cluster": "outbound|1||a", filter + "idle_timeout": "2s"}
	if got := differences(pair{before, after}); len(got) != 1 {
		t.Errorf("%v", got)
	}
	after["cluster outbound|1||a"] = map[string]string{"x": "1"}
	before["cluster outbound|1||a"] = after["cluster outbound|1||a"]
	if got := differences(pair{before, after}); len(got) != 2 {
		t.Errorf("%v", got)
	}
	delete(before, "listener a")
	delete(after, "listener a")
	after["cluster a"][plain+".accept_http_10"] = "true"
	if got := differences(pair{before, after}); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// A fix may change what the fixed rule itself says, and what comes along with a block that it writes, but nothing that steers.
func TestStated(t *testing.T) {
	own, other := &object.Object{}, &object.Object{}
	c := &effective.Cluster{Settings: []effective.Setting{
		{Envoy: "type", Origin: effective.Origin{Object: own}},
		{Envoy: "connect_timeout", Origin: effective.Origin{Object: own}},
		{Envoy: "outlier_detection.interval", Origin: effective.Origin{Object: own}},
		{Envoy: "max_requests_per_connection", Origin: effective.Origin{Object: other}},
	}}
	path := object.Path{"spec", "trafficPolicy", "outlierDetection"}
	adds, removes := []lint.Op{{Kind: lint.Add, Path: path}}, []lint.Op{{Kind: lint.Remove, Path: path}}
	for _, test := range []struct {
		path string
		ops  []lint.Op
		want bool
	}{
		{"connect_timeout", nil, true},
		{"outlier_detection", nil, true}, // the message in which a value is stated
		{"type", nil, false},
		{"max_requests_per_connection", nil, false},
		{"", adds, false},
		{"outlier_detection.enforcing_consecutive_5xx", adds, true},
		{"outlier_detection.enforcing_consecutive_5xx", removes, false},
		{"load_assignment.endpoints[0].priority", adds, true},
		{"lb_policy", adds, false},
	} {
		if got := stated(c, own, test.ops, change{"cluster a", test.path, "1", "2"}); got != test.want {
			t.Errorf("%q with %v: %t", test.path, test.ops, got)
		}
	}
	if stated(nil, own, adds, change{"cluster a", "connect_timeout", "1", "2"}) {
		t.Error("a change of a cluster that is not predicted is stated")
	}
}

// What the oracle does not take is counted; any other failure ends the run.
func TestRefused(t *testing.T) {
	p := holder(t)
	m, err := agree.Random(1)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(err error) *predictor.Predictor {
		return &predictor.Predictor{Change: func(*oracle.Job, *predictor.Answer) error { return err }}
	}
	result := newTally("x")
	p.oracle = refuse(&oracle.RefusedError{Job: "x", Reason: "odd\nobject"})
	if err := p.hold(t.Context(), result, m, m.Proxies()); err != nil || len(result.Refused) != 1 || !strings.HasSuffix(result.Refused[0], "odd object") || result.Outcome.Meshes != 0 {
		t.Errorf("%+v, %v", result, err)
	}
	result = newTally("x")
	p.oracle = &predictor.Predictor{Change: func(job *oracle.Job, a *predictor.Answer) error {
		if job.Proxy.Type == oracle.Router {
			return &oracle.RefusedError{Job: "x", Reason: "no"}
		}
		a.Clusters["outbound|1||a"] = map[string]any{}
		return nil
	}}
	if err := p.hold(t.Context(), result, m, m.Proxies()[:2]); err != nil || len(result.Refused) != 1 || len(result.Outcome.Contradictions) != 1 {
		t.Errorf("a contradiction before a refusal: %+v, %v", result, err)
	}
	late := errors.New("too late")
	p.oracle = refuse(late)
	if err := p.hold(t.Context(), newTally("x"), m, m.Proxies()); !errors.Is(err, late) {
		t.Errorf("got %v", err)
	}
	p.oracle = refuse(&oracle.DiedError{Job: "x"})
	result = newTally("x")
	if err := p.hold(t.Context(), result, m, m.Proxies()[:1]); err != nil || len(result.Outcome.Died) != 1 || sum(result.Claims) > 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
