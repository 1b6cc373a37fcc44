package main

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// A mesh is what the API server is filled with: namespaces of teams, each with services of its own, and with hosts outside the mesh that it
// configures. As in most meshes hardly anything has an exportTo, so all of it concerns everybody.
type mesh struct {
	namespaces []string
	entries    []*unstructured.Unstructured // ServiceEntries
	rules      []*unstructured.Unstructured // DestinationRules
	rest       []*unstructured.Unstructured
}

// perNamespace is how many objects a namespace has, beside itself.
const perNamespace = 100

// newMesh makes a mesh of so many objects; a namespace is completed, so it may be some more.
func newMesh(objects int) *mesh {
	m := new(mesh)
	for n := 0; n*perNamespace < objects; n++ {
		m.addNamespace(fmt.Sprintf("team-%d", n))
	}
	return m
}

func (m *mesh) addNamespace(ns string) {
	m.namespaces = append(m.namespaces, ns)
	const istio = "networking.istio.io/v1"
	other := func(api, kind, name string, spec map[string]any) {
		m.rest = append(m.rest, object(api, kind, ns, name, spec))
	}
	for i := range 38 {
		other("v1", "Service", fmt.Sprintf("svc-%d", i), map[string]any{
			"selector": map[string]any{"app": fmt.Sprintf("svc-%d", i)},
			"ports": []any{
				map[string]any{"name": "http", "port": int64(8080), "protocol": "TCP", "targetPort": int64(8080)},
				map[string]any{"name": "grpc", "port": int64(9090), "protocol": "TCP", "targetPort": int64(9090)},
			},
		})
	}
	for i := range 20 {
		m.entries = append(m.entries, object(istio, "ServiceEntry", ns, fmt.Sprintf("ext-%d", i), entry(ns, len(m.namespaces), i)))
	}
	for i := range 20 {
		m.rules = append(m.rules, object(istio, "DestinationRule", ns, fmt.Sprintf("rule-%d", i), rule(ns, i)))
	}
	for i := range 12 {
		host := host(ns, i)
		route := []any{map[string]any{"destination": map[string]any{"host": host, "subset": "v1"}}}
		if i >= 6 { // the others route to the mesh's own services
			host = fmt.Sprintf("svc-%d.%s.svc.cluster.local", i, ns)
			route = []any{map[string]any{"destination": map[string]any{"host": host}}}
		}
		other(istio, "VirtualService", fmt.Sprintf("routes-%d", i), map[string]any{
			"hosts": []any{host},
			"http":  []any{map[string]any{"route": route, "timeout": "5s", "retries": map[string]any{"attempts": int64(2), "perTryTimeout": "2s"}}},
		})
	}
	for i := range 6 {
		other(istio, "WorkloadEntry", fmt.Sprintf("vm-%d", i), map[string]any{
			"address": fmt.Sprintf("192.0.2.%d", i+1), "labels": map[string]any{"app": "vm"},
		})
	}
	for i := range 2 {
		other(istio, "Gateway", fmt.Sprintf("gateway-%d", i), map[string]any{
			"selector": map[string]any{"istio": "egressgateway"},
			"servers": []any{map[string]any{
				"port": map[string]any{"number": int64(443 + i), "name": "tls", "protocol": "TLS"}, "hosts": []any{host(ns, i)},
				"tls": map[string]any{"mode": "PASSTHROUGH"},
			}},
		})
	}
	other(istio, "Sidecar", "default", map[string]any{"egress": []any{map[string]any{"hosts": []any{"./*", "istio-system/*", "*/*.example.com"}}}})
	other("networking.istio.io/v1alpha3", "EnvoyFilter", "access-log", map[string]any{
		"configPatches": []any{map[string]any{
			"applyTo": "NETWORK_FILTER", "match": map[string]any{"context": "SIDECAR_OUTBOUND"},
			"patch": map[string]any{"operation": "MERGE", "value": map[string]any{"name": "envoy.filters.network.http_connection_manager"}},
		}},
	})
}

func host(ns string, i int) string { return fmt.Sprintf("api-%d.%s.example.com", i, ns) }

// entry is a host outside the mesh, in one of the forms that people write. The n-th namespace has addresses of its own.
func entry(ns string, n, i int) map[string]any {
	port := func(number int64, name, protocol string) map[string]any {
		return map[string]any{"number": number, "name": name, "protocol": protocol}
	}
	spec := map[string]any{
		"hosts": []any{host(ns, i)}, "location": "MESH_EXTERNAL", "resolution": "DNS", "ports": []any{port(443, "tls", "TLS")},
	}
	switch i % 5 {
	case 0, 1: // TLS is originated by Envoy
		http := port(80, "http", "HTTP")
		http["targetPort"] = int64(443)
		spec["ports"] = []any{http, port(443, "tls", "TLS")}
		spec["endpoints"] = []any{
			map[string]any{"address": "a." + host(ns, i), "labels": map[string]any{"version": "v1"}},
			map[string]any{"address": "b." + host(ns, i), "labels": map[string]any{"version": "v2"}},
		}
	case 2: // the resolution is forgotten
		delete(spec, "resolution")
	case 3:
		spec["resolution"] = "STATIC"
		spec["ports"] = []any{port(3306, "mysql", "TCP")}
		spec["addresses"] = []any{fmt.Sprintf("10.200.%d.%d", n, i)}
		spec["endpoints"] = []any{map[string]any{"address": "192.0.2.10"}, map[string]any{"address": "192.0.2.11"}}
	}
	return spec
}

// rule is a DestinationRule for one of the hosts, or for a service of the mesh.
func rule(ns string, i int) map[string]any {
	pool := map[string]any{
		"tcp":  map[string]any{"maxConnections": int64(100), "connectTimeout": "2s"},
		"http": map[string]any{"http2MaxRequests": int64(1000), "maxRequestsPerConnection": int64(0)},
	}
	policy := map[string]any{
		"connectionPool":   pool,
		"outlierDetection": map[string]any{"consecutive5xxErrors": int64(5), "interval": "10s", "maxEjectionPercent": int64(50)},
	}
	spec := map[string]any{"host": host(ns, i), "trafficPolicy": policy}
	switch i % 5 {
	case 0, 1:
		policy["tls"] = map[string]any{"mode": "SIMPLE", "sni": host(ns, i)}
		spec["subsets"] = []any{
			map[string]any{"name": "v1", "labels": map[string]any{"version": "v1"}},
			map[string]any{"name": "v2", "labels": map[string]any{"version": "v2"}},
		}
	case 2:
		policy["portLevelSettings"] = []any{map[string]any{
			"port": map[string]any{"number": int64(443)}, "loadBalancer": map[string]any{"simple": "LEAST_REQUEST"},
		}}
	case 4:
		spec["host"] = fmt.Sprintf("svc-%d.%s.svc.cluster.local", i, ns)
	}
	return spec
}

func object(api, kind, ns, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api, "kind": kind, "metadata": map[string]any{"namespace": ns, "name": name}, "spec": spec,
	}}
}

// objects is how many there are, namespaces included.
func (m *mesh) objects() int {
	return len(m.namespaces) + len(m.entries) + len(m.rules) + len(m.rest)
}

// resources of the kinds, as the API server names them.
var resources = map[string]schema.GroupVersionResource{
	"Service":         {Version: "v1", Resource: "services"},
	"ServiceEntry":    {Group: "networking.istio.io", Version: "v1", Resource: "serviceentries"},
	"DestinationRule": {Group: "networking.istio.io", Version: "v1", Resource: "destinationrules"},
	"VirtualService":  {Group: "networking.istio.io", Version: "v1", Resource: "virtualservices"},
	"WorkloadEntry":   {Group: "networking.istio.io", Version: "v1", Resource: "workloadentries"},
	"Gateway":         {Group: "networking.istio.io", Version: "v1", Resource: "gateways"},
	"Sidecar":         {Group: "networking.istio.io", Version: "v1", Resource: "sidecars"},
	"EnvoyFilter":     {Group: "networking.istio.io", Version: "v1alpha3", Resource: "envoyfilters"},
}

// create fills the API server, with many requests at once.
func (m *mesh) create(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1 // as fast as it takes them
	config.WarningHandler = rest.NoWarnings{}
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	for _, ns := range m.namespaces {
		o := object("v1", "Namespace", "", ns, nil)
		if _, err := api.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create the namespace %s: %w", ns, err)
		}
	}
	const workers = 24
	todo := make(chan *unstructured.Unstructured)
	failed := make(chan error, workers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for o := range todo {
				if _, err := api.Resource(resources[o.GetKind()]).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{}); err != nil {
					failed <- fmt.Errorf("create %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
					cancel()
					return
				}
			}
		})
	}
	for _, list := range [][]*unstructured.Unstructured{m.rest, m.entries, m.rules} {
		for _, o := range list {
			select {
			case todo <- o:
			case <-ctx.Done():
			}
		}
	}
	close(todo)
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}
