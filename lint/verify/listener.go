package verify

import (
	"strings"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
)

// TCPProxy is a tcp_proxy filter that sends to one cluster.
type TCPProxy struct {
	Cluster string
	Leaves  envoy.Leaves // of what a traffic policy decides
}

// tcpProxyPaths are what a traffic policy decides of a tcp_proxy.
var tcpProxyPaths = []string{"idle_timeout", "max_downstream_connection_duration", "hash_policy", "tunneling_config"}

// TCPProxies finds the tcp_proxy filters of a listener, decoded from JSON in either spelling, that send to one outbound cluster.
// Weighted clusters are left out: which rule decides about them hangs on the order of a route.
func TCPProxies(listener map[string]any) []TCPProxy {
	var out []TCPProxy
	eachMessage(listener, "TcpProxy", func(m map[string]any) {
		cluster, _ := m["cluster"].(string)
		if !strings.HasPrefix(cluster, outbound) {
			return
		}
		p := TCPProxy{Cluster: cluster, Leaves: envoy.Leaves{}}
		for path, v := range envoy.Flatten(m) {
			for _, at := range tcpProxyPaths {
				if envoy.Under(path, at) {
					p.Leaves[path] = v
				}
			}
		}
		out = append(out, p)
	})
	return out
}

// CompareTCPProxy compares the prediction for a cluster with a tcp_proxy that sends to it.
func CompareTCPProxy(c *effective.Cluster, p TCPProxy) (diffs []Difference, n int) {
	diffs, n = differences(c.TCP, effective.Leaves(c.TCP), p.Leaves)
	return diffs, max(n, len(tcpProxyPaths)) // that a field is absent is compared too
}

// eachMessage visits the packed messages of a type in a resource.
func eachMessage(v any, typ string, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if t, _ := v["@type"].(string); strings.HasSuffix(t, "."+typ) {
			visit(v)
		}
		for _, item := range v {
			eachMessage(item, typ, visit)
		}
	case []any:
		for _, item := range v {
			eachMessage(item, typ, visit)
		}
	}
}
