package object

import (
	"strings"
	"testing"
)

func TestTypedSpec(t *testing.T) {
	f := load(t, `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: a}
spec:
  hosts: [a.example.com]
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}]
  unknown: field
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: b}
spec:
  host: a.example.com
  trafficPolicy: {connectionPool: {tcp: {connectTimeout: 2s}}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: c}
spec: {resolution: SOMETIMES}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: d}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: e}
`)
	if len(f.Objects) != 5 {
		t.Fatal(summary(f))
	}
	se, dr, wrong, empty, gateway := f.Objects[0], f.Objects[1], f.Objects[2], f.Objects[3], f.Objects[4]
	if got := se.ServiceEntry().GetPorts()[0].GetNumber(); got != 443 || se.DecodeError() != nil || se.DestinationRule() != nil {
		t.Errorf("port %d, error %v", got, se.DecodeError())
	}
	if got := dr.DestinationRule().GetTrafficPolicy().GetConnectionPool().GetTcp().GetConnectTimeout().GetSeconds(); got != 2 || dr.ServiceEntry() != nil {
		t.Errorf("connectTimeout %d s, want 2", got)
	}
	if err := wrong.DecodeError(); err == nil || !strings.Contains(err.Error(), "decode ServiceEntry c: ") || wrong.ServiceEntry() != nil {
		t.Errorf("an unknown enum value gives error %v and spec %v", err, wrong.ServiceEntry())
	}
	if got := empty.ServiceEntry(); got == nil || len(got.Hosts) != 0 || empty.DecodeError() != nil {
		t.Errorf("no spec gives %v, %v, want an empty one", got, empty.DecodeError())
	}
	if gateway.ServiceEntry() != nil || gateway.DestinationRule() != nil || gateway.DecodeError() != nil {
		t.Error("a Gateway has a spec of another kind")
	}
	if got := se.FileName(); got != "test.yaml" || se.File() != f {
		t.Errorf("the file is %q", got)
	}
}

func TestClassify(t *testing.T) {
	tests := []struct {
		apiVersion, kind string
		want             Kind
	}{
		{"networking.istio.io/v1", "ServiceEntry", ServiceEntry},
		{"networking.istio.io/v1alpha3", "DestinationRule", DestinationRule},
		{"networking.istio.io/v1beta1", "EnvoyFilter", EnvoyFilter},
		{"v1", "Service", Service},
		{"v1", "ConfigMap", ConfigMap},
		{"apps/v1", "Service", ""},
		{"gateway.networking.k8s.io/v1", "HTTPRoute", HTTPRoute},
		{"gateway.networking.k8s.io/v1alpha3", "BackendTLSPolicy", BackendTLSPolicy},
		{"gateway.networking.k8s.io/v1", "Gateway", ""},
		{"networking.istio.io/v1", "Gateway", Gateway},
		{"networking.istio.io/v1", "Pod", ""},
		{"networking.istio.io/v1", "serviceentry", Stray + ServiceEntry},
		{"networking.istio.io/v1", " ServiceEntry\n", Stray + ServiceEntry},
		{"networking.istio.io/v1alpha3", "ServiceEntries", Stray + ServiceEntry},
		{"networking.istio.io/v1alpha3", "Destinationrules", Stray + DestinationRule},
		{"networking.istio.io/v1", "DestinatonRuel", ""},
		{"networking.istio.io/v1", "DestiantionRule", Stray + DestinationRule},
		{"networking.istio.io/v1", "WorkloadGroup", ""},
		{"networking.istio.io/v1", "ProxyConfig", ""},
		{"networking.istio.io/v1", "virtualservice", ""},
		{"networking.istio.io/v1", "ServiceRole", ""},
		{"networking.istio.io/v1", "ServiceEntryPolicy", ""},
		{"networking.istio.io/v1", "", ""},
		{"networking.istio.io", "serviceentry", ""},
		{"v1", "serviceentry", ""},
		{"networking.dubbo.apache.org/v1alpha3", "DestinationRule", ""},
		{"networking.example.com/v1", "ServiceEntry", ""},
		{"nnetworking.istio.io/v1", "ServiceEntry", Stray + ServiceEntry},
		{"netwroking.istio.io/v1", "ServiceEntry", Stray + ServiceEntry},
		{"networking.istio.oi/v1", "DestinationRule", Stray + DestinationRule},
		{"Networking.Istio.io/v1", "ServiceEntry", Stray + ServiceEntry},
		{"network.istio.io/v1", "ServiceEntry", Stray + ServiceEntry},
		{"config.istio.io/v1alpha2", "ServiceEntry", Stray + ServiceEntry},
		{"istio.io/v1", "ServiceEntry", Stray + ServiceEntry},
		{"networking.istio.io", "ServiceEntry", Stray + ServiceEntry},
		{"v1", "ServiceEntry", Stray + ServiceEntry},
		{"", "ServiceEntry", Stray + ServiceEntry},
		{"nnetworking.istio.io/v1", "Gateway", ""},
		{"", "VirtualService", ""},
	}
	for _, tt := range tests {
		got, stray := classify(tt.apiVersion, tt.kind)
		if got != "" && stray {
			got = Stray + got
		}
		if got != tt.want {
			t.Errorf("%s %s is %q, want %q", tt.apiVersion, tt.kind, got, tt.want)
		}
	}
}

func TestKeyString(t *testing.T) {
	for want, k := range map[string]Key{
		"ServiceEntry a":    {ServiceEntry, "", "a"},
		"ServiceEntry ns/a": {ServiceEntry, "ns", "a"},
	} {
		if k.String() != want {
			t.Errorf("got %q, want %q", k.String(), want)
		}
	}
}
