package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes a file below a folder.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mesh writes hosts of many namespaces, each with a rule that has several faults.
func mesh(t *testing.T, hosts, namespaces int) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for i := range hosts {
		ns := fmt.Sprintf("team-%02d", i%namespaces)
		fmt.Fprintf(&b, `---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: host-%[1]d, namespace: %[2]s}
spec:
  hosts: [api-%[1]d.partner.example.com]
  exportTo: [%[3]s]
  location: MESH_EXTERNAL
  ports:
  - {number: 443, name: tls, protocol: TLS}
  - {number: 80, name: http, protocol: HTTP}
`, i, ns, []string{`"."`, `"*"`, `".", "team-00"`}[i%3])
		if i%4 != 3 {
			fmt.Fprintf(&b, `---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: host-%[1]d, namespace: %[2]s}
spec:
  host: api-%[1]d.partner.example.com
  trafficPolicy:
    connectionPool:
      tcp: {maxConnections: %[1]d}
      http: {http2MaxRequests: 1000, idleTimeout: 10m}
    outlierDetection: {consecutiveErrors: 5, interval: 5s}
    portLevelSettings:
    - {port: {number: 80}, loadBalancer: {simple: ROUND_ROBIN}}
`, i, ns)
		}
		if i%50 == 49 || i == hosts-1 {
			write(t, dir, fmt.Sprintf("egress/part-%03d.yaml", i/50), b.String())
			b.Reset()
		}
	}
	return dir
}
