package meshcorpus

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// fields is a mapping of an object as an API server sends it.
type fields = map[string]any

// Cluster makes the objects that an API server of a large mesh holds, as many as asked for and the same for the same seed: namespaces
// with Services and their routes, what teams know of hosts outside the mesh, some of it behind an egress gateway, and a known share
// of faults. They come in the order of their creation, each with a time.
func Cluster(objects int, seed uint64) []map[string]any {
	c := &cluster{rng: rand.New(rand.NewPCG(seed+1, 0x636c7573)), teams: max(4, objects/200)}
	c.add("v1", "Namespace", "", "istio-system", nil)
	c.add("v1", "Service", "istio-system", "istio-egressgateway", fields{
		"selector": fields{"istio": "egressgateway"},
		"ports":    []any{fields{"name": "http2", "port": int64(80)}, fields{"name": "tls", "port": int64(443)}},
	})
	c.add("networking.istio.io/v1", "Gateway", "istio-system", "egress", fields{
		"selector": fields{"istio": "egressgateway"},
		"servers": []any{fields{
			"port": fields{"number": int64(80), "name": "http", "protocol": "HTTP"}, "hosts": []any{"*"},
		}},
	})
	c.add("networking.istio.io/v1", "DestinationRule", "istio-system", "egressgateway", fields{
		"host": "istio-egressgateway.istio-system.svc.cluster.local", "trafficPolicy": fields{"tls": fields{"mode": "ISTIO_MUTUAL"}},
	})
	for i := range c.teams {
		c.add("v1", "Namespace", "", c.team(i), nil)
		if i%5 == 0 {
			c.add("networking.istio.io/v1", "Sidecar", c.team(i), "default", fields{
				"egress": []any{fields{"hosts": []any{"./*", "istio-system/*"}}},
			})
		}
	}
	for len(c.objects) < objects {
		c.n++
		switch k := c.rng.IntN(100); {
		case k < 42:
			c.service()
		case k < 46:
			c.behindGateway()
		case k < 50:
			c.database()
		case k < 54:
			c.wildcard()
		case k < 56:
			c.virtualMachine()
		default:
			c.external()
		}
	}
	return c.objects[:objects]
}

type cluster struct {
	rng     *rand.Rand
	teams   int
	n       int
	objects []map[string]any
}

func (c *cluster) oneIn(n int) bool { return c.rng.IntN(n) == 0 }

func (c *cluster) team(i int) string { return fmt.Sprintf("team-%03d", i%c.teams) }

func (c *cluster) add(apiVersion, kind, namespace, name string, spec fields) {
	meta := fields{
		"name": name, "resourceVersion": fmt.Sprint(1000 + len(c.objects)), "uid": fmt.Sprintf("00000000-0000-4000-8000-%012d", len(c.objects)),
		"creationTimestamp": time.Date(2025, 1, 1, 0, 0, len(c.objects), 0, time.UTC).Format(time.RFC3339),
		"labels":            fields{"app.kubernetes.io/part-of": "egress"},
	}
	o := fields{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	if spec != nil {
		o["spec"] = spec
	}
	c.objects = append(c.objects, o)
}

func (c *cluster) istio(kind, name string, spec fields) {
	c.add("networking.istio.io/v1", kind, c.team(c.n), name, spec)
}

func number(port int) fields { return fields{"number": int64(port)} }

// route is a VirtualService's way to a port of a host.
func route(host string, port int, subset string) fields {
	d := fields{"host": host, "port": number(port)}
	if subset != "" {
		d["subset"] = subset
	}
	return fields{"destination": d}
}

// service is an application with a rule for two versions and, mostly, a route to them.
func (c *cluster) service() {
	name := fmt.Sprintf("app-%05d", c.n)
	c.add("v1", "Service", c.team(c.n), name, fields{
		"selector": fields{"app": name},
		"ports":    []any{fields{"name": "http", "port": int64(8080)}, fields{"name": "grpc-api", "port": int64(9090)}},
	})
	if c.oneIn(2) {
		return
	}
	c.istio("DestinationRule", name, fields{
		"host":          name,
		"trafficPolicy": fields{"connectionPool": fields{"http": fields{"http2MaxRequests": int64(500 + c.n%500)}}},
		"subsets":       []any{fields{"name": "v1", "labels": fields{"version": "v1"}}, fields{"name": "v2", "labels": fields{"version": "v2"}}},
	})
	if c.oneIn(4) {
		return
	}
	one := route(name, 8080, "v1")
	one["weight"] = int64(90)
	two := route(name, 8080, "v2")
	two["weight"] = int64(10)
	c.istio("VirtualService", name, fields{
		"hosts": []any{name}, "http": []any{fields{"timeout": "5s", "retries": fields{"attempts": int64(2)}, "route": []any{one, two}}},
	})
}

func (c *cluster) entry(name string, hosts []any, resolution string, more fields, ports ...any) {
	spec := fields{"hosts": hosts, "location": "MESH_EXTERNAL", "resolution": resolution, "ports": ports}
	if c.oneIn(2) {
		spec["exportTo"] = []any{"."}
	}
	for k, v := range more {
		spec[k] = v
	}
	c.istio("ServiceEntry", name, spec)
}

func port(n int, name, protocol string) fields {
	return fields{"number": int64(n), "name": name, "protocol": protocol}
}

// host is a name outside the mesh. Some teams know the same.
func (c *cluster) host() string {
	n := c.n
	if c.oneIn(20) {
		n = c.rng.IntN(40)
	}
	return fmt.Sprintf("api-%05d.vendor-%02d.example.com", n, n%37)
}

func (c *cluster) outlier() fields {
	return fields{"splitExternalLocalOriginErrors": true, "consecutiveLocalOriginFailures": int64(3), "interval": "5s"}
}

// external is a host outside, by TLS of the client's or of Envoy's own.
func (c *cluster) external() {
	name, host := fmt.Sprintf("ext-%05d", c.n), c.host()
	policy := fields{"connectionPool": fields{"tcp": fields{"maxConnections": int64(50 + c.n%200), "connectTimeout": "2s"}}}
	if !c.oneIn(8) {
		policy["outlierDetection"] = c.outlier()
	}
	if c.oneIn(3) {
		http := port(80, "http", "HTTP")
		http["targetPort"] = int64(443)
		c.entry(name, []any{host}, "DNS", nil, http)
		policy["tls"] = fields{"mode": "SIMPLE", "sni": host}
	} else {
		c.entry(name, []any{host}, "DNS", nil, port(443, "tls", "TLS"))
		if c.oneIn(10) {
			policy["connectionPool"] = fields{"http": fields{"http2MaxRequests": int64(1000)}}
		}
	}
	if c.oneIn(5) {
		return
	}
	c.istio("DestinationRule", name, fields{"host": host, "trafficPolicy": policy})
}

// behindGateway is a host to which the egress gateway connects.
func (c *cluster) behindGateway() {
	name, host := fmt.Sprintf("gated-%05d", c.n), fmt.Sprintf("gated-%05d.vendor-%02d.example.com", c.n, c.n%37)
	c.entry(name, []any{host}, "DNS", fields{"exportTo": []any{".", "istio-system"}}, port(80, "http", "HTTP"), port(443, "tls", "TLS"))
	c.istio("DestinationRule", name, fields{
		"host": host, "exportTo": []any{".", "istio-system"},
		"trafficPolicy": fields{"portLevelSettings": []any{fields{"port": number(443), "tls": fields{"mode": "SIMPLE"}}}},
	})
	c.istio("VirtualService", name, fields{
		"hosts": []any{host}, "gateways": []any{"mesh", "istio-system/egress"}, "http": []any{
			fields{"match": []any{fields{"gateways": []any{"mesh"}, "port": int64(80)}}, "route": []any{route("istio-egressgateway.istio-system.svc.cluster.local", 80, "")}},
			fields{"match": []any{fields{"gateways": []any{"istio-system/egress"}, "port": int64(80)}}, "route": []any{route(host, 443, "")}},
		},
	})
}

// database is reached by its address, but for some that nothing but the port tells apart.
func (c *cluster) database() {
	name, host := fmt.Sprintf("db-%05d", c.n), fmt.Sprintf("db-%05d.example.org", c.n)
	more := fields{"addresses": []any{fmt.Sprintf("240.%d.%d.%d", c.n>>16&255, c.n>>8&255, c.n&255)}}
	if c.oneIn(10) {
		more = nil
	}
	c.entry(name, []any{host}, "DNS", more, port(5432, "tcp-postgres", "TCP"))
	c.istio("DestinationRule", name, fields{"host": host, "trafficPolicy": fields{
		"connectionPool": fields{"tcp": fields{"maxConnections": int64(100), "connectTimeout": "2s", "idleTimeout": "1h"}}, "outlierDetection": c.outlier(),
	}})
}

// wildcard is a whole domain, and some of its names.
func (c *cluster) wildcard() {
	name, domain := fmt.Sprintf("wide-%05d", c.n), fmt.Sprintf("wide-%05d.example.net", c.n)
	c.entry(name, []any{"*." + domain}, "NONE", nil, port(443, "tls", "TLS"))
	c.istio("DestinationRule", name, fields{"host": "*." + domain, "trafficPolicy": fields{"connectionPool": fields{"tcp": fields{"connectTimeout": "2s"}}}})
	if c.oneIn(2) {
		c.entry(name+"-api", []any{"api." + domain, "login." + domain}, "DNS", nil, port(443, "tls", "TLS"))
	}
}

// virtualMachine is a workload outside Kubernetes that belongs to the mesh.
func (c *cluster) virtualMachine() {
	name := fmt.Sprintf("vm-%05d", c.n)
	c.entry(name, []any{name + ".mesh.example.com"}, "STATIC", fields{
		"location": "MESH_INTERNAL", "workloadSelector": fields{"labels": fields{"app": name}},
	}, port(8080, "http", "HTTP"))
	c.istio("WorkloadEntry", name, fields{"address": fmt.Sprintf("192.0.2.%d", c.n%250), "labels": fields{"app": name}})
}
