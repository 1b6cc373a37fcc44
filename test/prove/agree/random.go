package agree

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Random makes a mesh of few hosts and namespaces, so that its objects meet, in which every field that a traffic policy has is
// sometimes set. The same seed gives the same mesh.
func Random(seed uint64) (*Mesh, error) {
	d := dice{rand.New(rand.NewPCG(seed, 0))}
	var objects []any
	for i := range 1 + d.IntN(4) {
		objects = append(objects, d.serviceEntry(i))
	}
	for range d.IntN(3) {
		objects = append(objects, d.service())
	}
	for i := range d.IntN(5) {
		objects = append(objects, d.destinationRule(i))
	}
	for i := range d.IntN(3) {
		objects = append(objects, d.virtualService(i))
	}
	if d.chance(20) {
		objects = append(objects, d.workloadEntry())
	}
	if d.chance(15) {
		objects = append(objects, manifest("Gateway", "networking.istio.io/v1", "gw", d.namespace(), fields{
			"selector": gateway,
			"servers": []any{pick(d,
				fields{"port": fields{"number": 80, "name": "http", "protocol": "HTTP"}, "hosts": []any{"*"}},
				fields{"port": fields{"number": 443, "name": "tls", "protocol": "TLS"}, "hosts": []any{"*"}, "tls": fields{"mode": "PASSTHROUGH"}})},
		}))
	}
	m := &Mesh{Name: fmt.Sprintf("random %d", seed)}
	var text strings.Builder
	for _, o := range objects {
		js, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		text.WriteString("---\n" + string(js) + "\n")
	}
	f, err := object.Load(context.Background(), m.Name, strings.NewReader(text.String()), object.Limits{})
	if err != nil {
		return nil, fmt.Errorf("seed %d: %w", seed, err)
	}
	m.Objects, m.File = f.Objects, f
	if d.chance(35) {
		js, err := json.Marshal(d.meshConfig())
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		m.MeshConfig = string(js)
	}
	return m, nil
}

type dice struct{ *rand.Rand }

type fields = map[string]any

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// maybe sets a field, sometimes.
func (d dice) maybe(percent int, into fields, key string, value func() any) {
	if d.chance(percent) {
		into[key] = value()
	}
}

func (d dice) namespace() string { return pick(d, "shop", "shop", "pay", "istio-system") }

func (d dice) host() string {
	return pick(d, "api.example.com", "api.example.com", "db.example.com", "*.example.com", "*.wild.io", "x.wild.io", "*.com", "web.shop.svc.cluster.local")
}

func manifest(kind, group, name, namespace string, spec fields) fields {
	return fields{"apiVersion": group, "kind": kind, "metadata": fields{"name": name, "namespace": namespace}, "spec": spec}
}

func (d dice) duration() string {
	return pick(d, "1s", "250ms", "5s", "1m30s", "3h", "1.5s")
}

func (d dice) exportTo() any {
	return pick[any](d, []any{"*"}, []any{"."}, []any{"shop"}, []any{"shop", "pay"}, []any{".", "pay"}, []any{"~"}, []any{"elsewhere"})
}

func (d dice) serviceEntry(i int) any {
	resolution := pick(d, "", "NONE", "STATIC", "DNS", "DNS", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS")
	spec := fields{"hosts": []any{d.host()}}
	if d.chance(20) {
		spec["hosts"] = []any{d.host(), d.host()}
	}
	if resolution != "" {
		spec["resolution"] = resolution
	}
	d.maybe(70, spec, "location", func() any { return pick(d, "MESH_EXTERNAL", "MESH_INTERNAL") })
	var ports []any
	taken := map[int]bool{}
	for range 1 + d.IntN(3) {
		n := pick(d, 80, 443, 5432, 8080, 9000)
		if taken[n] {
			continue
		}
		taken[n] = true
		p := fields{"number": n, "name": fmt.Sprintf("p%d", n)}
		d.maybe(90, p, "protocol", func() any {
			return pick(d, "HTTP", "HTTP", "HTTP2", "GRPC", "GRPC-WEB", "TLS", "HTTPS", "TCP", "MONGO", "tls", "UDP", "http")
		})
		d.maybe(25, p, "targetPort", func() any { return pick(d, 443, 8443) })
		ports = append(ports, p)
	}
	spec["ports"] = ports
	d.maybe(15, spec, "exportTo", d.exportTo)
	d.maybe(20, spec, "subjectAltNames", func() any { return []any{"spiffe://cluster.local/ns/x", "peer.example.com"}[:1+d.IntN(2)] })
	if hosts, _ := spec["hosts"].([]any); len(hosts) == 1 {
		d.maybe(10, spec, "addresses", func() any {
			return pick(d, []any{fmt.Sprintf("240.0.0.%d", i+1)}, []any{fmt.Sprintf("240.0.0.%d", i+1)}, []any{fmt.Sprintf("240.0.%d.0/24", i+1)}, []any{"240.0.0.700"})
		})
	}
	switch {
	case d.chance(8):
		spec["workloadSelector"] = fields{"labels": fields{"app": pick(d, "vm", "none")}}
		delete(spec, "addresses") // an address that is none makes Istio crash in a goroutine of its own
	case resolution == "STATIC" || d.chance(40):
		var list []any
		for range d.IntN(4) {
			e := fields{"address": pick(d, "10.0.0.1", "10.0.0.2", "gw.example.net", "b.example.net")}
			if resolution == "STATIC" {
				e["address"] = pick(d, "10.0.0.1", "10.0.0.2")
			}
			d.maybe(50, e, "labels", func() any { return fields{"version": pick(d, "v1", "v2")} })
			d.maybe(30, e, "locality", func() any { return pick(d, "r1/z1", "r2/z1", "r1/z2/s1") })
			d.maybe(15, e, "weight", func() any { return 1 + d.IntN(3) })
			d.maybe(8, e, "network", func() any { return "vms" })
			d.maybe(15, e, "serviceAccount", func() any { return "sa" })
			d.maybe(10, e, "ports", func() any { return fields{"p443": 9443} })
			list = append(list, e)
		}
		spec["endpoints"] = list
	}
	meta := fields{"name": fmt.Sprintf("se%d", i), "namespace": d.namespace()}
	if d.chance(10) {
		meta["labels"] = fields{"team": "a"}
	}
	if d.chance(6) {
		meta["annotations"] = fields{"networking.istio.io/traffic-distribution": pick(d, "PreferClose", "PreferSameNode", "Any")}
	}
	return fields{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": meta, "spec": spec}
}

func (d dice) workloadEntry() any {
	spec := fields{"address": pick(d, "10.0.0.9", "vm.example.net"), "labels": fields{"app": "vm", "version": pick(d, "v1", "v2")}}
	d.maybe(40, spec, "serviceAccount", func() any { return "vm" })
	d.maybe(30, spec, "locality", func() any { return pick(d, "r1/z1", "r2/z1") })
	return manifest("WorkloadEntry", "networking.istio.io/v1", "vm", d.namespace(), spec)
}

func (d dice) service() any {
	spec := fields{"ports": []any{fields{"name": pick(d, "http", "grpc-x", "tcp-y", "https", "odd", "http2"), "port": pick(d, 80, 443, 8080)}}, "selector": fields{"app": "web"}}
	switch d.IntN(5) {
	case 0:
		spec["clusterIP"] = "None"
	case 1:
		spec["type"], spec["externalName"] = "ExternalName", "other.example.com"
	}
	return manifest("Service", "v1", pick(d, "web", "api"), pick(d, "shop", "pay"), spec)
}

func (d dice) destinationRule(i int) any {
	spec := fields{"host": d.host()}
	if d.chance(15) {
		spec["host"] = pick(d, "*", "*", "web", "*.local", "web.pay")
	}
	d.maybe(85, spec, "trafficPolicy", func() any { return d.policy(true, true) })
	d.maybe(15, spec, "exportTo", d.exportTo)
	d.maybe(20, spec, "workloadSelector", func() any {
		return fields{"matchLabels": pick(d, fields{"app": "app"}, fields{"app": "other"}, fields{"istio": "egressgateway"})}
	})
	if d.chance(50) {
		var subsets []any
		for _, name := range []string{"v1", "v2"}[:1+d.IntN(2)] {
			s := fields{"name": name}
			d.maybe(70, s, "labels", func() any { return fields{"version": name} })
			d.maybe(70, s, "trafficPolicy", func() any { return d.policy(true, true) })
			subsets = append(subsets, s)
		}
		spec["subsets"] = subsets
	}
	return manifest("DestinationRule", "networking.istio.io/v1", fmt.Sprintf("dr%d", i), d.namespace(), spec)
}

// policy makes a traffic policy; whole ones hold what a port entry cannot.
func (d dice) policy(whole, entries bool) fields {
	p := fields{}
	d.maybe(55, p, "connectionPool", d.pool)
	d.maybe(40, p, "outlierDetection", d.outlier)
	d.maybe(45, p, "loadBalancer", d.balancer)
	d.maybe(50, p, "tls", d.tls)
	if whole {
		d.maybe(12, p, "tunnel", func() any {
			t := fields{"targetHost": "t.example.com", "targetPort": 443}
			d.maybe(50, t, "protocol", func() any { return pick(d, "CONNECT", "POST") })
			return t
		})
		d.maybe(12, p, "proxyProtocol", func() any {
			return pick(d, fields{}, fields{"version": "V1"}, fields{"version": "V2"})
		})
		d.maybe(15, p, "retryBudget", func() any {
			b := fields{}
			d.maybe(60, b, "percent", func() any { return pick[any](d, 0, 10, 12.5) })
			d.maybe(60, b, "minRetryConcurrency", func() any { return d.IntN(6) })
			d.maybe(40, b, "budgetInterval", func() any { return d.duration() })
			return b
		})
	}
	if entries && d.chance(40) {
		var list []any
		for range 1 + d.IntN(2) {
			e := d.policy(false, false)
			e["port"] = fields{"number": pick(d, 80, 443, 5432, 8080, 9000)}
			list = append(list, e)
		}
		p["portLevelSettings"] = list
	}
	return p
}

func (d dice) pool() any {
	tcp, http := fields{}, fields{}
	d.maybe(40, tcp, "maxConnections", func() any { return d.IntN(3) * 50 })
	d.maybe(40, tcp, "connectTimeout", func() any { return d.duration() })
	d.maybe(30, tcp, "idleTimeout", func() any { return d.duration() })
	d.maybe(30, tcp, "maxConnectionDuration", func() any { return d.duration() })
	d.maybe(30, tcp, "tcpKeepalive", d.keepalive)
	d.maybe(35, http, "http1MaxPendingRequests", func() any { return d.IntN(3) })
	d.maybe(35, http, "http2MaxRequests", func() any { return d.IntN(3) })
	d.maybe(35, http, "maxRetries", func() any { return d.IntN(3) })
	d.maybe(25, http, "maxRequestsPerConnection", func() any { return d.IntN(3) })
	d.maybe(25, http, "idleTimeout", func() any { return d.duration() })
	d.maybe(35, http, "h2UpgradePolicy", func() any { return pick(d, "DEFAULT", "UPGRADE", "DO_NOT_UPGRADE") })
	d.maybe(20, http, "useClientProtocol", func() any { return d.chance(70) })
	d.maybe(30, http, "maxConcurrentStreams", func() any { return d.IntN(3) * 32 })
	d.maybe(20, http, "http2KeepAlive", func() any { return fields{"interval": d.duration(), "timeout": d.duration()} })
	p := fields{}
	if len(tcp) > 0 {
		p["tcp"] = tcp
	}
	if len(http) > 0 {
		p["http"] = http
	}
	return p
}

func (d dice) keepalive() any {
	k := fields{}
	d.maybe(50, k, "probes", func() any { return d.IntN(4) })
	d.maybe(50, k, "time", func() any { return d.duration() })
	d.maybe(50, k, "interval", func() any { return d.duration() })
	return k
}

func (d dice) outlier() any {
	o := fields{}
	d.maybe(45, o, "consecutive5xxErrors", func() any { return d.IntN(6) })
	d.maybe(35, o, "consecutiveGatewayErrors", func() any { return d.IntN(4) })
	d.maybe(35, o, "interval", func() any { return d.duration() })
	d.maybe(35, o, "baseEjectionTime", func() any { return d.duration() })
	d.maybe(35, o, "maxEjectionPercent", func() any { return d.IntN(3) * 50 })
	d.maybe(35, o, "minHealthPercent", func() any { return d.IntN(3) * 25 })
	d.maybe(30, o, "splitExternalLocalOriginErrors", func() any { return d.chance(70) })
	d.maybe(30, o, "consecutiveLocalOriginFailures", func() any { return d.IntN(4) })
	d.maybe(10, o, "consecutiveErrors", func() any { return 3 })
	return o
}

func (d dice) balancer() any {
	b := fields{}
	switch d.IntN(4) {
	case 0, 1:
		b["simple"] = pick(d, "ROUND_ROBIN", "LEAST_REQUEST", "LEAST_CONN", "RANDOM", "PASSTHROUGH", "UNSPECIFIED")
	case 2:
		h := pick(d, fields{"httpHeaderName": "x"}, fields{"useSourceIp": true}, fields{"useSourceIp": false}, fields{},
			fields{"httpCookie": fields{"name": "c", "path": "/", "ttl": "0s"}}, fields{"httpQueryParameterName": "q"})
		switch d.IntN(4) {
		case 0:
			h["ringHash"] = pick(d, fields{}, fields{"minimumRingSize": 4096})
		case 1:
			h["maglev"] = pick(d, fields{}, fields{"tableSize": 65537})
		case 2:
			h["minimumRingSize"] = d.IntN(2) * 2048
		}
		b["consistentHash"] = h
	}
	d.maybe(25, b, "warmup", func() any {
		w := fields{"duration": d.duration()}
		d.maybe(50, w, "aggression", func() any { return pick(d, 1.0, 2.5) })
		d.maybe(50, w, "minimumPercent", func() any { return pick[any](d, 0, 20) })
		return w
	})
	d.maybe(15, b, "warmupDurationSecs", func() any { return d.duration() })
	d.maybe(20, b, "localityLbSetting", d.locality)
	d.maybe(10, b, "zoneAwareLbSetting", func() any {
		z := fields{}
		d.maybe(50, z, "enabled", func() any { return d.chance(50) })
		d.maybe(50, z, "minClusterSize", func() any { return d.IntN(9) })
		switch d.IntN(4) {
		case 0:
			z["failover"] = []any{fields{"from": "r1", "to": "r2"}}
		case 1:
			z["failoverPriority"] = []any{"topology.kubernetes.io/region"}
		}
		return z
	})
	return b
}

func (d dice) locality() any {
	l := fields{}
	d.maybe(40, l, "enabled", func() any { return d.chance(70) })
	switch d.IntN(4) {
	case 0:
		l["distribute"] = []any{fields{"from": "r1/z1/*", "to": fields{"r1/z1/*": 80, "r2/z1/*": 20}}}
	case 1:
		l["failover"] = []any{fields{"from": "r1", "to": "r2"}}
	case 2:
		l["failoverPriority"] = pick(d, []any{"topology.kubernetes.io/region"}, []any{"topology.kubernetes.io/region", "topology.kubernetes.io/zone"},
			[]any{"version"}, []any{"version=v2"}, []any{"topology.istio.io/network", "version=v1"})
	}
	return l
}

func (d dice) tls() any {
	t := fields{}
	d.maybe(92, t, "mode", func() any { return pick(d, "SIMPLE", "SIMPLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL", "DISABLE") })
	d.maybe(30, t, "sni", func() any { return "sni.example.com" })
	d.maybe(30, t, "subjectAltNames", func() any { return []any{"a.example.com", "b.example.com"}[:1+d.IntN(2)] })
	d.maybe(25, t, "caCertificates", func() any { return pick(d, "/etc/ca.pem", "system") })
	d.maybe(15, t, "caCrl", func() any { return "/etc/crl.pem" })
	d.maybe(15, t, "insecureSkipVerify", func() any { return d.chance(80) })
	d.maybe(20, t, "credentialName", func() any { return pick(d, "cred", "configmap://cm", "kubernetes://k") })
	if t["mode"] == "MUTUAL" && d.chance(80) || d.chance(10) {
		t["clientCertificate"], t["privateKey"] = "/etc/cert.pem", "/etc/key.pem"
	}
	return t
}

func (d dice) virtualService(i int) any {
	destination := func() any {
		dest := fields{"host": d.host()}
		d.maybe(60, dest, "port", func() any { return fields{"number": pick(d, 80, 443, 8080)} })
		d.maybe(30, dest, "subset", func() any { return pick(d, "v1", "v1", "v2", "gone") })
		return fields{"destination": dest}
	}
	spec := fields{"hosts": []any{d.host()}}
	d.maybe(12, spec, "exportTo", d.exportTo)
	d.maybe(12, spec, "gateways", func() any { return pick(d, []any{"mesh"}, []any{"gw"}, []any{"shop/gw", "mesh"}) })
	switch d.IntN(6) {
	case 0:
		match := fields{"port": pick(d, 443, 8080), "sniHosts": spec["hosts"]}
		spec["tls"] = []any{fields{"match": []any{match}, "route": []any{destination()}}}
	case 1:
		r := fields{"route": []any{destination()}}
		d.maybe(60, r, "match", func() any { return []any{fields{"port": pick(d, 5432, 9000)}} })
		spec["tcp"] = []any{r}
	}
	if (spec["tls"] != nil || spec["tcp"] != nil) && d.chance(50) {
		return manifest("VirtualService", "networking.istio.io/v1", fmt.Sprintf("vs%d", i), d.namespace(), spec)
	}
	var http []any
	for range 1 + d.IntN(2) {
		r := fields{"route": []any{destination()}}
		d.maybe(50, r, "retries", func() any { return fields{"attempts": d.IntN(4)} })
		d.maybe(40, r, "timeout", func() any { return d.duration() })
		http = append(http, r)
	}
	spec["http"] = http
	return manifest("VirtualService", "networking.istio.io/v1", fmt.Sprintf("vs%d", i), d.namespace(), spec)
}

func (d dice) meshConfig() any {
	m := fields{}
	d.maybe(40, m, "connectTimeout", func() any { return pick(d, "3s", "0.5s") })
	d.maybe(40, m, "tcpKeepalive", func() any {
		return pick(d, fields{"probes": 3, "time": "7200s"}, fields{"interval": "75s"}, fields{})
	})
	d.maybe(40, m, "defaultTrafficPolicy", func() any {
		p := fields{}
		d.maybe(70, p, "connectionPool", d.meshPool)
		d.maybe(50, p, "outlierDetection", func() any { return fields{"consecutive5xxErrors": 7, "interval": "8s"} })
		return p
	})
	d.maybe(30, m, "defaultHttpRetryPolicy", func() any { return fields{"attempts": d.IntN(4)} })
	d.maybe(30, m, "h2UpgradePolicy", func() any { return pick(d, "UPGRADE", "DO_NOT_UPGRADE") })
	d.maybe(20, m, "enableAutoMtls", func() any { return d.chance(50) })
	d.maybe(20, m, "localityLbSetting", d.locality)
	d.maybe(20, m, "dnsRefreshRate", func() any { return "17s" })
	d.maybe(20, m, "defaultDestinationRuleExportTo", func() any { return []any{pick(d, ".", "*")} })
	d.maybe(20, m, "defaultServiceExportTo", func() any { return []any{pick(d, ".", "*")} })
	d.maybe(15, m, "tlsDefaults", func() any {
		return fields{"ecdhCurves": []any{"P-256"}, "cipherSuites": []any{"ECDHE-RSA-AES256-GCM-SHA384"}}
	})
	d.maybe(15, m, "defaultConfig", func() any { return fields{"proxyHeaders": fields{"preserveHttp1HeaderCase": true}} })
	d.maybe(15, m, "rootNamespace", func() any { return "pay" })
	return m
}

// meshPool is a pool in the form that the mesh configuration takes: durations in seconds.
func (d dice) meshPool() any {
	return fields{"tcp": fields{"maxConnections": 1000, "connectTimeout": "4s", "idleTimeout": "60s"}, "http": fields{"maxRetries": 9}}
}
