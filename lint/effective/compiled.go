package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
)

// forwarded are the protocols for which Istio compiles a dynamic_forward_proxy cluster. Source: Istio's
// pilot/pkg/networking/core/cluster.go, buildOutboundClusters.
var forwarded = []string{"HTTP", "HTTP2", "GRPC", "TLS"}

// Dynamic says whether Istio compiles a dynamic_forward_proxy cluster for the port. It does for wildcard hosts only.
func (p Port) Dynamic() bool {
	return p.Cluster == DynamicDNS && p.Host.IsWildcard() && slices.Contains(forwarded, p.Protocol)
}

// Compiled says whether Istio compiles a cluster for the port at all, so that a policy for it can mean something.
func (p Port) Compiled() bool {
	if t := p.Target; t != nil && t.IsService() && !inMesh(t) {
		return false // ExternalName: Istio knows the host as an alias of another only
	}
	return p.Family != mesh.NoProxy && (p.Cluster != DynamicDNS || !p.Host.IsWildcard() || p.Dynamic())
}
