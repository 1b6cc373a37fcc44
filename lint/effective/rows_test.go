package effective_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
)

// row is a setting as the tests compare it. from is the line of the manifest that decides it, else what Origin.Text says.
type row struct {
	field, value, from string
	status             effective.Status
}

// rowsOf lists settings, with the lines of the manifests that they come from.
func rowsOf(t *testing.T, manifests []string, list []effective.Setting) []row {
	t.Helper()
	lines := strings.Split(strings.Join(manifests, "\n---\n"), "\n")
	var out []row
	for _, s := range list {
		from := s.Origin.Text()
		if at, ok := s.Origin.Location(); ok {
			n := at.Range.Start.Line
			if want := fmt.Sprintf("in.yaml:%d", n); from != want {
				t.Errorf("%s comes from %q, want %q", s.Field, from, want)
			}
			from = strings.TrimSpace(lines[n-1])
		}
		out = append(out, row{s.Field, envoy.Text(s.Value), from, s.Status})
	}
	return out
}

func TestRows(t *testing.T) {
	const (
		active   = effective.Active
		inert    = effective.Inert
		implicit = effective.Implicit
		ignored  = effective.Ignored

		istio = "Istio's default"
		envoy = "Envoy's default"
	)
	for _, c := range []struct {
		compiled

		want []row
		no   []string // fields without a row
	}{
		{
			compiled: compiled{why: "a field that works, one that does not at L4, one that nobody sets", at: "443", in: []string{dns("443 TLS"), rule("api", api, `trafficPolicy:
  connectionPool:
    tcp:
      maxConnections: 5
    http:
      http1MaxPendingRequests: 6
      http2MaxRequests: 7`)}},
			want: []row{
				{"connectionPool.tcp.maxConnections", "5", "maxConnections: 5", active},
				{"connectionPool.http.http1MaxPendingRequests", "6", "http1MaxPendingRequests: 6", active},
				{"connectionPool.http.http2MaxRequests", "7", "http2MaxRequests: 7", inert},
				{"connectionPool.http.maxRetries", effective.Unlimited, istio, inert},
				{"connectionPool.tcp.connectTimeout", "10s", istio, active},
				{"ServiceEntry.resolution", "STRICT_DNS", "resolution: DNS", active},
				{"loadBalancer.simple", "LEAST_REQUEST", istio, active},
			},
		},
		{
			compiled: compiled{why: "no rule at all", at: "80", in: []string{dns("80 HTTP")}},
			want: []row{
				{"connectionPool.tcp.maxConnections", effective.Unlimited, istio, active},
				{"connectionPool.http.maxRetries", effective.Unlimited, istio, active},
				{"outlierDetection.minHealthPercent", "0", istio, inert},
				{"connectionPool.http.idleTimeout", "1h", envoy, implicit},
				{"outlierDetection", "no outlier detection", envoy, implicit},
			},
			no: []string{"tls", "tls.sni", "outlierDetection.interval"},
		},
		{
			compiled: compiled{why: "what the mesh says", at: "443", mesh: "connectTimeout: 3s\ndnsRefreshRate: 17s\ndefaultTrafficPolicy: {connectionPool: {tcp: {maxConnections: 1000}}}", in: []string{dns("443 TLS")}},
			want: []row{
				{"connectionPool.tcp.connectTimeout", "3s", "meshConfig.connectTimeout", active},
				{"connectionPool.tcp.maxConnections", "1000", "meshConfig.defaultTrafficPolicy.connectionPool.tcp.maxConnections", active},
				{"meshConfig.dnsRefreshRate", "17s", "meshConfig.dnsRefreshRate", active},
			},
		},
		{
			compiled: compiled{why: "keepalive of the mesh and of the rule", at: "443", mesh: "tcpKeepalive: {probes: 3, interval: 75s}", in: []string{dns("443 TLS"), rule("api", api, `trafficPolicy:
  connectionPool:
    tcp:
      tcpKeepalive:
        interval: 60s`)}},
			want: []row{
				{"connectionPool.tcp.tcpKeepalive.probes", "3", "meshConfig.tcpKeepalive.probes", active},
				{"connectionPool.tcp.tcpKeepalive.interval", "60", "interval: 60s", active},
			},
		},
		{
			compiled: compiled{why: "ejection: written, Envoy's own, ignored", at: "80", in: []string{dns("80 HTTP"), rule("api", api, `trafficPolicy:
  outlierDetection:
    interval: 5s
    consecutiveErrors: 3
    consecutiveLocalOriginFailures: 4`)}},
			want: []row{
				{"outlierDetection.interval", "5s", "interval: 5s", active},
				{"outlierDetection.consecutive5xxErrors", "5", envoy, implicit},
				{"outlierDetection.baseEjectionTime", "30s", envoy, implicit},
				{"outlierDetection.maxEjectionPercent", "10", envoy, implicit},
				{"outlierDetection.minHealthPercent", "0", istio, active},
				{"outlierDetection.consecutiveErrors", "3", "consecutiveErrors: 3", ignored},
				{"outlierDetection.consecutiveLocalOriginFailures", "4", "consecutiveLocalOriginFailures: 4", ignored},
			},
		},
		{
			compiled: compiled{why: "a port entry loses the level around it, and the second entry is lost", at: "443", in: []string{dns("443 TLS"), rule("api", api, `trafficPolicy:
  connectionPool:
    tcp:
      maxConnections: 5
      idleTimeout: 33s
  outlierDetection:
    interval: 5s
  portLevelSettings:
  - port: {number: 443}
    connectionPool:
      tcp:
        connectTimeout: 2s
        idleTimeout: 44s
  - port: {number: 443}
    loadBalancer:
      simple: RANDOM`)}},
			want: []row{
				{"connectionPool.tcp.connectTimeout", "2s", "connectTimeout: 2s", active},
				{"connectionPool.tcp.maxConnections", effective.Unlimited, istio, active},
				{"connectionPool.tcp.maxConnections", "5", "maxConnections: 5", ignored},
				{"outlierDetection.interval", "5s", "interval: 5s", ignored},
				{"loadBalancer.simple", "LEAST_REQUEST", istio, active},
			},
		},
		{
			compiled: compiled{why: "other ports keep it", at: "80", in: []string{dns("443 TLS", "80 HTTP"), rule("api", api, `trafficPolicy:
  connectionPool:
    tcp:
      maxConnections: 5
  portLevelSettings:
  - port: {number: 443}
    outlierDetection:
      interval: 5s`)}},
			want: []row{{"connectionPool.tcp.maxConnections", "5", "maxConnections: 5", active}},
			no:   []string{"outlierDetection.interval"},
		},
		{
			compiled: compiled{why: "a subset takes the place of a block", at: "443/v1", in: []string{dns("443 TLS"), rule("api", api, `trafficPolicy:
  connectionPool:
    tcp:
      maxConnections: 5
  outlierDetection:
    interval: 5s
subsets:
- name: v1
  trafficPolicy:
    connectionPool:
      tcp:
        connectTimeout: 2s`)}},
			want: []row{
				{"connectionPool.tcp.connectTimeout", "2s", "connectTimeout: 2s", active},
				{"outlierDetection.interval", "5s", "interval: 5s", active},
				{"connectionPool.tcp.maxConnections", "5", "maxConnections: 5", ignored},
			},
		},
		{
			compiled: compiled{why: "a retry budget makes maxRetries idle", at: "80", in: []string{dns("80 HTTP"), rule("api", api, `trafficPolicy:
  connectionPool:
    http:
      maxRetries: 2
  retryBudget:
    percent: 10`)}},
			want: []row{
				{"connectionPool.http.maxRetries", "2", "maxRetries: 2", inert},
				{"retryBudget.percent", "10", "percent: 10", active},
				{"retryBudget.minRetryConcurrency", "3", istio, active},
			},
		},
		{
			compiled: compiled{why: "http.idleTimeout before tcp.idleTimeout, and streams of HTTP/2 on HTTP/1", at: "80", in: []string{dns("80 HTTP"), rule("api", api, `trafficPolicy:
  connectionPool:
    tcp:
      idleTimeout: 33s
    http:
      idleTimeout: 11s
      maxConcurrentStreams: 64`)}},
			want: []row{
				{"connectionPool.http.idleTimeout", "11s", "idleTimeout: 11s", active},
				{"connectionPool.tcp.idleTimeout", "33s", "idleTimeout: 33s", ignored},
				{"connectionPool.http.maxConcurrentStreams", "64", "maxConcurrentStreams: 64", ignored},
			},
		},
		{
			compiled: compiled{why: "http.idleTimeout where Envoy reads no requests", at: "443", in: []string{dns("443 TLS"), rule("api", api, `trafficPolicy:
  connectionPool:
    http:
      idleTimeout: 11s`)}},
			want: []row{{"connectionPool.http.idleTimeout", "11s", "idleTimeout: 11s", inert}},
		},
		{
			compiled: compiled{why: "timeouts of a port entry reach only options for requests", at: "443", in: []string{dns("443 TLS"), rule("api", api, `trafficPolicy:
  portLevelSettings:
  - port: {number: 443}
    connectionPool:
      tcp:
        idleTimeout: 44s
        maxConnectionDuration: 55s`)}},
			want: []row{
				{"connectionPool.tcp.idleTimeout", "44s", "idleTimeout: 44s", inert},
				{"connectionPool.tcp.maxConnectionDuration", "55s", "maxConnectionDuration: 55s", inert},
			},
		},
		{
			compiled: compiled{why: "and on a port without protocol they have an effect", at: "443", in: []string{dns("443 "), rule("api", api, `trafficPolicy:
  portLevelSettings:
  - port: {number: 443}
    connectionPool:
      tcp:
        idleTimeout: 44s`)}},
			want: []row{{"connectionPool.tcp.idleTimeout", "44s", "idleTimeout: 44s", active}},
		},
		{
			compiled: compiled{why: "around bytes TLS names nobody and checks no name", at: "443", in: []string{dns("443 TLS"), rule("api", api, `trafficPolicy:
  tls:
    mode: SIMPLE
  connectionPool:
    http:
      h2UpgradePolicy: UPGRADE`)}},
			want: []row{
				{"tls.mode", "SIMPLE", "mode: SIMPLE", active},
				{"tls.sni", "the host of each request", istio, inert},
				{"tls.subjectAltNames", "the host of each request", istio, inert},
				{"connectionPool.http.h2UpgradePolicy", "UPGRADE", "h2UpgradePolicy: UPGRADE", active}, // by ALPN
			},
		},
		{
			compiled: compiled{why: "TLS without a mode", at: "80", in: []string{dns("80 HTTP"), rule("api", api, `trafficPolicy:
  tls:
    sni: x.example.com`)}},
			want: []row{{"tls.sni", "x.example.com", "sni: x.example.com", ignored}},
			no:   []string{"tls.mode"},
		},
		{
			compiled: compiled{why: "TLS", at: "443", in: []string{entry("api", api, "DNS", "subjectAltNames:\n- peer.example.com", "443 HTTP"), rule("api", api, `trafficPolicy:
  tls:
    mode: SIMPLE
    clientCertificate: /c.pem`)}},
			want: []row{
				{"tls.mode", "SIMPLE", "mode: SIMPLE", active},
				{"tls.sni", "the host of each request", istio, active},
				{"tls.subjectAltNames", "peer.example.com", "subjectAltNames:", active},
				{"tls.caCertificates", "file-root:system", istio, active},
				{"tls.clientCertificate", "/c.pem", "clientCertificate: /c.pem", ignored},
			},
		},
		{
			compiled: compiled{why: "what the ServiceEntry says", at: "80", in: []string{entry("api", api, "NONE", "", "80 GRPC, targetPort: 8443")}},
			want: []row{
				{"ServiceEntry.ports.targetPort", "8443", "- {number: 80, name: p80, protocol: GRPC, targetPort: 8443}", active},
				{"ServiceEntry.ports.protocol", "GRPC", "- {number: 80, name: p80, protocol: GRPC, targetPort: 8443}", active},
				{"ServiceEntry.resolution", "ORIGINAL_DST", "resolution: NONE", active},
			},
			no: []string{"outlierDetection", "loadBalancer.simple"},
		},
		{
			compiled: compiled{why: "PASSTHROUGH leaves nothing to eject from", at: "443", in: []string{dns("443 TLS"), rule("api", api, `trafficPolicy:
  loadBalancer:
    simple: PASSTHROUGH
  outlierDetection:
    interval: 5s`)}},
			want: []row{
				{"loadBalancer.simple", "ORIGINAL_DST", "simple: PASSTHROUGH", active},
				{"outlierDetection.interval", "5s", "interval: 5s", inert},
			},
			no: []string{"outlierDetection.baseEjectionTime"},
		},
		{
			compiled: compiled{why: "no cluster: all of the rule is in vain", at: "53", in: []string{dns("53 UDP"), rule("api", api, `trafficPolicy:
  connectionPool:
    tcp:
      maxConnections: 5`)}, absent: "UDP"},
			want: []row{{"connectionPool.tcp.maxConnections", "5", "maxConnections: 5", ignored}},
			no:   []string{"connectionPool.tcp.connectTimeout"},
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			ix := c.index(t)
			cluster := c.compile(t, ix)
			if cluster == nil {
				t.Fatal("no cluster")
			}
			got := rowsOf(t, c.in, cluster.Rows())
			have := map[row]bool{}
			fields := map[string][]row{}
			for _, r := range got {
				have[r] = true
				fields[r.field] = append(fields[r.field], r)
			}
			for _, want := range c.want {
				if !have[want] {
					t.Errorf("no row %v, of that field there are %v", want, fields[want.field])
				}
			}
			for _, field := range c.no {
				if len(fields[field]) > 0 {
					t.Errorf("there are rows of %s: %v", field, fields[field])
				}
			}
			checkIgnored(t, cluster)
		})
	}
}

// checkIgnored: what is ignored is not in Envoy's configuration, and what a rule is told to ignore is told once.
func checkIgnored(t *testing.T, c *effective.Cluster) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range c.Rows() {
		if s.Status != effective.Ignored {
			continue
		}
		at := s.Origin.Text() + " " + s.Origin.Path.String()
		if s.Envoy != "" || seen[at] {
			t.Errorf("%s (%s) is ignored and has the path %q, or is told twice", s.Field, at, s.Envoy)
		}
		seen[at] = true
	}
}

// TestRowsOfTheListener: what tcp_proxy has no value for is Envoy's to say.
func TestRowsOfTheListener(t *testing.T) {
	r := compiled{at: "443", in: []string{dns("443 TLS"), rule("api", api, `trafficPolicy:
  connectionPool:
    tcp:
      maxConnectionDuration: 44s`)}}
	ix := r.index(t)
	got := rowsOf(t, r.in, r.compile(t, ix).TCP)
	want := []row{
		{"connectionPool.tcp.idleTimeout", "3600s", "Envoy's default", effective.Implicit},
		{"connectionPool.tcp.maxConnectionDuration", "44s", "maxConnectionDuration: 44s", effective.Active},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
