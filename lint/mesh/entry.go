package mesh

import (
	"strings"
	"sync"

	"github.com/meshvet/meshvet/lint/object"
)

// Family says what Envoy understands of the traffic on a port.
type Family string

// The families of ports.
const (
	L7      Family = "L7"      // an HTTP connection manager reads requests
	L4      Family = "L4"      // tcp_proxy forwards bytes: TLS passthrough, TCP and the database protocols
	Sniffed Family = "sniffed" // no protocol: Envoy looks at the first bytes, so both may happen
	NoProxy Family = "none"    // UDP: Istio compiles nothing
)

// Port is a port of a host, as the client dials it.
type Port struct {
	Number     uint32
	Name       string
	Protocol   string // upper case; "" = not declared
	Family     Family
	TargetPort uint32      // 0 = the same as Number
	Path       object.Path // where it is declared
}

// EndpointPort is the port that Envoy dials unless an endpoint names its own.
func (p Port) EndpointPort() uint32 {
	if p.TargetPort != 0 {
		return p.TargetPort
	}
	return p.Number
}

// Named is the protocol that the port's name would stand for in a Service, "" if it would stand for none. In a ServiceEntry the name
// says nothing to Istio.
func (p Port) Named() string { return protocolOfName(p.Name) }

// IsTLS says whether clients are expected to bring their own TLS, which Envoy passes through.
func (p Port) IsTLS() bool { return p.Protocol == "TLS" || p.Protocol == "HTTPS" }

// IsMisfit says whether something about the port may not fit its protocol: Istio has no use for UDP, 443 is the port of clients that
// speak TLS, and the name may stand for another protocol.
func (p Port) IsMisfit() bool {
	named := p.Named()
	return p.Family == NoProxy || p.Family == L7 && p.Number == 443 || p.Protocol != "" && named != "" && named != p.Protocol
}

// RouteKinds are the kinds of routes of a VirtualService that sidecars follow for what comes in on the port, those that they ask
// first in front. Source: Istio's pilot/pkg/networking/core, tls.go and httproute.go; seen in what it compiles.
func (p Port) RouteKinds() []string {
	switch {
	case p.Family == L7:
		return []string{"http"}
	case p.Family == Sniffed:
		return []string{"http", "tcp"}
	case p.IsTLS():
		return []string{"tls"}
	case p.Family == L4:
		return []string{"tcp"}
	}
	return nil
}

// IsHTTP2 says whether Envoy speaks HTTP/2 to the endpoints of the port without any upgrade policy.
func (p Port) IsHTTP2() bool {
	return p.Protocol == "HTTP2" || p.Protocol == "GRPC" || p.Protocol == "GRPC-WEB"
}

// familyOf follows Istio's protocol.Parse, which ignores case; a word that it does not know is treated as undeclared.
func familyOf(protocol string) Family {
	switch protocol {
	case "HTTP", "HTTP2", "GRPC", "GRPC-WEB", "HTTP_PROXY":
		return L7
	case "TLS", "HTTPS", "TCP", "MONGO", "REDIS", "MYSQL":
		return L4
	case "UDP":
		return NoProxy
	}
	return Sniffed
}

// Target is a host in Istio's service registry: a ServiceEntry with its hosts, or a Kubernetes Service.
type Target struct {
	Object   *object.Object
	Hosts    []Host // none if Istio makes no service of the object
	Ports    []Port
	ExportTo []string // sorted, each once; empty = the mesh's default
	// Resolution is spec.resolution of a ServiceEntry, NONE if it is omitted; "" for a Service.
	Resolution string
	// External says that the hosts are outside the mesh: location is MESH_EXTERNAL or omitted.
	External bool

	created string // metadata.creationTimestamp; RFC 3339 in UTC sorts as text

	said   sync.Once
	saying digest

	endpointCounts endpointCounts
}

// Namespace is where the target lives; objects that leave it to whoever applies them count as "default".
func (t *Target) Namespace() string { return NamespaceOf(t.Object) }

// Port returns the port with a number.
func (t *Target) Port(number uint32) (Port, bool) {
	for _, p := range t.Ports {
		if p.Number == number {
			return p, true
		}
	}
	return Port{}, false
}

// IsService says whether the target is a Kubernetes Service.
func (t *Target) IsService() bool { return t.Object.Kind == object.Service }

// Endpoints returns spec.endpoints of a ServiceEntry.
func (t *Target) Endpoints() object.Value {
	if t.IsService() {
		return object.Value{}
	}
	return t.Object.Spec().Get("endpoints")
}

// HasSelector says whether the endpoints are chosen by labels, so that the manifest does not show them.
func (t *Target) HasSelector() bool {
	return t.IsService() || t.Object.Spec().Get("workloadSelector").Set()
}

// NamespaceOf is the namespace in which an object counts.
func NamespaceOf(o *object.Object) string {
	if o.Namespace == "" {
		return "default"
	}
	return o.Namespace
}

// targetOf reads a ServiceEntry or Service; nil for other kinds.
func targetOf(o *object.Object, clusterDomain string) *Target {
	switch o.Kind {
	case object.ServiceEntry:
		return entryTarget(o)
	case object.Service:
		return serviceTarget(o, clusterDomain)
	}
	return nil
}

// firstHost is the first of the hosts that targetOf finds, "" if there is none.
func firstHost(o *object.Object, clusterDomain string) Host {
	switch o.Kind {
	case object.ServiceEntry:
		for _, h := range o.Spec().Get("hosts").Items() {
			if h.Str() != "" {
				return Host(h.Str())
			}
		}
	case object.Service:
		return serviceHost(o, clusterDomain)
	}
	return ""
}

func serviceHost(o *object.Object, clusterDomain string) Host {
	return Host(o.Name + "." + NamespaceOf(o) + ".svc." + clusterDomain)
}

func entryTarget(o *object.Object) *Target {
	spec := o.Spec()
	t := &Target{
		Object:     o,
		ExportTo:   sorted(spec.Get("exportTo").Strings()),
		Resolution: spec.Get("resolution").Str(),
		External:   spec.Get("location").Str() != "MESH_INTERNAL",
		created:    o.Created(),
	}
	if t.Resolution == "" {
		t.Resolution = "NONE"
	}
	seen := map[string]bool{"": true}
	hosts := spec.Get("hosts")
	if nowhere(spec) {
		hosts = object.Value{}
	}
	for _, h := range hosts.Items() {
		if s := h.Str(); !seen[s] && len(t.Hosts) < maxHosts {
			seen[s] = true
			t.Hosts = append(t.Hosts, Host(s))
		}
	}
	for i, p := range spec.Get("ports").Items() {
		if i == maxPorts {
			break
		}
		protocol := strings.ToUpper(p.Get("protocol").Str())
		t.Ports = append(t.Ports, Port{
			Number: uint32(p.Get("number").Int()), Name: p.Get("name").Str(), Protocol: protocol, Family: familyOf(protocol),
			TargetPort: uint32(p.Get("targetPort").Int()), Path: object.Path{"spec", "ports", i},
		})
	}
	return t
}

func serviceTarget(o *object.Object, clusterDomain string) *Target {
	t := &Target{
		Object:  o,
		Hosts:   []Host{serviceHost(o, clusterDomain)},
		created: o.Created(),
	}
	if to := o.Annotation("networking.istio.io/exportTo"); to != "" {
		for part := range strings.SplitSeq(to, ",") {
			if part = strings.TrimSpace(part); part != "" {
				t.ExportTo = append(t.ExportTo, part)
			}
		}
		t.ExportTo = sorted(t.ExportTo)
	}
	for i, p := range o.Spec().Get("ports").Items() {
		protocol := serviceProtocol(p)
		t.Ports = append(t.Ports, Port{
			Number: uint32(p.Get("port").Int()), Name: p.Get("name").Str(), Protocol: protocol, Family: familyOf(protocol),
			TargetPort: uint32(p.Get("targetPort").Int()), Path: object.Path{"spec", "ports", i},
		})
	}
	return t
}

// serviceProtocol follows Istio's kube.ConvertProtocol: UDP is UDP; appProtocol decides before the name's prefix; ports of
// protocols in which the server speaks first are TCP; the rest is sniffed.
func serviceProtocol(p object.Value) string {
	if p.Get("protocol").Str() == "UDP" {
		return "UDP"
	}
	name := strings.ToLower(p.Get("name").Str())
	if app := strings.ToLower(p.Get("appProtocol").Str()); app != "" {
		switch app {
		case "kubernetes.io/h2c":
			return "HTTP2"
		case "kubernetes.io/ws":
			return "HTTP"
		case "kubernetes.io/wss":
			return "HTTPS"
		}
		name = app
	}
	if named := protocolOfName(name); named != "" {
		return named
	}
	switch p.Get("port").Int() {
	case 25, 53, 3306, 27017: // SMTP, DNS, MySQL, MongoDB
		return "TCP"
	}
	return ""
}

// protocolOfName is the protocol that the name of a Service's port stands for, "" if it stands for none.
func protocolOfName(name string) string {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "grpc-web") {
		return "GRPC-WEB"
	}
	prefix, _, _ := strings.Cut(name, "-")
	switch prefix {
	case "http", "http2", "grpc", "https", "tls", "tcp", "mongo", "redis", "mysql", "udp":
		return strings.ToUpper(prefix)
	}
	return ""
}

// earlier compares creation times. An object without one is still to be created, after all that have one.
func earlier(a, b string) bool {
	if a == "" || b == "" {
		return a != ""
	}
	return a < b
}

// older orders objects as Istio does: by creation time, then name, then namespace. Files have no times, so there the order is
// not what a cluster will see; rules must not claim a winner on the strength of it.
func older(aTime, bTime string, a, b *object.Object) bool {
	if aTime != bTime {
		return earlier(aTime, bTime)
	}
	if a.Name != b.Name {
		return a.Name < b.Name
	}
	if a.Namespace != b.Namespace {
		return a.Namespace < b.Namespace
	}
	return a.Kind < b.Kind // only for a fixed order: Istio never compares kinds
}

// olderTarget orders the targets of one host as Istio does: by creation time, then by the name in the registry, which is the host
// for ServiceEntries and shorter for a Service, then by namespace.
func olderTarget(a, b *Target) bool {
	if a.created != b.created {
		return earlier(a.created, b.created)
	}
	if a.IsService() != b.IsService() {
		return a.IsService()
	}
	if ans, bns := a.Namespace(), b.Namespace(); ans != bns {
		return ans < bns
	}
	return a.Object.Name < b.Object.Name
}
