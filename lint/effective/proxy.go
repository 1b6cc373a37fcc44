package effective

import "github.com/meshvet/meshvet/lint/mesh"

// ProxyType is the kind of Envoy.
type ProxyType string

// The types of proxy.
const (
	Sidecar ProxyType = "sidecar"
	Gateway ProxyType = "gateway" // Istio calls it a router
)

// Proxy is the Envoy whose configuration is asked for.
type Proxy struct {
	Type      ProxyType
	Namespace string
	Labels    map[string]string // of its workload, by which workloadSelectors choose
}

// resolve returns the target that the proxy reaches under a host, nil if it sees none. What a VirtualService leads to is seen in its
// own namespace, whatever its exportTo says. Source: Istio's pilot/pkg/model, collectImportedServices.
func (p Proxy) resolve(ix *mesh.Index, host mesh.Host) *mesh.Target {
	if p.Type == Gateway {
		return ix.ResolveForGateway(host, p.Namespace)
	}
	t := ix.Resolve(host, p.Namespace)
	if t == nil || ix.Sees(t, p.Namespace) || t.Namespace() == p.Namespace && ix.LeadTo(host, 0, p.Namespace) {
		return t
	}
	return nil
}
