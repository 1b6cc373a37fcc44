package schema

import (
	"testing"
)

const (
	smallServiceEntry = `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "orders", "namespace": "shop", "labels": {"app": "orders"}},
		"spec": {"hosts": ["orders.example.com"], "location": "MESH_EXTERNAL", "resolution": "DNS",
			"ports": [{"number": 443, "name": "tls", "protocol": "TLS"}]}}`
	fullDestinationRule = `{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "orders", "namespace": "shop"},
		"spec": {"host": "orders.example.com", "trafficPolicy": {
			"connectionPool": {"tcp": {"maxConnections": 100, "connectTimeout": "5s", "tcpKeepalive": {"time": "300s", "interval": "60s"}},
				"http": {"http1MaxPendingRequests": 10, "maxRequestsPerConnection": 100, "idleTimeout": "1m"}},
			"outlierDetection": {"consecutive5xxErrors": 5, "interval": "10s", "baseEjectionTime": "30s", "maxEjectionPercent": 50},
			"portLevelSettings": [{"port": {"number": 443}, "tls": {"mode": "SIMPLE", "sni": "orders.example.com"},
				"connectionPool": {"tcp": {"maxConnections": 50, "connectTimeout": "3s"}},
				"outlierDetection": {"consecutive5xxErrors": 3, "interval": "5s", "baseEjectionTime": "10s"}}]}}}`
	invalidDestinationRule = `{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "orders"},
		"spec": {"host": "orders.example.com", "trafficPolicy": {
			"connectionPool": {"tcp": {"maxConnections": 20, "connectTimeout": "10", "keepAlive": {"time": "1h"}}},
			"outlierDetection": {"consecutive5xxErrors": 5, "interval": 30, "baseEjectionTime": "0s"}}}}`
)

func BenchmarkValid(b *testing.B) {
	for _, c := range []struct{ name, kind, text string }{
		{"ServiceEntry", "ServiceEntry", smallServiceEntry},
		{"DestinationRule", "DestinationRule", fullDestinationRule},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := newValidator(b, "")
			root := flatten(fromJSON(b, c.text))
			b.ReportAllocs()
			for b.Loop() {
				if !v.Valid(c.kind, root) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, c := range []struct {
		name, kind, text string
		violations       int
	}{
		{"ServiceEntry", "ServiceEntry", smallServiceEntry, 0},
		{"DestinationRule", "DestinationRule", fullDestinationRule, 0},
		{"invalid", "DestinationRule", invalidDestinationRule, 4},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := newValidator(b, "")
			raw := fromJSON(b, c.text)
			b.ReportAllocs()
			for b.Loop() {
				if got, err := v.Validate(b.Context(), c.kind, raw); err != nil || len(got) != c.violations {
					b.Fatal(got, err)
				}
			}
		})
	}
}

// BenchmarkFirst is what the first object of a kind costs beyond those that follow.
func BenchmarkFirst(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"valid", fullDestinationRule}, {"invalid", invalidDestinationRule}} {
		b.Run(c.name, func(b *testing.B) {
			raw := fromJSON(b, c.text)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := newValidator(b, "").Validate(b.Context(), "DestinationRule", raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("CEL", func(b *testing.B) {
		raw := fromJSON(b, fullDestinationRule)
		for b.Loop() {
			v := newValidator(b, "")
			v.kinds["DestinationRule"].deciders = nil
			if got, err := v.Validate(b.Context(), "DestinationRule", raw); err != nil || len(got) > 0 {
				b.Fatal(got, err)
			}
		}
	})
}

// flat is a Value as a loader would have it: one node in a tree that exists already, so that Valid is measured alone.
type flat struct {
	rawValue
	first, following *flat
}

func flatten(raw any) Value { return flattened(&rawValue{v: raw}) }

func flattened(r *rawValue) *flat {
	f := &flat{rawValue: *r}
	last := &f.first
	for c := r.First(); c != nil; c = c.Next() {
		*last = flattened(c.(*rawValue))
		last = &(*last).following
	}
	return f
}

func (f *flat) First() Value {
	if f.first == nil {
		return nil
	}
	return f.first
}

func (f *flat) Next() Value {
	if f.following == nil {
		return nil
	}
	return f.following
}
