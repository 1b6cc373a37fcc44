package effective_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/mesh"
)

// dice draws policies in which every field of one value is sometimes set.
type dice struct{ *rand.Rand }

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

type fields = map[string]any

// choices are what a policy may set, by the path of the field.
var choices = []struct {
	path   string
	values []any
}{
	{"connectionPool.tcp.maxConnections", []any{0, 5, 50}},
	{"connectionPool.tcp.connectTimeout", []any{"1s", "250ms", "1m30s"}},
	{"connectionPool.tcp.idleTimeout", []any{"0s", "33s", "1h"}},
	{"connectionPool.tcp.maxConnectionDuration", []any{"44s", "1.5s"}},
	{"connectionPool.http.http1MaxPendingRequests", []any{0, 6}},
	{"connectionPool.http.http2MaxRequests", []any{0, 7}},
	{"connectionPool.http.maxRetries", []any{0, 3}},
	{"connectionPool.http.maxRequestsPerConnection", []any{0, 9}},
	{"connectionPool.http.idleTimeout", []any{"11s", "2m"}},
	{"connectionPool.http.h2UpgradePolicy", []any{"DEFAULT", "UPGRADE", "DO_NOT_UPGRADE"}},
	{"connectionPool.http.useClientProtocol", []any{true, false}},
	{"connectionPool.http.maxConcurrentStreams", []any{0, 64}},
	{"outlierDetection.consecutive5xxErrors", []any{0, 3}},
	{"outlierDetection.consecutiveGatewayErrors", []any{0, 4}},
	{"outlierDetection.splitExternalLocalOriginErrors", []any{true, false}},
	{"outlierDetection.consecutiveLocalOriginFailures", []any{0, 4}},
	{"outlierDetection.interval", []any{"5s", "1m"}},
	{"outlierDetection.baseEjectionTime", []any{"250ms", "1m"}},
	{"outlierDetection.maxEjectionPercent", []any{0, 50}},
	{"outlierDetection.minHealthPercent", []any{0, 25}},
	{"loadBalancer.simple", []any{"ROUND_ROBIN", "LEAST_REQUEST", "LEAST_CONN", "RANDOM", "UNSPECIFIED"}},
	{"loadBalancer.warmupDurationSecs", []any{"30s"}},
	{"tls.mode", []any{"SIMPLE", "DISABLE", "ISTIO_MUTUAL"}},
	{"tls.sni", []any{"x.example.com"}},
}

func (d dice) policy(entries bool) fields {
	out := fields{}
	for _, c := range choices {
		path := strings.Split(c.path, ".")
		if !d.chance(35) || path[0] == "tls" && len(path) > 1 && path[1] != "mode" && out["tls"] == nil {
			continue
		}
		at := out
		for _, name := range path[:len(path)-1] {
			next, ok := at[name].(fields)
			if !ok {
				next = fields{}
				at[name] = next
			}
			at = next
		}
		at[path[len(path)-1]] = pick(d, c.values...)
	}
	for _, block := range []string{"connectionPool", "outlierDetection", "loadBalancer", "tls"} {
		if d.chance(40) {
			delete(out, block)
		}
	}
	if !entries {
		return out
	}
	if d.chance(20) {
		out["retryBudget"] = fields{"percent": 10}
	}
	if d.chance(30) {
		e := d.policy(false)
		e["port"] = fields{"number": pick(d, 80, 443)}
		out["portLevelSettings"] = []any{e}
	}
	return out
}

func (d dice) mesh() fields {
	m := fields{}
	for name, value := range map[string]any{
		"connectTimeout": "3s", "h2UpgradePolicy": pick(d, "UPGRADE", "DO_NOT_UPGRADE"),
		"defaultConfig":        fields{"proxyHeaders": fields{"preserveHttp1HeaderCase": true}},
		"defaultTrafficPolicy": fields{"connectionPool": fields{"tcp": fields{"maxConnections": 1000, "idleTimeout": "60s"}}, "outlierDetection": fields{"interval": "8s"}},
	} {
		if d.chance(25) {
			m[name] = value
		}
	}
	return m
}

// flow writes a value in YAML's flow style, of which JSON is a part.
func flow(t *testing.T, v any) string {
	t.Helper()
	js, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(js)
}

// TestRulesAgreeWithPrediction: what the rules say of a field that is set and has an effect is what the prediction has in its place. Both
// read the same policies, by code of their own.
func TestRulesAgreeWithPrediction(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(1, 0))}
	compared := map[string]int{}
	for range 1500 {
		protocols := [2]string{pick(d, "HTTP", "HTTP2", "GRPC", "TLS", "TCP", ""), pick(d, "HTTP", "GRPC", "HTTPS", "TCP", "")}
		r := compiled{in: []string{
			entry("api", api, pick(d, "NONE", "DNS", "DNS", "DNS_ROUND_ROBIN"), "location: "+pick(d, "MESH_EXTERNAL", "MESH_INTERNAL"), "80 "+protocols[0], "443 "+protocols[1]),
			rule("api", api, "trafficPolicy: "+flow(t, d.policy(true))+"\nsubsets: "+flow(t, []any{fields{"name": "v1", "trafficPolicy": d.policy(true)}})),
		}}
		if d.chance(40) {
			r.mesh = flow(t, d.mesh())
		}
		ix := r.index(t)
		for _, c := range effective.Clusters(ix, r.client(), api) {
			for _, f := range effective.Fields() {
				if !f.Live(c.Port, c.Policy) || !f.Raw(c.Policy).Set() {
					continue
				}
				got, want, ok := bothViews(f, c)
				if !ok {
					continue
				}
				compared[f.Name]++
				if got != want {
					t.Fatalf("%s of %s (%s): the rules say %q, the prediction %q\nmesh: %s\n%s", f.Name, c.Name(), c.Port.Protocol, got, want, r.mesh, r.in[1])
				}
			}
		}
	}
	for _, c := range choices {
		if compared[c.path] == 0 && c.path != "tls.mode" {
			t.Errorf("%s was never compared", c.path)
		}
	}
}

// bothViews is a field's value as the rules see it and as it is compiled; ok is false if the two cannot be compared.
func bothViews(f *effective.Field, c *effective.Cluster) (rules, prediction string, ok bool) {
	leaves := effective.Leaves(c.Settings)
	rules = f.Value(c.Policy, c.Port)
	switch f.Name {
	case "connectionPool.tcp.idleTimeout", "connectionPool.tcp.maxConnectionDuration":
		if c.Port.Family == mesh.L4 { // the listener decides
			name := map[bool]string{true: "idle_timeout", false: "max_downstream_connection_duration"}[strings.HasSuffix(f.Name, "idleTimeout")]
			return alike(rules), alike(orElse(effective.Leaves(c.TCP)[name], map[string]string{"idle_timeout": "1h"}[name], "none")), true
		}
	case "connectionPool.http.useClientProtocol":
		return rules, fmt.Sprint(under(leaves, longhand("DOWNSTREAM"))), true
	case "connectionPool.http.h2UpgradePolicy":
		return fmt.Sprint(rules == "UPGRADE"), fmt.Sprint(under(leaves, longhand("H2"))), true
	case "outlierDetection":
		return fmt.Sprint(rules == "on"), fmt.Sprint(under(leaves, "outlier_detection")), true
	case "retryBudget":
		return fmt.Sprint(rules != "none"), fmt.Sprint(under(leaves, longhand("CB.retry_budget"))), true
	case "loadBalancer.warmupDurationSecs":
		return alike(rules), alike(orElse(leaves["least_request_lb_config.slow_start_config.slow_start_window"], leaves["round_robin_lb_config.slow_start_config.slow_start_window"])), true
	case "tls":
		return fmt.Sprint(rules != effective.Plaintext), fmt.Sprint(under(leaves, "transport_socket") || under(leaves, "transport_socket_matches")), true
	case "tls.sni":
		if v := leaves["transport_socket.typed_config.sni"]; strings.HasPrefix(rules, "outbound") || f.Raw(c.Policy).Str() == rules {
			return rules, v, true
		}
		return "", "", false
	}
	for path, v := range leaves {
		for _, name := range []string{f.Envoy, f.Envoy + ".value"} {
			if path == name || strings.HasSuffix(path, "."+name) {
				return alike(rules), alike(v), true
			}
		}
	}
	// Nothing is compiled: what Envoy takes then is what the rules take for a field that nobody sets.
	if strings.ContainsAny(f.Envoy, " ") || f.Block() == "tls" {
		return "", "", false
	}
	return alike(rules), alike(map[string]string{
		"connectionPool.http.maxRequestsPerConnection": "no limit", "connectionPool.http.maxConcurrentStreams": "1024",
		"outlierDetection.splitExternalLocalOriginErrors": "false", "outlierDetection.consecutiveLocalOriginFailures": "5",
		"outlierDetection.maxEjectionPercent": "10",
	}[f.Name]), true
}

// alike writes equal values alike: durations in seconds, and the words of the rules for nothing.
func alike(v string) string {
	if d, err := time.ParseDuration(v); err == nil && v != "0" {
		return fmt.Sprintf("%gs", d.Seconds())
	}
	switch v {
	case "not enforced", envoy.Empty:
		return "0"
	}
	return v
}

func orElse(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func under(l envoy.Leaves, ancestor string) bool {
	for path := range l {
		if envoy.Under(path, ancestor) {
			return true
		}
	}
	return false
}

// TestPinnedToHTTP1: where the mesh keeps the case of headers, no upgrade has an effect; see the rows of TestCompile.
func TestPinnedToHTTP1(t *testing.T) {
	for _, meshConfig := range []string{"", "defaultConfig: {proxyHeaders: {preserveHttp1HeaderCase: true}}"} {
		r := compiled{mesh: meshConfig, in: []string{dns("80 HTTP", "8080 GRPC"), policy("connectionPool: {http: {h2UpgradePolicy: UPGRADE, maxConcurrentStreams: 64}}")}}
		ix := r.index(t)
		upgrade, streams := field(t, "connectionPool.http.h2UpgradePolicy"), field(t, "connectionPool.http.maxConcurrentStreams")
		for _, c := range effective.Clusters(ix, r.client(), api) {
			if want := c.Port.Number == 80 && meshConfig == ""; upgrade.Live(c.Port, c.Policy) != want {
				t.Errorf("{%s} port %d: the upgrade has an effect: %v", meshConfig, c.Port.Number, !want)
			}
			if want := c.Port.Number == 8080 || meshConfig == ""; streams.Live(c.Port, c.Policy) != want {
				t.Errorf("{%s} port %d: streams have an effect: %v", meshConfig, c.Port.Number, !want)
			}
		}
	}
}
