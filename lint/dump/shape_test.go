package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// compiled are the resources that Istio compiles from testdata/mesh.yaml for a sidecar of namespace shop, some of them left out,
// with field names in camel case. It was made with istio.io/istio at eed52ebb66ad (August 2026).
type compiled struct{ Clusters, Listeners, Routes, Endpoints []map[string]any }

func loadCompiled(t testing.TB) compiled {
	t.Helper()
	text, err := os.ReadFile("testdata/compiled.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var c compiled
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

type fields = map[string]any

const nodeID = "sidecar~10.1.0.7~web-5d9f.v2.shop~shop.svc.cluster.local"

func bootstrapOf(id string) fields {
	return fields{"node": fields{
		"id": id, "cluster": "web.shop",
		"metadata": fields{
			"NAMESPACE": "shop", "ISTIO_VERSION": "1.26.2", "LABELS": fields{"app": "web", "istio.io/rev": "stable"}, "DNS_CAPTURE": "true",
		},
		"locality": fields{"region": "eu", "zone": "eu-1", "subZone": "a"},
	}, "staticResources": fields{"clusters": []any{fields{"name": "prometheus_stats"}}}, "admin": nil}
}

func typed(name string, body fields) fields {
	out := fields{"@type": "type.googleapis.com/envoy." + name}
	for k, v := range body {
		out[k] = v
	}
	return out
}

// items wraps each resource as sections do.
func items(field, typ string, resources []map[string]any) []any {
	var out []any
	for _, r := range resources {
		item := fields{"lastUpdated": "2026-02-03T04:05:06.789Z", "versionInfo": "2026-02-03T04:05:06Z/7"}
		if typ != "" {
			r = typed(typ, r)
		}
		item[field] = r
		out = append(out, item)
	}
	return out
}

const (
	clusterType  = "config.cluster.v3.Cluster"
	listenerType = "config.listener.v3.Listener"
	routeType    = "config.route.v3.RouteConfiguration"
	edsType      = "config.endpoint.v3.ClusterLoadAssignment"
)

// configDump is a whole dump in camel case, with one resource in each of the less common states.
func configDump(c compiled) fields {
	var listeners []any
	for _, item := range items("listener", listenerType, c.Listeners[1:]) {
		body := item.(fields)["listener"].(fields)
		listeners = append(listeners, fields{"name": body["name"], "activeState": item})
	}
	refused := typed(listenerType, c.Listeners[0])
	listeners = append(listeners, fields{
		"name":         "0.0.0.0_443",
		"warmingState": fields{"listener": refused},
		"errorState":   fields{"failedConfiguration": refused, "details": "error adding listener: no such filter"},
	}, fields{"name": "10.0.0.1_80", "drainingState": fields{"listener": typed(listenerType, fields{"name": "10.0.0.1_80"})}},
		fields{"name": "10.0.0.2_80", "errorState": fields{"details": "duplicate address"}})
	return fields{"configs": []any{
		typed("admin.v3.BootstrapConfigDump", fields{"bootstrap": bootstrapOf(nodeID), "lastUpdated": "2026-02-03T04:05:06.789Z"}),
		typed("admin.v3.ClustersConfigDump", fields{
			"versionInfo": "1", "staticClusters": items("cluster", clusterType, c.Clusters[:1]),
			"dynamicActiveClusters":  items("cluster", clusterType, c.Clusters[1:3]),
			"dynamicWarmingClusters": items("cluster", clusterType, c.Clusters[3:]),
		}),
		typed("admin.v3.EndpointsConfigDump", fields{"dynamicEndpointConfigs": items("endpointConfig", edsType, c.Endpoints)}),
		typed("admin.v3.ListenersConfigDump", fields{"versionInfo": "1", "dynamicListeners": listeners}),
		typed("admin.v3.ScopedRoutesConfigDump", nil),
		typed("admin.v3.RoutesConfigDump", fields{
			"staticRouteConfigs":  items("routeConfig", routeType, []map[string]any{{"name": "inbound|8080||"}}),
			"dynamicRouteConfigs": items("routeConfig", routeType, c.Routes),
		}),
		typed("admin.v3.SecretsConfigDump", fields{"dynamicActiveSecrets": []any{fields{"name": "default", "cluster": "not one"}}}),
		typed("admin.v3.EcdsConfigDump", fields{"ecdsFilters": []any{nil, true, -1.5e3, "x\\\"", []any{}, fields{}}, "cluster": "not one"}),
	}}
}

// snake spells field names as Envoy does.
func snake(v any) any {
	switch v := v.(type) {
	case fields:
		out := fields{}
		for k, item := range v {
			if !strings.ContainsAny(k, ".@/") && k != strings.ToUpper(k) {
				var b strings.Builder
				for _, r := range k {
					if 'A' <= r && r <= 'Z' {
						b.WriteByte('_')
						r += 'a' - 'A'
					}
					b.WriteRune(r)
				}
				k = strings.NewReplacer("consecutive5xx", "consecutive_5xx", "proxy100", "proxy_100").Replace(b.String())
			}
			out[k] = snake(item)
		}
		return out
	case []map[string]any:
		var out []any
		for _, item := range v {
			out = append(out, snake(item))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = snake(item)
		}
		return out
	}
	return v
}

// printed writes JSON as istioctl and Envoy do.
func printed(t testing.TB, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// collect reads a text and lists what was visited as "kind state name".
func collect(t testing.TB, text string) (Summary, []Resource, []string, error) {
	t.Helper()
	var resources []Resource
	var names []string
	s, err := Read(t.Context(), "dump.json", strings.NewReader(text), Limits{}, func(r Resource) error {
		resources = append(resources, r)
		names = append(names, fmt.Sprintf("%s %s %s", r.Kind, r.State, r.Name))
		return nil
	})
	return s, resources, names, err
}
