package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// benchStream is a stream of n documents as a mesh repository holds them: ServiceEntries and DestinationRules by turns.
func benchStream(n int) string {
	var b strings.Builder
	for i := range n {
		if i%2 == 0 {
			fmt.Fprintf(&b, `---
# Payments provider %[1]d, owned by team-%[2]d.
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata:
  name: payments-%[1]d
  namespace: team-%[2]d
  labels:
    app.kubernetes.io/part-of: checkout
spec:
  hosts:
  - api-%[1]d.payments.example.com
  - "backup-%[1]d.payments.example.com"
  exportTo: ["."]
  location: MESH_EXTERNAL
  resolution: DNS
  ports:
  - number: 443
    name: https
    protocol: TLS
  - number: 8443 # the old port
    name: https-alt
    protocol: TLS
  endpoints:
  - address: 203.0.113.%[3]d
    ports: {https: 443, https-alt: 8443}
    weight: 10
`, i, i%40, i%250)
			continue
		}
		fmt.Fprintf(&b, `---
apiVersion: networking.istio.io/v1beta1
kind: DestinationRule
metadata:
  name: payments-%[1]d
  namespace: team-%[2]d
spec:
  host: api-%[1]d.payments.example.com
  trafficPolicy:
    connectionPool:
      tcp:
        maxConnections: 100
        connectTimeout: 2s
    outlierDetection:
      consecutive5xxErrors: 5
      interval: 30s
      baseEjectionTime: 1m
      maxEjectionPercent: 50
    portLevelSettings:
    - port:
        number: 443
      tls:
        mode: SIMPLE
        sni: api-%[1]d.payments.example.com
`, i, i%40)
	}
	return b.String()
}

// BenchmarkLoad loads a stream of 1,000 documents, and reads what one document keeps alive once loaded.
func BenchmarkLoad(b *testing.B) {
	const documents = 1000
	text := benchStream(documents)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var f *File
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		f = load(b, text)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if len(f.Objects) != documents {
		b.Fatalf("%d objects, want %d", len(f.Objects), documents)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/documents, "B-kept/doc")
	b.ReportMetric(documents*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkYAMLNodes is the floor for BenchmarkLoad: the same stream read by the YAML library alone.
func BenchmarkYAMLNodes(b *testing.B) {
	text := benchStream(1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		dec := yaml.NewDecoder(strings.NewReader(text))
		for {
			var n yaml.Node
			if err := dec.Decode(&n); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func load(tb testing.TB, text string) *File {
	tb.Helper()
	f, err := Load(context.Background(), "test.yaml", strings.NewReader(text), Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}
