package main

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/envoy"
)

// family is what the ports of a cluster are to Envoy's filters, as the listeners and routes of the proxy show it.
type family int

// The families. Sniffed clusters get requests and connections, as the first bytes of a connection decide.
const (
	unused family = iota // no listener and no route names the cluster
	l4                   // only tcp_proxy
	l7                   // only the HTTP router
	sniffed
)

func (f family) String() string {
	return [...]string{"no traffic", "L4", "L7", "L4 and L7"}[f]
}

// inertPath is a field of a cluster that Envoy does not act on for clusters of some families, although Istio writes it.
type inertPath struct {
	Path     string
	Families []family
	Why      string
	Source   string // text of Envoy's API, or facts that were measured
}

// inertPaths is the table of them. What only an HTTP codec or the HTTP router reads is inert where there is only tcp_proxy.
// max_connections and max_pending_requests are not here: they limit connections too ("applied as a connection limit for
// non-HTTP traffic").
func inertPaths() []inertPath {
	onlyL4 := []family{l4}
	const (
		breakers = "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/circuit_breaker.proto"
		http     = "https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/upstreams/http/v3/http_protocol_options.proto"
		tcpProxy = "https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/network/tcp_proxy/v3/tcp_proxy.proto"
	)
	return []inertPath{
		{"circuit_breakers.thresholds[*].max_requests", onlyL4, "the limit of parallel requests does not apply to traffic that is not HTTP", breakers},
		{"circuit_breakers.thresholds[*].max_retries", onlyL4, "retries are the HTTP router's; tcp_proxy has its own count of connect attempts", breakers},
		{"circuit_breakers.thresholds[*].retry_budget", onlyL4, "a budget of retries, which are the HTTP router's", breakers},
		{"typed_extension_protocol_options.HttpProtocolOptions", onlyL4, "options of the upstream HTTP codec, which tcp_proxy without tunneling_config does not use; its timeouts are in its own configuration", http + " and " + tcpProxy},
	}
}

// inert says whether Envoy ignores a path of a cluster of a family.
func inert(path string, f family) bool {
	for _, row := range inertPaths() {
		if matches(path, row.Path) && (f == unused || slices.Contains(row.Families, f)) {
			return true
		}
	}
	return false
}

// saysNothing says whether a difference is one between saying nothing and saying what holds anyway: an empty message of defaults, and HTTP/1
// towards the endpoints, which Envoy speaks if no protocol is given.
func saysNothing(c change) bool {
	if c.path != options+".common_http_protocol_options" && c.path != options+".explicit_http_config.http_protocol_options" {
		return false
	}
	return c.before == absent && c.after == envoy.Empty || c.before == envoy.Empty && c.after == absent
}

const options = "typed_extension_protocol_options.HttpProtocolOptions"

// familyOf finds out what names a cluster. A subset's cluster that no route chooses would get what the host's cluster gets.
func familyOf(resources map[string]envoy.Leaves, cluster string) family {
	tcp, http := false, false
	for name, leaves := range resources {
		for path, value := range leaves {
			if value != cluster || !strings.HasSuffix(path, ".cluster") && !strings.HasSuffix(path, ".name") {
				continue
			}
			switch {
			case strings.HasPrefix(name, "route "), strings.Contains(path, ".route_config."):
				http = true
			case strings.HasPrefix(name, "listener ") && strings.Contains(path, ".typed_config."):
				tcp = true
			}
		}
	}
	switch {
	case tcp && http:
		return sniffed
	case tcp:
		return l4
	case http:
		return l7
	}
	if parts := strings.Split(cluster, "|"); len(parts) == 4 && parts[2] != "" {
		parts[2] = ""
		return familyOf(resources, strings.Join(parts, "|"))
	}
	return unused
}
