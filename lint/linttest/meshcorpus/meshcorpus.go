// Package meshcorpus makes manifests for benchmarks: a monorepo of many teams' egress configuration, the same for the same
// seed, with a known share of faults.
package meshcorpus

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Spec says what to make.
type Spec struct {
	Documents int    // rounded up to whole files of 10
	Seed      uint64 // default 1
}

const (
	documentsPerFile = 10
	filesPerFolder   = 50
)

// Write fills a folder with the manifests and returns how many documents and bytes it wrote.
func Write(dir string, spec Spec) (documents int, bytes int64, err error) {
	rng := rand.New(rand.NewPCG(spec.Seed+1, 0x6d657368))
	m := &maker{rng: rng}
	for f := 0; documents < spec.Documents; f++ {
		var b strings.Builder
		for range documentsPerFile / 2 {
			m.pair(&b)
			documents += 2
		}
		folder := filepath.Join(dir, fmt.Sprintf("team-%03d", f/filesPerFolder))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return 0, 0, fmt.Errorf("make corpus: %w", err)
		}
		name := filepath.Join(folder, fmt.Sprintf("egress-%05d.yaml", f))
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			return 0, 0, fmt.Errorf("make corpus: %w", err)
		}
		bytes += int64(b.Len())
	}
	return documents, bytes, nil
}

// maker writes one ServiceEntry and its DestinationRule after another.
type maker struct {
	rng *rand.Rand
	n   int
}

// oneIn says yes once in n times.
func (m *maker) oneIn(n int) bool { return m.rng.IntN(n) == 0 }

// pair writes one of four kinds of egress, in the proportions in which they are found in practice: TLS passthrough, TLS
// origination, a database over TCP, and a wildcard.
func (m *maker) pair(b *strings.Builder) {
	m.n++
	namespace := fmt.Sprintf("team-%02d", m.n%50)
	name := fmt.Sprintf("ext-%05d", m.n)
	host := fmt.Sprintf("api-%05d.vendor-%02d.example.com", m.n, m.n%37)
	switch k := m.rng.IntN(10); {
	case k < 5:
		m.entry(b, namespace, name, host, "  - number: 443\n    name: tls\n    protocol: TLS\n", "")
		m.passthroughRule(b, namespace, name, host)
	case k < 8:
		m.entry(b, namespace, name, host, "  - number: 80\n    name: http\n    protocol: HTTP\n    targetPort: 443\n", "")
		m.originationRule(b, namespace, name, host)
	case k < 9:
		address := fmt.Sprintf("  addresses:\n  - 240.%d.%d.%d\n", m.n>>16&255, m.n>>8&255, m.n&255)
		m.entry(b, namespace, name, host, "  - number: 5432\n    name: tcp-postgres\n    protocol: TCP\n", address)
		m.passthroughRule(b, namespace, name, host)
	default:
		m.entry(b, namespace, name, "'*."+host+"'", "  - number: 443\n    name: tls\n    protocol: TLS\n", "")
		m.wildcardRule(b, namespace, name, "'*."+host+"'")
	}
}

func header(b *strings.Builder, kind, namespace, name string) {
	fmt.Fprintf(b, "apiVersion: networking.istio.io/v1\nkind: %s\nmetadata:\n  name: %s\n  namespace: %s\n  labels:\n    app.kubernetes.io/part-of: egress\n    team: %s\n  annotations:\n    example.com/owner: %s@example.com\nspec:\n", kind, name, namespace, namespace, namespace)
}

func (m *maker) entry(b *strings.Builder, namespace, name, host, ports, addresses string) {
	header(b, "ServiceEntry", namespace, name)
	fmt.Fprintf(b, "  hosts:\n  - %s\n%s  exportTo:\n  - '.'\n  location: MESH_EXTERNAL\n", host, addresses)
	switch {
	case strings.HasPrefix(host, "'*"):
		b.WriteString("  resolution: NONE\n")
	case m.oneIn(10): // omitted: SE101
	default:
		b.WriteString("  resolution: DNS\n")
	}
	b.WriteString("  ports:\n" + ports + "---\n")
}

func (m *maker) passthroughRule(b *strings.Builder, namespace, name, host string) {
	header(b, "DestinationRule", namespace, name)
	fmt.Fprintf(b, "  host: %s\n  exportTo:\n  - '.'\n  trafficPolicy:\n    connectionPool:\n      tcp:\n        maxConnections: %d\n        connectTimeout: 2s\n        tcpKeepalive:\n          time: 300s\n          interval: 75s\n", host, 50+m.n%200)
	if m.oneIn(10) { // DR201
		b.WriteString("      http:\n        http2MaxRequests: 1000\n        maxRequestsPerConnection: 10\n")
	}
	if !m.oneIn(8) { // else DR204
		b.WriteString("    outlierDetection:\n      splitExternalLocalOriginErrors: true\n      consecutiveLocalOriginFailures: 3\n      interval: 5s\n      maxEjectionPercent: 50\n")
	}
	b.WriteString("---\n")
}

// wildcardRule limits what can be limited without a list of addresses.
func (m *maker) wildcardRule(b *strings.Builder, namespace, name, host string) {
	header(b, "DestinationRule", namespace, name)
	fmt.Fprintf(b, "  host: %s\n  exportTo:\n  - '.'\n  trafficPolicy:\n    connectionPool:\n      tcp:\n        maxConnections: %d\n        connectTimeout: 2s\n---\n", host, 50+m.n%200)
}

// originationRule starts TLS for all ports at the destination level; one in ten adds a port entry that takes that away.
func (m *maker) originationRule(b *strings.Builder, namespace, name, host string) {
	header(b, "DestinationRule", namespace, name)
	fmt.Fprintf(b, `  host: %s
  exportTo:
  - '.'
  trafficPolicy:
    tls:
      mode: SIMPLE
      sni: %s
      subjectAltNames:
      - %s
    connectionPool:
      tcp:
        maxConnections: %d
        connectTimeout: 3s
      http:
        http1MaxPendingRequests: 100
        http2MaxRequests: 1000
        maxRetries: 10
        idleTimeout: 60s
    outlierDetection:
      consecutive5xxErrors: 5
      interval: 30s
      baseEjectionTime: 60s
      maxEjectionPercent: 50
`, host, host, host, 50+m.n%200)
	if m.oneIn(10) { // DR202
		b.WriteString("    portLevelSettings:\n    - port:\n        number: 80\n      loadBalancer:\n        simple: ROUND_ROBIN\n")
	}
	b.WriteString("---\n")
}
